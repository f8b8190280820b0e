"""JSON-RPC over HTTP to one address: one question or many at once, connections kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final

from aiohttp import (
    ClientError,
    ClientResponse,
    ClientSession,
    DummyCookieJar,
    TCPConnector,
    TraceConfig,
)

from chain.rpc import errors
from chain.rpc.errors import NodeError, NodeUnusable, TransientNodeError

Question = tuple[str, list[Any]]
CONNECTIONS: Final = 16
ANSWER_BYTES: Final = 32 * 2**20
CHUNK_BYTES: Final = 2**16
NOT_RPC: Final = "an answer that is not JSON-RPC"
# A compressed answer could be a thousand times as large as what the bound of bytes sees of it.
_HEADERS: Final = {"Content-Type": "application/json", "Accept-Encoding": "identity"}


class HttpTransport:
    """One HTTP session with one node.

    A request that is cancelled, or that its time ends, leaves nothing taken: the next one goes out
    as if it had not been. The node names no other address (redirects are refused), and sets no
    cookies. An answer is read up to a bound, and never decompressed.
    `opened` counts the connections: behind a new one somebody else may answer than before.
    Units: `timeout_s` seconds of one request, from the connection to the last byte.
    Errors: NodeError for what the node answers with an error or too long, TransientNodeError for a
    passing fault, NodeUnusable for one that stays.
    """

    def __init__(self, url: str, timeout_s: float):
        self.opened = 0
        self._url, self._timeout_s = url, timeout_s
        self._session: ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def one(self, question: Question) -> Any:
        """The result of one question."""
        return _result(await self._sent(_request(0, question)))

    async def many(self, questions: Sequence[Question]) -> list[Any]:
        """The results of many questions in one request, in their order.

        Errors: NodeError where one of them is answered with an error, or the whole batch is.
        """
        answers = await self._sent([_request(n, one) for n, one in enumerate(questions)])
        if not isinstance(answers, list):
            _result(answers)
            answers = []
        by_id = {
            a["id"]: a for a in answers if isinstance(a, dict) and isinstance(a.get("id"), int)
        }
        if len(answers) != len(questions) or by_id.keys() != set(range(len(questions))):
            raise NodeError(-32600, "a batch that is not answered whole", None)
        return [_result(by_id[n]) for n in range(len(questions))]

    async def _sent(self, request: Any) -> Any:
        try:
            async with asyncio.timeout(self._timeout_s):
                session = await self._connected()
                async with session.post(
                    self._url,
                    data=json.dumps(request).encode(),
                    headers=_HEADERS,
                    allow_redirects=False,
                ) as response:
                    body = await _body(response)
        except (ClientError, TimeoutError, OSError) as error:
            raise TransientNodeError(f"no answer ({type(error).__name__})") from None
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise TransientNodeError(f"{NOT_RPC} ({type(error).__name__})") from None

    async def _connected(self) -> ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is not None and self._loop is loop:
            return self._session
        watch = TraceConfig()
        watch.on_connection_create_end.append(self._opened)
        previous, self._loop = self._session, loop
        self._session = session = ClientSession(
            connector=TCPConnector(limit=CONNECTIONS),
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,
            trace_configs=[watch],
        )
        if previous is not None:
            await previous.close()
        return session

    async def _opened(self, _: ClientSession, __: SimpleNamespace, ___: Any) -> None:
        self.opened += 1

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def _request(number: int, question: Question) -> object:
    method, params = question
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


async def _body(response: ClientResponse) -> bytes:
    """The bytes of an answer. Errors: NodeError for more than the bound, so that less is asked."""
    if not 200 <= response.status < 300:
        raise errors.error_of_http(response.status, response.headers)
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise NodeUnusable("an answer that is compressed")
    body = bytearray()
    async for chunk in response.content.iter_chunked(CHUNK_BYTES):
        body += chunk
        if len(body) > ANSWER_BYTES:
            response.close()
            raise NodeError(-32600, "the response size exceeds what is read", None)
    return bytes(body)


def _result(answer: Any) -> Any:
    if isinstance(answer, dict) and answer.get("error"):
        raise errors.of_error(answer["error"])
    if not isinstance(answer, dict) or "result" not in answer:
        raise TransientNodeError(NOT_RPC)
    return answer["result"]
