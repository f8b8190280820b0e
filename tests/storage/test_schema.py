"""The schema is the recorded one, name by name, on both databases."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from storage.schema import migrate
from storage.schema.revision import latest
from tests.storage.catalogues import FOLDER, catalogue


def _recorded(url: str) -> Path:
    return FOLDER / f"{latest()}_{url.partition(':')[0]}.txt"


def test_a_new_database_has_the_schema_that_is_recorded_of_its_revision(empty_url: str) -> None:
    """A schema that changed is another revision: `python -m tests.storage.test_schema URL` records
    that of an upgraded database.
    """
    migrate.upgrade(empty_url)
    assert asyncio.run(catalogue(empty_url)) == _recorded(empty_url).read_text()


if __name__ == "__main__":
    _recorded(sys.argv[1]).write_text(asyncio.run(catalogue(sys.argv[1])))
