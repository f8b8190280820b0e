"""Actions of every kind with values at and between the edges of their types, from a seed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from domain.trading.orders import PaidBuilder
from domain.trading.venue_values import Network
from venue import actions

EDGES = (0, 1, 127, 128, 255, 256, 65_535, 65_536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 - 1)
NAMES = ("", "a", "wsvc-o-0a1b2c valid_until 1767776120478", "é🚀", "x" * 31, "x" * 32, "x" * 300)


@dataclass(frozen=True)
class Drawn:
    """One signing task, in the words of both other clients."""

    action: Mapping[str, Any]
    network: Network
    nonce: int
    vault: str | None
    expires_after: int | None
    key: str
    user_signed: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "action": dict(self.action), "testnet": self.network == "testnet", "nonce": self.nonce, "vault": self.vault,
            "expiresAfter": self.expires_after, "key": self.key, "userSigned": self.user_signed,
        }  # fmt: skip


def address(rng: random.Random) -> str:
    return "0x" + rng.randbytes(20).hex()


def whole(rng: random.Random) -> int:
    return rng.choice([rng.choice(EDGES), rng.randrange(2**53)])


def figure(rng: random.Random) -> Decimal:
    """Up to 8 decimals, often with trailing zeros."""
    return Decimal(rng.randrange(1, 10 ** rng.randint(1, 12))).scaleb(-rng.randint(0, 8))


def cloid(rng: random.Random) -> str:
    return "0x" + rng.randbytes(16).hex()


def order(rng: random.Random) -> Any:
    made = actions.order(
        asset=rng.choice([0, 1, 110_000, 159_999, whole(rng)]), is_buy=rng.random() < 0.5, price=figure(rng), size=figure(rng),
        reduce_only=rng.random() < 0.5, tif=rng.choice(["Alo", "Ioc", "Gtc"]), cloid=cloid(rng) if rng.random() < 0.5 else None,
    )  # fmt: skip
    if rng.random() < 0.7:
        return made
    waits = {"isMarket": rng.random() < 0.5, "triggerPx": actions.wire(figure(rng))}
    return {**made, "t": {"trigger": {**waits, "tpsl": rng.choice(["tp", "sl"])}}}


def l1_action(rng: random.Random) -> Mapping[str, Any]:
    some = range(rng.choice([1, 1, 2, 15, 16, 40]))
    builder = PaidBuilder(
        address=address(rng).upper().replace("0X", "0x"), fee_tenths_bps=rng.randint(1, 100)
    )
    made = (
        lambda: actions.place(
            [order(rng) for _ in some],
            grouping=rng.choice(["na", "normalTpsl", "positionTpsl"]),
            builder=rng.choice([None, builder]),
        ),
        lambda: {"type": "cancel", "cancels": [{"a": whole(rng), "o": whole(rng)} for _ in some]},
        lambda: actions.cancel_by_cloid([(whole(rng), cloid(rng)) for _ in some]),
        lambda: {
            "type": "updateLeverage",
            "asset": whole(rng),
            "isCross": rng.random() < 0.5,
            "leverage": rng.randint(1, 50),
        },
        lambda: rng.choice(
            [{"type": "scheduleCancel"}, {"type": "scheduleCancel", "time": whole(rng)}]
        ),
        lambda: {"type": "noop"},
    )
    return rng.choice(made)()


def user_action(rng: random.Random, network: Network, nonce: int) -> actions.UserSigned:
    # The Python SDK signs under this chain id only; the others are compared with the Node client.
    if rng.random() < 0.5:
        return actions.approve_agent(
            network,
            agent=address(rng),
            name=rng.choice(NAMES),
            nonce=nonce,
            signature_chain_id=rng.choice(["0x66eee", "0xa4b1", "0x1"]),
        )
    rate = rng.choice(["0.1%", "0.01%", "0.001%", "1%"])
    return actions.approve_builder_fee(
        network,
        builder=address(rng),
        max_fee_rate=rate,
        nonce=nonce,
        signature_chain_id=rng.choice(["0x66eee", "0x2105"]),
    )


def drawn(seed: int) -> Drawn:
    rng = random.Random(seed)  # noqa: S311 - examples, no secrets
    network: Network = rng.choice(["mainnet", "testnet"])
    nonce = rng.choice([1_755_863_118_217, whole(rng)])
    key = "0x" + rng.randrange(1, 2**255).to_bytes(32, "big").hex()
    if rng.random() < 0.2:
        return Drawn(user_action(rng, network, nonce), network, nonce, None, None, key, True)
    return Drawn(
        l1_action(rng),
        network,
        nonce,
        address(rng) if rng.random() < 0.3 else None,
        whole(rng) if rng.random() < 0.5 else None,
        key,
        False,
    )
