"""How pages are looked at: wide and on a phone, light and dark, read by axe, and at 320 pixels
without a bar to the side.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from tests.browser.window import CONTRAST, NARROWEST, PHONE, RULES, WIDE, Window

KB: Final = 1_000
PAGE_KB: Final = "page_kb (at most 45)"
LOOKS: Final = (("light", WIDE), ("dark", WIDE), ("light", PHONE), ("dark", PHONE))
BUILT: Final = (
    "(() => { const of = (e) => e.tagName + '.' + (e.getAttribute('class') ?? '') +"
    " (e.getAttribute('role') ?? ''); return [...new Set([...document.querySelectorAll('body *')]"
    ".map((e) => of(e.parentElement) + '>' + of(e)))].sort().join(); })()"
)
CUT: Final = (
    "[...document.querySelectorAll('body *')].filter((e) => e.clientWidth > 1 && e.scrollWidth >"
    " e.clientWidth + 1 && getComputedStyle(e).overflowX === 'hidden').map((e) => e.textContent)"
)
"""The texts of which a part is hidden for want of room."""
SEEN: Final[set[str]] = set()


async def looked_at(window: Window, name: str, figures: dict[str, Any]) -> list[str]:
    """What is wrong with the page that is open."""
    page, found = window.page, list[str]()
    whole = len((await page.content()).encode())
    figures[PAGE_KB] = max(figures.get(PAGE_KB, 0), whole / KB)
    # What axe reads is elements in elements, classes and roles: of the same it has nothing new to say.
    built = await page.evaluate(BUILT)
    if built in SEEN:
        return []
    SEEN.add(built)
    for theme, size in LOOKS:
        await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        await page.set_viewport_size(size)
        wrong = await window.axe(RULES if theme == "light" else CONTRAST)
        wrong += [f"cut off: {text}" for text in await page.evaluate(CUT)]
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
    window: Window, paths: Iterable[str], life: str, figures: dict[str, Any]
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
        short = re.sub(r"0x[0-9a-f]{40,}|\b(m|u|ap|o|b)_[a-z2-7]{10}\b", "one", window.path)
        figures["pages looked at"] = figures.get("pages looked at", 0) + 1
        wrong += await looked_at(window, f"{life}{short}", figures)
    return wrong
