"""A database as it may be after years: 300,000 rows in one mandate, 20,000 mandates of one person.

`make deep` builds all of it. What looks through all of them is seen between one that is small and one
that is three times as large.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from chain.adapter import ChainConfig
from chain.chains import EvmChains
from chain.contracts.sign_in import SiweSignIn
from domain.agents.policy import Policy
from domain.ledger.events.event import Event, LedgerKind, Reporter
from domain.ledger.events.payload_codec import EventPayload, read
from domain.ledger.state.ledger_state import EMPTY, apply
from domain.mandates.mandate import Mandate, Status
from domain.money import Usdc
from domain.settings import Config, Switches
from server.system import SystemIds
from storage.repositories.event_row import COLUMNS, row_values
from storage.repositories.identities import Agent
from storage.repositories.state_cache import StateCache
from storage.sql import SqliteSql, columns, micros
from storage.sqlite_files import connect_sqlite, sqlite_path
from storage.store import open_store
from storage.unit_of_work import UnitOfWork
from tests.databases import PATIENT
from tests.world import CHAIN_ID, Clock
from tools.model.operation import ANONYMOUS, Caller, Deps

PAGE: Final = 2_048
ROWS: Final = int(os.environ.get("LARGE_ROWS", 6 * PAGE))
MANDATES: Final = int(os.environ.get("LARGE_MANDATES", "1800"))
# More mandates than any page has, and whole pages of rows: as many stand after the last checkpoint.
FEWER_ROWS, FEWER_MANDATES = 2 * PAGE, 600
NOW: Final = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
# All of them in the last full week, Monday to Saturday.
FIRST: Final = datetime(2026, 11, 9, tzinfo=UTC)
BIG: Final = "m_large0000"
OWNER, AGENT = "u_owner", "u_agent"
ADDRESS: Final = "0x" + "22" * 20
AS_OWNER: Final = Caller("owner", OWNER, OWNER, ADDRESS)
AS_STRANGER: Final = Caller("owner", "u_stranger", "u_stranger", "0x" + "33" * 20)
AS_AGENT: Final = Caller("agent", AGENT, OWNER, ADDRESS, "Scout", "h")
TX: Final = "0x" + "ab" * 32

# Reads of a record that grows, as each of those who may make them.
READS: Final[list[tuple[str, Caller, dict[str, Any]]]] = [
    ("owner_agents", AS_OWNER, {"limit": 200}),
    ("agents_me", AS_AGENT, {}),
    ("agents_me", AS_OWNER, {}),
    ("agent_policy", AS_OWNER, {"agent_id": AGENT}),
    ("agent_balances", AS_OWNER, {"agent_id": AGENT}),
    ("agent_offers", AS_AGENT, {"agent_id": AGENT, "limit": 200}),
    ("agent_activity", AS_AGENT, {"agent_id": AGENT, "limit": 200}),
    ("agent_activity", AS_OWNER, {"agent_id": AGENT, "limit": 200}),
    ("hall_list", ANONYMOUS, {"limit": 200}),
    ("hall_agent", ANONYMOUS, {"agent_id": AGENT}),
    ("hall_proof", ANONYMOUS, {}),
    ("mandate_list", AS_OWNER, {"limit": 200}),
    ("mandate_list", AS_AGENT, {"limit": 200}),
    ("mandate_get", AS_OWNER, {"public_id": BIG}),
    ("mandate_get", AS_AGENT, {"public_id": BIG}),
    ("mandate_limits", AS_OWNER, {"public_id": BIG}),
    ("mandate_limits", AS_AGENT, {"public_id": BIG}),
    ("mandate_events", AS_OWNER, {"public_id": BIG, "limit": 200}),
    ("mandate_steps", AS_OWNER, {"public_id": BIG, "limit": 200}),
    ("mandate_approvals", AS_OWNER, {"public_id": BIG, "limit": 200}),
    ("mandate_series", AS_OWNER, {"public_id": BIG}),
    ("mandate_series", AS_AGENT, {"public_id": BIG}),
    ("owner_approvals", AS_OWNER, {"limit": 200}),
    ("owner_approvals", AS_OWNER, {"limit": 200, "status": "expired"}),
    ("mandate_reconcile", AS_OWNER, {"public_id": BIG, "tx_hash": TX}),
    ("owner_statement", AS_OWNER, {"public_id": BIG, "week": "2026-W45", "limit": 200}),
    ("owner_statement", AS_OWNER, {"public_id": BIG, "week": "2026-W46", "limit": 200}),
    ("owner_statement", AS_OWNER, {"public_id": BIG, "week": "2026-W47", "limit": 200}),
    ("owner_statement_all", AS_OWNER, {"week": "2026-W46", "limit": 200}),
    ("mandate_report_event", AS_AGENT, {"public_id": BIG, "kind": "note"}),
]


@asynccontextmanager
async def large_deps(url: str) -> AsyncIterator[Deps]:
    """What operations on a large record work with; its chain has no node."""
    store, chains = await open_store(url, PATIENT), EvmChains([ChainConfig(CHAIN_ID)])
    try:
        yield Deps(store, chains, Clock(NOW), SystemIds(), Config(), SiweSignIn(), Switches())
    finally:
        await chains.close()
        await store.close()


def build(url: str, *, rows: int = ROWS, mandates: int = MANDATES) -> None:
    """Fill a migrated SQLite file; every hash, head and checkpoint is as the service writes it."""
    connection = connect_sqlite(sqlite_path(url))
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        uow = UnitOfWork(SqliteSql(connection), StateCache())
        uow.identities.person(ADDRESS, new_id=OWNER, now=FIRST)
        uow.identities.add_agent(Agent(AGENT, OWNER, "Scout", ADDRESS, FIRST))
        uow.policies.put(AGENT, Policy(accepts_mandates=True), FIRST)
        for n in range(mandates):
            uow.mandates.add(_mandate(f"m_{n:06d}", FIRST + timedelta(seconds=n)))
            event = _event("one", n, 1, FIRST + timedelta(days=1), LedgerKind.NOTE)
            _write(connection, f"m_{n:06d}", [row_values(f"m_{n:06d}", event, "")])
        uow.mandates.add(_mandate(BIG, FIRST))
        _many(uow, connection, rows)
        connection.execute("COMMIT")
    finally:
        connection.close()


def _mandate(public_id: str, at: datetime) -> Mandate:
    return Mandate(
        public_id=public_id,
        owner_id=OWNER,
        owner_address=ADDRESS,
        budget_usdc=Usdc.parse("1000000"),
        horizon_days=30,
        stop_floor_bps=2000,
        created_at=at,
        agent_id=AGENT,
        agent_address=ADDRESS,
        per_tx_cap_usdc=Usdc.parse("100000"),
        daily_cap_usdc=Usdc.parse("1000000"),
        status=Status.WORKING,
        signed_at=at,
        accepted_at=at,
        ends_at=NOW + timedelta(days=30),
    )


@cache
def _told(kind: LedgerKind, position: int) -> EventPayload:
    return read(kind, {"position": {"id": f"p{position}"}, "why": "a reason in some words"})


def _event(name: str, n: int, seq: int, at: datetime, kind: LedgerKind) -> Event:
    return Event(
        event_id=f"ev_{name}{n}",
        seq=seq,
        kind=kind,
        reported_by=Reporter.AGENT,
        created_at=at,
        occurred_at=at,
        amount_usdc=None if kind is LedgerKind.NOTE else Usdc(1_000_000 + n % 1_000),
        payload={"position": {"id": f"p{n % 7}"}, "why": "a reason in some words"},
        parsed=_told(kind, n % 7),
    )


def _many(uow: UnitOfWork, connection: Any, rows: int) -> None:
    step, last, books = timedelta(days=6) / rows, "", EMPTY
    kinds = (LedgerKind.BUY, LedgerKind.SELL, LedgerKind.NOTE, LedgerKind.FEE)
    for start in range(0, rows, PAGE):
        page = []
        for n in range(start, min(start + PAGE, rows)):
            event = _event("", n, n + 1, FIRST + n * step, kinds[n % 4])
            page.append(row_values(BIG, event, last))
            last = page[-1]["row_hash"]
            books = apply(books, event)
        _write(connection, BIG, page)
        uow.ledger._checkpoint(BIG, books.seq, micros(NOW), books, last)


def _write(connection: Any, public_id: str, page: list[dict[str, Any]]) -> None:
    connection.executemany("INSERT INTO ledger_events " + columns(COLUMNS), page)
    end = page[-1]
    connection.execute(
        "INSERT OR REPLACE INTO ledger_heads (public_id, seq, row_hash, created_at) "
        "VALUES (:public_id, :seq, :row_hash, :created_at)",
        end,
    )
