"""A person is a key, or a contract on one chain; a session says how it was signed."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def _big() -> Any:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Name the accounts that signed mandates tell of; the others' next sign-in names theirs.

    Sessions did not say how they were signed: those end of whom no mandate says that it is a key.
    """
    with op.batch_alter_table("users") as users:
        users.add_column(sa.Column("account", sa.Text(), nullable=True))
        users.drop_constraint("one_user_an_address", type_="unique")
        users.create_unique_constraint("one_user_an_account", ["account"])
    op.create_index("users_address", "users", ["address_lower"])
    op.add_column(
        "sessions", sa.Column("signer_type", sa.Text(), nullable=False, server_default="eoa")
    )
    op.add_column("sessions", sa.Column("chain_id", _big(), nullable=True))
    connection = op.get_bind()
    for user_id, chain_id in _signed(connection).items():
        connection.execute(
            sa.text(
                "UPDATE users SET account = 'eip155:' || CAST(:chain AS TEXT) || ':' || "
                "address_lower WHERE user_id = :id"
            ),
            {"chain": str(chain_id), "id": user_id},
        )
    op.execute(
        "DELETE FROM sessions WHERE user_id NOT IN "
        "(SELECT user_id FROM users WHERE account LIKE 'eip155:0:%')"
    )


def _signed(connection: sa.Connection) -> dict[str, int]:
    """By owner: 0 for one whose key signed a mandate, else the chain of the first contract's."""
    chains: dict[str, int] = {}
    rows = connection.execute(
        sa.text(
            "SELECT owner_id, chain_id, body FROM mandates WHERE status <> 'draft' "
            "ORDER BY created_at, public_id"
        )
    )
    for owner_id, chain_id, body in rows:
        signed = json.loads(body).get("signed")
        if signed is not None:
            by_key = signed.get("signer_type", "eoa") == "eoa"
            chains[owner_id] = 0 if by_key else chains.get(owner_id, chain_id)
    return chains
