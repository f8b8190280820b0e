"""The schema of the first release: every table that `storage.schema` declares, and the triggers.

What came later is marked there with the revision that adds it (`since`), and left out here.
"""

from alembic import op
from sqlalchemy import MetaData

from storage.schema.metadata import metadata

revision = "0040"
down_revision = None

APPEND_ONLY = (
    "ledger_events", "policy_changes", "balance_events", "limit_log", "order_fills", "paper_books",
    "paper_entries", "paper_snapshots", "venue_intents",
)  # fmt: skip
# What a batch judges by moves the mandate's turn (`storage.prefetch.flush`): what the owner
# decides, and what is handed out. SQLite has one writer at a time.
TURNS = (
    "CREATE FUNCTION mandate_turns() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "UPDATE mandates SET turn = turn + 1 "
    "WHERE public_id = COALESCE(NEW.public_id, OLD.public_id); RETURN NULL; END $$",
    "CREATE TRIGGER approvals_turn AFTER INSERT OR UPDATE OR DELETE ON approvals "
    "FOR EACH ROW EXECUTE FUNCTION mandate_turns()",
    "CREATE TRIGGER reservations_turn AFTER INSERT OR UPDATE OR DELETE ON reservations "
    "FOR EACH ROW EXECUTE FUNCTION mandate_turns()",
)


def upgrade() -> None:
    """Create the tables and the triggers."""
    dialect = op.get_bind().dialect.name
    _tables_on(dialect).create_all(op.get_bind(), checkfirst=False)
    for table in APPEND_ONLY:
        (_sqlite_triggers if dialect == "sqlite" else _postgres_triggers)(table)
    for statement in () if dialect == "sqlite" else TURNS:
        op.execute(statement)


def _tables_on(dialect: str) -> MetaData:
    """The tables without what is another database's alone, or a later revision's."""

    def is_here(info: dict[str, str]) -> bool:
        return "since" not in info and info.get("only_on", dialect) == dialect

    copied = MetaData()
    for declared in metadata.tables.values():
        if not is_here(declared.info):
            continue
        table = declared.to_metadata(copied)
        foreign = [c for c in table.columns if not is_here(c.info)]
        for column in foreign:
            column.system = True  # CREATE TABLE leaves it out
        table.indexes -= {
            i for i in table.indexes if not is_here(i.info) or any(c in foreign for c in i.columns)
        }
    return copied


def _sqlite_triggers(table: str) -> None:
    """Refuse UPDATE and DELETE."""
    for verb in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        )


def _postgres_triggers(table: str) -> None:
    """Refuse UPDATE, DELETE and TRUNCATE."""
    op.execute(
        f"CREATE FUNCTION {table}_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{table} is append-only'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_no_change BEFORE UPDATE "
        f"OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION {table}_append_only()"
    )
    op.execute(
        f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE "
        f"FUNCTION {table}_append_only()"
    )
