"""The OpenAPI document, out of the catalogue."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Final

from domain.agents.policy import JSON_FIELDS
from domain.mandates.notice_choices import NOTICE_KINDS
from domain.reads.notices import NOTICE_DATA
from domain.refusals import REFUSALS
from tools.model.json_schema import (
    IDEMPOTENCY_KEY,
    TEXT,
    closed,
    possible_refusals,
    refusal_example,
    refusal_schema,
    takes_schema,
)
from tools.model.operation import Operation
from tools.model.serialization import Schema, schemas_of
from tools.model.toolsets import TOOLSETS

SECURITY: Final = {
    "open": [{}],
    "owner": [{"owner_session": []}],
    "agent": [{"agent_key": []}],
    "owner_or_agent": [{"owner_session": []}, {"agent_key": []}],
    "keeper": [{"keeper_key": []}],
    "admin": [{"admin_key": []}],
}


OPEN: Final[Mapping[str, str]] = {
    "ToldPayload.preview": "what an agent says that it checked, passed on as it was told",
    "Payload.preview": "the same",
    "StepParams.preview": "the same",
    "RefusedTry.attempted": "what an agent says that it attempted, passed on as it was told",
    "RefusedTry.proof": "arguments of the error that another contract reverted with",
    "RevertTold.args": "arguments of the error that another contract reverted with",
    "ExplainedCall.args[]": "decoded arguments of the call that the agent wants to make",
    "StagedLog.args": "decoded arguments of a log",
    **{
        f"{model}.{name}": "the owner's own JSON"
        for model in ("PolicyOut", "PolicyFields")
        for name in JSON_FIELDS
    },
    "FieldChange.from": "the owner's own JSON, as it was",
    "FieldChange.to": "the owner's own JSON, as it became",
    "PaymentPayload.resource": "a seller's own JSON, which its payment repeats",
    "PaymentPayload.accepted": "the same",
    "PaymentPayload.extensions": "the same",
    "Sponsored.result": "a paymaster's answer (ERC-7677), passed on",
    "DepositOut.typed_data": "EIP-712 typed data, which carries its own types",
    "VenueTypedData.domain": "the venue's own EIP-712 domain",
    "VenueTypedData.message": "a message of the venue's own types",
    "TypedDataOut.domain": "the venue's own EIP-712 domain",
    "Relayed.data": "the venue's own JSON, passed on, cut to known fields",
    "Relayed.data[]": "the same",
    "McpTool.inputSchema": "a JSON Schema",
    "openapi": "a document of OpenAPI",
}
"""Values of successful answers that no schema of ours describes, each with its reason."""


POSTED: Final = " By POST for what is longer than the 16 KiB of a request line."


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _event(names: Sequence[str], data: Schema) -> Schema:
    return closed(
        ("event", "data"),
        event={"type": "string", "enum": list(names)},
        id=TEXT,
        retry={"type": "integer"},
        data={"type": "string", "contentMediaType": "application/json", "contentSchema": data},
    )


STREAM: Final[Schema] = {
    "description": "One event: `open`, `row` (its data is a LedgerRow, its id the row's), and one "
    "last: `behind`, `again`, `leaving` (come back with Last-Event-ID), or `closed` (no longer "
    "yours to see); a comment every 15 seconds",
    "anyOf": [
        _event(("row",), _ref("LedgerRow")),
        _event(
            ("open", "behind", "again", "leaving", "closed"),
            {"type": "object", "additionalProperties": False},
        ),
    ],
}

REFUSED: Final[Mapping[int, tuple[str, tuple[str, ...]]]] = {
    400: ("BadRequest", ("invalid_request", "secret_not_accepted")),
    401: ("Unauthenticated", ("unauthenticated",)),
    402: ("BudgetExceeded", ("mandate_budget_exceeded",)),
    403: ("Forbidden", ("forbidden",)),
    404: ("NotFound", ("not_found",)),
    409: ("Conflict", ("not_configured",)),
    413: ("BodyTooLarge", ("body_too_large",)),
    414: ("PathTooLong", ("invalid_request",)),
    415: ("EncodedBody", ("invalid_request",)),
    422: ("Unprocessable", ("wallet_invalid_order",)),
    429: ("TooManyRequests", ("rate_limited",)),
    500: ("InternalError", ("internal",)),
    503: ("Unavailable", ("storage_unavailable",)),
    504: ("OutcomeUnknown", ("outcome_unknown",)),
}
"""The shared answer of each status of a refusal: its name, and the codes that it names; an
operation with others says so beside its reference.
"""


SHARED_FROM: Final = 4
"""A parameter that so many operations have alike stands once."""


def document(operations: Sequence[Operation], *, base_url: str) -> Schema:
    """OpenAPI 3.1: every route with its request, its answers and its refusals by status."""
    paths: dict[str, Schema] = {}
    models = [op.response_model for op in operations if op.route is not None]
    gives, components = schemas_of([*models, *NOTICE_DATA.values()])
    for op in operations:
        for each in op.routes:
            method, path = each.route or ("", "")
            paths.setdefault(path, {})[method.lower()] = _operation(each, gives[op.response_model])
        if op.long and op.route is not None:
            posted = paths[op.route[1]]["post"]
            posted["operationId"] += "_post"
            posted["description"] += POSTED
    shared = _shared_parameters(paths)
    bearer = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Delegated-spending wallet",
            "version": version("mandate-wallet"),
            "description": "An agent spends inside a mandate that its owner signed. Every error is "
            "a refusal block. Every answer has an X-Request-Id, which names the call in the log.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": base_url}],
        "paths": dict(sorted(paths.items())) | _texts() | _oauth(),
        "webhooks": {
            kind: {"post": _webhook(kind, gives[NOTICE_DATA[kind]])} for kind in NOTICE_KINDS
        },
        "components": {
            "schemas": dict(
                sorted((components | ABOUT | OAUTH | {"Refusal": refusal_schema()}).items())
            ),
            "parameters": dict(sorted(shared.items())),
            "responses": {name: _shared_refusal(status) for status, (name, _) in REFUSED.items()},
            "examples": {code: {"value": refusal_example(kind)} for code, kind in REFUSALS.items()},
            "headers": {"RetryAfter": {"description": "Seconds to wait", "schema": TEXT}},
            "securitySchemes": {
                "owner_session": bearer | {"description": "token of POST /wallet/auth/session"},
                "agent_key": {"type": "apiKey", "in": "header", "name": "X-Service-User-Key"},
                "keeper_key": bearer | {"description": "kk_ key"},
                "admin_key": bearer | {"description": "dk_ key"},
            },
        },
    }


def as_text(raw: Schema) -> str:
    """The document with a line a route, a webhook and a component, so that a diff shows which."""

    def members(value: object, depth: int) -> str:
        inner = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        if depth == 0 or not isinstance(value, dict) or not value:
            return inner
        lines = (f"{json.dumps(k)}: {members(v, depth - 1)}" for k, v in value.items())
        return "{\n" + ",\n".join(lines) + "\n}"

    depths = {"components": 2, "paths": 1, "webhooks": 1}
    parts = (f"{json.dumps(k)}: {members(v, depths.get(k, 0))}" for k, v in raw.items())
    return "{\n" + ",\n".join(parts) + "\n}"


def _shared_parameters(paths: Mapping[str, Schema]) -> dict[str, Schema]:
    """The parameters that many operations have alike, by name, out of which each gets a reference
    in its place.
    """
    lists = [op["parameters"] for ops in paths.values() for op in ops.values()]
    count = Counter(json.dumps(parameter) for parameters in lists for parameter in parameters)
    shared: dict[str, Schema] = {}
    for text, times in count.most_common():
        parameter = json.loads(text)
        if times >= SHARED_FROM:
            shared.setdefault(parameter["name"], parameter)
    for parameters in lists:
        for place, parameter in enumerate(parameters):
            if shared.get(parameter["name"]) == parameter:
                parameters[place] = {"$ref": f"#/components/parameters/{parameter['name']}"}
    return shared


def _operation(op: Operation, gives: Schema) -> Schema:
    schema = takes_schema(op)
    properties, required = schema["properties"], set(schema.get("required", ()))
    in_query = set(properties) - set(op.path_names) if op.from_query else op.in_query
    raw: Schema = {
        "operationId": op.name,
        "summary": op.title,
        "description": op.summary,
        "tags": [op.family],
        "security": SECURITY[op.auth],
        "parameters": [
            _parameter(n, p, n in required, op.path_names)
            for n, p in properties.items()
            if n in op.path_names or n in in_query
        ],
        "responses": _responses(op, gives),
    }
    if op.idempotency is not None:
        key = {"name": "Idempotency-Key", "in": "header", "required": False}
        raw["parameters"].append(key | {"schema": IDEMPOTENCY_KEY})
    body = {n: p for n, p in properties.items() if n not in op.path_names and n not in in_query}
    if not op.from_query and body:
        inner = {"type": "object", "properties": body, "additionalProperties": False}
        needed = sorted(required & set(body))
        raw["requestBody"] = _posted(inner | ({"required": needed} if needed else {}), bool(needed))
    return raw


def _posted(schema: Schema, required: bool = True) -> Schema:
    return {"required": required, "content": {"application/json": {"schema": schema}}}


def _parameter(name: str, schema: Schema, required: bool, path_names: Sequence[str]) -> Schema:
    where = "path" if name in path_names else "query"
    plain = {k: v for k, v in schema.items() if k != "description"}
    raw = {"name": name, "in": where, "required": required or where == "path", "schema": plain}
    return raw | ({"description": schema["description"]} if "description" in schema else {})


def _responses(op: Operation, gives: Schema) -> Schema:
    raw = {str(status): _answer(meaning, gives) for status, meaning in op.statuses.items()}
    if op.streams:
        raw = {"200": _answer("The stream", STREAM, "text/event-stream")}
    by_status: dict[int, list[str]] = {}
    for code in possible_refusals(op):
        by_status.setdefault(REFUSALS[code].status, []).append(code)
    refused = {str(status): _refused(status, codes) for status, codes in sorted(by_status.items())}
    return raw | refused | _unread()


def _unread() -> Schema:
    """Refusals that come before a request is read: a path that is too long, and an encoded body."""
    return {status: _refused(int(status), ["invalid_request"]) for status in ("414", "415")}


def _answer(meaning: str, schema: Schema, media: str = "application/json") -> Schema:
    return {"description": meaning, "content": {media: {"schema": schema}}}


def _refused(status: int, codes: Sequence[str]) -> Schema:
    """A reference to the shared answer of a status, with the codes where they are not its own."""
    name, common = REFUSED[status]
    raw: Schema = {"$ref": f"#/components/responses/{name}"}
    return raw if tuple(codes) == common else raw | {"description": _refused_by(codes)}


def _refused_by(codes: Sequence[str]) -> str:
    return "Refused: " + ", ".join(codes)


def _shared_refusal(status: int) -> Schema:
    """The refusals of one status: the block, and an example of each code."""
    raw = _answer(_refused_by(REFUSED[status][1]), _ref("Refusal"))
    raw["content"]["application/json"]["examples"] = {
        code: {"$ref": f"#/components/examples/{code}"}
        for code, kind in REFUSALS.items()
        if kind.status == status or code in REFUSED[status][1]
    }
    if status in (429, 503):
        raw["headers"] = {"Retry-After": {"$ref": "#/components/headers/RetryAfter"}}
    return raw


def _webhook(kind: str, data: Schema) -> Schema:
    """One kind of notice, as it is POSTed to an owner's webhook (Standard Webhooks)."""
    time = {"type": "string", "format": "date-time"}
    body = closed(type={"type": "string", "const": kind}, timestamp=time, data=data)
    return {
        "operationId": "notice_" + kind.replace(".", "_"),
        "summary": f"Notice {kind}",
        "tags": ["webhooks"],
        "parameters": [
            {"name": name, "in": "header", "required": True, "schema": TEXT}
            for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
        ],
        "requestBody": _posted(body),
        "responses": {"2XX": {"description": "Taken; anything else is tried again"}},
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _noted(kind: str, description: str) -> Schema:
    return {"type": kind, "description": description}


_YES: Final = {"type": "boolean"}
_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_TOOL: Final = {
    **dict.fromkeys(("name", "title", "description"), TEXT),
    "auth": {"type": "string", "enum": list(SECURITY)},
    **dict.fromkeys(_HINTS, _YES),
    "route": {"type": ["string", "null"]},
    "arguments": _list(TEXT)
    | {"description": "their names; ? at the end of one that may be left out"},
}
ABOUT: Final[Schema] = {
    "Index": closed(
        service=TEXT,
        version=TEXT,
        links=closed(**dict.fromkeys(("skill", "openapi", "mcp", "door", "app"), TEXT)),
    ),
    "Alive": closed(ok=_YES),
    "Ready": closed(
        ok=_YES,
        database=_YES,
        chains=_list(_ref("ChainTrouble")),
        nodes=_list(_ref("NodeTrouble")),
    ),
    "ChainTrouble": closed(
        chain_id={"type": "integer"},
        trouble=_noted("string", "why nothing of this chain is believed"),
    ),
    "NodeTrouble": closed(
        chain_id={"type": "integer"},
        node=_noted("integer", "its place in the settings, from 1"),
        fault=_noted("string", "why it is left out"),
    ),
    "McpTools": closed(tools=_list(_ref("McpTool"))),
    "McpTool": closed(
        **_TOOL,
        toolsets=_list(TEXT | {"enum": sorted(TOOLSETS)}),
        inputSchema={"type": "object"},
    ),
}
"""Components of the routes that are not operations."""

OAUTH: Final[Schema] = {
    "OAuthError": closed(
        error=_noted("string", "a code of OAuth 2.1 (RFC 6749, 7009, 7591, 8707)"),
        error_description=TEXT,
    ),
}
"""The components of OAuth's routes."""

_RESOURCE: Final = closed(
    **dict.fromkeys(("resource", "resource_name", "resource_documentation"), TEXT),
    **dict.fromkeys(
        ("authorization_servers", "scopes_supported", "bearer_methods_supported"), _list(TEXT)
    ),
)

_ISSUER: Final = closed(
    issuer=TEXT,
    **{f"{n}_endpoint": TEXT for n in ("authorization", "token", "revocation", "registration")},
    **{
        f"{n}_supported": _list(TEXT)
        for n in (
            "scopes", "response_types", "grant_types", "token_endpoint_auth_methods",
            "revocation_endpoint_auth_methods", "code_challenge_methods",
        )
    },
    client_id_metadata_document_supported=_YES,
    authorization_response_iss_parameter_supported=_YES,
)  # fmt: skip
_FORM: Final = "application/x-www-form-urlencoded"
_ASKS: Final = (
    "response_type", "client_id", "redirect_uri", "code_challenge", "code_challenge_method",
    "state", "scope", "resource",
)  # fmt: skip
_REDEEMS: Final = (
    "grant_type", "client_id", "code", "redirect_uri", "code_verifier", "refresh_token", "scope",
    "resource",
)  # fmt: skip
_TOKENS: Final = closed(
    access_token=TEXT,
    token_type=TEXT,
    expires_in={"type": "integer"},
    scope=TEXT,
    refresh_token=TEXT,
)
_APP: Final[Schema] = {
    "client_name": TEXT,
    "redirect_uris": _list(TEXT),
    "token_endpoint_auth_method": TEXT,
}
_CLIENT: Final = closed(("redirect_uris",), **_APP) | {"additionalProperties": True}
_REGISTERED: Final = closed(
    ("client_id", "client_id_issued_at", "redirect_uris"),
    client_id=TEXT,
    client_id_issued_at={"type": "integer"},
    grant_types=_list(TEXT),
    response_types=_list(TEXT),
    scope=TEXT,
    **_APP,
)


def _oauth() -> Schema:
    """The routes of OAuth, whose errors have the form of its standards."""
    always = _unread() | {"429": _refused(429, ["rate_limited"])}
    stored = always | {"413": _refused(413, ["body_too_large"])}
    stored |= {"503": _refused(503, ["storage_unavailable"])}

    def route(name: str, summary: str, responses: Schema, **more: object) -> Schema:
        raw: Schema = {"operationId": name, "summary": summary, "tags": ["oauth"], "security": [{}]}
        return raw | more | {"responses": responses}

    def form(*fields: str) -> Schema:
        schema = closed((), **dict.fromkeys(fields, TEXT))
        return {"required": True, "content": {_FORM: {"schema": schema}}}

    def answers(status: str, schema: Schema, *errors: str) -> Schema:
        problems = {error: _answer("Refused", _ref("OAuthError")) for error in errors}
        return {status: _answer("The answer", schema)} | problems | stored

    page = _answer("A page that goes on by itself, or says what is wrong", TEXT, "text/html")
    back = {"description": "Back to the app, with an error and the issuer"}
    described = {"200": _answer("The answer", _RESOURCE)} | always
    resource = route("oauth_resource", "Metadata of the MCP address for apps", described)
    copy = resource | {"operationId": "oauth_resource_connect"}
    described = {"200": _answer("The answer", _ISSUER)} | always
    server = route("oauth_server", "Metadata of the authorization server", described)
    authorize = route(
        "oauth_authorize",
        "Ask the owner to let an app connect",
        {"200": page, "302": back, "400": page} | always,
        parameters=[_parameter(name, TEXT, False, ()) for name in _ASKS],
    )
    token = route(
        "oauth_token",
        "Redeem a code, or refresh",
        answers("200", _TOKENS, "400", "401"),
        requestBody=form(*_REDEEMS),
    )
    revoke = route(
        "oauth_revoke",
        "End a grant by one of its tokens",
        answers("200", closed(), "400", "401"),
        requestBody=form("token", "token_type_hint", "client_id"),
    )
    register = route(
        "oauth_register",
        "Register an app; nothing is stored",
        answers("201", _REGISTERED, "400"),
        requestBody=_posted(_CLIENT),
    )
    return {
        "/.well-known/oauth-protected-resource": {"get": resource},
        "/.well-known/oauth-protected-resource/mcp/connect": {"get": copy},
        "/.well-known/oauth-authorization-server": {"get": server},
        "/oauth/authorize": {"get": authorize},
        "/oauth/token": {"post": token},
        "/oauth/revoke": {"post": revoke},
        "/oauth/register": {"post": register},
    }


def _some_tools(path: Schema) -> Schema:
    """The input and output schemas of the named tools alone."""
    schema = TEXT | {"description": "comma list of tools; default: all"}
    names = _parameter("names", schema, False, ())
    refused = {"400": _refused(400, ["invalid_request"])}
    raw = path["get"]
    return {"get": raw | {"parameters": [names], "responses": raw["responses"] | refused}}


def _texts() -> Schema:
    """The routes that are not operations: the door, which can be off, and the service about
    itself.
    """
    free: Schema = {"type": "object"}
    off = {"404": _refused(404, ["door_off"])}
    failing = {"503": _answer("The database does not answer", free)}

    def get(name: str, tag: str, summary: str, *answers: Schema) -> Schema:
        responses = {status: answer for group in answers for status, answer in group.items()}
        responses |= _unread() | {"429": _refused(429, ["rate_limited"])}
        return {
            "get": {
                "operationId": name,
                "summary": summary,
                "tags": [tag],
                "security": [{}],
                "responses": responses,
            }
        }

    def ok(schema: Schema, media: str = "application/json", status: str = "200") -> Schema:
        return {status: _answer("The answer", schema, media)}

    door, markdown = "The bot door: always 402, nothing is charged", ok(TEXT, "text/markdown")
    ready, plain = ok(_ref("Ready")), ok(TEXT, "text/plain")
    return {
        "/": get("index", "service", "Where everything is", ok(_ref("Index"))),
        "/wallet/door": get("door", "door", door, ok(free, status="402"), off),
        "/wallet/skill.md": get(
            "skill", "door", "Bootstrap text for an agent harness", markdown, off
        ),
        "/wallet/mcp-tools": _some_tools(
            get("mcp_tools", "door", "The MCP tools", ok(_ref("McpTools")), off)
        ),
        "/wallet/refusals.md": get("refusals", "service", "Every refusal, one by one", markdown),
        "/healthz": get("healthz", "service", "The process runs", ok(_ref("Alive"))),
        "/readyz": get("readyz", "service", "The database takes writes", ready, failing),
        "/openapi.json": get("openapi", "service", "This document", ok(free)),
        "/docs": get("docs", "service", "A page for people", ok(TEXT, "text/html")),
        "/llms.txt": get("llms", "service", "An index for language models", plain),
    }
