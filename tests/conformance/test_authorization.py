"""The official conformance suite against our authorization server, with an owner who consents in a browser."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
from anyio.streams.text import TextReceiveStream

from tests import npm
from tests.conformance.test_conformance import SUITE
from tests.ports import free_port
from tests.surfaces.apps import connecting
from tests.waiting import STUCK_S
from tests.world import World

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.node,
    pytest.mark.skipif(bool(npm.missing()), reason=npm.missing() or "can run"),
]
LINK = re.compile(r"https?://\S+/oauth/authorize\?\S+")


async def test_the_official_suite_finds_nothing_wrong(world: World, tmp_path: Path) -> None:
    """Both of its scenarios: the metadata, and a code that is redeemed after the owner's consent."""
    npm.install()
    port = free_port()
    callback = f"http://127.0.0.1:{port}/callback"
    async with connecting(world) as c:
        asked = {"client_name": "Suite", "redirect_uris": [callback]}
        client_id = (await c.post("/oauth/register", json=asked)).body["client_id"]
        options = ["--url", c.base, "--port", str(port)]
        options += ["--client-id", client_id, "--resource", c.base + "/mcp/connect"]
        command = npm.node(SUITE, "authorization", *options)
        environment = os.environ | {"BROWSER": "none"}
        told, link, consented = "", None, False
        with anyio.fail_after(STUCK_S):
            async with await anyio.open_process(
                command, cwd=tmp_path, stderr=subprocess.STDOUT, env=environment
            ) as process:
                assert process.stdout is not None
                async for text in TextReceiveStream(process.stdout):
                    told += text
                    link = LINK.search(told)
                    if link is not None and not consented:
                        consented = True
                        browser, parts = await c.browser(), urlsplit(link[0])
                        page = await browser.get(f"{parts.path}?{parts.query}")
                        consent = page.one("a").attributes["href"]
                        agent = c.mandate.agent.user_id or ""
                        left = await browser.submit(consent, consent, decision="allow", agent=agent)
                        async with c.http.get(left.one("a").attributes["href"]) as back:
                            assert back.status == 200
                code = await process.wait()
    assert code == 0, told[-4_000:]
    assert consented
    assert "Total: 3 passed, 0 failed" in told, told[-4_000:]
