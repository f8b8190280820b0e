"""What the processes of `test_processes` do."""

from __future__ import annotations

import asyncio
from typing import Any

from storage.errors import DatabaseTimeouts
from storage.store import open_store
from storage.unit_of_work import UnitOfWork
from tests.storage import material as m
from tests.waiting import STUCK_S

# What is asked here is who wins, not how long anybody waits.
PATIENT = DatabaseTimeouts(wait_ms=60_000, statement_ms=60_000)


def append_rows(url: str, name: str, rows: int, start: Any) -> None:
    """Append to one shared ledger; the logs are the same in every process, the reports this one's own."""

    async def work() -> None:
        store = await open_store(url, PATIENT)
        start.wait(STUCK_S)

        def one(uow: UnitOfWork, n: int) -> None:
            uow.ledger.append(
                "m_1",
                m.executed(log_index=n, tx_hash=m.tx(n)),
                event_id=f"ev_{name}_c{n}",
                now=m.NOW,
            )
            uow.ledger.append("m_1", m.buy(tx_hash=m.tx(n)), event_id=f"ev_{name}_a{n}", now=m.NOW)
            uow.ledger.state("m_1")

        await asyncio.gather(*(store.write(lambda uow, n=n: one(uow, n)) for n in range(rows)))
        await store.close()

    asyncio.run(work())


def claim_keys(url: str, name: str, keys: int, start: Any) -> None:
    """Claim the same idempotency keys, reserve the same work, and spend from the same balance."""

    async def work() -> None:
        store = await open_store(url, PATIENT)
        start.wait(STUCK_S)

        def one(uow: UnitOfWork, n: int) -> None:
            if uow.idempotency.acquire("s", f"k{n}", "digest", m.NOW).new:
                uow.ledger.append(f"m_{n % 3}", m.buy(), event_id=f"ev_{name}_{n}", now=m.NOW)
                uow.idempotency.complete("s", f"k{n}", 202, {"by": name})
            if uow.work.acquire("settle", f"k{n}", name, m.NOW, m.later(60)):
                uow.switches.set(f"{n}-{name}", "done", m.NOW, name)

        await asyncio.gather(*(store.write(lambda uow, n=n: one(uow, n)) for n in range(keys)))
        await store.close()

    asyncio.run(work())
