"""The tables, once, for both databases.

Units: money in micro-USDC (`*_micros`), times in microseconds since 1970 UTC (`*_at`), JSON as
canonical text. Token amounts of transfers are micro-units in NUMERIC(38, 0); SQLite keeps them in
64 bits, so that an amount beyond ±9.2e12 tokens is refused there (see
docs/decisions/0003-amounts-on-sqlite.md).
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Identity,
    Index,
    Integer,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from storage.schema.columns import BIG, TOKENS, may, metadata, need, where

_HALL_SORTS: Final = ("days_live", "trades_total", "net_30d", "twr_30d", "drawdown_30d", "working")
ON_POSTGRES: Final = {"only_on": "postgresql"}
_WHILE_TO_READ: Final = where("replay_from IS NOT NULL")
_LATE: Final = (
    "(occurred_at + 259200000000) / 604800000000 < (created_at + 259200000000) / 604800000000"
)

Table(
    "mandates", metadata,
    Column("public_id", Text, primary_key=True),
    need("owner_id", Text), may("agent_id", Text), need("open_board", SmallInteger), need("status", Text),
    need("chain_id", BIG), may("vault_lower", Text), may("accepted_at", BIG), need("created_at", BIG),
    may("refreshed_at", BIG), may("proposed_by", Text), need("version", BIG), need("body", Text),
    may("differs_at", BIG), may("sums_block", BIG),
    # Moves with every approval and reservation (storage.prefetch.flush). SQLite has one writer.
    Column("turn", BigInteger, nullable=False, server_default=text("0"), info=ON_POSTGRES),
    Index("mandates_owner", "owner_id", "created_at", "public_id"),
    Index("mandates_agent", "agent_id", "created_at", "public_id"),
    Index("mandates_offered", "agent_id", "created_at", "public_id", **where("accepted_at IS NULL")),
    Index("mandates_open", "open_board", "created_at", "public_id"),
    Index("mandates_refresh", "refreshed_at"),
    UniqueConstraint("chain_id", "vault_lower", name="one_mandate_a_vault"),
)  # fmt: skip
Table(
    "ledger_events", metadata,
    need("public_id", Text), need("seq", BIG), need("event_id", Text), need("kind", Text), need("reported_by", Text),
    may("amount_micros", BIG), may("tx_hash", Text), may("chain_id", BIG), may("log_index", BIG),
    may("block_number", BIG), may("pairs_with", BIG), need("payload", Text), need("occurred_at", BIG),
    need("created_at", BIG), need("prev_hash", Text), need("row_hash", Text),
    # The order of all mandates' rows (storage.feed.ledger_feed). SQLite has it already: the rowid.
    Column("position", BigInteger, Identity(always=True), nullable=False, info=ON_POSTGRES),
    PrimaryKeyConstraint("public_id", "seq"),
    UniqueConstraint("event_id", name="one_row_an_event"),
    Index("ledger_tx", "public_id", "tx_hash", "reported_by", "seq"),
    Index("ledger_created", "public_id", "created_at", "seq"),
    # A statement's rows are those that happened in its week, whenever they were read.
    Index("ledger_occurred", "public_id", "occurred_at", "seq"),
    Index("ledger_positions", "position", unique=True, info=ON_POSTGRES),
    Index("one_partner_a_row", "public_id", "pairs_with", unique=True, **where("pairs_with IS NOT NULL")),
    Index("ledger_blocks", "chain_id", "block_number", **where("block_number IS NOT NULL")),
    # What happened in a week before that in which it was stored: a statement looks for it.
    Index("ledger_late", "public_id", "occurred_at", **where(_LATE)),
    Index(
        "one_row_a_log", "public_id", "tx_hash", "log_index", unique=True,
        **where("log_index IS NOT NULL AND tx_hash IS NOT NULL AND reported_by = 'chain'"),
    ),
)  # fmt: skip
Table(
    "ledger_heads", metadata,
    Column("public_id", Text, primary_key=True), need("seq", BIG), need("row_hash", Text), need("created_at", BIG),
)  # fmt: skip
Table(
    "ledger_checkpoints", metadata,
    need("public_id", Text), need("seq", BIG), need("created_at", BIG), need("state", Text),
    PrimaryKeyConstraint("public_id", "seq"),
)  # fmt: skip
# Rows whose clock stood before that of the row above: what was stored before a time is then no
# beginning of the ledger.
Table(
    "ledger_back_steps", metadata,
    need("public_id", Text), need("seq", BIG), need("from_at", BIG),
    PrimaryKeyConstraint("public_id", "seq"),
)  # fmt: skip
# How far a vault was read again whose totals are not those of its rows, and what was found there.
Table(
    "vault_readings", metadata,
    Column("public_id", Text, primary_key=True), need("path", Text), need("nodes", BIG), need("low", BIG),
    need("high", BIG), need("misses", BIG), need("rests_until", BIG),
)  # fmt: skip
Table(
    "vault_reading_logs", metadata,
    need("public_id", Text), need("block_number", BIG), need("log_index", BIG), need("block_hash", Text),
    need("tx_hash", Text), need("address_lower", Text), need("body", Text),
    PrimaryKeyConstraint("public_id", "block_number", "log_index"),
)  # fmt: skip
Table(
    "users", metadata,
    Column("user_id", Text, primary_key=True), need("address", Text), need("address_lower", Text),
    need("created_at", BIG),
    # CAIP-10, with chain 0 for a key, which signs on every chain; null until an older person signs in.
    may("account", Text),
    UniqueConstraint("account", name="one_user_an_account"),
    Index("users_address", "address_lower"),
)  # fmt: skip
Table(
    "agents", metadata,
    Column("agent_id", Text, primary_key=True), need("owner_id", Text), need("name", Text), may("address", Text),
    need("created_at", BIG),
    Index("agents_owner", "owner_id", "created_at", "agent_id"),
    Index("agents_created", "created_at", "agent_id"),
)  # fmt: skip
Table(
    "agent_keys", metadata,
    Column("key_id", Text, primary_key=True), need("agent_id", Text), need("key_hash", Text), need("created_at", BIG),
    may("revoked_at", BIG),
    UniqueConstraint("key_hash", name="one_key_a_hash"),
    Index("agent_keys_agent", "agent_id"),
)  # fmt: skip
Table(
    "house_keys", metadata,
    Column("key_id", Text, primary_key=True), need("role", Text), need("key_hash", Text), need("created_at", BIG),
    may("revoked_at", BIG),
    UniqueConstraint("key_hash", name="one_house_key_a_hash"),
)  # fmt: skip
Table(
    "challenges", metadata,
    Column("nonce", Text, primary_key=True), need("message", Text), need("address", Text), need("chain_id", BIG),
    need("expires_at", BIG),
    Index("challenges_expiry", "expires_at"),
)  # fmt: skip
Table(
    "sessions", metadata,
    Column("token_hash", Text, primary_key=True), need("user_id", Text), need("created_at", BIG),
    need("expires_at", BIG), need("longest_at", BIG),
    Column("signer_type", Text, nullable=False, server_default="eoa"), may("chain_id", BIG),
    Index("sessions_expiry", "expires_at"), Index("sessions_user", "user_id"),
)  # fmt: skip
Table(
    "approvals", metadata,
    Column("approval_id", Text, primary_key=True), need("public_id", Text), need("status", Text),
    need("action_hash", Text), need("requested_at", BIG), need("expires_at", BIG), may("decided_at", BIG),
    need("body", Text), Column("owner_id", Text, nullable=False, server_default=""),
    Index("approvals_owner", "owner_id", "status", "expires_at", "approval_id"),
    Index("approvals_mandate", "public_id", "requested_at", "approval_id"),
    Index("approvals_action", "public_id", "action_hash"),
)  # fmt: skip
Table(
    "reservations", metadata,
    need("public_id", Text), need("action_hash", Text), need("target", Text), need("selector", Text),
    need("data_hash", Text), need("amount_micros", BIG), need("made_at", BIG), need("expires_at", BIG),
    need("sender", Text), may("block", BIG), may("approval_id", Text), may("outcome", Text), may("tx_hash", Text),
    PrimaryKeyConstraint("public_id", "action_hash"),
    Index("reservations_live", "public_id", "expires_at"),
    Index("reservations_call", "public_id", "data_hash"),
)  # fmt: skip
Table(
    "idempotency", metadata,
    need("scope", Text), need("key", Text), need("request_hash", Text), need("claimed_at", BIG),
    may("status", Integer), may("response", Text), may("until_at", BIG),
    PrimaryKeyConstraint("scope", "key"),
)  # fmt: skip
Table(
    "switches", metadata,
    Column("name", Text, primary_key=True), need("value", Text), need("changed_at", BIG), need("changed_by", Text),
)  # fmt: skip
Table(
    "policies", metadata,
    Column("agent_id", Text, primary_key=True), need("accepts", SmallInteger), need("body", Text), need("updated_at", BIG),
)  # fmt: skip
Table(
    "policy_changes", metadata,
    need("agent_id", Text), need("n", BIG), need("changed_at", BIG), need("changes", Text),
    PrimaryKeyConstraint("agent_id", "n"),
)  # fmt: skip
Table(
    "deposit_addresses", metadata,
    need("agent_id", Text), need("chain_id", BIG), need("address", Text), need("set_at", BIG),
    may("nonce", Text),
    PrimaryKeyConstraint("agent_id", "chain_id"),
    Index("deposit_addresses_chain", "chain_id", "address"),
)  # fmt: skip
Table(
    "proven_addresses", metadata,
    need("chain_id", BIG), need("address", Text), need("agent_id", Text), need("proven_at", BIG),
    need("proof", Text),
    PrimaryKeyConstraint("chain_id", "address"),
    Index("proven_addresses_agent", "agent_id", "chain_id"),
)  # fmt: skip
Table(
    "transfer_reports", metadata,
    need("chain_id", BIG), need("tx_hash", Text), need("agent_id", Text), need("asset", Text),
    need("amount", TOKENS), may("amount_actual", TOKENS), need("direction", Text), need("reported_by", Text),
    need("status", Text), may("override_reason", Text), need("reported_at", BIG), may("confirmed_at", BIG),
    Column("next_at", BIG, nullable=False, server_default="0"),  # when the chain is asked again
    PrimaryKeyConstraint("chain_id", "tx_hash"),
    Index("transfer_reports_waiting", "agent_id", "reported_at", **where("status = 'reported'")),
    Index("transfer_reports_agent", "agent_id", "reported_at", "tx_hash"),
    Index("transfer_reports_open", "chain_id", "status", "reported_at"),
)  # fmt: skip
Table(
    "balance_events", metadata,
    need("agent_id", Text), need("n", BIG), need("chain_id", BIG), need("asset", Text), need("state", Text),
    need("delta", TOKENS), need("ref_kind", Text), need("ref_id", Text), need("created_at", BIG),
    PrimaryKeyConstraint("agent_id", "n"),
    UniqueConstraint("agent_id", "ref_kind", "ref_id", "state", "asset", "chain_id", name="one_delta_a_cause"),
    Index("balance_events_sum", "agent_id", "chain_id", "asset", "state"),
    Index("balance_events_time", "agent_id", "created_at", "n"),
)  # fmt: skip
Table(
    "balances", metadata,
    need("agent_id", Text), need("chain_id", BIG), need("asset", Text), need("state", Text), need("amount", TOKENS),
    PrimaryKeyConstraint("agent_id", "chain_id", "asset", "state"),
)  # fmt: skip
Table(
    "chain_cursors", metadata,
    Column("chain_id", BIG, primary_key=True), need("block", BIG), may("hash", Text), may("head", BIG),
    may("read_at", BIG), Column("deep", BIG, nullable=False, server_default=text("0")),
)  # fmt: skip
Table(
    "chain_blocks", metadata,
    need("chain_id", BIG), need("number", BIG), need("hash", Text),
    PrimaryKeyConstraint("chain_id", "number"),
)  # fmt: skip
Table(
    "chain_staging", metadata,
    need("chain_id", BIG), need("block_number", BIG), need("block_hash", Text), need("tx_hash", Text),
    need("log_index", BIG), need("address_lower", Text), need("body", Text),
    PrimaryKeyConstraint("chain_id", "block_hash", "log_index"),
    Index("chain_staging_block", "chain_id", "block_number"),
    Index("chain_staging_vault", "chain_id", "address_lower"),
)  # fmt: skip
Table(
    "chain_vaults", metadata,
    need("chain_id", BIG), need("address_lower", Text), need("digest", Text), need("block_number", BIG),
    Column("deep", SmallInteger, nullable=False, server_default=text("0")), may("replay_from", BIG),
    PrimaryKeyConstraint("chain_id", "address_lower"),
    Index("chain_vaults_digest", "chain_id", "digest"),
    Index("chain_vaults_block", "chain_id", "block_number"),
    Index("chain_vaults_replay", "chain_id", "replay_from", **_WHILE_TO_READ),
)  # fmt: skip
Table(
    "chain_inbound", metadata,
    Column("chain_id", BIG, primary_key=True), need("block", BIG),
)  # fmt: skip
Table(
    "hall_days", metadata,
    need("public_id", Text), need("day", Text), need("agent_id", Text), need("body", Text),
    PrimaryKeyConstraint("public_id", "day"),
    Index("hall_days_agent", "agent_id", "day"),
)  # fmt: skip
Table(
    "hall_agents", metadata,
    Column("agent_id", Text, primary_key=True), need("accepts", SmallInteger), need("unranked", SmallInteger),
    *(need(f"by_{n}", BIG) for n in _HALL_SORTS), need("mandates_working", BIG), need("usdc_working", BIG),
    need("as_of", BIG), need("facts", Text), need("body", Text),
    Column("mandates", BIG, nullable=False, server_default="0"), Column("calls", BIG, nullable=False, server_default="0"),
    Column("chart", Text, nullable=False, server_default="{}"),
    Index("hall_agents_totals", "mandates", "mandates_working", "usdc_working", "calls"),
    *(Index(f"hall_agents_{n}", "unranked", f"by_{n}", "agent_id") for n in _HALL_SORTS),
)  # fmt: skip
Table(
    "webhooks", metadata,
    Column("webhook_id", Text, primary_key=True), need("owner_id", Text), need("url", Text), need("events", Text),
    need("generation", BIG), need("created_at", BIG), may("rotated_at", BIG), may("next_at", BIG),
    need("busy_until", BIG), need("failures", BIG),
    Index("webhooks_owner", "owner_id", "created_at", "webhook_id"),
    Index("webhooks_due", "next_at"),
)  # fmt: skip
Table(
    "webhook_deliveries", metadata,
    Column("delivery_id", Text, primary_key=True), need("webhook_id", Text), need("notice_key", Text),
    need("kind", Text), need("body", Text), need("status", Text), need("made_at", BIG), need("next_at", BIG),
    need("attempts", BIG), may("last_at", BIG), may("answered", BIG), may("fault", Text),
    UniqueConstraint("webhook_id", "notice_key", name="one_delivery_a_notice"),
    Index("webhook_deliveries_waiting", "webhook_id", "status", "next_at"),
    Index("webhook_deliveries_newest", "webhook_id", "made_at", "delivery_id"),
)  # fmt: skip
Table(
    "stored_days", metadata,
    need("owner_id", Text), need("day", Text), need("bytes", BIG),
    PrimaryKeyConstraint("owner_id", "day"),
)  # fmt: skip
Table("notice_cursor", metadata, Column("name", Text, primary_key=True), need("cursor", Text))
Table(
    "work_claims", metadata,
    need("kind", Text), need("key", Text), need("holder", Text), need("until_at", BIG),
    PrimaryKeyConstraint("kind", "key"),
)  # fmt: skip
