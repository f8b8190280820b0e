"""The limit log: who changed who may trade live, and how much, and why; append-only."""

import sqlalchemy as sa
from alembic import op

from storage.migrations.versions.r0001_first_schema import postgres_triggers, sqlite_triggers

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Create the log, and the triggers that keep it as it was written."""
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "limit_log",
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("n", big, nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("changed_at", big, nullable=False),
        sa.Column("changed_by", sa.Text(), nullable=False),
        sa.Column("changes", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("subject", "n"),
    )
    op.create_index("limit_log_newest", "limit_log", ["changed_at", "subject", "n"], unique=False)
    if op.get_bind().dialect.name == "sqlite":
        sqlite_triggers("limit_log")
    else:
        postgres_triggers("limit_log")
