"""One position: a short journal of what happened to it, replayed when somebody asks what it is
worth.

The two sides of a transaction arrive in any order, and marks come in between. A journal entry
therefore carries the ledger places of both sides. Entries and an agent's marks are ordered by the
agent's own rows, entries and the house's marks by the chain's, so that no interleaving of the two
streams changes the outcome.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

OPS_KEPT: Final = 32


POSITIONS_KEPT: Final = 256


OTHERS: Final = "(others)"


TRADE, TOLD_END, MEASURED_END, AGENT_MARK, HOUSE_MARK = "t", "r", "R", "m", "h"


MARKS: Final = frozenset({AGENT_MARK, HOUSE_MARK})


Op = tuple[int, int, str, int, int]


"""(agent's seq or 0, chain's or keeper's seq or 0, what, x, y); x and y in micro-USDC.

A trade and a measured end have x bought and y sold; a told end has x = the result; a mark has x =
the value."""


def house_order(op: Op) -> int:
    """Where an entry stands among the chain's and the keeper's rows."""
    return op[1] or op[0]


def told_order(ops: Sequence[Op]) -> list[Op]:
    """Entries in the order of the agent's rows; one that only the chain tells of follows the
    chain's order.
    """
    both = [op for op in ops if op[0] and op[1]]
    if not both or all(op[0] for op in ops):
        return sorted(ops, key=lambda op: (op[0] or op[1], op[2] in MARKS))
    first = min(op[0] for op in both)

    def place(op: Op) -> tuple[int, int, int]:
        if op[0]:
            return (op[0], 2 if op[2] in MARKS else 0, 0)
        before = max((o[0] for o in both if o[1] < op[1]), default=0)
        return (before, 1, op[1]) if before else (first, -1, op[1])

    return sorted(ops, key=place)


def marked_order(ops: Sequence[Op]) -> list[Op]:
    """The same order, but the house's marks split it by the places of the chain's rows."""
    marks = sorted(op[1] for op in ops if op[2] == HOUSE_MARK)
    entries = told_order([op for op in ops if op[2] != HOUSE_MARK])
    split = sorted(entries, key=lambda op: bisect_left(marks, house_order(op)))
    out: list[Op] = []
    rest = iter(split)
    held = next(rest, None)
    for mark in sorted((op for op in ops if op[2] == HOUSE_MARK), key=house_order):
        while held is not None and house_order(held) < mark[1]:
            out.append(held)
            held = next(rest, None)
        out.append(mark)
    return [*out, *([held] if held is not None else []), *rest]


@dataclass(frozen=True, slots=True)
class Track:
    """A position after some entries: its value, the cost of what is left, and what told ends gave
    back to cash.

    `marked` says that the value rests on a mark. A mark of a position that is not open counts
    nothing.
    """

    value: int = 0
    cost: int = 0
    opened: bool = False
    credit: int = 0
    marked: bool = False

    def after(self, op: Op, mark: str) -> Track:
        """The next state; only marks of the kind `mark` count.

        A sale takes the same fraction of cost as of value (contract 5), rounded down; one of
        everything closes. A told result on an open position returns cost + result, on a closed one
        nothing.
        """
        _, _, what, x, y = op
        if what == TRADE:
            return self._traded(x, y)
        if what == TOLD_END:
            return Track(credit=self.credit + self.cost + x) if self.opened else self
        if what == MEASURED_END:
            return Track(credit=self.credit)
        if what == mark and self.opened:
            return Track(max(0, x), self.cost, True, self.credit, True)
        return self

    def _traded(self, bought: int, sold: int) -> Track:
        value, cost, opened = self.value + bought, self.cost + bought, self.opened or bought > 0
        if sold > 0 and sold >= value:
            return Track(credit=self.credit)
        if sold > 0:
            cost = cost * (value - sold) // value
        elif sold < 0:  # a correction of an entry that is no longer in the journal
            cost -= sold
        return Track(max(0, value - sold), max(0, cost), opened, self.credit, self.marked)


def replay(track: Track, ops: Iterable[Op], mark: str) -> Track:
    """The state after all entries, in the order given."""
    for op in ops:
        track = track.after(op, mark)
    return track


@dataclass(frozen=True, slots=True)
class Reading:
    """What a position is worth now. `source` is cost, agent_mark or chain_mark."""

    value: int
    cost: int
    opened: bool
    credit: int
    source: str
    marked_at: str | None


@dataclass(
    frozen=True
)  # no slots: a position that a row does not touch keeps its reading from state to state
class Position:
    """A position's journal, and what the entries that left it came to, in either order.

    `agent_mark` and `house_mark` are the places of the latest marks, `changed` the latest place of
    an entry that left.
    """

    market: str | None = None
    address: str | None = None
    on_chain: bool = False
    ops: tuple[Op, ...] = ()
    by_agent: Track = Track()
    by_house: Track = Track()
    agent_mark: int = 0
    agent_mark_at: str | None = None
    house_mark: int = 0
    house_mark_at: str | None = None
    changed: int = 0

    @property
    def last(self) -> int:
        """The newest place that says anything of it."""
        return max(max((max(op[0], op[1]) for op in self.ops), default=0), self.changed)

    @property
    def since(self) -> int:
        """The first place, in the chain's order, that is still in the journal: older positions
        bear exits first.
        """
        return min((house_order(op) for op in self.ops if op[2] not in MARKS), default=0)

    def changed_after(self, place: int, *, reports_only: bool) -> bool:
        """True where an entry after a place, in the chain's order, changed it; optionally by
        unmatched reports alone.
        """
        if reports_only:
            return any(op[0] > place and not op[1] for op in self.ops if op[2] not in MARKS)
        return self.changed > place or any(
            house_order(op) > place for op in self.ops if op[2] not in MARKS
        )

    @property
    def empty(self) -> bool:
        """True where nothing is left to tell."""
        return not self.ops and self.by_agent == Track() and self.by_house == Track()

    def with_op(self, op: Op) -> Position:
        """The position with one more entry; the oldest leaves a full journal."""
        ops = (*self.ops, op)
        if len(ops) <= OPS_KEPT:
            return replace(self, ops=ops)
        oldest = min(ops, key=lambda o: max(o[0], o[1]))
        rest = list(ops)
        rest.remove(oldest)
        changed = self.changed if oldest[2] in MARKS else max(self.changed, house_order(oldest))
        return replace(
            self,
            ops=tuple(rest),
            by_agent=self.by_agent.after(oldest, AGENT_MARK),
            by_house=self.by_house.after(oldest, HOUSE_MARK),
            changed=changed,
        )

    def without(self, agent: int, chain: int) -> tuple[Position, bool]:
        """The position without the entry of these places, and whether it was still in the
        journal.
        """
        rest = tuple(op for op in self.ops if (op[0], op[1]) != (agent, chain) or op[2] in MARKS)
        return (replace(self, ops=rest), True) if len(rest) < len(self.ops) else (self, False)

    def marked(self, value: int, at: str, seq: int, *, by_house: bool) -> Position:
        """The position with a new mark."""
        if by_house:
            return replace(
                self.with_op((0, seq, HOUSE_MARK, value, 0)), house_mark=seq, house_mark_at=at
            )
        return replace(
            self.with_op((seq, 0, AGENT_MARK, value, 0)), agent_mark=seq, agent_mark_at=at
        )

    def _house_stands(self, ops: Sequence[Op]) -> bool:
        """True while the house's mark beats the agent's: until the position changed and the agent
        marked it after that.
        """
        if not self.house_mark:
            return False
        trades = [op for op in ops if op[2] not in MARKS and house_order(op) > self.house_mark]
        if not trades and self.changed <= self.house_mark:
            return True
        answered = (
            any((op[0] or op[1]) < self.agent_mark for op in trades)
            or self.house_mark < self.changed < self.agent_mark
        )
        return not answered

    @cached_property
    def reading(self) -> Reading:
        """What it is worth by its own journal."""
        return self.read(())

    def read(self, exits: Sequence[Op]) -> Reading:
        """What it is worth, with `exits` that nobody reported taken from it (see `readings`)."""
        ops = (*self.ops, *exits)
        if self._house_stands(ops):
            told, source, at = (
                replay(self.by_house, marked_order(ops), HOUSE_MARK),
                "chain_mark",
                self.house_mark_at,
            )
        else:
            told, source, at = (
                replay(self.by_agent, told_order(ops), AGENT_MARK),
                "agent_mark",
                self.agent_mark_at,
            )
        if not told.marked:
            source, at = "cost", None
        return Reading(told.value, told.cost, told.opened, told.credit, source, at)

    def value_before(self, exit_: Op) -> int:
        """What it was worth just before a chain row that is not its own."""
        ordered = told_order((*self.ops, exit_))
        return replay(self.by_agent, ordered[: ordered.index(exit_)], AGENT_MARK).value

    @cached_property
    def unheld_exits(self) -> tuple[Op, ...]:
        """Chain rows that brought money back from a position that was not open here: exits of some
        other one.
        """
        if not self.address or all(op[0] for op in self.ops):
            return ()
        found, track = [], self.by_agent
        for op in told_order(self.ops):
            if op[0] == 0 and op[2] == TRADE and op[4] > 0 and op[3] <= 0 and not track.opened:
                found.append(op)
            track = track.after(op, AGENT_MARK)
        return tuple(found)


def readings(positions: Mapping[str, Position]) -> dict[str, Reading]:
    """Every position's reading.

    An exit that only the chain tells of is taken from the positions that were open at its address;
    where none was, it is what a told end there has given back to the estimate of cash already.
    """
    loose = {k: p.unheld_exits for k, p in positions.items() if p.unheld_exits}
    taken: dict[str, list[Op]] = {}
    told: dict[str, int] = {}
    for key, exits in loose.items():
        address = str(positions[key].address).lower()
        others = [
            k
            for k, p in positions.items()
            if k != key and p.address and p.address.lower() == address
        ]
        others.sort(key=lambda k: (positions[k].since, k))
        for exit_ in exits:
            rest = _share(exit_, [(k, positions[k]) for k in others], taken)
            told[address] = told.get(address, 0) + rest
    read = {key: p.read(taken[key]) if key in taken else p.reading for key, p in positions.items()}
    for address, rest in told.items():
        for key, p in positions.items():
            if rest > 0 and p.address and p.address.lower() == address:
                part = min(rest, max(0, read[key].credit))
                read[key] = replace(read[key], credit=read[key].credit - part)
                rest -= part
    return read


def _share(exit_: Op, others: Sequence[tuple[str, Position]], taken: dict[str, list[Op]]) -> int:
    """Take one exit from the positions that were open before it, the last of them bears what is
    over; all of it is left where none was open."""
    rest = exit_[4]
    held = []
    for key, p in others:
        reduced = replace(p, ops=(*p.ops, *taken.get(key, ())))
        value = reduced.value_before(exit_)
        if value > 0:
            held.append((key, value))
    for n, (key, value) in enumerate(held):
        part = rest if n == len(held) - 1 else min(rest, value)
        if part > 0:
            taken.setdefault(key, []).append((0, exit_[1], TRADE, 0, part))
            rest -= part
    return rest


def bounded(positions: dict[str, Position]) -> tuple[dict[str, Position], int]:
    """At most POSITIONS_KEPT positions, and the cash estimate of those that left; an open one
    joins the others.
    """
    given_back = 0
    if len(positions) <= POSITIONS_KEPT:
        return positions, 0
    ranked = sorted(
        (p.reading.opened, p.last, key) for key, p in positions.items() if key != OTHERS
    )
    for opened, _, key in ranked[: POSITIONS_KEPT // 8]:
        gone = positions.pop(key)
        told = gone.reading
        given_back += told.credit
        if opened:
            old = positions.get(OTHERS, Position())
            joined = Track(told.value, told.cost, True)
            positions[OTHERS] = replace(
                old,
                by_agent=_sum(old.by_agent, joined),
                by_house=_sum(old.by_house, joined),
                changed=max(old.changed, gone.last),
            )
    return positions, given_back


def _sum(a: Track, b: Track) -> Track:
    return Track(
        a.value + b.value,
        a.cost + b.cost,
        a.opened or b.opened,
        a.credit + b.credit,
        a.marked and b.marked,
    )


def position_json(p: Position) -> dict[str, Any]:
    """An exact JSON form: only what differs from an empty position."""
    empty = Position()
    plain = {n: getattr(p, n) for n in _PLAIN if getattr(p, n) != getattr(empty, n)}
    tracks = {n: _track_json(getattr(p, n)) for n in _TRACKS if getattr(p, n) != Track()}
    return plain | tracks | ({"ops": [list(op) for op in p.ops]} if p.ops else {})


def position_from(told: Mapping[str, Any]) -> Position:
    """Read `position_json`'s form back."""
    values: dict[str, Any] = dict(told)
    values |= {n: Track(*told[n]) for n in _TRACKS if n in told}
    values["ops"] = tuple(
        (int(a), int(c), str(w), int(x), int(y)) for a, c, w, x, y in told.get("ops", ())
    )
    return Position(**values)


_PLAIN: Final = (
    "market",
    "address",
    "on_chain",
    "agent_mark",
    "agent_mark_at",
    "house_mark",
    "house_mark_at",
    "changed",
)


_TRACKS: Final = ("by_agent", "by_house")


def _track_json(t: Track) -> list[Any]:
    return [t.value, t.cost, t.opened, t.credit, t.marked]
