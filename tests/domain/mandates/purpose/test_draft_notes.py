"""Notes against the parser, and what holds for any text: it is worse to read a term wrongly than
not to read it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.mandates.mandate import MAX_PAYOUT_BPS
from domain.mandates.purpose.draft import NOTE_MAX, PRESET, Draft, parse_note
from domain.mandates.purpose.statements import MAX_SENTENCE
from domain.mandates.purpose.tiling import MAX_PHRASE
from domain.money import Usdc
from tests.domain.mandates.purpose.draft_notes import CLOSED, MARKETS, NOTES, Row
from tests.domain.mandates.purpose.first_notes import FIRST
from tests.domain.mandates.purpose.fresh_notes import DOUBTFUL, FRESH, TWINS, VOICES
from tests.domain.mandates.purpose.hostile_notes import COMMON, ELSEWHERE, NOTHING, SOME
from tests.domain.mandates.purpose.plain_notes import PLAIN
from tests.domain.mandates.purpose.second_notes import SECOND

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TABLE = (*NOTES, *FIRST, *SOME, *COMMON)
# Digits inside a word, as in `x402`, are no figure.
FIGURE = re.compile(r"(?<!\w)\d+(?:[.,]\d+)*")


def read(note: str) -> Draft:
    return parse_note(note, now=NOW, market_names=MARKETS, closed=CLOSED)


def said(draft: Draft) -> dict[str, Any]:
    return {u.term: u.value for u in draft.understood}


def ids(rows: tuple[Row, ...]) -> list[str]:
    return [ascii(r.note[:60]) for r in rows]


# -- the tables


def test_the_tables_are_large_half_hostile_and_hold_no_note_twice() -> None:
    every = [*(r.note for r in TABLE), *(r.note for r in (*SECOND, *PLAIN)), *NOTHING, *ELSEWHERE]
    every += [r.note for r in (*FRESH, *VOICES, *DOUBTFUL)]
    assert len(set(every)) == len(every)
    assert len(every) >= 2_400
    assert len(NOTHING) + len(ELSEWHERE) >= 500


@pytest.mark.parametrize("row", TABLE, ids=ids(TABLE))
def test_a_note_is_read_as_a_careful_reader_would(row: Row) -> None:
    draft = read(row.note)
    assert draft.needs_review is not row.whole
    if row.whole:
        assert said(draft) == row.understood
    assert said(draft).items() <= row.understood.items()


@pytest.mark.parametrize("note", NOTHING, ids=[ascii(n[:60]) for n in NOTHING])
def test_no_term_is_taken_from_a_note_that_states_none_clearly(note: str) -> None:
    draft = read(note)
    assert draft.understood == ()
    assert draft.terms["approval_above_usdc"] is None
    assert dict(PRESET).items() <= draft.terms.items()
    assert draft.needs_review or not FIGURE.search(note)


@pytest.mark.parametrize("note", ELSEWHERE)
def test_a_clause_about_something_else_is_unrelated_and_needs_no_review(note: str) -> None:
    draft = read(note)
    assert (draft.understood, draft.unclear, draft.unrelated) == ((), (), (note,))


@pytest.mark.slow
@pytest.mark.parametrize(
    "rows", [SECOND, PLAIN, FRESH, VOICES], ids=["second", "plain", "fresh", "voices"]
)
def test_most_plain_notes_are_understood_whole_and_none_wrongly(rows: tuple[Row, ...]) -> None:
    drafts = [(row, read(row.note)) for row in rows]
    wrong = [(r.note, said(d)) for r, d in drafts if not said(d).items() <= r.understood.items()]
    assert wrong == []
    whole = [r for r, d in drafts if not d.needs_review and said(d) == r.understood]
    assert len(whole) / len(rows) >= 0.6


@pytest.mark.parametrize("before", ["", "Budget 1,000 USDC. "], ids=["alone", "behind"])
def test_of_a_clause_that_only_sounds_like_a_term_nothing_is_understood(before: str) -> None:
    read_wrongly = {
        twin: found
        for twin in TWINS
        if (found := set(said(read(f"{before}{twin}."))) - ({"budget_usdc"} if before else set()))
    }
    assert read_wrongly == {}


def test_dots_that_trail_off_leave_nothing_of_what_stands_around_them() -> None:
    assert said(read("Half a percent... no fee.")) == {}
    assert said(read("500 USDC... for two weeks.")) == {
        "budget_usdc": "500.000000",
        "horizon_days": 14,
    }


def test_what_closes_at_a_loss_sets_the_stop_line_and_what_happens_there() -> None:
    both = {"stop_floor_bps": 2000, "on_floor": "close"}
    assert said(read("If it drops 20%, close everything.")) == both
    assert said(read("Sell everything if it falls 20%.")) == both
    assert said(read("If it drops 20%.")) == said(read("Close everything if it rises 20%.")) == {}


# -- the notes that the reader before this one got wrong


def test_never_acting_without_asking_never_becomes_an_agent_on_its_own() -> None:
    draft = read("Never act without asking me")
    assert draft.needs_review
    assert draft.understood == ()
    (clause,) = draft.unclear
    assert clause.text == "Never act without asking me"
    assert [(c.term, c.value) for c in clause.could_be] == [("approval_above_usdc", "0.000001")]
    assert "approval_above_usdc" in {a.term for a in draft.assumed}


def test_a_figure_belongs_to_the_words_in_its_own_clause() -> None:
    assert said(read("Budget 1000 USDC, per trade 50, per day 100.")) == {
        "budget_usdc": "1000.000000",
        "per_tx_cap_usdc": "50.000000",
        "daily_cap_usdc": "100.000000",
    }


def test_a_stop_line_in_basis_points_is_what_may_be_lost() -> None:
    assert said(read("stop line 2000 bps")) == {"stop_floor_bps": 2000}


def test_a_reserve_for_gas_is_no_stop_line() -> None:
    draft = read("Keep 50 USDC in reserve for gas")
    assert draft.understood == ()
    assert [u.text for u in draft.unclear] == ["Keep 50 USDC in reserve for gas"]
    assert draft.terms["stop_floor_bps"] == PRESET["stop_floor_bps"]


def test_a_venues_fee_is_no_fee_of_the_agents() -> None:
    draft = read("the venue charges a 0.1% fee")
    assert (draft.understood, draft.unrelated) == ((), ("the venue charges a 0.1% fee",))
    assert draft.terms["payout_rule"] == PRESET["payout_rule"]


def test_an_unclear_clause_takes_what_it_may_contradict_with_it() -> None:
    draft = read("Budget 500 USDC. Ask me above 50. Don't ask me above 50.")
    assert said(draft) == {"budget_usdc": "500.000000"}
    assert {u.text for u in draft.unclear} == {"Ask me above 50", "Don't ask me above 50"}


def test_caps_out_of_order_are_both_unclear() -> None:
    draft = read("Budget 500 USDC. 100 USDC per trade. 50 USDC per day.")
    assert said(draft) == {"budget_usdc": "500.000000"}
    assert len(draft.unclear) == 2


def test_end_of_march_needs_the_day_on_which_it_is_said() -> None:
    later = parse_note("until end of March", now=NOW.replace(month=12), market_names={})
    assert said(read("until end of March")) == {"horizon_days": 131}
    assert said(later) == {"horizon_days": 101}


# -- what holds for any note

_GOOD = tuple(r.note.rstrip(".! ") for r in COMMON if r.whole)
_SOMETHING_ELSE = (
    "Gas is about 2 dollars a day.",
    "The venue charges a 0.1% fee.",
    "ETH trades near $3,100 today.",
    "Keep 50 USDC in reserve for gas.",
    "My sister's birthday is on May 3.",
    "My landlord wants 900 dollars a month.",
    "The tax office takes 25% of gains.",
    "My wife never lets me spend more than 30 dollars a day.",
    "Last year my friend's bot lost 40%.",
    "Prices went up 12% since March 3.",
    "I am 45 years old.",
    "The exchange has a limit of 20 trades per day.",
    "The laptop costs 1,200 dollars.",
)


@pytest.mark.parametrize("clause", _SOMETHING_ELSE)
@given(note=st.sampled_from(_GOOD), first=st.booleans())
def test_a_clause_about_something_else_changes_no_term(clause: str, note: str, first: bool) -> None:
    alone = read(note)
    together = read(f"{clause} {note}." if first else f"{note}. {clause}")
    assert said(together) == said(alone)
    assert together.terms == alone.terms


_CLAUSES = {
    "budget": ("Budget 1,000 USDC", "Use up to 1,000 USDC in total"),
    "tx": ("At most 50 USDC per trade", "No single trade above 50 USDC"),
    "day": ("At most 200 USDC per day", "Daily limit 200 USDC"),
    "floor": ("Never lose more than 20%", "Stop if it falls below 800 USDC"),
    "days": ("For two weeks", "Until December 4"),
    "fee": ("You get 10% of the profits", "No fee"),
    "ask": ("Ask me above 100 USDC", "Never ask me"),
    "aim": ("Aim for a 5% return",),
    "markets": ("Only use Morpho USDC",),
}


@given(st.data())
def test_the_order_of_independent_clauses_changes_nothing(data: st.DataObject) -> None:
    named = data.draw(st.lists(st.sampled_from(sorted(_CLAUSES)), min_size=1, unique=True))
    clauses = [data.draw(st.sampled_from(_CLAUSES[name])) for name in named]
    if any("800" in c for c in clauses) and "budget" not in named:
        clauses.append(_CLAUSES["budget"][0])
    mixed = data.draw(st.permutations(clauses))
    first, second = read(". ".join(clauses)), read(". ".join(mixed))
    assert not first.needs_review
    assert said(first) == said(second)
    assert first.terms == second.terms


_PIECES = st.sampled_from(
    [w for r in TABLE for w in r.note.split(" ")]
    + ["$", "-", "%", "per trade", "a day", "‮", "٥٠", "⟦m0⟧", "\x00", "½", "not", "or", "except"]
)
_TEXTS = st.one_of(st.text(max_size=300), st.lists(_PIECES, max_size=40).map(" ".join))
_SENTENCES = st.lists(
    st.sampled_from([*(r.note for r in (*TABLE, *VOICES, *DOUBTFUL)), *NOTHING, *ELSEWHERE]),
    min_size=1,
    max_size=4,
).map(lambda parts: ". ".join(parts)[:NOTE_MAX])


@given(_SENTENCES)
def test_every_figure_is_in_exactly_one_place(note: str) -> None:
    draft = read(note)
    told = [u.text for u in (*draft.understood, *draft.unclear)] + list(draft.unrelated)
    placed = [figure for text in told for figure in FIGURE.findall(text)]
    assert sorted(placed) == sorted(FIGURE.findall(note))


@given(_TEXTS)
def test_what_is_told_of_any_text_are_its_own_words_each_once(note: str) -> None:
    draft = read(note)
    told = [u.text for u in (*draft.understood, *draft.unclear)] + list(draft.unrelated)
    assert all(text in note for text in told)
    assert sum(len(text) for text in told) <= len(note)


@given(st.one_of(_TEXTS, _SENTENCES))
def test_any_text_gives_terms_that_a_mandate_can_have(note: str) -> None:
    draft = read(note)
    assert draft == read(note)
    assert_possible(draft)
    told = [u.term for u in draft.understood] + [a.term for a in draft.assumed]
    assert set(draft.terms) - {"markets"} <= set(told)
    for assumed in draft.assumed:
        assert assumed.term == "allowed_targets" or draft.terms[assumed.term] == assumed.value
        assert assumed.term not in said(draft)
    for understood in draft.understood:
        if understood.term != "markets":
            assert draft.terms[understood.term] == understood.value


def assert_possible(draft: Draft) -> None:
    """Limits of spec 2.1: what a create body may say."""
    t = draft.terms
    budget, tx, day = (
        Usdc.parse(t[n]) for n in ("budget_usdc", "per_tx_cap_usdc", "daily_cap_usdc")
    )
    assert Usdc(0) < tx <= day <= budget
    assert 0 <= t["stop_floor_bps"] <= 10_000
    assert 1 <= t["horizon_days"] <= 366
    assert 0 <= t["payout_rule"]["bps"] <= MAX_PAYOUT_BPS
    assert t["approval_above_usdc"] is None or Usdc.parse(t["approval_above_usdc"]) > Usdc(0)
    assert t["target_bps"] is None or 0 < t["target_bps"] <= 1_000_000


_FOREIGN = (
    "nicht mehr als 50 pro Tag",
    "höchstens fünfzig USDC je Handel",
    "frag mich über 100 USDC",
    "no más de cincuenta al día",
    "pregúntame por encima de 100",
    "pas plus de 50 par jour",
    "au maximum 50 USDC par transaction",
    "massimo 50 USDC al giorno",
    "no máximo 50 por dia",
    "niet meer dan 50 per dag",
    "maksymalnie 50 dziennie",
    "не больше 50 в день",
    "每天最多 50",
    "1.000,50 USDC per day",
    "1.500 USDC per day",
    "50,00 USDC per trade",
    "1 000 USDC per day",
    "1'000 USDC per day",
    "٥٠ USDC per trade",
    "５０ USDC per trade",
    "५० USDC per trade",
    "½ of it per trade",
)


@pytest.mark.parametrize("clause", _FOREIGN)
@given(
    note=st.sampled_from(_GOOD),
    joint=st.sampled_from((", ", ". ", "; ", "\n")),
    first=st.booleans(),
)
def test_a_note_with_foreign_words_or_figures_is_never_half_read(
    clause: str, note: str, joint: str, first: bool
) -> None:
    draft = read(f"{clause}{joint}{note}" if first else f"{note}{joint}{clause}")
    assert draft.understood == ()
    assert draft.needs_review


# -- cost

_REPEATED = (
    "1 000 ", "ask me ", "a ", "per ", "stop if it drops ", "hundred ", "1,", "$", "- ", "half a ",
    "twenty ", "5% ", "$5 a day ", "keep the ", "if it is ", "x", "never lose more than ", "and ",
    "50 per trade ", "1. a\n", "500 USDC, ", "ask me before any trade for anything ", "trade with ", ". ", "? ",
)  # fmt: skip


@pytest.mark.parametrize("piece", _REPEATED)
def test_the_cost_of_a_note_is_linear_in_it(piece: str) -> None:
    """Steps, not seconds: a token is looked at once a phrase that it may be in."""
    whole = (piece * NOTE_MAX)[:NOTE_MAX]
    half = (piece * NOTE_MAX)[: NOTE_MAX // 2]
    steps = read(whole).steps
    assert steps <= 2.2 * read(half).steps + MAX_SENTENCE
    assert steps <= (MAX_PHRASE + 1) * len(whole)
    assert_possible(read(whole))


@given(_SENTENCES)
@settings(max_examples=50)
def test_the_cost_of_any_note_is_bounded_by_its_words(note: str) -> None:
    words = len(re.findall(r"\w+|[^\w\s]", note)) + 1
    assert read(note).steps <= (MAX_PHRASE + 1) * words


def test_a_note_beyond_the_bound_is_not_read() -> None:
    draft = read("Budget 700 USDC. " + "a" * NOTE_MAX)
    assert draft.understood == ()
    assert draft.needs_review
