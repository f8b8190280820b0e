"""Can one owner fill a table, or starve a round? Each table and each round has its answer here."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

from storage.repositories.people import OF_PERSONS
from storage.schema.metadata import metadata

ROOT: Final = Path(__file__).parents[2]
# Handlers of owners and agents write these: every INSERT of theirs counts against the owner's day
# (`tools.call.allowance`), shown in tests/tools/call/test_stored.py.
BY_THE_DAY: Final = {
    "agent_keys", "agents", "approvals", "balance_events", "bills", "balances", "deposit_addresses", "held_tasks", "idempotency", "ledger_back_steps", "ledger_checkpoints",
    "ledger_events", "ledger_heads", "limit_log", "mandates", "order_counters", "order_fills", "orders", "own_limits", "paper_books", "paper_checkpoints",
    "paper_entries", "paper_snapshots", "paper_watch", "policies", "policy_changes", "proven_addresses", "reservations", "sent_calls", "signer_nonces", "transfer_reports",
    "venue_agent_keys", "venue_builder_fees", "venue_challenges", "venue_intents", "venue_links", "webhooks",
}  # fmt: skip
# Anybody makes these, as often a minute and address as challenges are given out; they run out, and
# there is only so much of them: tests/tools/keeper/test_sign_ins.py.
BY_THE_ADDRESS: Final = {"challenges", "sessions", "users"}
# One row for each of something that is bounded itself.
ONE_FOR_EACH: Final = {
    "stored_days": "owner", "hall_agents": "agent", "hosted_keys": "agent", "hall_days": "mandate and day", "venue_keeping": "mandate at the venue", "vault_readings": "vault",
    "rate_meters": "credential or owner that calls, for two minutes, and 10,000 of strangers a process and minute",
    "mcp_places": "session or stream, 250 an owner, and of strangers what a process has places for", "mcp_inbox": "stream, 64 that wait, a minute", "mcp_subscriptions": "session, 32",
    "oauth_grants": "agent, 20 that last and the record of 50", "oauth_tokens": "grant, two", "notice_settings": "owner", "email_links": "link asked for, 5 a day an owner and 200 of unfunded owners, a day",
    "work_claims": "piece of work", "webhook_deliveries": "webhook, 500 that wait, a month",
}  # fmt: skip
# What the chain says, whose rows cost gas; and what the operator does.
OF_THE_CHAIN: Final = {
    "chain_blocks", "chain_cursors", "chain_inbound", "chain_purses", "chain_staging", "chain_vaults", "vault_reading_logs",
}  # fmt: skip
OF_THE_HOUSE: Final = {
    "house_keys", "notice_cursor", "switches", "trade_allowlist", "venue_weights",
}  # fmt: skip
TURNS: Final = "tests/storage/test_shares.py::test_an_owner_that_fills_a_queue_keeps_nobody_waiting"
# By what is run again and again: the test that its turns are shared by owner, or why it has none.
ROUNDS: Final = {
    "self.read_chain": "blocks, in their order",
    "keeping.round": "the vaults read longest ago first; each costs gas, and claims are asked about by "
    "tests/tools/acting/test_claims_at_once.py::test_one_owners_claims_keep_nobody_elses_waiting",
    "refresh_stale": "the agents brought up to date longest ago first; an owner has 50",
    "self._confirmations.expire": "each that is looked at leaves the list; an owner has 400 in it",
    "self.check_keys": "the links asked about longest ago first; an owner has one a network",
    "end_old": "tests/tools/keeper/test_sign_ins.py::test_ten_thousand_wallets_leave_little_and_a_funded_owner_stays",
    "end_keys_that_are_over": "each that is put away leaves the list, and one that cannot be delays no other; an owner has 50 agents",
    "sync_due_orders": TURNS,
    "self.watch_paper": TURNS,
    "self._lines.round": "the mandates at the venue looked at longest ago first; each holds a position",
    "self.settle_transfers": TURNS,
}


def test_every_table_says_what_bounds_one_owners_part_of_it() -> None:
    kinds = [BY_THE_DAY, BY_THE_ADDRESS, set(ONE_FOR_EACH), OF_THE_CHAIN, OF_THE_HOUSE]
    named = [name for kind in kinds for name in kind]
    assert len(named) == len(set(named))
    assert set(named) == set(metadata.tables)


def test_a_person_is_looked_for_wherever_something_of_theirs_may_be() -> None:
    named = {
        table.name
        for table in metadata.tables.values()
        if {"owner_id", "user_id"} & {column.name for column in table.columns}
    }
    # A day's count says nothing that a new row would not.
    assert named - {"users", "sessions", "stored_days"} == set(OF_PERSONS)


def _rounds() -> set[str]:
    """What `Ticks` runs again and again."""
    tree = ast.parse((ROOT / "server/keeper/scheduler.py").read_text())
    tuples = [n for n in ast.walk(tree) if isinstance(n, ast.Tuple) and len(n.elts) == 3]
    works = [
        t.elts[2]
        for t in tuples
        if isinstance(t.elts[0], ast.Constant | ast.JoinedStr)
        or ast.unparse(t.elts[0]) in ("name", "keeping.name")
    ]
    return {ast.unparse(work.args[0] if isinstance(work, ast.Call) else work) for work in works}


def test_every_round_says_how_owners_share_it() -> None:
    assert _rounds() == set(ROUNDS)
    for why in ROUNDS.values():
        path, _, name = why.rpartition(" ")[2].partition("::")
        if name:
            assert f"def {name}(" in (ROOT / path).read_text()
