"""Info queries: every read of the venue, with its type, weight, response form and value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from typing import Annotated, Any, Final, Generic, TypeVar, get_args

from pydantic import TypeAdapter

from domain.trading import venue_values as v
from venue import json_types as types
from venue import values
from venue.json_readers import (
    FeeTenthsBps,
    Figure,
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


def _unchanged(answer: Any) -> Any:
    return answer


@dataclass(frozen=True)  # a generic that is called with its type takes no slots
class InfoQuery(Generic[T]):
    """One type of `POST /info`; `parse` makes its value of an answer that has the form.

    Units: `weight` of the venue's 1,200 a minute; where `max_rows` is set, one more for every 20
    rows answered.
    Source: the venue's rate limits.
    """

    kind: str
    weight: int
    form: Any
    parse: Callable[..., T] = _unchanged
    max_rows: int = 0

    def about(self, *subject: object) -> InfoQuery[T]:
        """The read of one subject, which `parse` takes before the answer."""
        return replace(self, parse=partial(self.parse, *subject))

    def read(self, answer: object, tally: Tally) -> Any:
        """An answer by its form; `tally` counts its unknown parts. Errors: ValidationError."""
        return _adapter(self.form).validate_python(answer, context=tally)

    @property
    def max_cost(self) -> int:
        """The highest possible cost, taken before the request."""
        return self.weight + -(-self.max_rows // 20)

    def cost(self, answer: object) -> int:
        """The actual cost of an answer."""
        counted = len(answer) if self.max_rows and isinstance(answer, list) else 0
        return self.weight + -(-counted // 20)


class RelayedRead(InfoQuery[Any]):
    """A relayed read: the venue's own JSON, reduced to the known fields."""

    def read(self, answer: object, tally: Tally) -> Any:
        """Read as every query does; fields that the venue did not send stay missing."""
        adapter = _adapter(self.form)
        value = adapter.validate_python(answer, context=tally)
        if tally.unknown:
            value = adapter.validate_python(answer, context=Tally(), extra="ignore")
        return adapter.dump_python(value, by_alias=True, exclude_unset=True, warnings=False)


# -- what is only passed on


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
_Abstraction = Annotated[str, word(get_args(v.Abstraction))]
DEXES: Final = InfoQuery[Mapping[str, int]](
    "perpDexs", 20, list[types.DexJson | None], values.dexes
)
PERPS: Final = InfoQuery[tuple[v.Perp, ...]]("metaAndAssetCtxs", 20, _Listing, values.perps)
SPOT_META: Final = InfoQuery[Mapping[int, str]]("spotMeta", 20, types.SpotMetaJson, values.tokens)
CATEGORIES: Final = InfoQuery[Mapping[str, str]]("perpCategories", 20, Rows[Pair[Text, Text]], dict)
ANNOTATIONS: Final = InfoQuery[Mapping[str, str]](
    "perpConciseAnnotations", 20, Rows[Pair[Text, types.AnnotationJson]], values.names
)
AT_CAP: Final = InfoQuery[frozenset[str]]("perpsAtOpenInterestCap", 20, Rows[Text], frozenset)
BOOK: Final = InfoQuery[v.OrderBook | None]("l2Book", 2, types.BookJson | None, values.book)
FUNDING: Final = InfoQuery[Sequence[v.FundingRate]](
    "fundingHistory", 20, Rows[types.FundingJson], values.funding, 500
)
CLOCK: Final = InfoQuery[datetime]("exchangeStatus", 2, types.ClockJson, values.clock)
ACCOUNT: Final = InfoQuery[v.DexAccount](
    "clearinghouseState", 2, types.ClearinghouseJson, values.account
)
BALANCES: Final = InfoQuery[tuple[v.SpotBalance, ...]](
    "spotClearinghouseState", 2, types.BalancesJson, values.balances
)
BUILDER_FEE: Final = InfoQuery[int]("maxBuilderFee", 20, FeeTenthsBps)
AGENTS: Final = InfoQuery[tuple[v.ApprovedAgent, ...]](
    "extraAgents", 20, list[types.AgentJson], values.agents
)
ROLE: Final = InfoQuery[v.UserRole]("userRole", 60, types.RoleJson, values.role)
ABSTRACTION: Final = InfoQuery[v.Abstraction](
    "userAbstraction", 20, _Abstraction, values.abstraction
)
LEVERAGE: Final = InfoQuery[v.Leverage](
    "activeAssetData", 20, types.ActiveAssetJson, values.leverage
)
ORDER_STATUS: Final = InfoQuery[v.OrderSeen | None](
    "orderStatus", 2, types.OrderStatusJson, values.order_status
)
OPEN_ORDERS: Final = InfoQuery[tuple[v.OpenOrder, ...]](
    "openOrders", 20, list[types.OpenOrderJson], values.open_orders
)
FILLS: Final = InfoQuery[tuple[v.VenueFill, ...]](
    "userFillsByTime", 20, list[types.FillJson], values.fills, 2_000
)

RELAYED: Final[Mapping[str, RelayedRead]] = {
    r.kind: r
    for r in (
        RelayedRead("meta", 20, types.MetaJson),
        RelayedRead("spotMeta", 20, types.SpotMetaJson),
        RelayedRead("fundingHistory", 20, Rows[types.FundingJson], max_rows=500),
        RelayedRead(
            "predictedFundings", 20, Rows[Pair[Text, Rows[Pair[Text, _PredictedJson | None]]]]
        ),
        RelayedRead("historicalOrders", 20, Rows[types.OrderUpdateJson], max_rows=2_000),
        RelayedRead("userFees", 20, _UserFeesJson),
        RelayedRead("portfolio", 20, Rows[Pair[Text, _PeriodJson]]),
    )
}
