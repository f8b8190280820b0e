"""Rules that a reported or executed action can break; breaking one flags the row, it never refuses
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from domain.ledger.events import Event, Kind, NewEvent, Reporter
from domain.mandates.mandate import Mandate, Status
from domain.money import ZERO, Usdc, text
from domain.refusals import Refused
from domain.rules.caps import budget, daily_cap, per_tx_cap, spent_on
from domain.rules.case import Book
from domain.rules.codes import CLAUSE_OF
from domain.rules.worth import floor_now, worth
from domain.times import day_of, timestamp

SPENDING: Final = frozenset({Kind.BUY, Kind.MOVE})


ACTING: Final = frozenset({Kind.BUY, Kind.SELL, Kind.MOVE})


CLOSED: Final = frozenset({Status.STOPPED, Status.SETTLED, Status.CANCELLED})


PAID_READS: Final = frozenset({"x402", "paid_read"})


NAME_CHARS: Final = 128


@dataclass(frozen=True, slots=True)
class Broken:
    """One broken rule with the numbers: what was allowed, used before, and attempted, and whose
    limit it is.
    """

    code: str
    allowed: Any = None
    used: Any = None
    attempted: Any = None
    bound_by: str = "mandate"

    def detail(self) -> dict[str, Any]:
        """The numbers, with the clause."""
        return {
            "clause": int(CLAUSE_OF[self.code]),
            "allowed": self.allowed,
            "used": self.used,
            "attempted": self.attempted,
            "bound_by": self.bound_by,
        }


@dataclass(frozen=True, slots=True)
class _Action:
    """One action as it is judged: with the chain's figures and time where the chain has told of it.

    Units: `spent` left the vault or is claimed to have; `asked` is the larger of it and the
    approved amount;
    `counted` is what the ledger's day holds of this action already.
    """

    at: datetime
    spent: Usdc
    asked: Usdc
    counted: Usdc
    executed: Mapping[str, Any]
    on_chain: bool
    unwound: bool


def violations(book: Book, event: NewEvent, same_tx: Sequence[Event] = ()) -> list[Broken]:
    """Every rule that a row breaks, as the mandate stood before it.

    Shapes: `same_tx` are the rows that already name its transaction.
    Source: contract 5 (violation codes); equality passes. A row is judged by what the chain
    measured, where that is known, so that both rows of a pair get the same verdict in either order.
    """
    found = _repeated(event, same_tx)
    if event.kind is Kind.DEPOSIT:
        return _over_funded(book, event)
    if event.kind not in ACTING:
        # Contract 3: whatever the agent reports while it has no say is flagged, money in it or not.
        told = (
            _standing(book, event, _action(event, None))
            if event.reported_by is Reporter.AGENT
            else []
        )
        return found + told + (_paid_read(book.mandate, event) if event.kind is Kind.FEE else [])
    twin = _twin(event, same_tx)
    action = _action(event, twin)
    return (
        found
        + _standing(book, event, action)
        + _amounts(book, event, action, twin)
        + _target(book, event, action)
    )


def outflow(event: NewEvent | Event) -> Usdc:
    """What an action takes out: nothing for a sale or a move in."""
    if (
        event.kind not in SPENDING
        or event.amount_usdc is None
        or event.payload.get("direction") == "in"
    ):
        return ZERO
    return event.amount_usdc


def _repeated(event: NewEvent, same_tx: Sequence[Event]) -> list[Broken]:
    """A second report of one transaction: of the same kind, or of another action."""
    if event.reported_by is not Reporter.AGENT or event.kind is Kind.NOTE:
        return []
    acts = event.kind in ACTING
    again = any(
        e.reported_by is Reporter.AGENT and (e.kind is event.kind or (acts and e.kind in ACTING))
        for e in same_tx
    )
    return [Broken("duplicate_tx", attempted=event.tx_hash)] if again else []


def _twin(event: NewEvent, same_tx: Sequence[Event]) -> Event | None:
    """The row of the other side that this one will be paired with."""
    other = Reporter.AGENT if event.reported_by is Reporter.CHAIN else Reporter.CHAIN
    taken = {e.pairs_with for e in same_tx}
    free = (
        e for e in same_tx if e.reported_by is other and e.pairs_with is None and e.seq not in taken
    )
    return next((e for e in free if e.kind in ACTING), None)


def _money(value: object) -> Usdc:
    try:
        return max(ZERO, Usdc.parse(value)) if value is not None else ZERO
    except Refused:
        return ZERO


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _action(event: NewEvent, twin: Event | None) -> _Action:
    chain: NewEvent | Event | None = event if event.reported_by is Reporter.CHAIN else twin
    if chain is None or chain.reported_by is not Reporter.CHAIN:
        spent = outflow(event)
        return _Action(event.occurred_at, spent, spent, ZERO, {}, False, False)
    told = _map(chain.payload.get("executed") or chain.payload.get("unwound"))
    spent = _money(told.get("spent"))
    counted = spent
    if chain is event:
        same_day = twin is not None and day_of(twin.occurred_at) == day_of(event.occurred_at)
        counted = outflow(twin) if twin is not None and same_day else ZERO
    asked = max(spent, _money(told.get("approved"))) if spent else ZERO
    return _Action(chain.occurred_at, spent, asked, counted, told, True, "unwound" in chain.payload)


def _standing(book: Book, event: NewEvent, action: _Action) -> list[Broken]:
    m, found = book.mandate, []
    if m.accepted_at is None:
        found.append(Broken("not_accepted"))
    closed = m.status in CLOSED and _after(m.stopped_at or m.settled_at, action)
    # Unwinding is what a closed vault is for; it breaks nothing.
    if closed and not action.unwound:
        found.append(Broken("mandate_stopped", attempted=event.kind.value))
    if m.ended(action.at) and not action.unwound:
        found.append(
            Broken(
                "mandate_ended",
                timestamp(m.ends_at) if m.ends_at else None,
                None,
                timestamp(action.at),
            )
        )
    if m.paused and not closed and not action.unwound and _after(m.paused_at, action):
        found.append(Broken("mandate_paused", attempted=event.kind.value))
    actor = action.executed.get("agent")
    if (
        isinstance(actor, str)
        and m.agent_address is not None
        and actor.lower() != m.agent_address.lower()
    ):
        found.append(Broken("agent_mismatch", m.agent_address, None, actor[:NAME_CHARS]))
    return found


def _after(since: datetime | None, action: _Action) -> bool:
    """True where an action came after something; only the chain's own time can say that it came
    before.
    """
    return since is None or not action.on_chain or action.at > since


def _amounts(book: Book, event: NewEvent, action: _Action, twin: Event | None) -> list[Broken]:
    if not action.spent:
        return []
    found = []
    cap, by = per_tx_cap(book)
    if action.asked > cap:
        found.append(Broken("over_per_tx_cap", str(cap), None, str(action.asked), by))
    used = spent_on(book, day_of(action.at)) - action.counted
    if used + action.spent > daily_cap(book):
        found.append(Broken("over_daily_cap", str(daily_cap(book)), str(used), str(action.spent)))
    found += _over_budget(book, event, action)
    at = worth(book)
    if at is not None and book.state.deposits and at < floor_now(book):
        found.append(Broken("below_stop_line", str(floor_now(book)), text(at), str(action.spent)))
    asks = book.mandate.approval_above_usdc
    if (
        book.switches.approval_gate
        and asks is not None
        and action.asked > asks
        and not _approved(book, event, action, twin)
    ):
        found.append(Broken("approval_missing", str(asks), None, str(action.asked)))
    return found


def _over_budget(book: Book, event: NewEvent, action: _Action) -> list[Broken]:
    """More than the budget, or than the cash there is where nothing but the service could see
    that.
    """
    most, by = budget(book)
    cash = book.state.cash
    if cash is not None and event.tx_hash is None and not action.on_chain:
        most = min(most, max(ZERO, Usdc(cash + book.state.cash_est_delta)))
    return (
        [Broken("over_budget", str(most), None, str(action.spent), by)]
        if action.spent > most
        else []
    )


def _over_funded(book: Book, event: NewEvent) -> list[Broken]:
    """Net deposits never exceed the budget."""
    used = Usdc(book.state.deposits - book.state.withdrawals)
    most, amount = book.mandate.budget_usdc, event.amount_usdc or ZERO
    return (
        [Broken("over_budget", str(most), str(used), str(amount))] if used + amount > most else []
    )


def _approved(book: Book, event: NewEvent, action: _Action, twin: Event | None) -> bool:
    """True where an item that the owner approved covers the action; one that an earlier execution
    used does not.

    An agent's report of an executed call gets the verdict of the chain's row, which used the item
    up.
    """
    if event.reported_by is Reporter.AGENT and twin is not None:
        return "approval_missing" not in twin.violation_codes
    told = action.executed or _map(event.payload.get("target"))
    address, selector = (
        str(told.get("target") or told.get("address") or "").lower(),
        str(told.get("selector") or "").lower(),
    )
    # Calldata that was handed out before an item ran out may be sent as long as its reservation
    # lasts.
    grace = timedelta(seconds=book.config.reservation_s)
    for item in book.approvals:
        if item.status != "approved" or action.at >= item.expires_at + grace:
            continue
        place = (
            str(item.target.get("address") or "").lower(),
            str(item.target.get("selector") or "").lower(),
        )
        amount_fits = (
            item.approve_amount_usdc == action.asked
            if action.on_chain
            else item.approve_amount_usdc >= action.asked
        )
        if amount_fits and address in ("", place[0]) and selector in ("", place[1]):
            return True
    return False


def _target(book: Book, event: NewEvent, action: _Action) -> list[Broken]:
    """A named target must be one of the terms'; a report that names none breaks nothing here."""
    m = book.mandate
    if action.on_chain:
        told = action.executed
        address, selector = told.get("target"), told.get("selector")
        return [] if action.unwound else _listed(m, address, selector)
    told = _map(event.payload.get("target"))
    address, selector, market = told.get("address"), told.get("selector"), told.get("market")
    if isinstance(address, str) and address:
        own = m.vault_address is not None and address.lower() == m.vault_address.lower()
        return [] if own else _listed(m, address, selector)
    if isinstance(market, str) and market:
        known = {t.market for t in m.allowed_targets} | {t.venue for t in m.allowed_targets}
        symbols = {s for t in m.allowed_targets for s in t.symbols}
        any_symbol = any(t.kind == "venue" and not t.symbols for t in m.allowed_targets)
        if market not in known | symbols and not any_symbol and not _host_allowed(m, market):
            return [Broken("target_not_allowed", attempted={"market": market[:NAME_CHARS]})]
    return []


def _listed(m: Mandate, address: object, selector: object) -> list[Broken]:
    """A contract entry for this address, and for this selector where one is named."""
    if isinstance(address, str):
        same = [
            t
            for t in m.allowed_targets
            if t.kind == "contract" and t.address and t.address.lower() == address.lower()
        ]
        if any(
            not isinstance(selector, str) or (t.selector or "").lower() == selector.lower()
            for t in same
        ):
            return []
    named = {
        "address": str(address)[:NAME_CHARS],
        "selector": str(selector)[:NAME_CHARS] if selector else None,
    }
    return [Broken("target_not_allowed", attempted=named)]


def _host_allowed(m: Mandate, host: str) -> bool:
    return any(
        t.kind == "x402" and (host in t.hosts if t.hosts else "." in host)
        for t in m.allowed_targets
    )


def _paid_read(m: Mandate, event: NewEvent) -> list[Broken]:
    """A paid read goes to a host of the terms' x402 entries; an entry without hosts takes any."""
    resource = event.payload.get("resource")
    if str(event.payload.get("fee_kind")) not in PAID_READS or not isinstance(resource, str):
        return []
    try:
        host = urlsplit(resource).hostname if "//" in resource else None
    except ValueError:
        host = None
    entries = [t for t in m.allowed_targets if t.kind == "x402"]
    if any(not t.hosts or host in t.hosts for t in entries):
        return []
    return [Broken("target_not_allowed", attempted={"resource": resource[:NAME_CHARS]})]


def flagged(event: NewEvent, broken: list[Broken]) -> Mapping[str, Any]:
    """The payload with its `violation` block (spec 2.4 rule 2)."""
    if not broken:
        return event.payload
    return {
        **event.payload,
        "violation": {
            "codes": [b.code for b in broken],
            "detail": {b.code: b.detail() for b in broken},
        },
    }
