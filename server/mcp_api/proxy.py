"""MCP on stdin and stdout in front of a remote service: `wallet mcp --url`, with no database here.

Messages pass as they are, in both protocol eras; what streamable HTTP wants beside them, headers
and the end of a cancelled request, is told from the message itself.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import anyio
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp.types import JSONRPCMessage, JSONRPCRequest

from http_shim.identity import KEY_HEADER
from server.mcp_api.jsonrpc import TOOL_CALL, VERSION, tool_response
from server.mcp_api.local_signer import ACT, PAY, LocalSigner
from server.mcp_api.proxy_client import ProxyClient
from server.mcp_api.sdk_log_filter import install_log_filter
from server.mcp_api.stdin_reader import host
from tools.model.toolsets import CORE, HEADER

log = logging.getLogger("wallet.relay")
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


def endpoint(url: str) -> str:
    """The address of a service's MCP; a bare origin gets `/mcp`.

    Errors: ValueError for what is no address, for one with credentials, and for plain http to
    another machine: the key would travel in the open.
    """
    parts = urlsplit(url)
    if "@" in parts.netloc or parts.query or parts.fragment:
        # Whoever lists the processes of a machine reads its command lines.
        raise ValueError(
            "an address without a name, password or query: set WALLET_SERVICE_USER_KEY"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an address that starts with https://")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise ValueError("https, as the key would travel in the open")
    return url if parts.path.strip("/") else f"{url.rstrip('/')}/mcp"


class _Era:
    """The protocol version of each message that goes out, told from what has passed."""

    def __init__(self) -> None:
        self._agreed: str | None = None
        self._opening: int | str | None = None

    def headers(self, message: JSONRPCMessage) -> dict[str, str]:
        """The headers that streamable HTTP needs for this message. Their values are the host's own
        words: a value that cannot be a header is encoded, and one that is no text is left out.
        """
        method, params = getattr(message, "method", None), getattr(message, "params", None) or {}
        if method == "initialize":
            self._opening, self._agreed = getattr(message, "id", None), None
            return {}
        meta = params.get("_meta")
        version = meta.get(VERSION) if isinstance(meta, dict) else None
        if version is None:
            return {MCP_PROTOCOL_VERSION_HEADER: self._agreed} if self._agreed else {}
        raw = {
            MCP_PROTOCOL_VERSION_HEADER: version,
            MCP_METHOD_HEADER: method,
            MCP_NAME_HEADER: params.get(NAME_BEARING_METHODS.get(method or "", "")),
        }
        return {n: encode_header_value(v) for n, v in raw.items() if isinstance(v, str)}

    def saw(self, message: JSONRPCMessage) -> None:
        """Take the version that the service agreed to."""
        if self._opening is None or getattr(message, "id", None) != self._opening:
            return
        result = getattr(message, "result", None)
        version = result.get("protocolVersion") if isinstance(result, dict) else None
        self._agreed = encode_header_value(version) if isinstance(version, str) else None
        self._opening = None


def _signed_here(message: JSONRPCMessage) -> tuple[str, Mapping[str, object]] | None:
    """The tool and arguments of a call that takes the agent's signature; None for any other
    message.
    """
    if not isinstance(message, JSONRPCRequest) or message.method != TOOL_CALL:
        return None
    params = message.params or {}
    arguments = params.get("arguments")
    name = params.get("name")
    return (name, arguments) if name in (ACT, PAY) and isinstance(arguments, dict) else None


async def relay(
    url: str,
    key: str | None,
    wait_s: float,
    toolsets: str = CORE,
    signer: LocalSigner | None = None,
) -> None:
    """Pass messages until stdin closes; what is unanswered for `wait_s` gets an error. With a
    `signer`, acts are signed here.
    """
    install_log_filter()
    headers = ({KEY_HEADER: key} if key else {}) | {HEADER: toolsets}
    era = _Era()
    async with (
        ProxyClient(headers, wait_s) as http,
        host() as (from_host, to_host),
        streamable_http_client(endpoint(url), http_client=http) as (from_service, to_service),
        anyio.create_task_group() as group,
    ):

        async def back() -> None:
            async for item in from_service:
                if isinstance(item, Exception):
                    log.warning("the service cannot be understood: %s", type(item).__name__)
                    continue
                era.saw(item.message)
                await to_host.send(SessionMessage(item.message))

        async def act(
            signer: LocalSigner, request: int | str, tool: str, arguments: Mapping[str, object]
        ) -> None:
            answer = await (signer.pay if tool == PAY else signer.act)(arguments)
            is_error = answer.status >= 400
            body = {"refusal": dict(answer.body)} if is_error else answer.body
            response = tool_response(
                request, body, answer.status, is_error=is_error, is_repeat=answer.is_repeat
            )
            await to_host.send(SessionMessage(response))

        group.start_soon(back)
        async for item in from_host:
            call = None if signer is None else _signed_here(item.message)
            if signer is not None and call is not None:
                group.start_soon(act, signer, item.message.id, *call)
                continue
            metadata = ClientMessageMetadata(headers=era.headers(item.message) or None)
            await to_service.send(SessionMessage(item.message, metadata))
        group.cancel_scope.cancel()
        # The SDK writes until this is closed.
        to_host.close()
