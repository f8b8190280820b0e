"""Up to where a vault's own totals were those of its rows, and since when they are not."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the columns; every vault is compared from its first block on."""
    for name in ("differs_at", "sums_block"):
        big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
        op.add_column("mandates", sa.Column(name, big, nullable=True))
