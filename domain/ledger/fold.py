"""The fold of a mandate's ledger: every total that a read needs, in a state of bounded size.

The order in which chain rows and agent rows about the same transaction arrive does not change a
total: money is kept in sums, and when the second row of a pair arrives, the first one's effect is
taken back and the merged action is applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from domain.ledger.events import Event, Kind, Reporter
from domain.ledger.positions import MEASURED_END, TOLD_END, TRADE, Op, Position, bounded
from domain.ledger.state import Day, LedgerState
from domain.money import Usdc
from domain.refusals import Refused
from domain.times import timestamp

DAYS_KEPT: Final = 16


MINUTES_KEPT: Final = timedelta(hours=25)


MINUTES_MOST: Final = 1_600  # more than there are in MINUTES_KEPT, so that pruning is rare


BREACHES_KEPT: Final = 50


CLAIMS_KEPT: Final = 64


KEY_CHARS: Final = 128


ACTION_KINDS: Final = frozenset({Kind.BUY, Kind.SELL, Kind.MOVE, Kind.RESOLVE})


TOOL_FEES: Final = frozenset({"x402", "tools", "paid_read"})


PAID_READS: Final = frozenset({"x402", "paid_read"})


NETWORK_FEES: Final = frozenset({"gas", "network"})


CREDIT_MICROS: Final = 10_000


def fold(state: LedgerState, event: Event, pair: Event | None = None) -> LedgerState:
    """Return the state after one more row. Pure and total: unusable stored values read as 0 and
    set `bad`.

    Shapes: `pair` is the earlier row that `event.pairs_with` names.
    Source: contract 5.
    """
    hand = _Hand(state, event.seq)
    hand.noticed(event, pair)
    if pair is not None and event.kind in ACTION_KINDS and pair.kind in ACTION_KINDS:
        if event.reported_by is Reporter.AGENT:
            hand.agent_after_chain(event, pair)
        else:
            hand.chain_after_agent(event, pair)
    elif event.reported_by is Reporter.CHAIN:
        hand.from_chain(event)
    else:
        hand.from_report(event)
    hand.marks(event)
    return hand.done()


def reversal_payload(event: Event) -> dict[str, Any]:
    """The payload of the compensating row for a chain row that a reorganisation took away
    (contract 5).
    """
    return {
        "reverses": {
            "event_id": event.event_id,
            "seq": event.seq,
            "kind": event.kind.value,
            "amount_usdc": None if event.amount_usdc is None else str(event.amount_usdc),
            "tx_hash": event.tx_hash,
            "occurred_at": timestamp(event.occurred_at),
            "payload": dict(event.payload),
        }
    }


class _Hand:
    """The working copy that one fold step changes."""

    def __init__(self, state: LedgerState, seq: int):
        self.was, self.seq = state, seq
        self.to: dict[str, Any] = {"seq": seq}

    def done(self) -> LedgerState:
        if "positions" in self.to:
            positions, given_back = bounded(self.to["positions"])
            self.to["positions"] = positions
            self.add("cash_est_moved", given_back)
        return self.was.changed(self.to)

    def get(self, name: str) -> Any:
        return self.to[name] if name in self.to else getattr(self.was, name)

    def own(self, name: str) -> dict[str, Any]:
        """A copy of a mapping that this step may change."""
        if name not in self.to:
            self.to[name] = dict(getattr(self.was, name))
        found: dict[str, Any] = self.to[name]
        return found

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

    def magnitude(self, value: object) -> int:
        """An amount that cannot be negative; a negative one is unusable and reads as 0."""
        amount = self.money(value)
        if amount < 0:
            self.to["bad"] = True
        return max(0, amount)

    def mapping(self, value: object) -> Mapping[str, Any]:
        if value is not None and not isinstance(value, Mapping):
            self.to["bad"] = True
        return value if isinstance(value, Mapping) else {}

    def amount(self, event: Event) -> int:
        if event.amount_usdc is None:
            return 0
        if event.amount_usdc.micros < 0 and event.kind is not Kind.RESOLVE:
            self.to["bad"] = True
            return 0
        return event.amount_usdc.micros

    # -- rows
    # ------------------------------------------------------------------------------------------------

    def noticed(self, event: Event, pair: Event | None) -> None:
        """What any row may carry: a refused attempt, a broken rule, the next time to look.

        A rule that both rows of a pair say was broken counts once.
        """
        if isinstance(event.payload.get("refusal"), Mapping):
            day = _day(event.created_at)
            same = self.get("refusals_day") == day
            self.to |= {
                "refusals_day": day,
                "refusals_count": self.get("refusals_count") + 1 if same else 1,
            }
        known = pair.violation_codes if pair is not None else ()
        codes = [code for code in event.violation_codes if code not in known]
        if codes:
            counts = self.own("violations")
            for code in codes:
                counts[code] = counts.get(code, 0) + 1
            detail = self.mapping(self.mapping(event.payload.get("violation")).get("detail"))
            row = {
                "codes": codes,
                "event_id": event.event_id,
                "at": timestamp(event.created_at),
                "detail": dict(detail),
            }
            self.to["breaches"] = (row, *self.get("breaches"))[:BREACHES_KEPT]
        look = event.payload.get("next_at")
        if isinstance(look, str) and len(look) <= 40:
            self.to["next_at"] = look

    def from_chain(self, event: Event) -> None:
        """A row that the chain proves."""
        amount = self.amount(event)
        reversed_row = event.payload.get("reverses")
        if isinstance(reversed_row, Mapping):
            self.reversal(reversed_row, event)
        elif event.kind in _CHAIN_SUMS:
            self.add(_CHAIN_SUMS[event.kind], amount)
            self.add("chain_rows", 1)
        elif event.kind is Kind.STOP:
            self.to["stop_reason"] = str(event.payload.get("reason"))[:KEY_CHARS]
        elif event.kind is Kind.MOVE:
            spent, received = self.measured(event)
            key, agent, what = self.get("moved_back").get(
                event.tx_hash or "", (default_key(event), 0, TRADE)
            )
            self.act(key, event, (agent, self.seq, what, spent, received), on_chain=True)
            if event.tx_hash is not None and event.tx_hash in self.get("moved_back"):
                self.own("moved_back").pop(event.tx_hash)
        if isinstance(event.payload.get("settled"), Mapping):
            told = event.payload["settled"]
            facts = {
                n: self.magnitude(told.get(n)) for n in ("spent", "returned", "gain", "agent_fee")
            }
            self.to["settled"] = facts | {"seq": self.seq}
        what = self.control(event)
        if what in ("paused", "resumed"):
            self.to["paused_on_chain"] = what == "paused"

    def control(self, event: Event) -> str | None:
        told = event.payload.get("control")
        what = told.get("what") if isinstance(told, Mapping) else told
        return what if isinstance(what, str) else None

    def measured(self, event: Event) -> tuple[int, int]:
        """Book what the chain measured of one executed call; returns (spent, received)."""
        spent, received = self.executed(event.payload)
        self.add("chain_rows", 1)
        self.add("spent", spent)
        self.add("received", received)
        self.add("trades_measured", 1)
        self.spend(event.occurred_at, measured=spent)
        told = self.mapping(event.payload.get("executed"))
        # Per action the larger of what was approved and what left counts (contract 5).
        self.final(_day(event.occurred_at), max(spent, self.magnitude(told.get("approved"))))
        return spent, received

    def executed(self, payload: Mapping[str, Any]) -> tuple[int, int]:
        told = self.mapping(payload.get("executed") or payload.get("unwound"))
        return self.magnitude(told.get("spent")), self.magnitude(told.get("received"))

    def reversal(self, row: Mapping[str, Any], event: Event) -> None:
        """Take back a row that a reorganisation removed from the chain; a later row of its
        transaction finds its place.
        """
        kind, payload = str(row.get("kind")), self.mapping(row.get("payload"))
        names = {k.value: n for k, n in _CHAIN_SUMS.items()}
        if kind in names:
            self.add(names[kind], -self.magnitude(row.get("amount_usdc")))
            self.add("chain_rows", -1)
        elif kind == Kind.MOVE.value:
            spent, received = self.executed(payload)
            self.add("chain_rows", -1)
            self.add("spent", -spent)
            self.add("received", -received)
            self.add("trades_measured", -1)
            self.spend(_moment(row.get("occurred_at")) or event.occurred_at, measured=-spent)
            self.take_back(row, spent, received)
        elif kind == Kind.STOP.value:
            self.to["stop_reason"] = None
        if "settled" in payload:
            self.to["settled"] = None
        if "marked" in payload:
            self.to |= {"whole_mark": self.get("earlier_mark"), "earlier_mark": None}

    def take_back(self, row: Mapping[str, Any], spent: int, received: int) -> None:
        """Take an executed call out of its position, and remember where a new row of its
        transaction belongs.
        """
        payload = self.mapping(row.get("payload"))
        found = _entry_of(self.get("positions"), row.get("seq"))
        if found is None:
            key, op = (
                _key_of(self.mapping(payload.get("executed") or payload.get("unwound"))),
                (0, 0, TRADE, 0, 0),
            )
            self.correct(key, -spent, -received)
        else:
            key, op = found
            self.put(key, self.get("positions")[key].without(op[0], op[1])[0])
        tx_hash = row.get("tx_hash")
        if isinstance(tx_hash, str):
            self.remember(tx_hash, key, op[0], op[2])

    def remember(self, tx_hash: str, key: str, agent: int, what: str) -> None:
        kept = dict(list(self.get("moved_back").items())[-(CLAIMS_KEPT - 1) :])
        self.to["moved_back"] = kept | {tx_hash: (key, agent, what)}

    def from_report(self, event: Event) -> None:
        """A report that no chain row matches (yet): it moves estimates only."""
        amount = self.amount(event)
        if event.kind is Kind.FEE:
            self.fee(event, amount)
        elif event.kind is Kind.RESOLVE:
            self.add("resolved", amount)
            self.act(position_key(event), event, (self.seq, 0, TOLD_END, amount, 0))
        elif event.kind in ACTION_KINDS:
            bought, sold = sides(event, amount)
            self.add("cash_est_moved", sold - bought)
            self.claim(event, bought)
            self.act(position_key(event), event, (self.seq, 0, TRADE, bought, sold))
        if event.kind in ACTION_KINDS and event.reported_by is Reporter.AGENT:
            self.add("trades_claimed", 1)

    def fee(self, event: Event, amount: int) -> None:
        kind = event.payload.get("fee_kind")
        kind = kind if isinstance(kind, str) else None
        if kind in TOOL_FEES:
            self.add("fee_tools", amount)
        elif kind == "venue":
            self.add("fee_venue", amount)
        elif kind in NETWORK_FEES:
            self.add("fee_network", amount)
        else:
            self.add("fee_unclassified", amount)
            self.add("fee_unclassified_count", 1)
        if kind in PAID_READS:
            self.spend(event.occurred_at, credits=-(-amount // CREDIT_MICROS))

    def chain_after_agent(self, chain: Event, agent: Event) -> None:
        """The chain's row of an action that was reported before: its amounts replace the reported
        ones.
        """
        key, told = position_key(agent), self.amount(agent)
        spent, received = self.measured(chain)
        if agent.kind is Kind.RESOLVE:
            self.replace_op(
                key,
                (agent.seq, 0),
                (agent.seq, self.seq, MEASURED_END, spent, received),
                (0, 0),
                chain,
            )
            return
        bought, sold = sides(agent, told)
        self.add("cash_est_moved", bought - sold)
        self.unclaim(agent, bought)
        self.replace_op(
            key,
            (agent.seq, 0),
            (agent.seq, self.seq, TRADE, spent, received),
            (bought, sold),
            chain,
        )

    def agent_after_chain(self, agent: Event, chain: Event) -> None:
        """The agent's report of an action that the chain told of before: it names the position and
        the reasons.
        """
        spent, received = self.executed(chain.payload)
        self.add("trades_claimed", 1)
        what = MEASURED_END if agent.kind is Kind.RESOLVE else TRADE
        if agent.kind is Kind.RESOLVE:
            self.add("resolved", self.amount(agent))
        if agent.tx_hash is not None and agent.tx_hash in self.get("moved_back"):
            self.remember(agent.tx_hash, position_key(agent), agent.seq, what)
            return
        was = default_key(chain)
        position = self.get("positions").get(was, Position())
        rest, found = position.without(0, chain.seq)
        if found:
            self.put(was, rest)
        else:
            self.correct(was, -spent, -received)
        self.act(
            position_key(agent),
            chain,
            (agent.seq, chain.seq, what, spent, received),
            on_chain=True,
            told=agent,
        )

    # -- positions
    # -------------------------------------------------------------------------------------------

    def put(self, key: str, position: Position) -> None:
        positions = self.own("positions")
        if position.empty:
            positions.pop(key, None)
        else:
            positions[key] = position

    def act(
        self, key: str, event: Event, op: Op, *, on_chain: bool = False, told: Event | None = None
    ) -> None:
        """Write an entry into a position's journal; `told` is the report that names its market."""
        if op[2] == TRADE and not op[3] and not op[4]:
            return
        old = self.get("positions").get(key) or Position()
        market, address = place(event)
        named, reported = place(told) if told is not None else (None, None)
        changed = _placed(old, named or market, address or reported, on_chain=on_chain)
        self.put(key, changed.with_op(op))

    def replace_op(
        self, key: str, places: tuple[int, int], op: Op, was: tuple[int, int], chain: Event
    ) -> None:
        """Put the merged entry in the place of the reported one; correct the sum where that has
        left the journal.
        """
        old = self.get("positions").get(key) or Position()
        rest, found = old.without(*places)
        if not found and op[2] == TRADE:
            op = (op[0], op[1], TRADE, op[3] - was[0], op[4] - was[1])
        rest = _placed(rest, *place(chain), on_chain=True)
        self.put(key, rest.with_op(op) if op[2] != TRADE or op[3] or op[4] else rest)

    def correct(self, key: str, bought: int, sold: int) -> None:
        """Change the sum of a position by an entry that has left its journal."""
        old = self.get("positions").get(key)
        if old is not None and (bought or sold):
            self.put(key, old.with_op((0, self.seq, TRADE, bought, sold)))

    def marks(self, event: Event) -> None:
        """Marks a row carries: its own position's, several, or the vault's own."""
        payload = event.payload
        house = event.reported_by in (Reporter.KEEPER, Reporter.CHAIN)
        if payload.get("mark") is None and not (
            house and ("marks" in payload or "marked" in payload)
        ):
            return
        at = timestamp(event.occurred_at)
        if payload.get("mark") is not None:
            self.mark(position_key(event), payload["mark"], at, house=house)
        if not house:
            return
        for key, value in self.mapping(payload.get("marks")).items():
            self.mark(str(key)[:KEY_CHARS], value, at, house=True)
        told = payload.get("marked")
        if isinstance(told, Mapping):
            whole = {n: self.magnitude(told.get(n)) for n in ("cash", "positions", "floor")}
            ahead = whole["cash"] - (self.was.changed(self.to).cash or 0)
            self.to |= {
                "earlier_mark": self.get("whole_mark"),
                "whole_mark": whole | {"at": at, "seq": self.seq, "ahead": ahead},
            }

    def mark(self, key: str, value: object, at: str, *, house: bool) -> None:
        amount = self.magnitude(value)
        old = self.get("positions").get(key) or Position()
        self.put(key, old.marked(amount, at, self.seq, by_house=house))

    # -- time
    # ------------------------------------------------------------------------------------------------

    def claim(self, event: Event, spend: int) -> None:
        """Count a reported spend; one that may still be matched keeps its place among the largest
        by itself.
        """
        day = _day(event.occurred_at)
        self.spend(event.occurred_at, claimed=spend)
        if not spend:
            return
        if event.tx_hash is None or event.reported_by is not Reporter.AGENT:
            self.final(day, spend)
            return
        claims = self.own("claims")
        claims[str(event.seq)] = (day, spend)
        if len(claims) > CLAIMS_KEPT:
            self.final(*claims.pop(min(claims, key=int)))

    def unclaim(self, event: Event, spend: int) -> None:
        self.spend(event.occurred_at, claimed=-spend)
        if str(event.seq) in self.get("claims"):
            self.own("claims").pop(str(event.seq))

    def final(self, day: str, amount: int) -> None:
        """Remember an action among the largest for good."""
        if not amount:
            return
        days = self.own("days")
        if day in days and amount > days[day].largest:
            old = days[day]
            days[day] = Day(old.measured, old.claimed, amount, old.credits)
        if amount > self.get("largest_final")[0]:
            self.to["largest_final"] = (amount, day)

    def spend(self, at: datetime, *, measured: int = 0, claimed: int = 0, credits: int = 0) -> None:
        """Count spend on its UTC day and minute; what comes back never gives cap back."""
        if not measured and not claimed and not credits:
            return
        key, days = _day(at), self.own("days")
        old = days.get(key, Day())
        days[key] = Day(
            old.measured + measured, old.claimed + claimed, old.largest, old.credits + credits
        )
        if days[key] == Day():
            del days[key]
        while len(days) > DAYS_KEPT:
            first = min(days)
            gone = days.pop(first)
            if gone.spent > self.get("busiest_final")[0]:
                self.to["busiest_final"] = (gone.spent, first)
        if measured or claimed:
            self.minute(at, measured + claimed)

    def minute(self, at: datetime, amount: int) -> None:
        minutes, key = self.own("minutes"), _minute(at)
        minutes[key] = minutes.get(key, 0) + amount
        if not minutes[key]:
            del minutes[key]
        if len(minutes) > MINUTES_MOST:
            oldest = _minute((_moment(max(minutes) + "Z") or at) - MINUTES_KEPT)
            self.to["minutes"] = {m: v for m, v in minutes.items() if m >= oldest}


_CHAIN_SUMS: Final = {
    Kind.DEPOSIT: "deposits",
    Kind.WITHDRAW: "withdrawals",
    Kind.PAYOUT: "payouts",
}


def _day(at: datetime) -> str:
    return at.astimezone(UTC).date().isoformat()


def _minute(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()[:16]


def _moment(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None


def sides(event: Event, amount: int) -> tuple[int, int]:
    """(bought, sold) of a report: a move goes out unless its direction says in."""
    out = event.kind is Kind.BUY or (
        event.kind is Kind.MOVE and event.payload.get("direction") != "in"
    )
    return (amount, 0) if out else (0, amount)


def _placed(p: Position, market: str | None, address: str | None, *, on_chain: bool) -> Position:
    if (p.market or not market) and (p.address or not address) and (p.on_chain or not on_chain):
        return p
    return Position(
        p.market or market,
        p.address or address,
        p.on_chain or on_chain,
        p.ops,
        p.by_agent,
        p.by_house,
        p.agent_mark,
        p.agent_mark_at,
        p.house_mark,
        p.house_mark_at,
        p.changed,
    )


def place(event: Event) -> tuple[str | None, str | None]:
    """(market, address) that a row names."""
    for name in ("target", "executed", "unwound"):
        told = event.payload.get(name)
        if isinstance(told, Mapping):
            market, address = told.get("market"), told.get("address") or told.get("target")
            return (str(market)[:KEY_CHARS] if market else None), (
                str(address)[:KEY_CHARS] if address else None
            )
    return None, None


def position_key(event: Event) -> str:
    """The position a row is about: its own id, else the market or address of its target."""
    position = event.payload.get("position")
    if isinstance(position, Mapping) and position.get("id") is not None:
        return str(position["id"])[:KEY_CHARS]
    return default_key(event)


def default_key(event: Event) -> str:
    """The market, else the address, of a row's target."""
    market, address = place(event)
    return market or (address.lower() if address else "unknown")


def _entry_of(positions: Mapping[str, Position], seq: object) -> tuple[str, Op] | None:
    """The journal entry of a chain row, and its position."""
    for key, position in positions.items():
        for op in position.ops:
            if op[1] == seq and op[2] in (TRADE, MEASURED_END):
                return key, op
    return None


def _key_of(told: Mapping[str, Any]) -> str:
    address = told.get("target")
    return str(told.get("market") or (str(address).lower() if address else "unknown"))[:KEY_CHARS]
