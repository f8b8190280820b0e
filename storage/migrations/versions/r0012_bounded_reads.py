"""Indexes for reads that would walk a whole ledger, or all mandates; the Hall counts calls.

The Hall's days and rows are dropped, and rolled up again from the ledgers: a day has more figures.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

_LATE = sa.text(
    "(occurred_at + 259200000000) / 604800000000 < (created_at + 259200000000) / 604800000000"
)
_OPEN = sa.text("accepted_at IS NULL")


def upgrade() -> None:
    """Create indexes and columns; drop what is derived."""
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
    op.execute("DELETE FROM hall_days")
    op.execute("DELETE FROM hall_agents")
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    for name in ("mandates", "calls"):
        op.add_column("hall_agents", sa.Column(name, big, nullable=False, server_default="0"))
    op.add_column("hall_agents", sa.Column("chart", sa.Text(), nullable=False, server_default="{}"))
    op.create_index(
        "hall_agents_totals",
        "hall_agents",
        ["mandates", "mandates_working", "usdc_working", "calls"],
    )
