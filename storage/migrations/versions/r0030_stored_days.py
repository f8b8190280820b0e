"""What owners have stored in a day."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def _big() -> Any:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "stored_days",
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("bytes", _big(), nullable=False),
        sa.PrimaryKeyConstraint("owner_id", "day"),
    )
