"""Handlers that are run in batches: each claims a key, appends a row and answers."""

from __future__ import annotations

from collections.abc import Callable

from storage.prefetch.read_set import ReadSet
from storage.repositories.idempotency import IdempotencyRecord
from storage.store import Store
from storage.unit_of_work import UnitOfWork
from tests.storage import material as m

IDS = ("m_1", "m_2", "m_3")


def needs(n: int, public_id: str) -> ReadSet:
    return ReadSet(now=m.NOW, mandates=(public_id,), key=("s", f"k{n}"))


def row(n: int, public_id: str = "m_1") -> Callable[[UnitOfWork], IdempotencyRecord]:
    """Claim a key, append a row, answer."""

    def work(uow: UnitOfWork) -> IdempotencyRecord:
        claim = uow.idempotency.acquire("s", f"k{n}", "digest", m.NOW)
        if claim.new:
            assert uow.mandates.get(public_id, lock=True) is not None
            event = uow.ledger.append(public_id, m.buy(), event_id=f"ev_of_{n}", now=m.NOW)
            assert event is not None
            uow.idempotency.complete("s", f"k{n}", 201, {"seq": event.seq})
        return claim

    return work


async def write(store: Store, n: int, public_id: str = "m_1") -> IdempotencyRecord:
    return await store.write(row(n, public_id), needs(n, public_id))


async def ids_of(store: Store) -> list[str]:
    def read(uow: UnitOfWork) -> list[str]:
        return [row["event_id"] for of in IDS for row in m.rows_of(uow, of)]

    return await store.read(read)
