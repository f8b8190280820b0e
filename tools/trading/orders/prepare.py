"""Order preparation, of an order and of a close alike: what the venue says is gathered, then it is
decided about, reserved and stored in one transaction.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from domain.money import ZERO, Usdc
from domain.next_steps import OWNER_OR_AGENT, NextStep
from domain.ports import Ids, Venue
from domain.refusals import Refused, refusal
from domain.trading.modes import Mode, TradingSurface
from domain.trading.order_caps import CapCheck, Counter, DayUse, day_checks
from domain.trading.order_gate import FieldProblem, PositionSeen, invalid_order, not_ready
from domain.trading.order_input import CloseRequest, OrderRequest
from domain.trading.orders import (
    LATE,
    OWNER_HAS,
    PENDING_AN_AGENT,
    Envelope,
    Order,
    OrderAction,
    first_status,
    is_reduce_only,
)
from domain.trading.pricing import DELISTED, NoPrice, Priced, closing_size, priced, quote_of
from domain.trading.venue_account import Link, milliseconds
from domain.trading.venue_values import Perp, Position
from storage.unit_of_work import UnitOfWork
from tools.context.notice_outbox import order_asked
from tools.context.venue_marks import venue_marks
from tools.model.operation import AnyContext, Caller, Deps
from tools.model.paper_port import PaperExchange
from tools.model.switches import switches
from tools.trading.fields import desk_of, venue_of
from tools.trading.orders.market_state import (
    AccountState,
    MarketState,
    account,
    market,
    meant,
    outage_reason,
    position_of,
    product,
    shown_position,
)
from tools.trading.orders.policy_checks import policy_allows
from tools.trading.orders.reservations import reserve
from tools.trading.orders.response_models import (
    PreparedOut,
    cap_told,
    checks_out,
    prepared_out,
    to_sign,
)
from tools.trading.orders.status_sync import expire_overdue
from tools.trading.orders.trader_context import (
    TraderContext,
    load_trader,
    per_close,
    per_order,
    require_allowed,
    trader_context,
)

RETRY_AFTER: Final = timedelta(seconds=2)
_BITS: Final = 128
_WAITING: Final = NextStep(
    "Look which orders wait", "order_pending", "GET /wallet/order/pending", OWNER_OR_AGENT
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderFacts:
    """The facts that were gathered before the write.

    `mode` is what the order was meant for then; `venue` is the one that a live order goes to,
    `exchange` fills on paper, `latency` after the acceptance. Of a close: `position` is whether
    there is what it takes off, `held` that position at the venue, `link` whose it is.
    """

    request: OrderRequest | FieldProblem
    mode: Mode = "paper"
    market: MarketState = field(default_factory=MarketState)
    account: AccountState = field(default_factory=AccountState)
    venue: Venue | None = None
    exchange: PaperExchange | None = None
    latency: timedelta = timedelta(0)
    marks: Mapping[str, Mapping[str, Decimal]] = field(default_factory=dict)
    closing: bool = False
    position: PositionSeen = "unasked"
    held: Position | None = None
    link: Link | None = None


# -- gather


async def gather_order(
    deps: Deps, caller: Caller, request: OrderRequest | FieldProblem, surface: TradingSurface
) -> OrderFacts:
    """Ask the venue what a new order needs; overdue orders of the same person are ended before."""
    now = deps.clock.now()

    def begin(uow: UnitOfWork) -> tuple[TraderContext, bool, timedelta]:
        on = switches(uow, deps.defaults)
        trader = trader_context(uow, on, deps.config.trading, caller, surface)
        latency = timedelta(0)
        if surface == "door" and deps.paper is not None and isinstance(request, OrderRequest):
            latency = deps.paper.latency(uow, trader.owner_id, request.book)
        return trader, bool(uow.orders.past(now, 1, owner_id=trader.owner_id)), latency

    trader, late, latency = await deps.store.read(begin)
    if late:
        await expire_overdue(deps, trader.owner_id, now)
    return replace(await ask_venue(deps, request, trader), latency=latency)


async def ask_venue(
    deps: Deps, request: OrderRequest | FieldProblem, trader: TraderContext
) -> OrderFacts:
    """Ask the venue what an order needs; a part that it does not tell is `silent`, not raised."""
    if isinstance(request, FieldProblem):
        return OrderFacts(request=request)
    mode = meant(trader, request.mode_seen, names_book=request.book is not None)
    opens = not request.reduce_only
    venue = venue_of(deps, trader.network_of(mode))
    state = await market(deps, venue, request.product, opens=opens)
    facts = OrderFacts(request=request, mode=mode, market=state, exchange=deps.paper)
    if mode == "paper":
        return facts
    if trader.mode == "live" and state.fault is None:
        account_state = await account(deps, trader, state.perp, opens=opens)
        facts = replace(facts, account=account_state)
    return replace(facts, venue=venue, marks=await marks_of_mandate(deps, request.mandate_id))


async def marks_of_mandate(
    deps: Deps, mandate_id: str | None
) -> Mapping[str, Mapping[str, Decimal]]:
    """The venue's prices of what a mandate holds there; nothing of one that there is not."""
    if mandate_id is None:
        return {}
    mandate = await deps.store.read(lambda uow: uow.mandates.get(mandate_id))
    return {} if mandate is None else await venue_marks(deps, mandate)


async def gather_close(
    deps: Deps, caller: Caller, request: CloseRequest | FieldProblem
) -> OrderFacts:
    """Read the position that a close takes off: a live one on the network where it is linked, the
    live network first; one on paper in the named book, else in the only one that has it.
    """
    trader = await load_trader(deps, caller, "door")
    if isinstance(request, FieldProblem):
        return OrderFacts(request=request, closing=True)
    closing = OrderFacts(
        request=_taking_off(request, None, None), mode=request.mode_seen, closing=True
    )
    if request.mode_seen == "live":
        return await _live_position(deps, trader, request, closing)
    exchange, owner_id = desk_of(deps), trader.owner_id
    rows = await deps.store.read(
        lambda uow: [
            (row, exchange.latency(uow, owner_id, row.book))
            for row in exchange.positions(uow, owner_id)
            if row.position.coin == request.product and request.book in (None, row.book)
        ]
    )
    if not rows:
        return replace(closing, position="none")
    if len(rows) > 1:
        several = FieldProblem(field="book", rule="several books hold it; name one")
        return replace(closing, market=MarketState(fault=several))
    ((row, latency),) = rows
    venue = venue_of(deps, trader.network_of("paper"))
    named = replace(request, book=row.book)
    return await _sized(deps, venue, replace(closing, latency=latency), named, row.position)


async def _live_position(
    deps: Deps, trader: TraderContext, request: CloseRequest, closing: OrderFacts
) -> OrderFacts:
    links = await deps.store.read(
        lambda uow: [
            link
            for n in (trader.network, "testnet" if trader.network == "mainnet" else "mainnet")
            if (link := uow.venue.link_of(trader.owner_id, n)) is not None
        ]
    )
    for link in links:
        venue = venue_of(deps, link.network)
        closing = replace(closing, link=link, venue=venue, position="none")
        try:
            position = await position_of(venue, link, request.product)
        except Refused as refused:
            silent = MarketState(silent=outage_reason(refused))
            return replace(closing, position="unreadable", market=silent)
        if position is not None:
            return await _sized(deps, venue, closing, request, position)
    return closing


async def _sized(
    deps: Deps, venue: Venue, closing: OrderFacts, request: CloseRequest, position: Position
) -> OrderFacts:
    """The size to take off, and its price."""
    state = await product(venue, deps, request.product, priority="close")
    closing = replace(
        closing,
        request=_taking_off(request, position, None),
        position="open",
        held=position if closing.mode == "live" else None,
        market=state,
    )
    perp = state.perp
    if state.fault is not None or perp is None:
        silent = state.silent or "it names no such product"
        return replace(closing, market=replace(state, silent=silent))
    if perp.delisted:
        return replace(closing, market=replace(state, fault=DELISTED))
    try:
        book = await venue.book(request.product, priority="close", max_age_s=1)
    except Refused as refused:
        return replace(closing, market=replace(state, silent=outage_reason(refused)))
    quote = quote_of(book.value, deps.clock.now())
    if isinstance(quote, NoPrice):
        return replace(closing, market=replace(state, silent=quote.reason))
    touch = quote.touch("sell" if position.size > 0 else "buy")
    size = closing_size(request, position, perp, touch)
    if isinstance(size, FieldProblem):
        return replace(closing, market=replace(state, fault=size))
    if size is None:
        return replace(closing, position="none")
    return replace(
        closing,
        request=_taking_off(request, position, size),
        market=replace(state, quote=quote),
    )


def _taking_off(
    request: CloseRequest, position: Position | None, size: Decimal | None
) -> OrderRequest:
    """A close as the order that it is: reduce-only, immediate, on the other side."""
    return OrderRequest(
        product=request.product,
        side="buy" if position is not None and position.size < 0 else "sell",
        size=size,
        slippage_bps=request.slippage_bps,
        reduce_only=True,
        book=request.book,
        mode_seen=request.mode_seen,
    )


# -- decide


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderDecision:
    """An order that may be made: whose, its mode, its figures, and the counters that it goes
    into.
    """

    trader: TraderContext
    mode: Mode
    request: OrderRequest
    figures: Priced
    perp: Perp
    counters: Mapping[Counter, DayUse]


def decide(
    uow: UnitOfWork,
    ctx: AnyContext,
    trader: TraderContext,
    facts: OrderFacts,
    *,
    was: Order | None = None,
) -> OrderDecision:
    """Whether it may be made now. Errors: the 13 in their order, then the mandate's.

    `was` is the same order as it was priced before.
    """
    request = facts.request
    if isinstance(request, FieldProblem):
        raise Refused(invalid_order(request))
    figures = _figures(facts, request, trader)
    problem = figures if isinstance(figures, FieldProblem) else facts.market.fault
    amount = figures.notional if isinstance(figures, Priced) else ZERO
    counters = uow.order_counters.uses(
        () if request.reduce_only else trader.counters(facts.mode, ctx.now)
    )
    mode = require_allowed(
        replace(
            trader.gate_input,
            mode_seen=request.mode_seen,
            closing=facts.closing,
            names_book=request.book is not None,
            prepared=was.mode if was else None,
            product=request.product,
            fault=problem
            or facts.account.fault
            or _request_problem(uow, trader, request, facts.mode),
            missing=not_ready("link")
            if trader.link is None and facts.mode == "live"
            else facts.account.missing,
            caps=_caps(trader, request, facts, amount, counters, ctx.now),
            position=facts.position,
            position_now=None if facts.held is None else shown_position(facts.held),
            outage_reason=facts.market.silent or facts.account.silent,
            retry_at=ctx.now + RETRY_AFTER,
            action=_unsigned(facts, request),
        )
    )
    if mode != facts.mode:
        raise Refused(refusal("wallet_mode_changed", seen=facts.mode, mode=mode))
    perp = facts.market.perp
    if not isinstance(figures, Priced) or perp is None:
        raise Refused(invalid_order(FieldProblem(field="product", rule="it has no price")))
    policy_allows(uow, ctx, trader, request, mode, figures.notional, was, facts.marks)
    return OrderDecision(
        trader=trader, mode=mode, request=request, figures=figures, perp=perp, counters=counters
    )


def _figures(
    facts: OrderFacts, request: OrderRequest, trader: TraderContext
) -> Priced | FieldProblem | None:
    state, trading = facts.market, trader.trading
    if state.perp is None or state.quote is None or state.fault is not None:
        return None
    most_bps = trading.close_slippage_bps if facts.closing else trading.order_slippage_bps
    return priced(request, state.perp, state.quote, most_bps=most_bps, at_cap=state.at_cap)


def _request_problem(
    uow: UnitOfWork, trader: TraderContext, request: OrderRequest, mode: Mode
) -> FieldProblem | None:
    """The fault of a request that only stored rows show. An agent's slippage is bound by its
    owner's policy.
    """
    if mode == "live" and request.sign_mode == "none":
        return FieldProblem(field="sign_mode", rule="a live order is signed by its owner")
    if request.intent_id is not None and not uow.orders.has_intent(
        request.intent_id, trader.owner_id
    ):
        return FieldProblem(field="intent_id", rule="an intent of the owner's own")
    policy = uow.policies.get(trader.agent_id) if trader.agent_id else None
    limit = policy.slippage_bps if policy else None
    if limit is None or request.slippage_bps is None or request.slippage_bps <= limit:
        return None
    rule = f"the agent's policy allows {limit} basis points"
    return FieldProblem(field="slippage_bps", rule=rule, nearest=str(limit))


def _caps(
    trader: TraderContext,
    request: OrderRequest,
    facts: OrderFacts,
    amount: Usdc,
    counters: Mapping[Counter, DayUse],
    now: datetime,
) -> tuple[CapCheck, ...]:
    if request.reduce_only:
        # It opens nothing: live it is held to the limit of a close, and to no day's.
        bound = facts.mode == "live" and not facts.closing
        return (per_close(trader, amount),) if bound else ()
    return (per_order(trader, amount), *day_checks(counters, amount, now))


def _unsigned(facts: OrderFacts, request: OrderRequest) -> dict[str, object] | None:
    """The close that the owner can make at the venue without this service, as far as it is
    known.
    """
    if facts.held is None:
        return None
    return {
        "product": request.product,
        "side": request.side,
        "size": format(request.size or abs(facts.held.size), "f"),
        "reduce_only": True,
        "tif": "ioc",
    }


# -- store


def new_order(
    uow: UnitOfWork,
    ctx: AnyContext,
    facts: OrderFacts,
    surface: TradingSurface,
    wanted_fields: Mapping[str, object],
) -> tuple[Order, OrderDecision]:
    """Decide about an order, and make all of it but its reservation. Errors: see `decide`."""
    trader = trader_context(uow, ctx.switches, ctx.config.trading, ctx.caller, surface)
    if facts.link is not None:
        # A close is signed for the account that has the position.
        link, key = facts.link, uow.venue.key_in_use(facts.link.link_id, "order")
        trader = replace(trader, link=link, network=link.network, key=key)
    book = _book(uow, ctx, facts, trader)
    decided = decide(uow, ctx, trader, facts)
    request, mode, by = decided.request, decided.mode, trader.by
    waits = OWNER_HAS if by == "agent" and mode == "live" else ttl(trader)
    order = Order(
        order_id=ctx.ids.short("o_"),
        owner_id=trader.owner_id,
        agent_id=trader.agent_id,
        source=surface,
        closing=facts.closing,
        mode=mode,
        mode_seen=request.mode_seen,
        network=trader.network_of(mode),
        wallet=trader.wallet_of(mode),
        book=book,
        product=request.product,
        side=request.side,
        type=request.type,
        slippage_bps=request.slippage_bps,
        leverage=facts.account.leverage,
        notional=decided.figures.notional,
        action=action_of(ctx, facts, decided),
        envelope=None,
        sign_mode="client" if mode == "live" else "none",
        status=first_status(mode, by),
        version=1,
        attempt=1,
        by=by,
        mandate_id=request.mandate_id,
        intent_id=request.intent_id,
        why=request.why,
        asked=wanted_fields,
        created_at=ctx.now,
        expires_at=ctx.now + waits,
        counted=ZERO,
        counted_day=None,
    )
    return order, decided


def action_of(ctx: AnyContext, facts: OrderFacts, decided: OrderDecision) -> OrderAction:
    """The venue action of an order, under an id of its own: 16 random bytes, stored before anything
    is sent, which cannot be guessed.
    """
    request = decided.request
    return OrderAction(
        asset_id=decided.perp.asset_id,
        is_buy=request.side == "buy",
        limit_px=decided.figures.limit_px,
        size=decided.figures.size,
        reduce_only=request.reduce_only,
        tif=request.tif,
        cloid=f"0x{ctx.ids.nonce256() % 2**_BITS:032x}",
        builder=None if request.reduce_only else facts.account.builder,
    )


def ttl(trader: TraderContext) -> timedelta:
    """The lifetime of a prepared order."""
    return timedelta(seconds=trader.trading.confirm_ttl_s)


def _book(uow: UnitOfWork, ctx: AnyContext, facts: OrderFacts, trader: TraderContext) -> str | None:
    """The book of a paper order; a wrong one is a field that is wrong, and told before what the
    gate looks at. Errors: `wallet_invalid_order`, `not_configured` without paper books.
    """
    request = facts.request
    if isinstance(request, FieldProblem) or facts.mode == "live":
        return None
    if facts.closing:
        return request.book
    if facts.exchange is None:
        raise Refused(refusal("not_configured", what="paper orders"))
    return facts.exchange.book_for(
        uow,
        ctx.ids,
        ctx.now,
        owner_id=trader.owner_id,
        agent_id=trader.agent_id,
        name=request.book,
    )


def reserved(
    uow: UnitOfWork, order: Order, decided: OrderDecision, used: Usdc | None = None
) -> Order:
    """The order with its part of the day taken, or with what it `used` where it is done; what waits
    for its owner takes none yet, and a close never does.
    """
    if order.closing:
        return order
    if order.status == "awaiting_owner":
        return _one_more(uow, order)
    if not decided.counters:
        return replace(order, counted=order.notional if used is None else used, counted_day=None)
    return reserve(uow, decided.trader, order, order.created_at, used)


def _one_more(uow: UnitOfWork, order: Order) -> Order:
    """An agent's order that waits for its owner, if not too many do. Errors: `rate_limited`."""
    who, now = order.agent_id or "", order.created_at
    if uow.orders.pending_of_agent(who, now) < PENDING_AN_AGENT:
        return order
    ends = uow.orders.first_to_end(who, now)
    why = f"{PENDING_AN_AGENT} orders of this agent wait already."
    error = refusal(
        "rate_limited", why=why, retry_at=ends, retry_safe=ends is not None, next=(_WAITING,)
    )
    raise Refused(error)


def store_order(
    uow: UnitOfWork,
    ctx: AnyContext,
    facts: OrderFacts,
    order: Order,
    decided: OrderDecision,
    was: Order | None = None,
) -> PreparedOut:
    """Give out what is to be signed, where it is time for that, and store the order."""
    confirm, signing, liquidation = None, None, None
    if order.status == "awaiting_signature":
        order, confirm = signable(uow, order, ctx.ids, ctx.now)
    if was is None:
        uow.orders.add(order)
        if order.status == "awaiting_owner":
            order_asked(uow, order, ctx.now)
    else:
        order = uow.orders.save(order, was)
    if facts.exchange is not None and order.mode == "paper" and not is_reduce_only(order):
        liquidation = facts.exchange.liquidation_est(uow, order, decided.perp)
    if confirm is not None and facts.venue is not None and order.envelope is not None:
        signing = to_sign(facts.venue, order, order.action, order.envelope, decided.trader.key)
    cap = cap_told(order, decided.counters)
    checks = checks_out(order, decided.figures, decided.perp, cap, liquidation)
    return prepared_out(order, ctx.now, confirm=confirm, signing=signing, checks=checks)


# -- what is signed


def new_confirm_id(ids: Ids) -> str:
    """`c_` and 128 random bits."""
    drawn = ids.nonce256() % 2**_BITS
    return "c_" + base64.b32encode(drawn.to_bytes(16, "big")).decode().rstrip("=").lower()


def confirm_hash(text: str) -> str:
    """The stored form of a confirm id."""
    return hashlib.sha256(text.encode()).hexdigest()


def next_nonce(uow: UnitOfWork, order: Order, now: datetime) -> int:
    """A nonce of the signer's that was never used. Units: ms since 1970."""
    return uow.signer_nonces.next(
        f"{order.network}:{(order.wallet or '').lower()}", milliseconds(now)
    )


def signable(uow: UnitOfWork, order: Order, ids: Ids, now: datetime) -> tuple[Order, str]:
    """The order with fresh bytes to sign, and the id that the signature has to name. One that is
    priced anew keeps its nonce: the venue lets one of its pricings act.
    """
    confirm, until = new_confirm_id(ids), order.expires_at
    nonce = next_nonce(uow, order, now) if order.envelope is None else order.envelope.nonce
    after = replace(
        order,
        envelope=Envelope(nonce=nonce, expires_after=milliseconds(until)),
        confirm_hash=confirm_hash(confirm),
        next_check_at=until + LATE,
    )
    return after, confirm
