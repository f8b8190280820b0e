"""A node that answers, and wrongly, while an owner looks at the pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from app.pages.acting import PATHS
from chain.chains import EvmChains
from http_shim.http_server import listen
from tests.app.lives import LIVES
from tests.app.site import Site
from tests.app.test_pages import fine
from tests.browser.stations import values_of

pytestmark = pytest.mark.anyio
Said = Callable[[dict[str, Any]], web.Response]


def _result(value: object) -> Said:
    return lambda asked: web.json_response({"jsonrpc": "2.0", "id": asked["id"], "result": value})


def _error(asked: dict[str, Any]) -> web.Response:
    error = {"code": -32603, "message": "<script>alert(1)</script> header not found"}
    return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "error": error})


WRONG: dict[str, Said] = {
    "nothing": _result(None),
    "no bytes": _result("0x"),
    "zeros": _result("0x" + "00" * 640),
    "a short word": _result("0x01"),
    "the largest words": _result("0x" + "ff" * 640),
    "a list": _result([]),
    "a number": _result(7),
    "an error": _error,
    "a page": lambda _: web.Response(text="<h1>Bad gateway</h1>", content_type="text/html"),
    "half an answer": lambda _: web.Response(text='{"jsonrpc": "2.0", "id', status=200),
    "a failure": lambda _: web.Response(text="", status=502),
}


@asynccontextmanager
async def a_node(says: Said) -> AsyncIterator[str]:
    """A node that says the same to every question; its address."""

    async def answer(request: web.Request) -> web.Response:
        asked = await request.json()
        return says(asked[0] if isinstance(asked, list) else asked)

    app = web.Application()
    app.router.add_post("/", answer)
    runner = await listen(app, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.usefixtures("no_backoff")
@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
async def test_a_node_that_answers_wrongly_makes_up_nothing_and_holds_no_exit_back(
    site: Site, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    m, browser, base = await site.of(LIVES["working"](site.world))
    (approval,) = (await values_of(m))["approval"]
    async with a_node(WRONG[name]) as url:
        wrong = EvmChains([site.world.evm.facts(rpc_url=url)])
        monkeypatch.setattr(site.world.chains, "get", wrong.get)
        try:
            page = await browser.get(base)
            fine(page)
            assert "The network does not answer just now" in page.said
            assert "Read from the vault just now" not in page.said
            offered = set[str]()
            for path in (*PATHS.values(), "fund", "leave", f"approvals/{approval}"):
                shown = await browser.get(f"{base}/{path}")
                assert shown.status < 500 or "does not answer" in shown.said, path
                assert "Tried out just now" not in shown.said, path
                assert "<script>alert" not in shown.source
                if shown.all("script", id="calls"):
                    offered.add(path)
                    assert "could not be tried out just now" in shown.said, path
            withdraw = await browser.get(f"{base}/withdraw")
            assert "Comes to your walletnot known yet" in withdraw.said
        finally:
            await wrong.close()
    # What takes money back or the agent's right away needs no node of ours.
    assert offered == {"pause", "stop", "record-value", "withdraw"}
