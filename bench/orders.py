"""Orders: a paper order beside an event report, and what preparing one takes beyond its book."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path

from aiohttp import ClientSession
from aiohttp.test_utils import TestServer

from bench.paired import paired
from bench.stage import KEY, NOW, Stage, staged
from devtools.devvenue import DevVenue, Rules, serve
from domain.trading.order_gate import TooMany
from domain.trading.throttle import Throttle
from http_shim.application import build
from server.settings import Settings
from server.system import SystemClock
from server.venues import venues
from tools.catalogue import OPERATIONS
from tools.context.credentials import hashed
from tools.trading.paper.simulated_exchange import SimulatedExchange
from venue.budget import InMemory
from venue.venues import Networks

ROUNDS, MOVES, PREPARES = 150, 120, 60
TOKEN = "ws_" + "b" * 43
BEARER = {"Authorization": f"Bearer {TOKEN}"}
COINS = ("BTC", "ETH", "SOL", "AVAX", "kPEPE")
MUCH = 10**15


class Open(Throttle):
    """Counts nothing: what is measured is the order."""

    def take(self, *args: object, **more: object) -> TooMany | None:
        """Let it through."""
        return None


async def measure() -> dict[str, tuple[float, str]]:
    """Orders and reports by turns, so that the machine's moods hit both."""
    clock = SystemClock()
    dev = DevVenue(
        lambda: int(clock.now().timestamp() * 1_000), mainnet=True, rules=Rules(ip_budget=None)
    )
    runner, url = await serve(dev)
    networks = venues(Settings(venue_mainnet_url=url, venue_testnet_url=url), clock, InMemory())
    with tempfile.TemporaryDirectory() as folder:
        async with staged(Path(folder)) as stage:
            found = await _measured(stage, networks, clock, dev)
    await networks.close()
    await runner.cleanup()
    return found


async def _measured(
    stage: Stage, networks: Networks, clock: SystemClock, dev: DevVenue
) -> dict[str, tuple[float, str]]:
    trading = replace(
        stage.deps.config.trading,
        paper_latency_ms=0,
        cap_per_day_micros=MUCH,
        signed_in_per_day_micros=MUCH,
    )
    config = replace(stage.deps.config, trading=trading)
    ingest_context = SimulatedExchange(store=stage.store, clock=clock, trading=trading)
    deps = replace(
        stage.deps, venues=networks, config=config, paper=ingest_context, throttle=Open()
    )
    until = NOW + timedelta(hours=1)
    await stage.store.write(
        lambda uow: uow.identities.add_session(hashed(TOKEN), "u_owner", NOW, until, until)
    )
    service = TestServer(build(deps, OPERATIONS))
    await service.start_server()
    async with ClientSession() as http:

        async def post(path: str, body: object, headers: dict[str, str], *, good: int) -> None:
            async with http.post(service.make_url(path), json=body, headers=headers) as r:
                assert r.status == good, await r.text()

        async def paper(n: int) -> None:
            body = _order("BTC") | {"mode_seen": "paper"}
            await post("/app/trade/order", body, BEARER, good=200)

        async def report(n: int) -> None:
            headers = {"X-Service-User-Key": KEY, "Idempotency-Key": f"o{n}"}
            body = {"kind": "note", "payload": {"text": "bench"}}
            await post("/wallet/mandates/m_bench00000/events", body, headers, good=201)

        async def prepare(n: int) -> None:
            await post("/wallet/order", _order(COINS[n % len(COINS)]), BEARER, good=201)

        async def book(n: int) -> None:
            await networks.get("mainnet").book(COINS[n % len(COINS)], priority="house", max_age_s=0)

        numbers = count()

        async def once(call: Callable[[int], Awaitable[None]]) -> float:
            n = next(numbers)
            if n % MOVES == 0:
                # A market moves; what paper orders took of one snapshot is summed from their entries.
                dev.move("BTC", str(64_000 + n // MOVES))
            return (await _times(call, [n]))[0]

        turns = {"order": partial(once, paper), "report": partial(once, report)}
        costs = await paired(turns, rounds=ROUNDS)
        for coin in COINS:  # what else an order needs is in the cache
            await post("/wallet/order", _order(coin), BEARER, good=201)
        prepares, reads = [], []
        for n in range(PREPARES):
            prepares += await _times(prepare, [n])
            reads += await _times(book, [n])
    await service.close()
    return {
        "paper_order_over_event_report": (
            costs.ratio("order", "report"),
            "ratio of time, at most 2",
        ),
        "paper_order_ms": (costs.middle("order") * 1_000, "ms"),
        "order_prepare_p95_ms_over_book_read": ((_p95(prepares) - _p95(reads)) * 1_000, "ms"),
        "book_read_p95_ms": (_p95(reads) * 1_000, "ms"),
    }


def _order(coin: str) -> dict[str, str]:
    return {"product": coin, "side": "buy", "type": "market", "notional_usdc": "11"}


async def _times(call: Callable[[int], Awaitable[None]], numbers: Iterable[int]) -> list[float]:
    """Seconds of each call, one after the other."""
    found = []
    for n in numbers:
        started = time.perf_counter()
        await call(n)
        found.append(time.perf_counter() - started)
    return found


def _p95(times: Sequence[float]) -> float:
    return sorted(times)[max(0, len(times) * 95 // 100 - 1)]


if __name__ == "__main__":
    print(asyncio.run(measure()))
