"""A number on every mandate that moves with what is decided and handed out under it."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """On PostgreSQL handlers run before the rows are locked: whoever writes afterwards sees by this
    number whether what they looked at is still so. SQLite has one writer at a time.
    """
    if op.get_bind().dialect.name == "sqlite":
        return
    op.add_column(
        "mandates", sa.Column("turn", sa.BigInteger(), nullable=False, server_default=sa.text("0"))
    )
    op.execute(
        "CREATE FUNCTION mandate_turns() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "UPDATE mandates SET turn = turn + 1 "
        "WHERE public_id = COALESCE(NEW.public_id, OLD.public_id); RETURN NULL; END $$"
    )
    for table in ("approvals", "reservations"):
        op.execute(
            f"CREATE TRIGGER {table}_turn AFTER INSERT OR UPDATE OR DELETE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION mandate_turns()"
        )
