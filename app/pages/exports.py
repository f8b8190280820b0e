"""Rows of a period for books that are kept elsewhere: as a page to print, and as a CSV file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Final

from aiohttp import web

from app import headers
from app.page_context import OperationRefused, PageRequest, PageRoute
from app.replies import Json, Record
from app.words import csv_text, money
from app.words.steps import TITLES, market_name
from app.words.text import _
from domain.reads.iso_weeks import week
from domain.times import day_of

SHOWN: Final = 50
A_TURN: Final = 200
WRITTEN_S: Final = 600
MORE_TITLES: Final[Mapping[str, str]] = {
    "approval": _("Approval"),
    "adjustment": _("Rows of earlier days that were read late"),
}
_FEES: Final = ("tools", "venue", "network", "unclassified", "agent")
# A program reads these names: they stay as they are in every language.
COLUMNS: Final = (
    "date_utc", "mandate", "what", "kind", "amount_usdc", "transaction", "network",
    "counter_value_usdc", "deposits_usdc", "withdrawals_usdc", "realized_usdc", "estimated_usdc",
    *(f"fee_{name}_usdc" for name in _FEES), "taken_out_usdc", "paid_x402_usdc", "in_purse_usdc",
    "value_after_usdc", "reported_by",
    "confirmed_on_chain", "market_as_told", "payee", "site_as_told", "words_of_the_reporter",
    "event_id",
)  # fmt: skip


def title_of(code: str) -> str:
    """Name a row in words."""
    other = MORE_TITLES.get(code) or code.replace("_", " ").capitalize()
    return str(TITLES.get(code) or other)


def _code(row: Json) -> str:
    """The code by which a row is named: of a payment out of the purse it is that, also where it
    is known what it bought.
    """
    return "purse_paid" if row.get("payee") is not None else str(row["code"])


def _figures(figures: Json) -> tuple[object, ...]:
    flows, result, spent = figures["flows"], figures["result"], figures["spent"]
    return (
        flows["deposits"],
        flows["withdrawals"],
        result["realized"],
        result["estimated"],
        *(figures["fees"]["by_type"][name] for name in _FEES),
        spent["total"],
        spent["payments"],
        spent["in_purse"],
        figures["worth"]["end"],
    )


def _written_row(public_id: str, network: str, row: Json) -> str:
    return csv_text.line(
        (
            row["at"],
            public_id,
            title_of(_code(row)),
            row["code"],
            row["amount_usdc"],
            row["tx_hash"],
            network,
            row["counter_value"],
            *_figures(row),
            row["reported_by"],
            "yes" if row["confirmed_on_chain"] else "no",
            row["market"],
            row.get("payee"),
            row.get("host"),
            row["why"] or row["note"],
            row["event_id"],
        )
    )


def _written_sums(public_id: str, network: str, page: Json) -> str:
    head = (page["until"], public_id, str(_("Sums of the period")), "sums", None, None, network)
    figures = _figures(page["sums"])
    rest = (None,) * (len(COLUMNS) - len(head) - 1 - len(figures))
    return csv_text.line((*head, None, *figures, *rest))


def _lines(visit: PageRequest, page: Json, *, last: bool) -> Iterator[str]:
    public_id, network = page["public_id"], visit.chain_name(page["chain_id"])
    yield from (_written_row(public_id, network, row) for row in page["rows"])
    if last:
        yield _written_sums(public_id, network, page)


def _period(visit: PageRequest) -> dict[str, str | None]:
    """The period that was asked for: of days, or a week by its name. Errors: `invalid_request`."""
    name = visit.query("week")
    if name is None:
        return {"since": visit.query("since"), "until": visit.query("until")}
    named = week(name)
    return {"since": day_of(named.start), "until": day_of(named.end)}


async def _pages(visit: PageRequest, public_id: str, limit: int) -> AsyncIterator[Record]:
    cursor: str | None = None
    while True:
        page = await visit.run(
            "owner_statement_rows",
            public_id=public_id,
            limit=limit,
            cursor=cursor,
            **_period(visit),
        )
        yield page
        cursor = page["next_cursor"]
        if cursor is None:
            return


async def show_rows(visit: PageRequest) -> web.StreamResponse:
    """The rows of a period, a page of them at a time, with its sums."""
    public_id = visit.path_part("id")
    page = await visit.run(
        "owner_statement_rows",
        public_id=public_id,
        limit=SHOWN,
        cursor=visit.query("cursor"),
        **_period(visit),
    )
    head = await visit.run("mandate_get", public_id=public_id, parts="mandate")
    m = head["mandate"]
    view = Record(
        page,
        mandate=m,
        rows=tuple(_shown_row(r, visit.market_names()) for r in page["rows"]),
    )
    return visit.show("rows.html", view, chain_id=m["chain_id"])


def _shown_row(row: Json, markets: Mapping[str, str]) -> Record:
    market = market_name(row["market"], markets)
    payee, host = row.get("payee"), row.get("host")
    return Record(
        row, payee=payee, host=host, title=title_of(_code(row)), market=market, paid=_paid(row)
    )


def _paid(row: Json) -> str:
    """All fees of a row together."""
    by_type = row["fees"]["by_type"]
    return money.sum_of(by_type[name] for name in _FEES)


async def send_rows(visit: PageRequest) -> web.StreamResponse:
    """The rows of a period as a file, written as they are read."""
    public_id = visit.path_part("id")
    pages = _pages(visit, public_id, A_TURN)
    first = await anext(pages)
    name = f"{public_id}_{first['since']}_{first['until']}.csv"
    response = web.StreamResponse(
        headers={**headers.PAGE, "Content-Disposition": f'attachment; filename="{name}"'}
    )
    response.content_type, response.charset = "text/csv", "utf-8"
    await response.prepare(visit.request)
    try:
        async with asyncio.timeout(WRITTEN_S):
            await response.write((csv_text.BOM + csv_text.line(COLUMNS)).encode())
            await _write_page(response, visit, first)
            async for page in pages:
                await _write_page(response, visit, page)
        await response.write_eof()
    except (OperationRefused, TimeoutError):
        # A file that ends early must not look whole: the browser says that it failed.
        if visit.request.transport is not None:
            visit.request.transport.abort()
    return response


async def _write_page(response: web.StreamResponse, visit: PageRequest, page: Json) -> None:
    text = "".join(_lines(visit, page, last=page["next_cursor"] is None))
    await response.write(text.encode())


PAGES: Final = (
    PageRoute("GET", "/app/mandates/{id}/rows", show_rows),
    PageRoute("GET", "/app/mandates/{id}/statement.csv", send_rows),
)
