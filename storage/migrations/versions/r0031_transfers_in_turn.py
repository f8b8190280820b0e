"""When a reported transfer is asked about next, and an index of those that wait."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"


def _big() -> Any:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the column and the index."""
    op.add_column(
        "transfer_reports", sa.Column("next_at", _big(), nullable=False, server_default="0")
    )
    waits = sa.text("status = 'reported'")
    op.create_index(
        "transfer_reports_waiting",
        "transfer_reports",
        ["agent_id", "reported_at"],
        sqlite_where=waits,
        postgresql_where=waits,
    )
