"""Anvil with our contracts, as the end-to-end tests use a chain."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, cast

import requests

from chain.tx_sender import address_of
from devtools.devchain import DevChain
from tests import npm
from tests.ports import free_port
from tests.waiting import STUCK_S
from tests.world import CHAIN_ID, START, Clock, Evm, deployed

BALANCE = hex(10**22)


class AnvilChain:
    """What tests do to a chain besides sending transactions, by Anvil's own methods."""

    def __init__(self, url: str):
        self._url = url
        self.keys = DevChain(lambda: 0, CHAIN_ID).keys
        # A block a second after the one before it, however slow the machine is.
        self.rpc("anvil_setBlockTimestampInterval", 1)
        for key in self.keys:
            self.rpc("anvil_setBalance", address_of("0x" + key.hex()), BALANCE)

    def rpc(self, method: str, *params: Any) -> Any:
        """Call a method. Errors: RuntimeError with Anvil's own message."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        told = requests.post(self._url, json=body, timeout=STUCK_S).json()
        if "error" in told:
            raise RuntimeError(f"{method}: {told['error']}")
        return told["result"]

    def mine(self) -> None:
        """One block."""
        self.rpc("evm_mine")

    def forward_to(self, at: datetime) -> None:
        """Let the chain's time reach a moment."""
        now = int(self.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
        if int(at.timestamp()) > now:
            self.rpc("evm_setNextBlockTimestamp", int(at.timestamp()))
            self.mine()

    def snapshot(self) -> str:
        """A state to go back to."""
        return str(self.rpc("evm_snapshot"))

    def revert(self, kept: str) -> None:
        """Go back to it."""
        assert self.rpc("evm_revert", kept)

    def reorg(self, depth: int, drop: Iterable[bytes] = ()) -> None:
        """Replace the newest blocks by others with the same transactions, without the dropped ones."""
        gone = {"0x" + d.hex() for d in drop}
        head = int(self.rpc("eth_blockNumber"), 16)
        kept = []
        for place, number in enumerate(range(head - depth + 1, head + 1)):
            there = self.rpc("eth_getBlockByNumber", hex(number), False)["transactions"]
            kept += [
                [self.rpc("eth_getRawTransactionByHash", tx), place]
                for tx in there
                if tx not in gone
            ]
        self.rpc("anvil_reorg", depth, kept)


class AnvilClock(Clock):
    """The tests' clock; the chain follows it."""

    def __init__(self, chain: AnvilChain):
        super().__init__()
        self._chain = chain

    def forward(self, **period: float) -> None:
        super().forward(**period)
        self._chain.forward_to(self.at)


@contextmanager
def running_anvil() -> Iterator[Evm]:
    """Start Anvil and put our contracts on it."""
    npm.install()
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    told = [
        "--chain-id",
        str(CHAIN_ID),
        "--timestamp",
        str(int(START.timestamp())),
        "--port",
        str(port),
        "--accounts",
        "1",
        "--quiet",
    ]
    with subprocess.Popen([npm.ANVIL, *told], stdout=subprocess.DEVNULL) as process:
        try:
            _answers(url)
            chain = AnvilChain(url)
            keys = ["0x" + key.hex() for key in chain.keys]
            contracts = asyncio.run(deployed(url, keys[0], keys[1]))
            yield Evm(cast(DevChain, chain), AnvilClock(chain), url, *contracts, keeper_key=keys[1])
        finally:
            process.kill()


def _answers(url: str) -> None:
    until = time.monotonic() + STUCK_S
    while time.monotonic() < until:
        try:
            requests.get(url, timeout=STUCK_S)
        except requests.ConnectionError:
            time.sleep(0.02)
        else:
            return
    raise RuntimeError("Anvil does not start")
