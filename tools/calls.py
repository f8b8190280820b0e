"""Calldata for others to sign: the agent's execute, and what the owner needs to pause, resume, stop and leave."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, Literal

from pydantic import Field

from domain.actions import action_hash, selector_of
from domain.approvals import Approval, Reservation
from domain.book import Book
from domain.checks import Check, Wanted, action_checks, quiet_until, remaining
from domain.events import Kind, NewEvent, Reporter
from domain.lock import lock
from domain.mandate import Action, Mandate, Status, moved
from domain.money import ZERO, Usdc
from domain.ports import Call, Simulation
from domain.progress import exit_cost, leave_now
from domain.refusals import Refused, refusal, timestamp
from storage.unit_of_work import UnitOfWork
from tools.access import (
    Address,
    Facts,
    HexData,
    OneMandate,
    chain_in,
    chain_of,
    gather_mandate,
    load_book,
    named_chain,
    own_agent_mandate,
    peek,
    seen_mandate,
    vault_now,
)
from tools.ingest import take_receipt
from tools.operation import Ask, Caller, Deps, Gives, Operation, Reply
from tools.signing import ByTx, MandateOnly, gather_receipt, mined


class Execute(OneMandate):
    """The action an agent wants to take through the vault."""

    target: Address
    data: HexData
    approve_amount: Usdc = Field(default=ZERO, description="USDC the target may pull in this call, as a decimal string")
    approval_id: str | None = Field(default=None, max_length=64, description="an approved item, when the owner had to be asked")
    why: str | None = Field(default=None, max_length=2_000, description="reason the owner reads when the action needs approval")
    dry_run: bool = Field(default=False, description="true: the checks alone; nothing is reserved or asked")


class ExecuteOut(Gives):
    """Calldata to sign and send, or an item that waits for the owner."""

    chain_id: int | None = None
    sender: str | None = Field(default=None, alias="from", serialization_alias="from")
    to: str | None = None
    data: str | None = None
    value: str | None = None
    decoded: dict[str, Any] | None = None
    checks: list[dict[str, Any]] | None = None
    simulation: dict[str, Any] | None = None
    approval_id: str | None = None
    status: str | None = None
    approval: dict[str, Any] | None = None
    dry_run: bool | None = None
    needs_approval: bool | None = None
    reserved_until: str | None = None
    remaining: dict[str, Any] | None = None


class VaultCallOut(Gives):
    """A transaction for the caller to sign and send."""

    call: dict[str, Any] | None
    message: str
    lock: dict[str, Any] | None = None
    chain_live: bool | None = None


class Unwind(OneMandate):
    """A call on a closed mandate."""

    target: Address
    data: HexData


class StopOut(Gives):
    """A stop in the record, and the call that stops the vault."""

    mandate: dict[str, Any]
    chain_live: bool
    stop_call: dict[str, Any] | None
    message: str


class PlanOut(Gives):
    """Ordered steps out of everything."""

    steps: list[dict[str, Any]]
    exit_cost_est: str | None
    leave_now_est: str | None
    est: bool


# -- execute -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExecuteFacts:
    """The vault now, and what the call would do."""

    facts: Facts
    simulation: Simulation | None


async def gather_execute(deps: Deps, caller: Caller, asked: Execute) -> ExecuteFacts:
    """Read the vault and simulate the call before the transaction."""
    m = await peek(deps, caller, asked.public_id)
    chain = chain_of(deps, m)
    vault = await vault_now(chain, m)
    told = None
    if chain is not None and vault is not None and vault.exists and m.agent_address:
        target = deps.chains.address(asked.target)
        call = chain.vault_call(vault.address, "execute", target, asked.data, asked.approve_amount)
        try:
            told = await chain.simulate(replace(call, sender=m.agent_address))
        except Refused:
            told = None
    return ExecuteFacts(Facts(vault=vault), told)


def execute_call(uow: UnitOfWork, ask: Ask[Execute, ExecuteFacts]) -> Reply:
    """Calldata of `execute`, after the vault's own checks and the owner's approval (contract 6)."""
    asked = ask.asked
    # The row is locked so that parallel calls see each other's reservations and pending items.
    m = own_agent_mandate(uow, ask.caller, asked.public_id, lock=True)
    chain = named_chain(ask, m)
    if asked.approve_amount < ZERO:
        raise Refused(refusal("invalid_number", value=str(asked.approve_amount), why="it is negative"))
    target = ask.chains.address(asked.target)
    book = load_book(uow, ask, m, ask.facts.facts, events=0)
    key = action_hash(target, asked.data, asked.approve_amount)
    held = next((r.amount for r in book.reservations if r.action_hash == key), ZERO)
    wanted = Wanted(target, selector_of(asked.data), asked.approve_amount, held)
    checks = action_checks(book, wanted)
    decoded = _decoded(m, wanted) | {"call": chain.explain_call(asked.data)}
    simulation = _simulated(ask.facts.simulation)
    if asked.dry_run:
        return _dry(book, wanted, checks, decoded, simulation)
    for check in checks:
        if check.refusal is not None:
            raise Refused(check.refusal)
    if m.vault_address is None:
        raise Refused(refusal("wrong_status", status=m.status.value, action="acting through its vault"))
    if m.agent_address is None:
        raise Refused(refusal("not_configured", what=f"the agent's address on chain {m.chain_id}"))
    approved = _approval(uow, ask, book, wanted, key, decoded)
    if isinstance(approved, Reply):
        return approved
    until = ask.now + timedelta(seconds=ask.config.reservation_s)
    approval_id = approved.approval_id if approved else None
    uow.reservations.put(Reservation(m.public_id, key, asked.approve_amount, ask.now, until, approval_id))
    call = chain.vault_call(m.vault_address, "execute", target, asked.data, asked.approve_amount)
    body = replace(call, sender=m.agent_address).as_json() | {
        "decoded": decoded, "checks": [c.as_json() for c in checks], "simulation": simulation,
        "approval_id": approval_id, "reserved_until": timestamp(until),
    }  # fmt: skip
    return Reply(200, body)


def _decoded(m: Mandate, wanted: Wanted) -> dict[str, Any]:
    entry = m.contract_target(wanted.target, wanted.selector)
    named = {"market": entry.market, "label": entry.label} if entry else {"market": None, "label": None}
    return {"target": wanted.target, "selector": wanted.selector} | named


def _simulated(told: Simulation | None) -> dict[str, Any] | None:
    if told is None:
        return None
    revert = {"name": told.revert.name, "args": dict(told.revert.args), "code": told.revert.code} if told.revert else None
    return {"ok": told.ok, "revert": revert, "gas": told.gas}


def _dry(book: Book, wanted: Wanted, checks: list[Check], decoded: Any, simulation: Any) -> Reply:
    body = {
        "dry_run": True, "decoded": decoded, "checks": [c.as_json() for c in checks], "simulation": simulation,
        "needs_approval": needs_approval(book, wanted.amount), "remaining": remaining(book).as_json(),
    }  # fmt: skip
    return Reply(200, body)


def needs_approval(book: Book, amount: Usdc) -> bool:
    """True strictly above the approval amount, while the gate is on."""
    above = book.mandate.approval_above_usdc
    return book.switches.approval_gate and above is not None and amount > above


def _approval(
    uow: UnitOfWork, ask: Ask[Execute, ExecuteFacts], book: Book, wanted: Wanted, key: str, decoded: dict[str, Any]
) -> Approval | Reply | None:
    """The approved item that covers the action, nothing where none is needed, or the answer that it waits."""
    public_id, now = book.mandate.public_id, ask.now
    items = uow.approvals.of_action(public_id, key)
    if ask.asked.approval_id is not None:
        named = uow.approvals.get(public_id, ask.asked.approval_id)
        if named is None or named.action_hash != key or named.shown(now) in ("expired", "used"):
            raise Refused(refusal("approval_expired", approval_id=ask.asked.approval_id))
        items = [named]
    if not needs_approval(book, wanted.amount):
        return None
    for item in items:
        shown = item.shown(now)
        if shown == "approved":
            return item
        if shown == "pending":
            return Reply(202, {"status": "pending_approval", "approval": item.as_json(now)})
        if shown == "declined" and item.decided_at and now < quiet_until(book, item.decided_at):
            raise Refused(
                refusal("owner_declined", retry_at=quiet_until(book, item.decided_at), detail={"approval": item.as_json(now)})
            )
    return _asked(uow, ask, book, wanted, key, decoded)


def _asked(
    uow: UnitOfWork, ask: Ask[Execute, ExecuteFacts], book: Book, wanted: Wanted, key: str, decoded: dict[str, Any]
) -> Reply:
    """Make a pending item; at most ten wait for one mandate (spec 3.2)."""
    waiting = uow.approvals.pending(book.mandate.public_id, ask.now)
    if len(waiting) >= ask.config.pending_approvals_max:
        first = min(a.expires_at for a in waiting)
        why = f"{len(waiting)} approvals wait for the owner already."
        raise Refused(refusal("rate_limited", why=why, retry_at=first, remaining={"pending_approvals": 0}))
    place = {"market": decoded["market"], "address": wanted.target, "selector": wanted.selector}
    expires = ask.now + timedelta(seconds=ask.config.approval_valid_s)
    item = Approval(
        ask.ids.short("ap_"), book.mandate.public_id, "pending", place, ask.asked.data, key, wanted.amount, ask.asked.why,
        ask.now, expires,
    )  # fmt: skip
    uow.approvals.add(item)
    return Reply(202, {"status": "pending_approval", "approval": item.as_json(ask.now)})


# -- the owner's calls ---------------------------------------------------------------------------------------------


def _vault(m: Mandate, action: str) -> str:
    if m.vault_address is None:
        raise Refused(refusal("wrong_status", status=m.status.value, action=action))
    return m.vault_address


def _for(m: Mandate, call: Call) -> dict[str, Any]:
    return replace(call, sender=m.owner_address).as_json()


def _open(book: Book, action: str) -> None:
    m, chain = book.mandate, book.chain
    if m.status not in (Status.SIGNED, Status.WORKING) or (chain is not None and chain.stopped):
        raise Refused(refusal("wrong_status", status=m.status.value, action=action))


def stop_call(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """Calldata of `stop()`, which also revokes the agent."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    vault = _vault(m, "stopping its vault")
    if ask.facts.vault is not None and ask.facts.vault.stopped:
        raise Refused(refusal("mandate_stopped"))
    call = named_chain(ask, m).vault_call(vault, "stop")
    return Reply(200, {"call": _for(m, call), "message": "Ends the agent's authority for good and revokes it."})


def pause_call(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """Calldata of `revokeAgent()`."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    vault = _vault(m, "pausing it")
    _open(load_book(uow, ask, m, ask.facts, events=0), "pausing it")
    call = named_chain(ask, m).vault_call(vault, "revokeAgent")
    return Reply(200, {"call": _for(m, call), "message": "Takes the agent's authority away until you resume."})


def resume_call(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """Calldata of `setAgent(agent)`, only while paused."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    vault = _vault(m, "resuming it")
    book = load_book(uow, ask, m, ask.facts, events=0)
    _open(book, "resuming it")
    paused = book.chain.paused if book.chain is not None and book.chain.exists else m.paused
    if not paused:
        raise Refused(refusal("not_paused"))
    if m.agent_address is None:
        raise Refused(refusal("mandate_not_accepted"))
    call = named_chain(ask, m).vault_call(vault, "setAgent", m.agent_address)
    return Reply(200, {"call": _for(m, call), "message": "Gives the agent its authority back."})


def withdraw_call(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """Calldata of `withdrawAll()`, or why it is locked and until when."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    vault = _vault(m, "withdrawing")
    book = load_book(uow, ask, m, ask.facts, events=0)
    state = lock(book)
    if book.chain is not None and book.chain.exists and not book.chain.withdrawable:
        until = book.chain.lock_until
        raise Refused(refusal("withdraw_locked", until=state["until"], retry_at=until, detail={"lock": state}))
    call = named_chain(ask, m).vault_call(vault, "withdrawAll")
    message = "Stops and settles first where that has not happened, then pays everything but the agent's earned fee."
    return Reply(200, {"call": _for(m, call), "lock": state, "message": message})


def unwind_call(uow: UnitOfWork, ask: Ask[Unwind, Facts]) -> Reply:
    """Calldata of `unwind(target, data)` on a closed mandate; the caller signs."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    vault = _vault(m, "unwinding")
    target = ask.chains.address(ask.asked.target)
    book = load_book(uow, ask, m, ask.facts, events=0)
    closed = m.status in (Status.STOPPED, Status.SETTLED) or m.ended(ask.now) or bool(book.chain and book.chain.stopped)
    if not closed:
        raise Refused(refusal("wrong_status", status=m.status.value, action="unwinding"))
    if ask.caller.role == "agent":
        if (book.chain and book.chain.stopped) or m.status in (Status.STOPPED, Status.SETTLED):
            raise Refused(refusal("mandate_stopped"))
        if m.paused:
            raise Refused(refusal("mandate_paused"))
    settled = m.status is Status.SETTLED or bool(book.chain and book.chain.settled)
    selector = selector_of(ask.asked.data)
    if m.contract_target(target, selector) is None and not (settled and ask.caller.role == "owner"):
        raise Refused(refusal("target_not_allowed", target=target, selector=selector))
    sender = m.owner_address if ask.caller.role == "owner" else m.agent_address
    call = replace(named_chain(ask, m).vault_call(vault, "unwind", target, ask.asked.data), sender=sender)
    return Reply(200, {"call": call.as_json(), "message": "Closes a position; no USDC may leave the vault in it."})


def stop(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """Stop in the record: no more calldata; the vault itself stops by the call in the answer."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id, lock=True)
    chain = chain_in(ask, m)
    if m.status is not Status.STOPPED:
        m = replace(m, status=moved(m, Action.STOP), stopped_at=ask.now)
        uow.mandates.save(m)
        row = NewEvent(Kind.STOP, Reporter.OWNER, ask.now, chain_id=m.chain_id, payload={"reason": "owner", "record_only": True})
        uow.ledger.append(m.public_id, row, event_id=ask.ids.short("ev_"), now=ask.now)
    live = m.vault_address is not None and not (ask.facts.vault is not None and ask.facts.vault.stopped)
    call = chain.vault_call(m.vault_address, "stop") if live and chain is not None and m.vault_address else None
    message = "The vault is still live: send stop_call to revoke the agent on chain too." if live else "The vault is stopped."
    told = {"mandate": m.attributes(), "chain_live": live, "stop_call": _for(m, call) if call else None, "message": message}
    return Reply(200, told)


def forfeit(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """The agent gives its role up: calldata of the vault's `stop()`, which the agent may call itself."""
    m = own_agent_mandate(uow, ask.caller, ask.asked.public_id)
    vault = _vault(m, "forfeiting it")
    if (ask.facts.vault is not None and ask.facts.vault.stopped) or m.status in (Status.STOPPED, Status.SETTLED):
        raise Refused(refusal("mandate_stopped"))
    call = replace(named_chain(ask, m).vault_call(vault, "stop"), sender=m.agent_address)
    return Reply(200, {"call": call.as_json(), "message": "Sign and send it: your role ends for good.", "chain_live": True})


def close_all_plan(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """Ordered steps for stop-and-close-everything, with what the exit is estimated to cost."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    vault = _vault(m, "closing everything")
    book = load_book(uow, ask, m, ask.facts, events=0)
    chain = named_chain(ask, m)
    steps: list[dict[str, Any]] = []
    state = book.chain
    if state is None or not state.stopped:
        steps.append(
            {"step": "stop", "text": "Stop the vault and revoke the agent.", "call": _for(m, chain.vault_call(vault, "stop"))}
        )
    for key, position in book.state.open_positions.items():
        place = book.state.positions[key]
        if position.value > 0:
            leaving = Usdc(position.value).share_up(ask.config.spread_bps)
            steps.append(
                {
                    "step": "unwind", "text": "Close this position: ask unwind-call with the market's exit calldata.",
                    "position": key, "market": place.market, "target": place.address,
                    "value_est": str(Usdc(position.value)), "exit_cost_est": str(leaving), "call": None,
                    "route": f"GET /wallet/mandates/{m.public_id}/unwind-call",
                }
            )  # fmt: skip
    if state is None or not state.settled:
        steps.append(
            {
                "step": "settle",
                "text": "Fix the result, once; anyone may send it.",
                "call": _for(m, chain.vault_call(vault, "settle")),
            }
        )
    steps.append({"step": "withdraw", "text": "Take everything out.", "call": _for(m, chain.vault_call(vault, "withdrawAll"))})
    cost, left = exit_cost(book), leave_now(book)
    told = {
        "steps": [{"n": n, **s} for n, s in enumerate(steps, start=1)],
        "exit_cost_est": None if cost is None else str(cost),
        "leave_now_est": None if left is None else str(left),
        "est": True,
    }
    return Reply(200, told)


class VaultTx(ByTx):
    """A transaction on the vault, and what it is meant to have done."""

    kind: Literal["stop", "pause", "resume", "withdraw", "unwind", "deposit"] | None = None


LOG_OF: Final = {
    "stop": "Stopped", "pause": "AgentRevoked", "resume": "AgentSet", "withdraw": "Withdrawn", "unwind": "Unwound",
    "deposit": "Deposited",
}  # fmt: skip


def vault_tx(uow: UnitOfWork, ask: Ask[VaultTx, Facts]) -> Reply:
    """Record a transaction on the vault; only a successful receipt changes anything."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id, lock=True)
    vault = _vault(m, "recording a vault transaction")
    receipt = mined(ask.facts.receipt)
    names = {log.name for log in receipt.logs if log.address.lower() == vault.lower()}
    if not names:
        raise Refused(refusal("vault_mismatch", why="none of its logs is of this vault"))
    if ask.asked.kind is not None and LOG_OF[ask.asked.kind] not in names:
        raise Refused(refusal("vault_mismatch", why=f"it is no {ask.asked.kind}"))
    m = take_receipt(uow, ask, named_chain(ask, m), m, receipt)
    return Reply(200, {"mandate": m.attributes()})


_READS: Final = ("not_found", "wrong_status", "not_configured")
OPERATIONS: Final = (
    Operation(
        "mandate_execute_call", "Get calldata to act", "Checked calldata of the vault's execute(target, data, approveAmount) for you to "
        "sign and send. Above the owner's approval amount it answers pending_approval instead. dry_run=true shows the checks.",
        "agent", ("GET", "/wallet/mandates/{public_id}/execute-call"), Execute, ExecuteOut, execute_call,
        gather=gather_execute, writes=True, on_mcp=True,
        statuses={200: "Calldata, or with dry_run the checks", 202: "Held for the owner: pending_approval, no calldata"},
        refusals=("not_found", "invalid_number", "invalid_address", "mandate_not_accepted", "mandate_paused", "mandate_stopped",
                  "mandate_ended", "target_not_allowed", "over_per_tx_cap", "over_daily_cap", "over_budget", "below_stop_line",
                  "owner_declined", "approval_expired", "rate_limited", "wrong_status", "not_configured"),
    ),
    Operation(
        "mandate_unwind_call", "Get calldata to unwind", "Calldata of unwind(target, data) on a closed mandate; you sign it.",
        "owner_or_agent", ("GET", "/wallet/mandates/{public_id}/unwind-call"), Unwind, VaultCallOut, unwind_call,
        gather=gather_mandate, on_mcp=True,
        refusals=(*_READS, "invalid_address", "target_not_allowed", "mandate_stopped", "mandate_paused"),
    ),
    Operation(
        "mandate_forfeit", "Give up your role", "Calldata of the vault's stop(), which you may send yourself; final.",
        "agent", ("POST", "/wallet/mandates/{public_id}/forfeit"), OneMandate, VaultCallOut, forfeit, gather=gather_mandate,
        on_mcp=True, destructive=True, idempotent=True, refusals=(*_READS, "mandate_stopped"),
    ),
    Operation(
        "owner_stop", "Stop in the record", "Stop the mandate in the record; the answer holds the call that stops the vault.",
        "owner", ("POST", "/wallet/mandates/{public_id}/stop"), OneMandate, StopOut, stop, gather=gather_mandate, writes=True,
        destructive=True, idempotent=True, refusals=("not_found", "wrong_status", "conflict"),
    ),
    Operation(
        "owner_stop_call", "Get the stop call", "Calldata of the vault's stop(), which also revokes the agent.",
        "owner", ("GET", "/wallet/mandates/{public_id}/stop-call"), OneMandate, VaultCallOut, stop_call,
        gather=gather_mandate, refusals=(*_READS, "mandate_stopped"),
    ),
    Operation(
        "owner_pause_call", "Get the pause call", "Calldata of revokeAgent().",
        "owner", ("GET", "/wallet/mandates/{public_id}/pause-call"), OneMandate, VaultCallOut, pause_call,
        gather=gather_mandate, refusals=_READS,
    ),
    Operation(
        "owner_resume_call", "Get the resume call", "Calldata of setAgent(agent), only while paused.",
        "owner", ("GET", "/wallet/mandates/{public_id}/resume-call"), OneMandate, VaultCallOut, resume_call,
        gather=gather_mandate, refusals=(*_READS, "not_paused", "mandate_not_accepted"),
    ),
    Operation(
        "owner_withdraw_call", "Get the withdrawal call", "Calldata of withdrawAll(), or why it is locked and until when.",
        "owner", ("GET", "/wallet/mandates/{public_id}/withdraw-call"), OneMandate, VaultCallOut, withdraw_call,
        gather=gather_mandate, refusals=(*_READS, "withdraw_locked"),
    ),
    Operation(
        "owner_close_all_plan", "Plan the way out", "Ordered steps for stop-and-close-everything with exit cost estimates.",
        "owner", ("GET", "/wallet/mandates/{public_id}/close-all-plan"), OneMandate, PlanOut, close_all_plan,
        gather=gather_mandate, refusals=_READS,
    ),
    Operation(
        "owner_vault_tx", "Record a vault transaction", "Record a stop, pause, resume, withdraw, unwind or deposit transaction.",
        "owner", ("POST", "/wallet/mandates/{public_id}/vault-tx"), VaultTx, MandateOnly, vault_tx, gather=gather_receipt,
        writes=True, idempotent=True, refusals=(*_READS, "vault_mismatch", "chain_unavailable", "conflict"),
    ),
)  # fmt: skip
