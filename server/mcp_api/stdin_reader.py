"""Stdin reader: lines of an MCP host, checked against the bounds of a body before parsing."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCMessage,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from domain.refusals import Refused, refusal
from http_shim.json_body import ENVELOPE, MAX_BODY, MAX_DEPTH, check_complexity, strict
from http_shim.json_body import message as exact
from server.mcp_api.jsonrpc import JsonRpcRequest, error_response, refusal_response

_TAIL: Final = 512
_NO_MESSAGE: Final = (
    "This is no request with an integer or a text as id, no notification, no answer."
)
_ID: Final = rb'(-?[0-9]{1,20}(?=\s*[,}])|"(?:[^"\\]|\\.){0,200}")'
_SAID: Final = re.compile(rb"\s*:\s*" + _ID)
_LAST_ID: Final = re.compile(rb',\s*"id"\s*:\s*' + _ID + rb"\s*\}\s*$")
_TOKEN: Final = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"?|[\[{]+|[\]}]+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class StdinLine:
    """One line: its beginning, all of it where it is no longer than a body, and its end."""

    head: bytes
    tail: bytes
    is_complete: bool


def read_line(file: BinaryIO) -> StdinLine | None:
    """The next line, None behind the last; of one that is too long the middle is thrown away."""
    head = file.readline(MAX_BODY + 2)
    if not head:
        return None
    if head.endswith(b"\n") or len(head) < MAX_BODY + 2:
        return StdinLine(head, head[-_TAIL:], len(head.rstrip(b"\r\n")) <= MAX_BODY)
    tail = part = head
    while part and not part.endswith(b"\n"):
        part = file.readline(MAX_BODY)
        tail = (tail + part)[-_TAIL:]
    return StdinLine(head, tail, is_complete=False)


def id_and_method(line: StdinLine) -> JsonRpcRequest:
    """Id and method of a message that may be no JSON: of its outermost object, each said once."""
    statement: dict[bytes, set[bytes]] = {b"id": set(), b"method": set()}
    depth = 0
    for token in _TOKEN.finditer(line.head) if line.head.lstrip().startswith(b"{") else ():
        mark, name = token.group(), token.group(1)
        if name is None:
            depth += len(mark) if mark[0] in b"[{" else -len(mark)
        if name in statement and depth == 1 and (value := _SAID.match(line.head, token.end())):
            statement[name].add(value.group(1))
    if not line.is_complete and (last := _LAST_ID.search(line.tail)):
        statement[b"id"].add(last.group(1))
    ids, methods = (_value(statement[name]) for name in (b"id", b"method"))
    # What has no method is an answer; whoever gets another under its id takes it for his own.
    return JsonRpcRequest(ids, methods) if isinstance(methods, str) else JsonRpcRequest()


def _value(statement: set[bytes]) -> int | str | None:
    """The value of a name that stands once."""
    if len(statement) != 1:
        return None
    try:
        value: int | str = json.loads(statement.pop().decode())
        # Half of a surrogate pair can be written, and cannot be sent back.
        return value if isinstance(value, int) else value.encode().decode()
    except ValueError:
        return None


def answer_to(line: StdinLine) -> JSONRPCMessage | None:
    """The error that answers a line which is no message; None for one that is."""
    try:
        if not line.is_complete:
            raise Refused(refusal("body_too_large", limit=MAX_BODY))
        text = line.head.decode("utf-8")
        check_complexity(text, depth=MAX_DEPTH + ENVELOPE)
        value = strict(text)
        message = jsonrpc_message_adapter.validate_json(text, by_name=False)
    except Refused as no:
        return refusal_response(
            id_and_method(line), no.refusal.as_json("agent"), no.refusal.kind.status
        )
    except ValidationError as error:
        if error.errors(include_input=False)[0]["type"] != "json_invalid":
            return error_response(id_and_method(line), INVALID_REQUEST, _NO_MESSAGE)
    except (ValueError, RecursionError):
        pass
    else:
        # Of a request whose id is of no use the SDK makes a notification, which nobody answers.
        lost = isinstance(message, JSONRPCNotification) and "id" in value
        return error_response(JsonRpcRequest(), INVALID_REQUEST, _NO_MESSAGE) if lost else None
    return error_response(id_and_method(line), PARSE_ERROR, "This line is no JSON in UTF-8.")


class StdinReader:
    """Stands where the SDK reads stdin: answers what cannot be a message, and passes on the rest.

    The SDK would drop such a line, so that its host waited for ever; and of a key that comes twice
    it would take the second.
    """

    def __init__(self, file: BinaryIO):
        self._file = file
        self.answer: Callable[[SessionMessage], Awaitable[None]] | None = None

    async def __aiter__(self) -> AsyncIterator[str]:
        """Line by line, until the host closes."""
        while line := await anyio.to_thread.run_sync(read_line, self._file):
            if line.is_complete and not line.head.strip():
                continue
            if (answer := answer_to(line)) is None:
                yield exact(line.head.rstrip(b"\r\n")).decode()
            elif self.answer is not None:
                with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await self.answer(SessionMessage(answer))


@contextmanager
def _stdin() -> Iterator[BinaryIO]:
    """Stdin, and nothing in its place meanwhile: a child that inherits it would take lines away."""
    fd = os.dup(sys.stdin.fileno())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    # Not closed: a thread may still wait on it.
    yield os.fdopen(fd, "rb", closefd=False)


@asynccontextmanager
async def host() -> AsyncIterator[tuple[Any, Any]]:
    """The SDK's two streams: the host's messages, and the answers to them."""
    with _stdin() as file:
        lines = StdinReader(file)
        async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (read, write):
            lines.answer = write.send
            # A stray print must not reach the protocol.
            with contextlib.redirect_stdout(sys.stderr):
                yield read, write
