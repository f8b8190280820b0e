"""The OpenAPI document, out of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Final

from domain.refusals import REFUSALS
from tools.describe import gives_schema, refusal_schema, takes_schema
from tools.operation import Operation

ALWAYS: Final = ("invalid_request", "internal")
SECURITY: Final = {
    "open": [{}],
    "owner": [{"owner_session": []}],
    "agent": [{"agent_key": []}],
    "owner_or_agent": [{"owner_session": []}, {"agent_key": []}],
    "keeper": [{"keeper_key": []}],
    "admin": [{"admin_key": []}],
}


def document(operations: Sequence[Operation], *, base_url: str) -> dict[str, Any]:
    """OpenAPI 3.1: every route with its request, its answers and its refusals by status."""
    paths: dict[str, dict[str, Any]] = {}
    for op in operations:
        if op.route is not None:
            paths.setdefault(op.route[1], {})[op.route[0].lower()] = _operation(op)
    bearer = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Delegated-spending wallet",
            "version": version("mandate-wallet"),
            "description": "An agent spends inside a mandate that its owner signed. Every error is a refusal block.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": base_url}],
        "paths": dict(sorted(paths.items())) | _texts(),
        "components": {
            "schemas": {"Refusal": refusal_schema()},
            "securitySchemes": {
                "owner_session": bearer | {"description": "token of POST /wallet/auth/session"},
                "agent_key": {"type": "apiKey", "in": "header", "name": "X-Service-User-Key"},
                "keeper_key": bearer | {"description": "kk_ key"},
                "admin_key": bearer | {"description": "dk_ key"},
            },
        },
    }


def refusals_of(op: Operation) -> list[str]:
    """Codes an operation can answer with: its own and those of its door."""
    codes = {*op.refusals, *ALWAYS}
    if op.auth != "open":
        codes.add("forbidden")
    codes.add("unauthenticated")
    if op.route and op.route[0] != "GET":
        codes.add("body_too_large")
    if op.guards_secrets:
        codes.add("secret_not_accepted")
    return sorted(codes)


def _operation(op: Operation) -> dict[str, Any]:
    schema = takes_schema(op)
    properties, required = schema["properties"], set(schema.get("required", ()))
    in_query = set(properties) - set(op.path_names) if op.from_query else op.in_query
    told: dict[str, Any] = {
        "operationId": op.name,
        "summary": op.title,
        "description": op.summary,
        "tags": [op.family],
        "security": SECURITY[op.auth],
        "parameters": [
            _parameter(n, p, n in required, op.path_names) for n, p in properties.items() if n in op.path_names or n in in_query
        ],
        "responses": _responses(op),
    }
    if op.idempotency is not None:
        key = {"type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}$"}
        told["parameters"].append({"name": "Idempotency-Key", "in": "header", "required": False, "schema": key})
    body = {n: p for n, p in properties.items() if n not in op.path_names and n not in in_query}
    if not op.from_query and body:
        inner = {"type": "object", "properties": body, "additionalProperties": False}
        needed = sorted(required & set(body))
        inner |= {"required": needed} if needed else {}
        told["requestBody"] = {"required": bool(needed), "content": {"application/json": {"schema": inner}}}
    return told


def _parameter(name: str, schema: Any, required: bool, path_names: Sequence[str]) -> dict[str, Any]:
    where = "path" if name in path_names else "query"
    plain = {k: v for k, v in schema.items() if k != "description"}
    told = {"name": name, "in": where, "required": required or where == "path", "schema": plain}
    return told | ({"description": schema["description"]} if "description" in schema else {})


def _responses(op: Operation) -> dict[str, Any]:
    answer = {"application/json": {"schema": gives_schema(op)}}
    told: dict[str, Any] = {str(s): {"description": d, "content": answer} for s, d in op.statuses.items()}
    by_status: dict[int, list[str]] = {}
    for code in refusals_of(op):
        by_status.setdefault(REFUSALS[code].status, []).append(code)
    for status, codes in sorted(by_status.items()):
        block = {"schema": {"$ref": "#/components/schemas/Refusal"}}
        told[str(status)] = {"description": "Refused: " + ", ".join(codes), "content": {"application/json": block}}
    return told


def _texts() -> dict[str, Any]:
    """The door's own routes, which are not operations."""
    block = {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}}
    off = {"404": {"description": "Refused: door_off", "content": block}}
    free = {"application/json": {"schema": {"type": "object"}}}
    text = {"text/markdown": {"schema": {"type": "string"}}}

    def get(name: str, summary: str, responses: dict[str, Any]) -> dict[str, Any]:
        return {
            "get": {"operationId": name, "summary": summary, "tags": ["door"], "security": [{}], "responses": responses | off}
        }

    return {
        "/wallet/door": get(
            "door", "The bot door: always 402, nothing is charged", {"402": {"description": "The door", "content": free}}
        ),
        "/wallet/skill.md": get(
            "skill", "Bootstrap text for an agent harness", {"200": {"description": "The text", "content": text}}
        ),
        "/wallet/mcp-tools": get("mcp_tools", "The MCP tools", {"200": {"description": "The tools", "content": free}}),
    }
