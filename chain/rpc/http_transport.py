"""JSON-RPC over HTTP to one address: one question or many at once, connections kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final

from aiohttp import (
    ClientError,
    ClientResponseError,
    ClientSession,
    ClientTimeout,
    TCPConnector,
    TraceConfig,
)
from web3 import AsyncHTTPProvider
from web3.exceptions import Web3Exception
from web3.types import RPCEndpoint

from chain.rpc import errors
from chain.rpc.errors import NodeError, TransientNodeError

Question = tuple[str, list[Any]]
CONNECTIONS: Final = 16
NOT_RPC: Final = "an answer that is not JSON-RPC"


class HttpTransport:
    """web3's HTTP provider over a session of ours.

    `opened` counts the connections: behind a new one somebody else may answer than before.
    Errors: RpcFault for what the node answers with an error, TryAgain for a passing fault,
    Unusable for one that stays.
    """

    def __init__(self, url: str, timeout_s: int):
        self.opened = 0
        self._provider = AsyncHTTPProvider(
            url,
            request_kwargs={"timeout": ClientTimeout(total=timeout_s)},
            exception_retry_configuration=None,
        )
        # A contract that we call must not send this server to an address of its choice (EIP-3668).
        self._provider.global_ccip_read_enabled = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def one(self, question: Question) -> Any:
        """The result of one question."""
        method, params = question
        answer: Any = await self._sent(self._provider.make_request(RPCEndpoint(method), params))
        return _result(answer)

    async def many(self, questions: Sequence[Question]) -> list[Any]:
        """The results of many questions in one request, in their order.

        Errors: RpcFault where one of them is answered with an error, or the whole batch is.
        """
        request = [(RPCEndpoint(method), params) for method, params in questions]
        answers: Any = await self._sent(self._provider.make_batch_request(request))
        if not isinstance(answers, list):
            _result(answers)
            answers = []
        ids = [a["id"] for a in answers if isinstance(a, dict) and isinstance(a.get("id"), int)]
        if len(ids) != len(questions) or ids != list(range(ids[0], ids[0] + len(ids))):
            raise NodeError(-32600, "a batch that is not answered whole", None)
        return [_result(answer) for answer in answers]

    async def _sent(self, request: Any) -> Any:
        try:
            await self._connected()
            return await request
        except ClientResponseError as error:
            raise errors.error_of_http(error.status, error.headers or {}) from None
        except (ClientError, TimeoutError, OSError) as error:
            raise TransientNodeError(f"no answer ({type(error).__name__})") from None
        except (Web3Exception, ValueError, RecursionError, TypeError, AttributeError) as error:
            raise TransientNodeError(f"{NOT_RPC} ({type(error).__name__})") from None

    async def _connected(self) -> None:
        """web3's own session opens a connection for every request; ours keeps them, and tells of
        new ones.
        """
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        watch = TraceConfig()
        watch.on_connection_create_end.append(self._opened)
        session = ClientSession(
            raise_for_status=True,
            connector=TCPConnector(limit=CONNECTIONS),
            trace_configs=[watch],
        )
        await self._provider.cache_async_session(session)
        self._loop = loop

    async def _opened(self, _: ClientSession, __: SimpleNamespace, ___: Any) -> None:
        self.opened += 1

    async def close(self) -> None:
        """Close the connections."""
        self._loop = None
        await self._provider.disconnect()


def _result(answer: Any) -> Any:
    if isinstance(answer, dict) and answer.get("error"):
        raise errors.of_error(answer["error"])
    if not isinstance(answer, dict) or "result" not in answer:
        raise TransientNodeError(NOT_RPC)
    return answer["result"]
