"""Rules over the whole house."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import re
import subprocess
from pathlib import Path
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints

import pytest

from domain.refusals import REFUSALS
from tests.house.published import components, published
from tests.house.sources import PACKAGES, PROJECT, ROOT, calls_of, name_of, nodes, paths
from tools.catalogue import OPERATIONS
from tools.model.json_schema import agents_refusals, tool_input, tool_output
from tools.model.operation import HandlerResult, Operation, OperationResult, RenderedResult


def test_folders_wheel_list_and_import_contract_agree() -> None:
    folders = {p.parent.name for p in ROOT.glob("*/py.typed")}
    assert folders == set(PACKAGES) == set(PROJECT["tool"]["importlinter"]["root_packages"])


def test_no_installed_distribution_owns_one_of_our_names() -> None:
    for distribution in importlib.metadata.distributions():
        tops = {str(f).split("/")[0] for f in distribution.files or ()}
        name = distribution.metadata["Name"]
        assert name == "mandate-wallet" or not tops & set(PACKAGES), name


@pytest.mark.slow
def test_money_is_never_a_float() -> None:
    for path in paths("domain", "storage", "tools"):
        for node in nodes(path):
            assert not (isinstance(node, ast.Name) and node.id == "float"), path
            is_float = isinstance(node, ast.Constant) and isinstance(node.value, float)
            assert not is_float, f"{path}:{getattr(node, 'lineno', 0)}"


def _signature(op: Operation) -> tuple[object, set[object]]:
    """What an operation takes, and what it answers, by the annotations of its functions."""
    effect = op.effect
    first = op.pass_through or op.handler or (effect and (effect.begin or effect.act))
    last = op.pass_through or op.handler or (effect and (effect.finish or effect.act))
    *_, takes = (h for name, h in get_type_hints(first).items() if name in ("ctx", "request"))
    answer = get_type_hints(last)["return"]
    answers = get_args(answer) if get_origin(answer) in (Union, UnionType) else (answer,)
    kinds = (HandlerResult, RenderedResult)
    given = {get_args(a)[0] if get_origin(a) in kinds else a for a in answers}
    return get_args(takes)[0] if get_args(takes) else takes, given - {OperationResult}


def test_a_handler_takes_and_returns_the_models_of_its_operation() -> None:
    """Nothing else looks whether an answer is of the published type."""
    wrong = {}
    for op in OPERATIONS:
        takes, answers = _signature(op)
        if takes is not op.request_model or not answers <= {op.response_model}:
            wrong[op.name] = (takes, answers)
    assert wrong == {}


def test_nobody_but_the_store_commits() -> None:
    allowed = {"storage/store.py", "storage/engine/connections.py"}
    for path in paths():
        commits = re.search(r"\.commit\(|\"COMMIT\"", path.read_text())
        assert not commits or name_of(path) in allowed, path


@pytest.mark.slow
def test_every_code_that_is_raised_is_in_the_registry() -> None:
    arguments = [a for _, call in calls_of("refusal") for a in call.args]
    raised = {a.value for a in arguments if isinstance(a, ast.Constant)}
    assert len(raised) > 50
    assert raised <= set(REFUSALS)
    for op in OPERATIONS:
        assert set(op.refusals) <= set(REFUSALS), op.name


def test_names_and_routes_are_unique() -> None:
    assert len({op.name for op in OPERATIONS}) == len(OPERATIONS)
    routes = [op.route for op in OPERATIONS if op.route]
    assert len(set(routes)) == len(routes)


TOOLS = [op for op in OPERATIONS if op.on_mcp]


@pytest.mark.parametrize("op", TOOLS, ids=lambda op: op.name)
def test_every_host_can_load_a_tool(op: Operation) -> None:
    schema = tool_input(op)
    assert len(op.name) <= 45
    assert op.name.isascii()
    assert op.title
    assert op.summary
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert "$ref" not in json.dumps(schema) + json.dumps(tool_output(op))
    assert not {"anyOf", "oneOf", "allOf"} & set(schema)
    assert all(p.get("description") for p in schema["properties"].values())
    assert tool_output(op)["type"] == "object"


def test_the_tool_list_is_short_enough() -> None:
    listed = [
        {
            "name": op.name,
            "title": op.title,
            "description": op.summary,
            "inputSchema": tool_input(op),
            "outputSchema": tool_output(op),
        }
        for op in TOOLS
    ]
    assert len(TOOLS) <= 32
    # Four characters a token is on the safe side for JSON of this kind.
    assert len(json.dumps(listed, separators=(",", ":"))) / 4 < 9_500


# What decided a thing stands in the sources; whoever calls the service has no such page.
INNER = re.compile(r"\b(contract|spec|specification|decision)s?,? \d|\bdocs/|\bdecisions/", re.I)


@pytest.mark.parametrize("op", TOOLS, ids=lambda op: op.name)
def test_no_tool_names_a_page_that_an_agent_cannot_open(op: Operation) -> None:
    told = json.dumps([op.title, op.summary, tool_input(op), tool_output(op)])
    assert INNER.findall(told) == []


def test_no_published_text_names_a_page_that_its_reader_cannot_open() -> None:
    told = json.dumps([published(), agents_refusals(OPERATIONS)])
    assert INNER.findall(told) == []


def test_a_target_is_described_where_it_is_asked_for_and_where_it_is_read() -> None:
    (propose,) = [op for op in TOOLS if op.name == "mandate_propose"]
    asked = tool_input(propose)["properties"]["allowed_targets"]["description"]
    for word in ("vault", "x402", "hosts", "contract", "address", "selector", "self_args", "venue"):
        assert word in asked
    shown = components()["MandateAttributes"]["properties"]["allowed_targets"]["description"]
    assert "markets_list" in shown


def test_owner_only_operations_are_not_on_mcp() -> None:
    assert all(op.auth in ("open", "agent", "owner_or_agent") for op in TOOLS)


def test_nothing_tracked_names_a_registry_or_a_path_of_this_machine() -> None:
    here, fixed = str(ROOT) + "/", re.compile(r'"resolved":\s*"http|--(extra-)?index-url')
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    for name in tracked:
        path = ROOT / name
        if (
            path.suffix in (".json", ".txt", ".toml", ".md", ".py", ".sol", ".mjs")
            and path.is_file()
            and path != Path(__file__)
        ):
            text = path.read_text(errors="ignore")
            assert here not in text, name
            assert not fixed.search(text), name


def test_the_schema_of_the_first_release_stays() -> None:
    first, *_ = sorted((ROOT / "storage" / "migrations" / "versions").glob("r*.py"))
    how = "a change of a table is a revision of its own: CONTRIBUTING.md, How to change a table"
    assert first.name == "r0040_schema.py", how
