"""Orders: each with its life, its fills, the day's counters, own limits, and the last nonce of a
wallet."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from storage.migrations.versions.r0001_first_schema import postgres_triggers, sqlite_triggers

revision = "0015"
down_revision = "0014"

APPEND_ONLY = ("order_fills",)


def _big() -> Any:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _need(name: str, kind: Any) -> sa.Column[object]:
    return sa.Column(name, kind, nullable=False)


def _may(name: str, kind: Any) -> sa.Column[object]:
    return sa.Column(name, kind, nullable=True)


def upgrade() -> None:
    """Create the tables, and the triggers that keep fills as they were written."""
    _orders()
    _limits()
    for table in APPEND_ONLY:
        if op.get_bind().dialect.name == "sqlite":
            sqlite_triggers(table)
        else:
            postgres_triggers(table)


def _orders() -> None:
    op.create_table(
        "orders",
        _need("order_id", sa.Text()),
        _need("owner_id", sa.Text()),
        _may("agent_id", sa.Text()),
        _need("mode", sa.Text()),
        _need("network", sa.Text()),
        _need("status", sa.Text()),
        _need("version", _big()),
        _need("cloid", sa.Text()),
        _may("mandate_id", sa.Text()),
        _need("counted_micros", _big()),
        _may("counted_day", sa.Text()),
        _may("confirm_hash", sa.Text()),
        _need("created_at", _big()),
        _need("expires_at", _big()),
        _may("next_check_at", _big()),
        _need("body", sa.Text()),
        sa.PrimaryKeyConstraint("order_id"),
        sa.UniqueConstraint("cloid", name="one_order_a_cloid"),
        sa.UniqueConstraint("confirm_hash", name="one_order_a_confirm"),
    )
    op.create_index("orders_owner", "orders", ["owner_id", "status", "created_at"], unique=False)
    op.create_index("orders_agent", "orders", ["agent_id", "status"], unique=False)
    op.create_index("orders_mandate", "orders", ["mandate_id", "counted_day"], unique=False)
    op.create_index("orders_ends", "orders", ["status", "expires_at"], unique=False)
    open_questions = sa.text("next_check_at IS NOT NULL")
    op.create_index(
        "orders_to_ask",
        "orders",
        ["next_check_at"],
        unique=False,
        sqlite_where=open_questions,
        postgresql_where=open_questions,
    )
    op.create_table(
        "order_fills",
        _need("order_id", sa.Text()),
        _need("n", _big()),
        _may("tid", _big()),
        _need("body", sa.Text()),
        sa.PrimaryKeyConstraint("order_id", "n"),
        sa.UniqueConstraint("order_id", "tid", name="one_fill_a_trade"),
    )


def _limits() -> None:
    op.create_table(
        "order_counters",
        _need("scope", sa.Text()),
        _need("day", sa.Text()),
        _need("used_micros", _big()),
        _need("reserved_micros", _big()),
        sa.PrimaryKeyConstraint("scope", "day"),
    )
    op.create_table(
        "own_limits",
        _need("user_id", sa.Text()),
        _need("surface", sa.Text()),
        _need("per_order_micros", _big()),
        _need("per_day_micros", _big()),
        sa.PrimaryKeyConstraint("user_id", "surface"),
    )
    op.create_table(
        "signer_nonces",
        _need("signer", sa.Text()),
        _need("last", _big()),
        sa.PrimaryKeyConstraint("signer"),
    )
