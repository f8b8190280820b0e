"""Indexes for reads that would walk a whole ledger, or all mandates of an agent."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0010"

_LATE = sa.text(
    "(occurred_at + 259200000000) / 604800000000 < (created_at + 259200000000) / 604800000000"
)
_OPEN = sa.text("accepted_at IS NULL")


def upgrade() -> None:
    """Create the indexes."""
    op.create_index(
        "ledger_late",
        "ledger_events",
        ["public_id", "occurred_at"],
        sqlite_where=_LATE,
        postgresql_where=_LATE,
    )
    op.create_index(
        "mandates_offered",
        "mandates",
        ["agent_id", "created_at", "public_id"],
        sqlite_where=_OPEN,
        postgresql_where=_OPEN,
    )
