"""What `wallet doctor` finds at the venue, and what it says that this switches off."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import stamina
from eth_account import Account
from pydantic import SecretStr

from devtools.devvenue import DevVenue, VenueFault, serve
from domain.trading.venue_account import milliseconds
from server.cli.doctor import examine
from server.cli.output import DoctorFinding
from server.cli.venue_checks import examine_venue
from server.retry_logging import tell_retries
from server.settings import ChainSettings, Settings
from storage.store import open_store
from storage.unit_of_work import UnitOfWork
from tests.databases import PATIENT
from tests.hosted import signing
from tests.tools.trading.conftest import a_desk, order_key
from tests.world import Clock, World

pytestmark = pytest.mark.anyio
BUILDER = Account.from_key("0x" + "bb" * 32).address


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    with stamina.set_testing(True, attempts=1):
        yield


@asynccontextmanager
async def both(clock: Clock) -> AsyncIterator[tuple[DevVenue, DevVenue, dict[str, str]]]:
    main, test = (
        DevVenue(lambda: milliseconds(clock.now()), mainnet=mainnet) for mainnet in (True, False)
    )
    (one, main_url), (two, test_url) = await serve(main), await serve(test)
    try:
        yield main, test, {"venue_mainnet_url": main_url, "venue_testnet_url": test_url}
    finally:
        await one.cleanup()
        await two.cleanup()


async def seen(url: str, clock: Clock, **settings: Any) -> dict[str, DoctorFinding]:
    found = await examine_venue(Settings(database_url=url, **settings), clock)
    return {s.what: s for s in found}


async def test_a_venue_that_answers_is_told_with_its_clock_and_use(sqlite_url: str) -> None:
    clock = Clock()
    async with both(clock) as (_, _, urls):
        found = await seen(sqlite_url, clock, **urls)
    assert found["venue mainnet"].works
    assert "differs by 0.0 s" in found["venue mainnet"].state
    assert "links and live orders" in found["venue testnet"].state
    assert found["venue dexes"].state == "xyz"
    assert found["builder"].effect == "no order carries a builder fee"
    assert found["signer"].effect == "no keeper key: the stop line only warns"
    assert found["order keys"].state == "0 wallets linked on testnet, 0 keys approved"
    assert found["live trading"].effect == "every order is paper"
    assert all(s.works for s in found.values())


async def test_abuse_36_a_clock_that_is_off_is_a_fault(sqlite_url: str) -> None:
    ours = Clock()
    ours.forward(days=2)
    async with both(Clock()) as (_, _, urls):
        found = await seen(sqlite_url, ours, **urls)
    assert not found["venue mainnet"].works
    assert "nonces may be refused" in found["venue mainnet"].effect


async def test_what_is_set_and_does_not_work_is_a_fault_and_says_what_is_off(
    sqlite_url: str, tmp_path: Path
) -> None:
    clock, away = Clock(), tmp_path / "nobody.sock"
    async with both(clock) as (main, test, urls):
        set_wrong = {"venue_dexes": "xyz,none", "builder_address": BUILDER, "signer_socket": away}
        found = await seen(sqlite_url, clock, **urls, **set_wrong)
        faults = {n: f.state for n, f in found.items() if not f.works}
        assert set(faults) == {"venue dexes", "builder", "signer"}
        assert faults["venue dexes"] == "the venue has no none"
        assert "credits nothing below 100 USDC" in found["builder"].effect
        test.deposit(BUILDER, "150")
        assert (await seen(sqlite_url, clock, **urls, builder_address=BUILDER))["builder"].works
        main.faults.add(VenueFault(effect="status", status=500))
        silent = (await seen(sqlite_url, clock, **urls))["venue mainnet"]
    assert (silent.works, silent.effect) == (False, "no relays, indices and paper prices")


async def test_switches_and_people_are_those_of_the_database(sqlite_url: str) -> None:
    clock = Clock()
    store = await open_store(sqlite_url, PATIENT)

    def work(uow: UnitOfWork) -> None:
        uow.switches.set("live_terminal", "on", clock.now(), "operator")
        uow.switches.set("venue_mainnet", "on", clock.now(), "operator")
        uow.allowlist.put("u_abcdefgh23", allowed=True, now=clock.now(), by="operator", reason="x")

    await store.write(work)
    await store.close()
    async with both(clock) as (_, _, urls):
        found = await seen(sqlite_url, clock, **urls)
    assert found["live trading"].state == "terminal on, door off, 1 on the allowlist"
    assert found["live trading"].effect == ""
    assert "links and live orders" in found["venue mainnet"].state
    assert found["venue testnet"].state == "not used while venue_mainnet is as it is"
    assert found["order keys"].state == "0 wallets linked on mainnet, 0 keys approved"


async def test_keys_that_end_soon_or_that_the_venue_does_not_name_are_told(sqlite_url: str) -> None:
    async with a_desk(sqlite_url) as desk:
        named, other = await desk.linked(), await desk.linked()
        await desk.enabled(named, order_key(1), lasts=timedelta(days=3))
        await desk.ok("own_enable_verify", named.caller)
        await desk.enabled(other, order_key(2), lasts=timedelta(days=20))
        desk.test.faults.add(VenueFault(effect="malformed", kind="extraAgents", value=[]))
        await desk.ok("own_enable_verify", other.caller)
        async with both(desk.clock) as (_, _, urls):
            found = await seen(sqlite_url, desk.clock, **urls)
    assert found["order keys"].state == "2 wallets linked on testnet, 2 keys approved"
    assert found["order keys"].effect == "1 end within 7 days, 1 are not named by the venue"


async def test_a_database_that_does_not_open_is_told_and_the_venue_is_read_all_the_same(
    tmp_path: Path,
) -> None:
    clock = Clock()
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"no database" * 100)
    async with both(clock) as (_, _, urls):
        found = await seen(f"sqlite:///{broken}", clock, **urls, trade_allowlist="u_abcdefgh23")
    assert not found["order keys"].works
    assert found["venue mainnet"].works
    assert found["live trading"].state.endswith("1 on the allowlist of the settings")


async def test_without_a_network_everything_is_asked_once_and_side_by_side(
    sqlite_url: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []
    all_asked = asyncio.Event()

    def silent(name: str) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]:
        async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked.append(name)
            if len(set(asked)) == 3:
                all_asked.set()
            await all_asked.wait()  # where one waited for another, this would never come
            writer.close()

        return hang_up

    async with AsyncExitStack() as stack:
        url = {}
        for name in ("mainnet", "testnet", "node"):
            server = await asyncio.start_server(silent(name), "127.0.0.1", 0)
            await stack.enter_async_context(server)
            url[name] = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        settings = Settings(
            database_url=sqlite_url,
            venue_mainnet_url=url["mainnet"],
            venue_testnet_url=url["testnet"],
            chains={8453: ChainSettings(rpc_url=url["node"])},
        )
        with stamina.set_testing(False), caplog.at_level("DEBUG"):
            found = {f.what: f for f in await examine(settings)}
    # The node is asked for its own head, then for the chain's.
    assert Counter(asked) == {"mainnet": 1, "testnet": 1, "node": 2}
    assert not any(found[n].works for n in ("chain 8453", "venue mainnet", "venue testnet"))
    assert "retry" not in caplog.text
    assert capfd.readouterr() == ("", "")


async def test_a_journal_that_vanishes_between_two_looks_is_no_fault(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "exists", lambda _: True)
    (finding,) = [
        f for f in await examine(Settings(database_url=sqlite_url)) if f.what == "database"
    ]
    assert finding.works


async def test_what_is_tried_again_is_told_in_the_log_and_never_on_stdout(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    tell_retries()
    left = iter([OSError("https://node.example/k3y")])
    with stamina.set_testing(True, attempts=2), caplog.at_level("INFO"):
        async for attempt in stamina.retry_context(on=OSError, attempts=2, wait_max=0):
            with attempt:
                for error in left:
                    raise error
    assert "try 1 failed (OSError)" in caplog.text
    assert "k3y" not in caplog.text
    assert capfd.readouterr().out == ""


async def test_a_database_of_several_processes_wants_state_keys(sqlite_url: str) -> None:
    many = "postgresql://wallet@127.0.0.1:1/none"
    for url, keys, works in ((many, None, False), (many, "k" * 32, True), (sqlite_url, None, True)):
        settings = Settings(database_url=url, state_keys=SecretStr(keys) if keys else None)
        found = {f.what: f for f in await examine(settings)}["state keys"]
        assert found.works is works
        assert "kkkk" not in found.state + found.effect


async def agents_keys(settings: Settings) -> DoctorFinding:
    return {f.what: f for f in await examine(settings)}["agents' keys"]


async def test_the_signers_keys_of_agents_are_counted_beside_the_record(
    world: World, sqlite_url: str, tmp_path: Path
) -> None:
    url, socket = sqlite_url, tmp_path / "signer.sock"
    off = await agents_keys(Settings(database_url=url))
    assert (off.works, off.state) == (True, "off")
    alone = await agents_keys(Settings(database_url=url, hosted_agents="on"))
    assert (alone.works, "WALLET_SIGNER_SOCKET" in alone.effect) == (False, True)
    settings = Settings(database_url=url, hosted_agents="on", signer_socket=socket)
    away = await agents_keys(settings)
    assert (away.works, "does not answer" in away.state) == (False, True)
    async with signing(world, tmp_path):
        owner, _ = await world.owner()
        for _ in range(2):
            agent, _ = await world.agent(owner)
            await world.ok("owner_agent_hosted_key_make", owner, agent_id=agent.user_id)
        found = await agents_keys(settings)
        assert (found.works, found.state) == (True, "on, 2 in the signer, 2 in use")
        await world.ok("owner_agent_hosted_key_end", owner, agent_id=agent.user_id)
        assert (await agents_keys(settings)).state == "on, 1 in the signer, 1 in use"
        for file in (tmp_path / "keys").glob("*.json"):
            file.unlink()
        lost = await agents_keys(settings)
        assert (lost.works, lost.effect) == (False, "the signer lacks keys that mandates name")
