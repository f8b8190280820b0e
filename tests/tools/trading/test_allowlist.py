"""Who may trade live: the operator's list, over HTTP and on the command line alike, and its log."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from server.cli.main import main
from storage.store import open_store
from tests.databases import PATIENT
from tests.tools.trading.conftest import Desk
from tools.model.operation import ANONYMOUS, Caller

pytestmark = pytest.mark.anyio
ADMIN = Caller("admin", credential="x")
WALLET = "0x" + "aB" * 20


async def test_somebody_is_allowed_and_taken_off_for_the_next_request_with_a_row_each(
    both: Desk,
) -> None:
    p = await both.linked()
    both.switched(live_terminal=True)
    item = p.wallet.address
    assert (await both.ok("own_status", p.caller))["mode"] == "paper"
    done = await both.ok("admin_allowlist_set", ADMIN, item=item, allowed=True, why="known to us")
    assert (done["item"], done["allowed"], done["changed"]) == (item.lower(), True, True)
    status = await both.ok("own_status", p.caller)
    assert (status["allowlisted"], status["mode"]) == (True, "live")
    listed = await both.ok("admin_allowlist", ADMIN)
    assert [(i["item"], i["changed_by"]) for i in listed["items"]] == [(item.lower(), "admin")]
    both.clock.forward(seconds=1)
    await both.ok("admin_allowlist_set", ADMIN, item=item, allowed=False, why="asked to")
    assert (await both.ok("own_status", p.caller))["mode"] == "paper"
    told = (await both.ok("admin_limit_log", ADMIN))["items"]
    assert [(c["what"], c["subject"], c["changes"], c["changed_by"], c["why"]) for c in told] == [
        ("allowlist", item.lower(), {"allowed": {"from": True, "to": False}}, "admin", "asked to"),
        ("allowlist", item.lower(), {"allowed": {"from": False, "to": True}}, "admin", "known to us"),
    ]  # fmt: skip


def asked(item: str = "u_abcdefgh23", *, allowed: bool = True, why: str = "x") -> dict[str, Any]:
    return {"item": item, "allowed": allowed, "why": why}


async def test_what_stands_already_writes_nothing(desk: Desk) -> None:
    for allowed, changed in ((False, False), (True, True), (True, False), (False, True)):
        told = await desk.ok("admin_allowlist_set", ADMIN, **asked(allowed=allowed))
        assert told["changed"] is changed
    assert len(await desk.rows("limit_log")) == 2


async def test_abuse_01_a_wildcard_nobody_and_a_change_without_a_reason_are_refused(
    desk: Desk,
) -> None:
    for item in ("*", "all", "0x12", "0x" + "zz" * 20, "u_1", f"{WALLET},{WALLET}", "bob@x.org"):
        for allowed in (True, False):
            wrong = asked(item, allowed=allowed)
            reply = await desk.refused("admin_allowlist_set", ADMIN, **wrong)
            assert (reply.status, reply.body["error"]) == (400, "invalid_request"), item
    none = {"item": "u_abcdefgh23", "allowed": True}
    for wrong in (none, asked(why=""), asked(why="   "), asked(why="x" * 501)):
        assert (await desk.refused("admin_allowlist_set", ADMIN, **wrong)).status == 400, wrong
    assert await desk.rows("trade_allowlist") == await desk.rows("limit_log") == []


async def test_only_an_admin_key_reads_or_sets_it(desk: Desk) -> None:
    p = await desk.person()
    for name in ("admin_allowlist", "admin_limit_log", "admin_allowlist_set"):
        more = asked() if name.endswith("_set") else {}
        for who, status in ((ANONYMOUS, 401), (p.caller, 403), (Caller("keeper"), 403)):
            assert (await desk.refused(name, who, **more)).status == status, name
    assert await desk.rows("limit_log") == []


async def test_of_many_who_say_the_same_at_once_one_is_logged(both: Desk) -> None:
    calls = [both.ok("admin_allowlist_set", ADMIN, **asked()) for _ in range(8)]
    told = await asyncio.gather(*calls)
    assert sum(t["changed"] for t in told) == 1
    assert len(await both.rows("limit_log")) == 1


async def test_a_switch_of_live_trading_leaves_a_row_and_another_switch_none(desk: Desk) -> None:
    for name, value in (
        ("live_terminal", "on"),
        ("live_terminal", "on"),
        ("venue_mainnet", "on"),
        ("gas_sponsorship", "on"),
        ("live_terminal", "off"),
    ):
        desk.clock.forward(seconds=1)
        await desk.ok("admin_switch_set", ADMIN, name=name, value=value)
    told = (await desk.ok("admin_limit_log", ADMIN))["items"]
    assert [(c["what"], c["subject"], c["changes"]["value"]) for c in told] == [
        ("switch", "live_terminal", {"from": "on", "to": "off"}),
        ("switch", "venue_mainnet", {"from": "off", "to": "on"}),
        ("switch", "live_terminal", {"from": "off", "to": "on"}),
    ]


async def test_list_and_log_are_read_in_pages_that_miss_and_repeat_nothing(both: Desk) -> None:
    items = [f"u_abcdefgh2{n}" for n in range(2, 7)]
    for item in items:
        await both.ok("admin_allowlist_set", ADMIN, **asked(item))
    for name, field in (("admin_allowlist", "item"), ("admin_limit_log", "subject")):
        seen, cursor = [], None
        while True:
            page = await both.ok(name, ADMIN, limit=2, **({"cursor": cursor} if cursor else {}))
            seen += [i[field] for i in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert sorted(seen) == items
        reply = await both.refused(name, ADMIN, cursor="bm90IG91cnM")
        assert reply.status == 400


async def test_the_command_line_does_the_same(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WALLET_DATABASE_URL", sqlite_url)

    async def wallet(*request: str, code: int = 0) -> str:
        done = await asyncio.to_thread(CliRunner().invoke, main, ["allowlist", *request])
        assert done.exit_code == code, done.output
        return done.output

    assert json.loads(await wallet("list")) == []
    await wallet("add", WALLET, "--why", "known to us")
    assert json.loads(await wallet("list")) == [WALLET.lower()]
    assert "on the list already" in await wallet("add", WALLET, "--why", "again", code=1)
    assert "no address and no user id" in await wallet("add", "*", "--why", "all", code=1)
    assert "a reason is due" in await wallet("add", "u_abcdefgh23", "--why", " ", code=1)
    await wallet("add", "u_abcdefgh23", code=2)
    await wallet("remove", WALLET, "--why", "asked to")
    told = json.loads(await wallet("log"))
    assert [(c["changed_by"], c["why"]) for c in told] == [
        ("operator", "asked to"),
        ("operator", "known to us"),
    ]
    store = await open_store(sqlite_url, PATIENT)
    assert await store.read(lambda uow: uow.allowlist.all()) == frozenset()
    await store.close()
