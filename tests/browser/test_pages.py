"""Every page in every state of a mandate, as it is seen: wide and on a phone, light and dark, read by
axe, at 320 pixels without a bar to the side, and with nothing wrong in the console.
"""

from __future__ import annotations

from typing import Any

import pytest

from app.screens import PAGES
from tests.app.lives import LIVES
from tests.browser.conftest import Stage
from tests.browser.looks import all_of
from tests.browser.stations import NOWHERE, opened, parts, stations, values_of
from tests.browser.window import MARKS, PHONE, WIDE

pytestmark = [*MARKS]
BESIDES_MANDATES = ("draft", "working")


def test_every_page_names_what_its_address_needs() -> None:
    assert {name for page in PAGES for name in parts(page)} - set(NOWHERE) <= {
        "key",
        "grant",
        "browser",
    }
    assert not {n for page in opened() for n in parts(page)} - set(NOWHERE)


@pytest.mark.parametrize("life", LIVES)
async def test_every_page_is_fine_for_a_mandate_that_is(
    stage: Stage, life: str, figures: dict[str, Any]
) -> None:
    m = await LIVES[life](stage.world)
    pages = [p for p in opened() if "/{id}" in p.path or life in BESIDES_MANDATES]
    async with stage.window(stage.wallet(m)) as window:
        await window.sign_in()
        wrong = await all_of(window, stations(await values_of(m), pages), life, figures)
    assert wrong == []


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
async def test_a_stranger_sees_without_scrolling_what_is_allowed_used_and_at_risk(
    stage: Stage, size: dict[str, int]
) -> None:
    m = await LIVES["working"](stage.world)
    async with stage.window(stage.wallet(m), viewport=size) as window:
        await window.sign_in()
        await window.goto(f"/app/mandates/{m.id}")
        glance = window.page.locator("#glance")
        box = await glance.bounding_box()
        assert box["y"] + box["height"] < size["height"] / 2
        for word in ("Allowed", "Used today", "Could be lost"):
            assert await glance.get_by_text(word).is_visible()
        await window.shot(f"glance {size['width']}", whole=False)


async def test_every_page_that_needs_no_session_is_fine(
    stage: Stage, figures: dict[str, Any]
) -> None:
    m = await LIVES["settled"](stage.world)
    paths = stations(await values_of(m), [p for p in opened() if not p.owner])
    async with stage.window() as window:
        wrong = await all_of(window, [*paths, "/app/nowhere"], "nobody", figures)
    assert wrong == []
