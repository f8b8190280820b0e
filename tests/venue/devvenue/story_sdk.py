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


def plain(*texts: Any) -> list[str]:
    return [f"{float(text):.12g}" for text in texts]


def first(raw: Any) -> Any:
    return raw["response"]["data"]["statuses"][0]


def approved(owner: Any, agent: str, story: dict[str, Any]) -> None:
    # Exchange.approve_agent makes a key of its own; the story has one.
    nonce = get_timestamp_ms()
    action = {"type": "approveAgent", "agentAddress": agent, "agentName": "story", "nonce": nonce}
    signature = sign_agent(owner.wallet, action, story["mainnet"])
    assert owner._post_action(action, signature, nonce)["status"] == "ok"
    assert owner.approve_builder_fee(story["builder"], "0.1%")["status"] == "ok"


def traded(trader: Any, info: Info, user: str, builder: str) -> dict[str, Any]:
    def limit(buy: bool, sz: float, px: float, tif: str, **more: Any) -> Any:
        return first(trader.order("BTC", buy, sz, px, {"limit": {"tif": tif}}, **more))

    bought = limit(True, 0.001, 64500, "Ioc", builder={"b": builder, "f": 100})["filled"]
    long = info.user_state(user)["assetPositions"][0]["position"]
    rested = limit(True, 0.001, 60000, "Gtc")["resting"]["oid"]
    opened = info.open_orders(user)
    assert first(trader.cancel("BTC", rested)) == "success"
    closed = first(trader.market_close("BTC"))["filled"]
    return {
        "bought": plain(bought["totalSz"], bought["avgPx"]),
        "long": plain(long["szi"], long["entryPx"]),
        "open": [[row["oid"] == rested, *plain(row["limitPx"])] for row in opened],
        "cancelled": info.query_order_by_oid(user, rested)["order"]["status"],
        "closed": plain(closed["totalSz"], closed["avgPx"]),
        "refused": [
            limit(True, 0.001, 64000.5, "Gtc")["error"],
            limit(True, 0.0001, 64000, "Gtc")["error"],
            limit(False, 0.001, 61000, "Ioc", reduce_only=True)["error"],
            first(trader.cancel("BTC", rested))["error"],
        ],
    }


def main() -> None:
    story = json.load(sys.stdin)
    url, builder = story["url"], story["builder"]
    if story["mainnet"]:
        exchange.MAINNET_API_URL = url  # it knows the network by the address alone
    info = Info(url, skip_ws=True)
    owner_key, agent_key = (Account.from_key(story[name]) for name in ("owner", "agent"))
    user = owner_key.address
    bids, asks = info.l2_snapshot("BTC")["levels"]
    approved(exchange.Exchange(owner_key, url), agent_key.address, story)
    trader = exchange.Exchange(agent_key, url, account_address=user)
    told = {
        "coins": sorted(asset["name"] for asset in info.meta()["universe"]),
        "touch": plain(bids[0]["px"], asks[0]["px"]),
        "depth": [len(bids), len(asks)],
        "agent": info.extra_agents(user)[0]["name"],
        "builderFee": info.post(
            "/info", {"type": "maxBuilderFee", "user": user, "builder": builder}
        ),
    }
    told |= traded(trader, info, user, builder)
    told |= {
        "fills": [
            [row["side"], *plain(row["px"], row["sz"], row["fee"])] for row in info.user_fills(user)
        ],
        "history": [row["status"] for row in info.historical_orders(user)],
        "positions": len(info.user_state(user)["assetPositions"]),
    }
    print(json.dumps(told))


main()
