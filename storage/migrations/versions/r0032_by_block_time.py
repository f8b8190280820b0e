"""Rows by when they happened, and the Hall's days by the times of their blocks."""

from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    """Index the ledger by time; drop what is derived of it, which the keeper derives again."""
    op.create_index("ledger_occurred", "ledger_events", ["public_id", "occurred_at", "seq"])
    op.execute("DELETE FROM hall_days")
    op.execute("DELETE FROM hall_agents")
