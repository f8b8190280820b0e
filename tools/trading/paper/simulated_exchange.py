"""Simulated exchange: fills paper orders on the market's own order books only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from domain.ports import Clock, Ids, Venue
from domain.refusals import Refused, refusal
from domain.settings import Trading
from domain.trading.order_gate import FieldProblem, invalid_order
from domain.trading.orders import Order, OrderFill, is_reduce_only
from domain.trading.outcome import OrderEnd, filled_size
from domain.trading.paper.entries import (
    FIRST_NAME,
    USUAL_START_MICROS,
    Filled,
    Model,
    PaperBook,
)
from domain.trading.paper.margin import RestingOrder, liquidation_after
from domain.trading.paper.matching import ConsumedDepth
from domain.trading.paper.order_execution import (
    Execution,
    MarketSnapshot,
    PaperOrder,
    execute_on_arrival,
    execute_resting,
    full_at_limit,
)
from domain.trading.paper.replay import PaperAccount, apply_entry, closes
from domain.trading.venue_values import OrderBook, Perp, Position, Priority
from storage.store import Store
from storage.unit_of_work import UnitOfWork
from tools.model.paper_port import PaperExecution, PaperPosition
from tools.trading.orders.fills import average, store_fills
from tools.trading.orders.order_end import RESTING_S, end_order
from tools.trading.paper.market_data import (
    Pause,
    dexes_of,
    figures,
    pause,
    second_snapshot,
    snapshot,
)
from tools.trading.paper.upkeep import LOOK_S, run_paper_round

CROSSED: Final = "crossed"


class SimulatedExchange:
    """The `PaperExchange` port; a fill and its order's end are one transaction."""

    def __init__(self, *, store: Store, clock: Clock, trading: Trading, wait: Pause = pause):
        self._store, self._clock, self._trading, self._wait = store, clock, trading, wait

    # -- books

    def book_for(
        self,
        uow: UnitOfWork,
        ids: Ids,
        now: datetime,
        *,
        owner_id: str,
        agent_id: str | None,
        name: str | None,
    ) -> str:
        """The book that an order goes to."""
        if name is not None:
            book = uow.paper.get(name)
            if book is None or owner_id != book.owner_id or agent_id not in (None, book.agent_id):
                raise Refused(invalid_order(FieldProblem(field="book", rule="it is none of yours")))
            return book.book
        if agent_id is not None:
            rule = "an agent names a book that its owner opened for it"
            raise Refused(invalid_order(FieldProblem(field="book", rule=rule)))
        for book in uow.paper.of_owner(owner_id):
            return book.book
        created = new_book(ids, now, self._trading, owner_id=owner_id, name=FIRST_NAME)
        if uow.paper.open(created):
            return created.book
        return uow.paper.of_owner(owner_id)[0].book

    def books(self, uow: UnitOfWork, owner_id: str) -> Sequence[str]:
        """A person's books, oldest first."""
        return [b.book for b in uow.paper.of_owner(owner_id)]

    def positions(self, uow: UnitOfWork, owner_id: str) -> Sequence[PaperPosition]:
        """The open positions of a person's books; no figure of the market stands in them."""
        return [
            PaperPosition(
                book=book.book,
                position=Position(
                    coin=coin,
                    size=holding.size,
                    entry_px=holding.entry_px,
                    leverage=holding.leverage,
                    cross=True,
                ),
            )
            for book in uow.paper.of_owner(owner_id)
            for coin, holding in sorted(uow.paper.account(book).holdings.items())
        ]

    # -- an order that arrives

    async def snapshot(
        self, venue: Venue, product: str, *, latency: timedelta, reduces: bool
    ) -> MarketSnapshot:
        """The snapshot that fills an order, with the figures of its product."""
        priority = _priority_of(reduces)
        second = await second_snapshot(venue, product, self._clock, self._wait, latency, priority)
        dexes = dexes_of([product], self._trading.dexes)
        return MarketSnapshot(
            snapshot=second, perps=await figures(venue, dexes, priority, needs=product)
        )

    def latency(self, uow: UnitOfWork, owner_id: str, name: str | None) -> timedelta:
        """The time after its acceptance at which an order meets the market."""
        books = uow.paper.of_owner(owner_id) if name is None else [uow.paper.get(name)]
        first = next(iter(books), None)
        latency_ms = self._trading.paper_latency_ms if first is None else first.model.latency_ms
        return timedelta(milliseconds=latency_ms)

    def fill(
        self, uow: UnitOfWork, order: Order, market: MarketSnapshot, now: datetime
    ) -> PaperExecution:
        """Write into the book what an order met."""
        book, account, request = self._ready(uow, order, market.perp)
        others = self._others(uow, order, market.perps)
        execution = _execute_on(
            uow,
            market.snapshot,
            request,
            lambda taken: execute_on_arrival(
                account, request, market, book.model, consumed=taken, resting=others
            ),
        )
        if execution.refused is not None:
            return PaperExecution(refused=execution.refused)
        fills = _booked(uow, order, account, execution, market)
        if fills or execution.rests:
            uow.paper.wake(book.book, now, now + timedelta(seconds=LOOK_S))
        return PaperExecution(
            fills=fills,
            rests=execution.rests,
            word=CROSSED if execution.took and execution.rests else "open",
        )

    def _ready(
        self, uow: UnitOfWork, order: Order, perp: Perp
    ) -> tuple[PaperBook, PaperAccount, PaperOrder]:
        """The order's book, locked, and what is left of the order."""
        book = uow.paper.get(order.book or "", lock=True)
        if book is None:
            raise LookupError(order.book)
        account = uow.paper.account(book)
        return book, account, self._to_paper_order(order, perp)

    def liquidation_est(self, uow: UnitOfWork, order: Order, perp: Perp) -> Decimal | None:
        """The mark that would liquidate the book if the order filled whole at its limit."""
        book = uow.paper.get(order.book or "")
        if book is None or perp.mark_px is None:
            return None
        fill = full_at_limit(self._to_paper_order(order, perp), perp)
        return liquidation_after(uow.paper.account(book), fill, {perp.coin: perp.mark_px})

    def _to_paper_order(self, order: Order, perp: Perp) -> PaperOrder:
        action, trading = order.action, self._trading
        pays = trading.builder_address is not None and not is_reduce_only(order)
        filled = order.filled_size or Decimal(0)
        return PaperOrder(
            order_id=order.order_id,
            coin=order.product,
            is_buy=action.is_buy,
            limit_px=action.limit_px,
            size=action.size - filled,
            reduce_only=action.reduce_only,
            tif=action.tif,
            leverage=order.leverage or min(trading.max_leverage, perp.max_leverage),
            builder_tenths_bps=trading.builder_fee_tenths_bps if pays else 0,
            took=order.seen is not None and order.seen.status == CROSSED,
            has_fills=bool(filled),
        )

    def _others(
        self, uow: UnitOfWork, order: Order, perps: Mapping[str, Perp]
    ) -> tuple[RestingOrder, ...]:
        """The orders of the same book that wait."""
        return tuple(
            self._to_paper_order(other, perps[other.product]).as_resting()
            for other in uow.orders.waiting_on_paper(order.owner_id)
            if other.book == order.book and other.product in perps
        )

    # -- an order that waits

    async def settle(self, venue: Venue, order: Order) -> None:
        """Look once at an order that waits, and write down what became of it."""
        if order.status == "executing":
            # What it met is written in one transaction with its end, so that nothing is filled.
            lost = refusal("wallet_venue_unavailable", why="the process ended before it was filled")
            end = OrderEnd(transition="refuse", refusal=lost, fills_complete=True)
            await self._store.write(lambda uow: self._end(uow, order, end))
        if order.status != "resting":
            return
        dexes = dexes_of([order.product], self._trading.dexes)
        perps = await figures(venue, dexes, needs=order.product)
        if perps[order.product].delisted:
            await self._store.write(lambda uow: self._end(uow, order, _cancel("delistedCanceled")))
            return
        priority = _priority_of(is_reduce_only(order))
        seen = await snapshot(venue, order.product, self._clock, priority, 1)
        market = MarketSnapshot(snapshot=seen, perps=perps)
        await self._store.write(lambda uow: self._looked(uow, order, market))

    def _end(self, uow: UnitOfWork, read: Order, end: OrderEnd) -> None:
        order = _unchanged(uow, read)
        if order is not None:
            end_order(uow, order, end, self._clock.now())

    def _looked(self, uow: UnitOfWork, read: Order, market: MarketSnapshot) -> None:
        order, now = _unchanged(uow, read), self._clock.now()
        if order is None:
            return
        book, account, request = self._ready(uow, order, market.perp)
        execution = _execute_on(
            uow,
            market.snapshot,
            request,
            lambda taken: execute_resting(account, request, market, book.model, consumed=taken),
        )
        if execution.refused is not None:
            # Its account cannot bear it, or it has nothing to reduce: as the venue does.
            code = execution.refused.kind.code
            if code == "wallet_venue_unavailable":
                raise Refused(execution.refused)
            reduces = code == "wallet_no_position"
            end = _cancel("reduceOnlyCanceled" if reduces else "marginCanceled")
            end_order(uow, order, end, now)
            return
        fills = _booked(uow, order, account, execution, market)
        all_fills = (*order.fills, *fills)
        if not execution.rests:
            end = OrderEnd(transition="fill", fills=all_fills, fills_complete=True)
            end_order(uow, order, end, now)
            return
        store_fills(uow, order, fills, now, order.seen)
        still = replace(
            order,
            filled_size=filled_size(all_fills) if fills else order.filled_size,
            avg_px=average(all_fills),
            next_check_at=now + timedelta(seconds=RESTING_S),
            tries=0,
        )
        uow.orders.save(still, order)

    async def watch(self, venue: Venue) -> int:
        """One round over books with something open."""
        return await run_paper_round(self._store, self._clock, self._trading, venue)


def new_book(
    ids: Ids,
    now: datetime,
    trading: Trading,
    *,
    owner_id: str,
    name: str,
    agent_id: str | None = None,
    start_micros: int = USUAL_START_MICROS,
) -> PaperBook:
    """A book with the fill model of the moment."""
    return PaperBook(
        book=ids.short("b_"),
        owner_id=owner_id,
        agent_id=agent_id,
        name=name,
        start_micros=start_micros,
        model=Model(depth_share=trading.paper_depth_share, latency_ms=trading.paper_latency_ms),
        created_at=now,
    )


def _unchanged(uow: UnitOfWork, read: Order) -> Order | None:
    """The order, locked, if it is as it was read."""
    order = uow.orders.get(read.order_id, lock=True)
    return order if order is not None and order.version == read.version else None


def _cancel(word: str) -> OrderEnd:
    """The end of an order that the venue itself would take off."""
    return OrderEnd(transition="cancel", venue_message=word, fills_complete=True)


def _priority_of(reduces: bool) -> Priority:
    return "close" if reduces else "order"


def _execute_on(
    uow: UnitOfWork,
    order_book: OrderBook,
    request: PaperOrder,
    meet: Callable[[ConsumedDepth], Execution],
) -> Execution:
    """Execute an order on a snapshot, again where another took of it before this one was stored."""
    taken, takers = uow.paper.taken(order_book.hash, is_buy=request.is_buy)
    execution = meet(taken)
    if not execution.fills:
        return execution
    # A fill stands on a snapshot that is kept.
    uow.paper.keep(order_book, known=takers > 0)
    if uow.paper.takers(order_book.hash) == takers:
        return execution
    taken, _ = uow.paper.taken(order_book.hash, is_buy=request.is_buy)
    return meet(taken)


def _booked(
    uow: UnitOfWork,
    order: Order,
    account: PaperAccount,
    execution: Execution,
    market: MarketSnapshot,
) -> tuple[OrderFill, ...]:
    """Append fills to the order's book."""
    created, at = [], market.snapshot.at
    for n, fill in enumerate(execution.fills, start=len(order.fills)):
        realized, coins = closes(account, fill), {*account.holdings, fill.coin}
        known = {coin: px for coin, px in market.marks.items() if coin in coins}
        entry = uow.paper.append(order.book or "", f"{fill.order_id}:{n}", at, known, fill)
        if entry is None:
            raise LookupError(f"{fill.order_id} has a fill {n} already")
        created.append(_order_fill(fill, entry.n, at, realized))
        account = apply_entry(account, entry)
    return tuple(created)


def _order_fill(fill: Filled, n: int, at: datetime, realized: int | None) -> OrderFill:
    """A fill as an order shows it; its trade is named by its entry in the book."""
    cost = fill.fee + fill.builder_fee
    return OrderFill(
        px=fill.px,
        size=fill.size,
        fee=_usdc(cost),
        builder_fee=_usdc(fill.builder_fee),
        closed_pnl=_usdc(0 if realized is None else realized - cost),
        at=at,
        tid=n,
        snapshot=fill.snapshot,
    )


def _usdc(micros: int) -> Decimal:
    return Decimal(micros).scaleb(-6)
