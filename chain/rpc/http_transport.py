"""HTTP transport: JSON-RPC requests to one address, single or batched, over pooled connections."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Final
from urllib.parse import urlsplit

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
from domain.spans import current_span, part

RpcCall = tuple[str, Sequence[object]]
CONNECTIONS: Final = 16
ANSWER_BYTES: Final = 32 * 2**20
CHUNK_BYTES: Final = 2**16
_UNTRACED: Final = part("", "client", {})
NOT_RPC: Final = "an answer that is not JSON-RPC"
# A compressed answer could be a thousand times as large as what the bound of bytes sees of it.
_HEADERS: Final = {"Content-Type": "application/json", "Accept-Encoding": "identity"}


class HttpTransport:
    """One HTTP session with one node.

    A cancelled or timed-out request leaves no state behind. Redirects are refused and cookies
    ignored. An answer is read up to a size limit and never decompressed. `opened` counts
    connections: behind a new one another node may answer.
    Units: `timeout_s` seconds of one request, from the connection to the last byte.
    Errors: NodeError for an error that the node returns and for an answer that is too long,
    TransientNodeError for a transient fault, NodeUnusable for a permanent one.
    """

    def __init__(self, url: str, timeout_s: float):
        self.opened = 0
        self._url, self._timeout_s = url, timeout_s
        self._host = urlsplit(url).hostname or ""
        self._session: ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def one(self, question: RpcCall) -> object:
        """Result of one call."""
        with self._span(question[0]):
            return _result(await self._post(_request(0, question)))

    async def many(self, questions: Sequence[RpcCall]) -> list[object]:
        """Results of many calls in one batch request, in their order. Errors: NodeError where one
        of them, or the whole batch, is answered with an error.
        """
        with self._span(*(method for method, _ in questions)):
            requests = [_request(n, question) for n, question in enumerate(questions)]
            return _results(await self._post(requests), len(questions))

    def _span(self, *methods: str) -> part:
        """The span of a request, where its call is traced: host and methods, and neither the path
        of the address, which may be a secret, nor what is asked.
        """
        if current_span() is None:
            return _UNTRACED
        names = list(dict.fromkeys(methods))
        about: dict[str, str | int] = {
            "rpc.system.name": "jsonrpc",
            "rpc.method": ",".join(names),
            "server.address": self._host,
            "wallet.calls": len(methods),
        }
        return part(names[0] if len(names) == 1 else "batch", "client", about)

    async def _post(self, request: object) -> object:
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

    async def _opened(self, _: ClientSession, __: SimpleNamespace, ___: object) -> None:
        self.opened += 1

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def _results(answers: object, most: int) -> list[object]:
    """The results of a batch, in the order of its questions. Errors: NodeError."""
    if not isinstance(answers, list):
        _result(answers)
        answers = []
    by_id = {a["id"]: a for a in answers if isinstance(a, dict) and isinstance(a.get("id"), int)}
    if len(answers) != most or by_id.keys() != set(range(most)):
        raise NodeError(-32600, "a batch that is not answered whole", None)
    return [_result(by_id[n]) for n in range(most)]


def _request(number: int, question: RpcCall) -> object:
    method, params = question
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


async def _body(response: ClientResponse) -> bytes:
    """Read the body of an answer. Errors: NodeError above the limit, so that less is asked."""
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


def _result(answer: object) -> object:
    if isinstance(answer, dict) and answer.get("error"):
        raise errors.of_error(answer["error"])
    if not isinstance(answer, dict) or "result" not in answer:
        raise TransientNodeError(NOT_RPC)
    return answer["result"]
