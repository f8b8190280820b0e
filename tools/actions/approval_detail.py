"""Detail of one approval: the stored action, simulated again on the chain as it is now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from pydantic import Field

from domain.chain_facts import Simulation
from domain.mandates.actions import Action, selector_of
from domain.mandates.approvals import OPEN, Approval, ApprovalItem, Reservation
from domain.mandates.mandate import Mandate
from domain.money import ZERO
from domain.ports import Chain
from domain.rules.action_checks import RemainingNow, action_checks, remaining
from domain.rules.rule import ActionRequest
from domain.rules.snapshot import MandateSnapshot
from storage.unit_of_work import UnitOfWork
from tools.actions.approval_signature import vault_call
from tools.actions.call_models import CheckTold, DecodedCall, decoded_call
from tools.context.access import load_mandate, mandate_read_set, not_found, visible_mandate
from tools.context.approval_keeping import approval_keeping_if_readable
from tools.context.snapshot_loader import (
    GatheredFacts,
    chain_or_none,
    load_snapshot,
    require_chain,
    simulation_if_readable,
    vault_if_readable,
)
from tools.model.fields import ApprovalId, OneMandate
from tools.model.operation import (
    HEAVY,
    Caller,
    Deps,
    Operation,
    OperationResult,
    RequestContext,
    ResponseModel,
)
from tools.model.shared_models import Simulated, simulated


class OneApproval(OneMandate):
    """Names one approval item."""

    approval_id: ApprovalId


class HeldOut(ResponseModel):
    """The item, and its action as it would be judged now."""

    approval: ApprovalItem
    decoded: DecodedCall
    checks: list[CheckTold]
    simulation: Simulated | None = Field(
        description="what the chain says of the call now; null where it could not be asked, where "
        "the item is no longer open, and where the vault asks for the owner's signature first"
    )
    remaining_after: RemainingNow | None = Field(
        description="the largest single action that would still be possible after it; null where "
        "the item is no longer open"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDetailFacts:
    """The vault now, and what the action would do."""

    facts: GatheredFacts
    simulation: Simulation | None = None


async def gather_detail(deps: Deps, caller: Caller, request: OneApproval) -> ApprovalDetailFacts:
    """Read the vault, and try the action as the agent would send it."""
    mandate = await load_mandate(deps, caller, request.public_id)
    chain = chain_or_none(deps, mandate)
    facts = GatheredFacts(vault=await vault_if_readable(chain, mandate))
    item = await deps.store.read(
        lambda uow: uow.approvals.get(mandate.public_id, request.approval_id)
    )
    if (
        chain is None
        or facts.vault is None
        or not facts.vault.exists
        or mandate.agent_address is None
    ):
        return ApprovalDetailFacts(facts=facts)
    if item is None or item.status_at(deps.clock.now()) not in OPEN:
        return ApprovalDetailFacts(facts=facts)
    if item.signature is None and await approval_keeping_if_readable(deps, mandate):
        return ApprovalDetailFacts(facts=facts)
    call = vault_call(chain, facts.vault.address, _action(chain, mandate, item), item.data, item)
    with chain.short_deadline():
        tried = await simulation_if_readable(chain, replace(call, sender=mandate.agent_address))
    return ApprovalDetailFacts(facts=facts, simulation=tried)


def _action(chain: Chain, mandate: Mandate, item: Approval) -> Action:
    target = item.target.get("address") or ""
    return chain.action(mandate.vault_address or "", target, item.data, item.approve_amount_usdc)


def read(uow: UnitOfWork, ctx: RequestContext[OneApproval, ApprovalDetailFacts]) -> OperationResult:
    """The item with fresh checks, and what would be left."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    item = uow.approvals.get(mandate.public_id, ctx.request.approval_id)
    if item is None:
        raise not_found("approval")
    snapshot = load_snapshot(uow, ctx, mandate, ctx.facts.facts, events=0)
    key, amount = item.action_hash, item.approve_amount_usdc
    reserved = next((r.amount for r in snapshot.reservations if r.action.action_hash == key), ZERO)
    target = item.target.get("address") or ""
    request = ActionRequest(target, item.data, amount, reserved, key)
    is_open = item.status_at(ctx.now) in OPEN
    body = {
        "approval": item.as_item(ctx.now),
        "decoded": decoded_call(require_chain(ctx, mandate), mandate, request, item.data),
        "checks": [c.as_json() for c in action_checks(snapshot, request)],
        "simulation": simulated(ctx.facts.simulation),
        "remaining_after": remaining(_with(snapshot, item)) if is_open else None,
    }
    return OperationResult(200, body)


def _with(snapshot: MandateSnapshot, item: Approval) -> MandateSnapshot:
    """The case once the action is handed out: what counts then is what would count after it."""
    action = Action(
        action_hash=item.action_hash,
        target=(item.target.get("address") or "").lower(),
        selector=selector_of(item.data),
        data_hash=item.data_hash or "",
        amount=item.approve_amount_usdc,
    )
    taken = Reservation(
        public_id=item.public_id,
        action=action,
        made_at=snapshot.now,
        expires_at=item.expires_at,
        sender=snapshot.mandate.agent_address or "",
    )
    others = (r for r in snapshot.reservations if r.action.action_hash != item.action_hash)
    return replace(snapshot, reservations=(*others, taken))


OPERATIONS: Final = (
    Operation(
        name="mandate_approval",
        title="Look at a held action",
        summary="One held action: the call decoded, every check as it stands now, what the chain "
        "says of it, and what would be left after it.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates/{public_id}/approvals/{approval_id}"),
        request_model=OneApproval,
        response_model=HeldOut,
        gather=gather_detail,
        read_set=mandate_read_set,
        handler=read,
        weight=HEAVY,
        refusals=("not_found", "not_configured"),
    ),
)
