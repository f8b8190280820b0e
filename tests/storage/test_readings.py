"""How far a vault was read again comes back, on both databases, and is forgotten whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storage.repositories.chain_index import Staged
from storage.repositories.resync_progress import ResyncProgress
from storage.store import Store
from tests.storage import material as m

pytestmark = pytest.mark.anyio
BEGUN = ResyncProgress(path="range of node 1 from block 7", nodes=2, low=101, high=100)


def log(block: int, index: int, fork: str = "a") -> Staged:
    return Staged(block, f"h{block}{fork}", m.tx(block), index, "0xaa", {"fork": fork})


async def test_a_readings_progress_and_what_it_found_come_back(store: Store) -> None:
    assert await store.read(lambda uow: uow.readings.of("m_1")) is None
    await store.write(lambda uow: uow.readings.keep("m_1", BEGUN))
    later = replace(BEGUN, low=9, high=2**40, misses=3, rests_until=m.later(60))
    await store.write(lambda uow: uow.readings.keep("m_1", later))
    assert await store.read(lambda uow: uow.readings.of("m_1")) == later
    await store.write(lambda uow: uow.readings.add_logs("m_1", [log(2**40, 1), log(9, 2)]))
    await store.write(lambda uow: uow.readings.add_logs("m_1", [log(9, 1), log(9, 2, "b")]))
    await store.write(lambda uow: uow.readings.add_logs("m_2", [log(9, 1)]))
    found = await store.read(lambda uow: uow.readings.logs("m_1"))
    assert found == [log(9, 1), log(9, 2, "b"), log(2**40, 1)], "the newest word of a place holds"
    await store.write(lambda uow: uow.readings.forget("m_1"))
    told = await store.read(lambda uow: (uow.readings.of("m_1"), uow.readings.logs("m_1")))
    assert told == (None, [])
    assert len(await store.read(lambda uow: uow.readings.logs("m_2"))) == 1


async def test_of_a_place_that_is_found_twice_at_once_the_last_word_holds(store: Store) -> None:
    twice = [log(9, 2), log(9, 3), log(9, 2, "b")]
    await store.write(lambda uow: uow.readings.add_logs("m_1", iter(twice)))
    assert await store.read(lambda uow: uow.readings.logs("m_1")) == [log(9, 2, "b"), log(9, 3)]
