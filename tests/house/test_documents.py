"""Documents that are made from the code are as the code makes them.

After a wanted change: `python -m tests.house.test_documents` writes them anew.
"""

from __future__ import annotations

from pathlib import Path

from skill.text import refusals_md
from tools.catalogue import OPERATIONS

DOCUMENT = Path(__file__).parents[2] / "docs" / "refusals.md"


def refusals() -> str:
    """The registry, one refusal a section."""
    return refusals_md(OPERATIONS)


def test_the_refusals_are_documented_one_by_one() -> None:
    assert DOCUMENT.read_text() == refusals()


if __name__ == "__main__":
    DOCUMENT.write_text(refusals())
