"""Lists, requests, parts, spans and figures as people write them, and where each stops being one."""

from __future__ import annotations

from collections import Counter

import pytest

from domain.mandates.purpose.phrases import _PARTS as ALL
from domain.mandates.purpose.phrases import macros, others, parts
from tests.domain.mandates.purpose.draft_notes import Row
from tests.domain.mandates.purpose.fresh_notes import DOUBTFUL
from tests.domain.mandates.purpose.test_draft_notes import FIGURE, ids, read, said


@pytest.mark.parametrize("row", DOUBTFUL, ids=ids(DOUBTFUL))
def test_of_a_doubtful_note_only_what_is_beyond_doubt_is_understood(row: Row) -> None:
    draft = read(row.note)
    assert said(draft).items() <= row.understood.items()
    assert draft.needs_review or not FIGURE.search(row.note) or said(draft) == row.understood


@pytest.mark.parametrize("word", ["or more than 100 in a day", "nor 50 per trade", "or 500 in all"])
def test_a_note_may_begin_with_or(word: str) -> None:
    assert said(read(word)) == {}
    assert read(word).needs_review


def test_a_figure_behind_words_without_a_sense_is_theirs() -> None:
    for note in (
        "Our broker is expensive, 5 USDC per trade.",
        "My coffee habit is terrible, 5 USDC a day.",
        "The last one was cheap, 5 USDC per order.",
    ):
        assert said(read(note)) == {}
        assert read(note).needs_review


def test_a_span_that_is_not_read_is_never_passed_over() -> None:
    draft = read("500 USDC. We shall see it through for a week.")
    assert draft.needs_review
    assert "horizon_days" not in said(draft)


def test_the_numbers_of_a_list_are_no_figures_of_the_note() -> None:
    listed = read("1. Budget 500 USDC\n2. 50 per trade\n3) 100 per day")
    assert said(listed) == said(read("Budget 500 USDC\n50 per trade\n100 per day"))
    assert not listed.needs_review
    assert [u.text for u in listed.understood][1] == "2. 50 per trade"
    assert read("2. Budget 500 USDC\n1. 50 per trade").needs_review


def test_a_request_in_the_form_of_a_question_is_a_request_only_with_please() -> None:
    assert said(read("Could you please trade 500 USDC?")) == {"budget_usdc": "500.000000"}
    assert said(read("Could you trade 500 USDC?")) == {}
    assert said(read("Could you please tell me if 50 USDC per trade is fine?")) == {}


def test_a_number_a_day_is_an_amount_where_the_days_of_it_make_the_budget() -> None:
    assert said(read("500 USDC, 20 days, 25 a day"))["daily_cap_usdc"] == "25.000000"
    assert "daily_cap_usdc" not in said(read("500 USDC, 20 days, 24 a day"))


def test_a_part_is_a_share_only_of_what_is_at_stake() -> None:
    assert said(read("You keep a tenth of the profit")) == {
        "payout_rule": {"kind": "share_of_verified_gain", "bps": 1000}
    }
    for note in ("You keep a tenth of a percent of the profit", "Stop after a fifth trade"):
        assert said(read(note)) == {}


def test_no_part_of_a_phrase_is_named_twice() -> None:
    names = [name for part in (macros.MACROS, others.OTHERS, parts.PARTS) for name in part]
    names += [name for module in ALL for name in getattr(module, "PARTS", {})]
    assert [name for name, times in Counter(names).items() if times > 1] == []
