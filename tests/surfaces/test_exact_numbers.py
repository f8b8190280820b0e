"""A number is judged as it is written, through whichever door it comes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from domain.refusals import Refused
from http_shim.json_body import as_written, message
from tests.surfaces.conftest import Service, stdio_env
from tests.surfaces.small import HELLO, JSON, READY, by_key
from tests.surfaces.test_host import Spoken
from tests.waiting import STUCK_S
from tests.world import BY_NAME
from tools.dispatch.idempotency import request_hash

pytestmark = pytest.mark.anyio
# What is written, and the amount that it is or the code of its refusal.
WRITTEN: Final = {
    "12.5": "12.500000",
    "1e2": "100.000000",
    "999999999999.999999": "999999999999.999999",
    "1000000000000.000000": "1000000000000.000000",
    "12345678901.1234567": "invalid_number",
    "1000000000000.000001": "invalid_number",
    "0.10000000000000000001": "invalid_number",
    "1.0000000": "invalid_number",
    "1e-7": "invalid_number",
    '"1e2"': "invalid_number",
    "null": "invalid_request",
    "true": "invalid_request",
    "[]": "invalid_request",
    "{}": "invalid_request",
}
Asks = Callable[[str], Awaitable[dict[str, Any]]]
HASH: Final = "fdae394b5882c227365e1293c409bf4bf6997ee5c02bb72b6be05660402c4e66"
HOLE: Final = "«a number of up to forty characters stands here»"


def _filled(text: bytes, number: str) -> bytes:
    """The text with the number in the hole, as long as it was."""
    hole = json.dumps(HOLE).encode() if json.dumps(HOLE).encode() in text else f'"{HOLE}"'.encode()
    return text.replace(hole, number.encode().ljust(len(hole)))


@asynccontextmanager
async def _over_http(service: Service) -> AsyncIterator[Asks]:
    async def ask(number: str) -> dict[str, Any]:
        body = f'{{"budget_usdc": {number}}}'
        reply = await service.post("/wallet/mandates/propose", service.key, data=body, headers=JSON)
        return dict(reply.body)

    yield ask


@asynccontextmanager
async def _over_mcp(kind: str, era: str, service: Service) -> AsyncIterator[Asks]:
    """The SDK's client, whose messages have the number put in on their way out."""
    number = ""

    def made(headers: Any = None, timeout: Any = None, auth: Any = None) -> Any:
        client = create_mcp_http_client(headers=headers, timeout=timeout, auth=auth)
        way: Any = client._transport
        send = way.handle_async_request

        async def filled(request: Any) -> Any:
            request.stream = type(request.stream)(_filled(await request.aread(), number))
            return await send(request)

        way.handle_async_request = filled
        return client

    headers = by_key(service.key)
    async with AsyncExitStack() as stack:
        if kind == "sse":
            transport: Any = sse_client(
                service.base + "/sse", headers=headers, timeout=STUCK_S, httpx_client_factory=made
            )
        else:
            inner = await stack.enter_async_context(made(headers))
            transport = streamable_http_client(service.base + "/mcp", http_client=inner)
        client = await stack.enter_async_context(
            Client(transport, mode="auto" if era == "2026" else "legacy")
        )

        async def ask(written: str) -> dict[str, Any]:
            nonlocal number
            number = written
            result = await client.call_tool("mandate_propose", {"budget_usdc": HOLE})
            told: dict[str, Any] = result.structured_content or {}
            return dict(told.get("refusal", told))

        yield ask


@asynccontextmanager
async def _over_stdio(service: Service) -> AsyncIterator[Asks]:
    process = await anyio.open_process(
        [sys.executable, "-m", "server", "mcp"],
        env=stdio_env(service),
        cwd=Path(__file__).parents[2],
        stderr=subprocess.DEVNULL,
    )
    try:
        spoken = Spoken(process)
        await spoken.ask(HELLO)
        await spoken.say(READY)

        async def ask(number: str) -> dict[str, Any]:
            call = (
                '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":'
                f'{{"name":"mandate_propose","arguments":{{"budget_usdc":{number}}}}}}}'
            )
            told = (await spoken.ask(call.encode()))["result"]["structuredContent"]
            return dict(told.get("refusal", told))

        yield ask
    finally:
        process.kill()
        await process.aclose()


DOORS: Final[dict[str, Callable[[Service], Any]]] = {
    "http": _over_http,
    "stdio": _over_stdio,
    **{
        f"{kind}-{era}": lambda service, kind=kind, era=era: _over_mcp(kind, era, service)  # type: ignore[misc]  # the defaults bind the loop's values
        for kind in ("sse", "streamable")
        for era in ("2026", "2025")
    },
}


@pytest.mark.parametrize("door", DOORS)
async def test_a_number_is_judged_as_it_is_written(service: Service, door: str) -> None:
    found = {}
    with anyio.fail_after(STUCK_S):
        async with DOORS[door](service) as ask:
            for number in WRITTEN:
                told = await ask(number)
                found[number] = told.get("error") or told["mandate"]["budget_usdc"]
    assert found == WRITTEN


async def test_an_amount_inside_a_payload_is_judged_as_it_is_written(service: Service) -> None:
    path, found = f"/wallet/mandates/{service.mandate.id}/events", []
    for mark in ("999999999999.999999", "12345678901.1234567", "true", "[]"):
        body = f'{{"kind": "note", "payload": {{"mark": {mark}, "preview": 1.0000000}}}}'
        told = (await service.post(path, service.key, data=body, headers=JSON)).body
        found.append(told.get("error") or told["event"]["payload"])
    assert found == [
        {"mark": "999999999999.999999", "preview": 1.0},
        "invalid_number",
        "invalid_request",
        "invalid_request",
    ]


@pytest.mark.parametrize("number", ["1e-400", "1e-999999999999", "1e999"])
async def test_a_number_that_no_reader_of_json_has_costs_nothing(
    service: Service, number: str
) -> None:
    async with _over_http(service) as ask, _over_stdio(service) as said:
        for told in (await ask(number), await said(number)):
            assert told["error"] in ("invalid_request", "invalid_number")


def test_a_message_is_changed_only_where_a_double_tells_another_number() -> None:
    plain = b'{"a": [1.5, 1e3, 12, "0.10000000000000000001"], "b": {"c": -0.0}}'
    assert message(plain) == plain
    assert message(b"{no json") == b"{no json"
    marked = json.loads(message('{"é": [0.10000000000000000001, {"x": 1.0000000}]}'.encode()))
    assert str(as_written(marked)) == (
        "{'é': [Decimal('0.10000000000000000001'), {'x': Decimal('1.0000000')}]}"
    )
    for odd in ("\0number", "\0number ", "\0number x", "\0number 1e9999"):
        assert as_written({"a": odd}) == {"a": odd}


@pytest.mark.parametrize(
    "value",
    [
        "0.1234567",
        "[1,0.1234567]",
        "-1.0000000",
        "1.5e-10",
        '{"b":1e-7}',
        '["7.5",0.10000000000000000001]',
    ],
)
def test_a_message_without_white_space_has_the_numbers_of_one_with_it(value: str) -> None:
    spaced = f'{{"a": {value} }}'
    assert message(f'{{"a":{value}}}'.encode()) == message(spaced.encode()) != spaced.encode()


def test_a_key_that_comes_twice_is_refused_without_white_space_too() -> None:
    for twice in (b'{"a":1,"a":1}', b'[{"a":{"b":1,"c":2,"b":1}}]', b'{"a":1,"\\u0061":1}'):
        with pytest.raises(Refused):
            message(twice)
    once = b'{"a":{"a":[{"a":1},{"a":1}]},"b":"1.5","c":18446744073709551616}'
    assert message(once) is once


def test_one_number_has_one_hash_however_it_is_written() -> None:
    op = BY_NAME["mandate_propose"]

    def hashed(number: str) -> str:
        marked = json.loads(message(f'{{"budget_usdc": {number}}}'.encode()))
        return request_hash(op, as_written(marked))

    # As it was before numbers were told exactly, so that a repeat across an upgrade is one.
    assert hashed("1.5") == HASH
    assert hashed("1.5") == hashed("1.50") == hashed("1.5000000") == hashed("15e-1")
    assert hashed("999999999999.999999") != hashed("1000000000000.0")
