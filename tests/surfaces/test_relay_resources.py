"""`wallet mcp --url`: resources that are subscribed to, through the relay and over the loss of its session."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.server.subscriptions import ResourceUpdated

from tests.surfaces.conftest import Service, running
from tests.waiting import STUCK_S
from tests.world import Evm

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:resources/"),
]


@asynccontextmanager
async def relayed(
    service: Service, folder: Path, mode: str, **options: Any
) -> AsyncIterator[Client]:
    env = {"PATH": os.defpath, "PYTHONPATH": str(Path(__file__).parents[2])}
    where = StdioServerParameters(
        command=sys.executable,
        args=["-m", "server", "mcp", "--url", service.base],
        env=env | {"WALLET_SERVICE_USER_KEY": service.key},
        cwd=folder,
    )
    async with Client(where, mode=mode, **options) as client:
        yield client


async def note(service: Service) -> None:
    told = {"kind": "note", "payload": {"text": "hello"}}
    assert (await service.mandate.as_agent("mandate_report_event", **told)).status == 201


async def test_a_stream_of_2026_hears_through_the_relay(
    sqlite_url: str, evm: Evm, tmp_path: Path
) -> None:
    async with running(sqlite_url, evm) as service:
        mandate = f"wallet://mandates/{service.mandate.id}"
        with anyio.fail_after(STUCK_S):
            async with (
                relayed(service, tmp_path, "auto") as client,
                client.listen(resource_subscriptions=[mandate]) as stream,
            ):
                for _ in range(2):
                    await note(service)
                    assert await anext(stream) == ResourceUpdated(mandate)
                # It goes on while the same host calls tools.
                assert (await client.call_tool("agents_me", {})).structured_content
                await note(service)
                assert await anext(stream) == ResourceUpdated(mandate)


async def test_a_session_of_2025_hears_through_the_relay_and_again_in_its_next_session(
    sqlite_url: str, evm: Evm, tmp_path: Path
) -> None:
    heard = list[str]()

    async def hear(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            heard.append(str(message.params.uri))

    async def until_heard() -> None:
        heard.clear()
        while not heard:
            await note(service)
            await anyio.sleep(0.3)

    async with running(sqlite_url, evm) as service:
        mandate = f"wallet://mandates/{service.mandate.id}"
        with anyio.fail_after(STUCK_S):
            async with relayed(service, tmp_path, "legacy", message_handler=hear) as client:
                await client.subscribe_resource(mandate)
                await until_heard()
                assert set(heard) == {mandate}
                sessions = service.sessions._server_instances
                for transport in list(sessions.values()):
                    await transport.terminate()
                sessions.clear()
                assert (await client.call_tool("agents_me", {})).structured_content
                await until_heard()
                await client.unsubscribe_resource(mandate)
                while service.resources.watched():
                    await anyio.sleep(0.05)
