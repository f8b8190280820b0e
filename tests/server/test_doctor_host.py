"""What `wallet doctor` says of its host: slips in names, files that others read, the public address, a clock; and what a warning is."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from aiohttp import web
from click.testing import CliRunner, Result

from domain.chain_facts import BlockStamp
from http_shim.http_server import bound
from server.cli.doctor import _clock
from server.cli.host_checks import examine_address
from server.cli.main import main
from server.cli.output import DoctorFinding
from server.runtime.serve import serve_until
from server.settings import Settings
from storage.sqlite_files import sqlite_path
from tests.ports import free_port
from tests.waiting import STUCK_S
from tests.world import Clock

NO_VENUE = {
    "WALLET_VENUE_MAINNET_URL": "http://127.0.0.1:1",
    "WALLET_VENUE_TESTNET_URL": "http://127.0.0.1:1",
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in NO_VENUE.items():
        monkeypatch.setenv(name, value)


def doctor(*options: str) -> Result:
    return CliRunner().invoke(main, ["doctor", *options])


def findings() -> dict[str, dict[str, str]]:
    return {f["what"]: f for f in json.loads(doctor("--json").stdout)["findings"]}


def test_what_is_not_set_is_a_warning_and_a_failure_only_where_one_is_strict(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALLET_DATABASE_URL", sqlite_url)
    monkeypatch.delenv("WALLET_VENUE_MAINNET_URL")
    monkeypatch.delenv("WALLET_VENUE_TESTNET_URL")
    told = doctor("--json")
    report = json.loads(told.stdout)
    assert (told.exit_code, report["ok"], report["faults"]) == (0, True, 0), told.output
    assert report["warnings"] == sum(f["status"] == "warning" for f in report["findings"])
    assert report["warnings"] > 3
    assert findings()["chains"]["status"] == "warning"
    assert doctor("--strict").exit_code == 1
    assert "warning" in doctor().stdout


def test_a_chain_without_a_node_is_a_warning(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALLET_DATABASE_URL", sqlite_url)
    monkeypatch.setenv("WALLET_CHAINS__77__NAME", "a chain without a node")
    assert findings()["chain 77"] == {
        "what": "chain 77",
        "status": "warning",
        "state": "no RPC address",
        "effect": "it is not read",
    }


def test_a_name_that_is_no_setting_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert findings()["settings"]["status"] == "ok"
    monkeypatch.setenv("WALLET_SPRED_BPS", "1")
    monkeypatch.setenv("WALLET_CHAINS__8453__RPC_URL", "http://127.0.0.1:1")
    (tmp_path / "wallet.toml").write_text("keeper_tick = 3\nspread_bps = 40\n")
    told = findings()["settings"]
    assert told["status"] == "warning"
    assert told["state"] == "WALLET_SPRED_BPS, wallet.toml: keeper_tick"


def test_files_with_secrets_that_others_can_read_are_told(
    tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "keeper.key"
    key.write_text("0x" + "ab" * 32)
    key.chmod(0o640)
    monkeypatch.setenv("WALLET_KEEPER_PRIVATE_KEY_FILE", str(key))
    monkeypatch.setenv("WALLET_DATABASE_URL", sqlite_url)
    Path(sqlite_path(sqlite_url)).chmod(0o644)
    told = findings()
    assert told["secret files"]["effect"] == f"others can read it: chmod 600 {key}"
    assert told["database"]["effect"].startswith("others can read it: chmod 600 ")
    assert {told[name]["status"] for name in ("secret files", "database")} == {"warning"}
    key.chmod(0o600)
    Path(sqlite_path(sqlite_url)).chmod(0o600)
    told = findings()
    assert {told[name]["status"] for name in ("secret files", "database")} == {"ok"}


def test_the_shipped_markets_say_that_no_contract_market_is_live(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert findings()["markets"]["state"] == "4 configured, none a live contract market"
    assert findings()["markets"]["status"] == "warning"
    live = '[[markets]]\nid = "a"\nname = "A"\nkind = "erc4626"\nstatus = "live"\nchain_id = 8453\n'
    live += f'address = "0x{"11" * 20}"\n'
    (tmp_path / "m.toml").write_text(live)
    monkeypatch.setenv("WALLET_MARKETS_FILE", str(tmp_path / "m.toml"))
    assert findings()["markets"]["status"] == "warning"
    assert "a squeeze of a counts as a loss" in findings()["markets"]["effect"]
    (tmp_path / "m.toml").write_text(live + f'share_value = "0x{"22" * 20}"\n')
    assert findings()["markets"]["status"] == "ok"


# -- the public address -------------------------------------------------------------------------------------------


@asynccontextmanager
async def served(sqlite_url: str, host: str) -> AsyncIterator[str]:
    stop, ready = anyio.Event(), anyio.Event()

    async def run() -> None:
        settings = Settings(database_url=sqlite_url)
        with bound(host, port := free_port()) as sock:
            told.append(port)
            await serve_until(settings, sock, stop, keeper=False, ready=lambda _: ready.set())

    told: list[int] = []
    async with anyio.create_task_group() as group:
        group.start_soon(run)
        with anyio.fail_after(STUCK_S):
            await ready.wait()
        yield str(told[0])
        stop.set()


async def address(base: str | None) -> DoctorFinding:
    return await examine_address(Settings(base_url=base))


@pytest.mark.anyio
async def test_a_served_address_is_found_and_one_whose_host_mcp_refuses_is_a_fault(
    sqlite_url: str,
) -> None:
    async with served(sqlite_url, "0.0.0.0") as port:  # noqa: S104 - so that a second address leads to it
        assert (await address(f"http://127.0.0.1:{port}")).status == "ok"
        other = await address(f"http://127.0.0.2:{port}")
    assert (other.status, "hand on the Host" in other.effect) == ("fault", True)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "body", "is_a", "text"),
    [
        (502, "", "warning", "the proxy reaches no process"),
        (301, "", "fault", "another address"),
        (404, "nothing", "fault", "something else answers"),
        (200, "<html>", "fault", "something else answers"),
    ],
)
async def test_what_a_proxy_says_in_its_place_is_told(
    status: int, body: str, is_a: str, text: str
) -> None:
    async def answer(_: web.Request) -> web.Response:
        headers = {"Location": "http://127.0.0.1:1/"} if status == 301 else {}
        return web.Response(status=status, text=body, headers=headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port := free_port())
    await site.start()
    try:
        found = await address(f"http://127.0.0.1:{port}")
    finally:
        await runner.cleanup()
    assert (found.status, text in found.effect) == (is_a, True), found


@pytest.mark.anyio
async def test_an_address_that_is_not_set_or_where_nothing_is_served_is_a_warning() -> None:
    assert (await address(None)).effect.endswith("set WALLET_BASE_URL")
    silent = await address(f"http://127.0.0.1:{free_port()}")
    assert (silent.status, silent.effect) == ("warning", "nothing is served there now")


@pytest.mark.parametrize(("ahead_s", "told"), [(30, 0), (31, 1), (-3_600, 0)])
def test_a_block_from_the_future_says_that_the_clock_is_behind(ahead_s: int, told: int) -> None:
    now = Clock().now()
    block = BlockStamp(5, "0x" + "11" * 32, now + timedelta(seconds=ahead_s))
    found = _clock("chain 8453", block, now)
    assert [f.status for f in found] == ["fault"] * told
