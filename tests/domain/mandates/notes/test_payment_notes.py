"""Notes about payments for web services: what is read, what is asked, and what is never assumed.

Of each note the table names all that is read and all that stays open; what is open has no preset, and
is asked for with the readings that a button can fill in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest
from eth_utils import to_checksum_address

from domain.mandates.notes.draft import Draft, parse_note
from domain.mandates.notes.forms import FORMS, NoteForm
from domain.mandates.purses import PARTS
from domain.money import Usdc
from domain.refusals import Refused, refusal
from tests.domain.mandates.notes.test_notes import CHAIN, MARKETS

ONE: Final = "0x" + "11" * 20
TWO: Final = "0x" + "22" * 20
TERMS: Final = {
    "budget": "budget_usdc", "tx": "per_tx_cap_usdc", "day": "daily_cap_usdc", "days": "horizon_days", "ask": "approval_above_usdc",
    "pays": "purse", "each": "per_payment_usdc", "daily": "per_day_usdc", "risk": "float_usdc", "to": "payees", "at": "hosts",
    "markets": "markets", "only": "allowed_targets", "floor": "stop_floor_bps", "fee": "payout_rule",
}  # fmt: skip
CAPS: Final = "budget tx day"
ALL_PARTS: Final = "pays each daily risk to at"

# note | read | open | readings offered, by term
NOTES: Final[tuple[tuple[str, str, str, str], ...]] = (
    ("may pay for APIs up to 0.50 each, 5 a day", "pays each=0.5 daily=5", "risk", "risk=5"),
    (f"pay web services at most 0.10 per call and 2 USDC a day, only to {ONE}", f"pays each=0.1 daily=2 to={ONE}", "risk", "risk=2"),
    ("May pay for APIs up to 0.50 each, 5 a day, at most 3 in the purse, only at api.example.com", "pays each=0.5 daily=5 risk=3 at=api.example.com", "", ""),
    (f"Pay for web services: 0.25 USDC per request, 4 USDC a day, 2 USDC at risk at once, only to {ONE} and {TWO}", f"pays each=0.25 daily=4 risk=2 to={ONE},{TWO}", "", ""),
    ("My agent may pay my-api.example.com up to 0.20 per call and at most 1 USDC a day", "pays each=0.2 daily=1 at=my-api.example.com", "risk", "risk=1"),
    ("Budget 500 USDC for 30 days, 50 per trade, 150 a day. You may also pay for APIs up to 0.50 each, 5 a day.", "budget=500 days=30 tx=50 day=150 pays each=0.5 daily=5", "risk", "risk=5"),
    ("500 USDC, 50 a trade, 150 a day, may pay for APIs up to 0.50 each, 5 a day", "budget=500 tx=50 day=150 pays each=0.5 daily=5", "risk", "risk=5"),
    ("Pay at most 5 USDC a day for APIs, 0.50 USDC per call", "pays each=0.5 daily=5", "risk", "risk=5"),
    ("Spend at most 5 USDC a day on APIs", "", "day pays daily", "day=5 daily=5"),
    ("Budget 800 USDC. 0.10 USDC per API call, 3 USDC a day, only at api.example.com or less", "", f"{CAPS} floor days fee ask on aim only {ALL_PARTS}", "budget=800 each=0.1 daily=3"),
    # what is unsaid would be as much as the mandate allows: it is asked, and has no preset
    ("Budget 500 USDC. May pay for APIs.", "budget=500 pays", "each daily risk", ""),
    ("May pay for APIs up to 5 USDC a day", "pays daily=5", "each risk", "risk=5"),
    # what may be the mandate's or its payments' is neither's
    ("0.5 USDC per call", "", "tx pays each", "tx=0.5 each=0.5"),
    ("Budget 500 USDC. 0.50 USDC a request.", "budget=500", "tx pays each", "tx=0.5 each=0.5"),
    ("500 USDC, may pay for APIs up to 0.50 each, 150 a day", "budget=500 pays each=0.5", "day daily risk", "daily=150 day=150"),
    ("May pay for APIs up to 0.50 each. At most 150 USDC a day.", "pays each=0.5", "day daily risk", "day=150 daily=150"),
    ("At most 150 USDC a day, may pay for APIs up to 0.50 each", "pays each=0.5", "day daily risk", "day=150 daily=150"),
    ("May pay for APIs up to 0.50 each, 5 a day. At most 50 USDC per payment.", "pays daily=5", "tx each risk", "risk=5 each=0.5 tx=50 each=50"),
    ("May pay for APIs, daily limit 40 USDC", "pays", "day each daily risk", "day=40 daily=40"),
    # five payments a day, or five USDC
    ("May pay for APIs up to 0.50 USDC each, 5 a day", "pays each=0.5", "daily risk", "daily=5"),
    # above the mandate's own limits, or out of order
    ("Budget 100 USDC. May pay for APIs up to 20 USDC each, 25 USDC a day.", "budget=100 pays daily=25", "each risk", "risk=25 each=20"),
    ("May pay for APIs, 1,250 USDC at risk, never spend more than 100 USDC per day", "pays", "day each daily risk", "day=100 daily=100 risk=1250"),
    ("May pay for APIs up to 5 USDC each, 2 USDC a day", "pays", "each daily risk", "each=5 daily=2"),
    # said twice
    ("May pay for APIs up to 0.50 each. May pay for APIs up to 0.70 each.", "pays", "each daily risk", "each=0.5 each=0.7"),
    # taken back, denied, doubtful, in another language
    ("Never pay for APIs", "", ALL_PARTS, ""),
    ("Budget 500 USDC. Web services are fine at some price.", "budget=500", ALL_PARTS, ""),
    ("Budget 500 USDC. Maybe pay for some APIs.", "", f"{CAPS} floor days fee ask on aim only {ALL_PARTS}", "budget=500"),
    ("May pay for APIs up to 0.50 each, 5 a day. Actually not.", "", f"{CAPS} floor days fee ask on aim only {ALL_PARTS}", "each=0.5 daily=5"),
    ("Darf für APIs bis zu 0,50 je Aufruf zahlen", "", f"{CAPS} floor days fee ask on aim only {ALL_PARTS}", ""),
    ("May pay for APIs only at https://api.example.com/v1", "", f"{CAPS} floor days fee ask on aim only {ALL_PARTS}", ""),
    ("May pay for APIs, only to 0x1234", "", f"{CAPS} floor days fee ask on aim only {ALL_PARTS}", ""),
    # beside markets
    ("Only Aave v3. May pay for APIs up to 0.50 each, 5 a day.", "markets=aave-3 only pays each=0.5 daily=5", "risk", "risk=5"),
)  # fmt: skip
NAMES: Final = {**TERMS, "on": "on_floor", "aim": "target_bps"}


def read(note: str, **typed: object) -> Draft:
    return parse_note(note, markets=MARKETS, chain_id=CHAIN, typed=typed, purses=str)


def value_of(name: str, text: str) -> Any:
    if name in ("to", "at", "markets"):
        return text.split(",")
    if name == "days":
        return int(text)
    return {"pays": "x402", "only": [{"kind": "vault"}]}.get(name) or str(Usdc.parse(text))


def pairs(text: str) -> list[tuple[str, Any]]:
    split = [p.partition("=") for p in text.split()]
    return [(NAMES[name], value_of(name, value)) for name, _, value in split]


@pytest.mark.parametrize(
    ("note", "says", "left", "offered"), NOTES, ids=[ascii(n[0][:70]) for n in NOTES]
)
def test_what_is_read_of_payments_what_is_asked_and_what_is_never_assumed(
    note: str, says: str, left: str, offered: str
) -> None:
    draft = read(note)
    assert {u.term: u.value for u in draft.understood} == dict(pairs(says))
    assert set(draft.left_open) == {NAMES[name] for name in left.split()}
    assert all(u.text is None or u.text in note for u in draft.understood)
    assert not {a.term for a in draft.assumed} & (set(draft.left_open) | set(PARTS))
    options = [
        (c.term, c.value)
        for u in draft.unclear
        for c in u.could_be
        if c.value is not None and c.term != "purse"
    ]
    assert sorted(map(str, dict.fromkeys(map(str, options)))) == sorted(map(str, pairs(offered)))
    asked = {c.term for u in draft.unclear for c in u.could_be}
    assert set(draft.left_open) - {"allowed_targets"} <= asked


def purse_of(draft: Draft) -> Mapping[str, Any] | None:
    targets: Any = draft.terms.get("allowed_targets") or ()
    return next((t.get("purse") for t in targets if t["kind"] == "x402"), None)


@pytest.mark.parametrize("row", NOTES, ids=[ascii(n[0][:70]) for n in NOTES])
def test_the_targets_hold_of_payments_what_is_read_and_nothing_else(
    row: tuple[str, str, str, str],
) -> None:
    draft, said = read(row[0]), dict(pairs(row[1]))
    purse = purse_of(draft)
    if "purse" not in said:
        assert purse is None
        return
    assert purse == {n: v for n, v in said.items() if n in PARTS and n not in ("purse", "hosts")}
    paid = next(t for t in draft.terms["allowed_targets"] if t["kind"] == "x402")  # type: ignore[attr-defined]
    assert paid["hosts"] == said.get("hosts", [])


FORMS_OF_PAYMENTS: Final = [form for form in FORMS if form.term in PARTS and not form.could]
LEADS: Final = {
    (): "",
    PARTS: "May pay for APIs, ",
    ("payees",): f"May pay for APIs, only to {ONE}, ",
    ("hosts",): "May pay for APIs, only at x.example.org, ",
}


@pytest.mark.parametrize("form", FORMS_OF_PAYMENTS, ids=[f.name for f in FORMS_OF_PAYMENTS])
def test_every_example_of_a_form_of_payments_says_its_term_and_no_limit_of_the_mandate(
    form: NoteForm,
) -> None:
    for example in form.examples:
        draft = read(LEADS[form.behind] + example)
        said = {u.term: u.text or "" for u in draft.understood}
        assert form.term in said, example
        assert example in said[form.term], example
        assert set(said) <= set(PARTS), example
        assert set(draft.left_open) <= set(PARTS), example
        if form.behind:
            alone = {u.term for u in read(example).understood}
            assert form.term not in alone, example


def test_an_address_with_a_wrong_digit_is_asked_for_and_nobody_may_be_paid_instead() -> None:
    def address(text: str) -> str:
        if to_checksum_address(text) != text:
            raise Refused(refusal("invalid_address", value=text, why="its checksum is wrong"))
        return text

    wrong = "0x52908400098527886E0F7030069857D2E4169eE7"
    note = f"May pay for APIs up to 0.50 each, 5 a day, only to {wrong}"
    draft = parse_note(note, purses=address)
    assert "payees" in draft.left_open
    (unclear,) = (u for u in draft.unclear if {c.term for c in u.could_be} == {"payees"})
    assert (unclear.text, "wrong" in unclear.reason) == (f"only to {wrong}", True)


def test_where_a_network_has_no_purses_no_payment_is_read_and_the_places_are_asked_for() -> None:
    draft = parse_note("Budget 500 USDC. May pay for APIs up to 0.50 each, 5 a day.")
    assert draft.left_open == ("allowed_targets",)
    assert {u.term for u in draft.understood} == {"budget_usdc"}
    assert "cannot be made on this network" in draft.unclear[0].reason
    assert parse_note("Never pay for APIs").left_open == ("allowed_targets",)


def test_typed_payments_win_and_what_they_leave_open_is_read() -> None:
    note = "May pay for APIs up to 0.50 each, 5 a day"
    whole = {"per_payment_usdc": "1", "per_day_usdc": "2", "float_usdc": None, "payees": []}
    typed = [{"kind": "vault"}, {"kind": "x402", "hosts": [], "purse": whole}]
    draft = read(note, allowed_targets=typed)
    assert (draft.left_open, purse_of(draft)) == ((), None if draft.needs_review else whole)
    part = {k: v for k, v in whole.items() if k != "per_payment_usdc"}
    draft = read(note, allowed_targets=[{"kind": "vault"}, {"kind": "x402", "purse": part}])
    assert purse_of(draft) == part | {"per_payment_usdc": "0.500000"}
    assert read(note, allowed_targets=[{"kind": "vault"}]).left_open == ()
    assert purse_of(read(note, allowed_targets=[{"kind": "vault"}])) is None


def test_what_is_typed_of_payments_does_not_settle_the_part_that_is_still_open() -> None:
    note = "May pay for APIs up to 0.50 USDC each, 5 a day"
    purse = {"per_payment_usdc": "0.5", "float_usdc": "5", "payees": []}
    draft = read(note, allowed_targets=[{"kind": "x402", "hosts": [], "purse": purse}])
    assert draft.left_open == ("per_day_usdc",)
    del purse["float_usdc"]
    draft = read(note, allowed_targets=[{"kind": "x402", "hosts": [], "purse": purse}])
    assert draft.left_open == ("per_day_usdc", "float_usdc")
    assert purse_of(draft) == purse
