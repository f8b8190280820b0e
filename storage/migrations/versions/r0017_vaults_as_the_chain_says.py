"""Vaults as the chain says: how deep their creation is, and which of them are to be read again.

The logs of every vault are read once more from its creation on: what happened in one before it was
attached had been passed over. The resume point keeps up to where the ledger was compared with the
chain. Checkpoints of the fold before are dropped; a read folds from the first row until the next.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

COMPARED_AGAIN = 256


def _big() -> Any:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns, and ask for every vault's logs again."""
    zero = sa.text("0")
    op.add_column(
        "chain_vaults", sa.Column("deep", sa.SmallInteger(), nullable=False, server_default=zero)
    )
    op.add_column("chain_vaults", sa.Column("replay_from", _big(), nullable=True))
    again = sa.text("replay_from IS NOT NULL")
    op.create_index("chain_vaults_digest", "chain_vaults", ["chain_id", "digest"])
    op.create_index("chain_vaults_block", "chain_vaults", ["chain_id", "block_number"])
    op.create_index(
        "chain_vaults_replay",
        "chain_vaults",
        ["chain_id", "replay_from"],
        sqlite_where=again,
        postgresql_where=again,
    )
    op.add_column("chain_cursors", sa.Column("deep", _big(), nullable=False, server_default=zero))
    op.drop_column("chain_cursors", "recheck_to")
    op.execute(
        f"UPDATE chain_cursors SET deep = CASE WHEN block > {COMPARED_AGAIN} "
        f"THEN block - {COMPARED_AGAIN} ELSE 0 END"
    )
    op.execute("UPDATE chain_vaults SET replay_from = block_number")
    op.execute(
        "UPDATE chain_vaults SET deep = 1 WHERE block_number <= "
        "(SELECT c.deep FROM chain_cursors c WHERE c.chain_id = chain_vaults.chain_id)"
    )
    op.execute("DELETE FROM ledger_checkpoints")
