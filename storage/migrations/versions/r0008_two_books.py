"""Two books: checkpoints are folded anew, and a row of the chain is found by its block.

Rows do not change. A checkpoint of the fold before is dropped; the next one is written with the
next rows, and until then a read folds from the first row.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Drop what was derived, and index every row that has a block."""
    op.execute("DELETE FROM ledger_checkpoints")
    op.drop_index("ledger_blocks", table_name="ledger_events")
    here = sa.text("block_number IS NOT NULL")
    op.create_index(
        "ledger_blocks",
        "ledger_events",
        ["chain_id", "block_number"],
        sqlite_where=here,
        postgresql_where=here,
    )
