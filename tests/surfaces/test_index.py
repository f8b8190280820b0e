"""The shortest way in: the index, what a stranger without a key is told, and links that work."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import anyio
import pytest
from aiohttp import ClientSession

from tests.surfaces.small import small

pytestmark = pytest.mark.anyio


async def test_the_root_is_an_index_and_a_browser_is_sent_to_the_screens(sqlite_url: str) -> None:
    async with small(sqlite_url) as s:
        reply = await s.get("/")
        assert (reply.status, set(reply.body)) == (200, {"service", "version", "links"})
        assert set(reply.body["links"]) == {"skill", "openapi", "mcp", "door", "app"}
        assert reply.body["links"]["skill"] == s.deps.config.base_url + "/wallet/skill.md"
        assert "Accept" in reply.headers["Vary"]
        accept = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
        sent = await s.get("/", headers=accept, allow_redirects=False)
        assert (sent.status, sent.headers["Location"]) == (302, "/app")


async def test_a_401_says_how_to_authenticate_and_where_to_read_on(sqlite_url: str) -> None:
    async with small(sqlite_url) as s:
        for headers in ({}, {"Authorization": "Bearer ws_wrong"}):
            reply = await s.post("/wallet/notes/n", headers=headers)
            assert reply.told == (401, "unauthenticated")
            assert reply.headers["WWW-Authenticate"].startswith("Bearer ")
            routes = {step.get("route") for step in reply.body["next"]}
            assert {"GET /", "GET /wallet/skill.md"} <= routes
        unknown = await s.get("/v1/agents")
        assert unknown.told == (404, "not_found")
        assert [n["route"] for n in unknown.body["next"]] == ["GET /", "GET /wallet/skill.md"]


@pytest.mark.slow
async def test_links_name_the_address_that_is_really_served(tmp_path: Path) -> None:
    env = {
        "PATH": os.defpath, "WALLET_DATABASE_URL": f"sqlite:///{tmp_path / 'w.sqlite'}", "WALLET_DOOR": "on",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }  # fmt: skip
    command = [sys.executable, "-m", "server", "serve", "--port", "0"]
    async with await anyio.open_process(command, env=env, cwd=tmp_path) as process:
        assert process.stderr is not None
        log = ""
        while "serving on" not in log:
            log += (await process.stderr.receive()).decode()
        base = re.findall(r"serving on (\S+)", log)[0]
        try:
            async with ClientSession() as http:
                for path in ("/", "/wallet/skill.md", "/wallet/door", "/llms.txt", "/openapi.json"):
                    async with http.get(base + path) as r:
                        told = await r.text()
                        assert base in told, path
                        found = set(re.findall(r"http://127\.0\.0\.1:\d+", told))
                        assert found == {base}, path
                body = {"address": "0x" + "11" * 20, "chain_id": 84532}
                async with http.post(base + "/wallet/auth/challenge", json=body) as r:
                    assert f"URI: {base}" in (await r.json())["message"]
        finally:
            process.terminate()
