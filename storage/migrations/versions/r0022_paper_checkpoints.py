"""Checkpoints of paper books, and the paper book of an order as a column that can be searched."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def _big() -> Any:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the table, and fill the column from the orders' own bodies."""
    op.create_table(
        "paper_checkpoints",
        sa.Column("book", sa.Text(), nullable=False),
        sa.Column("n", _big(), nullable=False),
        sa.Column("last_at", _big(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("book", "n"),
    )
    op.create_index("paper_checkpoints_at", "paper_checkpoints", ["book", "last_at"], unique=False)
    op.add_column("orders", sa.Column("book", sa.Text(), nullable=True))
    orders = op.get_bind().execute(
        sa.text("SELECT order_id, body FROM orders WHERE mode = 'paper'")
    )
    for order_id, body in orders.fetchall():
        op.get_bind().execute(
            sa.text("UPDATE orders SET book = :book WHERE order_id = :id"),
            {"book": json.loads(body).get("book"), "id": order_id},
        )
    name = sa.text("book IS NOT NULL")
    op.create_index(
        "orders_book",
        "orders",
        ["book", "created_at", "order_id"],
        unique=False,
        sqlite_where=name,
        postgresql_where=name,
    )
