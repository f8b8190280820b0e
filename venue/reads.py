"""Every read that this service makes of the venue: its type, its weight, and the form of its
answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, get_args

from domain.trading.venue import Abstraction
from venue import forms
from venue.shapes import (
    HourlyRate,
    Shape,
    T,
    count,
    each,
    figure,
    maybe,
    obj,
    pair,
    rows,
    shape_of,
    soft,
    soft_figure,
    text,
    whole,
    word,
)


@dataclass(frozen=True, slots=True)
class Read(Generic[T]):
    """One type of `POST /info`.

    Units: `weight` of the venue's 1,200 a minute; where `rows_at_most` is set, one more for every
    20 rows answered.
    Source: the venue's rate limits.
    """

    kind: str
    weight: int
    shape: Shape[T]
    rows_at_most: int = 0

    @property
    def worst(self) -> int:
        """What it can cost; taken before it is sent, because the rows are counted after."""
        return self.weight + -(-self.rows_at_most // 20)

    def cost(self, answer: object) -> int:
        """What it did cost."""
        counted = len(answer) if self.rows_at_most and isinstance(answer, list) else 0
        return self.weight + -(-counted // 20)


# What is only passed on.
_soft_text: Final = soft(maybe(text))
_soft_whole: Final = soft(maybe(whole))
_FUNDING: Final = obj(
    {"coin": text, "fundingRate": shape_of(HourlyRate), "time": whole}, {"premium": soft_figure}
)
_PREDICTED: Final = obj(
    {"fundingRate": soft_figure, "nextFundingTime": whole}, {"fundingIntervalHours": _soft_whole}
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
_USER_FEES: Final = obj(
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

DEXES: Final = Read("perpDexs", 20, each(maybe(shape_of(forms.Dex))))
PERPS: Final = Read("metaAndAssetCtxs", 20, shape_of(tuple[forms.Meta, list[forms.Context]]))
SPOT_META: Final = Read("spotMeta", 20, shape_of(forms.SpotMeta))
CATEGORIES: Final = Read("perpCategories", 20, rows(pair(text, text)))
ANNOTATIONS: Final = Read(
    "perpConciseAnnotations", 20, rows(pair(text, shape_of(forms.Annotation)))
)
AT_CAP: Final = Read("perpsAtOpenInterestCap", 20, rows(text))
BOOK: Final = Read("l2Book", 2, maybe(shape_of(forms.Book)))
CLOCK: Final = Read("exchangeStatus", 2, shape_of(forms.Clock))
ACCOUNT: Final = Read("clearinghouseState", 2, shape_of(forms.Clearinghouse))
BALANCES: Final = Read("spotClearinghouseState", 2, shape_of(forms.Balances))
BUILDER_FEE: Final = Read("maxBuilderFee", 20, count(0, 10_000))
AGENTS: Final = Read("extraAgents", 20, shape_of(list[forms.Agent]))
ROLE: Final = Read("userRole", 60, shape_of(forms.Role))
ABSTRACTION: Final = Read("userAbstraction", 20, word(get_args(Abstraction)))
LEVERAGE: Final = Read("activeAssetData", 20, shape_of(forms.ActiveAsset))
ORDER_STATUS: Final = Read("orderStatus", 2, shape_of(forms.OrderStatus))
OPEN_ORDERS: Final = Read("openOrders", 20, shape_of(list[forms.OpenOrder]))
FILLS: Final = Read("userFillsByTime", 20, shape_of(list[forms.Fill]), 2_000)

RELAYED: Final[Mapping[str, Read[Any]]] = {
    r.kind: r
    for r in (
        Read("meta", 20, shape_of(forms.Meta)),
        SPOT_META,
        Read("fundingHistory", 20, rows(_FUNDING), 500),
        Read("predictedFundings", 20, rows(pair(text, rows(pair(text, maybe(_PREDICTED)))))),
        Read("historicalOrders", 20, rows(shape_of(forms.OrderUpdate)), 2_000),
        Read("userFees", 20, _USER_FEES),
        Read("portfolio", 20, rows(pair(text, _PERIOD))),
    )
}
