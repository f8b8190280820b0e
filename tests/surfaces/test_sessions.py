"""Many sessions at once, and clients that go away in the middle of a write."""

from __future__ import annotations

from collections import Counter
from contextlib import AsyncExitStack

import anyio
import pytest
from mcp import Client

from tests.surfaces.small import ACCEPT, ALICE, BOB, HELLO, WAYS, by_key, connected, small
from tests.waiting import STUCK_S, while_progressing

pytestmark = pytest.mark.anyio


@pytest.mark.slow
@pytest.mark.parametrize("sessions", [40, pytest.param(200, marks=pytest.mark.play)])
async def test_many_sessions_at_once_each_see_their_own_and_none_loses_a_write(
    sqlite_url: str, sessions: int
) -> None:
    leaving_ones = sessions // 20
    open_, all_open, seen = 0, anyio.Event(), Counter[str]()
    # Server and clients share one core here; a host opens its sessions one after the other too.
    opening = anyio.CapacityLimiter(10)
    async with small(sqlite_url) as s:

        async def one(n: int) -> None:
            nonlocal open_
            key, who = (ALICE, "u_alice") if n % 2 else (BOB, "u_bob")
            async with AsyncExitStack() as stack:
                async with opening:
                    client = await stack.enter_async_context(
                        connected(WAYS[n % 4], s.base, by_key(key))
                    )
                open_ += 1
                if open_ == sessions:
                    all_open.set()
                await all_open.wait()
                if n % 20 == 0:  # leaves in the middle of its write
                    async with anyio.create_task_group() as leaving:
                        leaving.start_soon(client.call_tool, "slow_keep", {"name": f"n{n}"})
                        while s.gate.inside < leaving_ones:
                            await anyio.sleep(0.05)
                        leaving.cancel_scope.cancel()
                    return
                assert len((await client.list_tools()).tools) == 5
                told = await client.call_tool(
                    "mandate_keep", {"name": f"n{n}", "idempotency_key": f"k{n}"}
                )
                assert told.structured_content == {"who": who, "kept": None}
                seen[who] += 1

        async with while_progressing(lambda: (open_, s.gate.inside, seen.total(), s.gate.through)):
            async with anyio.create_task_group() as group:
                for n in range(sessions):
                    group.start_soon(one, n)
            assert seen == {"u_alice": sessions // 2, "u_bob": sessions // 2 - leaving_ones}
            s.gate.opened.set()
            while s.gate.through < leaving_ones:
                await anyio.sleep(0.05)
        # What the service does outside is over before its write is: the write is waited for.
        with anyio.fail_after(STUCK_S):
            while len(await s.notes()) < sessions:
                await anyio.sleep(0.05)
        assert len(await s.notes()) == sessions


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
async def test_a_client_that_goes_away_does_not_undo_its_write(sqlite_url: str, way: str) -> None:
    async with small(sqlite_url) as s, anyio.create_task_group() as group:
        left = anyio.CancelScope()

        async def impatient() -> None:
            with left:
                async with connected(way, s.base, by_key(ALICE)) as client:
                    await client.call_tool("slow_keep", {"name": "mine"})

        group.start_soon(impatient)
        with anyio.fail_after(STUCK_S):
            await s.gate.entered.wait()
            left.cancel()
            await anyio.sleep(0.6)  # the server notices within a quarter of a second
            assert await s.notes() == {}
            s.gate.opened.set()
            # What the service does outside is over before its write is: the write is waited for.
            while not (notes := await s.notes()):
                await anyio.sleep(0.01)
        assert notes == {"mine": "late"}


async def test_another_key_on_a_session_finds_nothing(sqlite_url: str) -> None:
    async with small(sqlite_url) as s:
        opened = await s.post("/mcp", ALICE, json=HELLO, headers=ACCEPT)
        headers = ACCEPT | {"Mcp-Session-Id": opened.headers["Mcp-Session-Id"]}
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        for key, status in ((BOB, 404), (ALICE, 200)):
            assert (await s.post("/mcp", key, json=listing, headers=headers)).status == status


@pytest.mark.parametrize("way", WAYS)
async def test_every_open_connection_hears_that_the_list_changed(sqlite_url: str, way: str) -> None:
    heard: list[str] = []
    changed = anyio.Event()

    async def hear(message: object) -> None:
        name = getattr(getattr(message, "root", message), "method", "")
        if name == "notifications/tools/list_changed":
            heard.append(name)
            changed.set()

    async with (
        small(sqlite_url) as s,
        connected(way, s.base, by_key(ALICE), message_handler=hear) as client,
    ):
        assert "mandate_keep" in {t.name for t in (await client.list_tools()).tools}
        async with anyio.create_task_group() as group:
            if way.endswith("2026"):
                group.start_soon(_listening, client, changed)
            with anyio.fail_after(STUCK_S):
                while not changed.is_set():  # until somebody listens there is nobody to tell
                    for door in ("on", "off"):
                        await s.door(door)
                        await s.tools.watch()
                    with anyio.move_on_after(0.2):
                        await changed.wait()
            group.cancel_scope.cancel()
        assert "mandate_keep" not in {t.name for t in (await client.list_tools()).tools}


async def _listening(client: Client, changed: anyio.Event) -> None:
    async with client.listen(tools_list_changed=True) as events:
        async for _ in events:
            changed.set()
