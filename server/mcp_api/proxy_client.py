"""Proxy client over HTTP: every request gets an answer, from the service or in its place."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, cast

import anyio
import httpx2
from mcp.types import CONNECTION_CLOSED, INTERNAL_ERROR, JSONRPCError, JSONRPCMessage

from domain.next_steps import OWNER_OR_AGENT, NextStep
from domain.refusals import refusal
from server.mcp_api.jsonrpc import TOOL_CALL, JsonRpcRequest, error_response, refusal_response

SESSION: Final = "mcp-session-id"
CONNECT_S: Final = 10
# What nobody waits for holds up what comes behind it.
UNASKED_S: Final = 10
LEAVE_S: Final = 2
# Of a stream that is open; the service says something every 15 s.
SILENT_S: Final = 300
AGAIN_S: Final = (1, 2, 5, 10, 30)
_OF_A_BODY: Final = frozenset({"content-length", "content-type", "last-event-id"})
SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"
SUBSCRIBED_MOST: Final = 32
NOTHING_SENT: Final = "Nothing was sent; ask again."
_RECONCILE: Final = NextStep(
    "Ask what happened before sending anything again",
    "mandate_reconcile",
    "GET /wallet/mandates/{public_id}/reconcile",
    by=OWNER_OR_AGENT,
)
SAME_KEY: Final = NextStep(
    "Send the same call with the same idempotency_key: it is done once, and answered"
)


class ProxyClient(httpx2.AsyncClient):
    """Relays requests to the service; each is answered within `wait_s`, by the service or by an
    error in its place. A session that the service no longer knows is opened anew, and subscribed to
    what the lost one was.
    """

    def __init__(self, headers: Mapping[str, str], wait_s: float):
        super().__init__(
            headers=headers, timeout=httpx2.Timeout(CONNECT_S, read=max(SILENT_S, wait_s))
        )
        self._wait_s = wait_s
        self._hello: httpx2.Request | None = None
        self._session: str | None = None
        self._subscribed: dict[str, None] = {}
        self._opening = anyio.Lock()

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        """Send one request."""
        if request.method == "GET":
            return await self._listening(request)
        if request.method != "POST":
            with anyio.fail_after(LEAVE_S):
                return await super().send(self._known(request), **how)
        raw: Any = json.loads(request.content)
        if "id" not in raw or "method" not in raw:
            response = await self._unasked(request)
        else:
            if raw["method"] == "initialize":
                self._hello, self._session = request, None
                self._subscribed.clear()
            self._note_subscription(raw)
            response = await self._forward(request, raw)
        response.request = request
        return response

    def _note_subscription(self, raw: Any) -> None:
        params = raw.get("params")
        uri = params.get("uri") if isinstance(params, dict) else None
        if raw["method"] == UNSUBSCRIBE:
            self._subscribed.pop(str(uri), None)
        elif raw["method"] == SUBSCRIBE and len(self._subscribed) < SUBSCRIBED_MOST:
            self._subscribed[str(uri)] = None

    async def _passed(self, request: httpx2.Request) -> httpx2.Response:
        return await super().send(request, stream=True, follow_redirects=False)

    def _known(self, request: httpx2.Request) -> httpx2.Request:
        """The request, in the session as the service knows it now."""
        if self._session is not None and SESSION in request.headers:
            request.headers[SESSION] = self._session
        return request

    async def _forward(self, request: httpx2.Request, raw: Any) -> httpx2.Response:
        rpc_request = JsonRpcRequest(raw["id"], raw["method"])
        try:
            with anyio.fail_after(self._wait_s):
                response = await self._send_in_session(request)
                return await _understood(response, rpc_request, raw)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
            return _to_response(
                _connection_closed(rpc_request, f"The service cannot be reached. {NOTHING_SENT}")
            )
        except TimeoutError:
            why = f"The service gave no answer within {self._wait_s:g} s."
        except (httpx2.TransportError, httpx2.DecodingError):
            why = "The connection broke before the answer was whole."
        return _to_response(_unknown(rpc_request, raw, why))

    async def _unasked(self, request: httpx2.Request) -> httpx2.Response:
        """Send a notification; it has no answer, so that a failure is not reported."""
        try:
            with anyio.fail_after(min(UNASKED_S, self._wait_s)):
                response = await self._send_in_session(request)
                await response.aread()
                await response.aclose()
        except (httpx2.TransportError, httpx2.DecodingError, TimeoutError):
            pass
        return httpx2.Response(202)

    async def _listening(self, request: httpx2.Request) -> httpx2.Response:
        """The stream of what the service says unasked; tried until there is one."""
        tries = 0
        while True:
            try:
                response = await self._send_in_session(request)
            except httpx2.TransportError:
                response = None
            if response is not None and response.status_code < 500:
                response.stream = _Ending(cast("httpx2.AsyncByteStream", response.stream))
                return response
            if response is not None:
                await response.aclose()
            await anyio.sleep(AGAIN_S[min(tries, len(AGAIN_S) - 1)])
            tries += 1

    async def _send_in_session(self, request: httpx2.Request) -> httpx2.Response:
        """Send it; where the service has lost the session, in another."""
        response = await self._passed(self._known(request))
        if self._hello is request:
            self._session = response.headers.get(SESSION)
        session_id = request.headers.get(SESSION)
        if response.status_code != 404 or session_id is None or self._hello is None:
            return response
        # 404 is the word for a session that is over; nothing of the request was done.
        await response.aclose()
        async with self._opening:
            if self._session == session_id:
                await self._open_again(request, self._hello)
        return await self._passed(self._known(request))

    async def _open_again(self, request: httpx2.Request, hello: httpx2.Request) -> None:
        """Say again what the host said first, as it does not know that it was lost."""
        response = await self._passed(hello)
        await response.aread()
        await response.aclose()
        self._session = response.headers.get(SESSION, self._session)
        headers = {n: v for n, v in request.headers.items() if n not in _OF_A_BODY}
        said = [{"jsonrpc": "2.0", "method": "notifications/initialized"}] + [
            {"jsonrpc": "2.0", "id": f"again-{n}", "method": SUBSCRIBE, "params": {"uri": uri}}
            for n, uri in enumerate(self._subscribed)
        ]
        for message in said:
            again = self.build_request("POST", request.url, headers=headers, json=message)
            response = await self._passed(self._known(again))
            await response.aread()
            await response.aclose()


class _Ending(httpx2.AsyncByteStream):
    """A stream that breaks ends, so that its reader opens another."""

    def __init__(self, inner: httpx2.AsyncByteStream):
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._inner:
                yield part
        except httpx2.TransportError:
            return

    async def aclose(self) -> None:
        """Close what is wrapped."""
        await self._inner.aclose()


async def _understood(
    response: httpx2.Response, request: JsonRpcRequest, raw: object
) -> httpx2.Response:
    """The response where it answers, what stands for it where it does not."""
    status = response.status_code
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if 300 <= status < 400 or (status < 300 and kind == "text/event-stream"):
        return response
    try:
        body = await response.aread()
    finally:
        await response.aclose()
    answer = _object(body)
    if "jsonrpc" in answer:
        # An answer to what the service could not read has no id.
        answer_body = json.dumps({**answer, "id": request.id}).encode()
        headers = {SESSION: response.headers[SESSION]} if SESSION in response.headers else {}
        return _ok(answer_body, headers)
    if isinstance(answer.get("error"), str) and isinstance(answer.get("reason"), str):
        return _to_response(refusal_response(request, answer, status))
    if status in (404, 405):
        return httpx2.Response(status)
    why = f"What answered is not the service: status {status}, and no message."
    if 400 <= status < 500:
        return _to_response(
            error_response(request, INTERNAL_ERROR, why, {"may_have_happened": False})
        )
    return _to_response(_unknown(request, raw, why))


def _object(body: bytes) -> Mapping[str, object]:
    """The object of a JSON text; empty for anything else."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _ok(body: bytes, headers: Mapping[str, str]) -> httpx2.Response:
    """An answer of 200: with another status the SDK would put words of its own in its place."""
    raw = {**headers, "content-type": "application/json"}
    return httpx2.Response(200, headers=raw, content=body)


def _to_response(message: JSONRPCMessage) -> httpx2.Response:
    return _ok(json.dumps(message.model_dump(by_alias=True, exclude_unset=True)).encode(), {})


def _connection_closed(request: JsonRpcRequest, reason: str) -> JSONRPCError:
    return error_response(request, CONNECTION_CLOSED, reason, {"may_have_happened": False})


def _unknown(request: JsonRpcRequest, raw: Any, reason: str) -> JSONRPCError:
    """The error of a call whose outcome is unknown; what is no tool call may be repeated."""
    if request.method != TOOL_CALL:
        return _connection_closed(request, f"{reason} Ask again.")
    params: Any = raw.get("params")
    arguments: Any = params.get("arguments") if isinstance(params, dict) else None
    keyed = isinstance(arguments, dict) and isinstance(arguments.get("idempotency_key"), str)
    step = SAME_KEY if keyed else _RECONCILE
    block = refusal("outcome_unknown", what="The call", next=(step,), retry_safe=keyed).as_json(
        "agent"
    )
    message = f"{reason} The call may have happened. {step.text}."
    return error_response(
        request, CONNECTION_CLOSED, message, {"may_have_happened": True, "refusal": block}
    )
