"""Values that the storage tests put in."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from domain.agents.transfers import Delta
from domain.ledger.events.event import Event, LedgerKind, NewEvent, Reporter
from domain.mandates.actions import Action
from domain.mandates.approvals import Reservation
from domain.mandates.mandate import Mandate
from domain.money import Usdc
from domain.trading.orders import Order, OrderAction, OrderFill
from domain.trading.paper.entries import Gap, Model, PaperBook
from domain.trading.venue_values import OrderBook
from storage.repositories.event_row import event_of
from storage.repositories.identities import Agent
from storage.sql import Row
from storage.store import Store
from storage.unit_of_work import UnitOfWork

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
OWNER = "0x" + "Aa" * 20
TX = "0x" + "ab" * 32
_numbers = itertools.count(1)


def event_id() -> str:
    return f"ev_{next(_numbers):010d}"


def later(seconds: float = 0, **units: float) -> datetime:
    return NOW + timedelta(seconds=seconds, **units)


def tx(number: int) -> str:
    return f"0x{number:064x}"


def mandate(public_id: str = "m_1", **changes: Any) -> Mandate:
    given: dict[str, Any] = {
        "public_id": public_id,
        "owner_id": "u_owner",
        "owner_address": OWNER,
        "budget_usdc": Usdc.parse("500"),
        "horizon_days": 30,
        "stop_floor_bps": 2000,
        "created_at": NOW,
    }
    return Mandate(**given | changes)


def agent(agent_id: str = "u_agent", **changes: Any) -> Agent:
    given: dict[str, Any] = {
        "owner_id": "u_owner",
        "name": "Ada",
        "address": None,
        "created_at": NOW,
    }
    return Agent(agent_id, **given | changes)


def buy(amount: str = "1", *, tx_hash: str | None = None, **payload: Any) -> NewEvent:
    """A report by the agent."""
    told = {"target": {"market": "ausd"}, **payload}
    return NewEvent(
        kind=LedgerKind.BUY,
        reported_by=Reporter.AGENT,
        occurred_at=NOW,
        amount_usdc=Usdc.parse(amount),
        tx_hash=tx_hash,
        chain_id=84532 if tx_hash else None,
        payload=told,
    )


def executed(
    spent: str = "1", *, tx_hash: str = TX, log_index: int = 0, block: int = 10, at: datetime = NOW
) -> NewEvent:
    """An executed call, as the chain tells of it."""
    told = {
        "executed": {
            "target": "0x" + "11" * 20,
            "market": "ausd",
            "selector": "0x6e553f65",
            "spent": spent,
            "received": "0",
        }
    }
    return NewEvent(
        kind=LedgerKind.MOVE,
        reported_by=Reporter.CHAIN,
        occurred_at=at,
        amount_usdc=Usdc.parse(spent),
        tx_hash=tx_hash,
        chain_id=84532,
        log_index=log_index,
        block_number=block,
        payload=told,
    )


def deposit(
    amount: str = "500", *, tx_hash: str = TX, log_index: int = 0, block: int = 5
) -> NewEvent:
    """A deposit, as the chain tells of it."""
    return NewEvent(
        kind=LedgerKind.DEPOSIT,
        reported_by=Reporter.CHAIN,
        occurred_at=NOW,
        amount_usdc=Usdc.parse(amount),
        tx_hash=tx_hash,
        chain_id=84532,
        log_index=log_index,
        block_number=block,
        payload={},
    )


def delta(amount: int, ref: str, **changes: Any) -> Delta:
    """One step of a balance."""
    given: dict[str, Any] = {
        "chain_id": 1,
        "asset": "USDC",
        "state": "idle",
        "ref_kind": "transfer",
    }
    return Delta(delta=amount, ref_id=ref, **given | changes)


def order(name: str, **changes: Any) -> Order:
    """A live order of 20 USDC."""
    action = OrderAction(
        asset_id=3, is_buy=True, limit_px=Decimal(100), size=Decimal(1), reduce_only=False, tif="ioc", cloid=f"0x{name}"
    )  # fmt: skip
    plain: dict[str, Any] = {
        "order_id": f"o_{name}", "owner_id": "u_1", "agent_id": None, "source": "terminal", "closing": False, "mode": "live", "mode_seen": None,
        "network": "testnet", "wallet": "0x1", "book": None, "product": "BTC", "side": "buy", "type": "market", "slippage_bps": 50, "leverage": 3,
        "notional": Usdc(20), "action": action, "envelope": None, "sign_mode": "client", "status": "awaiting_signature", "version": 1, "attempt": 1,
        "by": "owner", "mandate_id": None, "intent_id": None, "why": None, "asked": {}, "created_at": NOW, "expires_at": later(60),
        "counted": Usdc(20), "counted_day": None,
    }  # fmt: skip
    return Order(**plain | changes)


async def append(
    store: Store, new: NewEvent, *, public_id: str = "m_1", now: datetime = NOW
) -> Event | None:
    return await store.write(
        lambda uow: uow.ledger.append(public_id, new, event_id=event_id(), now=now)
    )


def reservation(n: int, **changes: Any) -> Reservation:
    action = Action(
        action_hash=f"hash{n}", target="0xt", selector="0x00", data_hash="0xdata", amount=Usdc(n)
    )
    given: dict[str, Any] = {"made_at": later(n), "expires_at": later(600), "sender": "0xs"}
    return Reservation(public_id="m_1", action=action, **given | changes)


async def fill(
    store: Store, rows: int, *, public_id: str = "m_1", every: timedelta = timedelta(seconds=1)
) -> None:
    """A ledger of buys and chain rows that pair with every other one of them."""

    def work(uow: UnitOfWork) -> None:
        start = uow.ledger.head(public_id)[0]
        for n in range(start, start + rows):
            new = (
                executed("2", tx_hash=tx(n // 3), log_index=n, block=10 + n, at=NOW + n * every)
                if n % 3 == 2
                else buy("2", tx_hash=tx(n // 3) if n % 3 else None)
            )
            uow.ledger.append(public_id, new, event_id=event_id(), now=NOW + n * every)

    await store.write(work)


async def run_sql(store: Store, text: str, **values: Any) -> int:
    """A statement past the repositories: what somebody with access to the database might do."""
    return await store.write(lambda uow: uow.sql.run(text, **values))


def an_order_fill() -> OrderFill:
    one = Decimal("0.5")
    return OrderFill(px=one, size=one, fee=one, builder_fee=one, closed_pnl=one, at=NOW, tid=7)


def rows_of(uow: UnitOfWork, public_id: str) -> list[Row]:
    """Every stored row as it is, oldest first."""
    return list(
        uow.sql.rows("SELECT * FROM ledger_events WHERE public_id = :id ORDER BY seq", id=public_id)
    )


def event_at(uow: UnitOfWork, public_id: str, event_id: str) -> Event | None:
    """One row by its id."""
    return next((e for e in map(event_of, rows_of(uow, public_id)) if e.event_id == event_id), None)


def checkpoints_of(uow: UnitOfWork, public_id: str) -> dict[int, str]:
    """Stored checkpoints: seq to state text."""
    query = "SELECT seq, state FROM ledger_checkpoints WHERE public_id = :id"
    return {int(r["seq"]): r["state"] for r in uow.sql.rows(query, id=public_id)}


def summed(uow: UnitOfWork, agent_id: str) -> list[tuple[int, str, str, int]]:
    """An agent's balances out of the append-only rows: what `balances` must equal."""
    rows = uow.sql.rows(
        "SELECT chain_id, asset, state, SUM(delta) AS amount FROM balance_events WHERE agent_id = :id "
        "GROUP BY chain_id, asset, state ORDER BY chain_id, asset, state",
        id=agent_id,
    )
    return [(int(r["chain_id"]), r["asset"], r["state"], int(r["amount"])) for r in rows]


def write_paper(uow: UnitOfWork) -> None:
    """A paper book with one entry, and a snapshot."""
    model = Model(depth_share=Decimal("0.5"), latency_ms=400)
    uow.paper.open(
        PaperBook(
            book="b_1",
            owner_id="u_1",
            agent_id=None,
            name="Paper",
            start_micros=10**10,
            model=model,
            created_at=NOW,
        )
    )
    uow.paper.append("b_1", "x", NOW, {}, Gap(since=NOW, until=NOW + timedelta(hours=1)))
    uow.paper.keep(OrderBook("BTC", NOW, (), (), "00"))
