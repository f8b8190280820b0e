"""Steps that are said where a refusal is raised, and the times that are told with it."""

from __future__ import annotations

import ast

import domain.next_steps
from domain.next_steps import EVERYBODY
from tests.house.sources import calls_of, name_of
from tests.surfaces.test_next_steps import BY_ROUTE, DOCUMENTS
from tests.world import BY_NAME
from tools.dispatch.run import _ROLES

FIELDS = ("text", "tool", "route", "by")
# Made of an operation or of another step, not written down.
MADE = {"domain/next_steps.py", "tools/dispatch/run.py"}
# The guard of the MCP transports knows no owner's count, but places that are at rest.
OF_THE_TRANSPORT = {"server/mcp_api/session_limits.py"}


def read(node: ast.expr) -> object:
    """A literal, or a set of roles by its name."""
    if isinstance(node, ast.Name):
        return getattr(domain.next_steps, node.id)
    return ast.literal_eval(node)


def test_a_step_is_one_of_the_catalogue_and_says_whose_it_is() -> None:
    seen = 0
    for path, node in calls_of("NextStep"):
        if name_of(path) in MADE and any(
            not isinstance(a, ast.Constant | ast.Name) for a in node.args
        ):
            continue
        given = dict(zip(FIELDS, node.args, strict=False))
        given |= {k.arg: k.value for k in node.keywords if k.arg in FIELDS}
        told = {name: read(value) for name, value in given.items()}
        route, tool, by = told.get("route"), told.get("tool"), told.get("by", EVERYBODY)
        where, seen = f"{path}:{node.lineno}", seen + 1
        if route is None or route in DOCUMENTS:
            assert tool is None or tool in BY_NAME, where
            continue
        op = BY_ROUTE[str(route)]
        assert tool == (op.name if op.on_mcp else None), where
        assert by == _ROLES[op.auth], where
    assert seen > 50


def test_who_is_told_that_it_was_too_much_is_told_a_true_time_or_none() -> None:
    """`retry_at`, or `retry_safe` where time lifts nothing."""
    seen = 0
    for path, node in calls_of("refusal"):
        code = node.args[0] if node.args else None
        if not isinstance(code, ast.Constant) or not str(code.value).endswith("rate_limited"):
            continue
        if name_of(path) in OF_THE_TRANSPORT:
            continue
        seen += 1
        assert {"retry_at", "retry_safe"} & {k.arg for k in node.keywords}, (path, node.lineno)
    assert seen > 8
