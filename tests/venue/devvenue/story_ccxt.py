"""Plays a trader's day at a venue with ccxt, in an environment of its own (locks/ccxt.txt).

Reads {url, mainnet, owner, agent, builder, user, agentAddress} from stdin and prints what it saw,
as venue_story.mjs.
"""

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import ccxt

SYMBOL = "BTC/USDC:USDC"
APPROVE = [
    {"name": "hyperliquidChain", "type": "string"},
    {"name": "agentAddress", "type": "address"},
    {"name": "agentName", "type": "string"},
    {"name": "nonce", "type": "uint64"},
]


def plain(*texts: Any) -> list[str]:
    return [f"{float(text):.12g}" for text in texts]


def client(story: dict[str, Any], key: str, **options: Any) -> Any:
    made = ccxt.hyperliquid({"walletAddress": story["user"], "privateKey": key})
    made.enableRateLimit = False
    made.urls["api"] = {"public": story["url"], "private": story["url"]}
    fee = {"builder": story["builder"], "feeRate": "0.1%", "feeInt": 100}
    made.options |= {"sandboxMode": not story["mainnet"]} | fee | options
    return made


def approve(owner: Any, story: dict[str, Any]) -> None:
    """ccxt has no method for it, but signs what it is given."""
    message = {
        "hyperliquidChain": "Mainnet" if story["mainnet"] else "Testnet",
        "agentAddress": story["agentAddress"],
        "agentName": "story",
        "nonce": owner.milliseconds(),
    }
    types = {"HyperliquidTransaction:ApproveAgent": APPROVE}
    signature = owner.sign_user_signed_action(types, message)
    action = {"type": "approveAgent", "signatureChainId": "0x66eee", **message}
    body = {"action": action, "nonce": message["nonce"], "signature": signature}
    assert owner.privatePostExchange(body)["status"] == "ok"


def refusal(run: Callable[[], Any]) -> str:
    try:
        run()
    except ccxt.BaseError as error:
        found = re.search(r'"error": ?"([^"]*)"', str(error))
        return found[1] if found else str(error)
    return "ok"


def traded(trader: Any) -> dict[str, Any]:
    def limit(side: str, amount: float, price: float, tif: str, **more: Any) -> Any:
        params = {"timeInForce": tif, **more}
        return trader.create_order(SYMBOL, "limit", side, amount, price, params)

    bought = limit("buy", 0.001, 64500, "IOC")
    (long,) = trader.fetch_positions([SYMBOL])
    trader.options["builderFee"] = False
    rested = limit("buy", 0.001, 60000, "GTC")["id"]
    opened = trader.fetch_open_orders(SYMBOL)
    trader.cancel_order(rested, SYMBOL)
    cancelled = trader.fetch_order(rested, SYMBOL)["status"]
    closed = limit("sell", 0.001, 61000, "IOC", reduceOnly=True)
    trader.price_to_precision = lambda symbol, price: str(price)
    return {
        "bought": plain(bought["filled"], bought["average"]),
        "long": plain(long["contracts"], long["entryPrice"]),
        "open": [[row["id"] == rested, *plain(row["price"])] for row in opened],
        "cancelled": cancelled,
        "closed": plain(closed["filled"], closed["average"]),
        "refused": [
            refusal(lambda: limit("buy", 0.001, 64000.5, "GTC")),
            refusal(lambda: limit("buy", 0.0001, 64000, "GTC")),
            refusal(lambda: limit("sell", 0.001, 61000, "IOC", reduceOnly=True)),
            refusal(lambda: trader.cancel_order(rested, SYMBOL)),
        ],
    }


def main() -> None:
    story = json.load(sys.stdin)
    owner = client(story, story["owner"])
    # Loading the markets signs and sends the approval of the builder.
    markets = [m for m in owner.load_markets().values() if m["swap"]]
    approve(owner, story)
    user = {"user": story["user"]}
    asked = {"type": "maxBuilderFee", "builder": story["builder"]}
    trader = client(story, story["agent"], approvedBuilderFee=True, refSet=True)
    trader.load_markets()
    book = trader.fetch_order_book(SYMBOL)
    told = {
        "coins": sorted(m["info"]["name"] for m in markets if ":" not in m["info"]["name"]),
        "touch": plain(book["bids"][0][0], book["asks"][0][0]),
        "depth": [len(book["bids"]), len(book["asks"])],
        "agent": owner.publicPostInfo({"type": "extraAgents"} | user)[0]["name"],
        "builderFee": int(owner.publicPostInfo(asked | user)),
    }
    told |= traded(trader)
    # ccxt adds the builder's part to a fee that has it already: the venue's own row is read.
    rows = [trade["info"] for trade in trader.fetch_my_trades(SYMBOL)[::-1]]
    history = trader.publicPostInfo({"type": "historicalOrders"} | user)
    told |= {
        "fills": [[row["side"], *plain(row["px"], row["sz"], row["fee"])] for row in rows],
        "history": [row["status"] for row in history],
        "positions": len(trader.fetch_positions([SYMBOL])),
    }
    print(json.dumps(told))


main()
