"""The fold of a mandate's ledger: every total that a read needs, in a state of bounded size.

The order in which chain rows and agent rows about the same transaction arrive does not change a total: money is kept in
sums, and when the second row of a pair arrives, the first one's effect is taken back and the merged action is applied
as of the first one's place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, Final

from domain.events import Event, Kind, Reporter
from domain.money import Usdc
from domain.refusals import Refused, timestamp

DAYS_KEPT: Final = 16
MINUTES_KEPT: Final = 1_500
BREACHES_KEPT: Final = 50
CREDITS_KEPT: Final = 64
ACTION_KINDS: Final = frozenset({Kind.BUY, Kind.SELL, Kind.MOVE, Kind.RESOLVE})
TOOL_FEES: Final = frozenset({"x402", "tools", "paid_read"})
NETWORK_FEES: Final = frozenset({"gas", "network"})


@dataclass(frozen=True, slots=True)
class Position:
    """One position, in micro-USDC.

    `bought` and `sold` count since it was opened, the `_since` pair since the latest mark; `cost_at_mark` is the cost
    when it was marked. `mark_by` is agent, chain or keeper.
    """

    market: str | None = None
    address: str | None = None
    bought: int = 0
    sold: int = 0
    mark: int | None = None
    mark_at: str | None = None
    mark_by: str | None = None
    mark_seq: int = 0
    bought_since: int = 0
    sold_since: int = 0
    cost_at_mark: int = 0

    @property
    def value(self) -> int:
        """The latest mark and what was traded since; at cost where it was never marked (contract 5)."""
        if self.mark is None:
            return max(0, self.bought - self.sold)
        return max(0, self.mark + self.bought_since - self.sold_since)

    @property
    def cost(self) -> int:
        """Cost of what is left: a sale takes the same fraction of cost as of mark (contract 5), rounded down."""
        if self.mark is None:
            return max(0, self.bought - self.sold)
        base, top = self.cost_at_mark + self.bought_since, self.mark + self.bought_since
        return base if top <= 0 else base * max(0, top - self.sold_since) // top

    def traded(self, bought: int, sold: int, seq: int) -> Position:
        """The position after a trade that stands at `seq`; one from before the mark changes only the cost."""
        moved = replace(self, bought=self.bought + bought, sold=self.sold + sold)
        if self.mark is None:
            return moved
        if seq > self.mark_seq:
            return replace(moved, bought_since=self.bought_since + bought, sold_since=self.sold_since + sold)
        return replace(moved, cost_at_mark=max(0, self.cost_at_mark + bought - sold))

    def marked(self, mark: int, at: str, by: str, seq: int) -> Position:
        """The position with a new mark; an agent's mark does not displace a house mark of an unchanged position."""
        unchanged = self.bought_since == 0 and self.sold_since == 0
        if by == "agent" and self.mark_by in ("chain", "keeper") and unchanged:
            return self
        return replace(
            self, cost_at_mark=self.cost, mark=mark, mark_at=at, mark_by=by, mark_seq=seq, bought_since=0, sold_since=0
        )


@dataclass(frozen=True, slots=True)
class Day:
    """Spend of one UTC day: what the chain measured, what only an agent reports, the largest single action."""

    measured: int = 0
    claimed: int = 0
    largest: int = 0

    @property
    def spent(self) -> int:
        """Measured and claimed together: what counts against the day cap."""
        return self.measured + self.claimed


@dataclass(frozen=True, slots=True)
class LedgerState:
    """Everything a read derives from, after row `seq`. Micro-USDC throughout."""

    seq: int = 0
    chain_rows: int = 0
    deposits: int = 0
    withdrawals: int = 0
    payouts: int = 0
    spent: int = 0
    received: int = 0
    cash_est_delta: int = 0
    resolved: int = 0
    fee_tools: int = 0
    fee_venue: int = 0
    fee_network: int = 0
    fee_unclassified: int = 0
    fee_unclassified_count: int = 0
    positions: Mapping[str, Position] = field(default_factory=dict)
    changed_seq: int = 0
    days: Mapping[str, Day] = field(default_factory=dict)
    minutes: Mapping[str, int] = field(default_factory=dict)
    largest: int = 0
    largest_day: str | None = None
    refusals_day: str | None = None
    refusals_count: int = 0
    violations: Mapping[str, int] = field(default_factory=dict)
    breaches: tuple[Mapping[str, Any], ...] = ()
    next_at: str | None = None
    whole_mark: Mapping[str, Any] | None = None
    earlier_mark: Mapping[str, Any] | None = None
    settled: Mapping[str, int] | None = None
    stop_reason: str | None = None
    trades_measured: int = 0
    trades_claimed: int = 0
    credits: Mapping[str, int] = field(default_factory=dict)
    bad: bool = False

    @property
    def cash(self) -> int | None:
        """Chain cash (contract 5), None before the first chain row."""
        if not self.chain_rows:
            return None
        return self.deposits - self.withdrawals - self.payouts - self.spent + self.received

    @property
    def fees(self) -> int:
        """All fees together."""
        return self.fee_tools + self.fee_venue + self.fee_network + self.fee_unclassified

    @property
    def positions_est(self) -> int:
        """Positions by the vault's own mark while nothing changed since, else by the sum of the latest marks."""
        if self.marked_by_chain and self.whole_mark is not None:
            return int(self.whole_mark["positions"])
        return sum(p.value for p in self.positions.values())

    @property
    def marked_by_chain(self) -> bool:
        """True while the vault's own mark still stands."""
        return self.whole_mark is not None and self.changed_seq <= int(self.whole_mark["seq"])

    @property
    def realized(self) -> int:
        """Result - fees - payouts; the settlement's measured result replaces the reported ones (spec 2.6)."""
        result = self.resolved
        if self.settled is not None:
            result = self.settled["returned"] - self.settled["spent"]
        return result - self.fees - self.payouts


EMPTY: Final = LedgerState()


def fold(state: LedgerState, event: Event, pair: Event | None = None) -> LedgerState:
    """Return the state after one more row. Pure and total: unusable stored values read as 0 and set `bad`.

    Shapes: `pair` is the earlier row that `event.pairs_with` names.
    Source: contract 5.
    """
    hand = _Hand(state, event.seq)
    hand.noticed(event)
    if pair is not None and event.kind in ACTION_KINDS and pair.kind in ACTION_KINDS:
        hand.merged(*((pair, event) if event.reported_by is Reporter.AGENT else (event, pair)), at=pair.seq)
    elif event.reported_by is Reporter.CHAIN or (event.reported_by is Reporter.KEEPER and event.kind is Kind.PAYOUT):
        hand.from_chain(event)
    else:
        hand.from_agent(event)
    hand.marks(event)
    return hand.done()


class _Hand:
    """The working copy that one fold step changes."""

    def __init__(self, state: LedgerState, seq: int):
        self.was, self.seq = state, seq
        self.to: dict[str, Any] = {"seq": seq}

    def done(self) -> LedgerState:
        return replace(self.was, **self.to)

    def get(self, name: str) -> Any:
        return self.to[name] if name in self.to else getattr(self.was, name)

    def add(self, name: str, amount: int) -> None:
        if amount:
            self.to[name] = self.get(name) + amount

    def money(self, value: object) -> int:
        if value is None:
            return 0
        try:
            return Usdc.parse(value).micros
        except Refused:
            self.to["bad"] = True
            return 0

    def mapping(self, value: object) -> Mapping[str, Any]:
        if value is not None and not isinstance(value, Mapping):
            self.to["bad"] = True
        return value if isinstance(value, Mapping) else {}

    def amount(self, event: Event) -> int:
        return event.amount_usdc.micros if event.amount_usdc is not None else 0

    # -- rows ------------------------------------------------------------------------------------------------

    def noticed(self, event: Event) -> None:
        """What any row may carry: a refused attempt, a broken rule, the next time to look."""
        if isinstance(event.payload.get("refusal"), Mapping):
            day = _day(event.created_at)
            same = self.get("refusals_day") == day
            self.to |= {"refusals_day": day, "refusals_count": self.get("refusals_count") + 1 if same else 1}
        codes = event.violation_codes
        if codes:
            counts = dict(self.get("violations"))
            for code in codes:
                counts[code] = counts.get(code, 0) + 1
            detail = self.mapping(self.mapping(event.payload.get("violation")).get("detail"))
            row = {
                "codes": list(codes),
                "event_id": event.event_id,
                "at": timestamp(event.created_at),
                "detail": dict(detail),
            }
            self.to |= {"violations": counts, "breaches": (row, *self.get("breaches"))[:BREACHES_KEPT]}
        if isinstance(event.payload.get("next_at"), str):
            self.to["next_at"] = event.payload["next_at"]

    def from_chain(self, event: Event) -> None:
        """A row the chain proves (or the keeper's payout, which has no other proof)."""
        amount = self.amount(event)
        reversed_row = event.payload.get("reverses")
        if isinstance(reversed_row, Mapping):
            self.reversal(reversed_row)
        elif event.kind is Kind.DEPOSIT:
            self.fact("deposits", amount)
        elif event.kind is Kind.WITHDRAW:
            self.fact("withdrawals", amount)
        elif event.kind is Kind.PAYOUT:
            self.fact("payouts", amount)
        elif event.kind is Kind.STOP:
            self.to["stop_reason"] = str(event.payload.get("reason"))
        elif event.kind is Kind.MOVE:
            spent, received = self.measured(event)
            self.trade(_default_key(event), event, spent, received, self.seq)
        if isinstance(event.payload.get("settled"), Mapping):
            told = event.payload["settled"]
            self.to["settled"] = {n: self.money(told.get(n)) for n in ("spent", "returned", "gain", "agent_fee")}

    def fact(self, name: str, amount: int) -> None:
        self.add(name, amount)
        self.add("chain_rows", 1)

    def measured(self, event: Event) -> tuple[int, int]:
        """Book what the chain measured of one executed call; returns (spent, received)."""
        spent, received = self.executed(event)
        self.fact("spent", spent)
        self.add("received", received)
        self.add("trades_measured", 1)
        self.spend(event.occurred_at, spent, measured=True)
        return spent, received

    def executed(self, event: Event) -> tuple[int, int]:
        told = self.mapping(event.payload.get("executed") or event.payload.get("unwound"))
        return self.money(told.get("spent")), self.money(told.get("received"))

    def reversal(self, row: Mapping[str, Any]) -> None:
        """Take back a row that a reorganisation removed from the chain."""
        amount, kind = self.money(row.get("amount_usdc")), row.get("kind")
        names = {"deposit": "deposits", "withdraw": "withdrawals", "payout": "payouts"}
        if kind in names:
            self.add(names[str(kind)], -amount)
        elif kind == "move":
            payload = self.mapping(row.get("payload"))
            told = self.mapping(payload.get("executed") or payload.get("unwound"))
            spent, received = self.money(told.get("spent")), self.money(told.get("received"))
            self.add("spent", -spent)
            self.add("received", -received)
            self.add("trades_measured", -1)
            key = str(told.get("market") or told.get("target") or "unknown")
            self.shift(key, -spent, -received, self.seq)

    def from_agent(self, event: Event) -> None:
        """A report that no chain row matches (yet): it moves estimates only."""
        amount = self.amount(event)
        if event.kind is Kind.FEE:
            self.fee(event, amount)
        elif event.kind is Kind.RESOLVE:
            self.add("resolved", amount)
            self.close(_key(event), amount)
        elif event.kind in ACTION_KINDS:
            bought, sold = _sides(event, amount)
            self.add("cash_est_delta", sold - bought)
            self.spend(event.occurred_at, bought, measured=False)
            self.trade(_key(event), event, bought, sold, self.seq)
        if event.kind in ACTION_KINDS and event.reported_by is Reporter.AGENT:
            self.add("trades_claimed", 1)

    def fee(self, event: Event, amount: int) -> None:
        kind = event.payload.get("fee_kind")
        if kind in TOOL_FEES:
            self.add("fee_tools", amount)
        elif kind == "venue":
            self.add("fee_venue", amount)
        elif kind in NETWORK_FEES:
            self.add("fee_network", amount)
        else:
            self.add("fee_unclassified", amount)
            self.add("fee_unclassified_count", 1)

    def merged(self, agent: Event, chain: Event, *, at: int) -> None:
        """Both sides of one transaction: amounts from the chain, position and reasons from the agent."""
        spent, received = self.executed(chain)
        amount = self.amount(agent)
        if at == agent.seq:  # the agent's report came first: take its estimate back
            if agent.kind is Kind.RESOLVE:
                self.add("cash_est_delta", -self.taken_credit(agent.seq))
                self.measured(chain)
                return
            bought, sold = _sides(agent, amount)
            self.add("cash_est_delta", bought - sold)
            self.spend(agent.occurred_at, -bought, measured=False)
            self.shift(_key(agent), -bought, -sold, at)
            self.measured(chain)
        else:
            self.shift(_default_key(chain), -spent, -received, at)
            self.add("trades_claimed", 1)
            if agent.kind is Kind.RESOLVE:
                self.add("resolved", amount)
        if agent.kind is Kind.RESOLVE:
            self.drop(_key(agent))
        else:
            self.trade(_key(agent), agent, spent, received, at)

    # -- positions -------------------------------------------------------------------------------------------

    def trade(self, key: str, event: Event, bought: int, sold: int, seq: int) -> None:
        if not bought and not sold:
            return
        positions = dict(self.get("positions"))
        old = positions.get(key) or Position(*_place(event))
        positions[key] = old.traded(bought, sold, seq)
        self.to |= {"positions": positions, "changed_seq": max(self.get("changed_seq"), seq)}

    def shift(self, key: str, bought: int, sold: int, seq: int) -> None:
        """Change a position that exists; one that was closed since has settled its effect already."""
        old = self.get("positions").get(key)
        if old is None or (not bought and not sold):
            return
        moved = old.traded(bought, sold, seq)
        if moved.bought == 0 and moved.sold == 0 and moved.mark is None:
            self.drop(key)
        else:
            self.to["positions"] = {**self.get("positions"), key: moved}

    def drop(self, key: str) -> None:
        self.to["positions"] = {k: p for k, p in self.get("positions").items() if k != key}

    def close(self, key: str, result: int) -> None:
        """A resolve on an open position returns cost + result to the estimate of cash; on a closed one, nothing."""
        old = self.get("positions").get(key)
        if old is None:
            return
        credit = old.cost + result
        self.add("cash_est_delta", credit)
        kept = dict(list(self.get("credits").items())[-(CREDITS_KEPT - 1) :])
        self.to |= {"credits": kept | {str(self.seq): credit}, "changed_seq": self.seq}
        self.drop(key)

    def taken_credit(self, seq: int) -> int:
        kept = dict(self.get("credits"))
        credit = kept.pop(str(seq), 0)
        self.to["credits"] = kept
        return int(credit)

    def marks(self, event: Event) -> None:
        """Marks a row carries: its own position's, several, or the vault's own."""
        by, at = event.reported_by.value, timestamp(event.occurred_at)
        if "mark" in event.payload and event.payload["mark"] is not None:
            self.mark(_key(event), self.money(event.payload["mark"]), at, by)
        if by in ("keeper", "chain"):
            for key, value in self.mapping(event.payload.get("marks")).items():
                self.mark(str(key), self.money(value), at, by)
            told = event.payload.get("marked")
            if isinstance(told, Mapping):
                whole = {n: self.money(told.get(n)) for n in ("cash", "positions", "floor")}
                self.to |= {"earlier_mark": self.get("whole_mark"), "whole_mark": whole | {"at": at, "seq": self.seq}}

    def mark(self, key: str, value: int, at: str, by: str) -> None:
        old = self.get("positions").get(key)
        if old is not None:
            self.to["positions"] = {**self.get("positions"), key: old.marked(value, at, by, self.seq)}
            if by == "agent":
                return
            self.to["changed_seq"] = max(self.get("changed_seq"), self.seq)

    # -- time ------------------------------------------------------------------------------------------------

    def spend(self, at: datetime, amount: int, *, measured: bool) -> None:
        """Count spend on its UTC day and minute; what comes back never gives cap back."""
        if not amount:
            return
        key = _day(at)
        days: dict[str, Day] = dict(self.get("days"))
        old = days.get(key, Day())
        largest = max(old.largest, amount)
        days[key] = (
            replace(old, measured=old.measured + amount, largest=largest)
            if measured
            else replace(old, claimed=old.claimed + amount, largest=largest)
        )
        self.to["days"] = dict(sorted(days.items())[-DAYS_KEPT:])
        minute = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M")
        minutes = dict(self.get("minutes"))
        minutes[minute] = minutes.get(minute, 0) + amount
        if len(minutes) > MINUTES_KEPT:
            minutes = dict(sorted(minutes.items())[-MINUTES_KEPT:])
        self.to["minutes"] = minutes
        if amount > self.get("largest"):
            self.to |= {"largest": amount, "largest_day": key}


def _day(at: datetime) -> str:
    return at.astimezone(UTC).date().isoformat()


def _sides(event: Event, amount: int) -> tuple[int, int]:
    """(bought, sold) of a report: a move goes out unless its direction says in."""
    out = event.kind is Kind.BUY or (event.kind is Kind.MOVE and event.payload.get("direction") != "in")
    return (amount, 0) if out else (0, amount)


def _place(event: Event) -> tuple[str | None, str | None]:
    target = event.payload.get("target") or event.payload.get("executed") or event.payload.get("unwound")
    if not isinstance(target, Mapping):
        return None, None
    market, address = target.get("market"), target.get("address") or target.get("target")
    return (str(market) if market else None), (str(address) if address else None)


def _key(event: Event) -> str:
    """The position a row is about: its own id, else the market or address of its target."""
    position = event.payload.get("position")
    if isinstance(position, Mapping) and position.get("id") is not None:
        return str(position["id"])[:128]
    return _default_key(event)


def _default_key(event: Event) -> str:
    market, address = _place(event)
    return market or (address.lower() if address else "unknown")


# -- as JSON -----------------------------------------------------------------------------------------------------

_NESTED: Final = {"positions": Position, "days": Day}


def to_json(state: LedgerState) -> dict[str, Any]:
    """An exact JSON form; only what differs from the empty state."""
    told: dict[str, Any] = {}
    for f in fields(LedgerState):
        value = getattr(state, f.name)
        if value == getattr(EMPTY, f.name):
            continue
        kind = _NESTED.get(f.name)
        if kind is not None:
            names = [x.name for x in fields(kind)]
            value = {k: [getattr(v, n) for n in names] for k, v in value.items()}
        told[f.name] = list(value) if isinstance(value, tuple) else value
    return told


def from_json(told: Mapping[str, Any]) -> LedgerState:
    """Read `to_json`'s form back."""
    values = dict(told)
    for name, kind in _NESTED.items():
        if name in values:
            values[name] = {k: kind(*v) for k, v in values[name].items()}
    if "breaches" in values:
        values["breaches"] = tuple(values["breaches"])
    return LedgerState(**values)
