"""The tables, once, for both databases.

Units: money in micro-USDC (`*_micros`), times in microseconds since 1970 UTC (`*_at`), JSON as
canonical text. Token amounts of transfers are micro-units in NUMERIC(38, 0); SQLite keeps them in
64 bits, so that an amount beyond ±9.2e12 tokens is refused there (see
docs/decisions/0003-amounts-on-sqlite.md).

What a revision after the first release adds has its number: `info=since("0041")`, on a table, an
index, or a column, which is its table's last.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
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
TOKENS: Final = Numeric(38, 0).with_variant(Integer, "sqlite")


def where(condition: str) -> dict[str, Any]:
    """The condition that rows of a partial index meet."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


def since(revision: str) -> dict[str, str]:
    """The mark of what a revision adds; the first release's leaves it out."""
    return {"since": revision}


def need(name: str, kind: object) -> Column[object]:
    """A column that every row has."""
    return Column(name, kind, nullable=False)  # type: ignore[arg-type]  # the stub wants a literal type


def may(name: str, kind: object) -> Column[object]:
    """A column that a row can leave empty."""
    return Column(name, kind, nullable=True)  # type: ignore[arg-type]  # as above


_HALL_SORTS: Final = ("days_live", "trades_total", "net_30d", "twr_30d", "drawdown_30d", "working")
# The kinds of notices that there were to choose from before the choice said so.
OFFERED_BEFORE: Final = (
    '["approval.asked","approval.decided","cap.reached","mandate.acceptance_ended",'
    '"mandate.paused","mandate.resumed","mandate.stop_line","mandate.stopped","mandate.settled",'
    '"deposit.seen","transfer.in","order.unknown"]'
)
ON_POSTGRES: Final = {"only_on": "postgresql"}
_WHILE_TO_READ: Final = where("replay_from IS NOT NULL")
_LATE: Final = (
    "(occurred_at + 259200000000) / 604800000000 < (created_at + 259200000000) / 604800000000"
)
_WHILE_TO_ASK: Final = where("next_check_at IS NOT NULL")
_WHILE_IT_LASTS: Final = where("ended_at IS NULL")
_SOMEBODY: Final = "agent_lower <> '0x0000000000000000000000000000000000000000'"

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
# What owners let apps do in the name of an agent; the hashes of its code and refresh token, in one row.
Table(
    "oauth_grants", metadata,
    Column("grant_id", Text, primary_key=True), need("owner_id", Text), need("agent_id", Text),
    need("client_hash", Text), may("client_host", Text), need("client_name", Text), need("redirect_uri", Text),
    need("scopes", Text), need("resource", Text), need("created_at", BIG), need("code_hash", Text),
    need("code_challenge", Text), need("code_until", BIG), may("redeemed_at", BIG), may("used_at", BIG),
    may("family_hash", Text), may("refresh_hash", Text), may("refresh_until", BIG), may("ended_at", BIG),
    may("ended_by", Text), may("held_key", BIG),
    UniqueConstraint("code_hash", name="one_grant_a_code"),
    UniqueConstraint("family_hash", name="one_grant_a_family"),
    Index("oauth_grants_agent", "agent_id", "created_at", "grant_id"),
    Index("oauth_grants_owner", "owner_id"),
)  # fmt: skip
Table(
    "oauth_tokens", metadata,
    Column("token_hash", Text, primary_key=True), need("grant_id", Text), need("agent_id", Text),
    need("client_hash", Text), need("scopes", Text), need("resource", Text), need("expires_at", BIG),
    may("used_at", BIG),
    Index("oauth_tokens_grant", "grant_id", "expires_at"),
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
    "held_tasks", metadata,
    Column("approval_id", Text, primary_key=True), need("public_id", Text), need("tool", Text),
    need("arguments", Text), may("status", Integer), need("answer", Text),
)  # fmt: skip
Table(
    "sent_calls", metadata,
    need("agent_id", Text), need("public_id", Text), need("key", Text), need("request_hash", Text),
    need("chain_id", BIG), need("sender", Text), need("nonce", BIG), need("action_hash", Text),
    need("stored_at", BIG), need("sent", Text), may("why", Text), may("outcome", Text),
    may("tx_hash", Text), may("event_id", Text),
    PrimaryKeyConstraint("agent_id", "public_id", "key"),
    Index("sent_calls_nonce", "chain_id", "sender", "nonce", unique=True),
)  # fmt: skip
Table(
    "bills", metadata,
    Column("bill_id", Text, primary_key=True), need("public_id", Text), need("agent_id", Text), need("key", Text),
    need("request_hash", Text), need("chain_id", BIG), need("hub", Text), need("purse", Text), need("epoch", BIG),
    need("resource", Text), need("host", Text), need("pay_to", Text), need("amount_micros", BIG), need("nonce", Text),
    need("salt", Text), need("valid_after", BIG), need("valid_before", BIG), need("action_hash", Text),
    need("made_at", BIG), need("body", Text), may("approval_id", Text), may("voided_at", BIG), may("paid_at", BIG),
    may("tx_hash", Text), may("event_id", Text),
    Index("bills_key", "agent_id", "public_id", "key", unique=True),
    Index("bills_nonce", "purse", "nonce", unique=True),
    Index("bills_open", "public_id", "valid_before"),
    Index("bills_mandate", "public_id", "made_at", "bill_id"),
    Index("bills_paid", "public_id", "paid_at"),
    Index("bills_hub", "hub"),
)  # fmt: skip
Table(
    "hosted_keys", metadata,
    Column("agent_id", Text, primary_key=True), need("number", BIG), need("address", Text), need("made_at", BIG),
    need("ends_with_apps", SmallInteger), may("ended_at", BIG), may("away_at", BIG),
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
    PrimaryKeyConstraint("chain_id", "block_hash", "log_index", "address_lower"),
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
    "chain_purses", metadata,
    need("chain_id", BIG), need("address_lower", Text), need("hub_lower", Text), need("vault_lower", Text),
    need("public_id", Text),
    PrimaryKeyConstraint("chain_id", "address_lower"),
    Index("chain_purses_mandate", "public_id"),
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
    need("busy_until", BIG), need("failures", BIG), need("channel", Text), may("sealed", Text), may("verified_at", BIG),
    may("failing_since", BIG), may("language", Text),
    Index("webhooks_owner", "owner_id", "created_at", "webhook_id"),
    Index("webhooks_due", "next_at"), Index("webhooks_pushed_to", "url", **where("channel = 'push'")),
)  # fmt: skip
Table(
    "webhook_deliveries", metadata,
    Column("delivery_id", Text, primary_key=True), need("webhook_id", Text), need("notice_key", Text),
    need("kind", Text), need("body", Text), need("status", Text), need("made_at", BIG), need("next_at", BIG),
    need("attempts", BIG), may("last_at", BIG), may("answered", BIG), may("fault", Text), may("about", Text),
    UniqueConstraint("webhook_id", "notice_key", name="one_delivery_a_notice"),
    Index("webhook_deliveries_waiting", "webhook_id", "status", "next_at"),
    Index("webhook_deliveries_newest", "webhook_id", "made_at", "delivery_id"),
)  # fmt: skip
Table(
    "notice_settings", metadata,
    Column("owner_id", Text, primary_key=True), need("webhook", Text), need("push", Text), need("email", Text), need("quiet", Text),
    Column("offered", Text, nullable=False, server_default=OFFERED_BEFORE, info=since("0041")),
)  # fmt: skip
# Who asked for a link to an address, for a day: it goes to strangers, so that it is counted first.
Table(
    "email_links", metadata,
    need("owner_id", Text), need("address_hash", Text), need("asked_at", BIG), need("is_funded", BIG),
    PrimaryKeyConstraint("owner_id", "address_hash", "asked_at"),
    Index("email_links_address", "address_hash", "asked_at"), Index("email_links_asked", "asked_at", "is_funded"),
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
# MCP sessions and streams, where several processes serve: a process that does not know a session
# reads it here. An address, key or owner has so many places in all of them (domain.shares).
Table(
    "mcp_places", metadata,
    Column("place_hash", Text, primary_key=True), need("kind", Text), need("process", Text), may("credential", Text),
    may("owner", Text), need("used_at", BIG), may("ended_at", BIG),
    Index("mcp_places_owner", "owner", "kind", **where("owner IS NOT NULL")),
    Index("mcp_places_ended", "process", **where("ended_at IS NOT NULL")),
    Index("mcp_places_used", "used_at"),
)  # fmt: skip
# A message for a stream that another process holds: sealed, a minute at the most.
Table(
    "mcp_inbox", metadata,
    need("place_hash", Text), need("n", BIG), need("process", Text), need("body", Text), need("created_at", BIG),
    PrimaryKeyConstraint("place_hash", "n"),
    Index("mcp_inbox_process", "process"), Index("mcp_inbox_age", "created_at"),
)  # fmt: skip
# What a session of MCP subscribed to, with the state in which it then was.
Table(
    "mcp_subscriptions", metadata,
    need("place_hash", Text), need("uri", Text), need("version", Text),
    PrimaryKeyConstraint("place_hash", "uri"),
)  # fmt: skip
# Calls of a minute, counted by several processes: when those of one key are paid off.
Table(
    "rate_meters", metadata,
    Column("meter_hash", Text, primary_key=True), need("due_at", BIG), Index("rate_meters_due", "due_at"),
)  # fmt: skip

# -- trading

Table(
    "venue_links", metadata,
    Column("link_id", Text, primary_key=True), need("user_id", Text), need("network", Text), need("wallet", Text),
    need("wallet_lower", Text), need("terms_version", BIG),
    need("linked_at", BIG), may("ended_at", BIG), may("ended_why", Text),
    Index("one_link_a_wallet", "network", "wallet_lower", unique=True, **_WHILE_IT_LASTS),
    Index("one_link_a_person", "user_id", "network", unique=True, **_WHILE_IT_LASTS),
)  # fmt: skip
Table(
    "venue_challenges", metadata,
    Column("challenge_id", Text, primary_key=True), need("user_id", Text), need("network", Text), need("address", Text),
    need("message", Text), need("terms_version", BIG), need("terms_sha256", Text), need("made_at", BIG),
    need("expires_at", BIG), may("used_at", BIG),
    Index("venue_challenges_user", "user_id", "made_at", "challenge_id"),
)  # fmt: skip
Table(
    "venue_agent_keys", metadata,
    Column("approval_id", Text, primary_key=True), need("link_id", Text), need("network", Text), need("wallet_lower", Text),
    need("kind", Text), need("agent_lower", Text), need("name", Text), need("nonce", BIG), need("signature_chain_id", Text),
    need("valid_until", BIG), need("status", Text), need("requested_at", BIG), may("checked_at", BIG),
    need("listed", SmallInteger), may("ended_at", BIG),
    UniqueConstraint("network", "wallet_lower", "nonce", name="one_approval_a_nonce"),
    Index(
        "one_approval_an_agent", "agent_lower", unique=True,
        **where(_SOMEBODY),
    ),
    Index("venue_agent_keys_link", "link_id", "kind", "requested_at"),
)  # fmt: skip
Table(
    "venue_builder_fees", metadata,
    need("network", Text), need("wallet_lower", Text), need("builder_lower", Text),
    need("user_id", Text), need("wallet", Text), need("max_fee_rate", Text), need("recorded_at", BIG),
    may("approved_tenths_bps", BIG), need("ever_approved", SmallInteger), may("checked_at", BIG),
    PrimaryKeyConstraint("network", "wallet_lower", "builder_lower"),
)  # fmt: skip
Table(
    "venue_intents", metadata,
    Column("intent_id", Text, primary_key=True), need("user_id", Text), need("kind", Text), need("body", Text),
    need("created_at", BIG), may("valid_until", BIG),
    Index("venue_intents_user", "user_id", "created_at", "intent_id"),
)  # fmt: skip
Table(
    "venue_weights", metadata,
    Column("key", Text, primary_key=True), need("body", Text),
)  # fmt: skip
Table(
    "trade_allowlist", metadata,
    Column("item", Text, primary_key=True), need("changed_at", BIG), need("changed_by", Text), may("removed_at", BIG),
)  # fmt: skip
Table(
    "limit_log", metadata,
    need("subject", Text), need("n", BIG), need("what", Text), need("changed_at", BIG), need("changed_by", Text),
    need("changes", Text), may("why", Text),
    PrimaryKeyConstraint("subject", "n"),
    Index("limit_log_newest", "changed_at", "subject", "n"),
)  # fmt: skip
Table(
    "orders", metadata,
    Column("order_id", Text, primary_key=True), need("owner_id", Text), may("agent_id", Text), need("mode", Text),
    need("network", Text), need("status", Text), need("version", BIG), need("cloid", Text), may("mandate_id", Text),
    need("counted_micros", BIG), may("counted_day", Text), may("confirm_hash", Text), need("created_at", BIG),
    need("expires_at", BIG), may("next_check_at", BIG), need("body", Text), may("book", Text),
    UniqueConstraint("cloid", name="one_order_a_cloid"), UniqueConstraint("confirm_hash", name="one_order_a_confirm"),
    Index("orders_owner", "owner_id", "status", "created_at"),
    Index("orders_made", "owner_id", "mode", "created_at", "order_id"),
    Index("orders_agent", "agent_id", "status"),
    Index("orders_mandate", "mandate_id", "counted_day"), Index("orders_ends", "status", "expires_at"),
    Index("orders_to_ask", "next_check_at", **_WHILE_TO_ASK),
    Index("orders_book", "book", "created_at", "order_id", **where("book IS NOT NULL")),
)  # fmt: skip
Table(
    "order_fills", metadata,
    need("order_id", Text), need("n", BIG), may("tid", BIG), need("body", Text),
    PrimaryKeyConstraint("order_id", "n"), UniqueConstraint("order_id", "tid", name="one_fill_a_trade"),
)  # fmt: skip
Table(
    "order_counters", metadata,
    need("scope", Text), need("day", Text), need("used_micros", BIG), need("reserved_micros", BIG),
    PrimaryKeyConstraint("scope", "day"),
    CheckConstraint("used_micros >= 0", name="order_counters_used"),
    CheckConstraint("reserved_micros >= 0", name="order_counters_reserved"),
)  # fmt: skip
Table(
    "own_limits", metadata,
    need("user_id", Text), need("surface", Text), need("per_order_micros", BIG), need("per_day_micros", BIG),
    PrimaryKeyConstraint("user_id", "surface"),
)  # fmt: skip
Table(
    "signer_nonces", metadata,
    Column("signer", Text, primary_key=True), need("last", BIG),
)  # fmt: skip
Table(
    "paper_books", metadata,
    Column("book", Text, primary_key=True), need("owner_id", Text), may("agent_id", Text), need("name", Text),
    need("start_micros", BIG), need("model", Text), need("created_at", BIG),
    UniqueConstraint("owner_id", "name", name="one_paper_book_a_name"), Index("paper_books_agent", "agent_id"),
)  # fmt: skip
Table(
    "paper_entries", metadata,
    need("book", Text), need("n", BIG), need("kind", Text), need("ref", Text), need("at", BIG), may("snapshot", Text),
    need("body", Text), need("prev_hash", Text), need("row_hash", Text), PrimaryKeyConstraint("book", "n"),
    UniqueConstraint("book", "kind", "ref", name="one_paper_entry_a_ref"), Index("paper_entries_snapshot", "snapshot"),
)  # fmt: skip
Table(
    "paper_snapshots", metadata,
    Column("hash", Text, primary_key=True), need("coin", Text), need("at", BIG), need("body", Text),
)  # fmt: skip
Table(
    "paper_checkpoints", metadata,
    need("book", Text), need("n", BIG), need("last_at", BIG), need("state", Text),
    PrimaryKeyConstraint("book", "n"), Index("paper_checkpoints_at", "book", "last_at"),
)  # fmt: skip
Table(
    "paper_watch", metadata,
    Column("book", Text, primary_key=True), need("seen_at", BIG), may("due_at", BIG), Index("paper_watch_due", "due_at"),
)  # fmt: skip
Table(
    "venue_keeping", metadata,
    need("public_id", Text), need("network", Text), need("episode", BIG), need("state", Text), may("why", Text),
    need("changed_at", BIG), may("again_at", BIG), PrimaryKeyConstraint("public_id", "network"),
)  # fmt: skip
