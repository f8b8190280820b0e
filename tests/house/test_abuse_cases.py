"""Each of the 45 abuse cases of the trading side has a test by name."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CASES = range(1, 46)
NAMED = re.compile(r"test_abuse_(\d+)(?:_(?:and|to)_(\d+))?_")


def numbers(name: str) -> range:
    """The cases in a test's name: one, two, or all from one to another."""
    found = NAMED.match(name)
    if found is None:
        return range(0)
    first = int(found[1])
    return range(first, int(found[2] or first) + 1)


@pytest.mark.slow
def test_every_case_has_a_test_by_name() -> None:
    there: set[int] = set()
    for path in TESTS.rglob("test_*.py"):
        if "node_modules" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                there |= set(numbers(node.name))
    assert sorted(set(CASES) - there) == []
    assert sorted(there - set(CASES)) == []
