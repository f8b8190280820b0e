"""Market and account state at the venue, read before an order is decided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from domain.ports import Venue
from domain.refusals import Refusal, Refused
from domain.trading.builder_fee import order_fee
from domain.trading.indices import dex_of, text
from domain.trading.modes import Mode
from domain.trading.order_gate import FieldProblem, not_ready
from domain.trading.orders import PaidBuilder
from domain.trading.pricing import NoPrice, Quote, quote_of, tradable
from domain.trading.venue_account import Link, usable
from domain.trading.venue_values import ApprovedAgent, CachedValue, Perp, Position, Priority
from tools.model.operation import Deps
from tools.trading.account.builder_fee import CHECK_S, approved_now
from tools.trading.fields import venue_of
from tools.trading.orders.trader_context import TraderContext

PERPS_S: Final = 20
BOOK_S: Final = 1
AGENTS_S: Final = 60
LEVERAGE_S: Final = 60
FIRST_DEX: Final = ""
_USDC: Final = 0
_POOLED: Final = frozenset({"unifiedAccount", "portfolioMargin"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketState:
    """A product as the venue has it now; `silent` says why a part is missing."""

    perp: Perp | None = None
    fault: FieldProblem | None = None
    quote: Quote | None = None
    at_cap: bool = False
    silent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountState:
    """A linked account as the venue has it now.

    `agents` are its approved keys as told last; `missing` what it lacks to trade the product.
    """

    agents: tuple[ApprovedAgent, ...] | None = None
    missing: Refusal | None = None
    fault: FieldProblem | None = None
    leverage: int | None = None
    builder: PaidBuilder | None = None
    silent: str | None = None


def problem_with(rule: str, nearest: str | None = None) -> FieldProblem:
    """The fault of a product."""
    return FieldProblem(field="product", rule=rule, nearest=nearest)


def outage_reason(refused: Refused) -> str:
    """The reason for which the venue gave no answer, in one clause."""
    return refused.refusal.reason.rstrip(".")


async def product(
    venue: Venue, deps: Deps, coin: str, *, priority: Priority = "order"
) -> MarketState:
    """A product of the allowed dexes, by its full name."""
    dex = dex_of(coin)
    if dex not in (FIRST_DEX, *deps.config.trading.dexes):
        return MarketState(fault=problem_with("its dex is not traded here"))
    try:
        perps = await venue.perps(dex, priority=priority, max_age_s=PERPS_S)
    except Refused as refused:
        if refused.code == "not_found":
            return MarketState(fault=problem_with(f"{coin} is none of the products"))
        return MarketState(silent=outage_reason(refused))
    if perps.stale:
        return MarketState(silent="its list of products is not fresh")
    perp = next((p for p in perps.value if p.coin == coin), None)
    if perp is not None and perp.collateral_token not in (None, _USDC):
        return MarketState(fault=problem_with("it is not counted in USDC"))
    return MarketState(perp=perp)


async def market(
    deps: Deps, venue: Venue, coin: str, *, priority: Priority = "order", opens: bool = True
) -> MarketState:
    """A product with its touch; `opens`: also whether it takes more open interest."""
    state = await product(venue, deps, coin, priority=priority)
    if state.fault is not None or state.silent is not None:
        return state
    perp = tradable(state.perp, coin)
    if isinstance(perp, FieldProblem):
        return replace(state, fault=perp)
    try:
        book = await venue.book(coin, priority=priority, max_age_s=BOOK_S)
        capped = opens and coin in (await venue.at_open_interest_cap(perp.dex)).value
    except Refused as refused:
        return replace(state, silent=outage_reason(refused))
    quote = quote_of(book.value, deps.clock.now())
    if isinstance(quote, NoPrice):
        return replace(state, silent=quote.reason)
    return replace(state, quote=quote, at_cap=capped)


async def position_of(venue: Venue, link: Link, coin: str) -> Position | None:
    """A wallet's position in a product, read from the venue now; None where there is none.

    Errors: `venue_unavailable`.
    """
    cached = await venue.account(
        link.wallet, dex_of(coin), priority="close", max_age_s=0, fresh=True
    )
    return next((p for p in cached.value.positions if p.coin == coin and p.size), None)


def shown_position(position: Position) -> dict[str, object]:
    """A position as a refused close describes it."""
    return {
        "product": position.coin,
        "size": format(position.size, "f"),
        "entry_px": text(position.entry_px),
    }


async def agents_of(
    venue: Venue, link: Link, *, max_age_s: int = AGENTS_S, priority: Priority = "order"
) -> CachedValue[tuple[ApprovedAgent, ...]]:
    """The approved keys of a wallet, never older than a minute. Errors: `venue_unavailable`."""
    return await venue.agents(link.wallet, max_age_s=max_age_s, fresh=True, priority=priority)


async def account(
    deps: Deps,
    trader: TraderContext,
    perp: Perp | None,
    *,
    opens: bool,
    priority: Priority = "order",
) -> AccountState:
    """The state of a linked account for a live order: margin, leverage, approvals, and what is
    missing.
    """
    link = trader.link
    if link is None:
        return AccountState(missing=not_ready("link"))
    venue = venue_of(deps, link.network)
    try:
        agents = (await agents_of(venue, link, priority=priority)).value
        if not usable(trader.key, agents, deps.clock.now()):
            return AccountState(agents=agents, missing=not_ready("enable"))
        if not opens or perp is None:
            return AccountState(agents=agents)
        missing = await _unfunded(venue, link, perp)
        leverage = await venue.leverage(
            link.wallet, perp.coin, priority=priority, max_age_s=LEVERAGE_S
        )
    except Refused as refused:
        return AccountState(silent=outage_reason(refused))
    setting = leverage.value.value
    fault = too_high(setting, deps.config.trading.max_leverage)
    builder = await _builder(deps, link)
    return AccountState(
        agents=agents, missing=missing, fault=fault, leverage=setting, builder=builder
    )


def too_high(setting: int, limit: int) -> FieldProblem | None:
    """The fault of an account's leverage for a product."""
    if setting <= limit:
        return None
    rule = f"the account's leverage for it is {setting}; set it to {limit} or less at the venue"
    return problem_with(rule, nearest=str(limit))


async def _unfunded(venue: Venue, link: Link, perp: Perp) -> Refusal | None:
    """Whether margin is missing where the product is traded; a pooled account has it in its spot
    balances.
    """
    mode = (await venue.abstraction(link.wallet, priority="order")).value
    if mode in _POOLED:
        rows = (await venue.balances(link.wallet, max_age_s=5, priority="order")).value
        worth = sum((b.total for b in rows if b.token == _USDC), Decimal(0))
    else:
        cached = await venue.account(link.wallet, perp.dex, priority="order", max_age_s=5)
        worth = cached.value.account_value
    if worth > 0:
        return None
    return not_ready("fund", {"dex": perp.dex, "account_mode": mode})


async def _builder(deps: Deps, link: Link) -> PaidBuilder | None:
    """The builder that an opening order pays: none without the venue's confirmation of the
    approval.
    """
    trading = deps.config.trading
    if trading.builder_address is None:
        return None
    approved = await approved_now(
        deps, link, trading.builder_address, max_age_s=CHECK_S, priority="order"
    )
    if approved is None or approved.stale:
        return None
    fee = order_fee(approved.value, trading.builder_fee_tenths_bps)
    return PaidBuilder(address=trading.builder_address, fee_tenths_bps=fee) if fee else None


def meant(trader: TraderContext, mode_seen: Mode | None, *, names_book: bool) -> Mode:
    """The mode that an order is meant for, whether or not it may have it."""
    return "paper" if names_book else mode_seen or trader.mode
