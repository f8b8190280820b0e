"""`wallet mcp --url`: the same tools over stdio, from a service elsewhere, in both protocol eras."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from server.mcp_api.proxy import endpoint
from tests.surfaces.small import ALICE, Nothing, Small, Told, small, who
from tests.waiting import STUCK_S
from tools.model.operation import Caller, Deps, Operation

pytestmark = pytest.mark.anyio
ERAS = ["auto", "legacy"]


@asynccontextmanager
async def relayed(
    s: Small, folder: Path, mode: str, key: str | None = ALICE, **options: Any
) -> AsyncIterator[Client]:
    env = {"PATH": os.defpath, "PYTHONPATH": str(Path(__file__).parents[2])}
    env |= {"WALLET_SERVICE_USER_KEY": key} if key else {}
    where = StdioServerParameters(
        command=sys.executable,
        args=["-m", "server", "mcp", "--url", s.base, "--toolsets", "all"],
        env=env,
        cwd=folder,
    )
    async with Client(where, mode=mode, **options) as client:
        yield client


@pytest.mark.slow
@pytest.mark.parametrize("mode", ERAS)
async def test_tools_are_listed_and_called_with_the_key_of_the_environment(
    sqlite_url: str, tmp_path: Path, mode: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with small(sqlite_url) as s:
        with anyio.fail_after(STUCK_S):
            async with relayed(s, elsewhere, mode) as client:
                assert len((await client.list_tools()).tools) == 5
                told = await client.call_tool("mandate_keep", {"name": "n", "more": {"a": "ü"}})
                assert told.structured_content == {"who": "u_alice", "kept": {"a": "ü"}}
                refused = await client.call_tool("mandate_wait", {})
                assert (refused.structured_content or {})["refusal"]["error"] == "rate_limited"
                (skill,) = (await client.list_resources()).resources
                assert (await client.read_resource(str(skill.uri))).contents
        assert list(await s.notes()) == ["n"]
    assert list(elsewhere.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", ERAS)
async def test_no_key_is_a_refusal_that_passes(sqlite_url: str, tmp_path: Path, mode: str) -> None:
    async with small(sqlite_url) as s:
        with anyio.fail_after(STUCK_S):
            async with relayed(s, tmp_path, mode, key=None) as client:
                told = await client.call_tool("mandate_keep", {"name": "n"})
                assert (told.structured_content or {})["refusal"]["error"] == "unauthenticated"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ERAS)
async def test_that_the_list_changed_is_heard_through_the_relay(
    sqlite_url: str, tmp_path: Path, mode: str
) -> None:
    heard = anyio.Event()

    async def hear(message: object) -> None:
        if getattr(getattr(message, "root", message), "method", "").endswith("tools/list_changed"):
            heard.set()

    async def listening(client: Client) -> None:
        async with client.listen(tools_list_changed=True) as events:
            async for _ in events:
                heard.set()

    async with small(sqlite_url) as s:
        with anyio.fail_after(STUCK_S):
            async with relayed(s, tmp_path, mode, message_handler=hear) as client:
                await client.list_tools()
                async with anyio.create_task_group() as group:
                    if mode == "auto":
                        group.start_soon(listening, client)
                    door = "off"
                    while not heard.is_set():  # until somebody listens there is nobody to tell
                        await s.tools.watch()
                        await s.door(door)
                        await s.tools.watch()
                        door = "on" if door == "off" else "off"
                        with anyio.move_on_after(0.2):
                            await heard.wait()
                    group.cancel_scope.cancel()


@dataclass
class Look:
    """A read that waits, and what became of it."""

    begun: anyio.Event = field(default_factory=anyio.Event)
    ended: anyio.Event = field(default_factory=anyio.Event)

    async def wait(self, deps: Deps, caller: Caller, request: Nothing) -> None:
        self.begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.ended.set()

    def operation(self) -> Operation:
        return Operation(
            name="look_long", title="Look", summary="Looks, without an end.", auth="open", route=("GET", "/wallet/look"), request_model=Nothing, response_model=Told,
            handler=who, gather=self.wait, on_mcp=True,
        )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("mode", ERAS)
async def test_a_cancelled_call_ends_at_the_service(
    sqlite_url: str, tmp_path: Path, mode: str
) -> None:
    look = Look()
    async with small(sqlite_url, more=[look.operation()]) as s:
        with anyio.fail_after(STUCK_S):
            async with relayed(s, tmp_path, mode) as client:
                with anyio.CancelScope() as scope:

                    async def leave() -> None:
                        await look.begun.wait()
                        assert not look.ended.is_set()
                        scope.cancel()

                    async with anyio.create_task_group() as group:
                        group.start_soon(leave)
                        await client.call_tool("look_long", {})
                # While the client is still there: its end would end the call, too.
                await look.ended.wait()
                told = await client.call_tool("who_am_i", {})
                assert told.structured_content == {"who": "u_alice", "kept": None}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ERAS)
async def test_a_cancelled_call_ends_and_the_next_one_is_answered(
    sqlite_url: str, tmp_path: Path, mode: str
) -> None:
    async with small(sqlite_url) as s:
        with anyio.fail_after(STUCK_S):
            async with relayed(s, tmp_path, mode) as client:
                with anyio.CancelScope() as scope:

                    async def leave() -> None:
                        await s.gate.entered.wait()
                        scope.cancel()

                    async with anyio.create_task_group() as group:
                        group.start_soon(leave)
                        await client.call_tool("slow_keep", {"name": "slow"})
                told = await client.call_tool("who_am_i", {})
                assert told.structured_content == {"who": "u_alice", "kept": None}
                # A write that has begun is finished, whoever goes away.
                s.gate.opened.set()
                while not s.gate.through:
                    await anyio.sleep(0.01)
        assert await s.notes() == {"slow": "late"}


def test_a_key_never_travels_in_the_open() -> None:
    assert endpoint("https://wallet.example") == "https://wallet.example/mcp"
    assert endpoint("https://wallet.example/under/mcp") == "https://wallet.example/under/mcp"
    assert endpoint("http://127.0.0.1:8402/") == "http://127.0.0.1:8402/mcp"
    for url in ("http://wallet.example", "wallet.example", "ftp://wallet.example", ""):
        with pytest.raises(ValueError, match="https"):
            endpoint(url)
