"""What the specification asks for, statement by statement, and the tests that would fail if it were not so.

Statements are in our own words, under the section that makes them. `tests/house/test_requirements.py` checks that every test that is
named exists. What is not built yet stands in `LATER`.
"""

from __future__ import annotations

from typing import Final

D, T, S, W, C = (
    "tests/domain/",
    "tests/tools/",
    "tests/server/test_",
    "tests/surfaces/test_",
    "tests/chain/test_",
)
STORAGE, CONTRACTS = "tests/storage/test_", "tests/contracts/test_"
Entry = tuple[str, tuple[str, ...]]

REQUIREMENTS: Final[dict[str, tuple[Entry, ...]]] = {
    "1": (
        ("an owner makes a mandate, signs it, funds its vault, pauses, resumes, stops and withdraws by calls he signs himself",
         (T + "test_story.py::test_a_mandate_lives_from_draft_to_withdrawal", T + "test_story.py::test_pausing_and_resuming_follow_the_chain")),
        ("everything derived comes from the ledger on every read", (D + "reads/test_view.py::test_the_read_has_every_part_and_is_json",
                                                                   D + "ledger/test_books.py::test_a_checkpoint_changes_no_answer")),
        ("a stolen agent key or a hostile target takes no more than the terms allow",
         (CONTRACTS + "hostile_agent.py::test_a_hostile_agent_never_beats_its_exposure",)),
    ),
    "2.1": (
        ("money is text with six decimals, exact, unknown is null", (D + "test_money.py::test_what_is_written_is_read_back",
                                                                     D + "ledger/test_worked.py::test_a_draft_knows_no_money")),
        ("a number of an agent is finite, within 1e12, of six decimals at most", (D + "test_money.py::test_what_is_no_amount_is_refused",
                                                                                  T + "call/test_bad_input.py::test_an_amount_that_is_none_is_refused")),
        ("an unusable stored value reads as 0 and sets data_issue",
         (D + "ledger/test_books.py::test_an_unusable_stored_value_reads_as_nothing_and_says_so", D + "reads/test_view.py::test_no_stored_garbage_makes_a_read_fail")),
        ("the owner's user id never leaves", (T + "call/test_bad_input.py::test_another_owners_mandate_is_as_if_it_were_not_there",)),
    ),
    "2.2": (
        ("defaults, caps, fallbacks of legacy rows", (T + "mandates/test_drafts.py::test_the_standard_preset_fills_what_is_left_out",
                                                      D + "mandates/test_mandate.py::test_a_legacy_row_falls_back_to_its_caps_entry_and_then_to_the_budget")),
        ("the floor is a share of the budget", (D + "mandates/test_mandate.py::test_the_floor_is_a_share_of_the_budget",)),
        ("an agent is set by the owner, or by acceptance from the open board; naming one takes it off the board",
         (T + "mandates/test_drafts.py::test_designating_an_agent_takes_the_draft_off_the_open_board",
          T + "mandates/test_drafts.py::test_an_open_offer_is_seen_but_nobodys_before_it_is_accepted")),
        ("a proposal of the owner's own agent carries its name", (T + "mandates/test_drafts.py::test_a_proposal_is_the_owners_draft_with_the_proposers_name",)),
        ("the refresh time is set when the chain failed too; never-read mandates first, then the oldest",
         (S + "ticks.py::test_an_unchanged_vault_is_marked_once_and_its_refresh_time_moves",
          STORAGE + "repositories.py::test_the_poller_takes_the_never_read_first_then_the_oldest")),
        ("the read carries every part, and paused with its time", (D + "reads/test_view.py::test_the_read_has_every_part_and_is_json",
                                                                   D + "reads/test_view.py::test_a_paused_mandate_says_so")),
    ),
    "2.3": (
        ("ten clauses in their order, with sentence, values, who enforces them and the signed terms behind them",
         (D + "reads/test_view.py::test_the_ten_clauses_stand_in_their_order_with_who_enforces_them",)),
        ("asking and at_stop read stored_pending while a switch turns them off", (D + "reads/test_view.py::test_what_a_switch_turns_off_is_stored_and_pending",)),
    ),
    "2.4": (
        ("no row is changed or removed", (STORAGE + "migrations.py::test_rows_of_a_record_cannot_be_changed",
                                          STORAGE + "verify.py::test_tampering_is_found")),
        ("an agent reports its own kinds only", (T + "call/test_bad_input.py::test_an_agent_writes_only_its_own_kinds_and_payload_keys",)),
        ("a broken rule is flagged on the row and in rules[], never dropped",
         (D + "rules/test_violations.py::test_a_broken_rule_is_flagged_with_its_clause_and_shows_everywhere", D + "rules/test_violations.py::test_every_code_has_a_case_a_clause_and_a_sentence")),
        ("one log is one row", (STORAGE + "ledger.py::test_a_log_enters_once_whoever_brings_it",)),
        ("fees fall into their classes, the unclassified apart", (D + "ledger/test_books.py::test_fees_are_classed_and_the_unclassified_ones_stay_apart",)),
    ),
    "2.5": (
        ("only a reverted call from the agent's wallet to the vault proves a refused attempt; one row a transaction",
         (T + "test_story.py::test_a_refused_attempt_is_proven_only_by_its_receipt",)),
        ("60 a day and mandate", (T + "test_concurrency.py::test_sixty_refusals_a_day_exactly",
                                  S + "two_servers.py::test_the_limits_and_the_races_of_one_mandate_hold_over_two_servers")),
    ),
    "2.6": (
        ("worth, realized, floor, leave-now and its basis", (D + "ledger/test_worked.py::test_a_marked_gain_reserves_the_agent_s_share",
                                                             D + "ledger/test_worked.py::test_half_a_position_is_sold_and_a_told_result_moves_no_measured_figure",
                                                             D + "ledger/test_worked.py::test_fees_stay_in_their_classes_and_lower_what_is_realized")),
        ("a keeper's mark replaces the agent's", (D + "ledger/test_worked.py::test_a_whole_mark_is_not_moved_by_what_the_agent_says",
                                                  D + "ledger/test_books.py::test_a_whole_mark_and_the_flows_after_it_are_the_worth")),
        ("the next event is the soonest", (D + "reads/test_view.py::test_the_next_event_is_the_soonest",)),
    ),
    "2.7": (
        ("nine kinds of step with all their fields", (D + "reads/test_view.py::test_every_kind_of_step_appears_and_each_has_its_fields",)),
        ("groups newest first, pending approvals on top", (D + "reads/test_view.py::test_groups_stand_newest_first_and_pending_approvals_on_top",)),
        ("a reason comes from the agent's own rows alone", (D + "reads/test_view.py::test_a_reason_comes_only_from_the_agent_s_own_rows",)),
        ("an action names the clauses that allowed it, and those it broke", (D + "reads/test_view.py::test_an_action_names_the_clauses_that_allowed_it",
                                                                             D + "reads/test_view.py::test_a_refused_attempt_is_a_note_that_cites_its_clause")),
    ),
    "2.8": (
        ("four classes, the agent's fee, and two nets that are never added up",
         (D + "ledger/test_worked.py::test_fees_stay_in_their_classes_and_lower_what_is_realized", D + "ledger/test_worked.py::test_a_gain_is_settled_paid_and_withdrawn_to_the_last_digit")),
    ),
    "2.9": (
        ("allowed, used with value, source and basis, breaches, what remains and what binds",
         (D + "rules/test_checks.py::test_what_remains_names_the_clause_that_binds", D + "ledger/test_worked.py::test_the_day_cap_binds_and_lifts_at_midnight",
          D + "ledger/test_worked.py::test_two_days_amounts_meet_at_midnight_and_the_rolling_day_shows_it")),
    ),
    "2.10": (
        ("the lock mirrors withdrawAll", (D + "reads/test_view.py::test_the_lock_mirrors_the_vault", CONTRACTS + "vault.py::test_open_positions_lock_for_three_days_and_no_longer")),
        ("the chain state says what was read and when", (D + "reads/test_view.py::test_the_chain_state_says_what_was_read_and_when",)),
    ),
    "2.11": (("an item has an id and a status that filters", (D + "mandates/test_approvals.py::test_the_item_on_the_wire_is_the_contract_s",
                                                             STORAGE + "repositories.py::test_approvals_show_what_they_are_at_the_moment")),),
    "2.12": (
        ("the fields of the terms in their order; 0 stands for no approval amount", (D + "mandates/test_terms.py::test_version_two_has_the_fields_of_the_specification_in_its_order",
                                                                                     D + "mandates/test_terms.py::test_no_approval_amount_is_zero_and_no_agent_is_the_zero_address")),
        ("one digest from Solidity, eth-account, a browser's library and this service",
         (CONTRACTS + "factory.py::test_solidity_eth_account_and_the_service_give_one_digest",
          C + "digests.py::test_a_browsers_library_eth_account_and_the_service_give_one_digest_and_one_signer")),
    ),
    "2.13": (
        ("only the owner writes a policy, whole; its changes are logged, an unchanged save writes nothing",
         (T + "agents/test_agents.py::test_a_policy_is_replaced_whole_and_its_changes_are_logged", D + "mandates/test_approvals.py::test_a_first_policy_lists_what_it_sets_and_an_unchanged_save_nothing")),
        ("the last ten changes are shown", (T + "agents/test_agents.py::test_the_last_ten_changes_are_shown",)),
        ("accepts_mandates opens an agent to being named", (T + "mandates/test_drafts.py::test_an_agent_that_does_not_accept_cannot_be_named",)),
        ("the stricter of policy and mandate binds", (D + "rules/test_violations.py::test_the_stricter_of_policy_and_mandate_binds_and_is_named",
                                                      T + "mandates/test_calls.py::test_the_stricter_policy_binds_and_is_named")),
    ),
    "2.14": (
        ("a deposit address an agent and chain, lower case", (T + "agents/test_agents.py::test_a_deposit_address_is_set_and_read_in_lower_case",)),
        ("one report a chain and transaction", (T + "agents/test_transfers.py::test_a_duplicate_is_refused_whoever_reports_it_and_in_any_case",)),
        ("a balance is the sum of its signed deltas", ("tests/stateful/test_balances.py::test_no_order_of_reports_outcomes_and_bids_breaks_a_balance",
                                                       STORAGE + "verify.py::test_a_balance_that_is_not_its_deltas_is_found")),
    ),
    "2.15": (
        ("windows from measured rows alone, what the agent claims apart", (T + "public/test_hall.py::test_a_ranked_agent_shows_its_windows",
                                                                           T + "public/test_hall.py::test_reports_of_the_agent_stand_apart",
                                                                           D + "reads/test_hall.py::test_an_agent_cannot_move_its_measured_record_by_reporting")),
        ("unranked with reason and requirements", (T + "public/test_hall.py::test_every_agent_is_listed_as_soon_as_it_is_registered",)),
        ("stops and violations are counted", (T + "public/test_hall.py::test_stops_and_violations_are_counted",)),
        ("one agent with mandates, chart and policy changes", (T + "public/test_hall.py::test_one_agent_is_read_up_to_its_newest_row",)),
    ),
    "2.16": (
        ("an ISO week in UTC, worked by hand; the weeks of a life add up", (D + "reads/test_statement.py::test_a_week_worked_by_hand",
                                                                            D + "reads/test_statement.py::test_the_weeks_of_a_life_sum_up_to_the_last_digit")),
        ("attempts, breaches and disclosures", (D + "reads/test_statement.py::test_attempts_and_breaches_are_listed",)),
        ("all mandates together", (D + "reads/test_statement.py::test_all_mandates_add_up",)),
    ),
    "2.17": (
        ("scope, form of the key, hash of the body without it", (T + "call/test_bad_input.py::test_an_idempotency_key_has_a_form",
                                                                 T + "test_concurrency.py::test_32_calls_with_one_key_write_one_row_and_get_one_answer")),
    ),
    "3.1": (
        ("every pair of state and action is a move or a refusal", (D + "mandates/test_mandate.py::test_every_pair_of_state_and_action_is_a_move_or_a_refusal",)),
        ("signed terms no longer change", (T + "test_story.py::test_signed_terms_no_longer_change",)),
        ("a stop in the record sends nothing", (T + "mandates/test_calls.py::test_a_stop_in_the_record_leaves_the_vault_to_its_own_stop",)),
        ("settled once, by the keeper, from chain facts", (S + "ticks.py::test_two_keepers_settle_once",)),
    ),
    "3.2": (
        ("above the amount it waits, without calldata", (T + "mandates/test_calls.py::test_an_action_above_the_approval_amount_waits_for_the_owner",)),
        ("ten wait at the most", (T + "test_concurrency.py::test_ten_approvals_wait_at_the_most",)),
        ("declined, and for an hour not asked again", (T + "mandates/test_calls.py::test_a_declined_action_rests_for_an_hour",)),
        ("good for a day", (T + "mandates/test_calls.py::test_an_approval_lasts_a_day_and_covers_one_action",)),
    ),
    "3.3": (
        ("each outcome books what it should", (D + "agents/test_transfers.py::test_an_outbound_report_leaves_idle_for_in_transit",
                                               D + "agents/test_transfers.py::test_a_confirmation_puts_what_really_moved_on_idle",
                                               D + "agents/test_transfers.py::test_a_failed_report_gives_an_outbound_amount_back")),
        ("nobody overdraws together", (T + "keeper/test_transfers_processes.py::test_64_outbound_reports_of_two_processes_never_overdraw",)),
    ),
    "3.4": (("a bid is reserved, released, delivered", (T + "agents/test_auctions.py::test_a_bid_is_reserved_released_and_delivered",)),),
    "4.1": (
        ("the door answers 402 with its header and body; 404 while off", (W + "http.py::test_the_door_answers_402_and_the_texts_come_from_the_registry",)),
        ("a note becomes a draft by a grammar: each clause whole or not at all", (D + "mandates/purpose/test_draft_notes.py::test_a_note_is_read_as_a_careful_reader_would",
                                                                                D + "mandates/purpose/test_draft_notes.py::test_every_figure_is_in_exactly_one_place",
                                                                                D + "mandates/purpose/test_draft_notes.py::test_a_clause_about_something_else_changes_no_term",
                                                                                D + "mandates/purpose/test_draft_notes.py::test_a_note_with_foreign_words_or_figures_is_never_half_read",
                                                                                T + "mandates/test_drafts.py::test_a_note_is_read_for_anybody_and_stored_for_an_owner_only")),
        ("what is unclear is said, and signed by nobody before it is made clear", (T + "mandates/test_drafts.py::test_every_clause_of_a_note_is_told_where_it_went",
                                                                                 T + "mandates/test_drafts.py::test_an_unclear_draft_gives_out_no_terms_until_its_owner_has_put_fields")),
        ("create-call is configured: false without a factory", (T + "mandates/test_calls.py::test_without_a_factory_there_is_nothing_to_create",)),
        ("execute-call checks what the vault checks, before gas is spent", (T + "mandates/test_calls.py::test_what_the_vault_would_refuse_is_refused_before_gas_is_spent",)),
        ("a key is claimed, completed, released on a refusal", (STORAGE + "repositories.py::test_a_claim_that_failed_may_be_made_again",)),
        ("only a successful receipt changes anything", (T + "mandates/test_calls.py::test_a_failed_or_unknown_transaction_changes_nothing",)),
        ("every route is in the OpenAPI, and answers as it says", (W + "http.py::test_the_openapi_document_is_valid_and_names_every_route",
                                                                   W + "fuzz.py::test_no_request_of_anybody_finds_a_500_or_an_undocumented_answer")),
    ),
    "4.2": (
        ("an agent knows who it is, and sees its offers", (T + "agents/test_agents.py::test_an_agent_knows_who_it_is", T + "agents/test_agents.py::test_offers_wait_until_they_are_accepted")),
        ("activity merges its sources and pages through them", (T + "agents/test_activity.py::test_pages_of_any_size_show_everything_once_newest_first",
                                                                T + "agents/test_activity.py::test_what_is_added_meanwhile_moves_no_page")),
        ("above idle nothing is written, but under an allowed overdraft", (T + "agents/test_transfers.py::test_an_outbound_report_above_idle_writes_nothing",
                                                                           T + "agents/test_transfers.py::test_an_allowed_overdraft_is_recorded")),
        ("secret-shaped fields are refused", (T + "call/test_bad_input.py::test_a_secret_is_refused_at_any_depth_and_never_repeated",)),
    ),
    "4.3": (
        ("sorted by one fact, filtered by accepting", (T + "public/test_hall.py::test_agents_are_sorted_by_one_fact",)),
        ("ways in are estimates, best first, the destination filled in", (T + "public/test_deposits.py::test_routes_are_estimates_cheapest_first_and_unknown_costs_last",
                                                                          T + "public/test_deposits.py::test_a_missing_destination_is_filled_from_the_settings")),
    ),
    "4.5": (
        ("the door, on the next request, in every process", (W + "doors.py::test_the_switch_acts_on_the_next_request",
                                                             W + "sessions.py::test_every_open_connection_hears_that_the_list_changed",
                                                             S + "settings.py::test_only_four_words_switch_something_on")),
        ("the approval gate", (T + "mandates/test_calls.py::test_with_the_gate_off_nothing_is_held",)),
        ("paid reads over the day's credits", (T + "agents/test_activity_paid_reads.py::test_a_read_over_the_days_budget_is_refused_until_the_next_day",)),
        ("the stop-line keeper's dry run", (S + "ticks.py::test_a_dry_run_sends_nothing", S + "ticks.py::test_two_fresh_marks_at_the_line_stop_close_and_settle")),
        ("gas sponsorship is off and fails closed", (T + "mandates/test_sponsorship.py::test_it_is_off_by_default_and_without_an_endpoint",
                                                     T + "mandates/test_sponsorship.py::test_a_paymaster_that_refuses_lies_or_stalls_pays_for_nothing")),
    ),
    "5": (
        ("each credential opens its own door", (T + "test_signin.py::test_each_credential_opens_its_own_door_only",
                                                T + "call/test_bad_input.py::test_every_operation_refuses_a_caller_of_another_role")),
        ("a person signs in with a text of ours, compared and never parsed, before any chain is asked",
         (T + "test_signin.py::test_a_text_that_differs_anywhere_is_not_ours_and_no_chain_is_asked",
          T + "test_signin.py::test_a_strangers_text_costs_no_more_work_for_being_long",
          C + "sign_in.py::test_every_text_of_ours_is_eip_4361_and_says_what_it_was_asked_to")),
        ("a revoked key stops at once", (W + "doors.py::test_a_revoked_key_stops_at_once", T + "agents/test_agents.py::test_a_key_is_rotated_without_a_gap_and_revoked_at_once")),
    ),
    "6": (
        ("each operation writes its row", (C + "reader_ledger.py::test_the_reader_brings_everything_once_and_resumes",
                                           T + "test_story.py::test_a_mandate_lives_from_draft_to_withdrawal")),
    ),
    "7": (
        ("every refusal is one block, on every surface", (W + "http.py::test_unknown_routes_and_methods_carry_the_block_too",
                                                          W + "raw.py::test_malformed_http_is_refused_in_the_one_shape",
                                                          W + "doors.py::test_an_agent_acts_reports_and_is_refused_the_same_way_everywhere")),
        ("every code that is raised is in the registry, and documented", ("tests/house/test_house.py::test_every_code_that_is_raised_is_in_the_registry",
                                                                          "tests/house/test_documents.py::test_the_refusals_are_documented_one_by_one")),
    ),
    "8": (
        ("the limits are as stated", (T + "test_concurrency.py::test_ten_approvals_wait_at_the_most", T + "test_concurrency.py::test_sixty_refusals_a_day_exactly",
                                      D + "mandates/test_approvals.py::test_an_item_is_good_for_a_day_and_not_at_its_end")),
    ),
}  # fmt: skip

# Sections, or parts of them, of which nothing is built yet.
LATER: Final = (
    "4.4: the trading side, the trade door, the human screens",
    "4.5: live orders, trade allowlist",
    "7: wallet_rate_limited of the trade door",
)
