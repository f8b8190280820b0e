"""`POST /info`: which answer belongs to which `type`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from devtools.devvenue import info_market as market
from devtools.devvenue import info_user as user
from devtools.devvenue.refusals import Malformed
from devtools.devvenue.state import State

INFO_READS: Final[Mapping[str, Callable[[State, dict[str, object]], object]]] = {
    "meta": market.meta,
    "metaAndAssetCtxs": market.meta_and_ctxs,
    "perpDexs": market.perp_dexs,
    "spotMeta": market.spot_meta,
    "spotMetaAndAssetCtxs": market.spot_meta_and_ctxs,
    "allMids": market.all_mids,
    "l2Book": market.l2_book,
    "fundingHistory": market.funding_history,
    "predictedFundings": market.predicted_fundings,
    "perpCategories": market.categories,
    "perpConciseAnnotations": market.concise_annotations,
    "perpsAtOpenInterestCap": market.at_cap,
    "exchangeStatus": market.exchange_status,
    "clearinghouseState": user.clearinghouse,
    "spotClearinghouseState": user.spot_state,
    "openOrders": user.open_orders,
    "frontendOpenOrders": user.frontend_orders,
    "historicalOrders": user.historical_orders,
    "orderStatus": user.order_status,
    "userFills": user.user_fills,
    "userFillsByTime": user.user_fills_by_time,
    "userFees": user.user_fees,
    "portfolio": user.portfolio,
    "maxBuilderFee": user.max_builder_fee,
    "extraAgents": user.extra_agents,
    "userRole": user.user_role,
    "userAbstraction": user.abstraction,
    "activeAssetData": user.active_asset,
}


def answer(state: State, body: object) -> object:
    """The answer to one info request. Errors: `Malformed` (HTTP 422)."""
    if not isinstance(body, dict) or body.get("type") not in INFO_READS:
        raise Malformed
    return INFO_READS[body["type"]](state, body)
