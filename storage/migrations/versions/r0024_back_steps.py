"""Where a ledger's clock was set back."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def _big() -> Any:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the table; no ledger before it has a row older than the one above."""
    op.create_table(
        "ledger_back_steps",
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("seq", _big(), nullable=False),
        sa.Column("from_at", _big(), nullable=False),
        sa.PrimaryKeyConstraint("public_id", "seq"),
    )
