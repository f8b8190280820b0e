"""The first line of a mandate, of its card, and of the list of what needs its owner: who has to do what next."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest

from app.pages import statements
from app.words.text import ENGLISH
from tests.app.lives import LIVES, Life, bought, created, sent, stopped
from tests.app.site import Page, Site
from tests.app.test_pages import fine
from tests.world import START, Mandated, World, signed, working

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def not_accepted(world: World) -> Mandated:
    return await working(world, accept=False)


async def with_nothing_to_do(world: World) -> Mandated:
    return await working(world)


async def paused_quietly(world: World) -> Mandated:
    m = await working(world)
    await sent(m, "owner_pause_call")
    return m


async def all_spent(world: World) -> Mandated:
    m = await working(world, deposit="50")
    await bought(m, "50")
    return m


async def day_used(world: World) -> Mandated:
    m = await working(world, daily_cap_usdc="100")
    await bought(m, "100")
    return m


async def ended_without_a_vault(world: World) -> Mandated:
    m = await signed(world)
    world.clock.forward(days=31)
    return m


async def ended_without_a_deposit(world: World) -> Mandated:
    m = await created(world)
    world.clock.forward(days=31)
    world.evm.chain.mine()
    return m


async def stopped_without_a_deposit(world: World) -> Mandated:
    m = await created(world)
    await sent(m, "owner_stop_call")
    return m


async def paid_out_but_a_position(world: World) -> Mandated:
    m = await stopped(world)
    world.clock.forward(days=4)
    world.evm.chain.mine()
    await sent(m, "owner_withdraw_call")
    return m


async def on_the_board(world: World) -> Mandated:
    return await working(world, accept=False, agent_id=None, open_board=True)


async def off_the_board(world: World) -> Mandated:
    m = await on_the_board(world)
    agent, _ = await world.agent(m.owner)
    assert (await world.do("mandate_accept", agent, public_id=m.id)).status == 200
    return m


MORE: dict[str, Life] = {
    "not accepted": not_accepted,
    "nothing to do": with_nothing_to_do,
    "paused quietly": paused_quietly,
    "no cash": all_spent,
    "day used": day_used,
    "ended without a vault": ended_without_a_vault,
    "ended without a deposit": ended_without_a_deposit,
    "stopped without a deposit": stopped_without_a_deposit,
    "paid out but a position": paid_out_but_a_position,
    "on the board": on_the_board,
    "off the board": off_the_board,
}
# (the line, the page of its link, whether it needs the owner)
NEXT = {
    "signed": ("You signed the terms. Create the vault next", "/create", True),
    "created": ("Nothing is deposited yet. Deposit USDC next", "/fund", True),
    "not accepted": ("has not accepted yet, and can do nothing until then", "", False),
    "nothing to do": ("may act within your limits. You have nothing to do.", "", False),
    "working": ("An action needs your approval", "#waiting", True),
    "paused": ("until you resume it. Actions that need your approval: 1.", "#waiting", True),
    "paused quietly": ("The agent is paused. It can do nothing until", "/resume", False),
    "ended": ("The mandate has ended. Withdraw your money next", "/withdraw", True),
    "stopped": ("The mandate is stopped. Close the open positions next", "/leave", True),
    "settled": ("everything is paid out. You have nothing to do.", "", False),
    "settled with cash": ("is still in your vault. Withdraw it next", "/withdraw", True),
    "no cash": ("can take nothing out of the vault now, and can only close positions.", "", False),
    "day used": ("can take nothing out of the vault now, and can only close positions.", "", False),
    "ended without a vault": ("ended. Nothing was deposited. You have nothing to do.", "", False),
    "ended without a deposit": ("ended. Nothing was deposited. You have nothing to do", "", False),
    "stopped without a deposit": ("stopped. Take what is in the vault out next.", "/leave", True),
    "paid out but a position": ("What is still in a market stays yours: close it", "/leave", True),
    "on the board": ("Any agent of the open board may. You have nothing to do.", "", False),
    "off the board": ("The agent is paused. It can do nothing until", "/resume", False),
    "cancelled": ("You cancelled this mandate. You have nothing to do.", "", False),
}


def first_line(page: Page) -> str:
    return " ".join(page.one("p", id="next").text.split())


@pytest.mark.parametrize("life", NEXT)
async def test_a_mandate_says_first_who_has_to_do_what_next(site: Site, life: str) -> None:
    line, link, is_owner_asked = NEXT[life]
    _, browser, base = await site.of((LIVES | MORE)[life](site.world))
    page = await browser.get(base)
    fine(page)
    assert line in first_line(page)
    assert (f'href="{base}{link}"' in page.source) or not link
    listed = await browser.get("/app/mandates")
    fine(listed)
    assert line in listed.said
    assert ("need your answer" in listed.said or "needs your answer" in listed.said) == (
        is_owner_asked
    )


async def test_an_agent_whose_day_is_used_up_is_not_said_to_be_free_to_act(site: Site) -> None:
    _, browser, base = await site.of(day_used(site.world))
    page = await browser.get(base)
    assert "can take nothing out of the vault now" in first_line(page)
    assert "Possible in one action right now: 0.00 USDC" in page.said


@pytest.mark.parametrize("life", ["ended without a vault", "on the board"])
async def test_no_button_leads_to_what_the_mandate_does_not_have(site: Site, life: str) -> None:
    _, browser, base = await site.of(MORE[life](site.world))
    page = await browser.get(base)
    assert not {f"{base}/leave", f"{base}/resume", f"{base}/pause", f"{base}/create"} & set(
        page.links()
    )


async def test_an_agent_that_has_not_accepted_is_sent_a_text_that_says_how(site: Site) -> None:
    m, browser, base = await site.of(not_accepted(site.world))
    page = await browser.get(base)
    (paste,) = [e.attributes["data-copy"] for e in page.all("span") if "paste" in e.attributes.get("class", "")]  # fmt: skip
    assert f"mandate_accept with public_id {m.id}" in paste
    # By keyboard too, and apart from the sentence before it.
    assert [b.attributes["data-copy"] for b in page.all("button") if b.text == "Copy text"] == [
        paste
    ]
    assert "Send this to the agent: Please accept" in first_line(page)
    assert f"/wallet/mandates/{m.id}/accept" in paste
    assert "Possible in one action" not in page.said
    assert (await m.as_agent("mandate_accept")).status == 200
    accepted = await browser.get(base)
    assert "may act within your limits" in first_line(accepted)
    assert "Possible in one action" in accepted.said


async def test_what_is_possible_is_never_nothing_without_the_reason(site: Site) -> None:
    _, browser, base = await site.of(all_spent(site.world))
    page = await browser.get(base)
    assert "Possible in one action right now: 0.00 USDC. Limited by the cash in the vault." in (
        page.said
    )


async def test_a_settled_mandates_statement_opens_the_last_week_in_which_something_happened(
    site: Site,
) -> None:
    m, _, base = await site.of(LIVES["settled"](site.world))
    happened = site.world.clock.at
    site.world.clock.forward(days=70)
    page = await (await site.signed_in(m.owner_wallet)).get(f"{base}/statement")
    fine(page)
    assert f"week {happened:%G-W%V}" in page.said
    assert "Withdrawal" in page.said


async def test_the_statement_of_all_opens_the_week_with_which_one_of_them_opens(
    site: Site,
) -> None:
    m, browser, _ = await site.of(working(site.world))
    began = site.world.clock.at
    # In the first week of an owner the last full one is before the beginning.
    page = await browser.get("/app/statement")
    fine(page)
    assert f"Week {began:%G-W%V}" in page.said
    await sent(m, "owner_withdraw_call")
    site.world.clock.forward(days=70)
    browser = await site.signed_in(m.owner_wallet)
    assert f"Week {began:%G-W%V}" in (await browser.get("/app/statement")).said
    site.world.clock.at = began + timedelta(days=7)
    assert f"Week {began:%G-W%V}" in (await browser.get("/app/statement")).said


async def test_the_statement_of_all_opens_the_last_full_week_of_a_mandate_that_goes_on(
    site: Site,
) -> None:
    m = await working(site.world)
    site.world.clock.forward(days=20)
    full = site.world.clock.at - timedelta(days=7)
    browser = await site.signed_in(m.owner_wallet)
    assert f"Week {full:%G-W%V}" in (await browser.get("/app/statement")).said


class Listed:
    """An owner's list of mandates that are all settled, and the reads that a page asks for."""

    def __init__(self, count: int, now: datetime):
        self.now, self.asked = now, list[str]()
        at = {"signed_at": now.isoformat(), "created_at": now.isoformat()}
        self.rows = [
            {"mandate": {"public_id": f"m_{n}"} | at, "progress": {"status": "settled"}}
            for n in range(count)
        ]

    async def run(self, name: str, **_: Any) -> dict[str, Any]:
        self.asked.append(name)
        if name == "mandate_list":
            return {"items": self.rows}
        return {"items": [{"code": "withdrawal", "at": (self.now - timedelta(70)).isoformat()}]}


async def test_the_week_of_an_owner_whose_mandates_are_all_settled_takes_one_read() -> None:
    visit = Listed(20, START)
    told = await statements._first_shown_of_all(visit)  # type: ignore[arg-type]
    assert told == f"{START - timedelta(70):%G-W%V}"
    assert visit.asked == ["mandate_list", "mandate_steps"]


async def test_a_mandate_that_no_agent_has_accepted_is_not_said_to_be_paused(site: Site) -> None:
    _, browser, base = await site.of(on_the_board(site.world))
    for language, pill, glance in (
        (ENGLISH, "No agent yet", "nothing, until an agent accepts"),
        ("de", "Noch kein Agent", "nichts, bis ein Agent annimmt"),
    ):
        browser.cookies["language"] = language
        page = await browser.get(base)
        fine(page)
        assert page.all("span", class_="pill")[0].text == pill
        assert glance in " ".join(page.one("div", id="glance").text.split())
        assert not re.search("[Pp]aus(ed|iert)|until you resume|bis Sie fortsetzen", page.said)
        assert pill in (await browser.get("/app/mandates")).said


async def test_an_agents_page_has_one_line_a_transaction(site: Site) -> None:
    m, browser, _ = await site.of(LIVES["working"](site.world))
    page = await browser.get(f"/app/agents/{m.agent.user_id}")
    fine(page)
    (history,) = [s.text for s in page.all("section") if "History" in s.text]
    assert history.count("Put to work") == 2
    assert history.count("reported by the agent, confirmed on chain") == 2
    assert "Action seen on chain" not in history


async def test_the_deposit_page_of_a_full_budget_says_that_it_is_full(site: Site) -> None:
    _, browser, base = await site.of(working(site.world))
    page = await browser.get(f"{base}/fund")
    assert "The budget is deposited in full." in page.said
