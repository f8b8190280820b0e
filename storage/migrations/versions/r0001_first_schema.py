"""The first schema: every table, and the triggers that keep what is append-only."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

APPEND_ONLY = ("ledger_events", "policy_changes", "balance_events")


def upgrade() -> None:
    """Create the tables and the triggers."""
    tables()
    for table in APPEND_ONLY:
        if op.get_bind().dialect.name == "sqlite":
            sqlite_triggers(table)
        else:
            postgres_triggers(table)


def sqlite_triggers(table: str) -> None:
    """Refuse UPDATE and DELETE."""
    for verb in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        )


def postgres_triggers(table: str) -> None:
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


def tables() -> None:
    """Create the tables and their indexes."""
    op.create_table(
        "agent_keys",
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("key_hash", sa.Text(), nullable=False),
        sa.Column(
            "created_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column(
            "revoked_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True
        ),
        sa.PrimaryKeyConstraint("key_id"),
        sa.UniqueConstraint("key_hash", name="one_key_a_hash"),
    )
    op.create_index("agent_keys_agent", "agent_keys", ["agent_id"], unique=False)
    op.create_table(
        "agents",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column(
            "created_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.PrimaryKeyConstraint("agent_id"),
    )
    op.create_index("agents_created", "agents", ["created_at", "agent_id"], unique=False)
    op.create_index("agents_owner", "agents", ["owner_id", "created_at", "agent_id"], unique=False)
    op.create_table(
        "approvals",
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("action_hash", sa.Text(), nullable=False),
        sa.Column(
            "requested_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column(
            "expires_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column(
            "decided_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True
        ),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("approval_id"),
    )
    op.create_index("approvals_action", "approvals", ["public_id", "action_hash"], unique=False)
    op.create_index(
        "approvals_mandate", "approvals", ["public_id", "requested_at", "approval_id"], unique=False
    )
    op.create_table(
        "balance_events",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("chain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("asset", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column(
            "delta",
            sa.Numeric(precision=38, scale=0).with_variant(sa.Integer(), "sqlite"),
            nullable=False,
        ),
        sa.Column("ref_kind", sa.Text(), nullable=False),
        sa.Column("ref_id", sa.Text(), nullable=False),
        sa.Column(
            "created_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.PrimaryKeyConstraint("agent_id", "n"),
        sa.UniqueConstraint(
            "agent_id", "ref_kind", "ref_id", "state", "asset", "chain_id", name="one_delta_a_cause"
        ),
    )
    op.create_index(
        "balance_events_sum",
        "balance_events",
        ["agent_id", "chain_id", "asset", "state"],
        unique=False,
    )
    op.create_index(
        "balance_events_time", "balance_events", ["agent_id", "created_at", "n"], unique=False
    )
    op.create_table(
        "balances",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("chain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("asset", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column(
            "amount",
            sa.Numeric(precision=38, scale=0).with_variant(sa.Integer(), "sqlite"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("agent_id", "chain_id", "asset", "state"),
    )
    op.create_table(
        "chain_blocks",
        sa.Column("chain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "number"),
    )
    op.create_table(
        "chain_cursors",
        sa.Column("chain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("block", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("hash", sa.Text(), nullable=True),
        sa.Column("head", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column(
            "recheck_to", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True
        ),
        sa.Column("read_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.PrimaryKeyConstraint("chain_id"),
    )
    op.create_table(
        "chain_staging",
        sa.Column("chain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column(
            "block_number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("block_hash", sa.Text(), nullable=False),
        sa.Column("tx_hash", sa.Text(), nullable=False),
        sa.Column(
            "log_index", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("address_lower", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "block_hash", "log_index"),
    )
    op.create_index(
        "chain_staging_block", "chain_staging", ["chain_id", "block_number"], unique=False
    )
    op.create_index(
        "chain_staging_vault", "chain_staging", ["chain_id", "address_lower"], unique=False
    )
    op.create_table(
        "chain_vaults",
        sa.Column("chain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("address_lower", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column(
            "block_number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.PrimaryKeyConstraint("chain_id", "address_lower"),
    )
    op.create_table(
        "chain_inbound",
        sa.Column("chain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("block", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("chain_id"),
    )
    op.create_table(
        "challenges",
        sa.Column("nonce", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("chain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column(
            "expires_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.PrimaryKeyConstraint("nonce"),
    )
    op.create_table(
        "deposit_addresses",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("chain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("set_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "chain_id"),
    )
    op.create_index(
        "deposit_addresses_chain", "deposit_addresses", ["chain_id", "address"], unique=False
    )
    op.create_table(
        "hall_agents",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("accepts", sa.SmallInteger(), nullable=False),
        sa.Column("ranked", sa.SmallInteger(), nullable=False),
        sa.Column(
            "by_days_live", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column(
            "by_trades_total", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column(
            "by_net_30d", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column(
            "by_twr_30d", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column(
            "by_drawdown_30d", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column(
            "by_working", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column(
            "mandates_working", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column(
            "usdc_working", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("as_of", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id"),
    )
    op.create_index(
        "hall_agents_days_live", "hall_agents", ["by_days_live", "agent_id"], unique=False
    )
    op.create_index(
        "hall_agents_trades_total", "hall_agents", ["by_trades_total", "agent_id"], unique=False
    )
    op.create_index("hall_agents_net_30d", "hall_agents", ["by_net_30d", "agent_id"], unique=False)
    op.create_index("hall_agents_twr_30d", "hall_agents", ["by_twr_30d", "agent_id"], unique=False)
    op.create_index(
        "hall_agents_drawdown_30d", "hall_agents", ["by_drawdown_30d", "agent_id"], unique=False
    )
    op.create_index("hall_agents_working", "hall_agents", ["by_working", "agent_id"], unique=False)
    op.create_table(
        "hall_days",
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("public_id", "day"),
    )
    op.create_index("hall_days_agent", "hall_days", ["agent_id", "day"], unique=False)
    op.create_table(
        "house_keys",
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("key_hash", sa.Text(), nullable=False),
        sa.Column(
            "created_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column(
            "revoked_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True
        ),
        sa.PrimaryKeyConstraint("key_id"),
        sa.UniqueConstraint("key_hash", name="one_house_key_a_hash"),
    )
    op.create_table(
        "idempotency",
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("request_hash", sa.Text(), nullable=False),
        sa.Column(
            "claimed_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("response", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("scope", "key"),
    )
    op.create_table(
        "ledger_checkpoints",
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column(
            "created_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("state", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("public_id", "seq"),
    )
    op.create_table(
        "ledger_events",
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("reported_by", sa.Text(), nullable=False),
        sa.Column(
            "amount_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True
        ),
        sa.Column("tx_hash", sa.Text(), nullable=True),
        sa.Column("chain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("log_index", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column(
            "block_number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True
        ),
        sa.Column(
            "pairs_with", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True
        ),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column(
            "occurred_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column(
            "created_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("prev_hash", sa.Text(), nullable=False),
        sa.Column("row_hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("public_id", "seq"),
        sa.UniqueConstraint("event_id", name="one_row_an_event"),
    )
    op.create_index(
        "ledger_created", "ledger_events", ["public_id", "created_at", "seq"], unique=False
    )
    op.create_index(
        "ledger_tx", "ledger_events", ["public_id", "tx_hash", "reported_by", "seq"], unique=False
    )
    op.create_index(
        "one_partner_a_row",
        "ledger_events",
        ["public_id", "pairs_with"],
        unique=True,
        sqlite_where=sa.text("pairs_with IS NOT NULL"),
        postgresql_where=sa.text("pairs_with IS NOT NULL"),
    )
    op.create_index(
        "ledger_blocks",
        "ledger_events",
        ["chain_id", "block_number"],
        unique=False,
        sqlite_where=sa.text("log_index IS NOT NULL"),
        postgresql_where=sa.text("log_index IS NOT NULL"),
    )
    op.create_index(
        "one_row_a_log",
        "ledger_events",
        ["public_id", "tx_hash", "log_index"],
        unique=True,
        sqlite_where=sa.text(
            "log_index IS NOT NULL AND tx_hash IS NOT NULL AND reported_by = 'chain'"
        ),
        postgresql_where=sa.text(
            "log_index IS NOT NULL AND tx_hash IS NOT NULL AND reported_by = 'chain'"
        ),
    )
    op.create_table(
        "ledger_heads",
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("row_hash", sa.Text(), nullable=False),
        sa.Column(
            "created_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.PrimaryKeyConstraint("public_id"),
    )
    op.create_table(
        "mandates",
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=True),
        sa.Column("open_board", sa.SmallInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("chain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("vault_lower", sa.Text(), nullable=True),
        sa.Column(
            "accepted_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True
        ),
        sa.Column(
            "created_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column(
            "refreshed_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True
        ),
        sa.Column("proposed_by", sa.Text(), nullable=True),
        sa.Column("version", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("public_id"),
        sa.UniqueConstraint("chain_id", "vault_lower", name="one_mandate_a_vault"),
    )
    op.create_index(
        "mandates_agent", "mandates", ["agent_id", "created_at", "public_id"], unique=False
    )
    op.create_index(
        "mandates_open", "mandates", ["open_board", "created_at", "public_id"], unique=False
    )
    op.create_index(
        "mandates_owner", "mandates", ["owner_id", "created_at", "public_id"], unique=False
    )
    op.create_index("mandates_refresh", "mandates", ["refreshed_at"], unique=False)
    op.create_table(
        "policies",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("accepts", sa.SmallInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column(
            "updated_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.PrimaryKeyConstraint("agent_id"),
    )
    op.create_table(
        "policy_changes",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column(
            "changed_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("changes", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "n"),
    )
    op.create_table(
        "reservations",
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("action_hash", sa.Text(), nullable=False),
        sa.Column(
            "amount_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("made_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column(
            "expires_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("approval_id", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("public_id", "action_hash"),
    )
    op.create_table(
        "sessions",
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column(
            "created_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column(
            "expires_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column(
            "longest_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.PrimaryKeyConstraint("token_hash"),
    )
    op.create_index("sessions_expiry", "sessions", ["expires_at"], unique=False)
    op.create_table(
        "switches",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column(
            "changed_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("changed_by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "transfer_reports",
        sa.Column("chain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tx_hash", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("asset", sa.Text(), nullable=False),
        sa.Column(
            "amount",
            sa.Numeric(precision=38, scale=0).with_variant(sa.Integer(), "sqlite"),
            nullable=False,
        ),
        sa.Column(
            "amount_actual",
            sa.Numeric(precision=38, scale=0).with_variant(sa.Integer(), "sqlite"),
            nullable=True,
        ),
        sa.Column("direction", sa.Text(), nullable=False),
        sa.Column("reported_by", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("override_reason", sa.Text(), nullable=True),
        sa.Column(
            "reported_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column(
            "confirmed_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True
        ),
        sa.PrimaryKeyConstraint("chain_id", "tx_hash"),
    )
    op.create_index(
        "transfer_reports_agent",
        "transfer_reports",
        ["agent_id", "reported_at", "tx_hash"],
        unique=False,
    )
    op.create_index(
        "transfer_reports_open",
        "transfer_reports",
        ["chain_id", "status", "reported_at"],
        unique=False,
    )
    op.create_table(
        "users",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("address_lower", sa.Text(), nullable=False),
        sa.Column(
            "created_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.PrimaryKeyConstraint("user_id"),
        sa.UniqueConstraint("address_lower", name="one_user_an_address"),
    )
    op.create_table(
        "work_claims",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("until_at", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("kind", "key"),
    )
