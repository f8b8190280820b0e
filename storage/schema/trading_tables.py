"""The tables of the trading side; units as in `storage.schema.tables`."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    CheckConstraint,
    Column,
    Index,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
)

from storage.schema.columns import BIG, may, metadata, need, where

_WHILE_TO_ASK: Final = where("next_check_at IS NOT NULL")
_WHILE_IT_LASTS: Final = where("ended_at IS NULL")
_SOMEBODY: Final = "agent_lower <> '0x0000000000000000000000000000000000000000'"

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
