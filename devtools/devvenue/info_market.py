"""The answers of `/info` that are about markets. Shapes: venue page 1.1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Final

from devtools.devvenue.decimals import rounded, wire
from devtools.devvenue.markets import PAIRS, Dex, Market
from devtools.devvenue.refusals import Malformed
from devtools.devvenue.state import HOUR_MS, State

IMPACT_NOTIONAL: Final = Decimal(20_000)
FUNDING_ROWS: Final = 500
GROWTH_SINCE: Final = "2025-11-23T17:21:40.390706535"
FEE_SCALE_SINCE: Final = "1970-01-01T00:00:00"


def dex_of(state: State, body: dict[str, object]) -> Dex:
    """The dex that is asked about; the first where none is. Errors: `Malformed`."""
    name = body.get("dex") or ""
    if name not in state.dexes:
        raise Malformed
    return state.dexes[name]


def meta(state: State, body: dict[str, object]) -> dict[str, object]:
    """The universe of one dex."""
    return _meta(state, dex_of(state, body))


def _meta(state: State, dex: Dex) -> dict[str, object]:
    markets = list(state.of_dex(dex.name))
    tables = sorted({m.max_leverage for m in markets})
    return {
        "universe": [_listed(m) for m in markets],
        "marginTables": [
            [
                leverage,
                {
                    "description": "",
                    "marginTiers": [{"lowerBound": "0.0", "maxLeverage": leverage}],
                },
            ]
            for leverage in tables
        ],
        "collateralToken": dex.collateral,
    }


def _listed(market: Market) -> dict[str, object]:
    row: dict[str, object] = {
        "szDecimals": market.sz_decimals,
        "name": market.coin,
        "maxLeverage": market.max_leverage,
        "marginTableId": market.max_leverage,
    }
    if market.margin_mode:
        row |= {"onlyIsolated": True, "marginMode": market.margin_mode}
    if market.delisted:
        row["isDelisted"] = True
    if market.growth:
        row |= {"growthMode": "enabled", "lastGrowthModeChangeTime": GROWTH_SINCE}
    return row


def _ctx(state: State, market: Market) -> dict[str, object]:
    mid = market.book.mid()
    impact = [market.book.impact(is_buy, IMPACT_NOTIONAL) for is_buy in (False, True)]
    thin = mid is None or None in impact
    return {
        "funding": wire(market.funding),
        "openInterest": wire(state.open_interest(market)),
        "prevDayPx": wire(market.prev_day),
        "dayNtlVlm": wire(market.day_notional),
        "premium": None if thin else wire(market.premium),
        "oraclePx": wire(market.oracle),
        "markPx": wire(market.mark),
        "midPx": None if mid is None else wire(mid),
        "impactPxs": None if thin else [wire(rounded(px, 6)) for px in impact if px is not None],
        "dayBaseVlm": wire(market.day_base),
    }


def meta_and_ctxs(state: State, body: dict[str, object]) -> Sequence[object]:
    """The universe of one dex, and the figures of each market in the same order."""
    dex = dex_of(state, body)
    return [_meta(state, dex), [_ctx(state, m) for m in state.of_dex(dex.name)]]


def perp_dexs(state: State, body: dict[str, object]) -> Sequence[object]:
    """The dexes; the first is null."""
    rows: list[object] = [None]
    for dex in state.listed.dexes[1:]:
        coins = [m.coin for m in state.of_dex(dex.name)]
        rows.append(
            {
                "name": dex.name,
                "fullName": dex.full_name,
                "deployer": dex.deployer,
                "oracleUpdater": None,
                "feeRecipient": None,
                "assetToStreamingOiCap": [[coin, "10000000.0"] for coin in coins],
                "subDeployers": [],
                "deployerFeeScale": wire(dex.fee_scale),
                "lastDeployerFeeScaleChangeTime": FEE_SCALE_SINCE,
                "assetToFundingMultiplier": [[coin, "1.0"] for coin in coins],
                "assetToFundingInterestRate": [],
            }
        )
    return rows


def spot_meta(state: State, body: dict[str, object]) -> dict[str, list[dict[str, object]]]:
    """Tokens and pairs; a token's index is not its place in the list."""
    return state.listed.spot


def spot_meta_and_ctxs(state: State, body: dict[str, object]) -> Sequence[object]:
    """The spot listing with figures."""
    nothing = dict.fromkeys(("dayNtlVlm", "circulatingSupply", "totalSupply", "dayBaseVlm"), "0.0")
    ctxs = [
        dict.fromkeys(("prevDayPx", "markPx", "midPx"), wire(mid)) | nothing | {"coin": name}
        for name, _, _, mid in PAIRS
    ]
    return [state.listed.spot, ctxs]


def all_mids(state: State, body: dict[str, object]) -> dict[str, str]:
    """Mids; the last trade (else the mark) where a side of the book is empty."""
    dex = dex_of(state, body)
    mids = {}
    for market in state.of_dex(dex.name):
        mid = market.book.mid()
        mids[market.coin] = wire(mid if mid is not None else market.last_trade or market.mark)
    if not dex.name:
        mids |= {name: wire(mid) for name, _, _, mid in PAIRS}
    return mids


def l2_book(state: State, body: dict[str, object]) -> dict[str, object] | None:
    """At most twenty levels a side, best first; null for a market that does not exist."""
    market = state.markets.get(str(body.get("coin")))
    if market is None:
        return None
    levels = [
        [{"px": wire(px), "sz": wire(sz), "n": n} for px, sz, n in side]
        for side in market.book.snapshot()
    ]
    at = state.now() if market.book_time is None else market.book_time
    return {"coin": market.coin, "time": at, "levels": levels}


def between(rows: Iterable[Any], body: dict[str, object], limit: int) -> list[Any]:
    """Rows from `startTime` on, until `endTime`, both inclusive, oldest first."""
    start, end = body.get("startTime"), body.get("endTime")
    if type(start) is not int or type(end) not in (int, type(None)):
        raise Malformed
    return [r for r in rows if start <= r["time"] and (end is None or r["time"] <= end)][:limit]


def funding_history(state: State, body: dict[str, object]) -> Sequence[object]:
    """Hourly rates; 500 an answer."""
    market = state.markets.get(str(body.get("coin")))
    if market is None:
        raise Malformed
    rows = between(market.funding_rows, body, FUNDING_ROWS)
    return [
        r | {"fundingRate": wire(r["fundingRate"]), "premium": wire(r["premium"])} for r in rows
    ]


def predicted_fundings(state: State, body: dict[str, object]) -> Sequence[object]:
    """The coming hour, of the first dex only."""
    next_hour = state.now() // HOUR_MS * HOUR_MS + HOUR_MS
    return [
        [
            m.coin,
            [
                ["BinPerp", None],
                [
                    "HlPerp",
                    {
                        "fundingRate": wire(m.funding),
                        "nextFundingTime": next_hour,
                        "fundingIntervalHours": 1,
                    },
                ],
            ],
        ]
        for m in state.of_dex("")
    ]


def categories(state: State, body: dict[str, object]) -> Sequence[object]:
    """Categories; only of builder dexes."""
    return [[m.coin, m.category] for m in state.markets.values() if m.category]


def concise_annotations(state: State, body: dict[str, object]) -> Sequence[object]:
    """Categories with names to show."""
    return [[m.coin, _annotated(m)] for m in state.markets.values() if m.category]


def _annotated(market: Market) -> dict[str, object]:
    row: dict[str, object] = {"category": market.category}
    if market.display_name:
        row["displayName"] = market.display_name
    return row


def at_cap(state: State, body: dict[str, object]) -> list[str]:
    """Coins of a dex at their open-interest cap."""
    return [m.coin for m in state.of_dex(dex_of(state, body).name) if m.at_oi_cap]


def exchange_status(state: State, body: dict[str, object]) -> dict[str, object]:
    """The venue's clock, and whether something is out of the ordinary."""
    special = "postOnly" if state.rules.post_only_phase else None
    return {"time": state.now(), "specialStatuses": special}
