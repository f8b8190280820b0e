"""The end of a purse on the owner's pages: what is in it comes back, before the settlement and after."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.app.site import Site
from tests.app.test_pages import fine
from tests.app.test_sending import send
from tests.purses import Purse, opened
from tests.tools.keeper.test_transfers_chain import ticks

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
EMPTY = "The purse is empty. Another transaction brings nothing back."


async def _is(purse: Purse) -> Any:
    return purse.m


async def test_the_way_out_brings_what_is_in_the_purse_back_before_the_result_is_fixed(
    paying: Site,
) -> None:
    purse = await opened(paying.world)
    await purse.fund("20")
    await purse.pay("1.37")
    await ticks(paying.world).round()
    _, browser, base = await paying.of(_is(purse))
    working_page = await browser.get(f"{base}/leave")
    fine(working_page)
    assert "Bring 18.63 USDC back from the purse" in working_page.said
    assert "only the agent itself can put it back" in working_page.said
    assert f"{base}/drain" not in working_page.links()
    withdrawing = await browser.get(f"{base}/withdraw")
    assert "18.63 USDC is still in the purse. Bring it back first" in withdrawing.said
    assert f"{base}/leave" in withdrawing.links()
    early = await browser.get(f"{base}/drain")
    assert "The mandate’s state is “Active”. This is not possible" in early.said
    stop = await browser.get(f"{base}/stop")
    assert (await send(purse.m, browser, stop, base)).headers["Location"] == f"{base}/leave"
    leaving = await browser.get(f"{base}/leave")
    fine(leaving)
    assert f"{base}/drain" in leaving.links()
    assert [e.text for e in leaving.all("li", aria_current="step")] == ["3Empty the purse"]
    page = await browser.get(f"{base}/drain")
    fine(page)
    for text in (
        "Bring 18.63 USDC back from the purse",
        "The agent’s key is not needed for this.",
        "In the purse now18.63 USDC",
        "Tried out just now: it works",
    ):
        assert text in page.said, text
    assert not re.search(r"0x[0-9a-f]{8}\b", page.one("h1").text)
    assert (await send(purse.m, browser, page, base)).headers["Location"] == f"{base}/leave"
    assert await purse.balance() == "0.000000"
    again = await browser.get(f"{base}/drain")
    assert EMPTY in again.said
    assert EMPTY not in page.said
    leaving = await browser.get(f"{base}/leave")
    fine(leaving)
    assert "purse" not in leaving.one("ol", class_="steps3").text
    assert "Cash in the vault498.63 USDC" in leaving.said
    withdrawn = await browser.get(f"{base}/withdraw")
    assert (await send(purse.m, browser, withdrawn, base)).headers["Location"] == base
    assert "Everything was paid out. Nothing is left to do." in (
        (await browser.get(f"{base}/leave")).said
    )


async def test_what_is_left_in_the_purse_after_the_settlement_comes_to_the_owner_by_its_name(
    paying: Site,
) -> None:
    purse = await opened(paying.world)
    await purse.fund("1.37")
    await ticks(paying.world).round()
    _, browser, base = await paying.of(_is(purse))
    assert "This is not possible in that state." in (await browser.get(f"{base}/sweep")).said
    withdrawn = await browser.get(f"{base}/withdraw")
    gone = await send(purse.m, browser, withdrawn, base)
    assert gone.headers["Location"] == f"{base}/leave"
    leaving = await browser.get(f"{base}/leave")
    fine(leaving)
    assert "Bring 1.37 USDC back from the purse" in leaving.said
    assert [e.text for e in leaving.all("li", aria_current="step")] == ["4Empty the purse"]
    assert f"{base}/sweep" in leaving.links()
    first = (await browser.get(base)).one("p", id="next").text
    assert "Bring the money in the purse back next. Empty the purse" in first
    assert "Bring the money in the purse back next." in (await browser.get("/app/mandates")).said
    assert "“Settled”. This is not possible" in (await browser.get(f"{base}/drain")).said
    page = await browser.get(f"{base}/sweep")
    fine(page)
    assert (await send(purse.m, browser, page, base)).headers["Location"] == f"{base}/leave"
    assert await purse.balance() == "0.000000"
    assert EMPTY in (await browser.get(f"{base}/sweep")).said
    assert EMPTY not in page.said
    done = await browser.get(f"{base}/leave")
    fine(done)
    assert "Everything was paid out. Nothing is left to do." in done.said
