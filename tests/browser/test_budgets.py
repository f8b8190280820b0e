"""What the pages weigh, and how soon they are there on a slow phone; and the pictures of the documents."""

from __future__ import annotations

import os
import shutil
from typing import Any, Final

from app import assets
from tests.app.lives import at_work
from tests.browser.conftest import Stage
from tests.browser.window import MARKS, PHONE, ROOT, SHOTS, Window

pytestmark = [*MARKS]
KB = 1_000
SLOW = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 90_000}
LCP_MS, SHIFT = 1_200, 0.01
LCP = (
    "new Promise((done) => { let last = 0; new PerformanceObserver((l) => {"
    " for (const e of l.getEntries()) last = e.startTime; })"
    ".observe({ type: 'largest-contentful-paint', buffered: true });"
    " setTimeout(() => done(last), 400); })"
)
FIRST_BYTE = "performance.getEntriesByType('navigation')[0].responseStart"
SHIFTED = (
    "new Promise((done) => { let sum = 0; new PerformanceObserver((l) => {"
    " for (const e of l.getEntries()) sum += e.value; })"
    ".observe({ type: 'layout-shift', buffered: true }); setTimeout(() => done(sum), 100); })"
)
LOADED = (
    "performance.getEntriesByType('resource').filter((r) => r.name.includes('/static/'))"
    ".map((r) => r.name.split('/static/')[1].split('/').slice(1).join('/'))"
)


async def slow_phone(window: Window) -> None:
    """A CPU at a quarter, 1.6 Mbit/s, 150 ms away."""
    cdp = await window.page.context.new_cdp_session(window.page)
    await cdp.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    await cdp.send("Network.enable")
    await cdp.send("Network.emulateNetworkConditions", SLOW)


async def test_pages_keep_their_budgets_on_a_slow_phone(
    stage: Stage, figures: dict[str, Any]
) -> None:
    m = await at_work(stage.world)
    (held,) = (await stage.world.ok("mandate_approvals", m.owner, public_id=m.id))["items"]
    paths = {
        "help": "/app/docs",
        "review": f"/app/mandates/{m.id}/review",
        "mandate": f"/app/mandates/{m.id}",
        "approval": f"/app/mandates/{m.id}/approvals/{held['approval_id']}",
        "pause": f"/app/mandates/{m.id}/pause",
        "hall": "/app/hall",
    }
    phone = {"viewport": PHONE, "device_scale_factor": 2, "is_mobile": True}
    async with stage.window(stage.wallet(m), **phone) as window:
        await window.sign_in()
        await slow_phone(window)
        most, shifts, css, js = 0.0, 0.0, 0, 0
        for name, path in paths.items():
            await window.goto(path)
            lcp = float(await window.page.evaluate(LCP))
            shifts = max(shifts, float(await window.page.evaluate(SHIFTED)))
            most = max(most, lcp)
            waited = float(await window.page.evaluate(FIRST_BYTE))
            figures[f"lcp_ms {name}"] = f"{lcp:.0f}, of it {waited:.0f} until the first byte"
            names = set(await window.page.evaluate(LOADED))
            css = max(css, sum(len(assets.FILES[n]) for n in names if n.startswith("css/")))
            js = max(js, sum(len(assets.FILES[n]) for n in names if n.startswith("js/")))
    # How soon depends on who else uses the machine: it is printed, and marked where it is missed.
    missed = "" if most <= LCP_MS else f"  <-- missed, at a load of {os.getloadavg()[0]:.1f}"
    figures["lcp_ms (at most 1200)"] = f"{most:.0f}{missed}"
    figures["css_kb (at most 24)"], figures["js_kb (at most 32)"] = css / KB, js / KB
    figures["layout shift (at most 0.01)"] = round(shifts, 4)
    assert css <= 24_000
    assert js <= 32_000
    assert shifts <= SHIFT


SMALL: Final = {"width": 1000, "height": 720}
SENTENCE: Final = "Budget 500 USDC for lending, 50 a trade, stop at 400, 30 days"
PICTURES: Final = {  # at most 12, with those of the mandate and of the approval
    "list": ("/app/mandates", "light", SMALL),
    "review": ("/app/mandates/{draft}/review", "light", SMALL),
    "leave": ("/app/mandates/{id}/leave", "dark", PHONE),
    "statement": ("/app/mandates/{id}/statement?week=2026-W47", "light", SMALL),
    "entries": ("/app/mandates/{id}/rows", "light", SMALL),
    "settings": ("/app/notices/settings", "light", SMALL),
    "phone": ("/app/phone?next=/app/start", "dark", PHONE),
    "agent": ("/app/agents/{agent}", "dark", SMALL),
    "hall": ("/app/hall", "light", SMALL),
}


async def test_the_pictures_of_the_documents(stage: Stage) -> None:
    """`SCREENS_KEEP=1 make screens` puts them under docs/."""
    m = await at_work(stage.world)
    terms = {"budget_usdc": "500", "agent_id": m.agent.user_id, "markets": ["test-market"]}
    draft = await stage.world.ok("owner_mandate_create", m.owner, **terms)
    (held,) = (await stage.world.ok("mandate_approvals", m.owner, public_id=m.id))["items"]
    parts = {"id": m.id, "agent": m.agent.user_id, "draft": draft["mandate"]["public_id"]}
    async with stage.window(stage.wallet(m), viewport=SMALL) as window:
        await window.sign_in()
        await window.goto(f"/app/mandates/{m.id}")
        await window.shot("kept mandate", whole=False)
        await window.page.emulate_media(color_scheme="dark")
        await window.page.set_viewport_size(PHONE)
        await window.goto(f"/app/mandates/{m.id}/approvals/{held['approval_id']}")
        await window.shot("kept approval", whole=False)
        for name, (path, theme, size) in PICTURES.items():
            await window.page.emulate_media(color_scheme=theme)
            await window.page.set_viewport_size(size)
            assert await window.goto(path.format(**parts)) == 200, name
            await window.shot(f"kept {name}", whole=False)
        await window.page.emulate_media(color_scheme="light")
        await window.page.set_viewport_size(SMALL)
        await window.goto("/app/start")
        await window.page.locator("textarea").fill(SENTENCE)
        await window.press("Show me the terms")
        await window.heading("New mandate")
        await window.shot("kept start", whole=False)
    for name in ("mandate", "approval", "start", *PICTURES):
        made = SHOTS / f"kept-{name}.png"
        assert made.stat().st_size < 150 * KB
        if os.environ.get("SCREENS_KEEP"):
            kept = ROOT / "docs" / "pictures" / f"{name}.png"
            kept.parent.mkdir(exist_ok=True)
            shutil.copy(made, kept)
