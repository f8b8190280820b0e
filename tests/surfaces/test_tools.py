"""The tools as a harness sees them: the published listing is the catalogue's, and what hosts are known to break on.

After a wanted change: `python -m tests.surfaces.test_tools` writes the listing anew; the diff is the review.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from domain.refusals import Refused
from server.mcp_api.server import _arguments
from server.mcp_api.tool_listing import PackagedListing, described
from skill.text import tools_of
from tests import npm
from tests.waiting import STUCK_S
from tools.catalogue import OPERATIONS
from tools.model.toolsets import ALL, CORE, TOOLSETS, is_listed, parse_toolsets

LISTING = Path(__file__).parents[2] / "server" / "data" / "tools.json"
NAMES = sorted(op.name for op in tools_of(OPERATIONS))


@cache
def tools() -> dict[str, dict[str, Any]]:
    """Each tool as it is listed, by its name."""
    return {
        op.name: described(op).model_dump(mode="json", by_alias=True, exclude_none=True)
        for op in tools_of(OPERATIONS)
    }


# What an agent can also do over HTTP alone, so that the list stays short: pending, status and the
# answers of the two others tell the same.
HTTP_ONLY = {
    "order_get", "order_record", "order_cancel", "order_cap", "mandate_series", "mandate_approval",
    "mandate_stream", "mandate_act_prepare", "mandate_act_send",
}  # fmt: skip


# What every refusal has.
BLOCK = ("error", "reason", "retry_safe", "who_fixes", "next", "detail")


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object inside a schema."""
    if isinstance(schema, dict):
        yield schema
        for inner in schema.values():
            yield from parts(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from parts(inner)


@pytest.mark.parametrize("name", NAMES)
def test_no_argument_of_a_tool_is_eaten(name: str) -> None:
    op = next(op for op in OPERATIONS if op.name == name)
    given: dict[str, object] = dict.fromkeys(tools()[name]["inputSchema"]["properties"], "1")
    key, rest = _arguments(op, described(op), given)
    taken = set(op.request_model.model_fields)
    assert set(rest) == taken & set(given)
    assert set(given) - set(rest) == ({"idempotency_key"} if key else set())
    assert (key is None) is (op.idempotency is None or op.auth == "open")


def test_every_set_names_tools_that_there_are() -> None:
    assert {name for named in TOOLSETS.values() for name in named} <= set(tools())
    assert len(TOOLSETS[CORE]) <= 16
    assert [name for name in ("agents_me", "mandate_act") if is_listed(name, frozenset())] == []
    assert parse_toolsets(" Core, trading,") == {CORE, "trading"}
    assert parse_toolsets("") == {CORE}
    with pytest.raises(Refused):
        parse_toolsets("core,nothing")


def test_there_are_few_tools_and_every_agents_operation_is_one() -> None:
    assert 15 <= len(tools()) <= 32
    assert list(PackagedListing().tools()) == list(tools())
    assert {
        op.name
        for op in OPERATIONS
        if op.auth in ("agent", "owner_or_agent") and op.route is not None
    } - HTTP_ONLY <= set(tools())


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_is_published_as_the_catalogue_has_it(name: str) -> None:
    published = {tool["name"]: tool for tool in json.loads(LISTING.read_text())}
    assert published[name] == tools()[name], "python -m tests.surfaces.test_tools"


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_breaks_no_host(name: str) -> None:
    tool = tools()[name]
    assert len(name) <= 45
    assert tool["title"]
    assert len(tool["description"]) <= 400
    takes, gives = tool["inputSchema"], tool["outputSchema"]
    assert takes["type"] == gives["type"] == "object"
    for schema in (takes, gives):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert not {"anyOf", "oneOf", "allOf", "$defs"} & set(schema)
        assert not any("$ref" in part for part in parts(schema))
    for field in takes.get("properties", {}).values():
        assert "properties" not in field or field.get("additionalProperties") is not False, (
            "flat inputs"
        )
    hints = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    assert hints <= set(tool["annotations"])
    jsonschema.validate({"refusal": dict.fromkeys(BLOCK)}, gives)


def test_hints_are_honest() -> None:
    for op in tools_of(OPERATIONS):
        hints = tools()[op.name]["annotations"]
        assert hints["readOnlyHint"] is (not op.writes and op.effect is None)
        assert hints["destructiveHint"] is op.destructive


@pytest.mark.node
@pytest.mark.skipif(bool(npm.missing()), reason=npm.missing() or "can run")
@pytest.mark.parametrize(("sets", "most"), [(CORE, 3_500), (ALL, 7_500)])
def test_a_list_is_few_tokens(sets: str, most: int) -> None:
    """o200k_base, as tiktoken counts; its tables ship with the npm package, PyPI's fetches them from elsewhere."""
    npm.install()
    told = [tool for name, tool in tools().items() if is_listed(name, frozenset({sets}))]
    listed = json.dumps(
        {"tools": told, "ttlMs": 0, "cacheScope": "private", "resultType": "complete"},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    done = subprocess.run(
        npm.node("../tokens.mjs"),
        input=listed,
        capture_output=True,
        text=True,
        timeout=STUCK_S,
        check=True,
        cwd=npm.FOLDER,
    )
    assert most / 2 < int(done.stdout) <= most


if __name__ == "__main__":
    told = json.dumps(list(tools().values()), indent=1, sort_keys=True, ensure_ascii=False)
    LISTING.write_text(told + "\n")
