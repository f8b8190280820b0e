"""A store that waits a moment for a lock, and for everything else as long as no machine needs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from storage.engine.postgres import PostgresStore
from storage.errors import DatabaseTimeouts
from storage.store import Store, open_store
from tests.waiting import STUCK_S


@asynccontextmanager
async def impatient_for_locks(url: str) -> AsyncIterator[Store]:
    """Open one on PostgreSQL. Its server gives up a lock after 300 ms, which it spends waiting for one alone."""
    store = await open_store(url, DatabaseTimeouts(wait_ms=300, statement_ms=1_000 * STUCK_S))
    assert isinstance(store, PostgresStore)
    # The same figure bounds how long a connection is made.
    store._connections._connect.keywords["timeout"] = STUCK_S
    try:
        yield store
    finally:
        await store.close()
