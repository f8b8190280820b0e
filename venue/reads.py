"""Info queries: every read of the venue, with its type, weight and response form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, Generic, TypeVar, get_args

from pydantic import TypeAdapter

from domain.trading.venue_values import Abstraction
from venue import json_types as types
from venue.json_readers import (
    FeeTenthsBps,
    Figure,
    HourlyRateText,
    Missing,
    Pair,
    Rows,
    Soft,
    SoftOrNull,
    Tally,
    Text,
    VenueJson,
    Whole,
    figures,
    word,
)

T = TypeVar("T")


@cache
def _adapter(form: Any) -> TypeAdapter[Any]:
    return TypeAdapter(form)  # made by the first answer: a process that reads nothing makes none


@dataclass(frozen=True)  # a generic that is called with its type takes no slots
class InfoQuery(Generic[T]):
    """One type of `POST /info`.

    Units: `weight` of the venue's 1,200 a minute; where `max_rows` is set, one more for every 20
    rows answered.
    Source: the venue's rate limits.
    """

    kind: str
    weight: int
    form: Any
    max_rows: int = 0

    def value(self, answer: object, tally: Tally) -> T:
        """Parse an answer; `tally` counts its unknown parts. Errors: ValidationError."""
        read: T = _adapter(self.form).validate_python(answer, context=tally)
        return read

    @property
    def max_cost(self) -> int:
        """The highest possible cost; taken before the request, because rows are counted
        after it.
        """
        return self.weight + -(-self.max_rows // 20)

    def cost(self, answer: object) -> int:
        """The actual cost of an answer."""
        counted = len(answer) if self.max_rows and isinstance(answer, list) else 0
        return self.weight + -(-counted // 20)


class RelayedRead(InfoQuery[Any]):
    """A relayed read: the venue's own JSON, reduced to the known fields."""

    def value(self, answer: object, tally: Tally) -> Any:
        """Parse as every read does; fields that the venue did not send stay missing."""
        adapter = _adapter(self.form)
        value = adapter.validate_python(answer, context=tally)
        if tally.unknown:
            value = adapter.validate_python(answer, context=Tally(), extra="ignore")
        return adapter.dump_python(value, by_alias=True, exclude_unset=True, warnings=False)


# -- what is only passed on


class _FundingJson(VenueJson):
    coin: Text
    funding_rate: HourlyRateText
    time: Whole
    premium: Soft[Figure] = None


class _PredictedJson(VenueJson):
    funding_rate: Soft[Figure]
    next_funding_time: Whole
    funding_interval_hours: SoftOrNull[Whole] = None


class _DayJson(VenueJson):
    date: Text
    user_cross: Soft[Figure]
    user_add: Soft[Figure]
    exchange: Soft[Figure]


_Vip = Annotated[VenueJson, figures("ntl_cutoff", "cross", "add", "spot_cross", "spot_add")]
_Maker = Annotated[VenueJson, figures("maker_fraction_cutoff", "add")]
_Discount = Annotated[VenueJson, figures("bps_of_max_supply", "discount")]


class _TiersJson(VenueJson):
    vip: Missing[Rows[_Vip]] = None
    mm: Missing[Rows[_Maker]] = None


class _ScheduleJson(VenueJson):
    cross: Soft[Figure] = None
    add: Soft[Figure] = None
    spot_cross: Soft[Figure] = None
    spot_add: Soft[Figure] = None
    referral_discount: Soft[Figure] = None
    tiers: Soft[_TiersJson] = None
    staking_discount_tiers: Soft[Rows[_Discount]] = None


class _StakingJson(VenueJson):
    type: Missing[Text] = None
    staking_user: Missing[Text] = None
    trading_user: Missing[Text] = None


class _UserFeesJson(VenueJson):
    fee_schedule: _ScheduleJson
    user_cross_rate: Soft[Figure]
    user_add_rate: Soft[Figure]
    daily_user_vlm: Soft[Rows[_DayJson]] = None
    user_spot_cross_rate: Soft[Figure] = None
    user_spot_add_rate: Soft[Figure] = None
    active_referral_discount: Soft[Figure] = None
    trial: SoftOrNull[Text] = None
    fee_trial_escrow: Soft[Figure] = None
    next_trial_available_timestamp: SoftOrNull[Whole] = None
    staking_link: SoftOrNull[_StakingJson] = None
    active_staking_discount: SoftOrNull[_Discount] = None


class _PeriodJson(VenueJson):
    account_value_history: Rows[Pair[Whole, Figure]]
    pnl_history: Rows[Pair[Whole, Figure]]
    vlm: Soft[Figure]


# -- the reads

_Listing = Pair[types.MetaJson, list[types.ContextJson]]
_Annotations = Rows[Pair[Text, types.AnnotationJson]]
_Abstraction = Annotated[str, word(get_args(Abstraction))]
DEXES: Final = InfoQuery[list[types.DexJson | None]]("perpDexs", 20, list[types.DexJson | None])
PERPS: Final = InfoQuery[_Listing]("metaAndAssetCtxs", 20, _Listing)
SPOT_META: Final = InfoQuery[types.SpotMetaJson]("spotMeta", 20, types.SpotMetaJson)
CATEGORIES: Final = InfoQuery[Rows[Pair[Text, Text]]]("perpCategories", 20, Rows[Pair[Text, Text]])
ANNOTATIONS: Final = InfoQuery[_Annotations]("perpConciseAnnotations", 20, _Annotations)
AT_CAP: Final = InfoQuery[Rows[Text]]("perpsAtOpenInterestCap", 20, Rows[Text])
BOOK: Final = InfoQuery[types.BookJson | None]("l2Book", 2, types.BookJson | None)
CLOCK: Final = InfoQuery[types.ClockJson]("exchangeStatus", 2, types.ClockJson)
ACCOUNT: Final = InfoQuery[types.ClearinghouseJson](
    "clearinghouseState", 2, types.ClearinghouseJson
)
BALANCES: Final = InfoQuery[types.BalancesJson]("spotClearinghouseState", 2, types.BalancesJson)
BUILDER_FEE: Final = InfoQuery[int]("maxBuilderFee", 20, FeeTenthsBps)
AGENTS: Final = InfoQuery[list[types.AgentJson]]("extraAgents", 20, list[types.AgentJson])
ROLE: Final = InfoQuery[types.RoleJson]("userRole", 60, types.RoleJson)
ABSTRACTION: Final = InfoQuery[str]("userAbstraction", 20, _Abstraction)
LEVERAGE: Final = InfoQuery[types.ActiveAssetJson]("activeAssetData", 20, types.ActiveAssetJson)
ORDER_STATUS: Final = InfoQuery[types.OrderStatusJson]("orderStatus", 2, types.OrderStatusJson)
OPEN_ORDERS: Final = InfoQuery[list[types.OpenOrderJson]](
    "openOrders", 20, list[types.OpenOrderJson]
)
FILLS: Final = InfoQuery[list[types.FillJson]]("userFillsByTime", 20, list[types.FillJson], 2_000)

RELAYED: Final[Mapping[str, RelayedRead]] = {
    r.kind: r
    for r in (
        RelayedRead("meta", 20, types.MetaJson),
        RelayedRead("spotMeta", 20, types.SpotMetaJson),
        RelayedRead("fundingHistory", 20, Rows[_FundingJson], 500),
        RelayedRead(
            "predictedFundings", 20, Rows[Pair[Text, Rows[Pair[Text, _PredictedJson | None]]]]
        ),
        RelayedRead("historicalOrders", 20, Rows[types.OrderUpdateJson], 2_000),
        RelayedRead("userFees", 20, _UserFeesJson),
        RelayedRead("portfolio", 20, Rows[Pair[Text, _PeriodJson]]),
    )
}
