"""Plays a trader's day at a venue with ccxt, in an environment of its own (locks/ccxt.txt).

Reads {url, mainnet, owner, agent, builder} from stdin and prints what it saw, as venue_story.mjs.
"""

import json
import re
import sys
from typing import Any

import ccxt

SYMBOL = "BTC/USDC:USDC"
STATUSES = {"open": "open", "closed": "filled", "canceled": "canceled", "rejected": "rejected"}


def plain(text: Any) -> str:
    return f"{float(text):.12g}"


def client(story: dict[str, Any], key: str, **options: Any) -> Any:
    made = ccxt.hyperliquid({"walletAddress": story["user"], "privateKey": key})
    made.enableRateLimit = False
    made.urls["api"] = {"public": story["url"], "private": story["url"]}
    made.options |= {"sandboxMode": not story["mainnet"], **options}
    return made


def main() -> None:
    story = json.load(sys.stdin)
    agent_address = story["agentAddress"]
    fee = {"builder": story["builder"], "feeRate": "0.1%", "feeInt": 100}
    owner = client(story, story["owner"], **fee)
    # Loading the markets signs and sends the approval of the builder.
    markets = owner.load_markets()
    user = {"user": story["user"]}
    asked = {"type": "maxBuilderFee", "builder": story["builder"]} | user
    builder_fee = int(owner.publicPostInfo(asked))
    nonce = owner.milliseconds()
    message = {
        "hyperliquidChain": "Mainnet" if story["mainnet"] else "Testnet",
        "agentAddress": agent_address,
        "agentName": "story",
        "nonce": nonce,
    }
    fields = [
        {"name": "hyperliquidChain", "type": "string"},
        {"name": "agentAddress", "type": "address"},
        {"name": "agentName", "type": "string"},
        {"name": "nonce", "type": "uint64"},
    ]
    signature = owner.sign_user_signed_action({"HyperliquidTransaction:ApproveAgent": fields}, message)
    action = {"type": "approveAgent", "signatureChainId": "0x66eee", **message}
    body = {"action": action, "nonce": nonce, "signature": signature}
    assert owner.privatePostExchange(body)["status"] == "ok"
    (agent,) = owner.publicPostInfo({"type": "extraAgents"} | user)

    trader = client(story, story["agent"], approvedBuilderFee=True, refSet=True, **fee)
    trader.load_markets()
    book = trader.fetch_order_book(SYMBOL)

    def limit(side: str, amount: float, price: float, tif: str, **more: Any) -> Any:
        params = {"timeInForce": tif, **more}
        return trader.create_order(SYMBOL, "limit", side, amount, price, params)

    def refusal(run: Any) -> str:
        try:
            run()
        except ccxt.BaseError as error:
            found = re.search(r'"error": ?"([^"]*)"', str(error))
            return found[1] if found else str(error)
        return "ok"

    bought = limit("buy", 0.001, 64500, "IOC")
    (long,) = trader.fetch_positions([SYMBOL])
    trader.options["builderFee"] = False
    rested = limit("buy", 0.001, 60000, "GTC")
    opened = trader.fetch_open_orders(SYMBOL)
    trader.cancel_order(rested["id"], SYMBOL)
    cancelled = trader.fetch_order(rested["id"], SYMBOL)
    closed = limit("sell", 0.001, 61000, "IOC", reduceOnly=True)
    trader.price_to_precision = lambda symbol, price: str(price)
    refused = [
        refusal(lambda: limit("buy", 0.001, 64000.5, "GTC")),
        refusal(lambda: limit("buy", 0.0001, 64000, "GTC")),
        refusal(lambda: limit("sell", 0.001, 61000, "IOC", reduceOnly=True)),
        refusal(lambda: trader.cancel_order(rested["id"], SYMBOL)),
    ]
    fills = trader.fetch_my_trades(SYMBOL)[::-1]
    history = trader.publicPostInfo({"type": "historicalOrders"} | user)
    told = {
        "coins": sorted(m["info"]["name"] for m in markets.values() if m["swap"] and ":" not in m["info"]["name"]),
        "touch": [plain(book["bids"][0][0]), plain(book["asks"][0][0])],
        "depth": [len(book["bids"]), len(book["asks"])],
        "agent": agent["name"],
        "builderFee": builder_fee,
        "bought": [plain(bought["filled"]), plain(bought["average"])],
        "long": [plain(long["contracts"]), plain(long["entryPrice"])],
        "open": [[row["id"] == rested["id"], plain(row["price"])] for row in opened],
        "cancelled": cancelled["status"],
        "closed": [plain(closed["filled"]), plain(closed["average"])],
        "refused": refused,
        # ccxt adds the builder's part to a fee that has it already: the venue's row is read.
        "fills": [
            [row["info"][k] if k == "side" else plain(row["info"][k]) for k in keys]
            for row in fills
            for keys in [("side", "px", "sz", "fee")]
        ],
        "history": [row["status"] for row in history],
        "positions": len(trader.fetch_positions([SYMBOL])),
    }
    print(json.dumps(told))


main()
