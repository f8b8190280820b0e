"""How far vaults were read again whose totals are not those of their rows; and settled vaults, of
which none before was compared with its rows, are compared once.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def _big() -> Any:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables, and list every settled vault for the keeper: it strikes off those that are
    empty, once their rows add up.
    """
    op.create_table(
        "vault_readings",
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("nodes", _big(), nullable=False),
        sa.Column("low", _big(), nullable=False),
        sa.Column("high", _big(), nullable=False),
        sa.Column("misses", _big(), nullable=False),
        sa.Column("rests_until", _big(), nullable=False),
        sa.PrimaryKeyConstraint("public_id"),
    )
    op.create_table(
        "vault_reading_logs",
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("block_number", _big(), nullable=False),
        sa.Column("log_index", _big(), nullable=False),
        sa.Column("block_hash", sa.Text(), nullable=False),
        sa.Column("tx_hash", sa.Text(), nullable=False),
        sa.Column("address_lower", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("public_id", "block_number", "log_index"),
    )
    op.execute(
        "INSERT INTO work_claims (kind, key, holder, until_at) "
        "SELECT 'unpaid fee', public_id, '', 0 FROM mandates "
        "WHERE status = 'settled' AND vault_lower IS NOT NULL ON CONFLICT (kind, key) DO NOTHING"
    )
