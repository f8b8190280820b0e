"""One action that was held for the owner, looked at again as things stand now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from pydantic import Field

from domain.facts import Simulation
from domain.mandates.actions import Action, selector_of
from domain.mandates.approvals import OPEN, Approval, ApprovalItem, Reservation
from domain.mandates.mandate import Mandate
from domain.money import ZERO
from domain.ports import Chain
from domain.reads.limits import RemainingNow, left
from domain.rules.case import Case
from domain.rules.checks import Wanted, action_checks
from storage.unit_of_work import UnitOfWork
from tools.acting.approved import vault_call
from tools.acting.shapes import CheckTold, DecodedCall, decoded_call
from tools.call.access import not_found, of_one, peek, seen_mandate
from tools.call.approving import approvals_kept_if_readable
from tools.call.case import (
    Facts,
    chain_if_named,
    load_case,
    named_chain,
    simulation_if_readable,
    vault_if_readable,
)
from tools.call.fields import ApprovalId, OneMandate
from tools.call.operation import HEAVY, Ask, Caller, Deps, Gives, Operation, Reply
from tools.call.shapes import Simulated, simulated


class OneApproval(OneMandate):
    """Which item."""

    approval_id: ApprovalId


class HeldOut(Gives):
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
class HeldFacts:
    """The vault now, and what the action would do."""

    facts: Facts
    simulation: Simulation | None = None


async def gather_held(deps: Deps, caller: Caller, asked: OneApproval) -> HeldFacts:
    """Read the vault, and try the action as the agent would send it."""
    m = await peek(deps, caller, asked.public_id)
    chain = chain_if_named(deps, m)
    facts = Facts(vault=await vault_if_readable(chain, m))
    item = await deps.store.read(lambda uow: uow.approvals.get(m.public_id, asked.approval_id))
    if chain is None or facts.vault is None or not facts.vault.exists or m.agent_address is None:
        return HeldFacts(facts=facts)
    if item is None or item.shown(deps.clock.now()) not in OPEN:
        return HeldFacts(facts=facts)
    if item.signature is None and await approvals_kept_if_readable(deps, m):
        return HeldFacts(facts=facts)
    call = vault_call(chain, facts.vault.address, _action(chain, m, item), item.data, item)
    with chain.hurried():
        tried = await simulation_if_readable(chain, replace(call, sender=m.agent_address))
    return HeldFacts(facts=facts, simulation=tried)


def _action(chain: Chain, m: Mandate, item: Approval) -> Action:
    target = item.target.get("address") or ""
    return chain.action(m.vault_address or "", target, item.data, item.approve_amount_usdc)


def read(uow: UnitOfWork, ask: Ask[OneApproval, HeldFacts]) -> Reply:
    """The item with fresh checks, and what would be left."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    item = uow.approvals.get(m.public_id, ask.asked.approval_id)
    if item is None:
        raise not_found("approval")
    case = load_case(uow, ask, m, ask.facts.facts, events=0)
    key, amount = item.action_hash, item.approve_amount_usdc
    held = next((r.amount for r in case.reservations if r.action.action_hash == key), ZERO)
    target = item.target.get("address") or ""
    wanted = Wanted(target, item.data, amount, held, key)
    is_open = item.shown(ask.now) in OPEN
    body = {
        "approval": item.told(ask.now),
        "decoded": decoded_call(named_chain(ask, m), m, wanted, item.data),
        "checks": [c.as_json() for c in action_checks(case, wanted)],
        "simulation": simulated(ask.facts.simulation),
        "remaining_after": left(_with(case, item)) if is_open else None,
    }
    return Reply(200, body)


def _with(case: Case, item: Approval) -> Case:
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
        made_at=case.now,
        expires_at=item.expires_at,
        sender=case.mandate.agent_address or "",
    )
    others = (r for r in case.reservations if r.action.action_hash != item.action_hash)
    return replace(case, reservations=(*others, taken))


OPERATIONS: Final = (
    Operation(
        name="mandate_approval",
        title="Look at a held action",
        summary="One held action: the call decoded, every check as it stands now, what the chain "
        "says of it, and what would be left after it.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates/{public_id}/approvals/{approval_id}"),
        takes=OneApproval,
        gives=HeldOut,
        gather=gather_held,
        needs=of_one,
        handler=read,
        weight=HEAVY,
        refusals=("not_found", "not_configured"),
    ),
)
