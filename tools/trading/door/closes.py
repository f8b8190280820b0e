"""Closes at the door: a live close needs no switch, no allowlist and no cap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Final

from domain.money import ZERO
from domain.ports import Venue
from domain.refusals import Refused, refusal
from domain.trading.order_gate import FieldProblem, Missing, PositionSeen, invalid_order
from domain.trading.order_input import CloseRequest, parse_close
from domain.trading.orders import Order, OrderAction
from domain.trading.precision import bounded_px, notional
from domain.trading.pricing import NoPrice, Priced, Quote, closing_size, quote_of
from domain.trading.venue_account import Link
from domain.trading.venue_values import Perp, Position
from storage.unit_of_work import UnitOfWork
from tools.dispatch.request_context import request_context
from tools.model.fields import Nothing
from tools.model.operation import (
    AnyContext,
    Caller,
    Deps,
    ExternalEffect,
    OperationResult,
)
from tools.trading.door.two_step import (
    HERE,
    MarketAhead,
    ahead,
    at_once,
    door_operation,
    first,
    second,
)
from tools.trading.fields import LOOK_UNDER_WAY, desk_of, own_write, venue_of
from tools.trading.orders.create import ttl
from tools.trading.orders.market_state import outage_reason, product
from tools.trading.orders.positions import LocatedPosition, place_of
from tools.trading.orders.request_models import STEP_TWO, CloseIn
from tools.trading.orders.responses import checks_body, order_body
from tools.trading.orders.routes import WRITES
from tools.trading.orders.signing_request import new_cloid, signable
from tools.trading.orders.trader_context import (
    TraderContext,
    counted_close,
    load_trader,
    owner_of,
    require_allowed,
    trader_context,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """The venue's figures, read before a close is decided."""

    request: CloseRequest | FieldProblem
    link: Link | None = None
    place: LocatedPosition | None = None
    position: PositionSeen = "unasked"
    perp: Perp | None = None
    quote: Quote | None = None
    size: Decimal | None = None
    fault: FieldProblem | None = None
    silent: str | None = None
    venue: Venue | None = None


async def close(deps: Deps, caller: Caller, request: CloseIn) -> OperationResult:
    """Close a position, or take the signature of a close that was prepared before.

    A live close asks for no switch, no list and no cap, only for the position that the venue
    shows. Errors: the 13.
    """
    sent = request.sent()
    if STEP_TWO & sent.keys():
        return await second(deps, caller, sent, closing=True)
    limit = deps.config.trading.close_slippage_bps
    close_request = parse_close(sent, limit)
    trader = await load_trader(deps, caller, "door")
    if isinstance(close_request, CloseRequest) and close_request.mode_seen == "paper":
        facts = await _paper_position(deps, trader, close_request)
    else:
        facts = await _live_position(deps, trader, close_request)

    market_state = await _market_ahead(deps, caller, facts)

    def make(uow: UnitOfWork) -> OperationResult | Order:
        return _prepared(uow, deps, caller, facts, sent, market_state)

    return first(deps, await deps.store.write(make))


async def _market_ahead(deps: Deps, caller: Caller, facts: Closing) -> MarketAhead | None:
    """The market that a close on paper will fill on; None for one that is live, or is refused
    already.
    """
    close_request = facts.request
    if (
        isinstance(close_request, FieldProblem)
        or close_request.mode_seen == "live"
        or facts.quote is None
    ):
        return None
    exchange, owner_id = desk_of(deps), owner_of(caller)
    latency = await deps.store.read(lambda uow: exchange.latency(uow, owner_id, close_request.book))
    return await ahead(deps, close_request.product, latency=latency, reduces=True)


async def _live_position(
    deps: Deps, trader: TraderContext, close_request: CloseRequest | FieldProblem
) -> Closing:
    """The position on the network where the account is linked, the live one first."""
    if isinstance(close_request, FieldProblem):
        return Closing(request=close_request, fault=close_request)
    links = await deps.store.read(
        lambda uow: [
            link
            for n in (trader.network, "testnet" if trader.network == "mainnet" else "mainnet")
            if (link := uow.venue.link_of(trader.owner_id, n)) is not None
        ]
    )
    closing = Closing(request=close_request)
    for link in links:
        venue = venue_of(deps, link.network)
        closing = replace(closing, link=link, venue=venue)
        try:
            place = await place_of(venue, link, close_request.product)
        except Refused as refused:
            return replace(closing, position="unreadable", silent=outage_reason(refused))
        if place is not None:
            return await _sized(
                deps, venue, replace(closing, place=place), close_request, place.position
            )
    return replace(closing, position="none") if links else closing


async def _paper_position(
    deps: Deps, trader: TraderContext, close_request: CloseRequest
) -> Closing:
    """The position of a paper book: the named one, else the only one that has it."""
    if deps.paper is None:
        raise Refused(refusal("not_configured", what="a desk for paper orders"))
    exchange = deps.paper
    rows = await deps.store.read(lambda uow: list(exchange.positions(uow, trader.owner_id)))
    fitting = [
        r
        for r in rows
        if r.position.coin == close_request.product and close_request.book in (None, r.book)
    ]
    if not fitting:
        return Closing(request=close_request, position="none")
    if len(fitting) > 1:
        fault = FieldProblem(field="book", rule="several books hold it; name one")
        return Closing(request=close_request, fault=fault)
    (row,) = fitting
    named_book = replace(close_request, book=row.book)
    venue = venue_of(deps, trader.network_of("paper"))
    return await _sized(deps, venue, Closing(request=named_book), named_book, row.position)


async def _sized(
    deps: Deps, venue: Venue, closing: Closing, close_request: CloseRequest, position: Position
) -> Closing:
    """The size to take off, and its price."""
    closing = replace(closing, position="open")
    state = await product(venue, deps, close_request.product, priority="close")
    if state.fault is not None or state.perp is None:
        return replace(
            closing, fault=state.fault, silent=state.silent or "it names no such product"
        )
    perp = state.perp
    if perp.delisted:
        fault = FieldProblem(
            field="product", rule="it is delisted; the venue has settled its positions"
        )
        return replace(closing, fault=fault)
    try:
        book = await venue.book(close_request.product, priority="close", max_age_s=1)
    except Refused as refused:
        return replace(closing, perp=perp, silent=outage_reason(refused))
    quote = quote_of(book.value, deps.clock.now())
    if isinstance(quote, NoPrice):
        return replace(closing, perp=perp, silent=quote.reason)
    touch = quote.touch("sell" if position.size > 0 else "buy")
    size = closing_size(close_request, position, perp, touch)
    if isinstance(size, FieldProblem):
        return replace(closing, perp=perp, fault=size)
    if size is None:
        return replace(closing, perp=perp, position="none")
    place = closing.place or LocatedPosition(None, position)
    return replace(closing, perp=perp, quote=quote, size=size, place=place)


def _prepared(
    uow: UnitOfWork,
    deps: Deps,
    caller: Caller,
    facts: Closing,
    sent: Mapping[str, object],
    market_state: MarketAhead | None,
) -> OperationResult | Order:
    """Decide and store; nothing is reserved for a close."""
    now = deps.clock.now()
    ctx = request_context(uow, deps, caller, now, request=Nothing())
    trader = trader_context(uow, ctx.switches, ctx.config.trading, caller, "door")
    close_request = facts.request
    if isinstance(close_request, FieldProblem):
        raise Refused(invalid_order(close_request))
    live = close_request.mode_seen == "live"
    require_allowed(
        trader.attempt(
            mode_seen=close_request.mode_seen,
            closing=True,
            names_book=close_request.book is not None,
            product=close_request.product,
            fault=facts.fault,
            missing=Missing(step="link") if live and facts.link is None else None,
            position=facts.position,
            position_now=facts.place.as_item() if facts.place else None,
            outage_reason=facts.silent,
            retry_at=now + timedelta(seconds=2),
            action=_unsigned(facts, close_request),
        )
    )
    order, figures = _close_order(ctx, trader, facts, close_request, sent)
    if market_state is not None:
        return at_once(uow, deps, order, market_state)
    order, confirm = signable(uow, order, ctx.ids, now, order.expires_at)
    uow.orders.add(order)
    key = uow.venue.key_in_use(facts.link.link_id, "order") if facts.link else None
    checks = checks_body(order, figures, facts.perp, None)
    return order_body(order, now, facts.venue, replace(trader, key=key), confirm, checks)


def _unsigned(facts: Closing, close_request: CloseRequest) -> dict[str, object] | None:
    """The close that the owner can make at the venue without this service, as far as it is
    known.
    """
    if facts.place is None:
        return None
    position = facts.place.position
    return {
        "product": close_request.product,
        "side": "sell" if position.size > 0 else "buy",
        "size": format(facts.size or abs(position.size), "f"),
        "reduce_only": True,
        "tif": "ioc",
    }


def _close_order(
    ctx: AnyContext,
    trader: TraderContext,
    facts: Closing,
    close_request: CloseRequest,
    sent: Mapping[str, object],
) -> tuple[Order, Priced]:
    """One reduce-only, immediate order on the other side, without a builder fee."""
    perp, quote, size, place = facts.perp, facts.quote, facts.size, facts.place
    if perp is None or quote is None or size is None or place is None:
        raise TypeError("a close is made of what was read whole")
    is_buy = place.position.size < 0
    touch = quote.touch("buy" if is_buy else "sell")
    limit_px = bounded_px(touch, close_request.slippage_bps, perp.sz_decimals, is_buy=is_buy)
    live = close_request.mode_seen == "live"
    amount = notional(size, limit_px)
    order = Order(
        order_id=ctx.ids.short("o_"),
        owner_id=trader.owner_id,
        agent_id=None,
        source="door",
        closing=True,
        mode=close_request.mode_seen,
        mode_seen=close_request.mode_seen,
        network=facts.link.network if live and facts.link else trader.network_of("paper"),
        wallet=facts.link.wallet if live and facts.link else None,
        book=close_request.book,
        product=close_request.product,
        side="buy" if is_buy else "sell",
        type="market",
        slippage_bps=close_request.slippage_bps,
        leverage=None,
        notional=amount,
        action=OrderAction(
            asset_id=perp.asset_id,
            is_buy=is_buy,
            limit_px=limit_px,
            size=size,
            reduce_only=True,
            tif="ioc",
            cloid=new_cloid(ctx.ids),
        ),
        envelope=None,
        sign_mode="client" if live else "none",
        status="awaiting_signature" if live else "prepared",
        version=1,
        attempt=1,
        by="owner",
        mandate_id=None,
        intent_id=None,
        why=None,
        asked=sent,
        created_at=ctx.now,
        expires_at=ctx.now + ttl(trader),
        counted=ZERO,
        counted_day=None,
    )
    return order, Priced(size=size, limit_px=limit_px, notional=amount, quote=quote)


OPERATIONS: Final = (
    door_operation(
        name="trade_close",
        title="Close a position",
        summary="Close a position, all or a part; a live close works with every lock shut.",
        route=("POST", "/app/trade/close"),
        request_model=CloseIn,
        effect=ExternalEffect(act=close, reconcile=(LOOK_UNDER_WAY,)),
        count_call=counted_close,
        idempotency=own_write("/app/trade/close"),
        refusals=(*HERE, *WRITES, "outcome_unknown"),
    ),
)
