"""The tables, once, for both databases.

Units: money in micro-USDC (`*_micros`), times in microseconds since 1970 UTC (`*_at`), JSON as
canonical text. Token amounts of transfers are micro-units in NUMERIC(38, 0); SQLite keeps them in
64 bits, so that an amount beyond ±9.2e12 tokens is refused there (see
docs/decisions/0003-amounts-on-sqlite.md).
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Identity,
    Index,
    Integer,
    MetaData,
    Numeric,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata: Final = MetaData()
BIG: Final = BigInteger().with_variant(Integer, "sqlite")
_HALL_SORTS: Final = ("days_live", "trades_total", "net_30d", "twr_30d", "drawdown_30d", "working")
ON_POSTGRES: Final = {"only_on": "postgresql"}
TOKENS: Final = Numeric(38, 0).with_variant(Integer, "sqlite")


def _where(condition: str) -> dict[str, Any]:
    """Which rows an index holds."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


_WHILE_TO_ASK: Final = _where("next_check_at IS NOT NULL")
_WHILE_IT_LASTS: Final = _where("ended_at IS NULL")
_WHILE_TO_READ: Final = _where("replay_from IS NOT NULL")
_LATE: Final = (
    "(occurred_at + 259200000000) / 604800000000 < (created_at + 259200000000) / 604800000000"
)
_SOMEBODY: Final = "agent_lower <> '0x0000000000000000000000000000000000000000'"


def _need(name: str, kind: object) -> Column[object]:
    return Column(name, kind, nullable=False)  # type: ignore[arg-type]  # the stub wants a literal type


def _may(name: str, kind: object) -> Column[object]:
    return Column(name, kind, nullable=True)  # type: ignore[arg-type]  # as above


Table(
    "mandates", metadata,
    Column("public_id", Text, primary_key=True),
    _need("owner_id", Text), _may("agent_id", Text), _need("open_board", SmallInteger), _need("status", Text),
    _need("chain_id", BIG), _may("vault_lower", Text), _may("accepted_at", BIG), _need("created_at", BIG),
    _may("refreshed_at", BIG), _may("proposed_by", Text), _need("version", BIG), _need("body", Text),
    _may("differs_at", BIG), _may("sums_block", BIG),
    Index("mandates_owner", "owner_id", "created_at", "public_id"),
    Index("mandates_agent", "agent_id", "created_at", "public_id"),
    Index(
        "mandates_offered", "agent_id", "created_at", "public_id",
        sqlite_where=text("accepted_at IS NULL"), postgresql_where=text("accepted_at IS NULL"),
    ),
    Index("mandates_open", "open_board", "created_at", "public_id"),
    Index("mandates_refresh", "refreshed_at"),
    UniqueConstraint("chain_id", "vault_lower", name="one_mandate_a_vault"),
)  # fmt: skip
Table(
    "ledger_events", metadata,
    _need("public_id", Text), _need("seq", BIG), _need("event_id", Text), _need("kind", Text), _need("reported_by", Text),
    _may("amount_micros", BIG), _may("tx_hash", Text), _may("chain_id", BIG), _may("log_index", BIG),
    _may("block_number", BIG), _may("pairs_with", BIG), _need("payload", Text), _need("occurred_at", BIG),
    _need("created_at", BIG), _need("prev_hash", Text), _need("row_hash", Text),
    # The order of all mandates' rows (storage.tail). SQLite has it already: the rowid.
    Column("position", BigInteger, Identity(always=True), nullable=False, info=ON_POSTGRES),
    PrimaryKeyConstraint("public_id", "seq"),
    UniqueConstraint("event_id", name="one_row_an_event"),
    Index("ledger_tx", "public_id", "tx_hash", "reported_by", "seq"),
    Index("ledger_created", "public_id", "created_at", "seq"),
    Index("ledger_positions", "position", unique=True, info=ON_POSTGRES),
    Index(
        "one_partner_a_row", "public_id", "pairs_with", unique=True,
        sqlite_where=text("pairs_with IS NOT NULL"), postgresql_where=text("pairs_with IS NOT NULL"),
    ),
    Index(
        "ledger_blocks", "chain_id", "block_number",
        sqlite_where=text("block_number IS NOT NULL"), postgresql_where=text("block_number IS NOT NULL"),
    ),
    # What happened in a week before that in which it was stored: a statement looks for it.
    Index("ledger_late", "public_id", "occurred_at", sqlite_where=text(_LATE), postgresql_where=text(_LATE)),
    Index(
        "one_row_a_log", "public_id", "tx_hash", "log_index", unique=True,
        sqlite_where=text("log_index IS NOT NULL AND tx_hash IS NOT NULL AND reported_by = 'chain'"),
        postgresql_where=text("log_index IS NOT NULL AND tx_hash IS NOT NULL AND reported_by = 'chain'"),
    ),
)  # fmt: skip
Table(
    "ledger_heads", metadata,
    Column("public_id", Text, primary_key=True), _need("seq", BIG), _need("row_hash", Text), _need("created_at", BIG),
)  # fmt: skip
Table(
    "ledger_checkpoints", metadata,
    _need("public_id", Text), _need("seq", BIG), _need("created_at", BIG), _need("state", Text),
    PrimaryKeyConstraint("public_id", "seq"),
)  # fmt: skip
Table(
    "users", metadata,
    Column("user_id", Text, primary_key=True), _need("address", Text), _need("address_lower", Text),
    _need("created_at", BIG),
    UniqueConstraint("address_lower", name="one_user_an_address"),
)  # fmt: skip
Table(
    "agents", metadata,
    Column("agent_id", Text, primary_key=True), _need("owner_id", Text), _need("name", Text), _may("address", Text),
    _need("created_at", BIG),
    Index("agents_owner", "owner_id", "created_at", "agent_id"),
    Index("agents_created", "created_at", "agent_id"),
)  # fmt: skip
Table(
    "agent_keys", metadata,
    Column("key_id", Text, primary_key=True), _need("agent_id", Text), _need("key_hash", Text), _need("created_at", BIG),
    _may("revoked_at", BIG),
    UniqueConstraint("key_hash", name="one_key_a_hash"),
    Index("agent_keys_agent", "agent_id"),
)  # fmt: skip
Table(
    "house_keys", metadata,
    Column("key_id", Text, primary_key=True), _need("role", Text), _need("key_hash", Text), _need("created_at", BIG),
    _may("revoked_at", BIG),
    UniqueConstraint("key_hash", name="one_house_key_a_hash"),
)  # fmt: skip
Table(
    "challenges", metadata,
    Column("nonce", Text, primary_key=True), _need("message", Text), _need("address", Text), _need("chain_id", BIG),
    _need("expires_at", BIG),
)  # fmt: skip
Table(
    "sessions", metadata,
    Column("token_hash", Text, primary_key=True), _need("user_id", Text), _need("created_at", BIG),
    _need("expires_at", BIG), _need("longest_at", BIG),
    Index("sessions_expiry", "expires_at"),
)  # fmt: skip
Table(
    "approvals", metadata,
    Column("approval_id", Text, primary_key=True), _need("public_id", Text), _need("status", Text),
    _need("action_hash", Text), _need("requested_at", BIG), _need("expires_at", BIG), _may("decided_at", BIG),
    _need("body", Text), Column("owner_id", Text, nullable=False, server_default=""),
    Index("approvals_owner", "owner_id", "status", "expires_at", "approval_id"),
    Index("approvals_mandate", "public_id", "requested_at", "approval_id"),
    Index("approvals_action", "public_id", "action_hash"),
)  # fmt: skip
Table(
    "reservations", metadata,
    _need("public_id", Text), _need("action_hash", Text), _need("target", Text), _need("selector", Text),
    _need("data_hash", Text), _need("amount_micros", BIG), _need("made_at", BIG), _need("expires_at", BIG),
    _need("sender", Text), _may("block", BIG), _may("approval_id", Text), _may("outcome", Text), _may("tx_hash", Text),
    PrimaryKeyConstraint("public_id", "action_hash"),
    Index("reservations_live", "public_id", "expires_at"),
    Index("reservations_call", "public_id", "data_hash"),
)  # fmt: skip
Table(
    "idempotency", metadata,
    _need("scope", Text), _need("key", Text), _need("request_hash", Text), _need("claimed_at", BIG),
    _may("status", Integer), _may("response", Text), _may("until_at", BIG),
    PrimaryKeyConstraint("scope", "key"),
)  # fmt: skip
Table(
    "switches", metadata,
    Column("name", Text, primary_key=True), _need("value", Text), _need("changed_at", BIG), _need("changed_by", Text),
)  # fmt: skip
Table(
    "policies", metadata,
    Column("agent_id", Text, primary_key=True), _need("accepts", SmallInteger), _need("body", Text), _need("updated_at", BIG),
)  # fmt: skip
Table(
    "policy_changes", metadata,
    _need("agent_id", Text), _need("n", BIG), _need("changed_at", BIG), _need("changes", Text),
    PrimaryKeyConstraint("agent_id", "n"),
)  # fmt: skip
Table(
    "deposit_addresses", metadata,
    _need("agent_id", Text), _need("chain_id", BIG), _need("address", Text), _need("set_at", BIG),
    _may("nonce", Text),
    PrimaryKeyConstraint("agent_id", "chain_id"),
    Index("deposit_addresses_chain", "chain_id", "address"),
)  # fmt: skip
Table(
    "proven_addresses", metadata,
    _need("chain_id", BIG), _need("address", Text), _need("agent_id", Text), _need("proven_at", BIG),
    _need("proof", Text),
    PrimaryKeyConstraint("chain_id", "address"),
    Index("proven_addresses_agent", "agent_id", "chain_id"),
)  # fmt: skip
Table(
    "transfer_reports", metadata,
    _need("chain_id", BIG), _need("tx_hash", Text), _need("agent_id", Text), _need("asset", Text),
    _need("amount", TOKENS), _may("amount_actual", TOKENS), _need("direction", Text), _need("reported_by", Text),
    _need("status", Text), _may("override_reason", Text), _need("reported_at", BIG), _may("confirmed_at", BIG),
    PrimaryKeyConstraint("chain_id", "tx_hash"),
    Index("transfer_reports_agent", "agent_id", "reported_at", "tx_hash"),
    Index("transfer_reports_open", "chain_id", "status", "reported_at"),
)  # fmt: skip
Table(
    "balance_events", metadata,
    _need("agent_id", Text), _need("n", BIG), _need("chain_id", BIG), _need("asset", Text), _need("state", Text),
    _need("delta", TOKENS), _need("ref_kind", Text), _need("ref_id", Text), _need("created_at", BIG),
    PrimaryKeyConstraint("agent_id", "n"),
    UniqueConstraint("agent_id", "ref_kind", "ref_id", "state", "asset", "chain_id", name="one_delta_a_cause"),
    Index("balance_events_sum", "agent_id", "chain_id", "asset", "state"),
    Index("balance_events_time", "agent_id", "created_at", "n"),
)  # fmt: skip
Table(
    "balances", metadata,
    _need("agent_id", Text), _need("chain_id", BIG), _need("asset", Text), _need("state", Text), _need("amount", TOKENS),
    PrimaryKeyConstraint("agent_id", "chain_id", "asset", "state"),
)  # fmt: skip
Table(
    "chain_cursors", metadata,
    Column("chain_id", BIG, primary_key=True), _need("block", BIG), _may("hash", Text), _may("head", BIG),
    _may("read_at", BIG), Column("deep", BIG, nullable=False, server_default=text("0")),
)  # fmt: skip
Table(
    "chain_blocks", metadata,
    _need("chain_id", BIG), _need("number", BIG), _need("hash", Text),
    PrimaryKeyConstraint("chain_id", "number"),
)  # fmt: skip
Table(
    "chain_staging", metadata,
    _need("chain_id", BIG), _need("block_number", BIG), _need("block_hash", Text), _need("tx_hash", Text),
    _need("log_index", BIG), _need("address_lower", Text), _need("body", Text),
    PrimaryKeyConstraint("chain_id", "block_hash", "log_index"),
    Index("chain_staging_block", "chain_id", "block_number"),
    Index("chain_staging_vault", "chain_id", "address_lower"),
)  # fmt: skip
Table(
    "chain_vaults", metadata,
    _need("chain_id", BIG), _need("address_lower", Text), _need("digest", Text), _need("block_number", BIG),
    Column("deep", SmallInteger, nullable=False, server_default=text("0")), _may("replay_from", BIG),
    PrimaryKeyConstraint("chain_id", "address_lower"),
    Index("chain_vaults_digest", "chain_id", "digest"),
    Index("chain_vaults_block", "chain_id", "block_number"),
    Index("chain_vaults_replay", "chain_id", "replay_from", **_WHILE_TO_READ),
)  # fmt: skip
Table(
    "chain_inbound", metadata,
    Column("chain_id", BIG, primary_key=True), _need("block", BIG),
)  # fmt: skip
Table(
    "hall_days", metadata,
    _need("public_id", Text), _need("day", Text), _need("agent_id", Text), _need("body", Text),
    PrimaryKeyConstraint("public_id", "day"),
    Index("hall_days_agent", "agent_id", "day"),
)  # fmt: skip
Table(
    "hall_agents", metadata,
    Column("agent_id", Text, primary_key=True), _need("accepts", SmallInteger), _need("ranked", SmallInteger),
    *(_need(f"by_{n}", BIG) for n in _HALL_SORTS), _need("mandates_working", BIG), _need("usdc_working", BIG),
    _need("as_of", BIG), _need("facts", Text), _need("body", Text),
    Column("mandates", BIG, nullable=False, server_default="0"), Column("calls", BIG, nullable=False, server_default="0"),
    Column("chart", Text, nullable=False, server_default="{}"),
    Index("hall_agents_totals", "mandates", "mandates_working", "usdc_working", "calls"),
    *(Index(f"hall_agents_{n}", f"by_{n}", "agent_id") for n in _HALL_SORTS),
)  # fmt: skip
Table(
    "webhooks", metadata,
    Column("webhook_id", Text, primary_key=True), _need("owner_id", Text), _need("url", Text), _need("events", Text),
    _need("generation", BIG), _need("created_at", BIG), _may("rotated_at", BIG), _may("next_at", BIG),
    _need("busy_until", BIG), _need("failures", BIG),
    Index("webhooks_owner", "owner_id", "created_at", "webhook_id"),
    Index("webhooks_due", "next_at"),
)  # fmt: skip
Table(
    "webhook_deliveries", metadata,
    Column("delivery_id", Text, primary_key=True), _need("webhook_id", Text), _need("notice_key", Text),
    _need("kind", Text), _need("body", Text), _need("status", Text), _need("made_at", BIG), _need("next_at", BIG),
    _need("attempts", BIG), _may("last_at", BIG), _may("answered", BIG), _may("fault", Text),
    UniqueConstraint("webhook_id", "notice_key", name="one_delivery_a_notice"),
    Index("webhook_deliveries_waiting", "webhook_id", "status", "next_at"),
    Index("webhook_deliveries_newest", "webhook_id", "made_at", "delivery_id"),
)  # fmt: skip
Table("notice_cursor", metadata, Column("name", Text, primary_key=True), _need("cursor", Text))
Table(
    "work_claims", metadata,
    _need("kind", Text), _need("key", Text), _need("holder", Text), _need("until_at", BIG),
    PrimaryKeyConstraint("kind", "key"),
)  # fmt: skip
Table(
    "venue_links", metadata,
    Column("link_id", Text, primary_key=True), _need("user_id", Text), _need("network", Text), _need("wallet", Text),
    _need("wallet_lower", Text), _need("terms_version", BIG),
    _need("linked_at", BIG), _may("ended_at", BIG), _may("ended_why", Text),
    Index("one_link_a_wallet", "network", "wallet_lower", unique=True, **_WHILE_IT_LASTS),
    Index("one_link_a_person", "user_id", "network", unique=True, **_WHILE_IT_LASTS),
)  # fmt: skip
Table(
    "venue_challenges", metadata,
    Column("challenge_id", Text, primary_key=True), _need("user_id", Text), _need("network", Text), _need("address", Text),
    _need("message", Text), _need("terms_version", BIG), _need("terms_sha256", Text), _need("made_at", BIG),
    _need("expires_at", BIG), _may("used_at", BIG),
    Index("venue_challenges_user", "user_id", "made_at", "challenge_id"),
)  # fmt: skip
Table(
    "venue_agent_keys", metadata,
    Column("approval_id", Text, primary_key=True), _need("link_id", Text), _need("network", Text), _need("wallet_lower", Text),
    _need("kind", Text), _need("agent_lower", Text), _need("name", Text), _need("nonce", BIG), _need("signature_chain_id", Text),
    _need("valid_until", BIG), _need("status", Text), _need("requested_at", BIG), _may("checked_at", BIG),
    _need("listed", SmallInteger), _may("ended_at", BIG),
    UniqueConstraint("network", "wallet_lower", "nonce", name="one_approval_a_nonce"),
    Index(
        "one_approval_an_agent", "agent_lower", unique=True,
        sqlite_where=text(_SOMEBODY), postgresql_where=text(_SOMEBODY),
    ),
    Index("venue_agent_keys_link", "link_id", "kind", "requested_at"),
)  # fmt: skip
Table(
    "venue_builder_fees", metadata,
    _need("network", Text), _need("wallet_lower", Text), _need("builder_lower", Text),
    _need("user_id", Text), _need("wallet", Text), _need("max_fee_rate", Text), _need("recorded_at", BIG),
    _may("approved_tenths_bps", BIG), _need("ever_approved", SmallInteger), _may("checked_at", BIG),
    PrimaryKeyConstraint("network", "wallet_lower", "builder_lower"),
)  # fmt: skip
Table(
    "venue_intents", metadata,
    Column("intent_id", Text, primary_key=True), _need("user_id", Text), _need("kind", Text), _need("body", Text),
    _need("created_at", BIG), _may("valid_until", BIG),
    Index("venue_intents_user", "user_id", "created_at", "intent_id"),
)  # fmt: skip
Table(
    "venue_weights", metadata,
    Column("key", Text, primary_key=True), _need("body", Text),
)  # fmt: skip
Table(
    "trade_allowlist", metadata,
    Column("item", Text, primary_key=True), _need("changed_at", BIG), _need("changed_by", Text), _may("removed_at", BIG),
)  # fmt: skip
Table(
    "limit_log", metadata,
    _need("subject", Text), _need("n", BIG), _need("what", Text), _need("changed_at", BIG), _need("changed_by", Text),
    _need("changes", Text), _may("why", Text),
    PrimaryKeyConstraint("subject", "n"),
    Index("limit_log_newest", "changed_at", "subject", "n"),
)  # fmt: skip
Table(
    "orders", metadata,
    Column("order_id", Text, primary_key=True), _need("owner_id", Text), _may("agent_id", Text), _need("mode", Text),
    _need("network", Text), _need("status", Text), _need("version", BIG), _need("cloid", Text), _may("mandate_id", Text),
    _need("counted_micros", BIG), _may("counted_day", Text), _may("confirm_hash", Text), _need("created_at", BIG),
    _need("expires_at", BIG), _may("next_check_at", BIG), _need("body", Text),
    UniqueConstraint("cloid", name="one_order_a_cloid"), UniqueConstraint("confirm_hash", name="one_order_a_confirm"),
    Index("orders_owner", "owner_id", "status", "created_at"), Index("orders_agent", "agent_id", "status"),
    Index("orders_mandate", "mandate_id", "counted_day"), Index("orders_ends", "status", "expires_at"),
    Index("orders_to_ask", "next_check_at", **_WHILE_TO_ASK),
)  # fmt: skip
Table(
    "order_fills", metadata,
    _need("order_id", Text), _need("n", BIG), _may("tid", BIG), _need("body", Text),
    PrimaryKeyConstraint("order_id", "n"), UniqueConstraint("order_id", "tid", name="one_fill_a_trade"),
)  # fmt: skip
Table(
    "order_counters", metadata,
    _need("scope", Text), _need("day", Text), _need("used_micros", BIG), _need("reserved_micros", BIG),
    PrimaryKeyConstraint("scope", "day"),
)  # fmt: skip
Table(
    "own_limits", metadata,
    _need("user_id", Text), _need("surface", Text), _need("per_order_micros", BIG), _need("per_day_micros", BIG),
    PrimaryKeyConstraint("user_id", "surface"),
)  # fmt: skip
Table(
    "signer_nonces", metadata,
    Column("signer", Text, primary_key=True), _need("last", BIG),
)  # fmt: skip
Table(
    "paper_books", metadata,
    Column("book", Text, primary_key=True), _need("owner_id", Text), _may("agent_id", Text), _need("name", Text),
    _need("start_micros", BIG), _need("model", Text), _need("created_at", BIG),
    UniqueConstraint("owner_id", "name", name="one_paper_book_a_name"), Index("paper_books_agent", "agent_id"),
)  # fmt: skip
Table(
    "paper_entries", metadata,
    _need("book", Text), _need("n", BIG), _need("kind", Text), _need("ref", Text), _need("at", BIG), _may("snapshot", Text),
    _need("body", Text), _need("prev_hash", Text), _need("row_hash", Text), PrimaryKeyConstraint("book", "n"),
    UniqueConstraint("book", "kind", "ref", name="one_paper_entry_a_ref"), Index("paper_entries_snapshot", "snapshot"),
)  # fmt: skip
Table(
    "paper_snapshots", metadata,
    Column("hash", Text, primary_key=True), _need("coin", Text), _need("at", BIG), _need("body", Text),
)  # fmt: skip
Table(
    "paper_watch", metadata,
    Column("book", Text, primary_key=True), _need("seen_at", BIG), _may("due_at", BIG), Index("paper_watch_due", "due_at"),
)  # fmt: skip
