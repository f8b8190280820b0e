"""Paper books: opened once, never edited, shown as the replay of their entries."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Final, Literal

from pydantic import Field

from domain.money import Usdc
from domain.refusals import Refused, invalid, refusal
from domain.text import format_usdc
from domain.trading.indices import text
from domain.trading.modes import MARKET_NETWORK
from domain.trading.paper.entries import (
    LEAST_START_MICROS,
    MOST_BOOKS,
    MOST_START_MICROS,
    USUAL_START_MICROS,
    PaperBook,
)
from domain.trading.paper.margin import liquidation_px
from domain.trading.paper.order_execution import marks_of
from domain.trading.paper.replay import PaperAccount, at_equity, curve, open_account
from storage.cursors import cursor_of, keys_of
from storage.unit_of_work import UnitOfWork
from tools.context.access import not_found
from tools.model.fields import AgentId, Cursor, Line, Nothing, Page
from tools.model.operation import (
    Caller,
    Deps,
    HandlerResult,
    Operation,
    RequestContext,
    RequestModel,
    ResponseModel,
)
from tools.trading.door.overview import PositionOut
from tools.trading.fields import (
    KEYED,
    MaybeMoment,
    NetworkName,
    TimestampText,
    own_write,
    signed_in,
    venue_of,
)
from tools.trading.orders.response_models import OrderOut, order_json
from tools.trading.paper.market_data import FIRST_DEX, figures
from tools.trading.paper.simulated_exchange import new_book

ORDERS_A_PAGE: Final = 100
MOST_POINTS: Final = 500
_STARTS: Final = "an amount from {} to {}".format(
    *(format_usdc(str(Usdc(bound))) for bound in (LEAST_START_MICROS, MOST_START_MICROS))
)
BookId = Annotated[
    str, Field(max_length=64, description="the book's id", examples=["b_abcdefgh23"])
]
Money = Annotated[Usdc | None, Field(description="null while a mark price is missing")]


class BookIn(RequestModel):
    """Settings of a new paper book; none of them changes later."""

    name: Annotated[Line, Field(min_length=1, max_length=40)] = Field(
        description="no other book of yours has it", examples=["Trial"]
    )
    start_usdc: Usdc | None = Field(default=None, description="10 to 100000; 10000 where absent")
    agent_id: AgentId | None = Field(default=None, description="an agent of yours that may use it")


class BookRef(RequestModel):
    """Names a paper book."""

    book: BookId
    cursor: Cursor = None


class ModelOut(ResponseModel):
    """The fill model of a book's orders."""

    depth_share: str = Field(description="the part of each level shown that can be had")
    latency_ms: int = Field(description="from acceptance to the snapshot that fills")
    fee_tier: Literal["base"]
    version: int


class GapOut(ResponseModel):
    """A time without rounds on the book; nothing is made up for it."""

    since: TimestampText
    until: TimestampText


class BookOut(ResponseModel):
    """A paper book. Every figure is an estimate: nothing was traded."""

    book: str
    name: str = Field(description="the owner's own name for it")
    agent_id: str | None
    network: NetworkName
    start_usdc: Usdc
    cash_usdc: Usdc
    equity_usdc: Money
    realized_usdc: Usdc = Field(description="of what was closed, before fees and funding")
    unrealized_usdc: Money
    fees_usdc: Usdc = Field(description="all fees, the builder's among them")
    builder_fees_usdc: Usdc
    funding_usdc: Usdc = Field(description="paid; negative where more was received")
    trades: int = Field(description="orders that filled, whole or in part")
    max_drawdown_bps: int
    created_at: TimestampText
    first_fill_at: MaybeMoment
    gaps: list[GapOut] = Field(description="the newest 100")
    model: ModelOut
    est: Literal[True]
    liquidated_at: MaybeMoment
    as_of: TimestampText
    stale: bool = Field(description="true where the venue gives no mark price of what it holds")


class BooksOut(ResponseModel):
    """A person's paper books, oldest first, and how many were ever opened."""

    books: list[BookOut]
    opened_total: int


class PointOut(ResponseModel):
    """The worth of a book at a time."""

    at: TimestampText
    equity_usdc: Usdc
    est: Literal[True]


class BookWhole(BookOut):
    """A paper book with its positions, its newest orders and its equity at its newest entries."""

    positions: list[PositionOut]
    orders: Page[OrderOut]
    equity: list[PointOut]


def open_book(uow: UnitOfWork, ctx: RequestContext[BookIn, None]) -> HandlerResult[BookOut]:
    """Open a paper book; it cannot be edited, reset or closed.

    Errors: `conflict` for a name that another book has, and beyond ten books; `not_found` for an
    agent that is not the caller's.
    """
    request, owner_id = ctx.request, signed_in(ctx.caller)
    name = request.name.strip()
    if not name:
        raise invalid("name", "1 to 40 characters")
    start = USUAL_START_MICROS if request.start_usdc is None else request.start_usdc.micros
    if not LEAST_START_MICROS <= start <= MOST_START_MICROS:
        raise invalid("start_usdc", _STARTS)
    if request.agent_id is not None:
        agent = uow.identities.agent(request.agent_id)
        if agent is None or agent.owner_id != owner_id:
            raise not_found("agent")
    if len(uow.paper.of_owner(owner_id)) >= MOST_BOOKS:
        why = f"{MOST_BOOKS} paper books are open, and none is ever closed."
        raise Refused(refusal("conflict", why=why))
    book = new_book(
        ctx.ids,
        ctx.now,
        ctx.config.trading,
        owner_id=owner_id,
        name=name,
        agent_id=request.agent_id,
        start_micros=start,
    )
    if not uow.paper.open(book):
        raise Refused(refusal("conflict", why="Another paper book of yours has this name."))
    return HandlerResult(_book_out(book, open_account(start), {}, ctx.now), 201)


async def list_books(deps: Deps, caller: Caller, request: Nothing) -> HandlerResult[BooksOut]:
    """Every book of the caller."""
    owner_id, marks, now = signed_in(caller), await _marks(deps), deps.clock.now()

    def read(uow: UnitOfWork) -> list[BookOut]:
        books = uow.paper.of_owner(owner_id)
        return [_book_out(book, uow.paper.account(book), marks, now) for book in books]

    books = await deps.store.read(read)
    return HandlerResult(BooksOut(books=books, opened_total=len(books)))


async def get_book(deps: Deps, caller: Caller, request: BookRef) -> HandlerResult[BookWhole]:
    """One book whole. Errors: `not_found`."""
    owner_id, marks, now = signed_in(caller), await _marks(deps), deps.clock.now()

    def read(uow: UnitOfWork) -> BookWhole:
        book = uow.paper.get(request.book)
        if book is None or book.owner_id != owner_id:
            raise not_found("paper book")
        account = uow.paper.account(book)
        points = curve(*uow.paper.recent(book, MOST_POINTS))[-MOST_POINTS:]
        return BookWhole(
            **dict(_book_out(book, account, marks, now)),
            positions=[_position(book, account, coin, marks) for coin in sorted(account.holdings)],
            orders=_orders(uow, book, request.cursor, now),
            equity=[PointOut(at=at, equity_usdc=Usdc(equity), est=True) for at, equity in points],
        )

    return HandlerResult(await deps.store.read(read))


async def _marks(deps: Deps) -> Mapping[str, Decimal]:
    """The market's mark prices; none while the venue is silent."""
    try:
        venue = venue_of(deps, MARKET_NETWORK)
        return marks_of(await figures(venue, (FIRST_DEX, *deps.config.trading.dexes)))
    except Refused:
        return {}


def _orders(uow: UnitOfWork, book: PaperBook, cursor: str | None, now: datetime) -> Page[OrderOut]:
    before = keys_of(cursor, (int, str)) if cursor else None
    rows = uow.orders.of_book(book.owner_id, book.book, before, ORDERS_A_PAGE + 1)
    page, more = rows[:ORDERS_A_PAGE], None
    if len(rows) > ORDERS_A_PAGE:
        created, last = page[-1]
        more = cursor_of(created, last.order_id)
    items = [order_json(order, now) for _, order in page]
    return Page[OrderOut].model_validate({"items": items, "next_cursor": more})


def _book_out(
    book: PaperBook, account: PaperAccount, marks: Mapping[str, Decimal], now: datetime
) -> BookOut:
    equity, open_result = account.equity(marks), account.unrealized(marks)
    fallen = account if equity is None else at_equity(account, equity)
    model = book.model
    return BookOut(
        book=book.book,
        name=book.name,
        agent_id=book.agent_id,
        network=MARKET_NETWORK,
        start_usdc=Usdc(book.start_micros),
        cash_usdc=Usdc(account.cash),
        equity_usdc=None if equity is None else Usdc(equity),
        realized_usdc=Usdc(account.realized),
        unrealized_usdc=None if open_result is None else Usdc(open_result),
        fees_usdc=Usdc(account.fees),
        builder_fees_usdc=Usdc(account.builder_fees),
        funding_usdc=Usdc(account.funding),
        trades=account.trades,
        max_drawdown_bps=fallen.drawdown_bps,
        created_at=book.created_at,
        first_fill_at=account.first_fill_at,
        gaps=[GapOut.model_validate(gap) for gap in account.gaps],
        model=ModelOut(
            depth_share=format(model.depth_share, "f"),
            latency_ms=model.latency_ms,
            fee_tier=model.fee_tier,
            version=model.version,
        ),
        est=True,
        liquidated_at=account.liquidated_at,
        as_of=now,
        stale=equity is None,
    )


def _position(
    book: PaperBook, account: PaperAccount, coin: str, marks: Mapping[str, Decimal]
) -> PositionOut:
    holding, mark = account.holdings[coin], marks.get(coin)
    return PositionOut(
        product=coin,
        mode="paper",
        network=MARKET_NETWORK,
        book=book.book,
        side="long" if holding.size > 0 else "short",
        size=format(abs(holding.size), "f"),
        entry_px=text(holding.entry_px),
        mark_px=text(mark),
        value_usdc=None if mark is None else str(Usdc(holding.notional(mark))),
        unrealized_usdc=None if mark is None else str(Usdc(holding.result(mark))),
        liquidation_px=text(liquidation_px(account, coin, marks)),
        margin_mode="cross",
        leverage=holding.leverage,
        can_close=True,
        est=True,
    )


OPERATIONS: Final = (
    Operation(
        name="own_paper_book_open",
        title="Open a paper book",
        summary="Open a book for paper orders; it is never edited, reset or closed.",
        auth="owner",
        route=("POST", "/wallet/own/paper/books"),
        request_model=BookIn,
        response_model=BookOut,
        handler=open_book,
        writes=True,
        family="own account",
        statuses={201: "Opened"},
        idempotency=own_write("/wallet/own/paper/books"),
        refusals=("conflict", "not_found", "invalid_number", *KEYED),
    ),
    Operation(
        name="own_paper_books",
        title="List your paper books",
        summary="Every paper book with its result, and how many were opened.",
        auth="owner",
        route=("GET", "/wallet/own/paper/books"),
        request_model=Nothing,
        response_model=BooksOut,
        pass_through=list_books,
        family="own account",
        refusals=("not_found",),
    ),
    Operation(
        name="own_paper_book",
        title="Read a paper book",
        summary="One paper book with its positions, orders and equity.",
        auth="owner",
        route=("GET", "/wallet/own/paper/books/{book}"),
        request_model=BookRef,
        response_model=BookWhole,
        pass_through=get_book,
        family="own account",
        refusals=("not_found",),
    ),
)
