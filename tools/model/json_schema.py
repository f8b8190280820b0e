"""JSON schemas of operations, for MCP hosts and OpenAPI readers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from domain.refusal_kinds.kind import RefusalKind
from domain.refusals import REFUSALS
from tools.model.operation import Operation
from tools.model.serialization import Schema, schema_of

KEY_HELP = "The SAME key when you retry; a new key for anything new."
TEXT: Final[Schema] = {"type": "string"}
IDEMPOTENCY_KEY: Final = TEXT | {"pattern": "^[A-Za-z0-9._:-]{1,128}$"}


def closed(required: Sequence[str] | None = None, /, **properties: Schema) -> Schema:
    """An object of these fields and no other; all are required, or those that `required` names."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def _flat(schema: Any, definitions: Schema) -> Any:
    """The schema without $ref, titles and null branches that only repeat "optional"."""
    if isinstance(schema, list):
        return [_flat(s, definitions) for s in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return _flat(
            {**definitions[name], **{k: v for k, v in schema.items() if k != "$ref"}}, definitions
        )
    plain = {
        k: {n: _flat(p, definitions) for n, p in v.items()}
        if k == "properties"
        else _flat(v, definitions)
        for k, v in schema.items()
        if k not in ("title", "$defs") and not (k == "default" and not isinstance(v, (str, int)))
    }
    branches = plain.get("anyOf", ())
    real = [b for b in branches if b.get("type") != "null"]
    if len(real) != 1 or len(branches) != 2:
        return plain
    kind = real[0].get("type")
    nullable = {**real[0], "type": [kind, "null"]} if isinstance(kind, str) else real[0]
    return nullable | {k: v for k, v in plain.items() if k != "anyOf"}


def _flat_object(schema: Schema) -> Schema:
    flat: Schema = _flat(schema, schema.get("$defs", {}))
    return {"type": "object", **{k: flat[k] for k in flat if k not in ("type", "description")}}


@cache
def takes_schema(op: Operation) -> Schema:
    """The input of an operation as one closed, flat object."""
    schema = _flat_object(op.request_model.model_json_schema(mode="validation"))
    return schema | {"properties": schema.get("properties", {})}


@cache
def tool_input(op: Operation) -> Schema:
    """The input schema of an MCP tool: nothing nullable that may be left out, and the idempotency
    key as an argument.
    """
    schema = takes_schema(op)
    properties = {n: _tool_field(p) for n, p in schema["properties"].items()}
    # What an open tool stores it stores for an owner, who has HTTP and the screens for that.
    if op.idempotency is not None and op.auth != "open":
        properties["idempotency_key"] = IDEMPOTENCY_KEY | {"description": KEY_HELP}
    raw: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    needed = schema.get("required")
    return raw | ({"required": needed} if needed else {})


def _tool_field(field: Schema) -> Schema:
    kind, brief = field.get("type"), _brief(field)
    # Hosts take flat inputs alone: the fields inside of an object stand in its description.
    inside = _INSIDE if brief.get("additionalProperties") is False else frozenset()
    raw = {
        k: v
        for k, v in brief.items()
        if k not in inside and k != "examples" and (k, v) != ("default", None)
    }
    if "pattern" in raw and raw.get("maxLength", 0) <= SHORT:
        # The pattern of a short text says its length already.
        raw.pop("maxLength", None)
    if isinstance(kind, list) and "null" in kind:
        raw["type"] = next(k for k in kind if k != "null")
    return raw


_INSIDE: Final = frozenset({"properties", "additionalProperties", "required"})
SHORT: Final = 64
# What a schema means unsaid, and the most that a JSON number can tell: no use to a model.
_UNSAID: Final = (("additionalProperties", True), ("maximum", 2**53), ("default", ""))


def _brief(field: Schema) -> Schema:
    said = {k: v for k, v in field.items() if (k, v) not in _UNSAID}
    return {k: _brief(v) if isinstance(v, dict) else v for k, v in said.items()}


def hints(op: Operation) -> dict[str, bool]:
    """The tool hints of MCP, all four set, as a host's own defaults are the worst case."""
    return {
        "readOnlyHint": not op.writes,
        "destructiveHint": op.destructive,
        "idempotentHint": op.idempotent or not op.writes,
        "openWorldHint": op.open_world,
    }


@cache
def gives_schema(op: Operation) -> Schema:
    """The answer of an operation."""
    return _flat_object(schema_of(op.response_model))


@cache
def tool_output(op: Operation) -> Schema:
    """The answer, or `refusal`: clients validate it on errors too. Its fields stand in the OpenAPI
    document, so that a list of tools stays short.
    """
    others = " ".join(untrusted_fields(op))
    about = f"others' words: {others}" if others else "the answer"
    return {"type": "object", "description": about}


# How a description says whose words a field holds; the service's own are no reason for care.
OTHERS: Final = re.compile(
    r"own words of|as the agent told|as the venue tells|writer"
    r"|(agent|owner|operator)'s (own )?(words|name)|(venue|contract|paymaster|seller)'s own words"
)
# What leaves no room for words.
_CLOSED: Final = frozenset({"enum", "const", "format", "pattern"})
_TYPED: Final = frozenset({"type", "anyOf", "$ref"}) | _CLOSED


def is_free(schema: Schema) -> bool:
    """True for a text, and for a value of any form, that can hold words."""
    kind = schema.get("type")
    if kind == "string" or (isinstance(kind, list) and "string" in kind):
        return not _CLOSED & set(schema)
    return not _TYPED & set(schema) or schema.get("additionalProperties") is True


def texts(schema: Schema, *, name: str = "", about: str = "") -> Iterator[tuple[str, str]]:
    """Each field of an answer that can hold words, however deep: (its name, its description). An
    object whose description covers it whole is one field.
    """
    about = schema.get("description", about)
    if name and (is_free(schema) or ("properties" in schema and OTHERS.search(about))):
        yield name, about
        return
    for inner, field in schema.get("properties", {}).items():
        yield from texts(field, name=inner)
    within = [schema.get("items"), schema.get("additionalProperties"), *schema.get("anyOf", ())]
    for part in within:
        if isinstance(part, dict):
            yield from texts(part, name=name, about=about)


@cache
def untrusted_fields(op: Operation) -> tuple[str, ...]:
    """Names of the fields of an answer that hold other people's words."""
    descriptions = texts(gives_schema(op))
    return tuple(sorted({n for n, about in descriptions if OTHERS.search(about)}))


def refusal_schema() -> Schema:
    """The refusal block (contract 1)."""
    parties = ["agent", "owner", "keeper", "operator", "venue", "nobody"]
    step = closed(("text",), text=TEXT, tool=TEXT, route=TEXT)
    return closed(
        ("error", "reason", "retry_safe", "who_fixes", "next", "detail"),
        error=TEXT | {"enum": sorted(REFUSALS)},
        reason=TEXT,
        retry_safe={"type": "boolean"},
        who_fixes=TEXT | {"enum": parties},
        next={"type": "array", "items": step},
        remaining={"type": "object"},
        retry_at=TEXT | {"format": "date-time"},
        detail={"type": "object"},
    )


def refusal_example(kind: RefusalKind) -> Schema:
    """A block as this code gives it, with the places of its sentence shown as names."""
    return {
        "error": kind.code,
        "reason": plain(kind.sentence),
        "retry_safe": kind.retry_safe,
        "who_fixes": kind.who_fixes,
        "next": [n.as_json() for n in kind.next],
        "detail": {},
    }


PLACE: Final = re.compile(r"\{(\w+)(?::\w+)?\}")


def plain(sentence: str) -> str:
    """A sentence template with its places shown as names."""
    return PLACE.sub(r"<\1>", sentence)


# Refusals of a route, whatever stands behind it.
ROUTES: Final = frozenset({"not_found", "method_not_allowed", "door_off"})
# Refusals of every operation.
ALWAYS: Final = (
    "invalid_request",
    "secret_not_accepted",
    "rate_limited",
    "unauthenticated",
    "storage_unavailable",
    "internal",
)


def possible_refusals(op: Operation) -> list[str]:
    """Codes an operation can answer with: its own and those of its door."""
    codes = {*op.refusals, *ALWAYS}
    if op.auth != "open":
        codes.add("forbidden")
    if op.route and op.route[0] != "GET":
        codes.add("body_too_large")
    if op.writes and not op.idempotent:
        codes.add("outcome_unknown")
    if op.idempotency is not None:
        codes |= {"idempotency_key_reused", "idempotency_in_flight"}
    return sorted(codes)


def agents_refusals(operations: Sequence[Operation]) -> list[Schema]:
    """Every refusal that an agent can meet: what it means and who fixes it."""
    of_agents = [op for op in operations if op.on_mcp or op.auth in ("agent", "owner_or_agent")]
    codes = {code for op in of_agents for code in possible_refusals(op)} | ROUTES
    return [
        {
            "error": k.code,
            "status": k.status,
            "who_fixes": k.who_fixes,
            "retry_safe": k.retry_safe,
            "sentence": k.sentence,
            "next": [n.as_json() for n in k.next],
        }
        for k in REFUSALS.values()
        if k.code in codes
    ]
