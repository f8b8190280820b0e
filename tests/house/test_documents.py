"""Documents that are made from the code are as the code makes them.

After a wanted change: `python -m tests.house.test_documents` writes them anew.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from skill.text import refusals_md
from tests.house.note_forms import forms_md
from tests.house.settings_page import markets_schema, settings_md, settings_schema
from tools.catalogue import OPERATIONS

DOCS = Path(__file__).parents[2] / "docs"


def refusals() -> str:
    """The registry, one refusal a section."""
    return refusals_md(OPERATIONS)


MADE: Final[dict[str, Callable[[], str]]] = {
    "refusals.md": refusals,
    "notes.md": forms_md,
    "settings.md": settings_md,
    "schemas/wallet.schema.json": settings_schema,
    "schemas/markets.schema.json": markets_schema,
}


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_from_the_code_is_documented_as_it_is(name: str) -> None:
    assert (DOCS / name).read_text() == MADE[name]()


if __name__ == "__main__":
    for page, made in MADE.items():
        (DOCS / page).write_text(made())
