"""What the browser makes of an order's bytes, under Node: the venue's own vectors, and every digit
that could be altered between the page and the signature.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgpack
import pytest

from domain.trading.venue_account import milliseconds
from tests import npm
from tests.app.desks import TradingSite, a_trading_site, block, form, live_at_the_door
from tests.app.site import Page
from tests.app.test_tampering import node
from tests.tools.trading.conftest import BUILDER
from tests.venue.random_actions import drawn
from venue import signing

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.usefixtures("no_backoff"),
    pytest.mark.node,
    pytest.mark.slow,
    pytest.mark.skipif(bool(npm.missing()), reason=npm.missing()),
]
Json = dict[str, Any]
VECTORS: Json = json.loads(
    (Path(__file__).parents[1] / "venue" / "signature_vectors.json").read_text()
)


def browser(checks: list[Json], vectors: list[Json]) -> Json:
    return dict(node("orders.mjs", "order.js", {"checks": checks, "vectors": vectors}))


def test_the_browser_signs_as_in_each_published_vector() -> None:
    asked = [
        {
            "action": v["action"],
            "nonce": VECTORS["nonce"],
            "vault": VECTORS["vault"] if v["vault"] else None,
            "expires": VECTORS["expires_after"] if v["expires"] else None,
            "network": v["network"],
            "key": VECTORS["key"],
        }
        for v in VECTORS["l1"]
    ]
    made = browser([], asked)["vectors"]
    assert [m["signature"] for m in made] == [v["signature"] for v in VECTORS["l1"]]


def test_the_browser_packs_hashes_and_signs_drawn_actions_as_the_service_does() -> None:
    many = [d for d in map(drawn, range(1_000)) if not d.user_signed]
    made = browser(
        [],
        [
            {"action": d.action, "nonce": d.nonce, "vault": d.vault, "expires": d.expires_after,
             "network": d.network, "key": d.key}
            for d in many
        ],
    )["vectors"]  # fmt: skip
    assert len(made) > 500
    for d, told in zip(many, made, strict=True):
        hashed = signing.action_hash(
            d.action, d.nonce, vault=d.vault, expires_after=d.expires_after
        )
        key = signing.key_from(bytes.fromhex(d.key[2:]))
        assert told["packed"] == "0x" + msgpack.packb(d.action).hex()
        assert told["hash"] == "0x" + hashed.hex()
        digest = signing.l1_digest(d.network, hashed)
        assert told["signature"] == signing.sign(key, digest).as_json()
        assert told["address"] == key.public_key.to_checksum_address()


# -- tampering


def says(page: Page) -> dict[str, str]:
    """What trade.js reads off a page."""
    return {
        e.attributes["data-says"]: e.text.strip()
        for e in page.elements
        if "data-says" in e.attributes
    }


def words(page: Page) -> dict[str, str]:
    """The sentences that a page gives trade.js for what is wrong."""
    return dict(json.loads(page.one("script", id="order-says").text))


@pytest.fixture
async def site(sqlite_url: str) -> AsyncIterator[TradingSite]:
    async with a_trading_site(sqlite_url) as opened:
        yield opened


async def pages(site: TradingSite) -> dict[str, Json]:
    """An order, a close and a cancellation as their pages ask to sign them."""
    t = await live_at_the_door(site)
    account = site.desk.main.state.account(t.person.wallet.address)
    assert account is not None
    account.builders[BUILDER.address.lower()] = 100
    http = await site.signed_in(t.person)
    at = await http.get("/app/orders")
    ticket = {"csrf": at.token(), "product": "BTC", "side": "buy", "amount": "30", "unit": "usdc",
              "mode_seen": "live"}  # fmt: skip
    market = await http.post("/app/orders", ticket | {"type": "market", "key": "f_a"})
    rest = {"type": "limit", "limit_px": "60000", "tif": "gtc", "key": "f_b"}
    limit = await http.post("/app/orders", ticket | rest)
    found = {"market": market, "limit": limit}
    for page in (market, limit):
        sent = form(page, "signed") | {"signature": json.dumps(t.sign(block(page)))}
        path = page.one("form", id="signed").attributes["action"]
        assert (await http.post(path, sent)).status == 303
    found["cancel"] = await http.post(
        path.removesuffix("/sign") + "/cancel", {"csrf": ticket["csrf"]}
    )
    close = {"csrf": ticket["csrf"], "product": "BTC", "mode_seen": "live", "key": "f_c"}
    found["close"] = await http.post("/app/orders/close", close)
    now = milliseconds(site.desk.clock.now())
    assert all(page.status == 201 for page in found.values()), [p.said for p in found.values()]
    return {
        n: {"told": block(p), "says": says(p), "now": now, "words": words(p)}
        for n, p in found.items()
    }


def other_digit(text: str) -> Iterator[str]:
    """The text with each digit in turn replaced by another."""
    for i, c in enumerate(text):
        if c.isdigit() and not (i < 2 and text.startswith("0x")):
            yield text[:i] + str((int(c) + 1) % 10) + text[i + 1 :]


def altered_words(raw: Json) -> Iterator[tuple[str, Json]]:
    """The page with one word or digit of it another."""
    flips = {"side": {"buy": "sell", "sell": "buy"}, "reduce": {"yes": "no", "no": "yes"},
             "network": {"mainnet": "testnet"}, "tif": {"ioc": "gtc", "gtc": "alo"}}  # fmt: skip
    cancels = raw["says"]["kind"] == "cancel"
    looked = ("asset", "cloid", "network", "wallet", "key") if cancels else (
        "asset", "size", "price", "cloid", "value", "fee", "builder", "wallet", "key", "side",
        "reduce", "network", "tif",
    )  # fmt: skip
    for name in looked:
        text = raw["says"].get(name)
        if text is None:
            continue
        for other in [flips[name][text]] if name in flips else other_digit(text):
            yield name, {**raw, "says": {**raw["says"], name: other}}


def _action(change: Callable[[Json], object]) -> Callable[[Json], None]:
    def work(raw: Json) -> None:
        action = json.loads(raw["action"])
        change(action)
        raw["action"] = json.dumps(action, separators=(",", ":"))
        raw["action_msgpack"] = "0x" + msgpack.packb(action).hex()
        hashed = signing.action_hash(action, raw["nonce"], expires_after=raw["expires_after"])
        raw["action_hash"] = "0x" + hashed.hex()
        raw["typed_data"] = signing.l1_typed_data(raw["network"], hashed)

    return work


def _vault(raw: Json) -> None:
    hashed = signing.action_hash(
        json.loads(raw["action"]), raw["nonce"], expires_after=raw["expires_after"],
        vault="0x" + "12" * 20,
    )  # fmt: skip
    raw["action_hash"] = "0x" + hashed.hex()
    raw["typed_data"] = signing.l1_typed_data(raw["network"], hashed)


# A service that was bent: each makes bytes, hash and message agree among themselves, but not with
# the page.
BENT: dict[str, Callable[[Json], object]] = {
    "price": _action(lambda a: a["orders"][0].update(p=next(other_digit(a["orders"][0]["p"])))),
    "size": _action(lambda a: a["orders"][0].update(s=next(other_digit(a["orders"][0]["s"])))),
    "product": _action(lambda a: a["orders"][0].update(a=a["orders"][0]["a"] + 1)),
    "side": _action(lambda a: a["orders"][0].update(b=not a["orders"][0]["b"])),
    "reduce-only": _action(lambda a: a["orders"][0].update(r=not a["orders"][0]["r"])),
    "cloid": _action(lambda a: a["orders"][0].update(c="0x" + "0" * 32)),
    "time in force": _action(lambda a: a["orders"][0]["t"]["limit"].update(tif="Alo")),
    "a trigger": _action(lambda a: a["orders"][0].update(t={"trigger": {"isMarket": True, "triggerPx": "1", "tpsl": "sl"}})),
    "a second order": _action(lambda a: a["orders"].append(a["orders"][0])),
    "grouping": _action(lambda a: a.update(grouping="normalTpsl")),
    "a builder": _action(lambda a: a.update(builder={"b": "0x" + "ee" * 20, "f": 100})),
    "another action": _action(lambda a: (a.clear(), a.update(type="updateLeverage", asset=0, isCross=True, leverage=40))),
    "a vault": _vault,
    "the other network": lambda t: t.update(typed_data=signing.l1_typed_data("testnet", bytes.fromhex(t["action_hash"][2:]))),
    "the network's name": lambda t: t.update(network="testnet"),
    "another domain": lambda t: t["typed_data"]["domain"].update(chainId=1),
    "another type": lambda t: t["typed_data"].update(primaryType="Withdraw"),
    "the nonce": lambda t: t.update(nonce=t["nonce"] + 1),
    "the end": lambda t: t.update(expires_after=t["expires_after"] + 1),
    "a far end": lambda t: t.update(expires_after=t["expires_after"] + 10**7),
    "the bytes alone": lambda t: t.update(action_msgpack=t["action_msgpack"][:-2] + "00"),
    "the hash alone": lambda t: t.update(action_hash="0x" + "11" * 32),
    "another key": lambda t: t["signer_must_be"].__setitem__(1, "0x" + "cd" * 20),
    "another wallet": lambda t: t["signer_must_be"].__setitem__(0, "0x" + "cd" * 20),
    "a third signer": lambda t: t["signer_must_be"].append("0x" + "cd" * 20),
    "nothing to read": lambda t: t.update(action="{"),
}  # fmt: skip


async def test_what_is_asked_to_be_signed_passes_and_nothing_altered_does(
    site: TradingSite,
) -> None:
    asked = await pages(site)
    bent: list[tuple[str, Json]] = []
    for name, change in BENT.items():
        for kind in ("market", "limit", "close"):
            copy = deepcopy(asked[kind])
            change(copy["told"])
            bent.append((f"{kind}: {name}", copy))
    words = [(f"{k}: {n}", w) for k, told in asked.items() for n, w in altered_words(told)]
    assert len(words) > 150
    cases = [*asked.items(), *bent, *words, ("late", {**asked["market"], "now": 10**14})]
    found = browser([told for _, told in cases], [])["checks"]
    for (name, _), looked in zip(cases, found, strict=True):
        whys = [w for part in looked["found"].values() for w in part]
        if name in asked:
            assert whys == [], (name, whys)
            assert looked["digest"] is not None
        else:
            assert all(whys), name
            assert whys, name
            if name.endswith(": price") or name.endswith(": side") or name.endswith(": size"):
                assert any(name.rpartition(": ")[2] in w for w in whys), (name, whys)
