"""The chain's JSON-RPC over HTTP, in an event loop or in a thread; web pages may use it from this
machine only.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Final

from aiohttp import web

from devtools.devchain.core import DevChain
from devtools.devchain.rpc import answer, error
from devtools.loopback import LOOPBACK_NAMES, is_of_this_machine, served_in_thread

MAX_BODY: Final = 4 * 2**20


@web.middleware
async def _loopback_pages(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Let programs and pages of this machine through: any other page could spend the unlocked
    accounts, or deceive a demo.

    A page that names this machine by a name of its own (DNS rebinding) is told by the Host header.
    """
    origin, bound = (
        request.headers.get("Origin"),
        request.transport.get_extra_info("sockname") if request.transport else None,
    )
    here = bound is not None and bound[0] in LOOPBACK_NAMES
    if (origin is not None and not is_of_this_machine(origin)) or (
        here and not is_of_this_machine("//" + request.host)
    ):
        return _json_response(error(None, -32600, "only for this machine"), status=403)
    response = await handler(request)
    if origin is not None:
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Allow-Headers"] = "content-type"
        response.headers["Vary"] = "Origin"
    return response


def _json_response(body: object, status: int = 200) -> web.Response:
    return web.json_response(body, status=status)


async def serve(
    chain: DevChain, host: str = "127.0.0.1", port: int = 0
) -> tuple[web.AppRunner, str]:
    """Start serving; returns the runner (`await runner.cleanup()` stops it) and the base
    address.
    """
    # The EVM works in a thread of its own, so that a service in the same event loop goes on
    # answering.
    worker = ThreadPoolExecutor(1, thread_name_prefix="devchain-evm")

    async def post(request: web.Request) -> web.Response:
        try:
            body = json.loads(await request.read())
        except web.HTTPRequestEntityTooLarge:
            return _json_response(
                error(None, -32600, f"a body holds at most {MAX_BODY} bytes"), status=413
            )
        except (ValueError, RecursionError):
            return _json_response(error(None, -32700, "parse error"))
        return _json_response(
            await asyncio.get_running_loop().run_in_executor(worker, answer, chain, body)
        )

    async def options(_: web.Request) -> web.Response:
        return web.Response(status=204)

    async def stop(_: web.Application) -> None:
        worker.shutdown()

    app = web.Application(client_max_size=MAX_BODY, middlewares=[_loopback_pages])
    app.add_routes([web.post("/", post), web.options("/", options)])
    app.on_cleanup.append(stop)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    bound = runner.addresses[0][1]
    return runner, f"http://{host}:{bound}"


def serve_in_thread(chain: DevChain) -> AbstractContextManager[str]:
    """Serve from a thread of its own while the block runs; yields the base address."""
    return served_in_thread(lambda: serve(chain))
