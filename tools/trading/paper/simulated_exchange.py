"""Simulated exchange: fills paper orders on the market's own order books only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from domain.ports import Clock, Ids, Venue
from domain.refusals import Refusal, Refused, refusal
from domain.settings import Trading
from domain.trading.order_gate import FieldProblem, invalid_order
from domain.trading.orders import Order, OrderFill, is_reduce_only
from domain.trading.outcome import OrderEnd, filled_size
from domain.trading.paper.entries import (
    FIRST_NAME,
    USUAL_START_MICROS,
    Entry,
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
    """The `PaperExchange` port. What it fills, it fills in one transaction with the order's own
    end.
    """

    def __init__(self, *, store: Store, clock: Clock, trading: Trading, wait: Pause = pause):
        self._store, self._clock, self._trading, self._wait = store, clock, trading, wait

    # -- books

    def model(self) -> Model:
        """The fill model of books that are opened now."""
        return Model(
            depth_share=self._trading.paper_depth_share, latency_ms=self._trading.paper_latency_ms
        )

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
            if book is None or not _may_use(book, owner_id, agent_id):
                raise Refused(invalid_order(FieldProblem(field="book", rule="it is none of yours")))
            return book.book
        if agent_id is not None:
            rule = "an agent names a book that its owner opened for it"
            raise Refused(invalid_order(FieldProblem(field="book", rule=rule)))
        for book in uow.paper.of_owner(owner_id):
            return book.book
        created = PaperBook(
            book=ids.short("b_"),
            owner_id=owner_id,
            agent_id=None,
            name=FIRST_NAME,
            start_micros=USUAL_START_MICROS,
            model=self.model(),
            created_at=now,
        )
        if uow.paper.open(created):
            return created.book
        return uow.paper.of_owner(owner_id)[0].book

    def books(self, uow: UnitOfWork, owner_id: str) -> Sequence[str]:
        """A person's books, oldest first."""
        return [b.book for b in uow.paper.of_owner(owner_id)]

    def positions(self, uow: UnitOfWork, owner_id: str) -> Sequence[PaperPosition]:
        """The open positions of a person's books; no figure of the market stands in them."""
        positions = []
        for book in uow.paper.of_owner(owner_id):
            account = uow.paper.account(book)
            for coin, holding in sorted(account.holdings.items()):
                position = Position(
                    coin=coin,
                    size=holding.size,
                    entry_px=holding.entry_px,
                    value=None,
                    unrealized=None,
                    liquidation_px=None,
                    leverage=holding.leverage,
                    cross=True,
                )
                positions.append(PaperPosition(book=book.book, position=position))
        return positions

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
        model = self.model() if first is None else first.model
        return timedelta(milliseconds=model.latency_ms)

    def fill(
        self, uow: UnitOfWork, order: Order, market_snapshot: MarketSnapshot, now: datetime
    ) -> PaperExecution:
        """Write into the book what an order met."""
        book, account, request = self._ready(uow, order, market_snapshot.perp)
        others = self._others(uow, order, market_snapshot.perps)
        execution = _execute_on(
            uow,
            market_snapshot.snapshot,
            request,
            lambda taken: execute_on_arrival(
                account, request, market_snapshot, book.model, consumed=taken, resting=others
            ),
        )
        if execution.refused is not None:
            return PaperExecution(refused=execution.refused)
        fills = _booked(uow, order, account, execution, market_snapshot)
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
        """The product's mark at which the order's book would be liquidated if it filled whole at
        its limit.
        """
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
        if order.status != "resting":
            await self._store.write(lambda uow: _given_up(uow, order, self._clock.now()))
            return
        dexes = dexes_of([order.product], self._trading.dexes)
        perps = await figures(venue, dexes, needs=order.product)
        if perps[order.product].delisted:
            await self._store.write(lambda uow: _delisted(uow, order, self._clock.now()))
            return
        order_book = await snapshot(
            venue, order.product, self._clock, _priority_of(is_reduce_only(order)), 1
        )
        market_snapshot, now = MarketSnapshot(snapshot=order_book, perps=perps), self._clock.now()
        await self._store.write(lambda uow: self._looked(uow, order, market_snapshot, now))

    def _looked(
        self, uow: UnitOfWork, read: Order, market_snapshot: MarketSnapshot, now: datetime
    ) -> None:
        order = uow.orders.get(read.order_id, lock=True)
        if order is None or order.version != read.version:
            return
        book, account, request = self._ready(uow, order, market_snapshot.perp)
        execution = _execute_on(
            uow,
            market_snapshot.snapshot,
            request,
            lambda taken: execute_resting(
                account, request, market_snapshot, book.model, consumed=taken
            ),
        )
        if execution.refused is not None:
            _taken_back(uow, order, execution.refused, now)
            return
        fills = _booked(uow, order, account, execution, market_snapshot)
        all_fills = (*order.fills, *fills)
        if not execution.rests:
            end_order(
                uow, order, OrderEnd(transition="fill", fills=all_fills, fills_complete=True), now
            )
            return
        store_fills(uow, order, fills, now, order.seen)
        size = filled_size(all_fills)
        still = replace(
            order,
            filled_size=size if fills else order.filled_size,
            avg_px=average(all_fills),
            next_check_at=now + timedelta(seconds=RESTING_S),
            tries=0,
        )
        uow.orders.save(still, order)

    # -- the round

    async def watch(self, venue: Venue) -> int:
        """One round over books with something open."""
        return await run_paper_round(self._store, self._clock, self._trading, venue)


def _may_use(book: PaperBook, owner_id: str, agent_id: str | None) -> bool:
    return book.owner_id == owner_id and (agent_id is None or book.agent_id == agent_id)


def _priority_of(reduces: bool) -> Priority:
    return "close" if reduces else "order"


def _execute_on(
    uow: UnitOfWork,
    order_book: OrderBook,
    request: PaperOrder,
    meet: Callable[[ConsumedDepth], Execution],
) -> Execution:
    """Execute an order on a snapshot. One that fills something is stored, and where another order
    took of it meanwhile it is executed once more, under the lock.
    """
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
    market_snapshot: MarketSnapshot,
) -> tuple[OrderFill, ...]:
    """Append fills to the order's book."""
    created, marks, at = [], market_snapshot.marks, market_snapshot.snapshot.at
    entry: Entry | None = None
    for n, fill in enumerate(execution.fills, start=len(order.fills)):
        account = account if entry is None else apply_entry(account, entry)
        realized, coins = closes(account, fill), {*account.holdings, fill.coin}
        known = {coin: px for coin, px in marks.items() if coin in coins}
        entry = uow.paper.append(order.book or "", f"{fill.order_id}:{n}", at, known, fill)
        if entry is None:
            raise LookupError(f"{fill.order_id} has a fill {n} already")
        created.append(_order_fill(fill, entry.n, at, realized))
    return tuple(created)


def _order_fill(fill: Filled, n: int, at: datetime, realized: int | None) -> OrderFill:
    """A fill as an order shows it; its trade is named by its entry in the book."""
    prepaid_cost = fill.fee + fill.builder_fee
    return OrderFill(
        px=fill.px,
        size=fill.size,
        fee=_usdc(prepaid_cost),
        builder_fee=_usdc(fill.builder_fee),
        closed_pnl=_usdc(0 if realized is None else realized - prepaid_cost),
        at=at,
        tid=n,
        snapshot=fill.snapshot,
    )


def _usdc(micros: int) -> Decimal:
    return Decimal(micros).scaleb(-6)


def _taken_back(uow: UnitOfWork, order: Order, refused: Refusal, now: datetime) -> None:
    """Cancel an order that its account cannot bear, or that has nothing to reduce, as the venue
    does.
    """
    if refused.kind.code == "wallet_venue_unavailable":
        raise Refused(refused)
    reduces = refused.kind.code == "wallet_no_position"
    word = "reduceOnlyCanceled" if reduces else "marginCanceled"
    end_order(
        uow, order, OrderEnd(transition="cancel", venue_message=word, fills_complete=True), now
    )


def _delisted(uow: UnitOfWork, read: Order, now: datetime) -> None:
    """Cancel the orders of a delisted product, as the venue does."""
    order = uow.orders.get(read.order_id, lock=True)
    if order is None or order.version != read.version:
        return
    end_order(
        uow,
        order,
        OrderEnd(transition="cancel", venue_message="delistedCanceled", fills_complete=True),
        now,
    )


def _given_up(uow: UnitOfWork, read: Order, now: datetime) -> None:
    """Reject an order whose fill never came: what it met is written in one transaction with its
    end, so that nothing is filled.
    """
    order = uow.orders.get(read.order_id, lock=True)
    if order is None or order.version != read.version or order.status != "executing":
        return
    lost = refusal("wallet_venue_unavailable", why="the process ended before it was filled")
    end_order(uow, order, OrderEnd(transition="refuse", refusal=lost, fills_complete=True), now)
