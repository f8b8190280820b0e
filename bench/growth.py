"""What one PostgreSQL answers as mandates and ledger rows grow: `python -m bench.growth ROWS…`.

The rows are made in the database, as copies of real ones under other ids, ten a mandate; what is
measured goes by the repositories, on mandates at random."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from typing import Final

import asyncpg

from bench.stage import NOW, median, note, rate
from storage.schema import migrate
from storage.store import Store, open_store
from storage.unit_of_work import UnitOfWork
from tests.databases import _QUICK, _binaries, _quick_folder, running_postgres

A_MANDATE: Final = 10
ROUNDS, CALLS, WORKERS = 3, 1_500, 16
GENERATED: Final = {
    "position": None,
    "public_id": "to_char(m, 'FM\"m_\"000000000')",
    "seq": "n",
    "event_id": "'ev_' || m || '_' || n",
    "row_hash": "md5(m || '.' || n)",
}


LOOKS: Final = 50
PAGE: Final = "SELECT * FROM ledger_events WHERE public_id = $1 ORDER BY seq DESC LIMIT 20"
# A row behind a mandate's last one: a copy of the first row of all.
ANOTHER: Final = {"public_id": "$1", "seq": "1000", "event_id": "$1 || '_1000'"}


async def columns(connection: asyncpg.Connection) -> list[str]:
    """The columns of a ledger's row that are not made by PostgreSQL itself."""
    rows = await connection.fetch(
        "SELECT column_name FROM information_schema.columns WHERE table_name = 'ledger_events'"
    )
    return [r["column_name"] for r in rows if GENERATED.get(r["column_name"], "") is not None]


async def blocks(url: str, mandates: int) -> dict[str, float]:
    """Blocks of 8 KiB that PostgreSQL touches for one page, and for one row with its places in all
    indexes, on mandates at random: a figure that does not depend on who else uses the machine.
    """
    connection = await asyncpg.connect(url)
    names = await columns(connection)
    row = (
        f"INSERT INTO ledger_events ({', '.join(names)}) "
        f"SELECT {', '.join(ANOTHER.get(n) or f'e.{n}' for n in names)} "
        "FROM ledger_events e WHERE e.event_id = 'ev_first'"
    )
    found = {}
    for what, statement in (("page_blocks", PAGE), ("append_blocks", row)):
        counts = []
        for _ in range(LOOKS):
            transaction = connection.transaction()
            await transaction.start()
            name = f"m_{random.randrange(mandates):09d}"
            told = await connection.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", name)  # fmt: skip
            await transaction.rollback()
            plan = json.loads(told)[0]["Plan"]
            counts.append(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
        found[what] = median(counts)
    await connection.close()
    return found


async def grow(url: str, first: int, until: int) -> None:
    """Mandates from `first` to below `until`, each with its rows and its head."""
    connection = await asyncpg.connect(url)
    kept = await columns(connection)
    values = ", ".join(GENERATED.get(n) or f"e.{n}" for n in kept)
    await connection.execute(
        f"INSERT INTO ledger_events ({', '.join(kept)}) SELECT {values} FROM ledger_events e, "
        f"generate_series({first}, {until - 1}) m, generate_series(1, {A_MANDATE}) n "
        "WHERE e.event_id = 'ev_first'"
    )
    await connection.execute(
        "INSERT INTO ledger_heads (public_id, seq, row_hash, created_at) "
        f"SELECT to_char(m, 'FM\"m_\"000000000'), {A_MANDATE}, md5(m || '.' || {A_MANDATE}), "
        f"(SELECT created_at FROM ledger_heads LIMIT 1) FROM generate_series({first}, {until - 1}) m"
    )
    await connection.execute("ANALYZE")
    await connection.close()


async def measured(store: Store, url: str, mandates: int, mark: str) -> dict[str, float]:
    """Appends and reads of the newest page each second, the median of the rounds."""
    done = 0

    async def append(_: int) -> None:
        nonlocal done
        done += 1
        name, at = f"m_{random.randrange(mandates):09d}", f"ev_more_{mark}_{done}"
        await store.write(lambda uow: uow.ledger.append(name, note(done), event_id=at, now=NOW))

    async def page(_: int) -> None:
        name = f"m_{random.randrange(mandates):09d}"

        def work(uow: UnitOfWork) -> object:
            return uow.ledger.head(name), uow.sql.rows(
                "SELECT * FROM ledger_events WHERE public_id = :p ORDER BY seq DESC LIMIT 20",
                p=name,
            )

        await store.read(work)

    found = {}
    for what, call in (("appends", append), ("pages", page)):
        found[what] = median(
            [await rate(call, workers=WORKERS, calls=CALLS) for _ in range(ROUNDS)]
        )
    connection = await asyncpg.connect(url)
    found["bytes"] = await connection.fetchval("SELECT pg_total_relation_size('ledger_events')")
    await connection.close()
    return found


async def grown(server: str, sizes: list[int]) -> None:
    """Grow to each size in turn, and measure there."""
    connection = await asyncpg.connect(server + "/postgres")
    await connection.execute("CREATE DATABASE growth")
    await connection.close()
    url = server + "/growth"
    await asyncio.to_thread(migrate.upgrade, url)
    store = await open_store(url)
    await store.write(lambda u: u.ledger.append("m_first", note(1), event_id="ev_first", now=NOW))
    before = 0
    for rows in sizes:
        mandates, started = rows // A_MANDATE, time.perf_counter()
        await grow(url, before, mandates)
        took, before = time.perf_counter() - started, mandates
        found = await measured(store, url, mandates, str(rows)) | await blocks(url, mandates)
        print(
            f"{rows:>11,} rows {mandates:>10,} mandates: {found['appends']:7.0f} appends/s "
            f"{found['pages']:7.0f} pages/s {found['bytes'] / rows:6.0f} bytes a row, "
            f"{found['append_blocks']:.0f} blocks an append, {found['page_blocks']:.0f} a page "
            f"(made in {took:.0f} s)",
            flush=True,
        )
    await store.close()


def main(sizes: list[int]) -> None:
    """Start a server and measure on it."""
    binaries = _binaries()
    if binaries is None:
        sys.exit("no PostgreSQL: neither on PATH, nor of Debian, nor the pgserver wheel")
    settings = (*_QUICK, "max_wal_size=8GB", "maintenance_work_mem=256MB")
    with running_postgres(binaries, settings, _quick_folder()) as server:
        asyncio.run(grown(server, sizes))


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]])
