"""Amendments: an owner reprices an order, or cancels it."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from domain.ports import Venue
from domain.refusals import Refused, refusal
from domain.trading.order_gate import rejected
from domain.trading.orders import (
    DONE,
    UNSENT,
    CancelAction,
    Envelope,
    Order,
    next_status,
)
from domain.trading.venue_account import AgentKey, Link, milliseconds
from storage.unit_of_work import UnitOfWork
from tools.model.operation import (
    Caller,
    Deps,
    ExternalEffect,
    HandlerResult,
    RequestContext,
)
from tools.trading.fields import LOOK_AT_WAITING, order_write, venue_of
from tools.trading.orders.market_state import outage_reason
from tools.trading.orders.order_end import given_up
from tools.trading.orders.prepare import (
    OrderFacts,
    action_of,
    ask_venue,
    confirm_hash,
    decide,
    new_confirm_id,
    next_nonce,
    store_order,
    ttl,
)
from tools.trading.orders.request_models import (
    STEP_TWO,
    CancelIn,
    OrderIn,
    SignedConfirmation,
    SingleOrderIn,
    parse_order,
    signed_of,
)
from tools.trading.orders.reservations import release, reserve
from tools.trading.orders.response_models import PreparedOut, prepared_out, to_sign
from tools.trading.orders.routes import (
    CITING,
    ORDER_REFUSALS,
    WRITES,
    order_operation,
    prepared,
    visible_order,
)
from tools.trading.orders.status_sync import VenueLook, sync_status
from tools.trading.orders.submit import NOBODYS, outcome_unknown, reload, venue_silent
from tools.trading.orders.trader_context import counted, load_trader, surface_of, trader_context

CANCEL_S: Final = 120


def _conflict(reason: str) -> Refused:
    return Refused(refusal("conflict", why=reason))


# -- open


@dataclass(frozen=True, slots=True, kw_only=True)
class Repricing:
    """An order with what the venue says of its product now; `sent`: the venue has it already."""

    facts: OrderFacts
    sent: bool


async def gather_open(deps: Deps, caller: Caller, request: SingleOrderIn) -> Repricing:
    """Ask for a new price, and whether earlier bytes of the order arrived after all."""
    order = await deps.store.read(lambda uow: visible_order(uow, caller, request.order_id))
    trader = await load_trader(deps, caller, surface_of(order.source))
    fields = {n: v for n, v in order.asked.items() if n in OrderIn.model_fields}
    order_request = parse_order(OrderIn.model_validate(fields, strict=True))
    facts = await ask_venue(deps, order_request, trader)
    sent = False
    if order.envelope is not None and order.wallet is not None:
        try:
            venue = venue_of(deps, order.network)
            _, venue_state = await VenueLook(venue, order, "order").pricing()
        except Refused as refused:
            why = outage_reason(refused)
            raise Refused(refusal("wallet_venue_unavailable", why=why)) from None
        sent = venue_state is not None
    return Repricing(facts=facts, sent=sent)


def open_order(
    uow: UnitOfWork, ctx: RequestContext[SingleOrderIn, Repricing]
) -> HandlerResult[PreparedOut]:
    """Price the order anew and give out what is to be signed; the former confirm id is void.

    Errors: `conflict` for an order that is past this, the 13, the mandate's.
    """
    was = visible_order(uow, ctx.caller, ctx.request.order_id, lock=True)
    facts = ctx.facts.facts
    if was.status not in ("awaiting_owner", "awaiting_signature") or ctx.now >= was.expires_at:
        raise _conflict("The order waits for no signature any more; prepare a new one.")
    if was.closing:
        raise _conflict("A close is prepared anew, not opened.")
    if ctx.facts.sent:
        raise _conflict("The venue has this order already; record it.")
    surface = surface_of(was.source)
    trader = trader_context(uow, ctx.switches, ctx.config.trading, ctx.caller, surface)
    place = (trader.network_of("live"), trader.wallet_of("live"))
    if was.envelope is not None and place != (was.network, was.wallet):
        raise _conflict("It is for another network or wallet than yours is now; prepare a new one.")
    if was.agent_id is not None:
        # Its owner's word for the agent is looked at below: before the counters, as by all others.
        uow.identities.agent(was.agent_id, lock=True)
    freed = release(uow, was)
    decided = decide(uow, ctx, replace(trader, agent_id=was.agent_id), facts, was=was)
    order = replace(
        freed,
        status=next_status(was.status, "open"),
        action=action_of(ctx, facts, decided),
        network=place[0],
        wallet=place[1],
        notional=decided.figures.notional,
        leverage=facts.account.leverage,
        former=was.former if was.envelope is None else (*was.former, was.action),
        attempt=was.attempt + 1,
        expires_at=ctx.now + ttl(trader),
    )
    if decided.counters:
        order = reserve(uow, trader, order, ctx.now)
    else:
        order = replace(order, counted=order.notional, counted_day=None)
    return prepared(store_order(uow, ctx, facts, order, decided, was), 200)


# -- cancel


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelling:
    """A cancellation: done already, to be signed, or signed and to be sent; `given_out`: the order
    was not sent from here, and the browser has its bytes.
    """

    order: Order
    given_out: bool = False
    link: Link | None = None
    key: AgentKey | None = None
    signed: SignedConfirmation | None = None
    confirm: str | None = None


def begin_cancel(uow: UnitOfWork, ctx: RequestContext[CancelIn, None]) -> Cancelling:
    """Take back what was not sent; for what rests at the venue give out or read a signature.

    No switch stands in the way. Errors: `conflict` while nobody knows what became of it,
    `forbidden` for an agent that would take back a live order at the venue.
    """
    order = visible_order(uow, ctx.caller, ctx.request.order_id, lock=True)
    if order.status in DONE:
        return Cancelling(order=order)
    if order.status == "awaiting_signature":
        return Cancelling(order=order, given_out=True)
    if order.status in UNSENT or (order.status == "resting" and order.mode == "paper"):
        return Cancelling(order=given_up(uow, order, "cancel", ctx.now))
    if order.status != "resting":
        raise _conflict("It is not known yet what became of the order.")
    if ctx.caller.role == "agent":
        raise Refused(refusal("forbidden", why="its owner signs what the venue is told"))
    link = uow.venue.link_of(order.owner_id, order.network)
    key = uow.venue.key_in_use(link.link_id, "order") if link else None
    if STEP_TWO & ctx.request.sent().keys():
        return Cancelling(order=order, link=link, key=key, signed=signed_of(ctx.request))
    confirm, until = new_confirm_id(ctx.ids), ctx.now + timedelta(seconds=CANCEL_S)
    nonce = next_nonce(uow, order, ctx.now)
    envelope = Envelope(nonce=nonce, expires_after=milliseconds(until))
    after = replace(order, cancelling=envelope, cancel_hash=confirm_hash(confirm))
    return Cancelling(order=uow.orders.save(after, order), link=link, key=key, confirm=confirm)


async def cancel(deps: Deps, caller: Caller, started: Cancelling) -> PreparedOut:
    """Send a signed cancellation, and say how the order stands then."""
    order, now = started.order, deps.clock.now()
    if started.signed is not None:
        order = await _sent(deps, started, started.signed)
    elif started.given_out:
        order = await _taken_back(deps, order)
    signing = None
    if started.confirm is not None and order.cancelling is not None:
        venue = venue_of(deps, order.network)
        signing = to_sign(venue, order, _action(order), order.cancelling, started.key)
    return prepared_out(order, now, confirm=started.confirm, signing=signing)


async def _taken_back(deps: Deps, order: Order) -> Order:
    """Take back an order whose bytes the browser has, unless the venue has it: then it is what the
    venue says. Errors: `wallet_venue_unavailable`; the bytes end soon by themselves.
    """
    try:
        synced = await sync_status(deps, order, priority="close")
    except Refused as refused:
        raise venue_silent(deps, refused) from None
    if synced.status != "awaiting_signature":
        return synced
    now = deps.clock.now()

    def work(uow: UnitOfWork) -> Order:
        was = uow.orders.get(order.order_id, lock=True)
        if was is None or was.version != synced.version:
            raise _conflict("The order was changed by another request at the same time.")
        return given_up(uow, was, "cancel", now)

    return await deps.store.write(work)


def _action(order: Order) -> CancelAction:
    return CancelAction(asset_id=order.action.asset_id, cloid=order.action.cloid)


async def _sent(deps: Deps, started: Cancelling, signed: SignedConfirmation) -> Order:
    order, venue = started.order, venue_of(deps, started.order.network)
    envelope = _checked(deps, venue, started, signed)
    try:
        placed = await venue.place(_action(order), envelope, signed.signature, priority="close")
    except Refused as refused:
        raise venue_silent(deps, refused) from None
    if placed.outcome == "refused" and placed.kind != "no_order":
        raise Refused(rejected(placed.words, placed.kind))
    # Neither its cancellation nor its status knows it: then it can stand nowhere any more.
    gone = placed.outcome == "refused"
    try:
        synced = await sync_status(deps, order, "close", forgotten=gone)
    except Refused:
        synced = await reload(deps, order)
    if synced.status == "resting":
        raise outcome_unknown(synced, deps.clock.now())
    return synced


def _checked(deps: Deps, venue: Venue, started: Cancelling, signed: SignedConfirmation) -> Envelope:
    """The bytes, if the owner signed them. Errors: `wallet_signature_invalid`."""
    order, now = started.order, deps.clock.now()
    envelope = order.cancelling
    digest = confirm_hash(signed.confirm_id)
    if envelope is None or not hmac.compare_digest(order.cancel_hash or "", digest):
        raise _bad("the confirm_id is not this cancellation's")
    if milliseconds(now) >= envelope.expires_after:
        raise _bad("its time is up")
    try:
        signer = venue.action_signer(_action(order), envelope, signed.signature)
    except Refused as refused:
        raise _bad(outage_reason(refused)) from None
    signed_by_key = (
        started.key is not None
        and started.key.alive(now)
        and (signer or "").lower() == started.key.agent
    )
    if not signed_by_key and (started.link is None or signer != started.link.wallet):
        raise _bad(NOBODYS)
    return envelope


def _bad(reason: str) -> Refused:
    return Refused(refusal("wallet_signature_invalid", why=reason))


def finish_cancel(
    uow: UnitOfWork, ctx: RequestContext[CancelIn, None], started: Cancelling, shown: PreparedOut
) -> HandlerResult[PreparedOut]:
    """The order as it stands."""
    return prepared(shown, 200)


OPERATIONS: Final = (
    order_operation(
        name="order_open",
        title="Open an order",
        summary="Price an order anew and get what to sign; an earlier confirm_id is void.",
        auth="owner",
        route=("POST", "/wallet/order/{order_id}/open"),
        request_model=SingleOrderIn,
        response_model=PreparedOut,
        handler=open_order,
        gather=gather_open,
        count_call=counted,
        idempotency=order_write("open"),
        refusals=(*ORDER_REFUSALS, *CITING, *WRITES),
    ),
    order_operation(
        name="order_cancel",
        title="Cancel an order",
        summary="Take an order back; one that rests at the venue by a signature of its owner.",
        route=("POST", "/wallet/order/{order_id}/cancel"),
        request_model=CancelIn,
        response_model=PreparedOut,
        effect=ExternalEffect(
            begin=begin_cancel, act=cancel, finish=finish_cancel, reconcile=(LOOK_AT_WAITING,)
        ),
        destructive=True,
        idempotent=True,
        idempotency=order_write("cancel"),
        refusals=(
            "wallet_invalid_order",
            "wallet_signature_invalid",
            "wallet_venue_rejected",
            "wallet_venue_unavailable",
            "wallet_outcome_unknown",
            "not_found",
            *WRITES,
            "outcome_unknown",
        ),
    ),
)
