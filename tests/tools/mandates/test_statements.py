"""Statements in pages: the figures are the whole week's on each, and the pages hold everything once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest

from tests.tools.large import ADDRESS, BIG, OWNER, build, large_deps
from tests.world import BY_NAME
from tools.dispatch.run import run
from tools.model.operation import ANONYMOUS, Caller, Deps

pytestmark = pytest.mark.anyio
AS_OWNER = Caller("owner", OWNER, OWNER, ADDRESS)
ROWS, MANDATES = 100, 45


@pytest.fixture
async def deps(sqlite_url: str) -> AsyncIterator[Deps]:
    build(sqlite_url, rows=ROWS, mandates=MANDATES)
    async with large_deps(sqlite_url) as opened:
        yield opened


async def _pages(deps: Deps, name: str, **arguments: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        more = {"cursor": cursor} if cursor else {}
        reply = await run(BY_NAME[name], deps, AS_OWNER, arguments | more)
        assert reply.status == 200, reply.body
        found.append(dict(reply.body))
        cursor = found[-1]["next_cursor"]
        if cursor is None:
            return found


@pytest.mark.parametrize("limit", [1, 7, 100, 200])
async def test_pages_of_a_week_hold_every_row_once_under_the_same_figures(
    deps: Deps, limit: int
) -> None:
    asked = {"public_id": BIG, "week": "2026-W46"}
    (whole,) = await _pages(deps, "owner_statement", **asked, limit=200)
    pages = await _pages(deps, "owner_statement", **asked, limit=limit)
    assert len(pages) == -(-ROWS // limit)
    assert len(whole["steps"]) == ROWS
    steps = [step["id"] for page in pages for step in page["steps"]]
    assert sorted(steps) == sorted(step["id"] for step in whole["steps"])
    breaches = [b["event_id"] for page in pages for b in page["breaches"]]
    assert sorted(breaches) == sorted(b["event_id"] for b in whole["breaches"])
    figures = {
        name: whole[name] for name in ("worth", "flows", "result", "fees", "allowed_vs_used")
    }
    assert all({name: page[name] for name in figures} == figures for page in pages)


async def test_a_page_never_leaves_its_week(deps: Deps) -> None:
    pages = await _pages(deps, "owner_statement", public_id=BIG, week="2026-W46", limit=60)
    before = await _pages(deps, "owner_statement", public_id=BIG, week="2026-W45", limit=60)
    after = await run(
        BY_NAME["owner_statement"],
        deps,
        AS_OWNER,
        {"public_id": BIG, "week": "2026-W45", "cursor": pages[0]["next_cursor"]},
    )
    assert [page["steps"] for page in before] == [[]]
    assert after.body["steps"] == []


@pytest.mark.parametrize("limit", [1, 20, 45, 46, 200])
async def test_pages_of_all_mandates_hold_each_once_and_the_totals_once(
    deps: Deps, limit: int
) -> None:
    pages = await _pages(deps, "owner_statement_all", week="2026-W46", limit=limit)
    ids = [m["public_id"] for page in pages for m in page["mandates"]]
    assert len(ids) == len(set(ids)) == MANDATES + 1
    assert all(len(page["mandates"]) <= limit for page in pages)
    (one,) = await _pages(deps, "owner_statement_all", week="2026-W46", limit=200)
    assert pages[0]["totals"] == one["totals"] is not None
    assert all(page["totals"] is None for page in pages[1:])


async def test_a_cursor_of_another_list_is_refused(deps: Deps) -> None:
    for name, more in (("owner_statement", {"public_id": BIG}), ("owner_statement_all", {})):
        reply = await run(BY_NAME[name], deps, AS_OWNER, {"cursor": "bm90", **more})
        assert (reply.status, reply.body["error"]) == (400, "invalid_request")


# -- the rows behind a statement


@pytest.mark.parametrize("limit", [1, 7, 200])
async def test_pages_of_rows_come_to_the_statement_whatever_their_size(
    deps: Deps, limit: int
) -> None:
    (week,) = await _pages(deps, "owner_statement", public_id=BIG, week="2026-W46", limit=200)
    period = {"since": "2026-11-09", "until": "2026-11-16"}
    pages = await _pages(deps, "owner_statement_rows", public_id=BIG, limit=limit, **period)
    rows = [row for page in pages for row in page["rows"]]
    ids = [row["event_id"] for row in rows]
    assert len(ids) == len(set(ids)) == ROWS
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
    assert all(page["sums"] == {n: week[n] for n in page["sums"]} for page in pages)
    for name, whole in week["fees"]["by_type"].items():
        told = sum(Decimal(row["fees"]["by_type"][name]) for row in rows)
        assert told == Decimal(whole), name
    realized = sum(Decimal(row["result"]["realized"]) for row in rows)
    assert realized == Decimal(week["result"]["realized"]) != 0


@pytest.mark.parametrize(
    "period",
    [
        {"since": "2026-02-30"},
        {"since": "2026-11-16", "until": "2026-11-16"},
        {"until": "16.11.2026"},
        {"cursor": "bm90"},
    ],
)
async def test_a_period_that_is_none_is_refused(deps: Deps, period: dict[str, str]) -> None:
    reply = await run(BY_NAME["owner_statement_rows"], deps, AS_OWNER, {"public_id": BIG, **period})
    assert (reply.status, reply.body["error"]) == (400, "invalid_request")


async def test_rows_are_the_owners_alone(deps: Deps) -> None:
    operation = BY_NAME["owner_statement_rows"]
    for caller, status in (
        (ANONYMOUS, 401),
        (Caller("agent", "u_other", OWNER, credential="x"), 403),
        (Caller("owner", "u_stranger", "u_stranger", "0x" + "9" * 40), 404),
    ):
        reply = await run(operation, deps, caller, {"public_id": BIG})
        assert reply.status == status
