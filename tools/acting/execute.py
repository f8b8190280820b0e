"""The agent's call: checked calldata of `execute`, or an item that waits for the owner."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from pydantic import Field

from domain.facts import Simulation
from domain.mandates.actions import Action
from domain.mandates.approvals import Approval, ApprovalItem, Reservation
from domain.mandates.mandate import Mandate
from domain.money import ZERO, Usdc
from domain.reads.limits import RemainingNow, left
from domain.refusals import Refused, refusal
from domain.rules.case import Case
from domain.rules.checks import Check, Wanted, action_checks, needs_approval, quiet_until
from domain.rules.recorded import refuses
from domain.rules.reverts import ASKS_THE_OWNER, pulled, reverts
from domain.times import Timestamp
from storage.unit_of_work import UnitOfWork
from tools.acting.approved import keeper_known, same_item, signed_item, vault_call
from tools.acting.shapes import CheckTold, DecodedCall, decoded_call
from tools.call.access import of_one, own_agent_mandate, peek
from tools.call.approving import approvals_kept_if_readable, learned
from tools.call.case import (
    Facts,
    chain_if_named,
    load_case,
    named_chain,
    simulation_if_readable,
    vault_if_readable,
)
from tools.call.fields import Address, HexData, Lines, OneMandate
from tools.call.notices import approval_asked
from tools.call.operation import HEAVY, Ask, Caller, Deps, Gives, Operation, Reply
from tools.call.shapes import Simulated, simulated
from tools.call.wire import wire

GAS_MARGIN_PERCENT: Final = 30
EXECUTE_GAS: Final = 700_000


class Execute(OneMandate):
    """The action an agent wants to take through the vault."""

    target: Address
    data: HexData
    approve_amount: Usdc = Field(
        default=ZERO,
        description="USDC the target may pull in this call, as a decimal string. Needed for every "
        "call that takes USDC out of the vault: for deposit(assets, receiver) it is assets; leave "
        "it out for withdraw and redeem",
    )
    approval_id: str | None = Field(
        default=None, max_length=64, description="an approved item, when the owner had to be asked"
    )
    why: Lines | None = Field(
        default=None,
        max_length=2_000,
        description="reason the owner reads when the action needs approval",
    )
    dry_run: bool = Field(
        default=False, description="true: the checks alone; nothing is reserved or asked"
    )


class ExecuteOut(Gives):
    """Calldata to sign and send; with dry_run the checks; or an item that waits for the owner."""

    chain_id: int | None = None
    sender: str | None = Field(default=None, alias="from")
    to: str | None = None
    data: str | None = None
    value: str | None = None
    decoded: DecodedCall | None = None
    checks: list[CheckTold] | None = None
    simulation: Simulated | None = Field(
        default=None,
        description="what the chain said of the call; null where it could not be asked, which no "
        "refusal follows from",
    )
    gas: int | None = Field(
        default=None, description="a gas limit to send it with; null where it is not known"
    )
    approval_id: str | None = None
    action_hash: str | None = Field(
        default=None,
        description="names this very call to mandate_reconcile: keccak256(abi.encode(vault, "
        "target, keccak256(data), approveAmount)); null while there is no vault",
    )
    status: Literal["pending_approval"] | None = None
    approval: ApprovalItem | None = None
    dry_run: Literal[True] | None = None
    needs_approval: bool | None = None
    reserved_until: Timestamp | None = None
    remaining: RemainingNow | None = None


@dataclass(frozen=True, slots=True)
class ExecuteFacts:
    """The vault now, what the call would do, whether the vault keeps approvals, and the item whose
    signature the tried call carries.
    """

    facts: Facts
    simulation: Simulation | None
    kept: bool | None = None
    tried: str | None = None


async def gather_execute(deps: Deps, caller: Caller, asked: Execute) -> ExecuteFacts:
    """Read the vault and simulate the call before the transaction."""
    if asked.approve_amount < ZERO:
        raise Refused(
            refusal("invalid_number", value=str(asked.approve_amount), why="it is negative")
        )
    target = deps.chains.address(asked.target)
    m = await peek(deps, caller, asked.public_id)
    chain = chain_if_named(deps, m)
    vault = await vault_if_readable(chain, m)
    kept, told, item = await approvals_kept_if_readable(deps, m), None, None
    if chain is not None and vault is not None and vault.exists and m.agent_address:
        action = chain.action(vault.address, target, asked.data, asked.approve_amount)
        if kept:
            named, now = asked.approval_id, deps.clock.now()
            item = await deps.store.read(
                lambda uow: signed_item(uow, m.public_id, action, named, now)
            )
        call = vault_call(chain, vault.address, action, asked.data, item)
        told = await simulation_if_readable(chain, replace(call, sender=m.agent_address))
    return ExecuteFacts(Facts(vault=vault), told, kept, item.approval_id if item else None)


def execute_call(uow: UnitOfWork, ask: Ask[Execute, ExecuteFacts]) -> Reply:
    """Calldata of `execute`, after the vault's own checks and the owner's approval (contract 6)."""
    asked = ask.asked
    # The row is locked so that parallel calls see each other's reservations and pending items.
    m = own_agent_mandate(uow, ask.caller, asked.public_id, lock=True)
    m = learned(uow, m, ask.facts.kept)
    chain = named_chain(ask, m)
    target = ask.chains.address(asked.target)
    case = load_case(uow, ask, m, ask.facts.facts, events=0)
    vault, amount = m.vault_address, asked.approve_amount
    action = None if vault is None else chain.action(vault, target, asked.data, amount)
    key = None if action is None else action.action_hash
    held = next((r.amount for r in case.reservations if r.action.action_hash == key), ZERO)
    wanted = Wanted(target, asked.data, amount, held, key)
    checks = action_checks(case, wanted)
    shown = decoded_call(chain, m, wanted, asked.data)
    simulation = simulated(ask.facts.simulation)
    if asked.dry_run:
        return _dry(case, wanted, checks, shown, simulation)
    for check in checks:
        if check.refusal is not None:
            raise Refused(check.refusal)
    _refuse_revert(ask, checks, asking=needs_approval(case, wanted.amount))
    if vault is None or action is None:
        raise Refused(
            refusal("wrong_status", status=m.status.value, action="acting through its vault")
        )
    if m.agent_address is None:
        raise Refused(refusal("not_configured", what=f"the agent's address on chain {m.chain_id}"))
    approved = _approval(uow, ask, case, action, shown)
    if isinstance(approved, Reply):
        return approved
    same_item(ask.facts.tried, m, approved)
    _refuse_revert(ask, checks, asking=False)
    approval_id = approved.approval_id if approved else None
    until = _handed_out(uow, ask, action, m.agent_address, approval_id)
    call = vault_call(chain, vault, action, asked.data, approved)
    body = {
        "chain_id": call.chain_id,
        "from": m.agent_address,
        "to": call.to,
        "data": call.data,
        "value": call.value,
        "decoded": shown,
        "checks": [c.as_json() for c in checks],
        "simulation": simulation,
        "gas": _gas(ask.facts.simulation),
        "approval_id": approval_id,
        "action_hash": action.action_hash,
        "reserved_until": until,
    }
    return Reply(200, body)


def _handed_out(
    uow: UnitOfWork,
    ask: Ask[Execute, ExecuteFacts],
    action: Action,
    sender: str,
    approval_id: str | None,
) -> datetime:
    """Note that calldata is handed out, after which block, and until when its amount is held."""
    vault, told = ask.facts.facts.vault, ask.facts.simulation
    newest = told.block if told is not None else vault.block if vault is not None else None
    held = Reservation(
        public_id=ask.asked.public_id,
        action=action,
        made_at=ask.now,
        expires_at=ask.now + timedelta(seconds=ask.config.reservation_s),
        sender=sender,
        block=None if newest is None else newest.number,
        approval_id=approval_id,
    )
    uow.reservations.put(held)
    return held.expires_at


def _refuse_revert(ask: Ask[Execute, ExecuteFacts], checks: list[Check], *, asking: bool) -> None:
    """Refuse what the chain says would revert; `asking`: the owner is asked before it can pass.

    Errors: the code of the vault's error, else `would_revert`.
    """
    told = ask.facts.simulation
    if told is None or told.ok:
        return
    if asking and told.revert is not None and told.revert.name == ASKS_THE_OWNER:
        return
    asked, stale = ask.asked, None
    if asked.approve_amount == ZERO:
        stale = refuses(ask.facts.facts.vault, told.revert)
    pulls = pulled(asked.data)
    raise Refused(
        reverts(told.revert, checks, pulls=pulls, approved=asked.approve_amount, stale=stale)
    )


def _gas(told: Simulation | None) -> int | None:
    """A gas limit with a margin; probes are given more than an estimate finds (chain.md)."""
    if told is None or told.gas is None:
        return None
    return max(told.gas * (100 + GAS_MARGIN_PERCENT) // 100, EXECUTE_GAS)


def _dry(case: Case, wanted: Wanted, checks: list[Check], shown: Any, simulation: Any) -> Reply:
    body = {
        "dry_run": True,
        "action_hash": wanted.action_hash,
        "decoded": shown,
        "checks": [c.as_json() for c in checks],
        "simulation": simulation,
        "needs_approval": needs_approval(case, wanted.amount),
        "remaining": left(case),
    }
    return Reply(200, body)


def _approval(
    uow: UnitOfWork,
    ask: Ask[Execute, ExecuteFacts],
    case: Case,
    action: Action,
    decoded: DecodedCall,
) -> Approval | Reply | None:
    """The approved item that covers the action, nothing where none is needed, or the answer that
    it waits.
    """
    public_id, now, key = case.mandate.public_id, ask.now, action.action_hash
    named = None
    if ask.asked.approval_id is not None:
        named = uow.approvals.get(public_id, ask.asked.approval_id)
        if named is None or named.action_hash != key or named.shown(now) in ("expired", "used"):
            raise Refused(refusal("approval_expired", approval_id=ask.asked.approval_id))
    if not needs_approval(case, action.amount):
        return None
    items = [named] if named else uow.approvals.of_action(public_id, key)
    keeper_known(named_chain(ask, case.mandate), case.mandate)
    for item in items:
        shown = item.shown(now)
        # What was approved before it was known that the vault asks for a signature waits for one.
        unsigned = bool(case.mandate.approvals_on_chain) and item.signature is None
        if shown == "approved" and not unsigned:
            return item
        if shown in ("pending", "approved"):
            return _waits(item, key, now)
        if shown == "declined" and item.decided_at and now < quiet_until(case, item.decided_at):
            raise Refused(
                refusal(
                    "owner_declined",
                    retry_at=quiet_until(case, item.decided_at),
                    detail={"approval": wire(item.told(now))},
                )
            )
    return _asked(uow, ask, case, action, decoded)


def _asked(
    uow: UnitOfWork,
    ask: Ask[Execute, ExecuteFacts],
    case: Case,
    action: Action,
    shown: DecodedCall,
) -> Reply:
    """Make a pending item; at most ten wait for one mandate (spec 3.2)."""
    waiting = uow.approvals.pending(case.mandate.public_id, ask.now)
    if len(waiting) >= ask.config.pending_approvals_max:
        first = min(a.expires_at for a in waiting)
        why = f"{len(waiting)} approvals wait for the owner already."
        raise Refused(
            refusal("rate_limited", why=why, retry_at=first, remaining={"pending_approvals": 0})
        )
    item = Approval(
        approval_id=ask.ids.short("ap_"),
        public_id=case.mandate.public_id,
        status="pending",
        target={
            "market": shown.market,
            "address": shown.target,
            "selector": shown.selector,
        },
        data=ask.asked.data,
        action_hash=action.action_hash,
        approve_amount_usdc=action.amount,
        why=ask.asked.why,
        requested_at=ask.now,
        expires_at=_until(ask, case.mandate),
        data_hash=action.data_hash,
    )
    uow.approvals.add(item)
    approval_asked(uow, case.mandate.owner_id, item, ask.now)
    return _waits(item, action.action_hash, ask.now)


def _until(ask: Ask[Execute, ExecuteFacts], m: Mandate) -> datetime:
    """Until when an item is good; nothing is decided once its mandate has ended."""
    until = ask.now + timedelta(seconds=ask.config.approval_valid_s)
    return until if m.ends_at is None else min(until, m.ends_at)


def _waits(item: Approval, key: str, now: datetime) -> Reply:
    return Reply(
        202, {"status": "pending_approval", "approval": item.told(now), "action_hash": key}
    )


OPERATIONS: Final = (
    Operation(
        name="mandate_execute_call",
        title="Get calldata to act",
        summary="Checked calldata of the vault's execute(target, data, approveAmount) for you to "
        "sign and send. Above the owner's approval amount it answers pending_approval instead; "
        "once approved, where the vault keeps approvals, it is executeApproved with the owner's "
        "signature. "
        "dry_run=true shows the checks. Calldata that would revert is refused, and nothing is "
        "reserved for it.",
        auth="agent",
        route=("GET", "/wallet/mandates/{public_id}/execute-call"),
        long=True,
        takes=Execute,
        gives=ExecuteOut,
        weight=HEAVY,
        handler=execute_call,
        gather=gather_execute,
        needs=of_one,
        writes=True,
        on_mcp=True,
        statuses={
            200: "Calldata, or with dry_run the checks",
            202: "Held for the owner: pending_approval, no calldata",
        },
        refusals=(
            "not_found",
            "invalid_number",
            "invalid_address",
            "mandate_not_accepted",
            "mandate_paused",
            "mandate_stopped",
            "mandate_ended",
            "target_not_allowed",
            "over_per_tx_cap",
            "over_daily_cap",
            "over_budget",
            "below_stop_line",
            "would_revert",
            "owner_declined",
            "approval_expired",
            "conflict",
            "chain_unavailable",
            "rate_limited",
            "wrong_status",
            "not_configured",
        ),
    ),
)
