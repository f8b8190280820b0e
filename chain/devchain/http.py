"""The chain's JSON-RPC over HTTP on loopback, in an event loop or in a thread."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from aiohttp import web

from chain.devchain.core import DevChain
from chain.devchain.rpc import answer

CORS: Final = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "content-type"}
MAX_BODY: Final = 4 * 2**20


async def serve(chain: DevChain, host: str = "127.0.0.1", port: int = 0) -> tuple[web.AppRunner, str]:
    """Start serving; returns the runner (`await runner.cleanup()` stops it) and the base address."""

    async def post(request: web.Request) -> web.Response:
        try:
            body = json.loads(await request.read())
        except ValueError:
            return web.json_response({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "parse error"}})
        return web.json_response(answer(chain, body), headers=CORS)

    async def options(_: web.Request) -> web.Response:
        return web.Response(status=204, headers=CORS)

    app = web.Application(client_max_size=MAX_BODY)
    app.add_routes([web.post("/", post), web.options("/", options)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    bound = runner.addresses[0][1]
    return runner, f"http://{host}:{bound}"


@contextmanager
def serve_in_thread(chain: DevChain) -> Iterator[str]:
    """Serve from a thread of its own while the block runs; yields the base address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True, name="devchain-rpc")
    thread.start()
    runner, address = asyncio.run_coroutine_threadsafe(serve(chain), loop).result(10)
    try:
        yield address
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
