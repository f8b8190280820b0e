"""Order creation: reads market and account, then reserves and stores in one write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, TypeAlias

from domain.agents.policy import Policy
from domain.money import ZERO, Usdc
from domain.next_steps import OWNER_OR_AGENT, NextStep
from domain.ports import Venue
from domain.refusals import Refused, refusal
from domain.trading.modes import Mode, TradingSurface
from domain.trading.order_caps import CapCheck, Counter, DayUse, day_checks
from domain.trading.order_gate import FieldProblem, Missing, invalid_order
from domain.trading.order_input import OrderRequest
from domain.trading.orders import (
    OWNER_HAS,
    PENDING_AN_AGENT,
    By,
    Order,
    OrderAction,
    SignMode,
    Source,
    first_status,
    is_reduce_only,
)
from domain.trading.pricing import Priced, priced
from domain.trading.venue_values import Perp
from storage.unit_of_work import UnitOfWork
from tools.context.venue_marks import venue_marks
from tools.model.operation import AnyContext, Caller, Deps, OperationResult, RequestContext
from tools.model.paper_port import PaperExchange
from tools.model.switches import switches
from tools.trading.fields import venue_of
from tools.trading.orders.expiry import expire_overdue, has_overdue
from tools.trading.orders.market_state import AccountState, MarketState, account, market, meant
from tools.trading.orders.policy_checks import policy_allows
from tools.trading.orders.request_models import LenientRequest
from tools.trading.orders.reservations import reserve
from tools.trading.orders.responses import cap_body, checks_body, order_body
from tools.trading.orders.signing_request import new_cloid, signable
from tools.trading.orders.trader_context import (
    TraderContext,
    per_close,
    per_order,
    require_allowed,
    trader_context,
)

OrderContext: TypeAlias = RequestContext[LenientRequest, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderInputs:
    """Facts gathered before the write.

    `mode` is what the order was meant for then; `exchange` fills on paper; `venue` is the one that
    a live order goes to.
    """

    request: OrderRequest | FieldProblem
    mode: Mode
    market: MarketState
    account: AccountState
    exchange: PaperExchange | None
    venue: Venue | None
    marks: Mapping[str, Mapping[str, Decimal]] = field(default_factory=dict)


async def gather_inputs(
    deps: Deps, request: OrderRequest | FieldProblem, trader: TraderContext
) -> OrderInputs:
    """Ask the venue what an order needs; a part that it does not tell is `silent`, not raised."""
    if isinstance(request, FieldProblem):
        return OrderInputs(
            request=request,
            mode="paper",
            market=MarketState(),
            account=AccountState(),
            exchange=None,
            venue=None,
        )
    mode = meant(trader, request.mode_seen, names_book=request.book is not None)
    opening = not request.reduce_only
    venue = venue_of(deps, trader.network_of(mode))
    state = await market(deps, venue, request.product, opens=opening)
    account_state = AccountState()
    if mode == "live" and trader.mode == "live" and state.fault is None:
        account_state = await account(deps, trader, state.perp, opens=opening)
    return OrderInputs(
        request=request,
        mode=mode,
        market=state,
        account=account_state,
        exchange=deps.paper,
        venue=venue if mode == "live" else None,
        marks=await marks_of_mandate(deps, request.mandate_id) if mode == "live" else {},
    )


async def marks_of_mandate(
    deps: Deps, mandate_id: str | None
) -> Mapping[str, Mapping[str, Decimal]]:
    """The venue's prices of what a mandate holds there; nothing of one that there is not."""
    if mandate_id is None:
        return {}
    mandate = await deps.store.read(lambda uow: uow.mandates.get(mandate_id))
    return {} if mandate is None else await venue_marks(deps, mandate)


async def gather_for_caller(
    deps: Deps, caller: Caller, request: OrderRequest | FieldProblem, source: Source
) -> OrderInputs:
    """Gather the inputs for a caller on a surface; overdue orders are ended before."""
    surface: TradingSurface = "door" if source == "door" else "terminal"
    now = deps.clock.now()

    def begin(uow: UnitOfWork) -> tuple[TraderContext, bool]:
        on = switches(uow, deps.defaults)
        trader = trader_context(uow, on, deps.config.trading, caller, surface)
        return trader, has_overdue(uow, trader.owner_id, now)

    trader, late = await deps.store.read(begin)
    if late:
        await expire_overdue(deps, trader.owner_id, now)
    return await gather_inputs(deps, request, trader)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderDecision:
    """An order that may be made: its mode, its figures, and the counters that it goes into."""

    mode: Mode
    figures: Priced
    perp: Perp
    counters: Mapping[Counter, DayUse]


def decide(
    uow: UnitOfWork,
    ctx: AnyContext,
    trader: TraderContext,
    facts: OrderInputs,
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
    fault = (
        figures if isinstance(figures, FieldProblem) else facts.market.fault or facts.account.fault
    )
    amount = figures.notional if isinstance(figures, Priced) else ZERO
    mine = () if request.reduce_only else trader.counters(facts.mode, ctx.now)
    counters = uow.order_counters.uses(mine)
    attempt = trader.attempt(
        mode_seen=request.mode_seen,
        names_book=request.book is not None,
        prepared=was.mode if was else None,
        product=request.product,
        fault=fault or _request_problem(uow, trader, request, facts.mode),
        missing=_missing(trader, facts),
        caps=_caps(trader, request, facts.mode, amount, counters, ctx.now),
        outage_reason=facts.market.silent or facts.account.silent,
        retry_at=ctx.now + timedelta(seconds=2),
    )
    mode = require_allowed(attempt)
    if mode != facts.mode:
        raise Refused(refusal("wallet_mode_changed", seen=facts.mode, mode=mode))
    if not isinstance(figures, Priced) or facts.market.perp is None:
        raise Refused(invalid_order(FieldProblem(field="product", rule="it has no price")))
    policy_allows(uow, ctx, trader, request, mode, figures.notional, was, facts.marks)
    return OrderDecision(mode=mode, figures=figures, perp=facts.market.perp, counters=counters)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOrder:
    """An order that was decided about, and is not stored yet."""

    order: Order
    trader: TraderContext
    decided: OrderDecision


def prepare(
    uow: UnitOfWork, ctx: OrderContext, facts: OrderInputs, source: Source
) -> OperationResult:
    """Decide, reserve and store, all in this transaction. Errors: see `decide`."""
    created = decide_and_reserve(uow, ctx, facts, source)
    return store_order(uow, ctx, facts, created.trader, created.order, created.decided)


def decide_and_reserve(
    uow: UnitOfWork,
    ctx: OrderContext,
    facts: OrderInputs,
    source: Source,
    *,
    at_once: bool = False,
) -> NewOrder:
    """Decide and reserve. Errors: see `decide`.

    `at_once`: the order is filled in this transaction, and `reserved` after that. What is past was
    swept before.
    """
    trader = trader_context(
        uow,
        ctx.switches,
        ctx.config.trading,
        ctx.caller,
        "door" if source == "door" else "terminal",
    )
    book = _book(uow, ctx, facts, trader)
    decided = decide(uow, ctx, trader, facts)
    order = _order(ctx, trader, facts, decided, source, book)
    created = NewOrder(order=order, trader=trader, decided=decided)
    return created if at_once else replace(created, order=reserved(uow, created))


def _figures(
    facts: OrderInputs, request: OrderRequest, trader: TraderContext
) -> Priced | FieldProblem | None:
    state = facts.market
    if state.perp is None or state.quote is None or state.fault is not None:
        return None
    limit = trader.trading.order_slippage_bps
    return priced(request, state.perp, state.quote, most_bps=limit, at_cap=state.at_cap)


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
    policy = _policy(uow, trader)
    limit = policy.slippage_bps if policy else None
    if limit is None or request.slippage_bps is None or request.slippage_bps <= limit:
        return None
    rule = f"the agent's policy allows {limit} basis points"
    return FieldProblem(field="slippage_bps", rule=rule, nearest=str(limit))


def _policy(uow: UnitOfWork, trader: TraderContext) -> Policy | None:
    return uow.policies.get(trader.agent_id) if trader.agent_id else None


def _missing(trader: TraderContext, facts: OrderInputs) -> Missing | None:
    if trader.link is None and facts.mode == "live":
        return Missing(step="link")
    return facts.account.missing


def _caps(
    trader: TraderContext,
    request: OrderRequest,
    mode: Mode,
    amount: Usdc,
    counters: Mapping[Counter, DayUse],
    now: datetime,
) -> tuple[CapCheck, ...]:
    if request.reduce_only:
        # It opens nothing: live it is held to the limit of a close, and to no day's.
        return (per_close(trader, amount),) if mode == "live" else ()
    return (per_order(trader, amount), *day_checks(counters, amount, now))


def _order(
    ctx: OrderContext,
    trader: TraderContext,
    facts: OrderInputs,
    decided: OrderDecision,
    source: Source,
    book: str | None,
) -> Order:
    """The order with everything but its reservation."""
    request, mode, figures = facts.request, decided.mode, decided.figures
    if isinstance(request, FieldProblem):
        raise TypeError("an order is made of what was read whole")
    by: By = "agent" if trader.agent_id else "owner"
    waits = OWNER_HAS if by == "agent" and mode == "live" else ttl(trader)
    sign_mode: SignMode = "client" if mode == "live" else "none"
    return Order(
        order_id=ctx.ids.short("o_"),
        owner_id=trader.owner_id,
        agent_id=trader.agent_id,
        source=source,
        closing=False,
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
        notional=figures.notional,
        action=action_of(ctx, request, facts, decided),
        envelope=None,
        sign_mode=sign_mode,
        status=first_status(mode, by),
        version=1,
        attempt=1,
        by=by,
        mandate_id=request.mandate_id,
        intent_id=request.intent_id,
        why=request.why,
        asked=ctx.request.sent(),
        created_at=ctx.now,
        expires_at=ctx.now + waits,
        counted=ZERO,
        counted_day=None,
    )


def action_of(
    ctx: AnyContext, request: OrderRequest, facts: OrderInputs, decided: OrderDecision
) -> OrderAction:
    """The venue action of an order, under an id of its own."""
    return OrderAction(
        asset_id=decided.perp.asset_id,
        is_buy=request.side == "buy",
        limit_px=decided.figures.limit_px,
        size=decided.figures.size,
        reduce_only=request.reduce_only,
        tif=request.tif,
        cloid=new_cloid(ctx.ids),
        builder=None if request.reduce_only else facts.account.builder,
    )


def ttl(trader: TraderContext) -> timedelta:
    """The lifetime of a prepared order."""
    return timedelta(seconds=trader.trading.confirm_ttl_s)


def _book(
    uow: UnitOfWork, ctx: AnyContext, facts: OrderInputs, trader: TraderContext
) -> str | None:
    """The book of a paper order; a wrong one is a field that is wrong, and told before what the
    gate looks at. Errors: `wallet_invalid_order`, `not_configured` without paper books.
    """
    if isinstance(facts.request, FieldProblem) or facts.mode == "live":
        return None
    if facts.exchange is None:
        raise Refused(refusal("not_configured", what="a desk for paper orders"))
    return facts.exchange.book_for(
        uow,
        ctx.ids,
        ctx.now,
        owner_id=trader.owner_id,
        agent_id=trader.agent_id,
        name=facts.request.book,
    )


_WAITING: Final = NextStep(
    "Look which orders wait", "order_pending", "GET /wallet/order/pending", OWNER_OR_AGENT
)


def reserved(uow: UnitOfWork, created: NewOrder, used: Usdc | None = None) -> Order:
    """The order with its part of the day taken, or with what it `used` where it is done; what waits
    for its owner takes none yet.
    """
    order = created.order
    if order.status == "awaiting_owner":
        who, now = order.agent_id or "", order.created_at
        if uow.orders.pending_of_agent(who, now) >= PENDING_AN_AGENT:
            ends = uow.orders.first_to_end(who, now)
            why = f"{PENDING_AN_AGENT} orders of this agent wait already."
            raise Refused(
                refusal(
                    "rate_limited",
                    why=why,
                    retry_at=ends,
                    retry_safe=ends is not None,
                    next=(_WAITING,),
                )
            )
        return order
    if not created.decided.counters:
        return replace(order, counted=order.notional if used is None else used, counted_day=None)
    return reserve(uow, created.trader, order, order.created_at, used)


def store_order(
    uow: UnitOfWork,
    ctx: AnyContext,
    facts: OrderInputs,
    trader: TraderContext,
    order: Order,
    decided: OrderDecision,
    was: Order | None = None,
) -> OperationResult:
    """Give out what is to be signed, where it is time for that, and store the order."""
    confirm: str | None = None
    if order.status == "awaiting_signature":
        order, confirm = signable(uow, order, ctx.ids, ctx.now, order.expires_at)
    if was is None:
        uow.orders.add(order)
    else:
        order = uow.orders.save(order, was)
    on_paper = order.mode == "paper" and not is_reduce_only(order)
    end = (
        facts.exchange.liquidation_est(uow, order, decided.perp)
        if on_paper and facts.exchange
        else None
    )
    cap = cap_body(order, decided.counters)
    checks = checks_body(order, decided.figures, decided.perp, cap, end)
    status = 201 if was is None else 200
    return order_body(order, ctx.now, facts.venue, trader, confirm, checks, status)
