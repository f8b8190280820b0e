"""The ledger partitioned by mandate as docs/scaling.md says it: reported to, read, followed and verified as before."""

from __future__ import annotations

import asyncpg
import pytest

from storage.integrity.ledger_check import verify
from storage.store import open_store
from storage.unit_of_work import UnitOfWork
from tests.campaign.audit import chained, read_record
from tests.databases import PATIENT, partitions
from tests.storage import material as m

pytestmark = [pytest.mark.anyio, pytest.mark.pg]
MANDATES = tuple(f"m_{n}" for n in range(8))


def written(uow: UnitOfWork, name: str) -> None:
    for n, public_id in enumerate(MANDATES):
        uow.ledger.append(public_id, m.buy(tx_hash=m.tx(n)), event_id=f"ev_{name}_{n}", now=m.NOW)
        uow.ledger.append(
            public_id, m.executed(log_index=n, tx_hash=m.tx(n)), event_id=f"ev_{name}c_{n}", now=m.NOW
        )  # fmt: skip


async def test_a_ledger_partitioned_by_mandate_goes_on_as_before(pg_url: str) -> None:
    store = await open_store(pg_url, PATIENT)
    await store.write(lambda uow: written(uow, "before"))
    await store.close()
    connection = await asyncpg.connect(pg_url)
    async with connection.transaction():
        await connection.execute(partitions())
    store = await open_store(pg_url, PATIENT)
    await store.write(lambda uow: written(uow, "after"))
    seen = await store.read(lambda uow: [uow.ledger.head(i)[0] for i in MANDATES])
    await store.close()
    parts = await connection.fetch("SELECT tableoid, count(*) AS n FROM ledger_events GROUP BY 1")
    for change in ("DELETE FROM ledger_events", "TRUNCATE ledger_events"):
        with pytest.raises(asyncpg.PostgresError, match="append-only"):
            await connection.execute(change)
    await connection.close()
    assert len(parts) > 1
    assert sum(part["n"] for part in parts) == sum(seen)
    assert chained(await read_record(pg_url)) == []
    assert (await verify(pg_url)).as_json()["ok"] is True
