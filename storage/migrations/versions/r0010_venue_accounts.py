"""Own accounts at the venue: links, approved keys, builder fees, intents, the request budget, the
trade allowlist."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from storage.migrations.versions.r0001_first_schema import postgres_triggers, sqlite_triggers

revision = "0010"
down_revision = "0008"

_ENDS = sa.text("ended_at IS NULL")
_SOMEBODY = sa.text("agent_lower <> '0x0000000000000000000000000000000000000000'")


def _big() -> Any:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _need(name: str, kind: Any) -> sa.Column[object]:
    return sa.Column(name, kind, nullable=False)


def _may(name: str, kind: Any) -> sa.Column[object]:
    return sa.Column(name, kind, nullable=True)


def upgrade() -> None:
    """Create the tables, and the triggers that keep intents as they were written."""
    _links()
    _keys()
    _others()
    if op.get_bind().dialect.name == "sqlite":
        sqlite_triggers("venue_intents")
    else:
        postgres_triggers("venue_intents")


def _links() -> None:
    op.create_table(
        "venue_links",
        _need("link_id", sa.Text()),
        _need("user_id", sa.Text()),
        _need("network", sa.Text()),
        _need("wallet", sa.Text()),
        _need("wallet_lower", sa.Text()),
        _need("terms_version", _big()),
        _need("linked_at", _big()),
        _may("ended_at", _big()),
        _may("ended_why", sa.Text()),
        sa.PrimaryKeyConstraint("link_id"),
    )
    while_it_lasts: dict[str, Any] = {
        "unique": True,
        "sqlite_where": _ENDS,
        "postgresql_where": _ENDS,
    }
    op.create_index(
        "one_link_a_wallet", "venue_links", ["network", "wallet_lower"], **while_it_lasts
    )
    op.create_index("one_link_a_person", "venue_links", ["user_id", "network"], **while_it_lasts)
    op.create_table(
        "venue_challenges",
        _need("challenge_id", sa.Text()),
        _need("user_id", sa.Text()),
        _need("network", sa.Text()),
        _need("address", sa.Text()),
        _need("message", sa.Text()),
        _need("terms_version", _big()),
        _need("terms_sha256", sa.Text()),
        _need("made_at", _big()),
        _need("expires_at", _big()),
        _may("used_at", _big()),
        sa.PrimaryKeyConstraint("challenge_id"),
    )
    op.create_index(
        "venue_challenges_user",
        "venue_challenges",
        ["user_id", "made_at", "challenge_id"],
        unique=False,
    )


def _keys() -> None:
    op.create_table(
        "venue_agent_keys",
        _need("approval_id", sa.Text()),
        _need("link_id", sa.Text()),
        _need("network", sa.Text()),
        _need("wallet_lower", sa.Text()),
        _need("kind", sa.Text()),
        _need("agent_lower", sa.Text()),
        _need("name", sa.Text()),
        _need("nonce", _big()),
        _need("signature_chain_id", sa.Text()),
        _need("valid_until", _big()),
        _need("status", sa.Text()),
        _need("requested_at", _big()),
        _may("checked_at", _big()),
        _need("listed", sa.SmallInteger()),
        _may("ended_at", _big()),
        sa.PrimaryKeyConstraint("approval_id"),
        sa.UniqueConstraint("network", "wallet_lower", "nonce", name="one_approval_a_nonce"),
    )
    op.create_index(
        "one_approval_an_agent",
        "venue_agent_keys",
        ["agent_lower"],
        unique=True,
        sqlite_where=_SOMEBODY,
        postgresql_where=_SOMEBODY,
    )
    op.create_index(
        "venue_agent_keys_link",
        "venue_agent_keys",
        ["link_id", "kind", "requested_at"],
        unique=False,
    )


def _others() -> None:
    op.create_table(
        "venue_builder_fees",
        _need("network", sa.Text()),
        _need("wallet_lower", sa.Text()),
        _need("builder_lower", sa.Text()),
        _need("user_id", sa.Text()),
        _need("wallet", sa.Text()),
        _need("max_fee_rate", sa.Text()),
        _need("recorded_at", _big()),
        _may("approved_tenths_bps", _big()),
        _need("ever_approved", sa.SmallInteger()),
        _may("checked_at", _big()),
        sa.PrimaryKeyConstraint("network", "wallet_lower", "builder_lower"),
    )
    op.create_table(
        "venue_intents",
        _need("intent_id", sa.Text()),
        _need("user_id", sa.Text()),
        _need("kind", sa.Text()),
        _need("body", sa.Text()),
        _need("created_at", _big()),
        _may("valid_until", _big()),
        sa.PrimaryKeyConstraint("intent_id"),
    )
    op.create_index(
        "venue_intents_user", "venue_intents", ["user_id", "created_at", "intent_id"], unique=False
    )
    op.create_table(
        "venue_weights",
        _need("key", sa.Text()),
        _need("body", sa.Text()),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_table(
        "trade_allowlist",
        _need("item", sa.Text()),
        _need("changed_at", _big()),
        _need("changed_by", sa.Text()),
        _may("removed_at", _big()),
        sa.PrimaryKeyConstraint("item"),
    )
