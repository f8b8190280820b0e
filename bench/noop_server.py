"""A server with one tool that does nothing: `bare` is the SDK's low-level server, `ours` is the service's
path around the same tool, `whole` the service with its catalogue, a mandate and an agent's key."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import mcp.types as t
from aiohttp import web
from mcp.server import Server
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from starlette.applications import Starlette
from starlette.routing import Mount, Route

from bench.stage import KEY, staged
from http_shim.application import build
from http_shim.asgi_bridge import AsgiBridge
from server.mcp_api.http_app import mcp_app
from server.mcp_api.server import build_server
from server.mcp_api.tool_listing import described
from server.runtime.gc_tuning import freeze_startup_objects
from tools.catalogue import OPERATIONS
from tools.model.operation import (
    ExternalEffect,
    Operation,
    RequestModel,
    ResponseModel,
)


class Nothing(RequestModel):
    """No input."""


class Done(ResponseModel):
    """It is done."""

    ok: bool


async def done(deps: Any, caller: Any, request: Any) -> Done:
    return Done(ok=True)


NOOP = Operation(
    name="noop",
    title="Nothing",
    summary="Does nothing.",
    auth="open",
    route=None,
    request_model=Nothing,
    response_model=Done,
    effect=ExternalEffect(act=done),
    on_mcp=True,
)


def bare_server() -> Server[Any]:
    """The SDK's low-level server, with as little as it takes."""
    tool = described(NOOP)  # the very tool that ours has: a client's work on it is the same

    async def listed(ctx: Any, params: Any) -> t.ListToolsResult:
        return t.ListToolsResult(tools=[tool])

    async def called(ctx: Any, params: Any) -> t.CallToolResult:
        return t.CallToolResult(
            content=[t.TextContent(text='{"ok":true}')], structured_content={"ok": True}
        )

    server: Server[Any] = Server(
        "bare",
        on_list_tools=listed,
        on_call_tool=called,
        get_tool_input_schema=lambda n: tool.input_schema,
    )
    server.middleware.clear()
    return server


def bare_app(server: Server[Any]) -> Starlette:
    """The SDK's own HTTP endpoints."""
    transport = SseServerTransport("/messages/")

    class Sse:
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            async with transport.connect_sse(scope, receive, send) as (r, w):
                await server.run(r, w, server.create_initialization_options())

    streamable = server.streamable_http_app(json_response=True)
    routes = [
        Route("/sse", endpoint=Sse()),
        Mount("/messages/", app=transport.handle_post_message),
        *streamable.routes,
    ]
    return Starlette(routes=routes, lifespan=lambda app: server.session_manager.run())


async def over_http(app: web.Application) -> None:
    """Serve on a free port until terminated."""
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    freeze_startup_objects()
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    await asyncio.Event().wait()


async def over_stdio(server: Server[Any]) -> None:
    """Speak on stdin and stdout."""
    async with stdio_server() as (r, w):
        await server.run(r, w, server.create_initialization_options())


def behind_bridge(app: Starlette) -> web.Application:
    """The same front for both servers, so that only they differ."""
    bridge, front = AsgiBridge(app), web.Application()
    front.cleanup_ctx.append(bridge.lifespan)
    for path in ("/mcp", "/sse", "/messages/{tail:.*}"):
        front.router.add_route("*", path, bridge.handle)
    return front


async def main(kind: str, transport: str) -> None:
    if kind == "bare":
        server = bare_server()
        await (
            over_stdio(server)
            if transport == "stdio"
            else over_http(behind_bridge(bare_app(server)))
        )
        return
    with tempfile.TemporaryDirectory() as folder:
        async with staged(Path(folder)) as stage:
            catalogue = (NOOP, *OPERATIONS) if kind == "whole" else (NOOP,)
            ours, _ = build_server(
                stage.deps,
                catalogue,
                stdio_key=KEY if kind == "whole" else None,
                toolsets="all",
            )
            if transport == "stdio":
                await over_stdio(ours)
            else:
                await over_http(build(stage.deps, catalogue, mcp=mcp_app(ours, "http://127.0.0.1")))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
