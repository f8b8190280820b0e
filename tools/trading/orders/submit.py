"""Order submission: checks once more, marks, sends once, and reads the outcome."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

import anyio

from domain.money import Usdc
from domain.ports import Venue
from domain.refusals import Refused, refusal
from domain.times import day_of
from domain.trading.order_caps import CapCheck, day_checks
from domain.trading.order_gate import FieldProblem, GateInput, Missing, PositionSeen
from domain.trading.orders import Order, next_status
from domain.trading.outcome import OrderEnd
from domain.trading.pricing import (
    NoPrice,
    out_of_band,
    quote_of,
    within_slippage,
)
from domain.trading.venue_account import AgentKey, Link, usable
from domain.trading.venue_values import ApprovedAgent, Priority
from storage.unit_of_work import UnitOfWork
from tools.dispatch.request_context import request_context
from tools.model.fields import Nothing
from tools.model.operation import Caller, Deps
from tools.trading.fields import venue_of
from tools.trading.orders.create import marks_of_mandate
from tools.trading.orders.market_state import agents_of, outage_reason, product, too_high
from tools.trading.orders.order_end import end_order
from tools.trading.orders.policy_checks import still_allowed
from tools.trading.orders.positions import LocatedPosition, only_reduces, place_of
from tools.trading.orders.reservations import release, reserve
from tools.trading.orders.response_models import order_json
from tools.trading.orders.signing_request import confirm_hash
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
LOOK_AGAIN_S: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedConfirmation:
    """The owner's confirmation: the id that was shown once, and the signature."""

    confirm_id: str
    signature: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionCheck:
    """Facts read right before sending."""

    link: Link | None
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


async def send_live(deps: Deps, caller: Caller, order: Order, signed: SignedConfirmation) -> Order:
    """Send a signed order once; the order as it stands after at most a few seconds.

    Errors: the 13, all of them before anything is sent but for `wallet_outcome_unknown`.
    """
    venue = venue_of(deps, order.network)
    checked = await _checked(deps, venue, order, signed)

    def mark(uow: UnitOfWork) -> Order | None:
        return _marked(uow, deps, caller, order, checked)

    marked = await deps.store.write(mark)
    if marked is None:
        return await reload(deps, order)
    return require_known_outcome(await _sent(deps, venue, marked, signed.signature), deps)


def require_known_outcome(order: Order, deps: Deps) -> Order:
    """The order that was sent, if it is known what became of it. Errors:
    `wallet_outcome_unknown`."""
    if order.status not in ("unknown", "executing"):
        return order
    raw = {
        "order_id": order.order_id,
        "cloid": order.action.cloid,
        "order": order_json(order, deps.clock.now()),
    }
    raise Refused(refusal("wallet_outcome_unknown", detail=raw, order_id=order.order_id))


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
        fault = FieldProblem(
            field="product", rule="it is delisted; the venue has settled its positions"
        )
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
        place: LocatedPosition | None = await place_of(venue, link, order.product)
        book = await venue.book(order.product, priority="close", max_age_s=1)
    except Refused as refused:
        return replace(check, position="unreadable", silent=outage_reason(refused))
    if place is None or not only_reduces(order.action, place.position):
        now = place.as_item() if place is not None else None
        return replace(check, position="none", position_now=now)
    quote = quote_of(book.value, deps.clock.now())
    if isinstance(quote, NoPrice):
        return replace(check, position="open", silent=quote.reason)
    bps = order.slippage_bps or 0
    is_buy = order.action.is_buy
    touch = quote.touch(order.side)
    if not within_slippage(order.action.limit_px, touch, bps, is_buy=is_buy):
        fault = FieldProblem(
            field="limit_px", rule="the market moved beyond the slippage; prepare again"
        )
        return replace(check, position="open", fault=fault)
    return replace(check, position="open")


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
    if order is None or order.status != "awaiting_signature":
        return None
    if (order.envelope, order.action) != (read.envelope, read.action):
        raise Refused(refusal("conflict", why="The order was priced anew at the same time."))
    trader = trader_context(uow, ctx.switches, ctx.config.trading, caller, surface_of(order.source))
    link = uow.venue.link_of(order.owner_id, order.network)
    key = uow.venue.key_in_use(link.link_id, "order") if link else None
    require_allowed(_attempt(uow, trader, order, checked, link, key, now))
    if not order.closing and order.network != trader.network:
        raise Refused(refusal("wallet_mode_changed", seen="live", mode=f"live on {trader.network}"))
    still_allowed(uow, ctx, order, checked.marks)
    after = counted_today(uow, trader, order, now)
    after = replace(
        after,
        status=next_status(order.status, "execute"),
        sent_at=now,
        next_check_at=now + LEFT_BEHIND,
        tries=0,
    )
    return uow.orders.save(after, order)


def _attempt(
    uow: UnitOfWork,
    trader: TraderContext,
    order: Order,
    checked: SubmissionCheck,
    link: Link | None,
    key: AgentKey | None,
    now: datetime,
) -> GateInput:
    bad, missing = checked.bad, None
    if link is None or link.wallet != order.wallet:
        missing = Missing(step="link")
    elif bad is None and checked.signer != link.wallet:
        if key is None or (checked.signer or "").lower() != key.agent:
            bad = "neither the linked wallet nor its order key signed these bytes"
        elif not key.alive(now) or (
            checked.agents is not None and not usable(key, checked.agents, now)
        ):
            missing = Missing(step="enable")
    if bad is None and now >= order.expires_at:
        bad = "its time is up"
    return trader.attempt(
        mode_seen=order.mode_seen or order.mode,
        closing=order.closing,
        prepared=None if order.closing else order.mode,
        product=order.product,
        fault=checked.fault,
        missing=missing,
        caps=() if order.closing else caps_now(uow, trader, order, now),
        position=checked.position,
        position_now=checked.position_now,
        bad_signature=bad,
        outage_reason=checked.silent,
        retry_at=now + timedelta(seconds=2),
        action=unsigned(order),
    )


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
        why, soon = outage_reason(refused), deps.clock.now() + timedelta(seconds=2)
        nothing = refusal("wallet_venue_unavailable", why=why, retry_at=soon)
        end = OrderEnd(transition="refuse", refusal=nothing, fills_complete=True)
        await ended(deps, order, end)
        raise Refused(nothing) from None
    result = await ended(deps, order, await confirm_end(venue, order, placed, priority))
    if result.status == "executed":
        await sync_fees(deps, result)
    elif result.status == "resting":
        await _looked(deps, result, priority)
    while result.status == "unknown":
        result = await _looked(deps, result, priority)
        if result.status == "unknown":
            await anyio.sleep(LOOK_AGAIN_S)


async def _looked(deps: Deps, order: Order, priority: Priority) -> Order:
    """The order by the venue's status now; unchanged where the venue does not answer."""
    try:
        return await sync_status(deps, order, priority)
    except Refused as refused:
        log.info("order %s: %s", order.order_id, refused.refusal.reason)
        return order


async def ended(deps: Deps, order: Order, end: OrderEnd) -> Order:
    """Write the end down; where the tick was first, its word stands."""
    now = deps.clock.now()

    def work(uow: UnitOfWork) -> Order:
        was = uow.orders.get(order.order_id, lock=True)
        if was is None or was.version != order.version:
            return was or order
        return end_order(uow, was, end, now)

    return await deps.store.write(work)
