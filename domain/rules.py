"""Rules that a reported or executed action can break; breaking one flags the row, it never refuses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from domain.book import Book, budget, daily_cap, floor_now, per_tx_cap, spent_today, text, worth
from domain.events import Event, Kind, NewEvent, Reporter
from domain.mandate import ClauseKey, Status
from domain.money import ZERO, Usdc

CLAUSE_OF: Final[Mapping[str, ClauseKey]] = {
    "over_per_tx_cap": ClauseKey.PER_ACTION,
    "over_daily_cap": ClauseKey.PER_DAY,
    "over_budget": ClauseKey.BUDGET,
    "target_not_allowed": ClauseKey.MARKETS,
    "mandate_stopped": ClauseKey.AT_STOP,
    "mandate_ended": ClauseKey.PERIOD,
    "mandate_paused": ClauseKey.YOUR_FLOORS,
    "not_accepted": ClauseKey.YOUR_FLOORS,
    "below_stop_line": ClauseKey.STOP_LINE,
    "approval_missing": ClauseKey.ASKING,
    "agent_mismatch": ClauseKey.YOUR_FLOORS,
    "duplicate_tx": ClauseKey.YOUR_FLOORS,
}
RULE_TEXT: Final[Mapping[str, str]] = {
    "over_per_tx_cap": "No action above the cap per action",
    "over_daily_cap": "No more in a UTC day than the cap per day",
    "over_budget": "Never more at risk than the budget",
    "target_not_allowed": "Only the allowed targets",
    "mandate_stopped": "Nothing after the stop",
    "mandate_ended": "Nothing after the end date",
    "mandate_paused": "Nothing while paused",
    "not_accepted": "Nothing before acceptance",
    "below_stop_line": "No new risk below the stop line",
    "approval_missing": "Ask the owner above the approval amount",
    "agent_mismatch": "Only the agent of the terms acts",
    "duplicate_tx": "One report a transaction",
}
SPENDING: Final = frozenset({Kind.BUY, Kind.MOVE})
ACTING: Final = frozenset({Kind.BUY, Kind.SELL, Kind.MOVE})


@dataclass(frozen=True, slots=True)
class Broken:
    """One broken rule with the numbers: what was allowed, used before, and attempted."""

    code: str
    allowed: Any = None
    used: Any = None
    attempted: Any = None

    def detail(self) -> dict[str, Any]:
        """The numbers, with the clause."""
        return {"clause": int(CLAUSE_OF[self.code]), "allowed": self.allowed, "used": self.used, "attempted": self.attempted}


def outflow(event: NewEvent) -> Usdc:
    """What an action takes out: nothing for a sale or a move in."""
    if event.kind not in SPENDING or event.amount_usdc is None or event.payload.get("direction") == "in":
        return ZERO
    return event.amount_usdc


def violations(book: Book, event: NewEvent, same_tx: tuple[Event, ...] = ()) -> list[Broken]:
    """Every rule that a row breaks, as the mandate stood before it.

    Shapes: `same_tx` are the rows that already name its transaction.
    Source: contract 5 (violation codes); equality passes.
    """
    reporter = event.reported_by
    repeated = [e for e in same_tx if e.reported_by is reporter and e.kind is event.kind]
    found = [Broken("duplicate_tx", attempted=event.tx_hash)] if reporter is Reporter.AGENT and repeated else []
    if event.kind not in ACTING and event.kind is not Kind.RESOLVE:
        return found
    # The chain's row of an action that the agent has reported was judged with the report; its amount counts once.
    counted = any(e.reported_by is not reporter and e.kind in ACTING for e in same_tx)
    return found + _standing(book, event) + _amounts(book, event, already_counted=counted) + _target(book, event)


def _standing(book: Book, event: NewEvent) -> list[Broken]:
    m, at = book.mandate, event.occurred_at
    found = []
    if m.accepted_at is None:
        found.append(Broken("not_accepted"))
    stopped = m.status in (Status.STOPPED, Status.SETTLED, Status.CANCELLED)
    # Closing what is open is what a stop asks for; it breaks nothing.
    exits = event.kind in (Kind.SELL, Kind.RESOLVE) or event.payload.get("direction") == "in"
    if stopped and not exits:
        found.append(Broken("mandate_stopped", attempted=event.kind.value))
    if m.ended(at) and not exits:
        found.append(Broken("mandate_ended", allowed=m.ends_at.isoformat() if m.ends_at else None))
    if m.paused and not stopped:
        found.append(Broken("mandate_paused"))
    return found


def _amounts(book: Book, event: NewEvent, *, already_counted: bool) -> list[Broken]:
    amount = outflow(event)
    if not amount:
        return []
    found = []
    cap, by = per_tx_cap(book)
    if amount > cap:
        found.append(Broken("over_per_tx_cap", f"{cap}", None, f"{amount}" if by == "mandate" else f"{amount} ({by})"))
    used = ZERO if already_counted else spent_today(book)
    if not already_counted and used + amount > daily_cap(book):
        found.append(Broken("over_daily_cap", f"{daily_cap(book)}", f"{used}", f"{amount}"))
    most, _ = budget(book)
    if amount > most:
        found.append(Broken("over_budget", f"{most}", None, f"{amount}"))
    at = worth(book)
    if at is not None and book.state.deposits and at < floor_now(book):
        found.append(Broken("below_stop_line", f"{floor_now(book)}", text(at), f"{amount}"))
    asks = book.mandate.approval_above_usdc
    if book.switches.approval_gate and asks is not None and amount > asks and not _approved(book, event, amount):
        found.append(Broken("approval_missing", f"{asks}", None, f"{amount}"))
    return found


def _approved(book: Book, event: NewEvent, amount: Usdc) -> bool:
    """True where the owner approved an action that covers this one."""
    place = _place(event)
    for item in book.approvals:
        named = str(item.target.get("address") or "").lower()
        good = item.status in ("approved", "used") and amount <= item.approve_amount_usdc
        if good and (place is None or place[0] in ("", named)):
            return True
    return False


def _place(event: NewEvent) -> tuple[str, str] | None:
    told = event.payload.get("executed") or event.payload.get("target")
    if not isinstance(told, Mapping):
        return None
    return str(told.get("target") or told.get("address") or "").lower(), str(told.get("selector") or "").lower()


def _target(book: Book, event: NewEvent) -> list[Broken]:
    """A named target must be one of the terms'; a report without a target names none and breaks nothing here."""
    told = event.payload.get("target")
    if event.reported_by is not Reporter.AGENT or not isinstance(told, Mapping):
        return []
    address, selector, market = told.get("address"), told.get("selector"), told.get("market")
    entries = book.mandate.allowed_targets
    if isinstance(address, str) and address:
        vault = book.mandate.vault_address
        if vault and address.lower() == vault.lower():
            return []
        same = [t for t in entries if t.kind == "contract" and t.address and t.address.lower() == address.lower()]
        fits = [t for t in same if not isinstance(selector, str) or (t.selector or "").lower() == selector.lower()]
        return [] if fits else [Broken("target_not_allowed", None, None, {"address": address, "selector": selector})]
    if isinstance(market, str) and market:
        known = {t.market for t in entries} | {s for t in entries for s in t.symbols} | {t.venue for t in entries}
        host_ok = any(t.kind == "x402" and (not t.hosts or market in t.hosts) for t in entries) and "." in market
        if market not in known and not host_ok:
            return [Broken("target_not_allowed", None, None, {"market": market})]
    return []


def flagged(event: NewEvent, broken: list[Broken]) -> Mapping[str, Any]:
    """The payload with its `violation` block (spec 2.4 rule 2)."""
    if not broken:
        return event.payload
    return {**event.payload, "violation": {"codes": [b.code for b in broken], "detail": {b.code: b.detail() for b in broken}}}
