"""Every figure that is shown is the chain's, in the configuration that ships: dry run on, no key of the house. A Friday is
day 0; the statement's week is W47 until Sunday, W48 after it.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.figures.desk import Agent, Body, Desk, Mandate

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
FIRST, SECOND, THIRD = "2026-W47", "2026-W48", "2026-W49"


def near(shown: str | int | None, wanted: str | int, within: str = "0.000010") -> None:
    """An ERC-4626 market keeps a millionth now and then."""
    assert shown is not None
    assert abs(Decimal(shown) - Decimal(wanted)) <= Decimal(within), (shown, wanted)


def adds_up(progress: Body) -> None:
    """One observation, one sum, in every answer."""
    marks = sum((Decimal(p["mark"]) for p in progress["positions"]), Decimal(0))
    assert marks == Decimal(progress["positions_est"])
    assert Decimal(progress["cash"]) + marks == Decimal(progress["worth_est"])


def weeks_add_up(*weeks: Body) -> None:
    """Σ estimated + Σ realized + Σ flows is the change of the worth, to the last digit."""
    total = Decimal(0)
    for week in weeks:
        flows, result = week["flows"], week["result"]
        total += Decimal(flows["deposits"]) - Decimal(flows["withdrawals"])
        total += Decimal(result["estimated"]) + Decimal(result["realized"])
    assert total == Decimal(weeks[-1]["worth"]["end"]) - Decimal(weeks[0]["worth"]["start"])


def window(row: Body, key: str = "since") -> tuple[Any, Any, Any]:
    told = row["windows"][key]
    return told["net_usdc"], told["twr_bps"], told["max_drawdown_bps"]


def windows(
    row: Body, net: str, twr: int, drawdown: int, key: str = "since", within: str = "0.000010"
) -> None:
    """The figures of a window, to the last millionth and basis point."""
    told = window(row, key)
    near(told[0], net, within)
    near(told[1], twr, "1")
    near(told[2], drawdown, "1")


def position(progress: Body) -> tuple[str, str]:
    """(cost, mark) of the only one."""
    (only,) = progress["positions"]
    return only["cost"], only["mark"]


async def ten_buys(ingest_context: Desk, agent: Agent) -> Mandate:
    m = await ingest_context.working(agent)
    for _ in range(10):
        await m.buy("40")
    await ingest_context.round()
    return m


# -- what looks back knows what the chain knew


async def test_the_hall_and_the_statements_know_a_loss(desk: Desk, agent: Agent) -> None:
    m = await ten_buys(desk, agent)
    await desk.lose("320")
    for _ in range(15):
        await desk.later(days=1)
    row = await desk.hall(agent)
    assert row["ranked"], row["unranked_reason"]
    near((await m.progress())["worth_est"], "180")
    for key in ("since", "30d", "90d"):
        windows(row, "-320", -8_000, 8_000, key)
    assert row["windows"]["since"]["trades"] == 10
    near(row["delegators"]["net_30d_usdc"], "-320")
    weeks = [await m.week(w) for w in (FIRST, SECOND, THIRD)]
    assert weeks[0]["worth"]["start"] == "0.000000"
    for week in weeks:
        near(week["worth"]["end"], "180")
        assert week["result"]["realized"] == "0.000000"
    near(weeks[0]["result"]["estimated"], "-320")
    near(weeks[1]["result"]["estimated"], "0")
    weeks_add_up(*weeks)
    everything = await desk.get("/me/statement", by=m.owner, week=FIRST)
    assert everything["totals"]["worth"] == weeks[0]["worth"]
    assert everything["totals"]["result"] == weeks[0]["result"]


async def test_the_hall_knows_a_gain(desk: Desk, agent: Agent) -> None:
    m = await ten_buys(desk, agent)
    await desk.gain("400")
    for _ in range(15):
        await desk.later(days=1)
    near((await m.progress())["worth_est"], "900")
    windows(await desk.hall(agent), "400", 10_000, 0)


async def test_the_days_and_the_hall_end_where_the_read_is(desk: Desk, agent: Agent) -> None:
    m = await ten_buys(desk, agent)
    for n in range(6):
        await (desk.lose("30") if n % 2 else desk.gain("50"))
        await desk.later(hours=20)
    worth = (await m.progress())["worth_est"]
    days, row = await m.days(), await desk.hall(agent)
    today = desk.clock.now().date().isoformat()
    assert days[today]["worth"] == worth
    assert [h["worth_usdc"] for h in row["mandates"]] == [worth]
    assert Decimal(window(row)[0]) == Decimal(worth) - 500
    charts = {s["key"]: s["points"] for s in row["chart"]["series"]}
    assert charts["worth"][-1][1] == worth
    assert Decimal(charts["net"][-1][1]) == Decimal(worth) - 500


async def test_a_statement_of_which_nobody_observed_the_worth_says_so(
    desk: Desk, agent: Agent
) -> None:
    """What the probe did not answer is unknown, and no 0: here nothing looked before the border."""
    m = await ten_buys(desk, agent)
    before = await m.week(FIRST)
    near(before["worth"]["end"], "500")
    await desk.lose("320")
    desk.clock.forward(days=7)
    desk.evm.chain.mine()
    await desk.round()
    near((await m.week(FIRST))["worth"]["end"], "500")
    near((await m.progress())["worth_est"], "180")


async def test_the_statement_takes_no_claim_for_a_worth(desk: Desk, agent: Agent) -> None:
    m = await ten_buys(desk, agent)
    await desk.lose("320")
    await desk.later(days=1)
    shown = await m.progress()
    hostile: list[Body] = [
        {"target": {"market": "test-market"}, "mark": "5000"},
        {"mark": "5000", "position": {"id": "p"}},
        {"marks": [{"market": "test-market", "mark": "5000"}]},
    ]
    for payload in hostile:
        await m.reports("note", payload=payload)
    await m.reports("buy", amount_usdc="400", payload=hostile[1])
    await m.reports("resolve", amount_usdc="4000", payload={"position": {"id": "p"}})
    assert await m.figures() == (shown["cash"], shown["positions_est"], shown["worth_est"])
    await desk.later(days=3)
    week = await m.week(FIRST)
    near(week["worth"]["end"], "180")
    assert week["result"]["realized"] == "4000.000000"  # the agent's word, and shown as that
    near(week["result"]["estimated"], "-4320")
    weeks_add_up(week)
    row = await desk.hall(agent)
    near(window(row)[0], "-320")
    days = await m.days()
    near(days[max(d for d in days if d <= "2026-11-22")]["worth"], "180")


# -- cost, and the caps that rest on it


async def test_cost_after_an_exit_at_a_gain_and_another_buy(desk: Desk) -> None:
    agent = await desk.agent(total_cap_usdc="100")
    m = await desk.working(agent)
    await m.buy("100")
    await desk.gain("100")
    await m.sell(2)
    await desk.round()
    await costs(m, "50", "100")
    status, told = await m.may_buy("60")
    assert (status, told["error"]) == (409, "over_budget")
    await m.buy("49.99")
    await desk.round()
    await costs(m, "99.99", "149.99")


async def costs(m: Mandate, cost: str, mark: str) -> None:
    """The only position, in a progress that adds up."""
    p = await m.progress()
    adds_up(p)
    for told, wanted in zip(position(p), (cost, mark), strict=True):
        near(told, wanted)


async def test_cost_after_an_exit_at_a_loss(desk: Desk) -> None:
    agent = await desk.agent(total_cap_usdc="100")
    m = await desk.working(agent)
    await m.buy("100")
    await desk.lose("50")
    await m.sell()
    await desk.round()
    p = await m.progress()
    assert (p["positions"], p["positions_est"]) == ([], "0.000000")
    adds_up(p)
    assert (await m.may_buy("100"))[0] == 200


async def test_a_total_cap_bounds_what_is_at_risk_however_often_it_doubles(desk: Desk) -> None:
    """100 in, it doubles, half of it out: six rounds under a total cap of 100."""
    agent = await desk.agent(total_cap_usdc="100")
    m = await desk.working(agent)
    handed_out = 0
    for _ in range(6):
        status, told = await m.may_buy("100")
        handed_out += status == 200
        if status == 200:
            await desk.mined(agent.wallet, told, 2_000_000)
            await desk.round()
            await desk.gain((await m.progress())["positions_est"])
            await m.sell(2)
        else:
            assert told["error"] == "over_budget"
        await desk.round()
        p = await m.progress()
        adds_up(p)
        near(position(p)[0], "50")
    assert handed_out == 1


# -- what adds up after the end


async def test_positions_add_up_after_settlement(desk: Desk, agent: Agent) -> None:
    m = await desk.working(agent, per_tx_cap_usdc="150")
    await m.buy("150")
    await desk.round()
    await m.calls("stop-call")
    await desk.later(days=3, minutes=1)
    await desk.sent(desk.world.wallets[0], m.vault, "MandateVault", "settle")
    await desk.round()
    told = await m.read()
    p = told["progress"]
    assert told["mandate"]["status"] == "settled"
    adds_up(p)
    near(p["positions_est"], "150")
    assert p["cash"] == "350.000000"
    near(p["worth_est"], "500")
    week = await m.week(FIRST)
    assert week["worth"]["end"] == p["worth_est"]


async def test_a_gift_that_leaves_with_everything_makes_no_negative_worth(
    desk: Desk, agent: Agent
) -> None:
    m = await desk.working(agent)
    await desk.world.mint(m.vault, "50")
    await m.calls("withdraw-call")
    await desk.later(days=1)
    p = await m.progress()
    assert (p["cash"], p["worth_est"]) == ("0.000000", "0.000000")
    days, row = await m.days(), await desk.hall(agent)
    worths = [d["worth"] for d in days.values()]
    charts = {s["key"]: dict(s["points"]) for s in row["chart"]["series"]}
    assert min(map(Decimal, [*worths, *charts["worth"].values()])) == 0
    week = await m.week(FIRST)
    weeks_add_up(week)
    assert week["flows"] == {"deposits": "500.000000", "withdrawals": "550.000000"}
    assert window(row) == (week["result"]["estimated"], 0, 0)  # a gift is no return


# -- when a thing happened


async def monday(desk: Desk, m: Mandate) -> dict[str, Body]:
    """The service was down on Sunday night, and reads on Monday: the days."""
    desk.clock.forward(hours=9)
    desk.evm.chain.mine()
    await desk.round()
    return await m.days()


async def test_a_call_of_sunday_night_read_on_monday(desk: Desk, agent: Agent) -> None:
    m = await desk.working(agent)
    desk.clock.forward(days=2, hours=11, minutes=59, seconds=25)  # Sunday, 23:59:25
    tx = await m.buy("40")
    days = await monday(desk, m)
    assert (days["2026-11-22"]["spent"], days["2026-11-23"]["spent"]) == ("40.000000", "0.000000")
    first, second = await m.week(FIRST), await m.week(SECOND)
    (step,) = [s for s in first["steps"] if s["tx_hash"] == tx]
    assert step["at"].startswith("2026-11-22T23:59:")
    assert tx not in [s["tx_hash"] for s in second["steps"]]
    busiest = first["allowed_vs_used"]["busiest_day"]
    assert (busiest["day"], busiest["used"]) == ("2026-11-22", "40.000000")
    assert second["allowed_vs_used"]["busiest_day"]["used"] == "0.000000"


async def test_a_deposit_of_sunday_night_is_sundays_in_every_day_that_is_shown(
    desk: Desk, agent: Agent
) -> None:
    m = await desk.working(agent, deposit="400")
    desk.clock.forward(days=2, hours=11, minutes=59, seconds=25)
    told = await desk.get(f"{m.path}/fund", by=m.owner, amount="100")
    for call in told["calls"]:
        await desk.mined(m.owner.wallet, call)
    days = await monday(desk, m)
    sunday = days["2026-11-22"]
    assert (sunday["deposits"], sunday["worth"]) == ("100.000000", "500.000000")
    assert {days[d]["deposits"] for d in days if d > "2026-11-22"} == {"0.000000"}
    assert (await m.week(FIRST))["flows"]["deposits"] == "500.000000"
    charts = {s["key"]: dict(s["points"]) for s in (await desk.hall(agent))["chart"]["series"]}
    assert charts["worth"]["2026-11-22"] == "500.000000"
    assert set(charts["net"].values()) == {"0.000000"}


# -- the Hall of several mandates


async def bets(ingest_context: Desk, agent: Agent) -> tuple[Mandate, Mandate]:
    terms: Any = {"per_tx_cap_usdc": "200", "stop_floor_bps": 9_000}
    return (
        await ingest_context.working(agent, **terms),
        await ingest_context.working(agent, markets=["other-market"], **terms),
    )


@pytest.mark.parametrize("swapped", [True, False])
async def test_even_bets_on_two_mandates_make_no_profit(
    desk: Desk, agent: Agent, swapped: bool
) -> None:
    """100 on each, one wins half and one loses half: the other way round each day, or always the same."""
    both = await bets(desk, agent)
    for day in range(4 if swapped else 3):
        for m in both:
            await m.buy("100")
        await desk.round()
        won = day % 2 if swapped else 0
        await desk.gain("50", both[won].market)
        await desk.lose("50", both[1 - won].market)
        await desk.later(hours=2)
        for m in both:
            await m.sell()
        await desk.later(hours=22)
    windows(await desk.hall(agent), "0", 0, 0, within="0.000020")


async def test_a_result_counts_by_the_capital_before_it(desk: Desk, agent: Agent) -> None:
    """200 on each; one doubles, the other halves: 100 of 400."""
    both = await bets(desk, agent)
    for m in both:
        await m.buy("200")
    await desk.gain("200", both[0].market)
    await desk.lose("100", both[1].market)
    await desk.later(hours=2)
    for m in both:
        await m.sell()
    await desk.later(days=1)
    net, twr, _ = window(await desk.hall(agent))
    near(net, "100")
    near(twr, 2_500, "1")


@pytest.mark.parametrize("pieces", [1, 2, 3])
async def test_the_fee_of_an_agent_is_no_loss_of_what_was_traded(
    desk: Desk, agent: Agent, pieces: int
) -> None:
    """100 doubles, is taken out in pieces, the last of them small; of the 600 there are then 10 are the agent's."""
    m = await desk.working(agent)
    await m.buy("100")
    await desk.gain("100")
    await desk.later(hours=2)
    for n in range(pieces - 1):
        await m.sell_but("1.5" if n else "10")
    await m.sell()
    await m.calls("stop-call")
    await desk.sent(m.owner.wallet, m.vault, "MandateVault", "settle")
    await desk.later(days=1)
    before = window(await desk.hall(agent))
    near(before[1], 10_000, "1")
    await desk.sent(desk.world.wallets[0], m.vault, "MandateVault", "payAgent")
    await desk.later(hours=1)
    windows(await desk.hall(agent), "90", 9_667, 167)
