"""The table of purpose notes against the parser, and what holds for any text."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mandates.purpose.draft import ASK_ALWAYS, NOTE_MAX, PRESET, SILENT, Draft, parse_note
from domain.money import Usdc
from tests.domain.mandates.purpose.draft_notes import CLOSED, MARKETS, NOTES, Row

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def read(note: str) -> Draft:
    return parse_note(note, now=NOW, market_names=MARKETS, closed=CLOSED)


def doubted(draft: Draft) -> set[str]:
    """Terms that the note speaks of without saying one thing clearly."""
    return {a.term for a in draft.assumed if not a.why.startswith(SILENT)}


def test_the_table_is_large_and_no_note_stands_in_it_twice() -> None:
    assert len({r.note for r in NOTES}) == len(NOTES) >= 250


@pytest.mark.parametrize("row", NOTES, ids=[ascii(r.note[:60]) for r in NOTES])
def test_a_note_is_read_as_a_careful_reader_would(row: Row) -> None:
    draft = read(row.note)
    assert {u.term: u.value for u in draft.understood} == row.understood
    assert doubted(draft) == row.doubt
    for term, value in row.understood.items():
        assert draft.terms[term] == value
    expected = (
        dict(PRESET)
        | ({"approval_above_usdc": ASK_ALWAYS} if "approval_above_usdc" in row.doubt else {})
        | row.so
    )
    for term, value in expected.items():
        if term not in row.understood:
            assert draft.terms[term] == value, term


@pytest.mark.parametrize("row", NOTES, ids=[ascii(r.note[:60]) for r in NOTES])
def test_every_term_is_accounted_for_in_the_notes_own_words(row: Row) -> None:
    draft = read(row.note)
    told = [u.term for u in draft.understood] + [a.term for a in draft.assumed]
    assert set(draft.terms) <= set(told)
    assert len([u.term for u in draft.understood]) == len({u.term for u in draft.understood})
    for understood in draft.understood:
        assert all(part in row.note for part in understood.text.split("; "))
    for assumed in draft.assumed:
        assert (
            assumed.term in ("purpose", "allowed_targets", "markets")
            or draft.terms[assumed.term] == assumed.value
        )


_PIECES = st.sampled_from(
    [w for r in NOTES for w in r.note.split(" ")]
    + ["$", "-", "%", "per trade", "a day", "‮", "٥٠", "⟦m0⟧", "\x00", "½"]
)


@given(st.one_of(st.text(max_size=300), st.lists(_PIECES, max_size=40).map(" ".join)))
def test_any_text_gives_terms_that_a_mandate_can_have(note: str) -> None:
    draft = read(note)
    assert draft == read(note)
    assert draft == read(note + " ")
    assert_possible(draft)


def assert_possible(draft: Draft) -> None:
    """Limits of spec 2.1: what a create body may say."""
    t = draft.terms
    budget, tx, day = (
        Usdc.parse(t[n]) for n in ("budget_usdc", "per_tx_cap_usdc", "daily_cap_usdc")
    )
    assert Usdc(0) < tx <= day <= budget
    assert 0 <= t["stop_floor_bps"] <= 10_000
    assert 1 <= t["horizon_days"] <= 366
    assert 0 <= t["payout_rule"]["bps"] <= 5_000
    assert t["approval_above_usdc"] is None or Usdc.parse(t["approval_above_usdc"]) > Usdc(0)
    assert t["target_bps"] is None or 0 < t["target_bps"] <= 1_000_000


@pytest.mark.parametrize(
    "piece",
    [
        "1 000 ",
        "ask me ",
        "a ",
        "per ",
        "stop if it drops ",
        "hundred ",
        "1,",
        "$",
        "⟦m0⟧",
        "never lose ",
        "at most ",
        "and ",
        "- ",
        "half a ",
        "twenty ",
        "5% ",
        "$5 a day ",
        "keep the ",
        "if it is ",
        "x",
    ],
)
def test_a_note_of_one_piece_repeated_is_read_too(piece: str) -> None:
    # A pattern that backtracks without bound would not come back from these.
    assert_possible(read(piece * NOTE_MAX))
