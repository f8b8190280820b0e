"""Books and ledgers for the domain tests, in a line or two each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from domain.ledger.events import Event, Kind, NewEvent, Reporter
from domain.ledger.fold import ACTION_KINDS, fold
from domain.ledger.state import EMPTY, LedgerState
from domain.mandates.mandate import Mandate, Status
from domain.mandates.targets import Target
from domain.money import Usdc
from domain.rules.case import Book
from domain.settings import Config, Switches
from tools.call.wire import wire

START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)  # a Monday
MARKET = "0x" + "11" * 20
OTHER = "0x" + "22" * 20
SELECTOR = "0x6e553f65"
TARGET = Target(
    "contract",
    address=MARKET,
    selector=SELECTOR,
    self_args=(1,),
    label="Test market",
    market="erc4626-test",
)


def on_the_wire(value: object) -> Any:
    """What leaves the service of a derivation."""
    return wire(value)


def usdc(text: str | int) -> Usdc:
    return Usdc.parse(text)


def mandate(**more: Any) -> Mandate:
    """A working mandate: 500 USDC, 50 an action, 150 a day, floor 400, signed and accepted at START."""
    plain: dict[str, Any] = {
        "public_id": "m_aaaaaaaaaa",
        "owner_id": "u_aaaaaaaaaa",
        "owner_address": "0x" + "aa" * 20,
        "budget_usdc": usdc(500),
        "horizon_days": 30,
        "stop_floor_bps": 2000,
        "created_at": START - timedelta(hours=1),
        "agent_id": "u_bbbbbbbbbb",
        "agent_address": "0x" + "bb" * 20,
        "per_tx_cap_usdc": usdc(50),
        "daily_cap_usdc": usdc(150),
        "status": Status.WORKING,
        "signed_at": START,
        "accepted_at": START,
        "ends_at": START + timedelta(days=30),
        "vault_address": "0x" + "cc" * 20,
        "allowed_targets": (Target("vault"), Target("x402"), TARGET),
    }
    return Mandate(**(plain | more))


def book(m: Mandate | None = None, state: LedgerState = EMPTY, **more: Any) -> Book:
    plain: dict[str, Any] = {
        "now": START + timedelta(hours=2),
        "config": Config(),
        "switches": Switches(stop_line_dry_run=False),
    }
    return Book(m or mandate(), state, **(plain | more))


def row(
    kind: str,
    amount: str | int | None = None,
    by: str = "agent",
    *,
    tx: str | None = None,
    at: datetime | None = None,
    **payload: Any,
) -> NewEvent:
    """A row that is not in a ledger yet."""
    return NewEvent(
        kind=Kind(kind), reported_by=Reporter(by), occurred_at=at or START, amount_usdc=None if amount is None else usdc(amount), tx_hash=tx, payload=payload
    )  # fmt: skip


def executed(
    spent: str | int,
    received: str | int = 0,
    *,
    tx: str,
    target: str = MARKET,
    at: datetime | None = None,
    **more: Any,
) -> NewEvent:
    """The chain's row of an executed call."""
    told = {
        "target": target,
        "selector": SELECTOR,
        "spent": str(usdc(spent)),
        "received": str(usdc(received)),
    }
    return row(
        "move",
        max(usdc(spent), usdc(received)).__str__(),
        "chain",
        tx=tx,
        at=at,
        executed=told,
        **more,
    )


def deposit(amount: str | int, at: datetime | None = None) -> NewEvent:
    return row("deposit", amount, "chain", tx="0xd0", at=at)


@dataclass
class Ledger:
    """An append-only ledger in memory, paired as the store pairs it; rows a second apart."""

    events: list[Event] = field(default_factory=list)
    state: LedgerState = EMPTY
    at: datetime = START

    def add(self, *rows: NewEvent) -> Ledger:
        for new in rows:
            self.at += timedelta(seconds=1)
            event = Event(
                event_id=f"ev_{len(self.events) + 1:010d}", seq=len(self.events) + 1, kind=new.kind, reported_by=new.reported_by, created_at=self.at,
                occurred_at=new.occurred_at if new.reported_by is Reporter.CHAIN else max(new.occurred_at, self.at), amount_usdc=new.amount_usdc,
                tx_hash=new.tx_hash, chain_id=new.chain_id, log_index=new.log_index, block_number=new.block_number, pairs_with=None, payload=new.payload,
            )  # fmt: skip
            pair = self._pair(event)
            event = replace(event, pairs_with=pair.seq if pair else None)
            self.events.append(event)
            self.state = fold(self.state, event, pair)
        return self

    def _pair(self, new: Event) -> Event | None:
        if new.tx_hash is None or not _pairs(new):
            return None
        other = Reporter.AGENT if new.reported_by is Reporter.CHAIN else Reporter.CHAIN
        taken = {e.pairs_with for e in self.events}
        same = [
            e
            for e in self.events
            if e.tx_hash == new.tx_hash and e.reported_by is other and _pairs(e)
        ]
        return next((e for e in same if e.seq not in taken and e.pairs_with is None), None)

    def newest(self, limit: int = 50) -> tuple[Event, ...]:
        return tuple(reversed(self.events[-limit:]))

    def book(self, m: Mandate | None = None, **more: Any) -> Book:
        return book(m, self.state, events=self.newest(), **more)


def _pairs(event: Event) -> bool:
    if event.reported_by is Reporter.CHAIN:
        return event.kind is Kind.MOVE and (
            "executed" in event.payload or "unwound" in event.payload
        )
    return event.reported_by is Reporter.AGENT and event.kind in ACTION_KINDS


def ledger(*rows: NewEvent) -> Ledger:
    return Ledger().add(*rows)


def refold(
    events: Sequence[Event], state: LedgerState = EMPTY, all_events: Iterable[Event] | None = None
) -> LedgerState:
    """Fold rows one by one, each with its pair."""
    by_seq = {e.seq: e for e in (all_events if all_events is not None else events)}
    for event in events:
        state = fold(state, event, by_seq.get(event.pairs_with) if event.pairs_with else None)
    return state


def totals(state: LedgerState) -> Mapping[str, Any]:
    """The figures that the order of arrival must not change."""
    return {
        "cash": state.cash,
        "cash_est": state.cash_est_delta,
        "positions": state.positions_est,
        "open": {k: (r.value, r.cost, r.source) for k, r in state.open_positions.items()},
        "realized": state.realized,
        "spent": {
            day: (d.spent, d.measured, d.credits, state.largest_on(day))
            for day, d in state.days.items()
        },
        "minutes": sum(state.minutes.values()),
        "largest": state.largest[0],
        "busiest": state.busiest[0],
        "fees": (
            state.fee_tools,
            state.fee_venue,
            state.fee_network,
            state.fee_unclassified,
            state.fee_unclassified_count,
        ),
        "trades": (state.trades_measured, state.trades_claimed),
        "bad": state.bad,
    }
