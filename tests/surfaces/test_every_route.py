"""Every operation over HTTP, with what its own OpenAPI document says that it takes."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from domain.next_steps import Role
from domain.refusals import Refused
from http_shim.openapi import document
from tests.examples import example, least
from tests.surfaces.conftest import HEADERS, Service, credentials
from tools.catalogue import OPERATIONS
from tools.dispatch.run import run, validated
from tools.model.json_schema import takes_schema
from tools.model.operation import Caller, Operation

pytestmark = pytest.mark.anyio
# One of three inputs is needed, which OpenAPI has no word for.
ONE_OF = {"mandate_reconcile": {"tx_hash"}}
ROUTES = [op for op in OPERATIONS if op.route is not None]


async def test_every_route_takes_the_example_of_its_own_document(service: Service) -> None:
    await credentials(service)
    told = document(OPERATIONS, base_url=service.base)
    answers: dict[str, tuple[int, str | None]] = {}
    # What ends the session or takes a key away comes last.
    for op in sorted(ROUTES, key=lambda op: op.name == "auth_session_end"):
        assert op.route is not None
        method, path = op.route
        described = told["paths"][path][method.lower()]
        named = told["components"]["parameters"]
        needed = [
            p
            for each in described["parameters"]
            if (p := named[each["$ref"].rsplit("/", 1)[1]] if "$ref" in each else each)
            and (p["required"] or p["name"] in ONE_OF.get(op.name, ()))
        ]
        given = {
            place: {p["name"]: str(example(p["schema"])) for p in needed if p["in"] == place}
            for place in ("path", "query")
        }
        for name, value in given["path"].items():
            path = path.replace("{" + name + "}", value)
        wanted = described.get("requestBody", {}).get("content", {}).get("application/json")
        schema = wanted["schema"] if wanted else {}
        body = {n: example(schema["properties"][n]) for n in schema.get("required", ())}
        role: Role = "nobody" if op.auth == "open" else "agent" if "agent" in op.auth else op.auth  # type: ignore[assignment]
        headers = HEADERS[role]
        reply = await service.ask(
            method, path, params=given["query"], json=body or None, headers=headers
        )
        answers[op.name] = reply.told
    wrong = {n: a for n, a in answers.items() if a[1] in ("invalid_request", "unauthenticated", "forbidden", "internal")}  # fmt: skip
    assert wrong == {}


async def test_text_of_a_path_that_is_no_number_is_refused(service: Service) -> None:
    body = {"jsonrpc": "2.0", "method": "pm_getPaymasterStubData", "params": [{}, "0x", "0x1"]}
    told = {
        path: (await service.post(f"/wallet/paymaster/{path}", json=body)).body["error"]
        for path in ("84532", "x", "-1", "1.5")
    }
    assert told.pop("84532") == "not_configured"
    assert set(told.values()) == {"invalid_request"}, told


def texts(schema: Mapping[str, Any]) -> list[str]:
    """Names of the fields that take text."""
    kinds = ((n, p.get("type")) for n, p in schema["properties"].items())
    return [n for n, kind in kinds if "string" in (kind if isinstance(kind, list) else [kind])]


def longest(pattern: str, limit: int) -> str:
    """The longest text of one letter that a pattern takes."""
    texts = (
        begins + char * n for n in range(limit, 0, -1) for begins in ("", "0x") for char in "a1"
    )
    return next(t for t in texts if len(t) <= limit and re.search(pattern, t))


# Texts inside an object or a list, as far as their operations take them.
WORDS = "keep 50 USDC a day, ask above 9 " * 62
INSIDE: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "mandate_report_event": (
        {"kind": "note", "payload": {"text": WORDS, "why": WORDS, "preview": {"a": [WORDS] * 7}}},
        {"kind": "fee", "amount_usdc": "1", "payload": {"fee_kind": WORDS, "resource": WORDS}},
    ),
    "mandate_report_refusal": ({"attempted": {"a": [{"b": WORDS}]}},),
    "owner_agent_policy_put": ({"assets": {"a": [WORDS * 8]}, "auto_vs_approval": {"a": WORDS * 8}},),
    "owner_mandate_create": (
        {"markets": [WORDS] * 24},
        {"allowed_targets": [{"kind": "x402", "hosts": ["a" * 60 + f".{n}.example.org" for n in range(50)]}]},
        {"allowed_targets": [{"kind": "venue", "venue": "v", "symbols": [WORDS] * 2}] * 60},
        {"allowed_targets": [{"kind": "contract", "address": WORDS, "label": WORDS}] * 60},
    ),
    "gas_sponsor": ({"params": [{"callData": "0x" + "ab" * 32_768}, "0x" + "71" * 20, "0x7a69", {}]},),
    "order_execute": ({"order_id": "o_abcdefgh23", "confirm_id": "c", "signature": {"r": "0x" + "ab" * 32_768, "s": "0x" + "1" * 65_536, "v": 27}},),
    "order_record": ({"order_id": "o_abcdefgh23", "venue_response": {"response": {"data": [WORDS] * 4}}},),
}  # fmt: skip


def nested(op: Operation, needed: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Large texts below the top: where they are taken, and in every field that is no text."""
    for given in INSIDE.get(op.name, ()):
        yield {**needed, **given}
    for name in takes_schema(op)["properties"].keys() - set(texts(takes_schema(op))):
        for shape in (
            [WORDS * 32],
            {"a": [{"b": WORDS * 32}]},
            [{WORDS[:60]: ["0x" + "ab" * 32_000]}],
        ):
            yield {**needed, name: shape}


def largest(schema: Mapping[str, Any]) -> str:
    """The largest text that the field takes."""
    most, pattern = schema.get("maxLength", 128), schema.get("pattern", "")
    if "enum" in schema or "const" in schema:
        return str(example(schema))
    if pattern and (pattern.startswith("^0x") or "examples" not in schema):
        return longest(pattern, schema.get("maxLength", 256))
    if "examples" in schema and pattern:
        return str(schema["examples"][0])
    # Figures and words of the terms, so that whoever reads notes has to read all of it.
    return ("keep 50 USDC a day, ask above 9 " * (most // 8))[:most]


# A normal form of it is made in the square of its length.
HEAP = "a" + "\u0323\u0301" * 16_000


def smallest_wrong(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Short values that the field does not take, one too long by one, and one that would cost."""
    yield "\u202e"
    yield HEAP
    if "maxLength" in schema:
        yield "7" * (schema["maxLength"] + 1)


def inputs(op: Operation) -> Iterator[dict[str, Any]]:
    schema, needed = takes_schema(op), least(op)
    yield needed
    yield needed | {HEAP: 1}
    yield needed | {"a" + HEAP[:180]: HEAP}
    for name in texts(schema):
        field = schema["properties"][name]
        yield needed | {name: largest(field)}
        for wrong in smallest_wrong(field):
            yield needed | {name: wrong}
    yield from nested(op, needed)


def test_the_largest_text_of_a_field_is_one_that_it_takes() -> None:
    refused = {}
    for op in OPERATIONS:
        schema, needed = takes_schema(op), least(op)
        for name in texts(schema):
            given = needed | {name: largest(schema["properties"][name])}
            try:
                validated(op, given, strict=not op.from_query)
            except Refused as no:
                refused[f"{op.name}.{name}"] = no.refusal.fields
    assert refused == {}


async def test_no_text_holds_the_loop_for_more_than_50_ms(service: Service) -> None:
    m = service.mandate
    who = {
        "open": Caller("nobody"), "owner": m.owner, "agent": m.agent, "owner_or_agent": m.agent,
        "keeper": Caller("keeper"), "admin": Caller("admin"),
    }  # fmt: skip
    mine = {"public_id": m.id, "agent_id": m.agent.user_id}
    deps = service.world.deps
    slow: dict[str, float] = {}
    for op in OPERATIONS:
        known = {n: v for n, v in mine.items() if n in takes_schema(op)["properties"]}
        for arguments in inputs(op):
            given = arguments | {n: v for n, v in known.items() if n in op.path_names}
            spent = []
            # The first of a kind builds schemas and opens connections; a busy machine adds to one.
            for _ in range(3):
                before = time.thread_time()
                await run(op, deps, who[op.auth], given)
                spent.append(time.thread_time() - before)
                if spent[-1] < 0.05:
                    break
            if min(spent) >= 0.05:
                what = re.sub(r"(.{40}).+", r"\1…", json.dumps(given))
                slow[f"{op.name} {what}"] = min(spent)
    assert slow == {}
