"""State codec: folded states as checkpoints, and the days of a performance record."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

from domain.ledger.events.event_kinds import LedgerKind
from domain.ledger.events.payload_codec import read, write
from domain.ledger.events.payloads import CallTarget, EventPayload
from domain.ledger.state import claimed, measured, purse_book, venue_book
from domain.ledger.state.claimed import ClaimedBook, ClaimedLot, Estimate, PendingClaim
from domain.ledger.state.day_totals import DayTotals, Interval, RolledDay
from domain.ledger.state.journal import Journal, refolded
from domain.ledger.state.ledger_state import LedgerState
from domain.ledger.state.measured import (
    Mark,
    MeasuredBook,
    MeasuredRow,
    Seen,
    SettlementResult,
    VaultClosed,
)
from domain.ledger.state.performance import Beside
from domain.ledger.state.positions import MeasuredPosition
from domain.ledger.state.purse_book import Payment, PurseBook, PurseDay
from domain.ledger.state.venue_book import VenueBook, VenuePosition
from domain.trading.paper.entries import Gap
from domain.trading.paper.replay import PaperAccount, PaperHolding
from storage.codec import ISO, Codec, Codecs

T = TypeVar("T")
_TARGET: Final = ("market", "address", "selector", "label")


def _row(row: MeasuredRow) -> list[object]:
    payload = write(EventPayload(body=row.body, observed=row.observed))
    return [*row.place, row.event_id, ISO.dump(row.at), row.kind.value, row.amount, payload]


def _row_of(raw: list[Any]) -> MeasuredRow:
    block, index, event_id, at, kind, amount, payload = raw
    parsed = read(LedgerKind(kind), payload)
    place, when = (block, index), ISO.load(at)
    return MeasuredRow(
        place=place, event_id=event_id, at=when, kind=LedgerKind(kind), amount=amount,
        body=parsed.body, observed=parsed.observed,
    )  # fmt: skip


def _position_of(raw: list[Any]) -> MeasuredPosition:
    target = CallTarget(**dict(zip(_TARGET, raw, strict=False)))
    cost, value, back = raw[len(_TARGET) :]
    return MeasuredPosition(target=target, cost=cost, value=value, back=back)


_position: Final = attrgetter(*(f"target.{name}" for name in _TARGET), "cost", "value", "back")
STATES: Final = Codecs(
    ISO,
    lists=(
        PendingClaim, ClaimedLot, Estimate, DayTotals, RolledDay, Beside, Interval, Seen, Mark,
        VaultClosed, SettlementResult, VenuePosition, Gap, PaperHolding,
        PurseDay, Payment,
    ),
    special={
        MeasuredRow: Codec(_row, _row_of), MeasuredPosition: Codec(_position, _position_of),
    },
)  # fmt: skip
"""The codec of what is folded; a book is stored by what differs from an empty one."""
STATES.record(PurseBook, empty=purse_book.EMPTY)
STATES.record(MeasuredBook, empty=measured.EMPTY)
STATES.record(ClaimedBook, empty=claimed.EMPTY)
STATES.record(VenueBook, ("newest", "accounts"))
_JOURNAL: Final = STATES.record(Journal, ("base", "folded", "recent", "undone"))
STATES.put(Journal, Codec(_JOURNAL.to, lambda raw: refolded(_JOURNAL.load(raw))))
_STATE: Final = STATES.record(
    LedgerState,
    {name: name for name in ("seq", "violations", "refusals_day", "refusals_count", "bad")}
    | {"journal": "measured"}
    | {name: name for name in ("claimed", "breaches", "record_stop", "callers", "venue")},
)


def _state(state: LedgerState) -> dict[str, object]:
    stored: dict[str, object] = _STATE.dump(state)
    venue = stored.pop("venue")
    # Left out while it is empty, so that states from before there were such fills stay what they
    # were.
    return stored if state.venue == venue_book.EMPTY else {"venue": venue} | stored


# How many changes of a fold a later version beside this one may be ahead.
_LATER_FOLDS: Final = 64


@dataclass(frozen=True, slots=True)
class Checkpoints(Generic[T]):
    """The text of a folded state, which begins with a digest of what it stands for.

    Shapes: `fold` names the fold: a number more with every change of what it comes to.
    """

    fold: int
    codec: Codec

    def text(self, state: T, row_hash: str) -> str:
        """A checkpoint's text. Keys keep their order: the fold drops the oldest entries of a full
        mapping first.
        """
        body = json.dumps(self.codec.dump(state), separators=(",", ":"))
        return f"{self._digest(self.fold, row_hash, body)}:{body}"

    def state(self, text: str, row_hash: str) -> T | None:
        """The state of a checkpoint; None where it was not made by this fold at this very row, so
        that a changed one is never shown.
        """
        stored_hash, _, body = text.partition(":")
        if stored_hash != self._digest(self.fold, row_hash, body):
            return None
        state: T = self.codec.load(json.loads(body))
        return state

    def is_of_another_version(self, text: str, row_hash: str) -> bool:
        """Whether another version's fold made it at this very row: nothing is read of it here, and
        nothing is wrong with it.
        """
        stored_hash, _, body = text.partition(":")
        others = (n for n in range(1, self.fold + _LATER_FOLDS) if n != self.fold)
        return any(stored_hash == self._digest(n, row_hash, body) for n in others)

    def _digest(self, fold: int, row_hash: str, body: str) -> str:
        return hashlib.sha256(f"{fold}:{row_hash}:{body}".encode()).hexdigest()


LEDGER: Final[Checkpoints[LedgerState]] = Checkpoints(5, Codec(_state, _STATE.back))
_ACCOUNT: Final = (
    "start", "realized", "fees", "builder_fees", "funding", "trades", "peak", "drawdown_bps",
    "gap_count", "seen", "first_fill_at", "liquidated_at", "seen_at", "gaps", "holdings",
)  # fmt: skip
PAPER: Final[Checkpoints[PaperAccount]] = Checkpoints(1, STATES.record(PaperAccount, _ACCOUNT))
