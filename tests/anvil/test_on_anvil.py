"""The end-to-end tests again, on another EVM: nothing in them may hang on how ours works.

Reorganisations are Anvil's own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.chain.test_reader_ledger import (
    test_a_deep_reorganisation_is_answered_by_a_compensating_row,
    test_a_log_is_provisional_until_it_is_deep_enough,
    test_a_shallow_reorganisation_leaves_no_trace,
    test_the_reader_brings_everything_once_and_resumes,
)
from tests.server.test_ticks import (
    test_a_chain_that_does_not_answer_fails_no_read,
    test_a_dry_run_sends_nothing,
    test_an_unchanged_vault_is_marked_once_a_day_and_its_refresh_time_moves,
    test_two_fresh_marks_at_the_line_stop_close_and_settle,
    test_two_keepers_settle_once,
)
from tests.tools.acting.test_reconcile import (
    test_a_reverted_call_is_never_pending_nor_landed_with_anothers,
)
from tests.tools.mandates.test_approvals_on_chain import (
    asking,
    test_a_session_without_the_owner_s_key_approves_nothing,
    test_an_action_above_the_amount_goes_out_with_the_owner_s_signature_once,
)
from tests.tools.test_story import (
    test_a_foreign_signature_and_its_high_s_twin_are_refused,
    test_a_mandate_lives_from_draft_to_withdrawal,
    test_a_refused_attempt_is_proven_only_by_its_receipt,
    test_pausing_and_resuming_follow_the_chain,
)
from tests.world import Evm, World, a_world

pytestmark = [pytest.mark.anyio, pytest.mark.anvil]
__all__ = [
    "asking",
    "test_a_chain_that_does_not_answer_fails_no_read",
    "test_a_deep_reorganisation_is_answered_by_a_compensating_row",
    "test_a_dry_run_sends_nothing",
    "test_a_foreign_signature_and_its_high_s_twin_are_refused",
    "test_a_log_is_provisional_until_it_is_deep_enough",
    "test_a_mandate_lives_from_draft_to_withdrawal",
    "test_a_refused_attempt_is_proven_only_by_its_receipt",
    "test_a_reverted_call_is_never_pending_nor_landed_with_anothers",
    "test_a_session_without_the_owner_s_key_approves_nothing",
    "test_a_shallow_reorganisation_leaves_no_trace",
    "test_an_action_above_the_amount_goes_out_with_the_owner_s_signature_once",
    "test_an_unchanged_vault_is_marked_once_a_day_and_its_refresh_time_moves",
    "test_pausing_and_resuming_follow_the_chain",
    "test_the_reader_brings_everything_once_and_resumes",
    "test_two_fresh_marks_at_the_line_stop_close_and_settle",
    "test_two_keepers_settle_once",
]


@pytest.fixture
async def world(sqlite_url: str, evm: Evm) -> AsyncIterator[World]:
    async with a_world(sqlite_url, evm, stop_line_dry_run=False) as opened:
        yield opened
