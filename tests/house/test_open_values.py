"""Values without a shape: counted by package, so that their number only falls.

`dict[str, Any]` says nothing, and lets everything through. What was decoded and is read by the one
function that knows its keys is a `JsonObject` (domain.wire_fields); what a reader has to ask for its type
is an `object`; everything else is a value with fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from tests.house.sources import PACKAGES, paths

OPEN = re.compile(r"\b(?:dict|Mapping)\[str, Any\]|\[str, Any\]\(")
DECODED = re.compile(r"(?<![\w.])JsonObject\b")

# Lines that may hold an open dict, and lines that may name a decoded one. They only fall.
CEILINGS: Mapping[str, tuple[int, int]] = {
    "domain": (2, 17),
    "storage": (2, 3),
    "chain": (0, 0),
    "venue": (0, 0),
    "tools": (4, 3),
    "skill": (0, 0),
    "http_shim": (0, 0),
    "app": (1, 1),
    "server": (0, 7),
    "devtools": (11, 17),
}


def _lines(package: str, what: re.Pattern[str]) -> int:
    """Lines of a package that match, without imports."""
    return sum(
        1
        for path in paths(package)
        for line in path.read_text().splitlines()
        if what.search(line) and not line.lstrip().startswith(("from ", "import "))
    )


@pytest.mark.parametrize("package", sorted(CEILINGS))
def test_open_values_only_become_fewer(package: str) -> None:
    found = (_lines(package, OPEN), _lines(package, DECODED))
    ceiling = CEILINGS[package]
    assert found[0] <= ceiling[0], "an open dict where a shape has its place"
    assert found[1] <= ceiling[1], "one more decoded value: read it where it comes in"
    assert found == ceiling, f"fewer than the ceiling: lower it to {found}"


def test_every_package_has_a_ceiling() -> None:
    assert set(CEILINGS) == set(PACKAGES)
