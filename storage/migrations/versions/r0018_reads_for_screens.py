"""An owner's approvals over all mandates by one index; the daily roll-ups count spend.

The Hall's days are dropped, and rolled up again from the ledgers: a day has more figures. The rows
of the Hall stay, and count as stale, so that no list is empty until the house went over them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Name the owner of every approval, and drop what is derived."""
    op.add_column("approvals", sa.Column("owner_id", sa.Text(), nullable=False, server_default=""))
    op.execute(
        "UPDATE approvals SET owner_id = COALESCE((SELECT m.owner_id FROM mandates m "
        "WHERE m.public_id = approvals.public_id), '')"
    )
    op.create_index(
        "approvals_owner", "approvals", ["owner_id", "status", "expires_at", "approval_id"]
    )
    op.execute("DELETE FROM hall_days")
    op.execute("UPDATE hall_agents SET as_of = 0")
