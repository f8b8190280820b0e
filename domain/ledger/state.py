"""The fold's state: what every read derives from, and its exact JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Final

from domain.ledger.positions import Position, Reading, position_from, position_json, readings


@dataclass(frozen=True, slots=True)
class Day:
    """One UTC day: spend that the chain measured, spend that only a report claims, the largest
    action that can no longer be matched or changed, credits of paid reads."""

    measured: int = 0
    claimed: int = 0
    largest: int = 0
    credits: int = 0

    @property
    def spent(self) -> int:
        """Measured and claimed together: what counts against the day cap."""
        return self.measured + self.claimed


@dataclass(frozen=True)  # no slots: the readings are computed once and kept
class LedgerState:
    """Everything a read derives from, after row `seq`. Micro-USDC throughout.

    Shapes: `claims` are reports with a transaction hash that no chain row matches yet, seq to
    (day, spend);
    `moved_back` are transactions that a reorganisation took away, hash to (position, agent's seq,
    what);
    `whole_mark` and `earlier_mark` are the last two marks of the whole vault `{cash, positions,
    floor, at, seq}`;
    `largest` and `busiest` are (amount, day) of what is older than the days kept, or final.
    """

    seq: int = 0
    chain_rows: int = 0
    deposits: int = 0
    withdrawals: int = 0
    payouts: int = 0
    spent: int = 0
    received: int = 0
    cash_est_moved: int = 0
    resolved: int = 0
    fee_tools: int = 0
    fee_venue: int = 0
    fee_network: int = 0
    fee_unclassified: int = 0
    fee_unclassified_count: int = 0
    positions: Mapping[str, Position] = field(default_factory=dict)
    days: Mapping[str, Day] = field(default_factory=dict)
    minutes: Mapping[str, int] = field(default_factory=dict)
    claims: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    moved_back: Mapping[str, tuple[str, int, str]] = field(default_factory=dict)
    largest_final: tuple[int, str | None] = (0, None)
    busiest_final: tuple[int, str | None] = (0, None)
    refusals_day: str | None = None
    refusals_count: int = 0
    violations: Mapping[str, int] = field(default_factory=dict)
    breaches: tuple[Mapping[str, Any], ...] = ()
    next_at: str | None = None
    whole_mark: Mapping[str, Any] | None = None
    earlier_mark: Mapping[str, Any] | None = None
    settled: Mapping[str, int] | None = None
    stop_reason: str | None = None
    paused_on_chain: bool | None = None
    trades_measured: int = 0
    trades_claimed: int = 0
    bad: bool = False

    def changed(self, values: Mapping[str, Any]) -> LedgerState:
        """The same state with some fields changed.

        `dataclasses.replace` passes every field through the constructor, which costs more than the
        rest of a fold step.
        """
        made = object.__new__(LedgerState)
        known = self.__dict__
        made.__dict__.update({n: known[n] for n in FIELDS})
        made.__dict__.update(values)
        return made

    @property
    def cash(self) -> int | None:
        """Chain cash (contract 5), None before the first chain money row."""
        if not self.chain_rows:
            return None
        return self.deposits - self.withdrawals - self.payouts - self.spent + self.received

    @cached_property
    def held(self) -> Mapping[str, Reading]:
        """The reading of every position."""
        return readings(self.positions)

    @cached_property
    def open_positions(self) -> Mapping[str, Reading]:
        """The readings of what is still open; a settlement ends every estimate, the vault's own
        figures are final.
        """
        return {} if self.settled is not None else {k: r for k, r in self.held.items() if r.opened}

    @cached_property
    def cash_est_delta(self) -> int:
        """What reports that no chain row matches move the estimate of cash by; nothing once it is
        settled.
        """
        if self.settled is not None:
            return 0
        return self.cash_est_moved + sum(r.credit for r in self.held.values())

    @property
    def fees(self) -> int:
        """All fees together."""
        return self.fee_tools + self.fee_venue + self.fee_network + self.fee_unclassified

    @cached_property
    def whole_mark_stands(self) -> bool:
        """True while nothing that the vault can see has changed since its own mark of all
        positions.

        A mark may be ahead of the ledger, whose rows wait for confirmations: it counts once the
        rows have caught up, that is when their cash is the cash it was taken with.
        """
        mark = self.whole_mark
        if mark is None or (mark["ahead"] and self.cash != mark["cash"]):
            return False
        return not any(
            p.changed_after(mark["seq"], reports_only=bool(mark["ahead"]))
            for p in self.positions.values()
            if p.on_chain
        )

    @cached_property
    def positions_est(self) -> int:
        """Open positions: those on chain by the vault's own mark while it stands, the others by
        their latest marks.
        """
        if self.settled is not None and not (
            self.whole_mark and self.whole_mark["seq"] > self.settled["seq"]
        ):
            return 0
        if not self.whole_mark_stands or self.whole_mark is None:
            return sum(r.value for r in self.open_positions.values())
        elsewhere = sum(
            r.value for k, r in self.open_positions.items() if not self.positions[k].on_chain
        )
        return int(self.whole_mark["positions"]) + elsewhere

    @cached_property
    def worth_source(self) -> str:
        """chain_mark, agent_mark, cost, or cash where nothing is open: the weakest that the
        estimate rests on.
        """
        stands = self.whole_mark_stands
        sources = {
            r.source
            for k, r in self.open_positions.items()
            if not (stands and self.positions[k].on_chain)
        }
        for source in ("agent_mark", "cost", "chain_mark"):
            if source in sources:
                return source
        return "chain_mark" if stands else "cash"

    @property
    def marked_by_chain(self) -> bool:
        """True where the estimate of worth rests on the house's marks alone."""
        return self.worth_source == "chain_mark"

    @property
    def result(self) -> int:
        """Reported results; the settlement's measured result replaces them."""
        return (
            self.resolved
            if self.settled is None
            else self.settled["returned"] - self.settled["spent"]
        )

    @property
    def realized(self) -> int:
        """Result - fees - payouts (spec 2.6)."""
        return self.result - self.fees - self.payouts

    def largest_on(self, day: str) -> int:
        """The largest single action of a UTC day, measured or claimed."""
        told = self.days.get(day)
        return max(
            [amount for at, amount in self.claims.values() if at == day]
            + [told.largest if told else 0]
        )

    @property
    def largest(self) -> tuple[int, str | None]:
        """The largest single action ever, and its day."""
        return max(
            [self.largest_final, *((amount, day) for day, amount in self.claims.values())],
            key=lambda o: o[0],
        )

    @property
    def busiest(self) -> tuple[int, str | None]:
        """The busiest UTC day's spend ever, and the day."""
        return max(
            [self.busiest_final, *((d.spent, day) for day, d in self.days.items())],
            key=lambda o: o[0],
        )


EMPTY: Final = LedgerState()


FIELDS: Final = tuple(f.name for f in fields(LedgerState))


def to_json(state: LedgerState) -> dict[str, Any]:
    """An exact JSON form; only what differs from the empty state."""
    told: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(state, name)
        if value == getattr(EMPTY, name):
            continue
        if name == "positions":
            value = {k: position_json(p) for k, p in value.items()}
        elif name == "days":
            value = {k: [d.measured, d.claimed, d.largest, d.credits] for k, d in value.items()}
        elif name in ("claims", "moved_back"):
            value = {k: list(v) for k, v in value.items()}
        told[name] = list(value) if isinstance(value, tuple) else value
    return told


def from_json(told: Mapping[str, Any]) -> LedgerState:
    """Read `to_json`'s form back."""
    values = dict(told)
    for name, read in _READERS.items():
        if name in values:
            values[name] = read(values[name])
    return LedgerState(**values)


_READERS: Final[Mapping[str, Any]] = {
    "positions": lambda v: {k: position_from(p) for k, p in v.items()},
    "days": lambda v: {k: Day(*d) for k, d in v.items()},
    "claims": lambda v: {k: tuple(c) for k, c in v.items()},
    "moved_back": lambda v: {k: tuple(c) for k, c in v.items()},
    "largest_final": tuple,
    "busiest_final": tuple,
    "breaches": tuple,
}
