"""Paper books: what they were opened with, their entries, the snapshots that filled them, and when
each was looked at last."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from storage.migrations.versions.r0001_first_schema import postgres_triggers, sqlite_triggers

revision = "0016"
down_revision = "0015"

APPEND_ONLY = ("paper_books", "paper_entries", "paper_snapshots")


def _big() -> Any:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _need(name: str, kind: Any) -> sa.Column[object]:
    return sa.Column(name, kind, nullable=False)


def _may(name: str, kind: Any) -> sa.Column[object]:
    return sa.Column(name, kind, nullable=True)


def upgrade() -> None:
    """Create the tables, and the triggers that keep all but the last as they were written."""
    op.create_table(
        "paper_books",
        _need("book", sa.Text()),
        _need("owner_id", sa.Text()),
        _may("agent_id", sa.Text()),
        _need("name", sa.Text()),
        _need("start_micros", _big()),
        _need("model", sa.Text()),
        _need("created_at", _big()),
        sa.PrimaryKeyConstraint("book"),
        sa.UniqueConstraint("owner_id", "name", name="one_paper_book_a_name"),
    )
    op.create_index("paper_books_agent", "paper_books", ["agent_id"], unique=False)
    op.create_table(
        "paper_entries",
        _need("book", sa.Text()),
        _need("n", _big()),
        _need("kind", sa.Text()),
        _need("ref", sa.Text()),
        _need("at", _big()),
        _may("snapshot", sa.Text()),
        _need("body", sa.Text()),
        _need("prev_hash", sa.Text()),
        _need("row_hash", sa.Text()),
        sa.PrimaryKeyConstraint("book", "n"),
        sa.UniqueConstraint("book", "kind", "ref", name="one_paper_entry_a_ref"),
    )
    op.create_index("paper_entries_snapshot", "paper_entries", ["snapshot"], unique=False)
    op.create_table(
        "paper_snapshots",
        _need("hash", sa.Text()),
        _need("coin", sa.Text()),
        _need("at", _big()),
        _need("body", sa.Text()),
        sa.PrimaryKeyConstraint("hash"),
    )
    op.create_table(
        "paper_watch",
        _need("book", sa.Text()),
        _need("seen_at", _big()),
        _may("due_at", _big()),
        sa.PrimaryKeyConstraint("book"),
    )
    op.create_index("paper_watch_due", "paper_watch", ["due_at"], unique=False)
    for table in APPEND_ONLY:
        if op.get_bind().dialect.name == "sqlite":
            sqlite_triggers(table)
        else:
            postgres_triggers(table)
