"""`wallet mcp --url` before a network that fails: every call is answered, and says whether it may have happened."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.mcp_api import proxy_client, session_limits
from server.mcp_api.session_limits import SlotLimits
from tests.surfaces.small import HELLO, META, READY, Small, small
from tests.surfaces.test_host import Spoken, spoken
from tests.waiting import STUCK_S

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ERAS = [2025, 2026]


class Wire:
    """A port that passes bytes on to a service, until it is told not to."""

    def __init__(self, to: int) -> None:
        self.port, self.to, self.cuts = 0, to, False
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def up(self) -> None:
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def down(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.to)
        self._open |= {writer, back}
        with contextlib.suppress(OSError):
            async with anyio.create_task_group() as group:
                group.start_soon(self._pump, reader, back, False)
                group.start_soon(self._pump, there, writer, True)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answers: bool
    ) -> None:
        while part := await reader.read(65_536):
            if answers and self.cuts:
                writer.write(part[: len(part) // 2])
                await writer.drain()
                writer.close()
                return
            writer.write(part)
            await writer.drain()
        writer.close()


def port_of(s: Small) -> int:
    return int(s.base.rpartition(":")[2])


@asynccontextmanager
async def wired(
    s: Small, folder: Path, era: int, **more: str
) -> AsyncIterator[tuple[Wire, Spoken]]:
    """The relay, greeted, behind a wire."""
    wire = Wire(port_of(s))
    await wire.up()
    try:
        async with spoken(s, folder, "--url", f"http://127.0.0.1:{wire.port}", **more) as agent:
            if era == 2025:
                assert "result" in await agent.ask(HELLO)
                await agent.say(READY)
            yield wire, agent
    finally:
        await wire.down()


def call(era: int, number: int, tool: str = "who_am_i", **arguments: Any) -> dict[str, Any]:
    meta = {"_meta": META} if era == 2026 else {}
    params = {"name": tool, "arguments": arguments} | meta
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def answered(told: dict[str, Any], number: int) -> dict[str, Any]:
    assert told["id"] == number
    content: dict[str, Any] = told["result"]["structuredContent"]
    return content


@pytest.mark.parametrize("era", ERAS)
async def test_a_service_that_is_away_is_told_and_found_again(
    sqlite_url: str, tmp_path: Path, era: int
) -> None:
    async with small(sqlite_url) as s, wired(s, tmp_path, era) as (wire, agent):
        assert answered(await agent.ask(call(era, 2)), 2)["who"] == "u_alice"
        await wire.down()
        # Of a read it is no question, even where the connection breaks under it.
        told = await agent.ask(call(era, 9) | {"method": "tools/list"})
        assert (told["id"], told["error"]["data"]) == (9, {"may_have_happened": False})
        for number in (3, 4):
            told = await agent.ask(call(era, number, "mandate_keep", name="n"))
            assert told["id"] == number
            assert told["error"]["data"] == {"may_have_happened": False}
            assert proxy_client.NOTHING_SENT in told["error"]["message"]
        # Nobody waits for an answer to this one, and it ends nothing.
        await agent.say({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
        await wire.up()
        assert answered(await agent.ask(call(era, 5, "mandate_keep", name="n")), 5)
        assert list(await s.notes()) == ["n"]


@pytest.mark.parametrize("era", ERAS)
async def test_an_answer_that_is_cut_may_have_happened_and_its_repeat_tells(
    sqlite_url: str, tmp_path: Path, era: int
) -> None:
    async with small(sqlite_url) as s, wired(s, tmp_path, era) as (wire, agent):
        wire.cuts = True
        keyed = {"name": "n", "idempotency_key": "k-1"}
        for number, arguments, safe in ((2, keyed, True), (3, {"name": "m"}, False)):
            told = await agent.ask(call(era, number, "mandate_keep", **arguments))
            assert told["id"] == number
            data = told["error"]["data"]
            assert data["may_have_happened"]
            block = data["refusal"]
            assert (block["error"], block["retry_safe"]) == ("outcome_unknown", safe)
            assert ("idempotency_key" in block["next"][0]["text"]) == safe
            assert block["next"][0].get("tool") == (None if safe else "mandate_reconcile")
            assert block["next"][0]["text"] in told["error"]["message"]
        wire.cuts = False
        assert answered(await agent.ask(call(era, 4, "mandate_keep", **keyed)), 4)["who"]
        assert sorted(await s.notes()) == ["m", "n"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_service_that_says_nothing_is_waited_for_so_long_and_no_longer(
    sqlite_url: str, tmp_path: Path, era: int
) -> None:
    async with small(sqlite_url) as s, wired(s, tmp_path, era, WALLET_MCP_WAIT_S="1") as (_, agent):
        told = await agent.ask(call(era, 2, "slow_keep", name="slow"))
        assert told["id"] == 2
        assert told["error"]["data"]["may_have_happened"]
        s.gate.opened.set()
        assert answered(await agent.ask(call(era, 3)), 3)["who"] == "u_alice"
        while not s.gate.through:
            await anyio.sleep(0.01)
        while not await s.notes():
            await anyio.sleep(0.01)


async def test_a_session_that_the_service_has_lost_is_opened_anew(
    sqlite_url: str, sqlite_template: Path, tmp_path: Path
) -> None:
    other = shutil.copyfile(sqlite_template, tmp_path / "other.sqlite")
    async with small(sqlite_url) as s, wired(s, tmp_path, 2025) as (wire, agent):
        assert answered(await agent.ask(call(2025, 2)), 2)["who"] == "u_alice"
        async with small(f"sqlite:///{other}") as again:
            await wire.down()
            wire.to = port_of(again)
            await wire.up()
            for number in (3, 4):
                told = await agent.ask(call(2025, number, "mandate_keep", name=f"n{number}"))
                assert answered(told, number)["who"] == "u_alice"
            assert sorted(await again.notes()) == ["n3", "n4"]
            # Changes of a list that it gave are heard of the new one, too.
            assert "result" in await agent.ask(call(2025, 5) | {"method": "tools/list"})
            door = "off"
            with anyio.fail_after(STUCK_S):
                heard = anyio.Event()

                async def hear() -> None:
                    assert "list_changed" in (await agent.hear())["method"]
                    heard.set()

                async with anyio.create_task_group() as group:
                    group.start_soon(hear)
                    while not heard.is_set():
                        await again.tools.watch()
                        await again.door(door)
                        await again.tools.watch()
                        door = "on" if door == "off" else "off"
                        with anyio.move_on_after(0.2):
                            await heard.wait()


def scripted(*answers: tuple[int, bytes, bytes]) -> Any:
    """An ASGI application that answers calls with these (status, content type, body) one by one,
    and greets as it should.
    """
    left = list(answers)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for step in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{step}.complete"})
            return
        told = json.loads((await receive())["body"] or b"{}")
        what, form, said = 405, b"", b""
        if told.get("method") == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}  # fmt: skip
            what, form = 200, b"application/json"
            said = json.dumps({"jsonrpc": "2.0", "id": told["id"], "result": result}).encode()
        elif "id" in told:
            what, form, said = left.pop(0)
        elif told:
            what = 202
        start = {"type": "http.response.start", "status": what}
        await send(start | {"headers": [(b"content-type", form)]})
        await send({"type": "http.response.body", "body": said})

    return app


BLOCK = {
    "error": "rate_limited", "reason": "Too many today.", "retry_safe": True, "who_fixes": "agent",
    "next": [{"text": "Wait until retry_at, then ask again"}], "retry_at": "2026-01-01T00:00:00.000Z", "detail": {},
}  # fmt: skip


@pytest.mark.parametrize("era", ERAS)
async def test_a_block_reaches_the_agent_whole(sqlite_url: str, tmp_path: Path, era: int) -> None:
    away = scripted(*[(429, b"application/json; charset=utf-8", json.dumps(BLOCK).encode())] * 2)
    async with small(sqlite_url, mcp=away) as s, wired(s, tmp_path, era) as (_, agent):
        told = await agent.ask(call(era, 2))
        assert answered(told, 2) == {"refusal": BLOCK}
        assert told["result"]["isError"]
        assert json.loads(told["result"]["content"][0]["text"]) == {"refusal": BLOCK}
        listing = call(era, 3) | {"method": "tools/list"}
        told = await agent.ask(listing)
        assert (told["id"], told["error"]["data"]) == (3, {"refusal": BLOCK})


async def test_a_greeting_that_is_refused_tells_until_when(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        session_limits, "STRANGERS_SESSIONS", SlotLimits(one=0, all=0, rest_s=10, listening_s=10)
    )
    async with small(sqlite_url) as s, spoken(s, tmp_path, "--url", s.base, key=None) as agent:
        block = (await agent.ask(HELLO))["error"]["data"]["refusal"]
        assert block["error"] == "rate_limited"
        assert block["retry_at"]


ODD = [
    (502, b"text/html", b"<html>bad gateway</html>", True),
    (200, b"text/html", b"<html>log in</html>", True),
    (200, b"application/json", b'{"jsonrpc":"2.0","id":2,"resu', True),
    (200, b"application/json", b"[" * 100_000, True),
    (401, b"text/html", b"<html>log in</html>", False),
    (413, b"text/html", b"", False),
]


async def test_what_is_no_answer_of_the_service_is_said_to_be_none(
    sqlite_url: str, tmp_path: Path
) -> None:
    # What the library that carries messages cannot read ends nothing, either.
    half = json.dumps(BLOCK | {"reason": "\ud800"}).encode()
    away = scripted(*[odd[:3] for odd in ODD], (400, b"application/json", half))
    async with small(sqlite_url, mcp=away) as s, wired(s, tmp_path, 2025) as (_, agent):
        for number, (status, _kind, _body, maybe) in enumerate(ODD, 2):
            told = await agent.ask(call(2025, number))
            assert (told["id"], told["error"]["data"]["may_have_happened"]) == (number, maybe)
            assert str(status) in told["error"]["message"]
            assert "html" not in json.dumps(told)
        told = await agent.ask(call(2025, 99))
        assert (told["id"], "error" in told) == (99, True)


NO_HEADERS: list[dict[str, Any]] = [
    {"method": "tools/ü", "params": {"_meta": META}},
    {"method": "tools/\nx", "params": {"_meta": META}},
    {"method": "tools/call", "params": {"name": 5, "_meta": META}},
    {"method": "tools/call", "params": {"name": "a\r\nX-Y: ü", "_meta": META}},
    {"method": "tools/call", "params": {"name": "a", "_meta": "ü"}},
    {"method": "tools/list", "params": {"_meta": META | {next(iter(META)): "ü\n"}}},
    {"method": "tools/list", "params": {"_meta": META | {next(iter(META)): [1]}}},
]


async def test_what_can_be_no_header_ends_nothing(sqlite_url: str, tmp_path: Path) -> None:
    async with small(sqlite_url) as s, wired(s, tmp_path, 2026) as (_, agent):
        for number, said in enumerate(NO_HEADERS, 2):
            told = await agent.ask({"jsonrpc": "2.0", "id": number} | said)
            assert (told["id"], "error" in told) == (number, True)
        assert answered(await agent.ask(call(2026, 99)), 99)["who"] == "u_alice"


@pytest.mark.parametrize("url", [False, True], ids=["stdio", "relay"])
async def test_it_leaves_when_its_host_does_whatever_is_under_way(
    sqlite_url: str, tmp_path: Path, url: bool
) -> None:
    async with small(sqlite_url) as s:
        where = ("--url", s.base) if url else ()
        async with spoken(s, tmp_path, *where) as agent:
            assert await agent.leave() == 0
        async with spoken(s, tmp_path, *where) as agent:
            assert "result" in await agent.ask(HELLO)
            assert await agent.leave() == 0
        if url:
            async with spoken(s, tmp_path, *where) as agent:
                assert "result" in await agent.ask(HELLO)
                await agent.say(call(2025, 2, "slow_keep", name="slow"))
                await s.gate.entered.wait()
                assert await agent.leave() == 0
                s.gate.opened.set()
