"""The contract call of an action: plain, or with the owner's signature where the vault keeps
approvals.
"""

from __future__ import annotations

from datetime import datetime

from domain.chain_facts import Call
from domain.mandates.actions import Action
from domain.mandates.approvals import Approval
from domain.mandates.mandate import Mandate
from domain.ports import Chain
from domain.refusals import Refused, refusal
from storage.unit_of_work import UnitOfWork
from tools.context.approval_keeping import factory_of


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
    target, amount = action.target, action.amount
    if item is None or item.signature is None or item.until is None:
        return chain.vault_call(vault, "execute", target, data, amount)
    approval = item.until, item.signature
    return chain.vault_call(vault, "executeApproved", target, data, amount, *approval)


def require_known_keeping(chain: Chain, mandate: Mandate) -> None:
    """Refuse to ask an owner for an approval while it is not known who keeps it.

    Errors: `chain_unavailable`.
    """
    if (
        mandate.approvals_on_chain is None
        and chain.rpc_set
        and factory_of(chain, mandate) is not None
    ):
        why = "the factory could not be asked who keeps approvals"
        raise Refused(refusal("chain_unavailable", chain_id=mandate.chain_id, why=why))


def require_same_approval(tried: str | None, mandate: Mandate, approved: Approval | None) -> None:
    """Refuse calldata that was not tried: the owner decided while the call was looked at.

    Errors: `conflict`.
    """
    if mandate.approvals_on_chain and approved is not None and approved.approval_id != tried:
        raise Refused(refusal("conflict", why="The owner decided just now; ask again."))
