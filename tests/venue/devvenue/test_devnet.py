"""`wallet devnet --venue`: a chain and a venue, where the chain's accounts have money."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from eth_account import Account
from hyperliquid.exchange import Exchange

pytestmark = pytest.mark.slow
FIRST = Account.from_key("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")


@pytest.fixture
def told() -> Iterator[dict[str, str]]:
    command = [sys.executable, "-m", "server", "devnet", "--port", "0"]
    with subprocess.Popen(
        [*command, "--venue", "--venue-port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as running:
        assert running.stdout
        lines: list[str] = []
        try:
            for line in running.stdout:
                lines.append(line.strip())
                if line.startswith("market:"):
                    break
            yield dict(line.split("=", 1) for line in lines if "=" in line)
        finally:
            running.terminate()
            running.wait(10)


def asked(url: str, **body: Any) -> Any:
    return requests.post(url + "/info", json=body, timeout=10).json()


def test_a_devnet_with_a_venue_prints_both_networks_and_takes_orders(
    told: dict[str, str],
) -> None:
    main, test = (told[f"WALLET_VENUE_{network}_URL"] for network in ("MAINNET", "TESTNET"))
    assert [asked(url, type="meta")["universe"][0]["name"] for url in (main, test)] == [
        "BTC",
        "SOL",
    ]
    for url in (main, test):
        for dex in ("", "xyz"):
            state = asked(url, type="clearinghouseState", user=FIRST.address, dex=dex)
            assert state["marginSummary"]["accountValue"] == "10000.0"
    status = Exchange(FIRST, test).market_open("BTC", True, 0.001)
    assert "filled" in status["response"]["data"]["statuses"][0]
