"""The Hall's pages: best first, unknown last, complete, and as cheap for many agents as for few."""

from __future__ import annotations

from typing import Any

import pytest

from domain.ledger.state.day_totals import DayTotals
from domain.ledger.state.performance import DayParts
from domain.refusals import Refused
from storage.repositories.hall import (
    SORTS,
    HallAgent,
    HallDay,
    HallTotals,
    cursor_after,
    page_query,
)
from storage.store import Store, open_store
from storage.unit_of_work import UnitOfWork
from tests.databases import PATIENT
from tests.storage import material as m

pytestmark = pytest.mark.anyio


def _agent(n: int, **changes: Any) -> HallAgent:
    facts: dict[str, int | None] = dict.fromkeys(SORTS, n % 4)
    given: dict[str, Any] = {
        "accepts": n % 2 == 0,
        "ranked": n % 3 == 0,
        "mandates_working": 1,
        "usdc_working_micros": 10,
    }
    given |= {
        "as_of": m.NOW,
        "body": {"name": f"Agent {n}"},
        "facts": facts | changes.pop("facts", {}),
    }
    return HallAgent(f"u_{n:02d}", **given | changes)


async def _walk(store: Store, sort: str, **given: Any) -> list[HallAgent]:
    seen: list[HallAgent] = []
    cursor = None
    while page := await store.read(
        lambda uow, c=cursor: uow.hall.page(sort, after=c, limit=3, **given)
    ):  # type: ignore[misc]  # the default binds the loop's value
        seen += page
        cursor = cursor_after(sort, page[-1])
    return seen


@pytest.mark.parametrize("sort", SORTS)
async def test_a_page_is_ranked_first_then_best_first_unknown_last_ties_by_agent(
    store: Store, sort: str
) -> None:
    agents = [_agent(n) for n in range(10)] + [
        _agent(n, facts={sort: v}) for n, v in ((10, None), (11, -7), (12, None))
    ]
    await store.write(lambda uow: [uow.hall.put(a) for a in agents[::-1]])  # type: ignore[func-returns-value]  # in a row

    def place(a: HallAgent) -> tuple[bool, bool, int, str]:
        value = a.facts[sort]
        return not a.ranked, value is None, SORTS[sort] * (value or 0), a.agent_id

    assert await _walk(store, sort) == sorted(agents, key=place)
    assert await _walk(store, sort, accepting=True) == [
        a for a in sorted(agents, key=place) if a.accepts
    ]


async def test_a_row_is_replaced_and_counted(store: Store) -> None:
    await store.write(lambda uow: [uow.hall.put(_agent(n)) for n in (1, 2)])  # type: ignore[func-returns-value]  # in a row
    await store.write(
        lambda uow: uow.hall.put(
            _agent(1, usdc_working_micros=2**40, mandates_working=3, mandates=4, calls=7)
        )
    )
    # The second never accepted a mandate: it is in no sum.
    assert await store.read(lambda uow: uow.hall.totals()) == HallTotals(1, 3, 2**40, 7)
    assert await store.read(lambda uow: uow.hall.get("u_02")) == _agent(2)
    assert await store.read(lambda uow: uow.hall.get("u_99")) is None


async def test_a_cursor_of_another_sort_is_refused(store: Store) -> None:
    cursor = cursor_after("net_30d", _agent(1))
    with pytest.raises(Refused) as refused:
        await store.read(lambda uow: uow.hall.page("twr_30d", after=cursor, limit=3))
    assert refused.value.code == "invalid_request"


def _day(public_id: str, day: str, worth: int) -> HallDay:
    return HallDay(
        public_id, "u_agent", DayParts(day=day, measured=DayTotals(day=day, worth=worth))
    )


async def test_days_come_back_in_their_bounds(store: Store) -> None:
    def work(uow: UnitOfWork) -> None:
        for mandate, day in (
            ("m_1", "2026-11-18"),
            ("m_1", "2026-11-19"),
            ("m_1", "2026-11-20"),
            ("m_2", "2026-11-19"),
        ):
            uow.hall.put_day(_day(mandate, day, 1))
        uow.hall.put_day(_day("m_1", "2026-11-19", 2))

    bounds = ("2026-11-19", "2026-11-20")

    async def days() -> list[tuple[str, str, int | None]]:
        found = await store.read(
            lambda uow: [d for m in ("m_1", "m_2") for d in uow.hall.days(m, *bounds)]
        )
        return [(d.public_id, d.day, d.parts.measured and d.parts.measured.worth) for d in found]

    await store.write(work)
    assert await days() == [("m_1", "2026-11-19", 2), ("m_2", "2026-11-19", 1)]
    assert len(await store.read(lambda uow: uow.hall.days("m_1", "", "9"))) == 3
    await store.write(lambda uow: uow.hall.drop_days("m_1", "2026-11-19"))
    assert await days() == [("m_2", "2026-11-19", 1)]


async def test_a_page_walks_an_index(sqlite_url: str) -> None:
    store = await open_store(sqlite_url, PATIENT)
    for sort in SORTS:
        asked = "EXPLAIN QUERY PLAN " + page_query(sort, accepting=True)
        (plan,) = await store.read(
            lambda uow, q=asked: uow.sql.rows(q, unranked=1, key=1, last="x", most=3)
        )  # type: ignore[misc]  # the default binds the loop's value
        # One search, and nothing sorted afterwards.
        assert f"USING INDEX hall_agents_{sort} ((unranked,by_{sort}" in plan["detail"]
    await store.close()
