"""Column helpers: one metadata, and columns and indices in few words."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import BigInteger, Column, Integer, MetaData, Numeric, text

metadata: Final = MetaData()
BIG: Final = BigInteger().with_variant(Integer, "sqlite")
TOKENS: Final = Numeric(38, 0).with_variant(Integer, "sqlite")


def where(condition: str) -> dict[str, Any]:
    """The condition that rows of a partial index meet."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


def need(name: str, kind: object) -> Column[object]:
    """A column that every row has."""
    return Column(name, kind, nullable=False)  # type: ignore[arg-type]  # the stub wants a literal type


def may(name: str, kind: object) -> Column[object]:
    """A column that a row can leave empty."""
    return Column(name, kind, nullable=True)  # type: ignore[arg-type]  # as above
