"""What a database says of its own schema, as lines that do not depend on how it came about."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import asyncpg

from storage.sqlite_files import sqlite_path

FOLDER: Final = Path(__file__).parent / "catalogues"

_POSTGRES: Final = (
    "SELECT format('relation %s %s %s', c.relname, c.relkind, c.relpersistence) FROM pg_class c "
    "WHERE c.relnamespace = 'public'::regnamespace",
    "SELECT format('column %s %s %s %s null=%s identity=%s default=%s', a.attrelid::regclass, "
    "row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum), a.attname, "
    "format_type(a.atttypid, a.atttypmod), NOT a.attnotnull, a.attidentity, "
    "pg_get_expr(d.adbin, d.adrelid)) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
    "LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum "
    "WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 "
    "AND NOT a.attisdropped",
    "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "SELECT format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) "
    "FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'",
    "SELECT format('%s enabled=%s', pg_get_triggerdef(oid), tgenabled) FROM pg_trigger "
    "WHERE NOT tgisinternal",
    "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
    "SELECT format('sequence %s %s from %s by %s', sequencename, data_type, start_value, "
    "increment_by) FROM pg_sequences WHERE schemaname = 'public'",
)  # fmt: skip


async def catalogue(url: str) -> str:
    """Every table with its columns in their order, every index, constraint, trigger, function."""
    lines = _sqlite(url) if url.startswith("sqlite:///") else await _postgres(url)
    return "\n".join(sorted(" ".join(line.split()) for line in lines)) + "\n"


async def _postgres(url: str) -> list[str]:
    connection = await asyncpg.connect(url)
    try:
        return [str(row[0]) for query in _POSTGRES for row in await connection.fetch(query)]
    finally:
        await connection.close()


def _sqlite(url: str) -> list[str]:
    lines: list[str] = []
    with closing(sqlite3.connect(sqlite_path(url))) as connection:
        for kind, name, text in connection.execute("SELECT type, name, sql FROM sqlite_master"):
            if kind == "table":
                lines += (f"table {name}: {clause}" for clause in _clauses(text))
            else:
                lines.append(f"{kind} {name}: {text or 'of a constraint'}")
        columns = (
            "SELECT m.name, c.* FROM sqlite_master m, pragma_table_xinfo(m.name) c "
            "WHERE m.type = 'table'"
        )
        lines += (f"column {' '.join(map(str, row))}" for row in connection.execute(columns))
    return lines


def _clauses(text: str) -> list[str]:
    """The clauses of a CREATE TABLE: its commas within no parentheses."""
    clauses, depth = [""], 0
    for letter in text.partition("(")[2].rpartition(")")[0]:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            clauses.append("")
        else:
            clauses[-1] += letter
    return clauses
