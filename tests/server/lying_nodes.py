"""Nodes that answer rightly most of the time, and lie where it pays."""

from __future__ import annotations

import asyncio
from typing import Any, Final, Literal

from aiohttp import web

from tests.server.bad_nodes import Node
from tests.world import World

Lie = Literal[
    "right blocks and wrong calls",
    "leaves one log of a block out",
    "turns receipts round",
    "right until it is deep",
    "more than was moved",
    "keeps what is sent, and says that all reverts",
]
LIES: Final[tuple[Lie, ...]] = Lie.__args__  # type: ignore[attr-defined]
ALL_GAS: Final = 10**15


class Liar(Node):
    """A node that tells this lie once it is told to be bad."""

    def __init__(self, world: World, lie: Lie, confirmations: int):
        super().__init__(world)
        self.lie, self.confirmations = lie, confirmations
        self.told_lies = 0

    def _bent(self, one: dict[str, Any], raw: Any) -> Any:
        method, found = one["method"], raw["result"]
        bent = found
        match self.lie:
            case "right blocks and wrong calls" if method == "eth_call" and found:
                bent = raised(found)
            case "leaves one log of a block out" if method == "eth_getLogs":
                bent = [g for n, g in enumerate(found) if not self._last_new(found, n)]
            case "turns receipts round" if method == "eth_getTransactionReceipt" and found:
                status = "0x0" if found["status"] == "0x1" else "0x1"
                bent = found | {"status": status, "logs": []}
            case "right until it is deep" if method == "eth_getLogs":
                bent = [self._later(g) for g in found]
            case "more than was moved" if method in ("eth_getTransactionReceipt", "eth_getLogs"):
                bent = self._more(found)
            case "keeps what is sent, and says that all reverts":
                return self._unsent(one, raw)
        self.told_lies += bent != found
        return raw | {"result": bent}

    def _last_new(self, logs: list[dict[str, Any]], n: int) -> bool:
        """The last log of a block since the node is bad."""
        last = n + 1 == len(logs) or logs[n + 1]["blockNumber"] != logs[n]["blockNumber"]
        return last and self._new(logs[n])

    def _later(self, log: dict[str, Any]) -> dict[str, Any]:
        head = self.chain.head.number
        deep = int(log["blockNumber"], 16) <= head - max(1, self.confirmations)
        return log | {"data": raised(log["data"])} if deep and self._new(log) else log

    def _more(self, found: Any) -> Any:
        if isinstance(found, dict):
            return found | {"logs": [g | {"data": raised(g["data"])} for g in found["logs"]]}
        return [g | {"data": raised(g["data"])} for g in found] if found else found

    def _unsent(self, one: dict[str, Any], raw: Any) -> Any:
        method = one["method"]
        self.told_lies += method.startswith(("eth_send", "eth_estimate", "eth_gas", "eth_max"))
        match method:
            case "eth_estimateGas":
                return self._error(one, 3, "execution reverted")
            case "eth_gasPrice" | "eth_maxPriorityFeePerGas":
                return raw | {"result": hex(ALL_GAS)}
            case "eth_getTransactionCount":
                return raw | {"result": hex(int(raw["result"], 16) + 7)}
            case "eth_getBalance":
                return raw | {"result": "0x0"}
        return raw

    def _told(self, one: dict[str, Any]) -> Any:
        sends = self.lie == "keeps what is sent, and says that all reverts"
        if self.bad and sends and one["method"] == "eth_sendRawTransaction":
            self.told_lies += 1
            return {"jsonrpc": "2.0", "id": one["id"], "result": "0x" + "ab" * 32}
        return super()._told(one)


class Tired(Node):
    """A node that does not answer at all while it is told to rest."""

    def __init__(self, world: World):
        super().__init__(world)
        self.rests = False
        self.left = 0

    @property
    def on_the_wire(self) -> bool:
        """It is: who waits for it waits for an answer over HTTP."""
        return True

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if self.rests:
            self.left += 1
            await asyncio.wait_for(self._ended.wait(), 30)
        return await super().handle(request)


def raised(data: str) -> str:
    """Figures of a test's lives told as others."""
    for micros in (500_000_000, 460_000_000, 40_000_000, 7_000_000):
        data = data.replace(f"{micros:064x}", f"{micros + 1_000_000:064x}")
    return data
