"""The SDK's transport over SSE, with fewer steps for each message."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import quote
from uuid import UUID, uuid4  # noqa: TID251 - it is how the SDK names a stream

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, authorization_context
from mcp.server.sse import SseServerTransport
from mcp.shared._context_streams import ContextReceiveStream, create_context_streams
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError
from sse_starlette.sse import EventSourceResponse
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from domain.refusals import invalid
from server.mcp_api.session_limits import STREAM_ID

ACCEPTED: Final = b"Accepted"
_ACCEPTED: Final[tuple[Message, ...]] = (
    {
        "type": "http.response.start",
        "status": 202,
        "headers": [(b"content-length", str(len(ACCEPTED)).encode())],
    },
    {"type": "http.response.body", "body": ACCEPTED},
)


class SseTransport(SseServerTransport):
    """The SDK's own makes a text of each message for its log, whether that is kept or not, and
    hands an answer from one task to the next before it is written. It is asked still for what is
    refused, but for what is no message: of that it writes an error.
    """

    @asynccontextmanager
    async def connect_sse(self, scope: Scope, receive: Receive, send: Send) -> AsyncIterator[Any]:
        """A stream: what its client sends, and where the answers go, until it has gone.

        Errors: ValueError for a foreign Host or Origin, which has been answered.
        """
        refused = await self._security.validate_request(Request(scope, receive))
        if refused is not None:
            await refused(scope, receive, send)
            raise ValueError("a foreign Host or Origin")
        read_writer, read = create_context_streams[SessionMessage | Exception](0)
        write, write_reader = create_context_streams[SessionMessage](0)
        session_id = uuid4()
        if (owner := _owner(scope)) is not None:
            self._session_owners[session_id] = owner
        self._read_stream_writers[session_id] = read_writer
        address = f"{quote(scope.get('root_path', '').rstrip('/') + self._endpoint)}?session_id="
        written = EventSourceResponse(_frames(address + session_id.hex, write_reader))

        async def serve() -> None:
            async with read_writer, write_reader:
                await written(scope, receive, send)

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(serve)
                yield read, write
        finally:
            del self._read_stream_writers[session_id]
            self._session_owners.pop(session_id, None)

    async def _handle_post_message(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a message, whose body comes whole from those who stand before the transport.

        Errors: `invalid_request`.
        """
        request = Request(scope, receive)
        named = STREAM_ID.fullmatch(b"?" + scope["query_string"])
        session_id = None if named is None else UUID(hex=named[1].decode())
        writer = None if session_id is None else self._read_stream_writers.get(session_id)
        if (
            session_id is None
            or writer is None
            or self._session_owners.get(session_id) != _owner(scope)
            or await self._security.validate_request(request, is_post=True) is not None
        ):
            await super()._handle_post_message(scope, receive, send)
            return
        received = await receive()
        try:
            message = jsonrpc_message_adapter.validate_json(received["body"], by_name=False)
        except ValidationError:
            raise invalid("request", "it is no message of JSON-RPC") from None
        for part in _ACCEPTED:
            await send(part)
        metadata = ServerMessageMetadata(request_context=request)
        await writer.send(SessionMessage(message, metadata=metadata))


def _owner(scope: Scope) -> Any:
    """The holder of a stream, or the sender of a message; None for a stranger."""
    user = scope.get("user")
    return authorization_context(user) if isinstance(user, AuthenticatedUser) else None


async def _frames(
    address: str, answers: ContextReceiveStream[SessionMessage]
) -> AsyncIterator[bytes]:
    """The address for messages, then the answers. JSON has no line break of its own."""
    yield f"event: endpoint\r\ndata: {address}\r\n\r\n".encode()
    async for answer in answers:
        text = answer.message.model_dump_json(by_alias=True, exclude_unset=True)
        yield f"event: message\r\ndata: {text}\r\n\r\n".encode()
