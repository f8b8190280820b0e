"""Owner's overview at the door: identity, positions and limits."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from pydantic import Field

from domain.refusals import Refusal, Refused, refusal
from domain.trading.indices import text, usdc_text
from domain.trading.limit_log import limits_change
from domain.trading.order_caps import OrderLimits
from domain.trading.order_gate import FieldProblem, limit_raise
from domain.trading.order_input import amount_of
from domain.trading.throttle import A_MINUTE, AN_HOUR
from domain.trading.venue_account import Link, usable
from domain.trading.venue_values import (
    NETWORKS,
    CachedValue,
    DexAccount,
    Network,
    Position,
    Priority,
)
from storage.unit_of_work import UnitOfWork
from tools.model.fields import Nothing
from tools.model.operation import (
    Caller,
    Deps,
    HandlerResult,
    Operation,
    RequestContext,
    ResponseModel,
)
from tools.trading.account.status import approved_agents
from tools.trading.fields import (
    Amount,
    Figure,
    NetworkName,
    TimestampText,
    own_write,
    signed_in,
    venue_of,
)
from tools.trading.orders.market_state import AGENTS_S, FIRST_DEX
from tools.trading.orders.queries import CapOut, LimitsPair, caps_of, pair
from tools.trading.orders.request_models import LimitsIn, refuse_first
from tools.trading.orders.response_models import MaybePx, ModeName, Size
from tools.trading.orders.trader_context import (
    TraderContext,
    load_trader,
    require_allowed,
    throttle_key,
    trader_context,
)

POSITIONS_S: Final = 15
# The venue shows what an order did this long after it was sent or ended at the latest.
SHOWN_AFTER: Final = timedelta(seconds=3)
_LIMITS: Final = ("per_order_usdc", "per_day_usdc")


class Locks(ResponseModel):
    """The conditions of a live order; null where the venue does not say."""

    door: bool
    mainnet: bool
    allowlist: bool
    linked: bool
    order_key: bool | None
    builder_fee: bool | None = Field(description="never required")


class ThrottleTold(ResponseModel):
    """Orders and closes together, of one wallet and in one process of the service."""

    per_minute: int
    per_hour: int
    left_minute: int
    left_hour: int
    per_process: bool


class MeOut(ResponseModel):
    """The caller, as the trading routes know it."""

    user: str
    wallet: str | None
    mode: ModeName
    network: NetworkName
    locks: Locks
    limits: LimitsPair
    used_today: CapOut
    throttle: ThrottleTold
    books: list[str]


class PositionOut(ResponseModel):
    """One open position. Units: USDC."""

    product: str
    mode: ModeName
    network: NetworkName
    book: str | None
    side: str = Field(description="long or short")
    size: Size
    entry_px: Figure
    mark_px: Figure
    value_usdc: Amount
    unrealized_usdc: Amount
    liquidation_px: MaybePx
    margin_mode: str = Field(description="cross or isolated")
    leverage: int | None
    can_close: bool
    est: bool


class PositionsOut(ResponseModel):
    """Positions, live and on paper apart; live ones are null while the venue is silent."""

    live: list[PositionOut] | None
    paper: list[PositionOut]
    as_of: TimestampText
    stale: bool


class LimitsOut(ResponseModel):
    """The door's limits as they stand."""

    own: LimitsPair
    operator: LimitsPair
    effective: LimitsPair
    changed: bool


# -- me


async def me(deps: Deps, caller: Caller, request: Nothing) -> HandlerResult[MeOut]:
    """The caller as the trading routes know it, and the locks that are open."""
    trader, now = await load_trader(deps, caller, "door"), deps.clock.now()
    key: bool | None = False
    if trader.link is not None:
        agents = await approved_agents(deps, trader.link, max_age_s=AGENTS_S)
        key = None if agents is None or agents.stale else usable(trader.key, agents.value, now)
    minute, hour = deps.throttle.remaining(throttle_key(trader.link, trader.owner_id), now)
    on = trader.switches

    def read(uow: UnitOfWork) -> MeOut:
        return MeOut(
            user=signed_in(caller),
            wallet=trader.link.wallet if trader.link else None,
            mode=trader.mode,
            network=trader.network,
            locks=Locks(
                door=on.live_door,
                mainnet=on.venue_mainnet,
                allowlist=trader.allowed,
                linked=trader.link is not None,
                order_key=key,
                builder_fee=_fee(uow, trader),
            ),
            limits=pair(trader.limits),
            used_today=caps_of(uow, trader, now),
            throttle=ThrottleTold(
                per_minute=A_MINUTE,
                per_hour=AN_HOUR,
                left_minute=minute,
                left_hour=hour,
                per_process=True,
            ),
            books=list(deps.paper.books(uow, trader.owner_id)) if deps.paper else [],
        )

    return HandlerResult(await deps.store.read(read))


def _fee(uow: UnitOfWork, trader: TraderContext) -> bool | None:
    """Whether the venue said last that the builder fee is approved; None without a builder."""
    builder, link = trader.trading.builder_address, trader.link
    if builder is None or link is None:
        return None
    row = uow.builder_fees.get(link.network, link.wallet, builder)
    return bool(row and row.approved_tenths_bps)


# -- positions


async def positions(deps: Deps, caller: Caller, request: Nothing) -> HandlerResult[PositionsOut]:
    """Positions of every linked account, shown whether or not live orders are on, and of paper."""
    user, now = signed_in(caller), deps.clock.now()

    def read(uow: UnitOfWork) -> tuple[list[Link], list[PositionOut], datetime | None]:
        linked = [link for n in NETWORKS if (link := uow.venue.link_of(user, n)) is not None]
        held = deps.paper.positions(uow, user) if deps.paper else []
        paper = [_position(p.position, "mainnet", p.book) for p in held]
        return linked, paper, uow.orders.moved_at(user)

    links, paper, moved = await deps.store.read(read)
    max_age_s = _max_age_s(moved, now)
    dexes = (FIRST_DEX, *deps.config.trading.dexes)
    reads = [(link, dex) for link in links for dex in dexes]
    accounts = await asyncio.gather(*(_account(deps, link, dex, max_age_s) for link, dex in reads))
    answered = [account for account in accounts if account is not None]
    silent = len(answered) < len(accounts)
    live = [
        _position(position, link.network, None)
        for (link, _), account in zip(reads, accounts, strict=True)
        if account is not None
        for position in account.value.positions
        if position.size
    ]
    return HandlerResult(
        PositionsOut(
            live=None if silent else live,
            paper=paper,
            as_of=min((t.as_of for t in answered), default=now),
            stale=silent or any(t.stale for t in answered),
        )
    )


def _max_age_s(moved: datetime | None, now: datetime) -> int:
    """Seconds for which positions may be held: none that were read before the person's own orders
    had moved them.
    """
    if moved is None:
        return POSITIONS_S
    return max(0, min(POSITIONS_S, int((now - moved - SHOWN_AFTER).total_seconds())))


async def _account(
    deps: Deps, link: Link, dex: str, max_age_s: int
) -> CachedValue[DexAccount] | None:
    venue = venue_of(deps, link.network)
    # What a person's own order did is not a page's to wait for.
    priority: Priority = "page" if max_age_s == POSITIONS_S else "order"
    try:
        return await venue.account(link.wallet, dex, priority=priority, max_age_s=max_age_s)
    except Refused:
        return None


def _position(position: Position, network: Network, book: str | None) -> PositionOut:
    """A position, on paper where it is in a book."""
    size, value = abs(position.size), position.value
    return PositionOut(
        product=position.coin,
        mode="live" if book is None else "paper",
        network=network,
        book=book,
        side="long" if position.size > 0 else "short",
        size=format(size, "f"),
        entry_px=text(position.entry_px),
        mark_px=None if value is None else text((value / size).normalize()),
        value_usdc=usdc_text(value),
        unrealized_usdc=usdc_text(position.unrealized),
        liquidation_px=text(position.liquidation_px),
        margin_mode="cross" if position.cross else "isolated",
        leverage=position.leverage,
        can_close=True,
        est=book is not None,
    )


# -- limits


def put_limits(uow: UnitOfWork, ctx: RequestContext[LimitsIn, None]) -> HandlerResult[LimitsOut]:
    """Lower the door's own limits, all of what is asked or nothing.

    Errors: `wallet_invalid_order`; `wallet_limit_raise` where one would go up, whatever races.
    """
    trader = trader_context(uow, ctx.switches, ctx.config.trading, ctx.caller, "door")
    request = ctx.request
    refuse_first(request.wrong(*_LIMITS))
    order, day = amount_of(request.per_order_usdc), amount_of(request.per_day_usdc)
    if order is None and day is None:
        refuse_first([FieldProblem(field=_LIMITS[0], rule="one limit or both")])
    uow.own_limits.begin(trader.owner_id, "door", trader.own)
    was = uow.own_limits.get(trader.owner_id, "door", lock=True) or trader.own
    trader = replace(trader, own=was)
    after = OrderLimits(
        per_order=was.per_order if order is None else order,
        per_day=was.per_day if day is None else day,
    )
    require_allowed(
        replace(trader.gate_input, mode_seen="paper", names_book=True, raised=_raised(was, after))
    )
    if after != was:
        if not uow.own_limits.reduce(trader.owner_id, "door", after):
            raise Refused(refusal("conflict", why="The limits were changed at the same time."))
        uow.limit_log.add(limits_change(trader.owner_id, "door", was, after, ctx.now))
    return HandlerResult(
        LimitsOut(
            own=pair(after),
            operator=pair(trader.operator),
            effective=pair(after.within(trader.operator)),
            changed=after != was,
        )
    )


def _raised(was: OrderLimits, after: OrderLimits) -> Refusal | None:
    if after.per_order > was.per_order:
        return limit_raise("per_order_usdc", was)
    return limit_raise("per_day_usdc", was) if after.per_day > was.per_day else None


_own: Final = partial(
    Operation,
    auth="owner",
    request_model=Nothing,
    sessions_only=True,
    family="trade door",
    refusals=("not_configured",),
)
OPERATIONS: Final = (
    _own(
        name="trade_me",
        title="Read who you are to the door",
        summary="Live or paper, which locks are open, your limits and what is used of them.",
        route=("GET", "/app/trade/me"),
        response_model=MeOut,
        pass_through=me,
        open_world=True,
    ),
    _own(
        name="trade_positions",
        title="Read your positions",
        summary="Open positions, live and on paper apart.",
        route=("GET", "/app/trade/positions"),
        response_model=PositionsOut,
        pass_through=positions,
        open_world=True,
    ),
    _own(
        name="trade_limits",
        title="Lower your limits",
        summary="Set lower limits of your own; they never go up here. 0 stops new orders.",
        route=("PUT", "/app/trade/limits"),
        request_model=LimitsIn,
        response_model=LimitsOut,
        handler=put_limits,
        writes=True,
        idempotent=True,
        idempotency=own_write("/app/trade/limits"),
        refusals=(
            "wallet_invalid_order",
            "wallet_limit_raise",
            "conflict",
            "secret_not_accepted",
        ),
    ),
)
