"""Metrics listener: health and figures for monitoring, apart from the public port."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from http_shim.application import about_itself
from http_shim.http_server import bound, listen_on
from http_shim.service_routes import Gauges
from tools.model.operation import Deps


def listener(host: str, port: int | None) -> socket.socket | None:
    """Take the port, where one is given. Errors: OSError where it is not to be had."""
    return None if port is None else bound(host, port)


@asynccontextmanager
async def figures(
    deps: Deps, sock: socket.socket | None, gauges: Gauges | None = None
) -> AsyncIterator[None]:
    """Tell health and figures on a port that is taken already; without one, nowhere."""
    if sock is None:
        yield
        return
    runner = await listen_on(about_itself(deps, gauges), sock)
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await runner.cleanup()
