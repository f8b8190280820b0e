"""Notice settings know which kinds there were to choose from."""

import sqlalchemy as sa
from alembic import op

from storage.schema.metadata import OFFERED_BEFORE

revision = "0041_0040"
down_revision = "0040"


def upgrade() -> None:
    """Add the column; who chose before was offered all kinds but that of an order that waits."""
    column = sa.Column("offered", sa.Text(), nullable=False, server_default=OFFERED_BEFORE)
    op.add_column("notice_settings", column)
