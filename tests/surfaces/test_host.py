"""What a host says on stdin: each line that can be no message is answered, over stdio and through the relay."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from http_shim.json_body import MAX_BODY
from server.mcp_api import stdin_reader
from server.mcp_api.stdin_reader import answer_to, id_and_method, read_line
from tests.surfaces.small import ALICE, HELLO, READY, Small, small
from tests.waiting import PATIENTLY, STUCK_S

pytestmark = pytest.mark.anyio


class Spoken:
    """A process that speaks MCP on stdin and stdout, by the line."""

    def __init__(self, process: Process):
        assert process.stdout is not None
        self.process, self._lines = process, BufferedByteReceiveStream(process.stdout)

    async def say(self, line: bytes | dict[str, Any]) -> None:
        assert self.process.stdin is not None
        raw = line if isinstance(line, bytes) else json.dumps(line).encode()
        await self.process.stdin.send(raw + b"\n")

    async def hear(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(await self._lines.receive_until(b"\n", 2**22))
        return told

    async def ask(self, line: bytes | dict[str, Any]) -> dict[str, Any]:
        await self.say(line)
        return await self.hear()

    async def leave(self) -> int:
        """Close stdin as a host does, and wait for the end."""
        assert self.process.stdin is not None
        await self.process.stdin.aclose()
        return await self.process.wait()


@asynccontextmanager
async def spoken(
    s: Small, folder: Path, *arguments: str, key: str | None = ALICE, **more: str
) -> AsyncIterator[Spoken]:
    """`wallet mcp`, greeted, in front of the small service's database or of the service itself."""
    env = PATIENTLY | more | {"PATH": os.defpath, "PYTHONPATH": str(Path(__file__).parents[2])}
    env |= {"WALLET_DATABASE_URL": s.store.url, "WALLET_DOOR": "on"} if not arguments else {}
    env |= {"WALLET_SERVICE_USER_KEY": key} if key else {}
    command = [sys.executable, "-m", "server", "mcp", *arguments]
    process = await anyio.open_process(command, env=env, cwd=folder, stderr=subprocess.DEVNULL)
    try:
        with anyio.fail_after(STUCK_S):
            yield Spoken(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.aclose()


def called(arguments: str, number: int = 7) -> bytes:
    call = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s}}'
    return (call % (number, "mandate_keep", arguments)).encode()


# (what is said, id of the answer, error's code or refusal's)
UNFIT: list[tuple[bytes, int | None, int | str]] = [
    (called('{"name":"a","name":"b"}'), 7, "invalid_request"),
    (called('{"name":"n","more":{"a":"1","a":"9"}}'), 7, "invalid_request"),
    (called('{"name":"n","more":{"\\ud800":"1","\\ud800":"9"}}'), 7, "invalid_request"),
    (called('{"x":' + "1" * 5_000 + ',"name":"n","more":{"a":"1","a":"9"}}'), 7, -32700),
    (called("[" * 3_000 + "]" * 3_000), 7, "invalid_request"),
    (called("[" * 40 + "]" * 40), 7, "invalid_request"),
    (called('{"name":"n","more":{"a":[' + "{}," * 20_000 + "1]}}"), 7, "invalid_request"),
    (called('{"name":"' + "n" * MAX_BODY + '"}'), 7, "body_too_large"),
    (
        b'{"method":"tools/call","params":{"id":5,"a":"%s"},"jsonrpc":"2.0","id":"t"}'
        % (b"n" * 2 * MAX_BODY),
        "t",  # type: ignore[list-item]  # an id may be a text
        "body_too_large",
    ),
    (called('{"name":"a\\ud800b"}'), 7, -32700),
    (called('{"name":"n","more":{"a":NaN}}'), 7, "invalid_request"),
    (called('{"name":"n","more":{"a":1e999}}'), 7, "invalid_request"),
    (called('{"name":"a\xff"}').decode().encode("latin-1"), 7, -32700),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1,"a":2}}', 7, -32600),
    (b'{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}', None, -32600),
    (b'{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}', None, -32600),
    (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', None, -32600),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600),
    (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', 7, -32600),
    (b"{nope", None, -32700),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping"', 7, -32700),
]


def code_of(answer: dict[str, Any]) -> int | str:
    """An error's code, or that of the refusal in a tool's result."""
    if "error" in answer:
        code: int = answer["error"]["code"]
        return code
    result = answer["result"]
    assert result["isError"]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    block = result["structuredContent"]["refusal"]
    assert block["next"]
    return str(block["error"])


@pytest.mark.slow
@pytest.mark.parametrize("way", ["stdio", "relay"])
async def test_every_line_that_is_no_message_is_answered_and_the_next_one_heard(
    sqlite_url: str, tmp_path: Path, way: str
) -> None:
    async with small(sqlite_url) as s:
        where = ("--url", s.base) if way == "relay" else ()
        async with spoken(s, tmp_path, *where) as agent:
            assert (await agent.ask(HELLO))["id"] == 1
            await agent.say(READY)
            told = []
            for line, _, _ in UNFIT:
                await agent.say(b"")
                answer = await agent.ask(line)
                told.append((answer["id"], code_of(answer)))
            assert told == [(number, code) for _, number, code in UNFIT]
            assert (await agent.ask(b'{"jsonrpc":"2.0","id":"z","method":"ping"}'))["id"] == "z"
        assert await s.notes() == {}


@pytest.mark.slow
async def test_what_is_no_longer_and_no_deeper_than_a_body_passes(
    sqlite_url: str, tmp_path: Path
) -> None:
    deep = "[" * 30 + "]" * 30
    fits = called(f'{{"name":"n","more":{{"a":{deep}}}}}')
    async with small(sqlite_url) as s, spoken(s, tmp_path, "--url", s.base) as agent:
        await agent.ask(HELLO)
        await agent.say(READY)
        answer = await agent.ask(fits + b" " * (MAX_BODY - len(fits)) + b"\r")
        assert answer["result"]["structuredContent"]["who"] == "u_alice"
        assert list(await s.notes()) == ["n"]


@pytest.mark.parametrize(
    "line",
    [
        called("[" * (MAX_BODY // 2)),
        called("[" + "{}," * 80_000 + "1]"),
        called("[" + '"",' * 80_000 + "1]"),
        called('{"a":"' + "x" * MAX_BODY + '"}'),
        called('{"a":' + '"\\"' * 60_000),
    ],
    ids=["deep", "many objects", "many texts", "long", "never closed"],
)
def test_nothing_is_built_of_a_line_that_is_out_of_bounds(
    line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []

    def parsed(text: str) -> Any:
        built.append(text)
        raise ValueError

    monkeypatch.setattr(stdin_reader, "strict", parsed)
    read = read_line(io.BytesIO(line + b"\n"))
    assert read is not None
    assert answer_to(read) is not None
    assert built == ([line.decode() + "\n"] if b'"\\"' in line else [])


def test_a_long_line_is_not_kept_and_ends_where_it_ends() -> None:
    file = io.BytesIO(b"x" * 3 * MAX_BODY + b"\n" + b'{"a":1}\n' + b"last")
    first, second, third = read_line(file), read_line(file), read_line(file)
    assert first is not None
    assert len(first.head) + len(first.tail) < MAX_BODY + 2_000
    assert not first.is_complete
    assert second is not None
    assert (second.head, second.is_complete) == (b'{"a":1}\n', True)
    assert third is not None
    assert third.head == b"last"
    assert read_line(file) is None


@pytest.mark.parametrize(
    ("line", "number"),
    [
        (b'{"id":3,"method":"a","x":', 3),
        (b'{"method":"a","x":{"id":4},"id":"3', None),
        (b'{"method":"a","x":{"id":4},"id":"3"}', "3"),
        (b'{"method":"a","x":"\\"id\\":4,","id":-3,', -3),
        (b'{"method":"a","id":3.0,"x"', None),
        (b'{"method":"a","id":"\\ud800","x"', None),
        (b'{"x":["method","id",{"id":1}]', None),
        (b'{"id":3,"result":', None),
        (b"", None),
    ],
)
def test_an_id_is_read_of_the_outermost_object_alone(line: bytes, number: object) -> None:
    assert id_and_method(stdin_reader.StdinLine(line, line, is_complete=True)).id == number
