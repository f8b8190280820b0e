"""Until when an idempotency claim stands for something that is being done outside."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the column; claims that are there stand for nothing outside."""
    kind = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.add_column("idempotency", sa.Column("until_at", kind, nullable=True))
