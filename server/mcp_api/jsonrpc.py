"""JSON-RPC answers where no tool ran: a refusal block, or an error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mcp.types import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, ErrorData, JSONRPCError
from mcp.types import JSONRPCResponse as Answer

VERSION: Final = "io.modelcontextprotocol/protocolVersion"
TOOL_CALL: Final = "tools/call"


@dataclass(frozen=True, slots=True)
class JsonRpcRequest:
    """The parts of a request that its answer needs; None where one cannot be read."""

    id: int | str | None = None
    method: str | None = None


def error_response(
    request: JsonRpcRequest, code: int, message: str, data: object = None
) -> JSONRPCError:
    """An error; its id is null where the request's cannot be read."""
    raw = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return JSONRPCError(jsonrpc="2.0", id=request.id, error=ErrorData.model_validate(raw))


def refusal_response(
    request: JsonRpcRequest, block: Mapping[str, object], status: int
) -> Answer | JSONRPCError:
    """A refusal block: a called tool's result (contract 1), an error's data otherwise."""
    raw = {"refusal": dict(block)}
    if request.method != TOOL_CALL or request.id is None:
        code = {400: INVALID_REQUEST, 404: METHOD_NOT_FOUND}.get(status, INTERNAL_ERROR)
        return error_response(request, code, str(block.get("reason", "")), raw)
    return tool_response(request.id, raw, status, is_error=True)


def tool_response(
    request_id: int | str,
    body: Mapping[str, object],
    status: int,
    *,
    is_error: bool = False,
    is_repeat: bool = False,
) -> Answer:
    """A tool's result: the same JSON in both of its contents."""
    meta = {"wallet/http_status": status} | ({"wallet/replayed": True} if is_repeat else {})
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    result = {
        "content": [{"type": "text", "text": text}],
        "structuredContent": dict(body),
        "isError": is_error,
        "resultType": "complete",
        "_meta": meta,
    }
    return Answer(jsonrpc="2.0", id=request_id, result=result)
