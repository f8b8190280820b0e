"""Chain logs become ledger rows, and move the mandate they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from domain.facts import Receipt, VaultLog
from domain.ledger.events import Event, Kind, NewEvent, Reporter
from domain.mandates.actions import action_hash_of
from domain.mandates.mandate import Mandate, Status
from domain.mandates.states import Action, moved
from domain.money import Usdc
from domain.ports import Chain, Ids
from domain.refusals import Refused
from domain.rules.case import Book
from domain.rules.violations import flagged, violations
from domain.settings import Config, Switches
from storage.unit_of_work import UnitOfWork
from tools.call.operation import Ask

STOP_REASONS: Final = {0: "none", 1: "owner", 2: "agent", 3: "floor", 4: "withdraw"}


@dataclass(frozen=True, slots=True)
class Desk:
    """What taking logs in needs besides the transaction."""

    now: datetime
    ids: Ids
    config: Config
    switches: Switches


def row_of(log: VaultLog, m: Mandate) -> NewEvent | None:
    """The ledger row that a vault's log is; None for a log that is none (contract 5).

    Units: amounts in the payload are 6-decimal strings of USDC.
    """
    kind, amount, payload = Kind.NOTE, None, {}
    a = log.args
    if log.name == "Deposited":
        kind, amount, payload = Kind.DEPOSIT, a["amount"], {"from": a["from"]}
    elif log.name == "Executed":
        told = _called(m, a) | {
            "spent": _money(a["spent"]),
            "received": _money(a["returned"]),
            "approved": _money(a["approved"]),
        }
        kind, amount, payload = (
            Kind.MOVE,
            a["spent"] or a["returned"],
            {"executed": told | {"agent": a["agent"]}},
        )
        payload["direction"] = "out" if a["spent"] else "in"
    elif log.name == "Unwound":
        told = _called(m, a) | {
            "spent": _money(0),
            "received": _money(a["returned"]),
            "by": a["by"],
        }
        kind, amount, payload = Kind.MOVE, a["returned"], {"unwound": told, "direction": "in"}
    elif log.name == "Withdrawn":
        kind, amount = Kind.WITHDRAW, a["amount"]
    elif log.name == "AgentPaid":
        kind, amount, payload = Kind.PAYOUT, a["amount"], {"agent": a["agent"]}
    elif log.name == "Stopped":
        kind, payload = (
            Kind.STOP,
            {"reason": STOP_REASONS.get(a["reason"], "unknown"), "by": a["by"]},
        )
    elif log.name == "Settled":
        result = a["totalReturned"] - a["totalSpent"]
        told = {
            "spent": a["totalSpent"],
            "returned": a["totalReturned"],
            "gain": a["gain"],
            "agent_fee": a["agentFee"],
        }
        kind, amount, payload = (
            Kind.RESOLVE,
            result,
            {"settled": {n: _money(v) for n, v in told.items()}},
        )
    elif log.name in ("AgentSet", "AgentRevoked"):
        payload = {
            "control": {
                "what": "resumed" if log.name == "AgentSet" else "paused",
                "agent": a["agent"],
            }
        }
    elif log.name == "Marked":
        payload = {"marked": {n: _money(a[n]) for n in ("cash", "positions", "floor")}}
    else:
        return None
    return NewEvent(
        kind=kind,
        reported_by=Reporter.CHAIN,
        occurred_at=log.block.at,
        amount_usdc=None if amount is None else Usdc(amount),
        tx_hash=log.tx_hash,
        chain_id=m.chain_id,
        log_index=log.log_index,
        block_number=log.block.number,
        payload={**payload, "log_index": log.log_index},
    )


def _money(units: int) -> str:
    return str(Usdc(units))


def _called(m: Mandate, args: Mapping[str, Any]) -> dict[str, Any]:
    entry = m.contract_target(args["target"], args["selector"])
    named = (
        {"market": entry.market, "label": entry.label} if entry else {"market": None, "label": None}
    )
    return {"target": args["target"], "selector": args["selector"]} | named


def take_log(uow: UnitOfWork, desk: Desk, m: Mandate, log: VaultLog) -> Event | None:
    """Add a log's row and move the mandate; None where the row is there already.

    An executed call that breaks a rule is stored and flagged like a reported one.
    """
    new = row_of(log, m)
    if new is None:
        return None
    if log.name == "Executed":
        new = _judged(uow, desk, m, new)
    event = uow.ledger.append(m.public_id, new, event_id=desk.ids.short("ev_"), now=desk.now)
    if event is None:
        original = taken_away(uow, m.public_id, log.tx_hash, log.log_index)
        if original is None:
            return None
        # The log was gone and came back: one log is one row, so what it says is restated without
        # its place.
        kept = {k: v for k, v in new.payload.items() if k != "log_index"}
        again = replace(new, log_index=None, payload={**kept, "restates": original.event_id})
        event = uow.ledger.append(m.public_id, again, event_id=desk.ids.short("ev_"), now=desk.now)
    changed = _moved(uow, desk, m, log)
    if changed != m:
        uow.mandates.save(changed)
    return event


def taken_away(
    uow: UnitOfWork, public_id: str, tx_hash: str, log_index: int | None
) -> Event | None:
    """The row of a log that a reorganisation took away and nothing has restated since."""
    rows = uow.ledger.by_tx(public_id, tx_hash)
    original = next(
        (e for e in rows if e.log_index == log_index and e.reported_by is Reporter.CHAIN), None
    )
    if original is None:
        return None
    told = [e.payload.get("reverses") for e in rows]
    reversals = sum(isinstance(t, dict) and t.get("event_id") == original.event_id for t in told)
    restated = sum(e.payload.get("restates") == original.event_id for e in rows)
    return original if reversals > restated else None


def _judged(uow: UnitOfWork, desk: Desk, m: Mandate, new: NewEvent) -> NewEvent:
    book = Book(
        m,
        uow.ledger.state(m.public_id),
        desk.now,
        desk.config,
        desk.switches,
        approvals=tuple(
            uow.approvals.of_target(m.public_id, str(new.payload["executed"]["target"]))
        ),
        policy=uow.policies.get(m.agent_id) if m.agent_id else None,
    )
    same = tuple(uow.ledger.by_tx(m.public_id, new.tx_hash or ""))
    return replace(new, payload=flagged(new, violations(book, new, same)))


def _moved(uow: UnitOfWork, desk: Desk, m: Mandate, log: VaultLog) -> Mandate:
    at = log.block.at
    if log.name == "Deposited" and m.status is Status.SIGNED:
        return replace(m, status=moved(m, Action.FUND))
    if log.name == "Stopped" and m.status in (Status.SIGNED, Status.WORKING):
        return replace(m, status=moved(m, Action.STOP), stopped_at=at)
    if log.name == "AgentRevoked" and m.stopped_at is None:
        return replace(m, paused_at=at)
    if log.name == "AgentSet":
        return replace(m, paused_at=None)
    if log.name == "Settled" and m.status in (Status.WORKING, Status.STOPPED):
        return replace(m, status=moved(m, Action.SETTLE), settled_at=at)
    if log.name == "Executed":
        _released(uow, m, log)
    return m


def _released(uow: UnitOfWork, m: Mandate, log: VaultLog) -> None:
    """An execution ends its reservation and uses its approval up; the log names target, selector
    and approved amount.
    """
    told = log.args
    same = [
        r
        for r in uow.reservations.of_mandate(m.public_id)
        if r.action_hash.startswith(_prefix(told))
    ]
    # One that still counts comes before one that ran out unsent, else it would count twice till it
    # runs out too.
    for held in sorted(same, key=lambda r: r.expires_at <= log.block.at)[:1]:
        uow.reservations.release(m.public_id, held.action_hash)
        if held.approval_id:
            _use(uow, m, held.approval_id)
        return
    for item in uow.approvals.of_target(m.public_id, str(told["target"])):
        if item.status == "approved" and item.approve_amount_usdc.micros == told["approved"]:
            _use(uow, m, item.approval_id)
            return


def _prefix(told: Mapping[str, Any]) -> str:
    return action_hash_of(
        str(told["target"]), str(told["selector"]), Usdc(told["approved"]), ""
    ).rpartition(":")[0]


def _use(uow: UnitOfWork, m: Mandate, approval_id: str) -> None:
    item = uow.approvals.get(m.public_id, approval_id)
    if item is not None and item.status == "approved":
        uow.approvals.save(replace(item, status="used"))


def ingest(uow: UnitOfWork, desk: Desk, chain_id: int, logs: Iterable[VaultLog]) -> int:
    """Take logs of many vaults in, in chain order; returns how many rows were added."""
    added = 0
    for log in logs:
        m = uow.mandates.by_vault(chain_id, log.address, lock=True)
        if m is None:
            continue
        try:
            added += take_log(uow, desk, m, log) is not None
        except Refused as refused:
            if refused.code != "wrong_status":
                raise
    return added


def take_receipt(
    uow: UnitOfWork, ask: Ask[Any, Any], chain: Chain, m: Mandate, receipt: Receipt
) -> Mandate:
    """Take the vault's logs of one transaction in at once, if they are deep enough; the reader
    brings them otherwise.
    """
    if m.vault_address is None or receipt.depth < chain.confirmations:
        return m
    desk = Desk(ask.now, ask.ids, ask.config, ask.switches)
    for log in receipt.logs:
        if log.address.lower() == m.vault_address.lower():
            take_log(uow, desk, m, log)
            m = uow.mandates.get(m.public_id) or m
    return m
