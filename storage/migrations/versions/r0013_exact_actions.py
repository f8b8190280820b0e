"""An action is its exact calldata: what was handed out is kept with what became of it.

Reservations last ten minutes and are made anew. Open approvals get the hash of their very call.
"""

import json

import sqlalchemy as sa
from alembic import op
from eth_utils.crypto import keccak

revision = "0013"
down_revision = "0012"

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the table of what was handed out anew, and name open approvals by their calls."""
    op.drop_table("reservations")
    op.create_table(
        "reservations",
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("action_hash", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("selector", sa.Text(), nullable=False),
        sa.Column("data_hash", sa.Text(), nullable=False),
        sa.Column("amount_micros", BIG, nullable=False),
        sa.Column("made_at", BIG, nullable=False),
        sa.Column("expires_at", BIG, nullable=False),
        sa.Column("sender", sa.Text(), nullable=False),
        sa.Column("block", BIG, nullable=True),
        sa.Column("approval_id", sa.Text(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("tx_hash", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("public_id", "action_hash"),
    )
    op.create_index("reservations_live", "reservations", ["public_id", "expires_at"])
    op.create_index("reservations_call", "reservations", ["public_id", "data_hash"])
    _name_open_approvals()


def _name_open_approvals() -> None:
    db = op.get_bind()
    rows = db.execute(
        sa.text(
            "SELECT a.approval_id, a.body, m.vault_lower FROM approvals a "
            "JOIN mandates m ON m.public_id = a.public_id "
            "WHERE a.status IN ('pending', 'approved') AND m.vault_lower IS NOT NULL"
        )
    ).all()
    for approval_id, body, vault in rows:
        raw = json.loads(body)
        data_hash = keccak(hexstr=raw["data"])
        words = [_word(vault), _word(raw["target"]["address"]), data_hash]
        name = keccak(b"".join(words) + raw["amount"].to_bytes(32, "big"))
        raw["data_hash"] = "0x" + data_hash.hex()
        db.execute(
            sa.text(
                "UPDATE approvals SET action_hash = :named, body = :body WHERE approval_id = :id"
            ),
            {
                "named": "0x" + name.hex(),
                "body": json.dumps(raw, sort_keys=True, separators=(",", ":")),
                "id": approval_id,
            },
        )


def _word(address: str) -> bytes:
    return bytes.fromhex(address.removeprefix("0x")).rjust(32, b"\0")
