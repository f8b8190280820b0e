"""Other people's clients play the same day at the local venue, and all see the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from devtools.devvenue import DevVenue, serve_in_thread
from tests import npm
from tests.fetched import python_of
from tests.venue.devvenue.material import ALICE, BUILDER, KEY, address

pytestmark = [pytest.mark.slow, pytest.mark.node]
HERE, ROOT = Path(__file__).parent, Path(__file__).parents[3]
WITHOUT_NODE = pytest.mark.skipif(bool(npm.missing()), reason=npm.missing() or "can run")
DAY: Final[dict[str, Any]] = {
    "coins": ["AVAX", "BTC", "DYDX", "ETH", "SOL", "kPEPE"],
    "touch": ["63999", "64001"],
    "depth": [20, 20],
    "agent": "story",
    "builderFee": 100,
    "bought": ["0.001", "64001"],
    "long": ["0.001", "64001"],
    "open": [[True, "60000"]],
    "cancelled": "canceled",
    "closed": ["0.001", "63999"],
    "fills": [["A", "63999", "0.001", "0.0288"], ["B", "64001", "0.001", "0.092801"]],
    "history": [
        "reduceOnlyRejected",
        "minTradeNtlRejected",
        "tickRejected",
        "filled",
        "canceled",
        "filled",
    ],
    "positions": 0,
}
REFUSED: Final = [
    "Price must be divisible by tick size. asset={asset}",
    "Order must have minimum value of $10. asset={asset}",
    "Reduce only order would increase position. asset={asset}",
    "Order was never placed, already canceled, or filled.",
]


def nktkas() -> list[str]:
    npm.install()
    return npm.node("../venue_story.mjs")


CLIENTS: Final[dict[str, Callable[[], list[str]]]] = {
    "hyperliquid-python-sdk": lambda: [sys.executable, str(HERE / "story_sdk.py")],
    "nktkas-hyperliquid": nktkas,
    "ccxt": lambda: [python_of("ccxt"), str(HERE / "story_ccxt.py")],
}


def played(command: list[str], story: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        command,
        input=json.dumps(story),
        capture_output=True,
        text=True,
        timeout=600,
        cwd=npm.FOLDER,
        env={"PATH": os.environ["PATH"]},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("mainnet", [True, False], ids=["mainnet", "testnet"])
@pytest.mark.parametrize("client", [
    "hyperliquid-python-sdk",
    pytest.param("nktkas-hyperliquid", marks=WITHOUT_NODE),
    "ccxt",
])  # fmt: skip
def test_every_client_plays_the_same_day(client: str, mainnet: bool) -> None:
    now = time.time
    desk = DevVenue(lambda: int(now() * 1_000), mainnet=mainnet)
    desk.deposit(ALICE.address, 1_000)
    desk.deposit(BUILDER.address, 100)
    command = CLIENTS[client]()
    with serve_in_thread(desk) as url:
        story = {
            "url": url,
            "mainnet": mainnet,
            "owner": "0x" + bytes(ALICE.key).hex(),
            "agent": "0x" + bytes(KEY.key).hex(),
            "builder": address(BUILDER),
            "user": address(ALICE),
            "agentAddress": address(KEY),
        }
        told = played(command, story)
    asset = desk.market("BTC").asset
    assert told.pop("refused") == [words.format(asset=asset) for words in REFUSED]
    assert told == DAY
    assert asset == (0 if mainnet else 3)
