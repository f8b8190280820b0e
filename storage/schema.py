"""The whole schema: every module that declares tables, and what they declared."""

from __future__ import annotations

from typing import Final

from storage import tables, trading_tables
from storage.columns import metadata as metadata

DECLARED_IN: Final = (tables, trading_tables)
