"""The venue's side: signing beside its bare hashes and curve, and a cached relay beside a bare JSON
route."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from aiohttp import ClientSession, TCPConnector, web
from aiohttp.test_utils import TestServer
from eth_utils import keccak

from bench.paired import Costs, paired
from bench.stage import seconds, staged
from devtools.devvenue import DevVenue, serve
from domain.trading.orders import PaidBuilder
from http_shim.application import build
from server.settings import Settings
from server.system import SystemClock
from server.venues import venues
from tools.catalogue import OPERATIONS
from venue import actions, signing
from venue.budget import InMemory

ROUNDS, SIGNED, CALLS, WORKERS = 15, 400, 700, 32
KEY = signing.key_from(b"\x11" * 32)
BUILDER = PaidBuilder(address="0x" + "11" * 20, fee_tenths_bps=100)
NONCE = 1_755_863_118_217


def ours() -> None:
    """An order from its values to a signature."""
    order = actions.order(
        asset=110_000,
        is_buy=True,
        price=Decimal("25372"),
        size=Decimal("0.0353"),
        reduce_only=False,
        tif="Ioc",
        cloid="0x" + "12" * 16,
    )
    action = actions.place([order], builder=BUILDER)
    hashed = signing.action_hash(action, NONCE, expires_after=NONCE + 30_000)
    signing.sign(KEY, signing.l1_digest("mainnet", hashed)).as_json()


def bare() -> None:
    """The part that cannot be left out: three hashes and one signature, by the same libraries."""
    hashed = keccak(PACKED)
    KEY.sign_msg_hash(keccak(b"\x19\x01" + hashed + keccak(hashed + hashed)))


PACKED = b"x" * 260


async def spent(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    for _ in range(SIGNED):
        work()
    return time.perf_counter() - started


async def measure() -> dict[str, tuple[float, str]]:
    """Both of each pair in turns."""
    signing = await paired(
        {"ours": partial(spent, ours), "bare": partial(spent, bare)}, rounds=ROUNDS
    )
    relay = await _relay()
    return {
        "venue_sign_over_hash": (signing.ratio("ours", "bare"), "ratio of time, at most 2"),
        "relay_cached_over_bare": (
            relay.ratio("below", "above"),
            "ratio of throughput, at least 0.6",
        ),
        "relay_cached_per_second": (1 / relay.middle("above"), "1/s"),
        "bare_json_per_second": (1 / relay.middle("below"), "1/s"),
    }


async def _relay() -> Costs:
    clock = SystemClock()
    dev = DevVenue(lambda: int(clock.now().timestamp() * 1_000), mainnet=True)
    runner, url = await serve(dev)
    networks = venues(Settings(venue_mainnet_url=url, venue_testnet_url=url), clock, InMemory())
    with tempfile.TemporaryDirectory() as folder:
        async with staged(Path(folder)) as stage:
            trading = replace(stage.deps.config.trading, relays_per_minute=0)
            config = replace(stage.deps.config, trading=trading, rate_anonymous=0)
            deps = replace(stage.deps, venues=networks, config=config)
            service = TestServer(build(deps, OPERATIONS))
            await service.start_server()
            async with ClientSession(connector=TCPConnector(limit=WORKERS)) as http:
                path = service.make_url("/wallet/info/meta").with_query(dex="xyz")
                async with http.get(path) as first:
                    raw = await first.json()
                    assert first.status == 200, raw
                limit = TestServer(_bare(raw))
                await limit.start_server()

                async def get(url: Any) -> None:
                    async with http.get(url) as r:
                        assert r.status == 200
                        await r.read()

                async def gets(url: Any) -> float:
                    return await seconds(lambda n: get(url), workers=WORKERS, calls=CALLS)

                plain = limit.make_url("/bare")
                turns = {"below": partial(gets, plain), "above": partial(gets, path)}
                costs = await paired(turns, rounds=ROUNDS)
                await limit.close()
            await service.close()
    await networks.close()
    await runner.cleanup()
    return costs


def _bare(raw: Any) -> web.Application:
    """One route that writes the same JSON."""

    async def handle(request: web.Request) -> web.Response:
        return web.Response(body=orjson.dumps(raw), content_type="application/json")

    app = web.Application()
    app.router.add_get("/bare", handle)
    return app


if __name__ == "__main__":
    print(asyncio.run(measure()))
