"""The table of requirements names tests that exist; each of the 45 abuse cases of the trading side has a test by name."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.house.sources import FUNCTIONS, ROOT, paths, tree
from tests.requirements import LATER, REQUIREMENTS

SECTIONS = [
    "1", *(f"2.{n}" for n in range(1, 18)), *(f"3.{n}" for n in range(1, 5)), "4.1", "4.2", "4.3", "4.4", "4.5", "5", "6", "7", "8",
]  # fmt: skip


@cache
def names(path: str) -> frozenset[str]:
    return frozenset(n.name for n in tree(ROOT / path).body if isinstance(n, FUNCTIONS))


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


@pytest.mark.slow
def test_every_abuse_case_has_a_test_by_name() -> None:
    """One case, two, or all from one to another: `test_abuse_7_`, `test_abuse_7_and_8_`, `test_abuse_7_to_9_`."""
    named = re.compile(r"def test_abuse_(\d+)(?:_(?:and|to)_(\d+))?_")
    texts = [p.read_text() for p in paths("tests") if "node_modules" not in p.parts]
    ranges = [(int(a), int(b or a)) for text in texts for a, b in named.findall(text)]
    assert {n for first, last in ranges for n in range(first, last + 1)} == set(range(1, 46))
