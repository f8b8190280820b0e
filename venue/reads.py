"""Every read that this service makes of the venue: its type, its weight, and the form of its
answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

from domain.trading.venue import Abstraction, UserRole
from venue.shapes import (
    Shape,
    Tally,
    each,
    figure,
    flag,
    maybe,
    maybe_figure,
    obj,
    pair,
    rows,
    soft,
    soft_figure,
    text,
    whole,
    word,
)
from venue.words import ORDER_STATUSES

_soft_text: Final = soft(maybe(text))
_soft_whole: Final = soft(maybe(whole))


@dataclass(frozen=True, slots=True)
class Read:
    """One type of `POST /info`.

    Units: `weight` of the venue's 1,200 a minute; where `rows_at_most` is set, one more for every
    20 rows answered.
    Source: the venue's rate limits.
    """

    kind: str
    weight: int
    shape: Shape
    rows_at_most: int = 0

    @property
    def worst(self) -> int:
        """What it can cost; taken before it is sent, because the rows are counted after."""
        return self.weight + -(-self.rows_at_most // 20)

    def cost(self, answer: Any) -> int:
        """What it did cost."""
        counted = len(answer) if self.rows_at_most and isinstance(answer, list) else 0
        return self.weight + -(-counted // 20)


_ASSET: Final = obj(
    {"name": text, "szDecimals": whole, "maxLeverage": whole},
    {
        "marginTableId": _soft_whole,
        "onlyIsolated": soft(flag),
        "marginMode": soft(maybe(word(("strictIsolated", "noCross")))),
        "isDelisted": soft(flag),
        "growthMode": _soft_text,
        "lastGrowthModeChangeTime": _soft_text,
    },
)
_TIER: Final = obj({"lowerBound": figure, "maxLeverage": whole})
_META_PARTS: Final[Mapping[str, Shape]] = {
    "marginTables": rows(pair(whole, obj({"description": text, "marginTiers": each(_TIER)}))),
    "collateralToken": _soft_whole,
}
# An asset's number is its place in the list, so no row of a universe may be left out.
META: Final = obj({"universe": each(_ASSET)}, _META_PARTS)
_CONTEXT: Final = obj(
    {},
    {
        **dict.fromkeys(
            (
                "prevDayPx",
                "dayNtlVlm",
                "markPx",
                "funding",
                "openInterest",
                "oraclePx",
                "dayBaseVlm",
            ),
            soft_figure,
        ),
        "midPx": maybe_figure,
        "premium": maybe_figure,
        "impactPxs": soft(maybe(pair(figure, figure))),
    },
)
_SPOT_PAIR: Final = obj({"tokens": each(whole), "name": text, "index": whole, "isCanonical": flag})
_EVM: Final = obj({"address": text, "evm_extra_wei_decimals": whole})
_TOKEN: Final = obj(
    {
        "name": text,
        "szDecimals": whole,
        "weiDecimals": whole,
        "index": whole,
        "tokenId": text,
        "isCanonical": flag,
    },
    {
        "evmContract": soft(maybe(_EVM)),
        "fullName": _soft_text,
        "deployerTradingFeeShare": soft_figure,
    },
)
SPOT_META: Final = obj({"universe": rows(_SPOT_PAIR), "tokens": rows(_TOKEN)})
_COIN_FIGURES: Final = soft(rows(pair(text, figure)))
_DEX: Final = obj(
    {"name": text},
    {
        "fullName": _soft_text,
        "deployer": _soft_text,
        "oracleUpdater": _soft_text,
        "feeRecipient": _soft_text,
        "assetToStreamingOiCap": _COIN_FIGURES,
        "deployerFeeScale": soft_figure,
        "lastDeployerFeeScaleChangeTime": _soft_text,
        "assetToFundingMultiplier": _COIN_FIGURES,
        "assetToFundingInterestRate": _COIN_FIGURES,
        "subDeployers": soft(rows(pair(text, rows(text)))),
    },
)
_FUNDING: Final = obj(
    {"coin": text, "fundingRate": figure, "time": whole}, {"premium": soft_figure}
)
_PREDICTED: Final = obj(
    {"fundingRate": soft_figure, "nextFundingTime": whole}, {"fundingIntervalHours": _soft_whole}
)
ORDER: Final = obj(
    {
        "coin": text,
        "side": text,
        "limitPx": soft_figure,
        "sz": soft_figure,
        "oid": whole,
        "timestamp": whole,
    },
    {
        "triggerCondition": _soft_text,
        "isTrigger": soft(flag),
        "triggerPx": soft_figure,
        "isPositionTpsl": soft(flag),
        "reduceOnly": soft(flag),
        "orderType": _soft_text,
        "origSz": soft_figure,
        "tif": _soft_text,
        "cloid": _soft_text,
        "children": soft(rows(obj({}))),
    },
)
ORDER_UPDATE: Final = obj(
    {"order": ORDER, "status": word(ORDER_STATUSES), "statusTimestamp": whole}
)
_DAY: Final = obj(
    {"date": text, "userCross": soft_figure, "userAdd": soft_figure, "exchange": soft_figure}
)
_VIP: Final = obj(
    {}, dict.fromkeys(("ntlCutoff", "cross", "add", "spotCross", "spotAdd"), soft_figure)
)
_MAKER: Final = obj({}, {"makerFractionCutoff": soft_figure, "add": soft_figure})
_SCHEDULE: Final = obj(
    {},
    {
        **dict.fromkeys(("cross", "add", "spotCross", "spotAdd", "referralDiscount"), soft_figure),
        "tiers": soft(obj({}, {"vip": rows(_VIP), "mm": rows(_MAKER)})),
        "stakingDiscountTiers": soft(
            rows(obj({}, {"bpsOfMaxSupply": soft_figure, "discount": soft_figure}))
        ),
    },
)
USER_FEES: Final = obj(
    {"feeSchedule": _SCHEDULE, "userCrossRate": soft_figure, "userAddRate": soft_figure},
    {
        "dailyUserVlm": soft(rows(_DAY)),
        "userSpotCrossRate": soft_figure,
        "userSpotAddRate": soft_figure,
        "activeReferralDiscount": soft_figure,
        "trial": _soft_text,
        "feeTrialEscrow": soft_figure,
        "nextTrialAvailableTimestamp": _soft_whole,
        "stakingLink": soft(
            maybe(obj({}, {"type": text, "stakingUser": text, "tradingUser": text}))
        ),
        "activeStakingDiscount": soft(
            maybe(obj({}, {"bpsOfMaxSupply": soft_figure, "discount": soft_figure}))
        ),
    },
)
_HISTORY: Final = rows(pair(whole, figure))
_PERIOD: Final = obj({"accountValueHistory": _HISTORY, "pnlHistory": _HISTORY, "vlm": soft_figure})
_LEVERAGE: Final = obj(
    {"type": word(("cross", "isolated")), "value": whole}, {"rawUsd": soft_figure}
)
# What a close or an equity rests on is only right as a whole: a size that cannot be read makes the
# answer none.
_POSITION: Final = obj(
    {"coin": text, "szi": figure},
    {
        "leverage": soft(_LEVERAGE),
        "maxLeverage": _soft_whole,
        "liquidationPx": maybe_figure,
        "entryPx": maybe_figure,
        **dict.fromkeys(
            ("positionValue", "unrealizedPnl", "returnOnEquity", "marginUsed"), soft_figure
        ),
        "cumFunding": soft(
            obj({}, dict.fromkeys(("allTime", "sinceOpen", "sinceChange"), soft_figure))
        ),
    },
)
_SUMMARY: Final = obj(
    {"accountValue": figure},
    dict.fromkeys(("totalNtlPos", "totalRawUsd", "totalMarginUsed"), soft_figure),
)
CLEARINGHOUSE: Final = obj(
    {
        "assetPositions": each(obj({"position": _POSITION}, {"type": _soft_text})),
        "marginSummary": _SUMMARY,
        "withdrawable": figure,
        "time": whole,
    },
    {"crossMarginSummary": soft(_SUMMARY), "crossMaintenanceMarginUsed": soft_figure},
)
# Money rests on these, so a figure that cannot be read makes the answer none.
_FILL: Final = obj(
    {
        "coin": text,
        "px": figure,
        "sz": figure,
        "side": text,
        "time": whole,
        "oid": whole,
        "tid": whole,
        "fee": figure,
        "closedPnl": figure,
    },
    {
        "builderFee": maybe(figure),
        "cloid": _soft_text,
        "startPosition": soft_figure,
        "dir": _soft_text,
        "hash": _soft_text,
        "crossed": soft(flag),
        "feeToken": _soft_text,
        "twapId": _soft_whole,
        "liquidation": soft(maybe(obj({}))),
    },
)
_ACTIVE: Final = obj(
    {"leverage": _LEVERAGE},
    {
        "user": _soft_text,
        "coin": _soft_text,
        "maxTradeSzs": soft(rows(figure)),
        "availableToTrade": soft(rows(figure)),
        "markPx": soft_figure,
    },
)
_BALANCE: Final = obj(
    {"token": whole, "total": figure, "hold": figure}, {"coin": _soft_text, "entryNtl": soft_figure}
)
_LEVEL: Final = obj({"px": figure, "sz": figure, "n": whole})
_SIDES: Final = pair(each(_LEVEL), each(_LEVEL))
_BOOK: Final = obj({"coin": text, "time": whole, "levels": _SIDES}, {"spread": soft_figure})
_AGENT: Final = obj({"name": text, "address": text}, {"validUntil": maybe(whole)})
_ROLE: Final = obj(
    {"role": word(get_args(UserRole))}, {"data": soft(obj({}, {"user": text, "master": text}))}
)
# An open order that cannot be read may be one to cancel, so that it makes the answer none.
_OPEN: Final = obj(
    {"coin": text, "oid": whole},
    {
        "cloid": maybe(text),
        "side": _soft_text,
        "limitPx": soft_figure,
        "sz": soft_figure,
        "origSz": soft_figure,
        "timestamp": _soft_whole,
        "reduceOnly": soft(flag),
    },
)
_STATUS: Final = obj({"status": word(("order", "unknownOid"))}, {"order": ORDER_UPDATE})
_ANNOTATION: Final = obj(
    {}, {"category": _soft_text, "displayName": _soft_text, "keywords": soft(rows(text))}
)
_DEX_ROW: Final = maybe(_DEX)


def _anything(value: Any, tally: Tally) -> str:
    """Told as text, whatever its form: it is only ever shown."""
    return str(value)[:200]


READS: Final[Mapping[str, Read]] = {
    r.kind: r
    for r in (
        Read("meta", 20, META),
        Read("spotMeta", 20, SPOT_META),
        Read("perpDexs", 20, each(_DEX_ROW)),
        Read("metaAndAssetCtxs", 20, pair(META, each(_CONTEXT))),
        Read("l2Book", 2, maybe(_BOOK)),
        Read("fundingHistory", 20, rows(_FUNDING), 500),
        Read("predictedFundings", 20, rows(pair(text, rows(pair(text, maybe(_PREDICTED)))))),
        Read("historicalOrders", 20, rows(ORDER_UPDATE), 2_000),
        Read("userFees", 20, USER_FEES),
        Read("portfolio", 20, rows(pair(text, _PERIOD))),
        Read("clearinghouseState", 2, CLEARINGHOUSE),
        Read(
            "spotClearinghouseState",
            2,
            obj({"balances": each(_BALANCE)}, {"evmEscrows": soft(rows(obj({})))}),
        ),
        Read("maxBuilderFee", 20, whole),
        Read("extraAgents", 20, each(_AGENT)),
        Read("userRole", 60, _ROLE),
        Read("userAbstraction", 20, word(get_args(Abstraction))),
        Read("orderStatus", 2, _STATUS),
        Read("openOrders", 20, each(_OPEN)),
        Read("activeAssetData", 20, _ACTIVE),
        Read("userFillsByTime", 20, each(_FILL), 2_000),
        Read("perpCategories", 20, rows(pair(text, text))),
        Read("perpConciseAnnotations", 20, rows(pair(text, _ANNOTATION))),
        Read("perpsAtOpenInterestCap", 20, rows(text)),
        Read("exchangeStatus", 2, obj({"time": whole}, {"specialStatuses": _anything})),
    )
}
