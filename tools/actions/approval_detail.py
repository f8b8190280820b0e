"""Detail of one approval: the stored action, simulated again on the chain as it is now."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pydantic import Field

from domain.mandates.actions import Action, selector_of
from domain.mandates.approvals import OPEN, Approval, ApprovalItem, Reservation
from domain.rules.action_checks import RemainingNow, remaining
from domain.rules.snapshot import MandateSnapshot
from storage.unit_of_work import UnitOfWork
from tools.actions.vault_action import CheckTold, DecodedCall, judged, simulate_action
from tools.context.access import load_mandate, mandate_read_set, not_found, visible_mandate
from tools.context.approval_keeping import approval_keeping_if_readable
from tools.context.snapshot_loader import (
    GatheredFacts,
    chain_or_none,
    load_snapshot,
    require_chain,
    vault_if_readable,
)
from tools.model.fields import ApprovalId, OneMandate
from tools.model.operation import HEAVY, Caller, Deps, Operation, RequestContext, ResponseModel
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


async def gather_detail(deps: Deps, caller: Caller, request: OneApproval) -> GatheredFacts:
    """Read the vault, and try the action as the agent would send it."""
    mandate = await load_mandate(deps, caller, request.public_id)
    chain = chain_or_none(deps, mandate)
    facts = GatheredFacts(vault=await vault_if_readable(chain, mandate))
    item = await deps.store.read(
        lambda uow: uow.approvals.get(mandate.public_id, request.approval_id)
    )
    if chain is None or facts.vault is None or not facts.vault.exists:
        return facts
    if mandate.agent_address is None:
        return facts
    if item is None or item.is_payment or item.status_at(deps.clock.now()) not in OPEN:
        return facts
    if item.signature is None and await approval_keeping_if_readable(deps, mandate):
        return facts
    target, amount = item.target.get("address") or "", item.approve_amount_usdc
    action = chain.action(facts.vault.address, target, item.data, amount)
    with chain.short_deadline():
        tried = await simulate_action(chain, mandate, action, item.data, item)
    return replace(facts, simulation=tried)


def read(uow: UnitOfWork, ctx: RequestContext[OneApproval, GatheredFacts]) -> HeldOut:
    """The item with fresh checks, and what would be left."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    item = uow.approvals.get(mandate.public_id, ctx.request.approval_id)
    if item is None:
        raise not_found("approval")
    snapshot = load_snapshot(uow, ctx, mandate, ctx.facts, events=0)
    target, amount = item.target.get("address") or "", item.approve_amount_usdc
    judgement = judged(snapshot, target, item.data, amount, item.action_hash)
    is_open = item.status_at(ctx.now) in OPEN
    return HeldOut(
        approval=item.as_item(ctx.now),
        decoded=judgement.decoded(require_chain(ctx, mandate), mandate),
        # A bill was checked before the owner was asked; the purse itself holds it to the terms.
        checks=[] if item.is_payment else judgement.shown_checks(),
        simulation=simulated(ctx.facts.simulation),
        remaining_after=remaining(_with(snapshot, item)) if is_open else None,
    )


def _with(snapshot: MandateSnapshot, item: Approval) -> MandateSnapshot:
    """The case once the action is handed out: what counts then is what would count after it. What
    a purse pays was counted when it was put in.
    """
    if item.is_payment:
        return snapshot
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
