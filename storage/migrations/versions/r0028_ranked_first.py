"""The Hall lists ranked agents first, by one index; the books say whose calls a vault executed.

Checkpoints of the fold before are dropped. The Hall's rows count as stale: an agent that acted
without having accepted has a record too.
"""

from typing import Final

from alembic import op

revision = "0028"
down_revision = "0027"

SORTS: Final = ("days_live", "trades_total", "net_30d", "twr_30d", "drawdown_30d", "working")


def upgrade() -> None:
    """Turn the rank into the first key of each index, and drop what is derived."""
    for sort in SORTS:
        op.drop_index(f"hall_agents_{sort}", "hall_agents")
    op.execute("ALTER TABLE hall_agents RENAME COLUMN ranked TO unranked")
    op.execute("UPDATE hall_agents SET unranked = 1 - unranked, as_of = 0")
    for sort in SORTS:
        op.create_index(
            f"hall_agents_{sort}", "hall_agents", ["unranked", f"by_{sort}", "agent_id"]
        )
    op.execute("DELETE FROM ledger_checkpoints")
