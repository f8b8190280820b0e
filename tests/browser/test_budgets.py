"""What the pages weigh, and how soon they are there on a slow phone; and the two pictures of the README."""

from __future__ import annotations

import os
import shutil
from typing import Any

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


async def test_the_pictures_of_the_readme(stage: Stage) -> None:
    """`SCREENS_KEEP=1 make screens` puts them under docs/."""
    m = await at_work(stage.world)
    (held,) = (await stage.world.ok("mandate_approvals", m.owner, public_id=m.id))["items"]
    small = {"width": 1000, "height": 720}
    async with stage.window(stage.wallet(m), viewport=small) as window:
        await window.sign_in()
        await window.goto(f"/app/mandates/{m.id}")
        await window.shot("readme mandate", whole=False)
        await window.page.emulate_media(color_scheme="dark")
        await window.page.set_viewport_size(PHONE)
        await window.goto(f"/app/mandates/{m.id}/approvals/{held['approval_id']}")
        await window.shot("readme approval", whole=False)
    for name in ("mandate", "approval"):
        made = SHOTS / f"readme-{name}.png"
        assert made.stat().st_size < 150 * KB
        if os.environ.get("SCREENS_KEEP"):
            kept = ROOT / "docs" / "pictures" / f"{name}.png"
            kept.parent.mkdir(exist_ok=True)
            shutil.copy(made, kept)
