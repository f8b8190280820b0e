"""A database that somebody else holds: what can be read is shown."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from storage.errors import DatabaseTimeouts
from storage.store import SqliteStore
from tests.app.site import Site
from tests.world import working

pytestmark = pytest.mark.anyio


async def test_an_old_session_reads_on_while_the_database_takes_no_write(site: Site) -> None:
    m, browser, _ = await site.of(working(site.world))
    site.world.clock.forward(hours=7)  # more than half over: to be prolonged
    path = site.world.store.url.removeprefix("sqlite:///")
    store = site.world.store
    assert isinstance(store, SqliteStore)
    store._patience = DatabaseTimeouts(wait_ms=50)
    with closing(sqlite3.connect(path, isolation_level=None)) as held:
        held.execute("BEGIN IMMEDIATE")
        page = await browser.get(f"/app/mandates/{m.id}")
        held.execute("ROLLBACK")
    assert (page.status, "Value now" in page.said) == (200, True)
    assert (await browser.get(f"/app/mandates/{m.id}")).status == 200
    site.world.clock.forward(hours=11)  # past the first end: the second look prolonged it
    assert (await browser.get(f"/app/mandates/{m.id}")).status == 200
