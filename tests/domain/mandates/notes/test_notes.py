"""Purpose notes: what is read of them, and what is not; to read a term wrongly is worse than not to
read it.

`plain.txt` and `doubtful.txt` were written from the meaning of the notes, before the forms; a line is
a note, ` | `, and what it says beyond doubt: all of it is read of a plain note, and nothing else of any
other. `kept.txt`, `voices.txt`, `kept_doubtful.txt` and `nothing.txt` are notes by many hands.
"""

from __future__ import annotations

import re
import re._parser as sre  # type: ignore[import-not-found]  # has no stub
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import example as with_example
from hypothesis import given
from hypothesis import strategies as st

from domain.mandates.mandate import MAX_PAYOUT_BPS
from domain.mandates.markets import from_config
from domain.mandates.notes import reader
from domain.mandates.notes.draft import NOTE_MAX, PRESET, Draft, parse_note
from domain.mandates.notes.forms import FORMS, NoteForm, patterns
from domain.mandates.purses import PARTS
from domain.money import Usdc

HERE: Final = Path(__file__).parent
CHAIN: Final = 8453
_AT: Final = {"chain_id": CHAIN, "address": "0x" + "11" * 20, "share_token": "0x" + "22" * 20}
MARKETS: Final = from_config([
    {"id": "x402-reads", "name": "Paid reads (x402)", "kind": "x402", "status": "live"},
    {"id": "perps-btc", "name": "BTC perpetual", "kind": "venue", "status": "paper", "venue": "v", "symbols": ["BTC"]},
    {"id": "perps-eth", "name": "ETH perpetual", "kind": "venue", "status": "live", "venue": "v", "symbols": ["ETH"]},
    {"id": "morpho", "name": "Morpho USDC", "kind": "erc4626", "status": "live", **_AT},
    {"id": "aave-3", "name": "Aave v3", "kind": "aave", "status": "live", **_AT},
    {"id": "test-market", "name": "Test Market", "kind": "erc4626", "status": "planned"},
])  # fmt: skip
TERMS: Final = {
    "budget": "budget_usdc", "tx": "per_tx_cap_usdc", "day": "daily_cap_usdc", "floor": "stop_floor_bps", "days": "horizon_days",
    "fee": "payout_rule", "ask": "approval_above_usdc", "on": "on_floor", "aim": "target_bps", "markets": "markets",
}  # fmt: skip
AMOUNTS: Final = ("budget", "tx", "day", "ask")


def value_of(name: str, statement: str) -> Any:
    if statement == "-":
        return None
    if name in AMOUNTS:
        return str(Usdc.parse(statement))
    if name == "fee":
        return {"kind": "share_of_verified_gain", "bps": int(statement)}
    if name == "markets":
        return statement.split(",")
    return statement if name == "on" else int(statement)


def rows(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for line in (HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        note, _, said = line.replace(r"\n", "\n").rpartition(" |")
        pairs = [pair.partition("=") for pair in said.split()]
        yield note, {TERMS[n]: value_of(n, v) for n, _, v in pairs}


PLAIN: Final = list(rows("plain"))
DOUBTFUL: Final = list(rows("doubtful"))


def read(note: str, **typed: object) -> Draft:
    return parse_note(note, markets=MARKETS, chain_id=CHAIN, typed=typed, purses=str)


def said(draft: Draft) -> dict[str, Any]:
    """What was read; of "only Aave" the markets."""
    return {u.term: u.value for u in draft.understood if u.term != "allowed_targets"}


# -- notes and what they say


@pytest.mark.parametrize(("note", "expected"), PLAIN, ids=[n[:60] for n, _ in PLAIN])
def test_a_plain_note_is_read_whole(note: str, expected: dict[str, Any]) -> None:
    draft = read(note)
    assert said(draft) == expected
    assert not draft.needs_review


@pytest.mark.parametrize(("note", "most"), DOUBTFUL, ids=[ascii(n[:60]) for n, _ in DOUBTFUL])
def test_of_a_doubtful_note_nothing_is_read_that_it_does_not_say(
    note: str, most: dict[str, Any]
) -> None:
    assert said(read(note)).items() <= most.items()


@pytest.mark.parametrize(
    ("name", "whole"), [("kept", 190), ("voices", 240), ("kept_doubtful", 0), ("nothing", 0)]
)
def test_of_notes_by_many_hands_none_is_read_wrongly(name: str, whole: int) -> None:
    drafts = [(note, expected, read(note)) for note, expected in rows(name)]
    wrong = [(n, said(d)) for n, expected, d in drafts if not said(d).items() <= expected.items()]
    assert wrong == []
    understood = [n for n, expected, d in drafts if said(d) == expected and not d.needs_review]
    assert len(understood) >= whole


@pytest.mark.parametrize(("note", "expected"), list(rows("nothing"))[:400:4])
@pytest.mark.parametrize("joint", [". ", "\n"])
def test_a_sentence_that_only_sounds_like_a_term_fills_none_behind_another(
    note: str, expected: dict[str, Any], joint: str
) -> None:
    assert set(said(read(f"Budget 1,000 USDC{joint}{note}"))) <= {"budget_usdc"}


# -- the forms


OWN_FORMS: Final = [form for form in FORMS if form.term not in PARTS]


@pytest.mark.parametrize("form", OWN_FORMS, ids=[form.name for form in OWN_FORMS])
def test_every_example_of_a_form_says_its_term_and_no_other(form: NoteForm) -> None:
    for example in form.examples:
        draft = read(
            example, **({"budget_usdc": Usdc.parse(500)} if form.term != "budget_usdc" else {})
        )
        mine = {form.term, *(term for term, _ in form.also)}
        assert draft.unrelated == (), example
        if form.could:
            (unclear,) = draft.unclear
            assert {c.term for c in unclear.could_be} == set(form.could), example
            assert (
                set(draft.left_open) <= {"budget_usdc", "per_tx_cap_usdc", "daily_cap_usdc"} | mine
            )
        else:
            read_terms = {u.term for u in draft.understood if u.text}
            assert read_terms - {"markets", "allowed_targets"} == mine - {"allowed_targets"}
            assert ("markets" in read_terms) == (
                "K" in form.pattern or form.term == "allowed_targets"
            )
            assert draft.unclear == (), example


def repeats(parsed: Any) -> Iterator[tuple[int, Any]]:
    """Every repetition of an expression: how often at most."""
    for op, value in parsed:
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            yield value[1]
            yield from repeats(value[2])
        elif op is sre.SUBPATTERN:
            yield from repeats(value[3])
        elif op is sre.BRANCH:
            for branch in value[1]:
                yield from repeats(branch)


def test_no_form_repeats_anything() -> None:
    """A part may be left out; nothing stands there any number of times."""
    assert len(patterns()) == len(FORMS) == len({form.name for form in FORMS})
    for form, pattern in patterns():
        assert set(repeats(sre.parse(pattern.pattern))) <= {1}, form.name


# -- what the contract says in so many words


def test_an_ambiguous_item_makes_its_own_term_unclear_and_no_other() -> None:
    draft = read(
        "Budget 500 USDC, 50 a trade, 150 a day, stop at 400, 30 days, fee 10%, ask above 100"
    )
    assert len(draft.understood) == 6
    (unclear,) = draft.unclear
    assert (unclear.text, draft.left_open) == ("stop at 400", ("stop_floor_bps",))
    assert [(c.term, c.value) for c in unclear.could_be] == [("stop_floor_bps", 8000), ("stop_floor_bps", 2000)]  # fmt: skip


def test_a_cap_without_asking_never_becomes_an_agent_that_asks_for_nothing() -> None:
    draft = read("Without asking you may spend 25 per trade")
    assert {"approval_above_usdc", "per_tx_cap_usdc"} <= set(draft.left_open)
    assert not {"approval_above_usdc", "per_tx_cap_usdc"} & set(draft.terms)


@pytest.mark.parametrize(
    "note", ["Never act without asking me", "Run everything by me", "Don't act on your own", "Check with me"]
)  # fmt: skip
def test_words_about_asking_leave_open_whether_it_asks(note: str) -> None:
    draft = read(f"Budget 500 USDC. {note}.")
    assert "approval_above_usdc" in draft.left_open
    assert "approval_above_usdc" not in {a.term for a in draft.assumed}


@pytest.mark.parametrize(
    ("note", "still"),
    [
        ("Budget 100 USDC, 500 per trade, 30 days", {"horizon_days": 30}),
        ("Fee 10%. Fee 20%. Budget 500 USDC.", {"budget_usdc": "500.000000"}),
        ("$50 for data. $50 for news. 30 days.", {"horizon_days": 30}),
    ],
)
def test_what_contradicts_itself_is_unclear(note: str, still: dict[str, Any]) -> None:
    draft = read(note)
    assert said(draft) == still
    assert draft.needs_review


@pytest.mark.parametrize(
    "taken", ["Actually make it 300", "Just kidding", "Scratch that", "Forget all that"]
)
def test_who_takes_something_back_takes_everything_back(taken: str) -> None:
    draft = read(f"Budget 500 USDC, 30 days. {taken}.")
    assert draft.understood == ()
    assert dict(draft.terms) == {}


def test_an_unread_sentence_takes_no_preset_for_what_it_may_be_about() -> None:
    draft = read("Budget 500 USDC. The agent's cut is a matter for later.")
    assert said(draft) == {"budget_usdc": "500.000000"}
    assert "payout_rule" in draft.left_open
    assert {"per_tx_cap_usdc", "daily_cap_usdc"} <= {a.term for a in draft.assumed}
    assert "payout_rule" not in {a.term for a in draft.assumed}


def test_caps_of_an_unclear_budget_take_no_preset() -> None:
    draft = read("Budget around 500 USDC, 30 days")
    assert {"budget_usdc", "per_tx_cap_usdc", "daily_cap_usdc"} <= set(draft.left_open)


def test_a_sentence_about_something_else_is_unrelated() -> None:
    draft = read("Budget 500 USDC. Be nice to strangers.")
    assert (draft.unrelated, draft.needs_review) == (("Be nice to strangers",), False)


@pytest.mark.parametrize(
    ("words", "ids", "only"),
    [
        ("Use Aave v3", ["aave-3"], False),
        ("Trade BTC and ETH perps", ["perps-btc", "perps-eth"], False),
        ("BTC, ETH perpetuals", ["perps-btc", "perps-eth"], False),
        ("Aave and Morpho", ["aave-3", "morpho"], False),
        ("Only Aave", ["aave-3"], True),
        ("You may trade ETH perps only", ["perps-eth"], True),
        ("Use perps-eth", ["perps-eth"], False),
    ],
)
def test_words_for_markets_select_them(words: str, ids: list[str], only: bool) -> None:
    draft = read(f"Budget 500 USDC. {words}.")
    assert (draft.needs_review, draft.terms["markets"]) == (False, ids)
    assert draft.terms.get("allowed_targets") == ([{"kind": "vault"}] if only else None)
    assert {u.text for u in draft.understood if u.term == "markets"} == {words}


@pytest.mark.parametrize(
    ("words", "could"),
    [
        ("500 USDC for lending", [["morpho"], ["aave-3"], ["morpho", "aave-3"]]),
        ("500 USDC. Trade perps", [["perps-btc"], ["perps-eth"], ["perps-btc", "perps-eth"]]),
        ("500 USDC. Use the Test Market", [None]),
        ("500 USDC. Use Aave v3. Only Aave v3", [["aave-3"], ["aave-3"], [{"kind": "vault"}]]),
        ("500 USDC. Use Aave v3 or Morpho", [None]),
    ],
)
def test_words_for_markets_that_do_not_choose_leave_open_where_it_may_act(
    words: str, could: list[object]
) -> None:
    draft = read(words)
    assert said(draft) == {"budget_usdc": "500.000000"}
    assert draft.left_open == ("allowed_targets",)
    options = [c.value for u in draft.unclear for c in u.could_be]
    assert [o for at, o in enumerate(options) if o not in options[:at]] == [
        o for at, o in enumerate(could) if o not in could[:at]
    ]


@pytest.mark.parametrize(
    "words",
    ["Trade BTC and SOL perps", "Trade ETH perps, not BTC perps", "Anything but Aave", "Avoid:\nAave v3"],
)  # fmt: skip
def test_words_that_exclude_a_market_or_name_an_unknown_one_select_none(words: str) -> None:
    draft = read(f"500 USDC. {words}")
    assert "allowed_targets" in draft.left_open
    assert not {"markets", "allowed_targets"} & set(draft.terms)


def test_a_purpose_for_which_no_market_is_listed_says_that_it_selects_none() -> None:
    draft = parse_note("500 USDC for lending", markets=(), chain_id=CHAIN)
    assert not draft.needs_review
    (assumed,) = (a for a in draft.assumed if a.term == "allowed_targets")
    assert "selects no market" in assumed.reason


def test_a_market_of_another_network_is_named_and_not_selected() -> None:
    draft = parse_note("500 USDC in Aave v3", markets=MARKETS, chain_id=1)
    assert (said(draft), draft.left_open) == ({"budget_usdc": "500.000000"}, ("allowed_targets",))
    assert "another network" in draft.unclear[0].reason


_FOREIGN: Final = (
    "nicht mehr als 50 pro Tag", "höchstens fünfzig USDC je Handel", "no más de cincuenta al día", "не больше 50 в день", "每天最多 50",
    "1.000,50 USDC per day", "1.500 USDC per day", "50,00 USDC per trade", "1 000 USDC per day", "1'000 USDC per day", "٥٠ USDC per trade",
    "５０ USDC per trade", "५० USDC per trade", "½ of it per trade", "1,00,000 USDC per day", "5O USDC per trade",
)  # fmt: skip


@pytest.mark.parametrize("item", _FOREIGN)
@pytest.mark.parametrize("joint", [", ", " and "])
def test_a_sentence_with_a_figure_of_another_form_is_not_read(item: str, joint: str) -> None:
    for note in (f"Budget 800 USDC{joint}{item}", f"{item}{joint}budget 800 USDC"):
        draft = read(note)
        assert draft.understood == ()
        assert {"budget_usdc", "per_tx_cap_usdc", "daily_cap_usdc"} <= set(draft.left_open)


@pytest.mark.parametrize(
    "share", ["10%", "10 %", "10 per cent", "ten per cent", "ten-percent", "10 pct"]
)
def test_a_share_is_read_in_figures_and_in_words(share: str) -> None:
    assert said(read(f"Budget 500 USDC, {share} per trade, fee {share}")) == {
        "budget_usdc": "500.000000",
        "per_tx_cap_usdc": "50.000000",
        "payout_rule": {"kind": "share_of_verified_gain", "bps": 1000},
    }


@pytest.mark.parametrize("share", ["2k%", "2k %", "$5 %", "0.555%", "0.555 percent", "50usdc.e"])
def test_a_share_that_is_none_is_no_figure_and_ends_with_its_sign(share: str) -> None:
    draft = read(f"Fee {share}. 30 days.")
    assert "payout_rule" in draft.left_open
    assert (draft.unclear[0].text, draft.unclear[1].text) == (f"Fee {share}", "30 days")


@pytest.mark.parametrize(
    ("note", "budget"),
    [
        ("- 500 USDC budget", None),
        ("- USD 500", None),
        ("- $500", None),
        ("- five hundred USDC", "500.000000"),
        ("- 500 USDC\n- 30 days", "500.000000"),
        ("1. 500 USDC\n2) 30 days", "500.000000"),
        ("2. 500 USDC", None),
    ],
)
def test_a_dash_marks_an_item_unless_it_may_be_the_sign_of_a_figure(
    note: str, budget: str | None
) -> None:
    draft = read(note)
    assert said(draft).get("budget_usdc") == budget
    assert draft.needs_review is (budget is None)


@pytest.mark.parametrize("note", ["my max of 5 a day", "at most 5 a day", "5 per day"])
def test_a_small_number_a_day_may_be_how_often_in_every_order_of_words(note: str) -> None:
    draft = read(f"Budget 500 USDC. {note}")
    assert (said(draft), draft.left_open) == ({"budget_usdc": "500.000000"}, ("daily_cap_usdc",))


@pytest.mark.parametrize("note", ["limit is 90 daily", "budget 90/day", "spending limit 90 a day"])
def test_a_limit_of_a_day_is_read_with_every_word_for_a_day(note: str) -> None:
    assert said(read(note)) == {"daily_cap_usdc": "90.000000"}


# -- typed terms


def test_typed_terms_win_and_their_words_are_nobodys() -> None:
    draft = read("Budget 500 USDC, 50 per trade, fee 10%", per_tx_cap_usdc=Usdc.parse(20))
    first = draft.understood[0]
    assert (first.term, first.value, first.text) == (
        "per_tx_cap_usdc",
        "20.000000",
        None,
    )
    assert said(draft)["budget_usdc"] == "500.000000"
    assert not draft.needs_review


def test_an_unread_sentence_is_settled_where_all_that_it_may_be_about_is_typed() -> None:
    note = "Budget 500 USDC. Take whatever share you think fair."
    open_before = read(note)
    assert "payout_rule" in open_before.left_open
    typed = {"payout_rule": {"kind": "share_of_verified_gain", "bps": 500}}
    typed |= {t: PRESET.get(t) for t in open_before.left_open if t not in typed}
    typed |= {
        "budget_usdc": Usdc.parse(500),
        "per_tx_cap_usdc": Usdc.parse(5),
        "daily_cap_usdc": Usdc.parse(9),
    }
    draft = read(note, **typed)
    assert (draft.left_open, draft.unclear) == ((), ())


def test_a_share_in_a_note_is_of_the_budget_that_was_typed() -> None:
    assert (
        said(read("max 10% per trade", budget_usdc=Usdc.parse(800)))["per_tx_cap_usdc"]
        == "80.000000"
    )


# -- any text


_PIECES: Final = st.sampled_from(
    [word for note, _ in (*PLAIN, *DOUBTFUL) for word in note.split(" ")]
    + [
        "$",
        "-",
        "%",
        "per trade",
        "a day",
        "may pay for APIs",
        "per call",
        "0.50 each",
        "only to 0x1111111111111111111111111111111111111111",
        "only at api.example.com",
        "‮",
        "٥٠",
        "\x00",
        "½",
        "not",
        "or",
        "\n",
        "...",
        "and",
        ":",
    ]
)
_NOTES: Final = st.one_of(
    st.text(max_size=300),
    st.lists(_PIECES, max_size=60).map(" ".join),
    st.lists(st.sampled_from([n for n, _ in (*PLAIN, *DOUBTFUL)]), min_size=1, max_size=5).map(
        ". ".join
    ),
)
FIGURE: Final = re.compile(r"(?<![\w.,'])[0-9]+(?![\w.,'])")


@given(_NOTES)
@with_example("FOR LENDING")
def test_any_note_gives_terms_that_a_mandate_can_have(note: str) -> None:
    draft = read(note)
    assert draft == read(note)
    assert draft.needs_review is bool(draft.left_open)
    assert not set(draft.left_open) & set(draft.terms)
    assert {"budget_usdc", "horizon_days"} <= {*draft.left_open, *draft.terms}
    assert {"allowed_targets", "markets"} & {*draft.left_open, *draft.terms}
    told = [u.text or "" for u in (*draft.understood, *draft.unclear)] + list(draft.unrelated)
    assert all(text in note for text in told)
    listed = {c.term for u in draft.unclear for c in u.could_be}
    if "markets" in listed:  # a body names places to act by their markets, or by calls
        listed.add("allowed_targets")
    assert set(draft.left_open) <= listed | {a for a in draft.left_open if a in said(draft)}
    possible(draft.terms)


def possible(t: Any) -> None:
    """Limits of spec 2.1: what a create body may say."""
    caps = [
        Usdc.parse(t[n]) for n in ("per_tx_cap_usdc", "daily_cap_usdc", "budget_usdc") if n in t
    ]
    assert caps == sorted(caps)
    assert all(cap > Usdc(0) for cap in caps)
    assert 0 <= t.get("stop_floor_bps", 0) <= 10_000
    assert 1 <= t.get("horizon_days", 1) <= 366
    assert 0 <= t.get("payout_rule", {"bps": 0})["bps"] <= MAX_PAYOUT_BPS
    assert t.get("approval_above_usdc") is None or Usdc.parse(t["approval_above_usdc"]) > Usdc(0)


@given(_NOTES)
def test_no_figure_is_passed_over(note: str) -> None:
    draft = read(note)
    told = [u.text or "" for u in (*draft.understood, *draft.unclear)] + list(draft.unrelated)
    placed = {figure for text in told for figure in FIGURE.findall(text)}
    numbered = {f for line in note.splitlines() for f in re.findall(r"^\s*([0-9]+)[.)]\s", line)}
    assert set(FIGURE.findall(note)) <= placed | numbered


# -- cost


_REPEATED: Final = (
    "1 000 ", "a ", "per ", "stop if it drops ", "hundred ", "1,", "$", "- ", "twenty ", "5% ", "$5 a day ", "x", "and ", "50 per trade ",
    "1. a\n", "500 USDC, ", "trade with ", ". ", "? ", "$1. ", "a hundred and ", "5 or ", "max ", "for 5 days ", "\n- 1", "'", "a.b.", "...",
)  # fmt: skip


@pytest.mark.parametrize("piece", _REPEATED)
def test_a_note_of_any_length_tries_a_bounded_number_of_items(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = list[int]()
    forms = patterns()
    monkeypatch.setattr(reader, "patterns", lambda: tried.append(1) or forms)
    possible(read((piece * NOTE_MAX)[:NOTE_MAX]).terms)
    assert len(tried) <= reader.MAX_ITEMS


def test_a_note_beyond_the_bound_is_not_read() -> None:
    draft = read("Budget 700 USDC. " + "a" * NOTE_MAX)
    assert draft.understood == ()
    assert draft.needs_review
