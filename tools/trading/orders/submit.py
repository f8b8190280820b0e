"""Order submission: checks once more, marks, sends once or fills, and reads the outcome."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Final

import anyio

from domain.money import Usdc
from domain.ports import Venue
from domain.refusals import Refusal, Refused, refusal
from domain.times import day_of
from domain.trading.order_caps import CapCheck, day_checks
from domain.trading.order_gate import FieldProblem, PositionSeen, not_ready, rejected
from domain.trading.orders import Order, OrderAction, is_reduce_only, next_status
from domain.trading.outcome import OrderEnd
from domain.trading.paper.order_execution import MarketSnapshot
from domain.trading.pricing import DELISTED, NoPrice, out_of_band, quote_of, within_slippage
from domain.trading.venue_account import Link, usable
from domain.trading.venue_values import ApprovedAgent, Position, Priority
from storage.unit_of_work import UnitOfWork
from tools.dispatch.request_context import request_context
from tools.model.fields import Nothing
from tools.model.operation import Caller, Deps
from tools.model.paper_port import PaperExchange
from tools.trading.fields import desk_of, venue_of
from tools.trading.orders.market_state import (
    agents_of,
    outage_reason,
    position_of,
    product,
    shown_position,
    too_high,
)
from tools.trading.orders.order_end import CountOrder, change_order, end_order
from tools.trading.orders.policy_checks import still_allowed
from tools.trading.orders.prepare import RETRY_AFTER, confirm_hash, marks_of_mandate
from tools.trading.orders.request_models import SignedConfirmation
from tools.trading.orders.reservations import release, reserve
from tools.trading.orders.response_models import order_json
from tools.trading.orders.status_sync import confirm_end, sync_fees, sync_status
from tools.trading.orders.trader_context import (
    TraderContext,
    per_close,
    per_order,
    require_allowed,
    surface_of,
    trader_context,
)

log = logging.getLogger("wallet.orders")
# An order that is marked as being sent for longer was left behind by a process that died.
LEFT_BEHIND: Final = timedelta(seconds=10)
PAPER_TAKES: Final = timedelta(seconds=60)
LOOK_AGAIN_S: Final = 1
NOBODYS: Final = "neither the linked wallet nor its order key signed these bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionCheck:
    """Facts read right before sending."""

    link: Link | None = None
    signer: str | None = None
    bad: str | None = None
    agents: tuple[ApprovedAgent, ...] | None = None
    fault: FieldProblem | None = None
    position: PositionSeen = "unasked"
    position_now: Mapping[str, object] | None = None
    silent: str | None = None
    marks: Mapping[str, Mapping[str, Decimal]] = field(default_factory=dict)


def confirm_id_matches(order: Order, text: str) -> bool:
    """Whether a confirm id is the order's; compared in constant time."""
    return order.confirm_hash is not None and hmac.compare_digest(
        order.confirm_hash, confirm_hash(text)
    )


async def send(
    deps: Deps, caller: Caller, order: Order, signed: SignedConfirmation | None
) -> Order:
    """Send a signed order once, or fill one on paper (without a signature) on the market's own
    book; the order as it stands after at most a few seconds.

    Errors: the 13, of a live one all before anything is sent but for `wallet_outcome_unknown`.
    """
    venue = venue_of(deps, order.network)
    checked = (
        SubmissionCheck(position="open" if order.closing else "unasked")
        if signed is None
        else await _checked(deps, venue, order, signed)
    )
    marked = await deps.store.write(lambda uow: _marked(uow, deps, caller, order, checked))
    if marked is None:
        return await reload(deps, order)
    if signed is None:
        return await _filled(deps, venue, marked)
    return require_known_outcome(await _sent(deps, venue, marked, signed.signature), deps)


def require_known_outcome(order: Order, deps: Deps) -> Order:
    """The order that was sent, if it is known what became of it. Errors:
    `wallet_outcome_unknown`."""
    if order.status not in ("unknown", "executing"):
        return order
    raise outcome_unknown(order, deps.clock.now(), cloid=order.action.cloid)


def outcome_unknown(order: Order, now: datetime, **more: object) -> Refused:
    """The refusal to say what became of an order."""
    detail = {"order_id": order.order_id, **more, "order": order_json(order, now)}
    return Refused(refusal("wallet_outcome_unknown", detail=detail, order_id=order.order_id))


async def reload(deps: Deps, order: Order) -> Order:
    """An order as it stands now."""
    stored = await deps.store.read(lambda uow: uow.orders.get(order.order_id))
    if stored is None:
        raise Refused(refusal("not_found", what="order"))
    return stored


async def _checked(
    deps: Deps, venue: Venue, order: Order, signed: SignedConfirmation
) -> SubmissionCheck:
    """The signature, the account and the market, as they are now."""
    link = await deps.store.read(lambda uow: uow.venue.link_of(order.owner_id, order.network))
    if order.envelope is None or not confirm_id_matches(order, signed.confirm_id):
        return SubmissionCheck(link=link, bad="the confirm_id is not this order's")
    try:
        signer = venue.action_signer(order.action, order.envelope, signed.signature)
    except Refused as refused:
        return SubmissionCheck(link=link, bad=outage_reason(refused))
    if link is None:
        return SubmissionCheck(link=None)
    check = SubmissionCheck(link=link, signer=signer)
    try:
        if signer != link.wallet:
            check = replace(check, agents=(await agents_of(venue, link)).value)
    except Refused as refused:
        return replace(check, silent=outage_reason(refused))
    if order.closing:
        return await _position(deps, venue, order, link, check)
    return await _opening(deps, venue, order, link, check)


async def _opening(
    deps: Deps, venue: Venue, order: Order, link: Link, check: SubmissionCheck
) -> SubmissionCheck:
    """Whether the market is still where it was, and the account's leverage within the limit."""
    market = await product(venue, deps, order.product)
    fault, silent = market.fault, market.silent
    if market.perp is not None and out_of_band(order.action.limit_px, market.perp):
        fault = FieldProblem(field="limit_px", rule="the market moved away; prepare it again")
    if market.perp is not None and market.perp.delisted:
        fault = DELISTED
    if fault is None and silent is None and not order.action.reduce_only:
        try:
            leverage = await venue.leverage(
                link.wallet, order.product, priority="order", max_age_s=0
            )
            fault = too_high(leverage.value.value, deps.config.trading.max_leverage)
        except Refused as refused:
            silent = outage_reason(refused)
    marks = await marks_of_mandate(deps, order.mandate_id)
    return replace(check, fault=fault, silent=silent, marks=marks)


async def _position(
    deps: Deps, venue: Venue, order: Order, link: Link, check: SubmissionCheck
) -> SubmissionCheck:
    """Whether the venue shows now what the close takes off, at a price that is near."""
    try:
        position = await position_of(venue, link, order.product)
        book = await venue.book(order.product, priority="close", max_age_s=1)
    except Refused as refused:
        return replace(check, position="unreadable", silent=outage_reason(refused))
    if position is None or not _only_reduces(order.action, position):
        now = shown_position(position) if position is not None else None
        return replace(check, position="none", position_now=now)
    check = replace(check, position="open")
    quote = quote_of(book.value, deps.clock.now())
    if isinstance(quote, NoPrice):
        return replace(check, silent=quote.reason)
    limit_px, bps, touch = order.action.limit_px, order.slippage_bps or 0, quote.touch(order.side)
    if within_slippage(limit_px, touch, bps, is_buy=order.action.is_buy):
        return check
    rule = "the market moved beyond the slippage; prepare again"
    return replace(check, fault=FieldProblem(field="limit_px", rule=rule))


def _only_reduces(action: OrderAction, position: Position) -> bool:
    """Whether an action can only reduce a position: reduce-only, immediate, on the other side, no
    larger, and without a builder fee.
    """
    return (
        action.reduce_only
        and action.tif == "ioc"
        and action.builder is None
        and action.is_buy == (position.size < 0)
        and action.size <= abs(position.size)
    )


# -- mark


def _marked(
    uow: UnitOfWork, deps: Deps, caller: Caller, read: Order, checked: SubmissionCheck
) -> Order | None:
    """Decide once more and mark the order as being sent; its confirm id is used up with that.

    None where somebody else has sent it. Errors: the 13, `conflict` where it was priced anew since
    its signature was looked at: that is over other bytes than would leave.
    """
    now = deps.clock.now()
    ctx = request_context(uow, deps, caller, now, request=Nothing())
    order = uow.orders.get(read.order_id, lock=True)
    ready = "prepared" if read.mode == "paper" else "awaiting_signature"
    if order is None or order.status != ready:
        return None
    if (order.envelope, order.action) != (read.envelope, read.action):
        raise Refused(refusal("conflict", why="The order was priced anew at the same time."))
    trader = trader_context(uow, ctx.switches, ctx.config.trading, caller, surface_of(order.source))
    bad, missing, fault = None, None, checked.fault
    if order.mode == "live":
        bad, missing = _signing_fault(uow, order, checked, now)
    elif now >= order.expires_at:
        fault = FieldProblem(field="order_id", rule="its time is up; prepare it again")
    require_allowed(
        replace(
            trader.gate_input,
            mode_seen=order.mode_seen or order.mode,
            closing=order.closing,
            prepared=None if order.closing else order.mode,
            names_book="book" in order.asked,
            product=order.product,
            fault=fault,
            missing=missing,
            caps=() if order.closing else caps_now(uow, trader, order, now),
            position=checked.position,
            position_now=checked.position_now,
            bad_signature=bad,
            outage_reason=checked.silent,
            retry_at=now + RETRY_AFTER,
            action=unsigned(order),
        )
    )
    if order.mode == "live" and not order.closing and order.network != trader.network:
        raise Refused(refusal("wallet_mode_changed", seen="live", mode=f"live on {trader.network}"))
    still_allowed(uow, ctx, order, checked.marks)
    return uow.orders.save(begun(counted_today(uow, trader, order, now), now), order)


def _signing_fault(
    uow: UnitOfWork, order: Order, checked: SubmissionCheck, now: datetime
) -> tuple[str | None, Refusal | None]:
    """The faults of the signature, and the step that its account lacks."""
    link = uow.venue.link_of(order.owner_id, order.network)
    key = uow.venue.key_in_use(link.link_id, "order") if link else None
    bad, missing = checked.bad, None
    if link is None or link.wallet != order.wallet:
        missing = not_ready("link")
    elif bad is None and checked.signer != link.wallet:
        if key is None or (checked.signer or "").lower() != key.agent:
            bad = NOBODYS
        elif not key.alive(now) or (
            checked.agents is not None and not usable(key, checked.agents, now)
        ):
            missing = not_ready("enable")
    if bad is None and now >= order.expires_at:
        bad = "its time is up"
    return bad, missing


def begun(order: Order, now: datetime) -> Order:
    """An order as it is being sent, or filled on paper. Where this process ends before it is known
    what became of it, the tick looks, and gives one on paper up.
    """
    takes = PAPER_TAKES if order.mode == "paper" else LEFT_BEHIND
    status = next_status(order.status, "execute")
    return replace(order, status=status, sent_at=now, next_check_at=now + takes, tries=0)


def unsigned(order: Order) -> dict[str, object]:
    """The order's figures, for an owner who acts at the venue by himself."""
    action = order.action
    return {
        "product": order.product,
        "side": order.side,
        "size": format(action.size, "f"),
        "limit_px": format(action.limit_px, "f"),
        "reduce_only": action.reduce_only,
        "tif": action.tif,
        "cloid": action.cloid,
    }


def caps_now(
    uow: UnitOfWork, trader: TraderContext, order: Order, now: datetime
) -> tuple[CapCheck, ...]:
    """The limits as they are now, without what the order itself has taken of them."""
    if order.counted_day is None:
        return (per_close(trader, order.notional),) if order.mode == "live" else ()
    uses = uow.order_counters.uses(trader.counters(order.mode, now))
    own = order.counted if order.counted_day == day_of(now) else Usdc(0)
    checks = day_checks(uses, order.notional, now)
    return (
        per_order(trader, order.notional),
        *(replace(c, used=max(Usdc(0), c.used - own)) for c in checks),
    )


def counted_today(uow: UnitOfWork, trader: TraderContext, order: Order, now: datetime) -> Order:
    """An order of yesterday that is sent today counts today. Errors: `wallet_over_cap`."""
    if order.counted_day is None or order.counted_day == day_of(now):
        return order
    return reserve(uow, trader, release(uow, order), now)


async def _sent(deps: Deps, venue: Venue, order: Order, signature: Mapping[str, object]) -> Order:
    """Post the bytes once, and know within a few seconds what became of them, or say so."""
    with anyio.move_on_after(deps.config.trading.result_s):
        await _carried(deps, venue, order, signature)
    stored = await reload(deps, order)
    if stored.status == "executing":
        stored = await ended(deps, stored, OrderEnd(transition="lose"))
    return stored


async def _carried(deps: Deps, venue: Venue, order: Order, signature: Mapping[str, object]) -> None:
    """Post, write the answer down, and ask where there was none."""
    priority: Priority = "close" if order.closing else "order"
    if order.envelope is None:
        raise TypeError("an order that was marked has bytes")
    try:
        placed = await venue.place(order.action, order.envelope, signature, priority=priority)
    except Refused as refused:
        nothing = venue_silent(deps, refused)
        await ended(deps, order, OrderEnd.refused(nothing.refusal))
        raise nothing from None
    result = await ended(deps, order, await confirm_end(venue, order, placed, priority))
    if result.status == "executed":
        await sync_fees(deps, result)
    elif result.status == "resting":
        await _looked(deps, result, priority)
    while result.status == "unknown":
        result = await _looked(deps, result, priority)
        if result.status == "unknown":
            await anyio.sleep(LOOK_AGAIN_S)


def venue_silent(deps: Deps, refused: Refused) -> Refused:
    """The refusal of what was not sent because the venue does not answer."""
    why, soon = outage_reason(refused), deps.clock.now() + RETRY_AFTER
    return Refused(refusal("wallet_venue_unavailable", why=why, retry_at=soon))


async def _looked(deps: Deps, order: Order, priority: Priority) -> Order:
    """The order by the venue's status now; unchanged where the venue does not answer."""
    try:
        return await sync_status(deps, order, priority)
    except Refused as refused:
        log.info("order %s: %s", order.order_id, refused.refusal.reason)
        return order


async def ended(
    deps: Deps,
    order: Order,
    end: OrderEnd | Callable[[UnitOfWork, Order, datetime], OrderEnd],
) -> Order:
    """Write the end down; where the tick was first, its word stands."""
    now = deps.clock.now()

    def change(uow: UnitOfWork, was: Order) -> Order:
        return end_order(uow, was, end(uow, was, now) if callable(end) else end, now)

    return await change_order(deps, order, change)


# -- on paper


MarketAhead = MarketSnapshot | Refused


async def market_ahead(
    deps: Deps, venue: Venue, product: str, *, latency: timedelta, reduces: bool
) -> MarketAhead:
    """Prices that a paper order accepted now is filled at, or why it will not be. They are waited
    for with no transaction open.
    """
    try:
        return await desk_of(deps).snapshot(venue, product, latency=latency, reduces=reduces)
    except Refused as refused:
        return refused


async def _filled(deps: Deps, venue: Venue, marked: Order) -> Order:
    """Fill a paper order that is marked as being executed. Errors: the 13."""
    exchange = desk_of(deps)
    latency = await deps.store.read(lambda uow: exchange.latency(uow, marked.owner_id, marked.book))
    ahead = await market_ahead(
        deps, venue, marked.product, latency=latency, reduces=is_reduce_only(marked)
    )
    result = await ended(deps, marked, partial(paper_end, exchange, ahead))
    if isinstance(ahead, Refused):
        raise ahead
    return result


def fill_at_once(
    uow: UnitOfWork, deps: Deps, order: Order, ahead: MarketAhead, count: CountOrder
) -> Order:
    """Store a new paper order with what became of it, decided about, stored and filled in one
    transaction: a process that ends meanwhile leaves nothing behind.

    `count` takes its part of the day, after the book and the snapshot: whoever looks at orders that
    wait locks those first, and the day's counters last.
    """
    now = deps.clock.now()
    order = begun(order, now)
    end = paper_end(desk_of(deps), ahead, uow, order, now)
    return end_order(uow, order, end, now, first=count)


def paper_end(
    exchange: PaperExchange, ahead: MarketAhead, uow: UnitOfWork, order: Order, now: datetime
) -> OrderEnd:
    """Write the execution of a paper order into its book; the order's end by it."""
    if isinstance(ahead, Refused):
        return OrderEnd.refused(ahead.refusal)
    execution = exchange.fill(uow, order, ahead, now)
    if execution.refused is not None:
        return OrderEnd.refused(execution.refused)
    if execution.rests:
        return OrderEnd(transition="rest", fills=execution.fills, venue_message=execution.word)
    if execution.fills:
        return OrderEnd(
            transition="fill", fills=execution.fills, fills_complete=True, venue_message="filled"
        )
    return OrderEnd.refused(rejected("nobody stands within the limit", "no_liquidity"))
