"""An agent's action through the vault: decoded, checked, and tried on the chain; with the owner's
signature where the vault keeps approvals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import Field

from domain.chain_facts import Call, Simulation
from domain.mandates.actions import Action
from domain.mandates.approvals import Approval
from domain.mandates.mandate import Mandate
from domain.money import ZERO, Usdc
from domain.ports import Chain
from domain.refusals import Refused, refusal
from domain.rules.action_checks import CheckResult, action_checks
from domain.rules.mark_policy import RecordedValue
from domain.rules.revert_refusals import pulled
from domain.rules.rule import ActionRequest
from domain.rules.snapshot import MandateSnapshot
from storage.unit_of_work import UnitOfWork
from tools.context.approval_keeping import factory_of
from tools.context.snapshot_loader import simulation_if_readable
from tools.model.operation import ResponseModel
from tools.model.shared_models import ExplainedCall


class DecodedCall(ResponseModel):
    """The decoded call; `market` and `label` are the mandate's entry."""

    target: str
    selector: str
    market: str | None
    label: str | None = Field(
        description="the service's own label; null for a call that it does not know"
    )
    call: ExplainedCall
    pulls_usdc: Usdc | None = Field(
        description="what the call pulls from the vault, where decoding shows it"
    )


class CheckDetail(ResponseModel):
    """The numbers of one check; those that it has."""

    status: str | None = None
    ends_at: str | None = None
    target: str | None = None
    selector: str | None = None
    argument: int | None = Field(
        default=None,
        description="the argument word, counted from 0, that has to be the vault's own address",
    )
    allowed: Usdc | None = None
    used: Usdc | None = None
    attempted: Usdc | None = None
    bound_by: str | None = None
    worth: Usdc | None = None
    floor: Usdc | None = None
    recorded_value_stale: RecordedValue | None = Field(
        default=None,
        description="of an exit: set while the record stands above the value now by more than a "
        "fair exit may lose",
    )


class CheckTold(ResponseModel):
    """One check: its clause, its code, whether it holds, and the numbers."""

    clause: int
    code: str
    ok: bool | None = Field(
        description="null where it could not be checked, because the vault could not be read now"
    )
    detail: CheckDetail


@dataclass(frozen=True, slots=True)
class JudgedAction:
    """An action with its checks as of one snapshot."""

    request: ActionRequest
    checks: list[CheckResult]

    def shown_checks(self) -> list[CheckTold]:
        """The checks as they are shown."""
        return [CheckTold.model_validate(c, from_attributes=True) for c in self.checks]

    def decoded(self, chain: Chain, mandate: Mandate) -> DecodedCall:
        """The action in words: where it goes by the mandate's own entry, and what its calldata
        says.
        """
        target, data = self.request.target, self.request.data
        entry = mandate.contract_target(target, self.request.selector)
        return DecodedCall(
            target=target,
            selector=self.request.selector,
            market=entry.market if entry else None,
            label=entry.label if entry else None,
            call=ExplainedCall.of(chain.explain_call(data)),
            pulls_usdc=pulled(data),
        )


def judged(
    snapshot: MandateSnapshot, target: str, data: str, amount: Usdc, action_hash: str | None
) -> JudgedAction:
    """An action, checked; what its own live reservation counts already is not counted again."""
    own = (r.amount for r in snapshot.reservations if r.action.action_hash == action_hash)
    request = ActionRequest(target, data, amount, next(own, ZERO), action_hash)
    return JudgedAction(request, action_checks(snapshot, request))


async def simulate_action(
    chain: Chain, mandate: Mandate, action: Action, data: str, item: Approval | None
) -> Simulation | None:
    """Try the action as the agent would send it; None where the chain cannot be read in time."""
    call = vault_call(chain, mandate.vault_address or "", action, data, item)
    return await simulation_if_readable(chain, replace(call, sender=mandate.agent_address))


def signed_item(
    uow: UnitOfWork, public_id: str, action: Action, name: str | None, now: datetime
) -> Approval | None:
    """The approved item with the owner's signature that covers this very action; `name` is the
    only one looked at where an agent names it.
    """
    for item in uow.approvals.of_action(public_id, action.action_hash):
        good = item.signature is not None and item.status_at(now) == "approved"
        if good and name in (None, item.approval_id):
            return item
    return None


def vault_call(chain: Chain, vault: str, action: Action, data: str, item: Approval | None) -> Call:
    """`executeApproved` with the item's signature where it has one, else `execute`."""
    plain = action.target, data, action.amount
    if item is None or item.signature is None or item.until is None:
        return chain.vault_call(vault, "execute", *plain)
    return chain.vault_call(vault, "executeApproved", *plain, item.until, item.signature)


def require_known_keeping(chain: Chain, mandate: Mandate) -> None:
    """Refuse to ask an owner for an approval while it is not known who keeps it.

    Errors: `chain_unavailable`.
    """
    unknown = mandate.approvals_on_chain is None and chain.rpc_set
    if unknown and factory_of(chain, mandate) is not None:
        why = "the factory could not be asked who keeps approvals"
        raise Refused(refusal("chain_unavailable", chain_id=mandate.chain_id, why=why))


def require_same_approval(tried: str | None, mandate: Mandate, approved: Approval | None) -> None:
    """Refuse calldata that was not tried: the owner decided while the call was looked at.

    Errors: `conflict`.
    """
    if mandate.approvals_on_chain and approved is not None and approved.approval_id != tried:
        raise Refused(refusal("conflict", why="The owner decided just now; ask again."))
