"""The table of requirements names tests that exist, for every section that is built."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.requirements import LATER, REQUIREMENTS

ROOT = Path(__file__).parents[2]
SECTIONS = [
    "1", *(f"2.{n}" for n in range(1, 18)), *(f"3.{n}" for n in range(1, 5)), "4.1", "4.2", "4.3", "4.4", "4.5", "5", "6", "7", "8",
]  # fmt: skip


@cache
def names(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text())
    return frozenset(
        n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def test_every_section_has_entries_or_is_said_to_come_later() -> None:
    later = {text.partition(":")[0] for text in LATER}
    assert [s for s in SECTIONS if s not in REQUIREMENTS and s not in later] == []
    assert set(REQUIREMENTS) <= set(SECTIONS)


@pytest.mark.parametrize("section", sorted(REQUIREMENTS))
def test_the_tests_of_a_requirement_exist(section: str) -> None:
    for statement, tests in REQUIREMENTS[section]:
        assert tests, statement
        for test in tests:
            path, _, name = test.partition("::")
            assert name in names(path), test
