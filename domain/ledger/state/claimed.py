"""The claimed book: agents' reports, folded in the order of their rows. It changes no measured
figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias, TypeVar

from domain.ledger.events.event import Event
from domain.ledger.events.event_kinds import LedgerKind, Reporter
from domain.ledger.events.payloads import (
    UNKNOWN,
    AgentStatement,
    ClaimEnded,
    Executed,
    LogReversed,
    Noted,
    PaidFee,
    PaymentUnexplained,
    PurseMoved,
    Reported,
    Unwound,
)
from domain.ledger.fast_copy import fast_replace
from domain.ledger.state.purse_book import credits_of
from domain.times import day_of

PARTS_KEPT: Final = 256
PENDING_KEPT: Final = 256
ANSWERED_KEPT: Final = 64
DAYS_KEPT: Final = 16
KEY_CHARS: Final = 128
EXPLAINED_KEPT: Final = 256
RESOURCE_CHARS: Final = 512
COMMITMENT_CHARS: Final = 2 * 28
_FEES: Final[Mapping[str | None, str]] = {
    **dict.fromkeys(("x402", "tools", "paid_read"), "fee_tools"),
    **dict.fromkeys(("gas", "network"), "fee_network"),
    "venue": "fee_venue",
}


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingClaim:
    """A reported transaction that no chain row confirms yet. Units: micro-USDC."""

    tx_hash: str
    at: datetime
    out: int = 0
    into: int = 0
    address: str | None = None
    selector: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedLot:
    """A part of a position as its agent names it, in the agent's own figures.

    Shapes: `of` is the key of the position, `unknown` while no row names it. Units: micro-USDC.
    """

    of: str
    cost: int = 0
    value: int = 0
    mark: int | None = None
    marked_at: datetime | None = None

    @property
    def opened(self) -> bool:
        """False once it was sold or resolved; its name stays with its position."""
        return self.cost > 0 or self.value > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """An agent's newest mark of a whole position."""

    value: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedBook:
    """The claims of a mandate's agents, folded.

    Units: micro-USDC; `credits` are paid-read credits by UTC day, `notional` the spend at venues
    and paid hosts by UTC day, which no vault log will show, `ordered` the part of it at the
    venue whose orders are made here.
    Shapes: `pending` by event id, and `answered` those that a chain row confirms, which a
    reorganisation may take back; `gone` are the newest transactions that a reorganisation removed
    and no row has confirmed again; `parts` by the agent's id, `marks` by position; `explained` are
    the newest resources of which the agent says that the purse paid for them, by the `commitment`
    of the bill; empty where nobody said it in time.
    """

    trades: int = 0
    resolved: int = 0
    fee_tools: int = 0
    fee_venue: int = 0
    fee_network: int = 0
    fee_unclassified: int = 0
    fee_unclassified_count: int = 0
    credits: Mapping[str, int] = field(default_factory=dict)
    notional: Mapping[str, int] = field(default_factory=dict)
    ordered: Mapping[str, int] = field(default_factory=dict)
    pending: Mapping[str, PendingClaim] = field(default_factory=dict)
    answered: Mapping[str, PendingClaim] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    parts: Mapping[str, ClaimedLot] = field(default_factory=dict)
    marks: Mapping[str, Estimate] = field(default_factory=dict)
    explained: Mapping[str, str] = field(default_factory=dict)
    next_at: str | None = None

    @property
    def fees(self) -> int:
        """All fees together."""
        return self.fee_tools + self.fee_venue + self.fee_network + self.fee_unclassified


EMPTY: Final = ClaimedBook()


def apply(book: ClaimedBook, event: Event, partner: Event | None = None) -> ClaimedBook:
    """The book after one more row.

    Shapes: `partner` is the row of the other side, where the ledger holds it.
    A row by the house ends the claim that it measures; taken back, it leaves the claim pending as
    it was. A second report of one transaction, and an
    action at a contract that names no transaction, count for nothing (contract 5).
    """
    body = event.content.body
    if event.reported_by is Reporter.AGENT:
        if "duplicate_tx" in event.violation_codes or not isinstance(body, AgentStatement):
            return book
        values = (
            _next_look(body) if unproven(event) else _apply_statement(book, event, body, partner)
        )
        return fast_replace(book, **values) if values else book
    if isinstance(body, ClaimEnded):
        unended = {k: p for k, p in book.pending.items() if k != body.event_id}
        return fast_replace(book, pending=unended)
    if isinstance(body, PaymentUnexplained):
        return fast_replace(book, explained=_explained(book, commitment(body.nonce), ""))
    if event.reported_by is not Reporter.CHAIN or not event.tx_hash:
        return book
    if isinstance(body, (PaidFee, PurseMoved)):
        return book  # what a vault's transaction did is told by the vault's own logs
    if isinstance(body, LogReversed) and isinstance(body.body, PaidFee):
        return _without_flag(book, commitment(body.body.nonce or ""))
    if isinstance(body, LogReversed) and isinstance(body.body, PurseMoved):
        return book
    if isinstance(body, LogReversed):
        pending, answered = _move_claims(book.answered, book.pending, event.tx_hash)
        gone = (*_without(book.gone, event.tx_hash), event.tx_hash)[-ANSWERED_KEPT:]
        return fast_replace(
            book, pending=_largest_claims(dict(pending)), answered=answered, gone=gone
        )
    answered, pending = _move_claims(book.pending, book.answered, event.tx_hash)
    gone = _without(book.gone, event.tx_hash)
    confirmed = fast_replace(
        book, pending=pending, answered=_newest_claims(dict(answered)), gone=gone
    )
    return _with_market(confirmed, body, partner)


def unproven(event: Event) -> bool:
    """True for an action that only a vault's log could prove, and that names no transaction."""
    body = event.content.body
    acts = event.kind in (LedgerKind.BUY, LedgerKind.SELL, LedgerKind.MOVE)
    statement = isinstance(body, Reported) and not body.notional
    return event.reported_by is Reporter.AGENT and acts and statement and event.tx_hash is None


def sides(event: Event) -> tuple[int, int]:
    """(out, in) of an action, micro-USDC: a move goes out unless its direction says in."""
    body = event.content.body
    amount = max(0, event.amount_usdc.micros) if event.amount_usdc is not None else 0
    came_in = isinstance(body, AgentStatement) and body.direction == "in"
    if event.kind is LedgerKind.BUY or (event.kind is LedgerKind.MOVE and not came_in):
        return amount, 0
    return (0, amount) if event.kind in (LedgerKind.SELL, LedgerKind.MOVE) else (0, 0)


# The changed fields of a book, by name: a book is copied once a row.
_Values: TypeAlias = dict[str, object]


def _next_look(statement: AgentStatement) -> _Values:
    next_at = statement.next_at
    return {} if next_at is None or len(next_at) > 40 else {"next_at": next_at}


def _apply_statement(
    book: ClaimedBook, event: Event, statement: AgentStatement, partner: Event | None
) -> _Values:
    values = _next_look(statement)
    if isinstance(statement, PaidFee):
        values |= _apply_fee(book, event, statement)
    elif event.kind is LedgerKind.RESOLVE:
        amount = event.amount_usdc.micros if event.amount_usdc is not None else 0
        values |= {"resolved": book.resolved + amount, "trades": book.trades + 1}
    elif isinstance(statement, Reported):
        values |= _apply_action(book, event, statement, partner)
    return _apply_lot(book, event, statement, partner, values)


def _apply_fee(book: ClaimedBook, event: Event, body: PaidFee) -> _Values:
    if body.explains:  # the payment itself is measured
        key = explanation(body.nonce or "", body.payee or "")
        return {"explained": _explained(book, key, body.resource or "")}
    amount = max(0, event.amount_usdc.micros) if event.amount_usdc is not None else 0
    values: _Values = {}
    if body.paid_read:
        values["credits"] = _add_on_day(book.credits, event.occurred_at, credits_of(amount))
    name = _FEES.get(body.fee_kind, "fee_unclassified")
    values[name] = getattr(book, name) + amount
    if body.fee_kind not in _FEES:
        values["fee_unclassified_count"] = book.fee_unclassified_count + 1
    return values


def _explained(book: ClaimedBook, key: str, resource: str) -> Mapping[str, str]:
    bought = {**book.explained, key: resource[:RESOURCE_CHARS]}
    return _last(bought, EXPLAINED_KEPT)


def _without_flag(book: ClaimedBook, key: str) -> ClaimedBook:
    """The book in which a payment that is gone was never said to be unexplained: it may come back,
    and has its hour then.
    """
    if book.explained.get(key) != "":
        return book
    kept = {k: resource for k, resource in book.explained.items() if k != key}
    return fast_replace(book, explained=kept)


def commitment(nonce: str) -> str:
    """The 28 bytes of a bill's nonce that commit to what it buys, whichever epoch it is of."""
    return nonce.lower()[-COMMITMENT_CHARS:]


def explanation(nonce: str, payee: str) -> str:
    """The key of what a report explains: the commitment is to a payee, and no other one's payment
    is explained by it.
    """
    return f"{commitment(nonce)}:{payee.lower()}"


def _add_on_day(days: Mapping[str, int], at: datetime, amount: int) -> Mapping[str, int]:
    if not amount:
        return days
    day = day_of(at)
    return _newest({**days, day: days.get(day, 0) + amount})


def _newest(days: dict[str, int]) -> dict[str, int]:
    for day in sorted(days)[:-DAYS_KEPT]:
        del days[day]
    return days


def _apply_action(
    book: ClaimedBook, event: Event, body: Reported, partner: Event | None
) -> _Values:
    values: _Values = {"trades": book.trades + 1}
    out, into = sides(event)
    if body.notional:
        values["notional"] = _add_on_day(book.notional, event.occurred_at, out)
        if body.ordered:
            values["ordered"] = _add_on_day(book.ordered, event.occurred_at, out)
        return values
    if event.tx_hash is None:
        return values
    claim = PendingClaim(
        tx_hash=event.tx_hash,
        at=event.occurred_at,
        out=out,
        into=into,
        address=body.target.address,
        selector=body.target.selector,
    )
    # A report may name a transaction whose row was taken back before: it waits like any other.
    if partner is not None and event.tx_hash not in book.gone:
        values["answered"] = _newest_claims({**book.answered, event.event_id: claim})
    else:
        values["pending"] = _largest_claims({**book.pending, event.event_id: claim})
    return values


def _largest_claims(pending: dict[str, PendingClaim]) -> dict[str, PendingClaim]:
    """At most PENDING_KEPT; the smallest amount is dropped first."""
    while len(pending) > PENDING_KEPT:
        del pending[min(pending, key=lambda k: pending[k].out)]
    return pending


def _newest_claims(answered: dict[str, PendingClaim]) -> dict[str, PendingClaim]:
    """At most ANSWERED_KEPT; a reorganisation only takes back recent rows."""
    return _last(answered, ANSWERED_KEPT)


def _without(gone: tuple[str, ...], tx_hash: str) -> tuple[str, ...]:
    return tuple(hash for hash in gone if hash != tx_hash)


def _move_claims(
    source: Mapping[str, PendingClaim], to: Mapping[str, PendingClaim], tx_hash: str
) -> tuple[Mapping[str, PendingClaim], Mapping[str, PendingClaim]]:
    """(to, source) after the claims of a transaction moved across."""
    claims = {k: p for k, p in source.items() if p.tx_hash == tx_hash}
    if not claims:
        return to, source
    return {**to, **claims}, {k: p for k, p in source.items() if k not in claims}


# -- parts of positions


def _apply_lot(
    book: ClaimedBook,
    event: Event,
    statement: AgentStatement,
    partner: Event | None,
    values: _Values,
) -> _Values:
    """Apply the row to the part it names, or to the whole position where it names none."""
    name = statement.part.id if statement.part is not None else None
    if name is None:
        if statement.mark is not None and statement.target.key != UNKNOWN:
            estimate = Estimate(value=statement.mark.micros, at=event.occurred_at)
            values["marks"] = _newest_parts(
                {**book.marks, statement.target.key[:KEY_CHARS]: estimate}
            )
        return values
    name = name[:KEY_CHARS]
    parts = dict(book.parts)
    part = parts.pop(name) if name in parts else ClaimedLot(of=_position_key(statement, partner))
    part = _apply_to_lot(part, event)
    if part.of == UNKNOWN:
        of = _position_key(statement, partner)
        part = part if of == UNKNOWN else fast_replace(part, of=of)
    if statement.mark is not None and event.kind is not LedgerKind.RESOLVE:
        value = statement.mark.micros
        part = fast_replace(part, value=value, mark=value, marked_at=event.occurred_at)
    parts[name] = part
    values["parts"] = _newest_parts(parts)
    return values


def _position_key(statement: AgentStatement, partner: Event | None) -> str:
    market = statement.part.market if statement.part is not None else None
    key = statement.target.key if statement.target.key != UNKNOWN else market
    if key is None and partner is not None:
        measured = partner.content.body
        key = measured.target.key if isinstance(measured, (Executed, Unwound)) else None
    return (key or UNKNOWN)[:KEY_CHARS]


def _apply_to_lot(part: ClaimedLot, event: Event) -> ClaimedLot:
    """The part after an action in its own figures."""
    out, into = sides(event)
    value, cost = part.value + out, part.cost + out
    if event.kind is LedgerKind.RESOLVE or into >= value > 0:
        return ClaimedLot(of=part.of)
    if into:
        cost, value = (cost * (value - into) // value if value else cost), max(0, value - into)
    if (value, cost) == (part.value, part.cost):
        return part
    return fast_replace(part, value=value, cost=cost)


def _with_market(book: ClaimedBook, body: object, partner: Event | None) -> ClaimedBook:
    """The book with the target of a part that its agent reported without one, from the chain's
    row.
    """
    statement = partner.content.body if partner is not None else None
    if (
        not isinstance(statement, (Reported, Noted))
        or statement.part is None
        or statement.part.id is None
    ):
        return book
    name = statement.part.id[:KEY_CHARS]
    part = book.parts.get(name)
    if part is None or part.of != UNKNOWN or not isinstance(body, (Executed, Unwound)):
        return book
    placed_part = fast_replace(part, of=body.target.key[:KEY_CHARS])
    return fast_replace(
        book, parts={k: placed_part if k == name else p for k, p in book.parts.items()}
    )


def _newest_parts(parts: dict[str, T]) -> dict[str, T]:
    """At most PARTS_KEPT; the least recently reported goes first."""
    return _last(parts, PARTS_KEPT)


def _last(values: dict[str, T], limit: int) -> dict[str, T]:
    while len(values) > limit:
        del values[next(iter(values))]
    return values
