"""Figures, times and other people's text as a person reads them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from markupsafe import escape

from app.components.refusal import view as refusal_view
from app.words import addresses, money, refusals, status, times, untrusted_text
from domain.mandates.mandate import Status
from domain.money import Usdc
from domain.refusals import Refused, refusal
from domain.trading.order_gate import FieldProblem, invalid_order


@pytest.mark.parametrize(
    ("value", "exact", "est", "worst"),
    [
        ("0.000000", "0.00", "0.00", "0.00"),
        ("515.099999", "515.099999", "515.09", "515.10"),
        ("1234567.500000", "1,234,567.50", "1,234,567.50", "1,234,567.50"),
        ("-0.000001", "−0.000001", "0.00", "−0.01"),
        ("-12.345000", "−12.345", "−12.34", "−12.35"),
    ],
)
def test_facts_show_all_digits_estimates_fewer_and_costs_more(
    value: str, exact: str, est: str, worst: str
) -> None:
    for shown, how in ((exact, money.exact), (est, money.est), (worst, money.worst)):
        lead = "about " if how is money.est else ""
        hidden = "" if shown == exact else f' title="{exact} USDC"'
        assert how(value) == f'<data class="usdc" value="{value}"{hidden}>{lead}{shown} USDC</data>'


def test_what_nobody_measured_is_no_zero() -> None:
    for how in (money.exact, money.est, money.worst, money.gain):
        assert "not known yet" in how(None)
        assert "0" not in how(None)


def test_a_gain_has_its_sign_and_nothing_has_none() -> None:
    assert ">+1.50 USDC<" in money.gain("1.500000")
    assert ">−1.50 USDC<" in money.gain("-1.509999")
    assert ">0.00 USDC<" in money.gain("0.000000")


@pytest.mark.parametrize(
    ("value", "shown"),
    [("500.000000", "500"), ("1000.500000", "1000.50"), ("0.000001", "0.000001"), (None, "")],
)
def test_an_amount_in_a_field_is_what_somebody_types(value: str | None, shown: str) -> None:
    assert money.typed(value) == shown


@pytest.mark.parametrize(
    ("part", "of", "shown"),
    [
        ("15.099000", "500.000000", "+3.0%"),
        ("-255.000000", "500.000000", "−51.0%"),
        ("0.000000", "5.000000", "0.0%"),
        ("-0.020000", "10000.000000", "0.0%"),
        ("1.000000", "0.000000", None),
        (None, "1.000000", None),
    ],
)
def test_a_share_is_rounded_towards_zero(part: str | None, of: str, shown: str | None) -> None:
    assert money.share(part, of) == shown


@pytest.mark.parametrize(
    ("bps", "shown"),
    [(2000, "20%"), (1050, "10.5%"), (1, "0.01%"), (-25, "−0.25%"), (0, "0%"), (None, None)],
)
def test_ten_thousandths_become_percent(bps: int | None, shown: str | None) -> None:
    assert money.percent(bps) == shown


def test_a_time_is_utc_from_the_server_and_says_so() -> None:
    shown = times.moment("2026-11-22T19:52:06.123Z")
    assert shown == (
        '<time datetime="2026-11-22T19:52:06.123Z" data-local="moment" title="22 Nov 2026, 19:52 UTC">22 Nov 2026, 19:52 UTC</time>'
    )


@pytest.mark.parametrize(
    ("iso", "said"),
    [
        ("2026-11-22T12:00:30Z", "in 30 seconds"),
        ("2026-11-22T12:59:00Z", "in 59 minutes"),
        ("2026-11-23T11:00:00Z", "in 23 hours"),
        ("2026-11-20T11:00:00Z", "2 days ago"),
        ("2026-11-22T11:59:59Z", "1 second ago"),
    ],
)
def test_how_far_away_a_time_is(iso: str, said: str) -> None:
    assert times.distance(iso, datetime(2026, 11, 22, 12, tzinfo=UTC)) == said


def test_times_inside_a_reason_become_times() -> None:
    said = refusals.dated("Locked until 1 Dec 2026, 18:03 UTC & no <b>sooner</b>.")
    assert "<time" in said
    assert "&amp; no &lt;b&gt;sooner" in said
    assert 'datetime="2026-12-01T18:03:00Z"' in said


def test_other_peoples_text_cannot_hide_anything_or_turn_the_line_around() -> None:
    said = untrusted_text.quote_untrusted("safe\u202egnp.exe\u200b <script>alert(1)</script>\x00")
    assert (
        said
        == '<bdi class="told">safe\\u{202E}gnp.exe\\u{200B} &lt;script&gt;alert(1)&lt;/script&gt;\\u{0000}</bdi>'
    )
    assert len(untrusted_text.plain("x" * 5_000, 90)) == 90


def test_other_peoples_accents_pile_up_on_no_other_line() -> None:
    piled = untrusted_text.plain("e" + "\u0301" * 60 + "z" + "\u0e47\u0323" * 4)
    assert piled == "e" + "\u0301" * 5 + r"\u{0301}" * 55 + "z" + "\u0e47\u0323" * 2 + (
        "\u0e47" + r"\u{0323}" + r"\u{0E47}\u{0323}"
    )
    for name in (
        "\u0110\u1eb7ng Th\u1ecb",
        "\u05e9\u05bc\u05c1\u05b8\u0591\u05bd",
        "\u1000\u103c\u103d\u1031\u1038",
    ):
        assert untrusted_text.plain(name) == name
    assert len(untrusted_text.plain("e" + "\u0301" * 60, 90)) == 90


def test_an_address_is_whole_and_in_fours() -> None:
    shown = addresses.full_address("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC")
    assert shown.count("<span>") == 10
    assert 'data-copy="0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"' in shown
    assert addresses.short("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC") == "0x3C44…93BC"


def test_a_field_of_an_order_is_called_as_its_form_calls_it() -> None:
    fault = FieldProblem(field="slippage_bps", rule="at most 5% off the best price", nearest="500")
    block = invalid_order(fault).as_json("owner")
    shown = refusal_view(block)
    assert shown is not None
    assert shown["sentences"][1] == (
        "The order cannot be taken: Largest price difference: at most 5% off the best price."
    )
    assert shown["remaining"] == (("Nearest allowed value", "5%"),)
    fault = FieldProblem(
        field="notional_usdc", rule="an order is worth 10.00 USDC or more", nearest="10.000000"
    )
    shown = refusal_view(invalid_order(fault).as_json("owner"))
    assert shown is not None
    assert "Order value: an order is worth 10.00 USDC or more" in shown["sentences"][1]
    assert shown["remaining"] == (("Nearest allowed value", "10.00 USDC"),)


def test_a_state_in_a_refusal_is_the_word_of_its_pill() -> None:
    for stored, word in (("working", "Active"), ("signed", "Signed, not funded")):
        reason = refusal("wrong_status", status=stored, action="pausing it").reason
        (told,) = refusals.sentences("wrong_status", reason)
        assert told == f"The mandate’s state is “{word}”. This is not possible in that state."
    assert {s.value for s in Status} <= {"working", *status.PLAIN}


@pytest.mark.parametrize(
    ("name", "problem", "shown"),
    [
        ("name", "String should have at least 1 character", ("Name", "it is empty")),
        ("week", "String should have at most 8 characters", ("Week", "it is too long: at most 8 fit")),
        ("quiet.begins", "String should match pattern '^(a)$'", ("From", "it does not have the form that this field takes")),
        ("some_field.part", "the words of a check", ("some field, part", "the words of a check")),
    ],
)  # fmt: skip
def test_a_field_and_its_mistake_are_told_without_a_schemas_words(
    name: str, problem: str, shown: tuple[str, str]
) -> None:
    assert refusals.in_fields([(name, problem)]) == (shown,)


@pytest.mark.parametrize("typed", ["abc", "1,000", "1.000,50", "1e3", "1'000"])
def test_what_is_no_amount_is_told_with_an_example(typed: str) -> None:
    with pytest.raises(Refused) as refused:
        Usdc.parse(typed)
    (told,) = refusals.sentences("invalid_number", refused.value.refusal.reason)
    assert f"“{escape(typed)}” is not an amount" in told
    assert "1000.50" in told


def test_an_amount_that_is_too_fine_is_told_as_it_was_typed() -> None:
    with pytest.raises(Refused) as refused:
        Usdc.parse("500.1234567")
    (told,) = refusals.sentences("invalid_number", refused.value.refusal.reason)
    assert told == "“500.1234567” is not an amount: it has more than 6 decimals."


def test_an_amount_that_is_too_small_is_told_as_an_amount() -> None:
    reason = refusal("invalid_number", value="-3.000000", why="it is not above 0").reason
    (told,) = refusals.sentences("invalid_number", reason)
    assert told == "−3.00 USDC is not an amount: it is not above 0."
