"""Every page in every state of a mandate, as it is seen: wide and on a phone, light and dark, read by
axe, at 320 pixels without a bar to the side, and with nothing wrong in the console.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from app.screens import PAGES
from tests.app.lives import LIVES
from tests.browser.conftest import Stage
from tests.browser.stations import VALUES, opened, parts, stations
from tests.browser.window import CONTRAST, MARKS, NARROWEST, PHONE, RULES, WIDE, Window
from tests.world import Mandated

pytestmark = [*MARKS]
KB = 1_000
LOOKS = (("light", WIDE), ("dark", WIDE), ("light", PHONE), ("dark", PHONE))
BUILT = (
    "(() => { const of = (e) => e.tagName + '.' + (e.getAttribute('class') ?? '') +"
    " (e.getAttribute('role') ?? ''); return [...new Set([...document.querySelectorAll('body *')]"
    ".map((e) => of(e.parentElement) + '>' + of(e)))].sort().join(); })()"
)
SEEN: set[str] = set()
BESIDES_MANDATES = ("draft", "working")


async def looked_at(window: Window, name: str, figures: dict[str, Any]) -> list[str]:
    """What is wrong with the page that is open."""
    page, found = window.page, list[str]()
    whole = len((await page.content()).encode())
    figures["page_kb (at most 45)"] = max(figures.get("page_kb (at most 45)", 0), whole / KB)
    # What axe reads is elements in elements, classes and roles: of the same it has nothing new to say.
    built = await page.evaluate(BUILT)
    if built in SEEN:
        return []
    SEEN.add(built)
    for theme, size in LOOKS:
        await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        await page.set_viewport_size(size)
        wrong = await window.axe(RULES if theme == "light" else CONTRAST)
        found += [f"{name} {theme} {size['width']}: {told}" for told in wrong]
        if (theme == "light") == (size == WIDE):
            await window.shot(f"{name} {theme} {size['width']}", whole=size == WIDE)
    await page.set_viewport_size(NARROWEST)
    across = await page.evaluate("document.documentElement.scrollWidth")
    found += [f"{name}: {across} pixels wide at 320"] if across > NARROWEST["width"] else []
    await page.set_viewport_size(WIDE)
    figures["pages read by axe"] = figures.get("pages read by axe", 0) + 1
    return found


async def all_of(
    window: Window, paths: list[str], life: str, m: Mandated, figures: dict[str, Any]
) -> list[str]:
    """What is wrong on pages, each looked at once wherever they lead."""
    wrong, seen = list[str](), set[str]()
    for path in paths:
        answer = await window.page.goto(window.base + path)
        kind = (answer.headers.get("content-type") or "").partition(";")[0]
        if window.path in seen or kind != "text/html":
            continue
        seen.add(window.path)
        assert answer.status < 500, (path, answer.status)
        short = re.sub(r"0x[0-9a-f]{40,}|\b(m|u|ap)_[a-z2-7]{10}\b", "", window.path)
        figures["pages looked at"] = figures.get("pages looked at", 0) + 1
        wrong += await looked_at(window, f"{life}{short}", figures)
    return wrong


def test_every_page_names_what_its_address_needs() -> None:
    assert {name for page in PAGES for name in parts(page)} - set(VALUES) <= {"key"}
    assert not {n for page in opened() for n in parts(page)} - set(VALUES)


@pytest.mark.parametrize("life", LIVES)
async def test_every_page_is_fine_for_a_mandate_that_is(
    stage: Stage, life: str, figures: dict[str, Any]
) -> None:
    m = await LIVES[life](stage.world)
    pages = [p for p in opened() if "/{id}" in p.path or life in BESIDES_MANDATES]
    async with stage.window(stage.wallet(m)) as window:
        await window.sign_in()
        wrong = await all_of(window, await stations(m, pages), life, m, figures)
    assert wrong == []


async def test_every_page_that_needs_no_session_is_fine(
    stage: Stage, figures: dict[str, Any]
) -> None:
    m = await LIVES["settled"](stage.world)
    paths = await stations(m, [p for p in opened() if not p.owner])
    async with stage.window() as window:
        wrong = await all_of(window, [*paths, "/app/nowhere"], "nobody", m, figures)
    assert wrong == []
