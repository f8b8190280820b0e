"""A position for every ledger row on PostgreSQL, so that all mandates can be followed as one."""

from alembic import op

revision = "0005"
down_revision = "0001"


def upgrade() -> None:
    """Number the rows that are there as they came, then every new one by itself.

    On SQLite the rowid is that number already.
    """
    if op.get_bind().dialect.name == "sqlite":
        return
    op.execute("ALTER TABLE ledger_events ADD COLUMN position BIGINT")
    op.execute("ALTER TABLE ledger_events DISABLE TRIGGER ledger_events_no_change")
    op.execute(
        "UPDATE ledger_events e SET position = n.position FROM (SELECT public_id, seq, "
        "row_number() OVER (ORDER BY created_at, public_id, seq) AS position FROM ledger_events) n "
        "WHERE n.public_id = e.public_id AND n.seq = e.seq"
    )
    op.execute("ALTER TABLE ledger_events ENABLE TRIGGER ledger_events_no_change")
    op.execute("ALTER TABLE ledger_events ALTER COLUMN position SET NOT NULL")
    op.execute("ALTER TABLE ledger_events ALTER COLUMN position ADD GENERATED ALWAYS AS IDENTITY")
    op.execute(
        "SELECT setval(pg_get_serial_sequence('ledger_events', 'position'), "
        "(SELECT COALESCE(MAX(position), 1) FROM ledger_events), "
        "(SELECT COUNT(*) > 0 FROM ledger_events))"
    )
    op.create_index("ledger_positions", "ledger_events", ["position"], unique=True)
