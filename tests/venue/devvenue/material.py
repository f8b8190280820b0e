"""A local venue with a clock that stands, and people who sign with the venue's official SDK."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from eth_account import Account
from eth_account.signers.local import LocalAccount
from hyperliquid.utils import signing

from devtools.devvenue import DevVenue, Rules

START: Final = 1_795_000_000_000
ALICE: Final[LocalAccount] = Account.from_key("0x" + "a1" * 32)
BOB: Final[LocalAccount] = Account.from_key("0x" + "b0" * 32)
BUILDER: Final[LocalAccount] = Account.from_key("0x" + "bb" * 32)
KEY: Final[LocalAccount] = Account.from_key("0x" + "4e" * 32)
CLOID: Final = "0x" + "c1" * 16
STRANGER: Final[LocalAccount] = Account.from_key("0x" + "5a" * 32)


def address(who: LocalAccount) -> str:
    return str(who.address).lower()


def limit(
    asset: int,
    buy: bool,
    px: str,
    sz: str,
    tif: str = "Gtc",
    *,
    reduce: bool = False,
    cloid: str | None = None,
) -> dict[str, Any]:
    made: dict[str, Any] = {"a": asset, "b": buy, "p": px, "s": sz, "r": reduce}
    made["t"] = {"limit": {"tif": tif}}
    return made | ({"c": cloid} if cloid else {})


@dataclass
class Desk:
    """A venue, its clock, and the actions of its people."""

    mainnet: bool = True
    rules: Rules = field(default_factory=lambda: Rules(ip_budget=None))
    now: int = START
    nonce: int = START

    def __post_init__(self) -> None:
        self.venue = DevVenue(lambda: self.now, mainnet=self.mainnet, rules=self.rules)
        for who, amount in ((ALICE, 10_000), (BOB, 10_000), (BUILDER, 100)):
            self.venue.deposit(who.address, amount)

    def id(self, coin: str) -> int:
        return self.venue.market(coin).asset

    def fresh(self) -> int:
        self.nonce += 1
        return self.nonce

    def l1(
        self,
        who: LocalAccount,
        action: dict[str, Any],
        *,
        nonce: int | None = None,
        vault: str | None = None,
        expires: int | None = None,
        mainnet: bool | None = None,
    ) -> dict[str, Any]:
        """An envelope as the SDK signs it."""
        used = self.fresh() if nonce is None else nonce
        network = self.mainnet if mainnet is None else mainnet
        signature = signing.sign_l1_action(who, action, vault, used, expires, network)
        return {
            "action": action,
            "nonce": used,
            "signature": signature,
            "vaultAddress": vault,
            "expiresAfter": expires,
        }

    def act(self, who: LocalAccount, action: dict[str, Any], **more: Any) -> Any:
        return self.venue.exchange(self.l1(who, action, **more))

    def orders(self, who: LocalAccount, *wires: dict[str, Any], **action: Any) -> list[Any]:
        """Place orders; their statuses, or the text of the refusal as the only one."""
        made = {"type": "order", "orders": list(wires), "grouping": "na"} | action
        told = self.act(who, made)
        if told["status"] == "err":
            return [told["response"]]
        assert told["response"]["type"] == "order"
        return list(told["response"]["data"]["statuses"])

    def order(self, who: LocalAccount, wire: dict[str, Any], **action: Any) -> Any:
        (status,) = self.orders(who, wire, **action)
        return status

    def cancel(self, who: LocalAccount, asset: int, oid: int) -> Any:
        told = self.act(who, {"type": "cancel", "cancels": [{"a": asset, "o": oid}]})
        return told["response"]["data"]["statuses"][0]

    def agent_envelope(
        self, who: LocalAccount, agent: str, name: str = "", mainnet: bool | None = None
    ) -> dict[str, Any]:
        nonce = self.fresh()
        action = {
            "type": "approveAgent",
            "agentAddress": agent,
            "agentName": name,
            "nonce": nonce,
        }
        network = self.mainnet if mainnet is None else mainnet
        signature = signing.sign_agent(who, action, network)
        return {"action": action, "nonce": nonce, "signature": signature}

    def approve(self, who: LocalAccount, agent: str, name: str = "") -> Any:
        """Ok, or the words of the refusal."""
        told = self.venue.exchange(self.agent_envelope(who, agent, name))
        return "ok" if told["status"] == "ok" else told["response"]

    def approve_builder(self, who: LocalAccount, rate: str, builder: str = "") -> Any:
        nonce = self.fresh()
        action = {
            "type": "approveBuilderFee",
            "maxFeeRate": rate,
            "builder": builder or address(BUILDER),
            "nonce": nonce,
        }
        signature = signing.sign_approve_builder_fee(who, action, self.mainnet)
        body = {"action": action, "nonce": nonce, "signature": signature}
        told = self.venue.exchange(body)
        return "ok" if told["status"] == "ok" else told["response"]

    def ask(self, kind: str, who: LocalAccount | None = None, **fields: Any) -> Any:
        user = {"user": who.address} if who else {}
        return self.venue.info({"type": kind, **user, **fields})

    def position(self, who: LocalAccount, coin: str) -> dict[str, Any] | None:
        dex = coin.partition(":")[0] if ":" in coin else ""
        rows = self.ask("clearinghouseState", who, dex=dex)["assetPositions"]
        return next((r["position"] for r in rows if r["position"]["coin"] == coin), None)

    def status(self, who: LocalAccount, key: int | str) -> str:
        told = self.ask("orderStatus", who, oid=key)
        return str(told["order"]["status"]) if told["status"] == "order" else str(told["status"])


def btc(
    ingest_context: Desk, buy: bool, px: str, sz: str, tif: str = "Gtc", **more: Any
) -> dict[str, Any]:
    return limit(ingest_context.id("BTC"), buy, px, sz, tif, **more)


def refused(ingest_context: Desk, wire: dict[str, Any]) -> tuple[str, str]:
    """The words, and the status in the history."""
    words = ingest_context.order(ALICE, wire | {"c": CLOID})["error"]
    suffix = f" asset={wire['a']}"
    assert words.endswith(suffix)
    return words.removesuffix(suffix), ingest_context.status(ALICE, CLOID)


def hold(ingest_context: Desk, sz: str = "0.00015") -> None:
    """Long a little BTC."""
    told = ingest_context.order(ALICE, btc(ingest_context, True, "66700", sz, "Ioc"))
    assert told["filled"]["totalSz"] == sz
