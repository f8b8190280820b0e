"""The chapter of orders, on the local venue: one on paper, one live that a browser-like order key
signs, and a close with every switch shut."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any, Final

import anyio
from aiohttp import ClientSession

from devtools.demo.stage import DemoStage
from devtools.demo.story import StepFailed
from devtools.local_wallet import LocalWallet
from server.cli.maintenance import set_allowed, set_switch
from venue import signing

BUY: Final = {"product": "BTC", "side": "buy", "type": "market", "notional_usdc": "20"}
BITCOIN: Final = 3  # on the venue's testnet
LEVERAGE: Final = 3
PATIENCE_S: Final = 30
LOOK_S: Final = 0.5


async def orders(s: DemoStage, secret: str, number: int) -> None:
    """The owner trades: first for nothing, then with a key that the service never sees."""
    s.story.chapter(number, "Orders: on paper, live by the owner's own key, and out in any case")
    await _on_paper(s)
    await _sets_leverage(s, secret)
    key = LocalWallet(secret, s.net.rpc_url)
    try:
        await set_switch(s.settings, "live_terminal", "on")
        await set_allowed(s.settings, s.owner.wallet.address, "the demo", allowed=True)
        await _live(s, key)
        await set_switch(s.settings, "live_terminal", "off")
        await set_allowed(s.settings, s.owner.wallet.address, "the demo", allowed=False)
        await _out(s, key)
    finally:
        await key.close()


async def _on_paper(s: DemoStage) -> None:
    book = await s.owner.ask("POST", "/wallet/own/paper/books", {"name": "Trial"}, expect=201)
    request = BUY | {"mode_seen": "paper", "book": book["book"]}
    raw = (await s.owner.ask("POST", "/app/trade/order", request))["order"]
    s.story.same("on paper it is", raw["status"], "executed")
    s.story.hold(
        f"filled {raw['filled_size']} at {raw['avg_px']} on the market's own book, est",
        truth=raw["est"] is True and all(f["snapshot"] for f in raw["fills"]),
    )
    shown = await s.owner.ask("GET", f"/wallet/own/paper/books/{book['book']}")
    s.story.same("the book is the replay of its entries; trades", shown["trades"], 1)


async def _sets_leverage(s: DemoStage, secret: str) -> None:
    """Set the leverage, as an owner does once at the venue itself; the service never changes it."""
    action = {
        "type": "updateLeverage",
        "asset": BITCOIN,
        "isCross": True,
        "leverage": LEVERAGE,
    }
    nonce = time.time_ns() // 1_000_000
    digest = signing.l1_digest("testnet", signing.action_hash(action, nonce))
    key = signing.key_from(bytes.fromhex(secret.removeprefix("0x")))
    body = {"action": action, "nonce": nonce, "signature": signing.sign(key, digest).as_json()}
    url = f"{s.settings.venue_testnet_url}/exchange"
    async with ClientSession() as http, http.post(url, json=body) as answer:
        raw = await answer.json()
    if raw.get("status") != "ok":
        raise StepFailed(f"the venue's answer to the leverage: {raw}")


def _signature(key: LocalWallet, to_sign: Any) -> object:
    """Sign `to_sign` as a browser's order key does."""
    return signing.Signature.from_hex(key.sign_typed(to_sign["typed_data"])).as_json()


async def _live(s: DemoStage, key: LocalWallet) -> None:
    request = BUY | {"mode_seen": "live"}
    created = await s.owner.ask("POST", "/wallet/order", request, expect=201)
    s.story.same("live it waits for a signature", created["order"]["status"], "awaiting_signature")
    s.story.hold(
        "the key that may sign is the one in the browser",
        truth=key.address.lower() in [a.lower() for a in created["to_sign"]["signer_must_be"]],
        shown=created["to_sign"]["signer_must_be"],
    )
    body: dict[str, object] = {
        "order_id": created["order"]["order_id"],
        "confirm_id": created["confirm_id"],
        "signature": _signature(key, created["to_sign"]),
    }
    done = await s.owner.ask("POST", "/wallet/order/execute", body)
    s.story.same("signed, sent once, on the venue's testnet", done["status"], "executed")
    s.story.hold(
        f"filled {done['filled_size']} at {done['avg_px']}, fee {done['fee_usdc']}",
        truth=Decimal(done["filled_size"]) > 0 and bool(done["fills"]),
    )
    again = await s.owner.ask("POST", "/wallet/order/execute", body)
    s.story.same("the same once more sends nothing", again["order_id"], done["order_id"])


async def _out(s: DemoStage, key: LocalWallet) -> None:
    request = BUY | {"mode_seen": "live"}
    refused = await s.owner.ask("POST", "/wallet/order", request, expect=403)
    s.story.same("the switch is off again; a new order", refused["error"], "wallet_live_off")
    close = {"product": "BTC", "mode_seen": "live"}
    created = await s.owner.ask("POST", "/app/trade/close", close, expect=201)
    s.story.same(
        "a close is prepared with every switch shut", created["order"]["reduce_only"], True
    )
    signed = {"confirm_id": created["confirm_id"], "signature": _signature(key, created["to_sign"])}
    done = await s.owner.ask("POST", "/app/trade/close", close | signed)
    s.story.same("and goes through", done["order"]["status"], "executed")
    await nothing_open(s)


async def nothing_open(s: DemoStage) -> None:
    """Look until the account is read anew; it is shown for a few seconds as it was."""
    live: object = None
    with anyio.move_on_after(PATIENCE_S):
        while live != []:
            await anyio.sleep(LOOK_S)
            live = (await s.owner.ask("GET", "/app/trade/positions"))["live"]
    s.story.same("nothing is left open there", live, [])
