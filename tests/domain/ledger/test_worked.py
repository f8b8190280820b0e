"""Worked mandates: each test's docstring does the sums by hand, the code must come to the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from domain.chain_facts import BlockStamp, VaultState
from domain.mandates.mandate import Status
from domain.rules.snapshot import MandateSnapshot
from tests.domain.material import (
    MARKET,
    SELECTOR,
    START,
    Ledger,
    case,
    deposit,
    executed,
    gone,
    ledger,
    mandate,
    mandate_read,
    marked,
    row,
    usdc,
)

P: dict[str, Any] = {"position": {"id": "p"}}


def shown(at: MandateSnapshot, *names: str) -> dict[str, Any]:
    """Chosen figures of the mandate read, by path."""
    view = mandate_read(at)
    out = {}
    for name in names:
        value: Any = view
        for part in name.split("."):
            value = value[part]
        out[name.rpartition(".")[2] if name.startswith("progress.") else name] = value
    return out


FIGURES = (
    "progress.cash", "progress.positions_est", "progress.worth_est", "progress.worth_source",
    "progress.realized", "progress.agent_fee_reserved", "progress.exit_cost_est", "progress.leave_now_est",
)  # fmt: skip


def figures(at: MandateSnapshot) -> list[Any]:
    return list(shown(at, *FIGURES).values())


def test_a_draft_knows_no_money() -> None:
    """No chain row: cash, worth and what follows from them are unknown; results and fees are zero; the floor is 400."""
    at = case(
        mandate(
            status=Status.DRAFT, signed_at=None, accepted_at=None, ends_at=None, vault_address=None
        )
    )
    assert figures(at) == [None, None, None, "cash", "0.000000", None, None, None]
    told = shown(
        at,
        "progress.floor",
        "progress.day",
        "progress.status",
        "fees.net_after_fees_est",
        "terms_status",
    )
    assert (told["floor"], told["day"], told["status"], told["terms_status"]) == (
        "400.000000",
        None,
        "draft",
        None,
    )
    assert told["fees.net_after_fees_est"]["value"] is None
    assert "data_issue" not in mandate_read(at)["progress"]


def test_a_funded_mandate_is_worth_its_deposit() -> None:
    """In: 500. Worth 500, nothing reserved (500 - 500 = 0), leaving costs nothing. One action: min(50, 150, 500) = 50."""
    at = ledger(deposit(500)).case()
    assert figures(at) == [
        "500.000000", "0.000000", "500.000000", "cash", "0.000000", "0.000000", "0.000000", "500.000000"
    ]  # fmt: skip
    assert mandate_read(at)["limits"]["remaining"] == {
        "value": "50.000000", "binding": {"clause": 2, "key": "per_action"}, "blocked_by": None,
        "retry_at": None,
    }  # fmt: skip


def test_a_matched_buy_moves_cash_into_a_position_at_cost() -> None:
    """500 - 40 = 460 cash, 40 at cost, worth 500. Exit costs 40 x 0.003 = 0.12, so leaving brings 499.88."""
    at = ledger(deposit(500), row("buy", 41, tx="0x01", **P), executed(40, tx="0x01")).case()
    assert figures(at) == [
        "460.000000", "40.000000", "500.000000", "cost", "0.000000", "0.000000", "0.120000", "499.880000"
    ]  # fmt: skip
    used = mandate_read(at)["limits"]["used"]
    assert (used["per_day"]["value"], used["per_action"]["value"], used["budget"]["value"]) == (
        "40.000000", "40.000000", "500.000000"
    )  # fmt: skip
    (position,) = mandate_read(at)["progress"]["positions"]
    assert (position["id"], position["cost"], position["source"]) == (MARKET, "40.000000", "cost")
    assert position["parts"] == [
        {"id": "p", "cost_est": "41.000000", "mark_est": None, "est": True}
    ]


def test_a_marked_gain_reserves_the_agent_s_share() -> None:
    """Cash 460, mark 45: worth 505, gain 5, reserved 10% = 0.5. Exit 45 x 0.003 = 0.135; basis 504.865; leaving brings 504.365.
    Net of fees, estimated: 505 - 500 - 0.5 = 4.50, which is 0.90% of 500."""
    at = ledger(
        deposit(500), row("buy", 40, tx="0x01", mark="45", **P), executed(40, tx="0x01")
    ).case()
    assert figures(at) == [
        "460.000000", "45.000000", "505.000000", "agent_mark", "0.000000", "0.500000", "0.135000", "504.365000"
    ]  # fmt: skip
    view = mandate_read(at)
    assert view["progress"]["leave_now_basis"] == {
        "value": "504.865000", "formula": "cash + positions_est - exit_cost_est", "spread_bps": 30
    }  # fmt: skip
    assert view["fees"]["net_after_fees_est"] == {
        "value": "4.50", "est": True, "source": "agent_mark", "pct": "0.90",
        "formula": "worth_est - committed - agent_fee_reserved",
    }  # fmt: skip


def test_half_a_position_is_sold_and_a_told_result_moves_no_measured_figure() -> None:
    """Buy 100, marked whole 400 + 120, sell 60 = half: cash 460, cost 50, worth 520 still. A result of 8 is claimed: realized 8,
    and nothing else moves; gain 20, reserved 2. Exit 60 x 0.003 = 0.18: leaving brings 520 - 0.18 - 2 = 517.82."""
    m = mandate(per_tx_cap_usdc=None, daily_cap_usdc=None)
    made = ledger(deposit(500), row("buy", 100, tx="0x01", **P), executed(100, tx="0x01"))
    made.add(marked(400, 120), row("sell", 60, tx="0x02", **P), executed(0, 60, tx="0x02"))
    before = figures(made.case(m))
    assert before[:3] == ["460.000000", "60.000000", "520.000000"]
    assert made.state.measured.cost == 50_000_000
    made.add(row("resolve", 8, **P))
    assert figures(made.case(m)) == [
        "460.000000", "60.000000", "520.000000", "chain_mark", "8.000000", "2.000000", "0.180000", "517.820000"
    ]  # fmt: skip
    assert mandate_read(made.case(m))["progress"]["realized_source"] == "claimed"


def test_fees_stay_in_their_classes_and_lower_what_is_realized() -> None:
    """Tools 0.05 + 0.07 = 0.12, venue 0.3, network 0.011, unclassified 0.5 (1 row): 0.931. Result 2: realized 2 - 0.931 = 1.069,
    shown as 1.07. Cash is untouched: fees are not the vault's."""
    made = ledger(
        deposit(500), row("fee", "0.05", fee_kind="x402"), row("fee", "0.07", fee_kind="tools")
    )
    made.add(
        row("fee", "0.3", fee_kind="venue"),
        row("fee", "0.011", fee_kind="gas"),
        row("fee", "0.5"),
        row("resolve", 2),
    )
    fees = mandate_read(made.case())["fees"]
    assert (fees["tools"], fees["venue"], fees["network"]) == ("0.120000", "0.300000", "0.011000")
    assert fees["unclassified"] == {"amount": "0.500000", "count": 1, "source": "agent"}
    assert fees["realized_total"] == "0.931000"
    assert fees["net_after_fees_realized"] == {
        "value": "1.07",
        "est": False,
        "formula": "resolve - fees - payouts",
    }
    assert figures(made.case())[:5] == [
        "500.000000", "0.000000", "500.000000", "cash", "1.069000",
    ]  # fmt: skip


def test_a_claim_counts_against_the_day_and_against_nothing_else() -> None:
    """Told with a transaction: buy 30, sell 10. Cash 500, worth 500; the day's 30 of 150; two claims wait."""
    made = ledger(deposit(500), row("buy", 30, tx="0x01", **P), row("sell", 10, tx="0x02", **P))
    assert figures(made.case())[:4] == ["500.000000", "0.000000", "500.000000", "cash"]
    view = mandate_read(made.case())
    assert view["limits"]["used"]["per_day"]["value"] == "30.000000"
    waits = view["progress"]["pending_claims"]
    assert (waits["count"], waits["out"], waits["in"]) == (2, "30.000000", "10.000000")
    assert waits["oldest_at"] == "2026-11-02T09:00:02.000Z"


def test_an_action_at_a_venue_counts_its_notional_and_moves_no_cash() -> None:
    """30 at a venue: the day holds 30 of 150, cash and worth stay 500."""
    made = ledger(deposit(500), row("buy", 30, notional=True, target={"market": "perps-btc"}))
    assert figures(made.case())[:3] == ["500.000000", "0.000000", "500.000000"]
    assert mandate_read(made.case())["limits"]["used"]["per_day"]["value"] == "30.000000"


def test_a_whole_mark_is_not_moved_by_what_the_agent_says() -> None:
    """Bought 40; the keeper marks 460 + 38, the agent says 90 afterwards: 498 stands, below the 500 put in,
    so nothing is reserved. Exit 38 x 0.003 = 0.114: leaving brings 497.886."""
    made = ledger(deposit(500), row("buy", 40, tx="0x01", **P), executed(40, tx="0x01"))
    made.add(marked(460, 38), row("note", mark="90", **P))
    assert figures(made.case()) == [
        "460.000000", "38.000000", "498.000000", "chain_mark", "0.000000", "0.000000", "0.114000", "497.886000"
    ]  # fmt: skip


def test_the_vault_read_at_a_newer_block_is_a_whole_mark_too() -> None:
    """The ledger's mark says 460 + 38; the lens, two blocks later, 455 + 50: worth 505, positions 505 - 460 = 45."""
    made = ledger(deposit(500), executed(40, tx="0x01"), marked(460, 38, place=(7, 0)))
    seen = VaultState("0xcc", BlockStamp(9, "0x", START), True, cash=usdc(455), positions=usdc(50))
    assert figures(made.case(chain=seen))[:4] == [
        "460.000000", "45.000000", "505.000000", "chain_mark"
    ]  # fmt: skip


def _to_the_end(returned: str, gain: str, fee: str, paid_out: str) -> Ledger:
    settled = {"spent": "50", "returned": returned, "gain": gain, "agent_fee": fee}
    made = ledger(
        deposit(500),
        row("buy", 50, tx="0x01", **P),
        executed(50, tx="0x01"),
        row("stop", None, "chain", reason="owner"),
    )
    made.add(
        row(
            "move",
            returned,
            "chain",
            tx="0x02",
            unwound={"target": MARKET, "selector": SELECTOR, "received": returned},
        )
    )
    made.add(row("resolve", None, "chain", settled=settled), row("withdraw", paid_out, "chain"))
    return made


def test_a_gain_is_settled_paid_and_withdrawn_to_the_last_digit() -> None:
    """Out 50, back 57.123457: gain 7.123457, fee 10% rounded down 0.712345. In the vault 507.123457; the owner takes
    506.411112, the agent is paid 0.712345: nothing is left. Realized 7.123457 - 0.712345 = 6.411112 = 506.411112 - 500."""
    made = _to_the_end("57.123457", "7.123457", "0.712345", "506.411112")
    m = mandate(status=Status.SETTLED, stopped_at=START)
    before = figures(made.case(m))
    assert (before[0], before[5]) == ("0.712345", "0.712345")
    made.add(row("payout", "0.712345", "chain"))
    assert figures(made.case(m)) == [
        "0.000000", "0.000000", "0.000000", "cash", "6.411112", "0.000000", "0.000000", "0.000000"
    ]  # fmt: skip
    fees = mandate_read(made.case(m))["fees"]
    assert fees["agent_fee"] == {
        "reserved_est": "0.000000",
        "paid": "0.712345",
        "paid_source": "chain",
    }
    assert fees["net_after_fees_est"]["value"] == fees["net_after_fees_realized"]["value"] == "6.41"


def test_a_loss_pays_no_fee() -> None:
    """Out 50, back 41: loss 9, fee 0. The owner takes 491; realized -9."""
    made = _to_the_end("41", "0", "0", "491")
    at = figures(made.case(mandate(status=Status.SETTLED, stopped_at=START)))
    assert at == [
        "0.000000",
        "0.000000",
        "0.000000",
        "cash",
        "-9.000000",
        "0.000000",
        "0.000000",
        "0.000000",
    ]
    fees = mandate_read(made.case())["fees"]
    assert (fees["agent_fee"]["paid_source"], fees["net_after_fees_realized"]["value"]) == (
        None,
        "-9.00",
    )


def test_a_partly_funded_mandate_has_its_floor_in_proportion() -> None:
    """Budget 500, floor 400 signed; 200 paid in, so the vault holds 200 x 0.8 = 160. Worth 200; one action may take 50."""
    at = ledger(deposit(200)).case()
    told = shown(at, "progress.floor", "progress.floor_now", "limits.allowed", "limits.remaining")
    assert (told["floor"], told["floor_now"]) == ("400.000000", "160.000000")
    assert told["limits.allowed"]["stop_line"] == {
        "value": "160.000000",
        "signed": "400.000000",
        "clause": 4,
        "set_by": "mandate",
    }
    assert told["limits.remaining"]["value"] == "50.000000"


def test_the_day_cap_binds_and_lifts_at_midnight() -> None:
    """Three actions of 45, 45 and 40 make 130 of 150: 20 left, below the 50 an action; it lifts at 00:00 UTC.
    Money that came back (60) gives nothing back."""
    made = ledger(
        deposit(500),
        *[executed(n, tx=f"0x{n}{i}") for i, n in enumerate((45, 45, 40))],
        executed(0, 60, tx="0xff"),
    )
    limits = mandate_read(made.case())["limits"]
    assert limits["remaining"] == {
        "value": "20.000000", "binding": {"clause": 3, "key": "per_day"}, "blocked_by": None,
        "retry_at": "2026-11-03T00:00:00.000Z",
    }  # fmt: skip
    assert limits["used"]["per_day"]["value"] == "130.000000"
    assert limits["rolling_24h"]["value"] == "130.000000"


def test_two_days_amounts_meet_at_midnight_and_the_rolling_day_shows_it() -> None:
    """50 at 23:59:59 on Monday, 50 at 00:00:00 on Tuesday: each day 50, the last 24 hours 100; then only what is younger."""
    late, early = (
        START.replace(hour=23, minute=59, second=59),
        START.replace(hour=0) + timedelta(days=1),
    )
    made = ledger(deposit(500), executed(50, tx="0x01", at=late), executed(50, tx="0x02", at=early))
    limits = mandate_read(made.case(now=early + timedelta(seconds=1)))["limits"]
    assert (limits["used"]["per_day"]["value"], limits["rolling_24h"]["value"]) == (
        "50.000000",
        "100.000000",
    )
    later = mandate_read(made.case(now=early + timedelta(hours=24)))["limits"]
    assert (later["used"]["per_day"]["value"], later["rolling_24h"]["value"]) == (
        "0.000000",
        "50.000000",
    )


def test_a_reorganised_deposit_is_taken_back() -> None:
    """300 and 200 in; the second is re-organised away: cash 300, committed 300, worth 300. Its new place brings 500 back."""
    made = ledger(deposit(300), deposit(200))
    made.add(gone(made.events[1]))
    assert figures(made.case())[0] == "300.000000"
    assert mandate_read(made.case())["progress"]["committed"] == "300.000000"
    made.add(deposit(200))
    assert figures(made.case())[2] == "500.000000"


def test_unusable_stored_values_read_as_nothing_and_say_so() -> None:
    """A mark of "lots" and a spent of "NaN" read as 0: cash 500, worth 500."""
    made = ledger(deposit(500), row("note", None, mark="lots", target={"address": MARKET}))
    told = {"target": MARKET, "spent": "NaN", "received": None}
    made.add(row("move", None, "chain", tx="0x09", executed=told))
    at = made.case()
    assert figures(at)[:3] == ["500.000000", "0.000000", "500.000000"]
    assert mandate_read(at)["progress"]["data_issue"] is True


def test_a_mandate_past_its_end_says_ended_until_it_is_settled() -> None:
    """Signed on 2 November for 30 days: on 2 December at 09:00 it is over. Day 30 of 30; nothing is left to act with; the
    settlement may take 3 days more."""
    end = START + timedelta(days=30)
    before, after = (
        ledger(deposit(500)).case(now=end - timedelta(seconds=1)),
        ledger(deposit(500)).case(now=end),
    )
    assert shown(before, "progress.status", "progress.day") == {"status": "working", "day": 30}
    told = shown(
        after, "progress.status", "progress.day", "progress.next_event", "limits.remaining"
    )
    assert (told["status"], told["day"]) == ("ended", 30)
    assert told["next_event"] == {"kind": "settle", "at": "2026-12-05T09:00:00.000Z"}
    assert told["limits.remaining"] == {
        "value": "0.000000",
        "binding": {"clause": 8, "key": "period"},
        "blocked_by": "mandate_ended",
        "retry_at": None,
    }
    settled = replace(after, mandate=mandate(status=Status.SETTLED))
    assert shown(settled, "progress.status")["status"] == "settled"
