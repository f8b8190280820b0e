"""Webhooks of owners, what is told to them, and how far the ledgers were read for it."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Create the tables."""
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "webhooks",
        sa.Column("webhook_id", sa.Text(), primary_key=True),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("events", sa.Text(), nullable=False),
        sa.Column("generation", big, nullable=False),
        sa.Column("created_at", big, nullable=False),
        sa.Column("rotated_at", big, nullable=True),
        sa.Column("next_at", big, nullable=True),
        sa.Column("busy_until", big, nullable=False),
        sa.Column("failures", big, nullable=False),
    )
    op.create_index("webhooks_owner", "webhooks", ["owner_id", "created_at", "webhook_id"])
    op.create_index("webhooks_due", "webhooks", ["next_at"])
    op.create_table(
        "webhook_deliveries",
        sa.Column("delivery_id", sa.Text(), primary_key=True),
        sa.Column("webhook_id", sa.Text(), nullable=False),
        sa.Column("notice_key", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("made_at", big, nullable=False),
        sa.Column("next_at", big, nullable=False),
        sa.Column("attempts", big, nullable=False),
        sa.Column("last_at", big, nullable=True),
        sa.Column("answered", big, nullable=True),
        sa.Column("fault", sa.Text(), nullable=True),
        sa.UniqueConstraint("webhook_id", "notice_key", name="one_delivery_a_notice"),
    )
    op.create_index(
        "webhook_deliveries_waiting", "webhook_deliveries", ["webhook_id", "status", "next_at"]
    )
    op.create_index(
        "webhook_deliveries_newest",
        "webhook_deliveries",
        ["webhook_id", "made_at", "delivery_id"],
    )
    op.create_table(
        "notice_cursor",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("cursor", sa.Text(), nullable=False),
    )
