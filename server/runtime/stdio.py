"""MCP on stdin and stdout, over the service's own database."""

from __future__ import annotations

import os
import signal

import anyio

from server.mcp_api.sdk_log_filter import install_log_filter
from server.mcp_api.server import build_server
from server.mcp_api.stdin_reader import host
from server.runtime.logs import prepare_logging
from server.runtime.schema_upgrade import ensure_schema
from server.settings import Settings
from server.wiring import build_runtime
from storage.store import Store


async def serve_stdio(settings: Settings, toolsets: str) -> None:
    """Speak MCP on stdin and stdout until the host closes them."""
    prepare_logging(settings)
    install_log_filter()
    await ensure_schema(settings)
    key = settings.service_user_key
    async with build_runtime(settings) as parts:
        raw_key = key.get_secret_value() if key else None
        server, _ = build_server(parts.deps, stdio_key=raw_key, toolsets=toolsets)
        async with host() as (read, write), anyio.create_task_group() as group:
            group.start_soon(_leave_on_sigterm, parts.deps.store)
            group.start_soon(server.resources.run)
            await server.run(read, write, server.create_initialization_options())
            group.cancel_scope.cancel()


async def _leave_on_sigterm(store: Store) -> None:
    """The thread that reads stdin cannot be cancelled: finish the writes, then leave at once."""
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async for _ in signals:
            await store.close()
            os._exit(0)
