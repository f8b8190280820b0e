"""Settlement: the effect of a trade, an hour of funding or a deposit on an account."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from devtools.devvenue.accounts import SPOT, Account
from devtools.devvenue.decimals import ONE, ZERO, micros
from devtools.devvenue.margin import pool
from devtools.devvenue.markets import TOKEN_NAMES, Market
from devtools.devvenue.records import Fill, Order, Position
from devtools.devvenue.state import State

GROWTH_SCALE: Final = Decimal("0.1")
TENTHS_OF_BPS: Final = Decimal(100_000)
BUILDER_MINIMUM: Final = Decimal(100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trade:
    """One meeting of two orders, as one side of it sees it."""

    px: Decimal
    sz: Decimal
    crossed: bool
    tid: int
    liquidation: dict[str, str] | None = None


def fee_rate(state: State, market: Market, crossed: bool) -> Decimal:
    """Share of the notional: the base tier, times the deployer's share, times growth mode."""
    base = state.rules.taker if crossed else state.rules.maker
    scale = ONE + state.dexes[market.dex].fee_scale
    return base * scale * (GROWTH_SCALE if market.growth else ONE)


def apply_trade(state: State, order: Order, trade: Trade) -> Fill:
    """Move the account by one trade of its order, and write the fill down."""
    account, market = state.accounts[order.user], state.markets[order.coin]
    notional = trade.px * trade.sz
    builder_fee = None
    if order.builder is not None:
        builder_fee = micros(notional * order.builder[1] / TENTHS_OF_BPS)
        _credit_builder(state, order.builder[0], builder_fee)
    fee = micros(notional * fee_rate(state, market, trade.crossed)) + (builder_fee or ZERO)
    start = account.position(order.coin)
    realized, way = _move(state, account, market, order.is_buy, trade)
    token = state.collateral(market.dex)
    account.add_cash(market.dex, token, -fee)
    order.sz -= trade.sz
    fill = Fill(
        order=order,
        px=trade.px,
        sz=trade.sz,
        time=state.now(),
        start=start,
        dir=way,
        closed_pnl=ZERO if realized is None else realized - fee,
        hash=state.hash_of(trade.tid),
        crossed=trade.crossed,
        fee=fee,
        fee_token=TOKEN_NAMES[token],
        tid=trade.tid,
        builder_fee=builder_fee,
        liquidation=trade.liquidation,
    )
    account.fills.append(fill)
    _count_volume(state, account, notional, trade.crossed)
    sample(state, account)
    return fill


def _move(
    state: State, account: Account, market: Market, is_buy: bool, trade: Trade
) -> tuple[Decimal | None, str]:
    """Change the position and the cash; what was realized (None: nothing closed), and `dir`."""
    signed = trade.sz if is_buy else -trade.sz
    position = account.positions.get(market.coin)
    start = position.size if position else ZERO
    if position is None:
        position = _opened(account, market)
    if start * signed >= 0:
        _increase(state, account, market, position, signed, trade.px)
        return None, f"Open {'Long' if is_buy else 'Short'}"
    closing = min(abs(start), trade.sz)
    realized = _decrease(state, account, market, position, closing, trade.px)
    was = "Long" if start > 0 else "Short"
    if trade.sz > closing:
        beyond = trade.sz - closing
        fresh = _opened(account, market)
        _increase(state, account, market, fresh, beyond if is_buy else -beyond, trade.px)
        return realized, f"{was} > {'Long' if is_buy else 'Short'}"
    return realized, f"Close {was}"


def _opened(account: Account, market: Market) -> Position:
    cross, leverage = account.setting(market.coin, market.max_leverage, market.cross_allowed)
    created = Position(coin=market.coin, is_cross=cross, leverage=leverage)
    account.positions[market.coin] = created
    return created


def _increase(
    state: State, account: Account, market: Market, position: Position, signed: Decimal, px: Decimal
) -> None:
    cost = signed * px
    position.size += signed
    position.entry += cost
    position.funding_change = ZERO
    token = state.collateral(market.dex)
    if position.is_cross:
        account.add_cash(market.dex, token, -cost)
        return
    margin = micros(abs(cost) / position.leverage)
    account.add_cash(market.dex, token, -margin)
    position.raw_usd += margin - cost


def _decrease(
    state: State,
    account: Account,
    market: Market,
    position: Position,
    closing: Decimal,
    px: Decimal,
) -> Decimal:
    """Close a part, or all; what it realized."""
    side = ONE if position.size > 0 else -ONE
    whole = closing == abs(position.size)
    entry = position.entry if whole else position.entry * closing / abs(position.size)
    proceeds = side * closing * px
    realized = proceeds - entry
    token = state.collateral(market.dex)
    margin = position.raw_usd + position.entry
    share = closing / abs(position.size)
    position.size -= side * closing
    position.entry -= entry
    position.funding_change = ZERO
    if position.is_cross:
        account.add_cash(market.dex, token, proceeds)
    else:
        position.raw_usd += proceeds
        freed = position.raw_usd if whole else micros(margin * share + realized)
        position.raw_usd -= freed
        account.add_cash(market.dex, token, freed)
    if whole:
        del account.positions[market.coin]
    return realized


def _credit_builder(state: State, address: str, fee: Decimal) -> None:
    """A builder with less than 100 USDC in perps, or in unified mode, accrues nothing."""
    builder = state.account(address)
    if builder is None or builder.pooled or not builder_funded(state, address):
        return
    builder.builder_rewards += fee


def builder_funded(state: State, address: str) -> bool:
    """Whether a builder has what the venue asks of one."""
    builder = state.account(address)
    if builder is None:
        return False
    return pool(state, builder, "").summary(cross_only=False).value >= BUILDER_MINIMUM


def _count_volume(state: State, account: Account, notional: Decimal, crossed: bool) -> None:
    account.volume += notional
    day = datetime.fromtimestamp(state.now() // 1000, UTC).date().isoformat()
    taken, created = account.daily.get(day, (ZERO, ZERO))
    account.daily[day] = (
        taken + (notional if crossed else ZERO),
        created + (ZERO if crossed else notional),
    )


def sample(state: State, account: Account) -> None:
    """Note what the account is worth now, for its portfolio."""
    account.values.append((state.now(), worth(state, account)))


def worth(state: State, account: Account) -> Decimal:
    """The worth of an account over all dexes, in dollars."""
    spot = ZERO if account.pooled else sum(account.spot.values(), ZERO)
    counted: set[int | str] = set()
    total = spot
    for dex in state.dexes:
        key = state.collateral(dex) if account.pooled else dex
        if key not in counted:
            counted.add(key)
            total += pool(state, account, dex).summary(cross_only=False).value
    return total


def pay_funding(state: State, market: Market) -> None:
    """One hour: size times oracle price times rate; positive means that longs pay (1.4)."""
    for account in state.accounts.values():
        position = account.positions.get(market.coin)
        if position is None:
            continue
        payment = micros(position.size * market.oracle * market.funding)
        if position.is_cross:
            account.add_cash(market.dex, state.collateral(market.dex), -payment)
        else:
            position.raw_usd -= payment
        account.funding_paid += payment
        position.funding_all += payment
        position.funding_change += payment


def set_mode(state: State, account: Account, mode: str) -> None:
    """Change where the balance of record is: one pool of each token, or one of each dex."""
    was = account.pooled
    account.mode = mode
    if account.pooled and not was:
        for dex, amount in account.perp.items():
            token = state.collateral(dex)
            account.spot[token] = account.spot.get(token, ZERO) + amount
        account.perp.clear()
    elif was and not account.pooled:
        # What backs positions goes to the first dex of its collateral.
        for dex in state.dexes:
            account.perp[dex] = account.spot.pop(state.collateral(dex), ZERO)


def deposit(state: State, address: str, amount: Decimal, dex: str = "") -> Account:
    """Give an account money on a dex, or on `spot`; it exists from then on."""
    account = state.open_account(address)
    if dex == SPOT:
        account.spot[0] = account.spot.get(0, ZERO) + amount
    else:
        account.add_cash(dex, state.collateral(dex), amount)
    sample(state, account)
    return account
