"""A day's counters hold no less than nothing: below zero one would lift the day's limit."""

from alembic import op

revision = "0029"
down_revision = "0028"

BOUNDS = {
    "order_counters_used": "used_micros >= 0",
    "order_counters_reserved": "reserved_micros >= 0",
}


def upgrade() -> None:
    """Bring what stands below zero up to it, and bound the table."""
    op.execute("UPDATE order_counters SET used_micros = 0 WHERE used_micros < 0")
    op.execute("UPDATE order_counters SET reserved_micros = 0 WHERE reserved_micros < 0")
    with op.batch_alter_table("order_counters") as table:
        for name, rule in BOUNDS.items():
            table.create_check_constraint(name, rule)
