"""How the keeper stands with each mandate that holds something at the venue."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def _big() -> Any:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "venue_keeping",
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("network", sa.Text(), nullable=False),
        sa.Column("episode", _big(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=True),
        sa.Column("changed_at", _big(), nullable=False),
        sa.Column("again_at", _big(), nullable=True),
        sa.PrimaryKeyConstraint("public_id", "network"),
    )
