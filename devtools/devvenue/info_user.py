"""The answers of `/info` that are about one account. Shapes: venue page 1.1.

An address without an account, an agent's address and a malformed one get an empty answer, never an
error.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from devtools.devvenue.accounts import Account
from devtools.devvenue.decimals import ZERO, rounded, wire
from devtools.devvenue.info_market import between, dex_of
from devtools.devvenue.margin import Pool, Summary, liquidation_price, pool
from devtools.devvenue.markets import TOKEN_NAMES, Market
from devtools.devvenue.records import Order, Position
from devtools.devvenue.refusals import Malformed
from devtools.devvenue.settle import worth
from devtools.devvenue.state import DAY_MS, State
from devtools.devvenue.trading import find_any
from devtools.devvenue.wires import read_cloid

FILL_ROWS: Final = 2_000
FEE_DAYS: Final = 15
_ZERO_ADDRESS: Final = Account(address="0x")
_PERIODS: Final = {"Day": 1, "Week": 7, "Month": 30, "AllTime": 100_000}


def whose(state: State, body: dict[str, object]) -> Account:
    """The account that is asked about; an empty one where there is none."""
    return state.accounts.get(str(body.get("user")).lower(), _ZERO_ADDRESS)


def clearinghouse(state: State, body: dict[str, object]) -> dict[str, object]:
    """Positions and margin of one dex; of a pooled account the margin figures mean nothing."""
    account, dex = whose(state, body), dex_of(state, body).name
    shared = pool(state, account, dex)
    here = tuple((m, p) for m, p in shared.held if m.dex == dex)
    shown = shared
    if account.pooled:
        # As the venue has it: the money stands in the spot state, and reads as none here.
        prepaid_cost = sum((p.entry for _, p in here if p.is_cross), ZERO)
        shown = Pool(cash=-prepaid_cost, held=here, orders_margin=ZERO)
    return {
        "marginSummary": _summary(shown.summary(cross_only=False)),
        "crossMarginSummary": _summary(shown.summary(cross_only=True)),
        "crossMaintenanceMarginUsed": wire(rounded(shown.maintenance, 6)),
        "withdrawable": wire(ZERO if account.pooled else rounded(shared.withdrawable, 6)),
        "assetPositions": [
            {"type": "oneWay", "position": _position(state, account, market, position)}
            for market, position in here
        ],
        "time": state.now(),
    }


def _summary(figures: Summary) -> dict[str, str]:
    return {
        "accountValue": wire(rounded(figures.value, 6)),
        "totalNtlPos": wire(rounded(figures.notional, 6)),
        "totalRawUsd": wire(rounded(figures.raw_usd, 6)),
        "totalMarginUsed": wire(rounded(figures.used, 6)),
    }


def _position(
    state: State, account: Account, market: Market, position: Position
) -> dict[str, object]:
    pnl = position.pnl(market.mark)
    margin = abs(position.entry) / position.leverage
    leverage: dict[str, object] = {"type": "cross", "value": position.leverage}
    if not position.is_cross:
        raw = wire(rounded(position.raw_usd, 6))
        leverage = {"type": "isolated", "value": position.leverage, "rawUsd": raw}
    liquidation = liquidation_price(state, account, market)
    return {
        "coin": market.coin,
        "szi": wire(position.size),
        "leverage": leverage,
        "entryPx": wire(rounded(position.entry / position.size, 6)),
        "positionValue": wire(rounded(abs(position.size) * market.mark, 6)),
        "unrealizedPnl": wire(rounded(pnl, 6)),
        "returnOnEquity": wire(rounded(pnl / margin, 10)),
        "liquidationPx": None if liquidation is None else wire(rounded(liquidation, 8)),
        "marginUsed": wire(rounded(position.margin_used(market.mark), 6)),
        "maxLeverage": market.max_leverage,
        "cumFunding": {
            "allTime": wire(position.funding_all),
            "sinceOpen": wire(position.funding_all),
            "sinceChange": wire(position.funding_change),
        },
    }


def spot_state(state: State, body: dict[str, object]) -> dict[str, object]:
    """Balances; of a pooled account the balance of record, held as far as positions bind it."""
    account = whose(state, body)
    rows = []
    for index, name in TOKEN_NAMES.items():
        total, hold = account.spot.get(index, ZERO), ZERO
        dexes = [d for d in state.dexes if state.collateral(d) == index]
        if account.pooled and dexes:
            shared = pool(state, account, dexes[0])
            total = shared.balance
            hold = shared.summary(cross_only=False).used + shared.orders_margin
        if total or hold or index == 0:
            rows.append(
                {
                    "coin": name,
                    "token": index,
                    "total": wire(rounded(total, 8)),
                    "hold": wire(rounded(hold, 8)),
                    "entryNtl": "0.0",
                }
            )
    return {"balances": rows if account is not _ZERO_ADDRESS else []}


def open_orders(state: State, body: dict[str, object]) -> Sequence[object]:
    """Open orders of one dex, newest first."""
    return [order.short() for order in _open(state, body)]


def frontend_orders(state: State, body: dict[str, object]) -> Sequence[object]:
    """Open orders with all fields."""
    return [order.long() for order in _open(state, body)]


def _open(state: State, body: dict[str, object]) -> list[Order]:
    account, dex = whose(state, body), dex_of(state, body).name
    return [o for o in account.orders.values() if state.markets[o.coin].dex == dex][::-1]


def historical_orders(state: State, body: dict[str, object]) -> Sequence[object]:
    """The newest 2,000 orders with where they stand."""
    return [order.dated() for order in reversed(whose(state, body).history)]


def order_status(state: State, body: dict[str, object]) -> dict[str, object]:
    """The status of one order, by oid or cloid."""
    key = body.get("oid")
    order = find_any(whose(state, body), key if type(key) is int else read_cloid(key))
    return {"status": "order", "order": order.dated()} if order else {"status": "unknownOid"}


def user_fills(state: State, body: dict[str, object]) -> Sequence[object]:
    """The newest 2,000 fills, newest first."""
    return [fill.row() for fill in reversed(whose(state, body).fills)][:FILL_ROWS]


def user_fills_by_time(state: State, body: dict[str, object]) -> Sequence[object]:
    """2,000 fills of a time, oldest first; the last 10,000 are kept."""
    return between([fill.row() for fill in whose(state, body).fills], body, FILL_ROWS)


def user_fees(state: State, body: dict[str, object]) -> dict[str, object]:
    """Rates of the first tier, and the volume of the last days."""
    account, rules = whose(state, body), state.rules
    today = datetime.fromtimestamp(state.now() // 1000, UTC).date()
    days = []
    for n in range(FEE_DAYS - 1, -1, -1):
        day = (today - timedelta(days=n)).isoformat()
        taken, created = account.daily.get(day, (ZERO, ZERO))
        row = {"date": day, "userCross": wire(taken), "userAdd": wire(created)}
        days.append(row | {"exchange": "0.0"})
    base = {
        "cross": wire(rules.taker),
        "add": wire(rules.maker),
        "spotCross": "0.0007",
        "spotAdd": "0.0004",
    }
    return {
        "dailyUserVlm": days,
        "feeSchedule": base
        | {
            "tiers": {"vip": [], "mm": []},
            "referralDiscount": "0.04",
            "stakingDiscountTiers": [{"bpsOfMaxSupply": "0.0", "discount": "0.0"}],
        },
        "userCrossRate": wire(rules.taker),
        "userAddRate": wire(rules.maker),
        "userSpotCrossRate": "0.0007",
        "userSpotAddRate": "0.0004",
        "activeReferralDiscount": "0.0",
        "trial": None,
        "feeTrialEscrow": "0.0",
        "nextTrialAvailableTimestamp": None,
        "stakingLink": None,
        "activeStakingDiscount": {"bpsOfMaxSupply": "0.0", "discount": "0.0"},
    }


def portfolio(state: State, body: dict[str, object]) -> Sequence[object]:
    """Value and profit over eight periods."""
    account, now = whose(state, body), state.now()
    points = [*account.values, (now, worth(state, account))]
    rows = {}
    for name, days in _PERIODS.items():
        since = [(at, value) for at, value in points if at >= now - days * DAY_MS]
        first = since[0][1]
        volume = account.volume if days > 1 else _volume_today(state, account)
        rows[name] = {
            "accountValueHistory": [[at, wire(rounded(value, 6))] for at, value in since],
            "pnlHistory": [[at, wire(rounded(value - first, 6))] for at, value in since],
            "vlm": wire(volume),
        }
    plain = [[name[0].lower() + name[1:], row] for name, row in rows.items()]
    return plain + [[f"perp{name}", row] for name, row in rows.items()]


def _volume_today(state: State, account: Account) -> Decimal:
    day = datetime.fromtimestamp(state.now() // 1000, UTC).date().isoformat()
    return sum(account.daily.get(day, (ZERO, ZERO)), ZERO)


def max_builder_fee(state: State, body: dict[str, object]) -> int:
    """Tenths of a basis point approved for a builder; 0 for none."""
    return whose(state, body).builders.get(str(body.get("builder")).lower(), 0)


def extra_agents(state: State, body: dict[str, object]) -> Sequence[object]:
    """Named agents, also those that are past their time but not pruned."""
    return [
        {"name": agent.name, "address": agent.address, "validUntil": agent.valid_until}
        for agent in whose(state, body).agents.values()
        if agent.name
    ]


def user_role(state: State, body: dict[str, object]) -> dict[str, object]:
    """The role of an address."""
    address = str(body.get("user")).lower()
    if address in state.agent_of:
        return {"role": "agent", "data": {"user": state.agent_of[address]}}
    return {"role": "missing" if state.account(address) is None else "user"}


def abstraction(state: State, body: dict[str, object]) -> str:
    """The account's mode."""
    return whose(state, body).mode


def active_asset(state: State, body: dict[str, object]) -> dict[str, object]:
    """The sizes that an account could trade of one coin."""
    account = whose(state, body)
    market = state.markets.get(str(body.get("coin")))
    if market is None:
        raise Malformed
    cross, value = account.setting(market.coin, market.max_leverage, market.cross_allowed)
    leverage: dict[str, object] = {"type": "cross", "value": value}
    if not cross:
        leverage = {"type": "isolated", "value": value, "rawUsd": "0.0"}
    free = max(ZERO, pool(state, account, market.dex).available)
    size = wire(rounded(free * value / market.mark, market.sz_decimals))
    return {
        "user": account.address,
        "coin": market.coin,
        "leverage": leverage,
        "maxTradeSzs": [size, size],
        "availableToTrade": [wire(rounded(free, 6))] * 2,
        "markPx": wire(market.mark),
    }
