"""A person's orders in the order in which they were made."""

from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Create the index that a page of past orders walks."""
    op.create_index("orders_made", "orders", ["owner_id", "mode", "created_at", "order_id"])
