"""A window of Debian's chromium: what goes wrong in it is kept, what it shows is measured."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

from tests import npm
from tests.browser.wallet import ANNOUNCED, NAME

try:
    from playwright.async_api import async_playwright as driver
except ImportError:
    driver = None  # type: ignore[assignment]

ROOT: Final = Path(__file__).parents[2]
CHROMIUM: Final = Path("/usr/bin/chromium")
SHOTS: Final = ROOT / "build" / "screens"
AXE: Final = npm.MODULES / "axe-core" / "axe.min.js"
WIDE: Final = {"width": 1280, "height": 860}
PHONE: Final = {"width": 390, "height": 844}
NARROWEST: Final = {"width": 320, "height": 700}
RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
CONTRAST: Final = ("color-contrast",)


def missing() -> str:
    """Why no browser can be driven here; empty where one can."""
    if driver is None:
        return "Playwright is not installed; `make screens` installs locks/browser.txt"
    if not CHROMIUM.exists():
        return f"there is no {CHROMIUM}: install Debian's chromium"
    return npm.missing()


MARKS: Final = (
    pytest.mark.anyio,
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
)


@asynccontextmanager
async def running() -> AsyncIterator[Any]:
    """Chromium, without a window on the screen."""
    async with driver() as driving:
        browser = await driving.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        await browser.close()


@dataclass
class Window:
    """One tab, whose wallet is the test's."""

    page: Any
    base: str
    wrong: list[str] = field(default_factory=list)

    async def goto(self, path: str) -> int:
        """Open a page of the site; its status."""
        answer = await self.page.goto(self.base + path)
        return 0 if answer is None else int(answer.status)

    @property
    def path(self) -> str:
        """Where it is now, without the site and without a mark in the page."""
        return str(self.page.url).removeprefix(self.base).partition("#")[0]

    def button(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name)

    async def press(self, name: str) -> None:
        await self.button(name).click()

    async def state(self, text: str) -> None:
        """Wait until a state on the page is this one; a sentence that has the word does not count."""
        await self.page.locator("main .pill").get_by_text(text, exact=True).first.wait_for()

    async def says(self, text: str) -> None:
        """Wait until the page says something."""
        await self.page.locator("main").get_by_text(text).first.wait_for()

    async def heading(self, text: str) -> None:
        await self.page.locator("h1", has_text=text).wait_for()

    async def sign_in(self, next_page: str = "/app") -> None:
        await self.goto(f"/app/sign-in?next={next_page}")
        await self.press(f"Continue with {NAME}")
        await self.button("Sign out").wait_for()

    async def has_focus_shown(self) -> bool:
        """True where a ring of at least 3 px marks what has the focus."""
        style = await self.page.evaluate(
            "(() => { const s = getComputedStyle(document.activeElement);"
            " return [s.outlineStyle, parseFloat(s.outlineWidth)]; })()"
        )
        return style[0] != "none" and style[1] >= 3

    async def tab_to(self, name: str, limit: int = 80) -> int:
        """Press Tab until what has the focus is called that; how often it took."""
        for n in range(1, limit):
            await self.page.keyboard.press("Tab")
            told = await self.page.evaluate(
                "(() => { const e = document.activeElement;"
                " return (e.labels?.[0] ?? e).textContent.trim(); })()"
            )
            if str(told).startswith(name):
                assert await self.has_focus_shown(), name
                return n
        raise AssertionError(f"{name!r} is not reached by the keyboard")

    async def enter(self, name: str) -> None:
        """Reach something by Tab and press Enter."""
        await self.tab_to(name)
        await self.page.keyboard.press("Enter")

    async def axe(self, rules: tuple[str, ...] = RULES) -> list[str]:
        """What axe finds wrong; through the inspector, so that the page's policy stays on."""
        cdp = await self.page.context.new_cdp_session(self.page)
        kind = "tag" if rules == RULES else "rule"
        only = json.dumps({"type": kind, "values": rules})
        ask = (
            f"axe.run(document, {{runOnly: {only}, resultTypes: ['violations']}}).then((r) =>"
            " JSON.stringify(r.violations.map((v) =>"
            " `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).slice(0, 3).join(' | ')}`)))"
        )
        known = await cdp.send("Runtime.evaluate", {"expression": "typeof axe"})
        if known["result"]["value"] == "undefined":
            await cdp.send("Runtime.evaluate", {"expression": AXE.read_text()})
        told = await cdp.send(
            "Runtime.evaluate", {"expression": ask, "awaitPromise": True, "returnByValue": True}
        )
        await cdp.detach()
        assert "value" in told["result"], told
        return list(json.loads(told["result"]["value"]))

    async def shot(self, name: str, *, whole: bool = True) -> None:
        """Keep a picture."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        safe = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        await self.page.screenshot(path=str(SHOTS / f"{safe}.png"), full_page=whole)


class Answers(Protocol):
    """A wallet, seen from the window: what it answers to EIP-1193 requests."""

    async def answer(self, source: Any, request: str, /) -> dict[str, Any]:
        """A result, or a code with a message."""


@asynccontextmanager
async def a_window(
    browser: Any, base: str, wallet: Answers | None = None, **options: Any
) -> AsyncIterator[Window]:
    """A window of its own, in which nothing may go wrong: no script fails, no policy is broken."""
    wanted: Mapping[str, Any] = {"viewport": WIDE, "locale": "en-GB"} | options
    context = await browser.new_context(**wanted)
    if wallet is not None:
        await context.expose_binding("askWallet", wallet.answer)
        await context.add_init_script(ANNOUNCED)
    window = Window(await a_tab(context), base)
    listen(context, window.wrong)
    try:
        yield window
    finally:
        await context.close()
    assert window.wrong == []


async def a_tab(context: Any) -> Any:
    page = await context.new_page()
    page.set_default_timeout(20_000)
    return page


def listen(context: Any, wrong: list[str]) -> None:
    """Keep what a console of a context says of failing scripts and of broken policies."""
    context.on("weberror", lambda e: wrong.append(str(e.error)))
    context.on(
        "console",
        lambda m: (
            wrong.append(m.text)
            if "Content Security" in m.text or "TrustedHTML" in m.text
            else None
        ),
    )
