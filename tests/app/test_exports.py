"""Exports: a file that any spreadsheet opens, whose rows are the statement's and none of them a formula."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from typing import Any

import pytest

from app.page_context import OperationRefused, PageRequest
from app.pages import exports
from app.words import csv_text
from domain.text import text_problem
from tests.app.lives import at_work, bought, settled
from tests.app.site import Site
from tests.world import working

pytestmark = pytest.mark.anyio
WEEK = "week=2026-W47"


def read(body: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(body, newline=""), strict=True))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, '""'),
        ("-12.500000", "-12.500000"),
        ("0", "0"),
        ("=1+1", '"\'=1+1"'),
        ("+49 30", '"\'+49 30"'),
        ("-2+3", '"\'-2+3"'),
        ("@SUM(A1)", '"\'@SUM(A1)"'),
        (" =1", '" \'=1"'),
        ("＝1", '"\'＝1"'),
        ("a,b", '"a,b"'),
        ('say "x"', '"say ""x"""'),
        ("two\nlines", '"two\nlines"'),
        ("1e5", '"1e5"'),
        ("12:30", '"12:30"'),
        # A program of another country parts at semicolons or tabs, and takes no quote inside a cell.
        ("look;=1+1", '"look;\'=1+1"'),
        ("look; =1+1", '"look; \'=1+1"'),
        ("a,@b", '"a,\'@b"'),
        ("a\n=1", '"a\n\'=1"'),
        ('a"=1', '"a""\'=1"'),
        ("a|+b", '"a|\'+b"'),
        ("plus;minus-;a=b", '"plus;minus-;a=b"'),
    ],
)
def test_a_cell_is_a_figure_or_a_text_and_never_a_formula(value: object, written: str) -> None:
    assert csv_text.cell(value) == written


def test_no_sign_that_begins_a_formula_begins_a_cell() -> None:
    for code in range(0x3000):
        for text in (chr(code) + "1", chr(code) + "cmd|' /C calc'!A0"):
            cell = csv_text.cell(text)
            (told,) = next(csv.reader([cell])) if "\n" not in text else (cell.strip('"'),)
            assert told[0] not in "=+-@\t\r" or csv_text._FIGURE.fullmatch(cell), (text, cell)


async def test_a_program_that_parts_at_semicolons_takes_no_text_for_a_formula(site: Site) -> None:
    m, browser, base = await site.of(working(site.world))
    await bought(m, "40", "done;=cmd|' /C calc'!A0;-1\n@SUM(A1)")
    body = (await browser.get(f"{base}/statement.csv")).words[1:]
    for separator in ",;\t|":
        cells = [c for line in body.splitlines() for c in line.split(separator)]
        odd = [c for c in cells if c.strip(' "')[:1] in tuple("=+-@") and not is_figure(c)]
        assert odd == [], separator


def is_figure(cell: str) -> bool:
    return csv_text._FIGURE.fullmatch(cell) is not None


async def test_the_file_of_a_week_sums_up_to_its_statement(site: Site) -> None:
    m, browser, base = await site.of(settled(site.world))
    got = await browser.get(f"{base}/statement.csv?{WEEK}")
    assert got.status == 200
    assert got.headers["Content-Type"] == "text/csv; charset=utf-8"
    name = f"{m.id}_2026-11-16_2026-11-23.csv"
    assert got.headers["Content-Disposition"] == f'attachment; filename="{name}"'
    assert got.headers["Cache-Control"] == "no-store"
    assert got.words[0] == csv_text.BOM
    assert got.words.count("\r\n") == got.words.count("\n") - sum(
        cell.count("\n") for row in read(got.words[1:]) for cell in row.values()
    )
    *rows, sums = read(got.words[1:])
    assert sums["kind"] == "sums"
    week = (await m.as_owner("owner_statement", week="2026-W47")).body
    wanted: dict[str, Any] = {
        "deposits_usdc": week["flows"]["deposits"],
        "withdrawals_usdc": week["flows"]["withdrawals"],
        "realized_usdc": week["result"]["realized"],
        "estimated_usdc": week["result"]["estimated"],
        **{f"fee_{n}_usdc": v for n, v in week["fees"]["by_type"].items()},
    }
    for column, value in wanted.items():
        assert sums[column] == value, column
        assert sum(Decimal(row[column] or 0) for row in rows) == Decimal(value), column
    assert "paused" not in {row["kind"] for row in rows}  # the stop says so
    assert sums["value_after_usdc"] == rows[-1]["value_after_usdc"] == week["worth"]["end"]
    assert {row["mandate"] for row in rows} == {m.id}
    assert all(row["transaction"] for row in rows if row["kind"] in ("deposit", "withdraw"))


async def test_what_an_agent_wrote_is_no_formula(site: Site) -> None:
    m, browser, base = await site.of(working(site.world))
    said = '=HYPERLINK("http://evil.example","look")'
    assert text_problem(said, lines=True) is None
    await bought(m, "40", said)
    body = (await browser.get(f"{base}/statement.csv")).words[1:]
    cells = [cell for row in read(body) for cell in row.values()]
    assert f"'{said}" in cells
    figures = [c for c in cells if c[:1] in set("=+-@\t")]
    assert all(csv_text._FIGURE.fullmatch(c) for c in figures)


@pytest.mark.parametrize("a_turn", [200, 1])
async def test_an_action_that_was_reported_and_seen_is_one_row_and_its_amount_counts_once(
    site: Site, monkeypatch: pytest.MonkeyPatch, a_turn: int
) -> None:
    monkeypatch.setattr(exports, "A_TURN", a_turn)
    _, browser, base = await site.of(at_work(site.world))
    rows = read((await browser.get(f"{base}/statement.csv")).words[1:])
    acts = [r for r in rows if r["transaction"] and r["kind"] != "deposit"]
    assert [(r["kind"], r["amount_usdc"], r["counter_value_usdc"]) for r in acts] == [
        ("buy", "40.000000", "40.000000"),
        ("buy", "50.000000", "50.000000"),
    ]
    assert {r["words_of_the_reporter"] for r in acts} == {"the rate is 4.6%"}
    assert {(r["reported_by"], r["confirmed_on_chain"]) for r in acts} == {("agent", "yes")}
    assert "has not reported it" not in (await browser.get(f"{base}/rows")).said


async def test_the_file_and_the_page_are_the_owners_alone(site: Site) -> None:
    _, browser, base = await site.of(at_work(site.world))
    stranger = await site.signed_in(site.world.wallet())
    for path in (f"{base}/statement.csv", f"{base}/rows"):
        assert (await stranger.get(path)).status == 404
        assert (await site.browser().get(path)).status == 303
    page = await browser.get(f"{base}/rows?{WEEK}")
    assert page.status == 200
    # The days of books are those of UTC, wherever their reader is.
    assert "from 16 Nov 2026, until 23 Nov 2026" in page.said
    assert "Entries for your books" in page.said
    assert f"{base}/statement.csv?since=2026-11-16&until=2026-11-23" in page.links()
    assert f"{base}/rows?{WEEK}" in (await browser.get(f"{base}/statement?{WEEK}")).links()


async def test_a_file_is_read_in_pages_and_breaks_where_one_is_refused(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "A_TURN", 1)
    _, browser, base = await site.of(at_work(site.world))
    whole = read((await browser.get(f"{base}/statement.csv")).words[1:])
    assert len(whole) > 5
    assert [row["kind"] for row in whole].count("sums") == 1
    run, asked = PageRequest.run, 0

    async def tired(self: PageRequest, name: str, /, **arguments: object) -> Any:
        nonlocal asked
        asked += name == "owner_statement_rows"
        if asked > 3:
            raise OperationRefused(429, {"error": "rate_limited"})
        return await run(self, name, **arguments)

    monkeypatch.setattr(PageRequest, "run", tired)
    with pytest.raises(Exception, match=r"payload|disconnect|closed|not completed"):
        await browser.get(f"{base}/statement.csv")
