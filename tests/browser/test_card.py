"""The card of a held call, in a frame like a host's: no origin, no network, and one thing to ask for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.mcp_api.held_calls import card
from tests.browser.window import MARKS

pytestmark = list(MARKS)
URL = "https://wallet.example/app/mandates/m_abcdefgh23/approvals/ap_1"
HELD: dict[str, Any] = {
    "status": "pending_approval",
    "approval": {
        "approval_id": "ap_1", "status": "pending", "approve_amount_usdc": "20.000000", "why": "<img src=x onerror=alert(1)> more",
        "target": {"market": None, "address": "0x1111111111111111111111111111111111111111", "selector": "0x6e553f65"},
    },
    "approval_url": URL,
    "asked_by": {"agent_id": "u_1", "agent_name": "<b>Scout</b>"},
    "expires_at": "2026-11-21T12:00:00.000Z",
    "remaining": {"value": "80.000000"},
}  # fmt: skip
# What a host does: it answers the greeting, hands the result over, and keeps what it is asked for.
HOST = """<!doctype html><body><iframe id=f sandbox="allow-scripts" style="width:420px;height:600px"></iframe><script>
window.heard = [];
const frame = document.getElementById("f");
addEventListener("message", ({source, data}) => {
  if (source !== frame.contentWindow) return;
  heard.push(data);
  const answer = (result) => source.postMessage({jsonrpc: "2.0", id: data.id, result}, "*");
  if (data.method === "ui/initialize") answer({protocolVersion: "2026-01-26", hostInfo: {name: "t", version: "1"}, hostCapabilities: {}, hostContext: {}});
  if (data.method === "ui/open-link") answer({});
  if (data.method === "ui/notifications/initialized") give(HELD);
});
const give = (structuredContent) => frame.contentWindow.postMessage(
  {jsonrpc: "2.0", method: "ui/notifications/tool-result", params: {content: [], structuredContent}}, "*");
const POLICY = "<meta http-equiv=Content-Security-Policy content=\\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'\\">";
frame.srcdoc = CARD.replace("<meta charset", POLICY + "<meta charset");
</script>"""


async def shown(browser: Any, held: Any) -> tuple[Any, Any, list[str]]:
    """(the tab, the card in it, what was asked of the network)."""
    page, sent = await browser.new_page(), list[str]()
    page.on("request", lambda request: sent.append(request.url))
    safe = [json.dumps(value).replace("</", "<\\/") for value in (card(), held)]
    await page.set_content(HOST.replace("CARD", safe[0]).replace("give(HELD)", f"give({safe[1]})"))
    return page, page.frame_locator("#f"), sent


async def test_the_card_shows_the_facts_and_opens_the_page_of_the_owner(chromium: Any) -> None:
    page, frame, sent = await shown(chromium, HELD)
    await frame.get_by_role("heading", name="An action waits for the owner").wait_for()
    told = await frame.locator("main").inner_text()
    for fact in (
        "20.000000 USDC",
        "not on the markets list",
        "0x1111",
        "<b>Scout</b> (u_1)",
        "80.000000 USDC",
        "21 Nov 2026 12:00:00",
    ):
        assert fact in told, fact
    assert "<img src=x onerror=alert(1)> more" in told
    await frame.get_by_role("button").click()
    await page.wait_for_function("heard.some((m) => m.method === 'ui/open-link')")
    methods = await page.evaluate("[...new Set(heard.map((m) => m.method))]")
    assert set(methods) == {
        "ui/initialize", "ui/notifications/initialized", "ui/notifications/size-changed", "ui/open-link",
    }  # fmt: skip
    opened = await page.evaluate("heard.find((m) => m.method === 'ui/open-link').params")
    assert opened == {"url": URL}
    assert [url for url in sent if not url.startswith("about:")] == []
    await page.close()


@pytest.mark.parametrize(
    "held",
    [
        {"chain_id": 1, "data": "0x"},
        None,
        HELD | {"approval_url": "javascript:alert(1)"},
        HELD | {"approval": HELD["approval"] | {"status": "approved"}},
    ],
)
async def test_the_card_offers_nothing_where_nothing_waits(chromium: Any, held: Any) -> None:
    page, frame, _ = await shown(chromium, held)
    await page.wait_for_function("heard.filter((m) => m.method?.includes('size')).length >= 2")
    assert await frame.get_by_role("button").count() == 0
    assert await frame.locator("main").inner_text() == "Nothing waits for the owner."
    await page.close()
