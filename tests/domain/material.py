"""Books and ledgers for the domain tests, in a line or two each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from domain.ledger.events.event import Event, LedgerKind, NewEvent, Reporter
from domain.ledger.events.event_kinds import HOUSE
from domain.ledger.events.pairing import LogHistory, partner
from domain.ledger.state.ledger_state import EMPTY, LedgerState, apply
from domain.mandates.mandate import Mandate, Status
from domain.mandates.targets import Target
from domain.money import Usdc
from domain.reads.summary import PARTS
from domain.rules.snapshot import MandateSnapshot
from domain.rules.valuation import realized_micros, valued
from domain.settings import Config, Switches
from tools.keeper.reversals import reversal
from tools.model.serialization import wire

START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)  # a Monday
MARKET = "0x" + "11" * 20
OTHER = "0x" + "22" * 20
SELECTOR = "0x6e553f65"
VAULT = "0x" + "cc" * 20
CALL = f"{SELECTOR}{10:064x}{VAULT[2:]:0>64}"
"""deposit(10, vault)"""
TARGET = Target("contract", MARKET, SELECTOR, (1,), None, "Test market", "erc4626-test")


def on_the_wire(value: object) -> Any:
    """What leaves the service of a derivation."""
    return wire(value)


def mandate_read(at: MandateSnapshot) -> dict[str, Any]:
    """The whole mandate read of a case, as it leaves the service."""
    return {
        name: None if (told := part(at)) is None else on_the_wire(told)
        for name, part in PARTS.items()
    }


def words(text: str) -> set[str]:
    return set(text.split())


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


_default_mandate = mandate


def case(
    mandate: Mandate | None = None, state: LedgerState = EMPTY, **more: Any
) -> MandateSnapshot:
    plain: dict[str, Any] = {
        "now": START + timedelta(hours=2),
        "config": Config(),
        "switches": Switches(stop_line_dry_run=False),
    }
    return MandateSnapshot(mandate or _default_mandate(), state, **(plain | more))


def row(
    kind: str,
    amount: str | int | None = None,
    by: str = "agent",
    *,
    tx: str | None = None,
    at: datetime | None = None,
    place: tuple[int, int] | None = None,
    **payload: Any,
) -> NewEvent:
    """A row that is not in a ledger yet; `place` is its block and log index."""
    block, index = place or (None, None)
    return NewEvent(
        kind=LedgerKind(kind), reported_by=Reporter(by), occurred_at=at or START, amount_usdc=None if amount is None else usdc(amount), tx_hash=tx,
        block_number=block, log_index=index, payload=payload,
    )  # fmt: skip


def gone(event: Event) -> NewEvent:
    """The row that takes back what a reorganisation took away."""
    return replace(
        reversal(LogHistory(first=event, now=event, is_standing=True), START, 1), chain_id=None
    )


def marked(cash: str | int, positions: str | int, floor: str | int = 0, *, by: str = "keeper", place: tuple[int, int] | None = None,
           at: datetime | None = None) -> NewEvent:  # fmt: skip
    """A whole mark of the vault."""
    amounts = {"cash": cash, "positions": positions, "floor": floor}
    told: dict[str, Any] = {name: str(usdc(amount)) for name, amount in amounts.items()}
    if by == "keeper" and place is not None:
        told["block"] = place[0]
    return row("note", None, by, place=place if by == "chain" else None, at=at, marked=told)


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
    moved = {"spent": str(usdc(spent)), "received": str(usdc(received))}
    told, largest = {"target": target, "selector": SELECTOR} | moved, max(moved.values(), key=usdc)
    return row("move", largest, "chain", tx=tx, at=at, executed=told, **more)


def venue_fill(
    size: str,
    px: str,
    *,
    side: str = "buy",
    product: str = "BTC",
    network: str = "testnet",
    fee: str = "0",
    order: str = "o_aaaaaaaaaa",
    **raw: Any,
) -> NewEvent:
    """The keeper's row of a fill of a live order that cites the mandate."""
    amount = Decimal(size) * Decimal(px)
    body = {
        "venue": "hyperliquid", "network": network, "order_id": order, "product": product,
        "side": side, "px": px, "size": size, "fee": fee, "builder_fee": "0", "first": True,
    } | raw  # fmt: skip
    return row(side, f"{amount:.6f}", "keeper", venue=body)


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
                occurred_at=new.occurred_at if new.reported_by in HOUSE else max(new.occurred_at, self.at), amount_usdc=new.amount_usdc,
                tx_hash=new.tx_hash, chain_id=new.chain_id, log_index=new.log_index, block_number=new.block_number, pairs_with=None, payload=new.payload,
            )  # fmt: skip
            same = [e for e in self.events if event.tx_hash and e.tx_hash == event.tx_hash]
            pair = partner(event, same)
            event = replace(event, pairs_with=pair.seq if pair else None)
            self.events.append(event)
            self.state = apply(self.state, event, pair, partial(tuple, self.events[:-1]))
        return self

    def newest(self, limit: int = 50) -> tuple[Event, ...]:
        return tuple(reversed(self.events[-limit:]))

    def case(self, mandate: Mandate | None = None, **more: Any) -> MandateSnapshot:
        return case(mandate, self.state, events=self.newest(), **more)


def ledger(*rows: NewEvent) -> Ledger:
    return Ledger().add(*rows)


def refold(
    events: Sequence[Event], state: LedgerState = EMPTY, all_events: Iterable[Event] | None = None
) -> LedgerState:
    """Fold rows one by one, each with its pair."""
    by_seq = {e.seq: e for e in (all_events if all_events is not None else events)}
    for event in events:
        past = [e for e in by_seq.values() if e.seq < event.seq]
        pair = by_seq.get(event.pairs_with) if event.pairs_with else None
        state = apply(state, event, pair, partial(tuple, past))
    return state


def totals(state: LedgerState) -> Mapping[str, Any]:
    """The figures that the order of arrival must not change."""
    told = valued(state)
    return {
        "measured": state.measured,
        "worth": (told.worth, told.cash, told.source),
        "positions": {k: replace(h, marked_at=None) for k, h in told.positions.items()},
        "realized": realized_micros(state),
        "claimed": replace(state.claimed, parts={}, marks={}, pending={}, answered={}),
        "parts": {k: replace(p, marked_at=None) for k, p in state.claimed.parts.items()},
        "pending": [replace(c, at=START) for c in state.claimed.pending.values()],
        "violations": dict(state.violations),
        "bad": state.bad,
    }
