"""Whose an address is, by its own signature; the nonce that the next signature covers."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Addresses on file so far were never proven: they stay on file, and confirm nothing."""
    op.add_column("deposit_addresses", sa.Column("nonce", sa.Text(), nullable=True))
    op.create_table(
        "proven_addresses",
        sa.Column("chain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column(
            "proven_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("proof", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "address"),
    )
    op.create_index(
        "proven_addresses_agent", "proven_addresses", ["agent_id", "chain_id"], unique=False
    )
