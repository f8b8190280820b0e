"""Plays a trader's day at a venue with the official Python SDK.

Reads {url, mainnet, owner, agent, builder} from stdin and prints what it saw, as venue_story.mjs.
"""

import json
import sys
from typing import Any

from eth_account import Account
from hyperliquid import exchange
from hyperliquid.info import Info
from hyperliquid.utils.signing import get_timestamp_ms, sign_agent


def plain(text: Any) -> str:
    return f"{float(text):.12g}"


def main() -> None:
    story = json.load(sys.stdin)
    url = story["url"]
    if story["mainnet"]:
        exchange.MAINNET_API_URL = url  # it knows the network by the address alone
    info = Info(url, skip_ws=True)
    owner_key, agent_key = (Account.from_key(story[name]) for name in ("owner", "agent"))
    user = owner_key.address
    owner = exchange.Exchange(owner_key, url)
    trader = exchange.Exchange(agent_key, url, account_address=user)

    levels = info.l2_snapshot("BTC")["levels"]
    # Exchange.approve_agent makes a key of its own; the story has one.
    nonce = get_timestamp_ms()
    action = {"type": "approveAgent", "agentAddress": agent_key.address, "agentName": "story"}
    action["nonce"] = nonce
    signature = sign_agent(owner_key, action, story["mainnet"])
    assert owner._post_action(action, signature, nonce)["status"] == "ok"
    (agent,) = info.extra_agents(user)
    assert owner.approve_builder_fee(story["builder"], "0.1%")["status"] == "ok"
    asked = {"type": "maxBuilderFee", "user": user, "builder": story["builder"]}
    builder_fee = info.post("/info", asked)

    def first(told: Any) -> Any:
        return told["response"]["data"]["statuses"][0]

    def limit(buy: bool, sz: float, px: float, tif: str, **more: Any) -> Any:
        return first(trader.order("BTC", buy, sz, px, {"limit": {"tif": tif}}, **more))

    builder = {"b": story["builder"], "f": 100}
    bought = limit(True, 0.001, 64500, "Ioc", builder=builder)["filled"]
    long = info.user_state(user)["assetPositions"][0]["position"]
    rested = limit(True, 0.001, 60000, "Gtc")["resting"]["oid"]
    opened = info.open_orders(user)
    assert first(trader.cancel("BTC", rested)) == "success"
    cancelled = info.query_order_by_oid(user, rested)["order"]["status"]
    closed = first(trader.market_close("BTC"))["filled"]
    refused = [
        limit(True, 0.001, 64000.5, "Gtc")["error"],
        limit(True, 0.0001, 64000, "Gtc")["error"],
        limit(False, 0.001, 61000, "Ioc", reduce_only=True)["error"],
        first(trader.cancel("BTC", rested))["error"],
    ]
    fills = info.user_fills(user)
    told = {
        "coins": sorted(asset["name"] for asset in info.meta()["universe"]),
        "touch": [plain(levels[0][0]["px"]), plain(levels[1][0]["px"])],
        "depth": [len(levels[0]), len(levels[1])],
        "agent": agent["name"],
        "builderFee": builder_fee,
        "bought": [plain(bought["totalSz"]), plain(bought["avgPx"])],
        "long": [plain(long["szi"]), plain(long["entryPx"])],
        "open": [[row["oid"] == rested, plain(row["limitPx"])] for row in opened],
        "cancelled": cancelled,
        "closed": [plain(closed["totalSz"]), plain(closed["avgPx"])],
        "refused": refused,
        "fills": [[f["side"], plain(f["px"]), plain(f["sz"]), plain(f["fee"])] for f in fills],
        "history": [row["status"] for row in info.historical_orders(user)],
        "positions": len(info.user_state(user)["assetPositions"]),
    }
    print(json.dumps(told))


main()
