"""What processes share of the trading side: the request budget, the allowlist, and the operator's hand on links."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner

from domain.refusals import Refused
from domain.trading.venue_account import Link
from server.cli.main import main
from server.settings import Settings
from server.venues import SharedWeights
from server.wiring import build_runtime
from storage.store import open_store
from tests.databases import PATIENT
from tests.world import Clock
from venue.budget import MAX_RELAYS, Budget

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


async def test_processes_of_one_address_never_pass_the_budget_together(database_url: str) -> None:
    clock = Clock()
    stores = [await open_store(database_url, PATIENT) for _ in range(3)]
    budgets = [Budget(clock, SharedWeights(s), "here:mainnet") for s in stores]
    try:
        tries = [b.take("relay", 20) for _ in range(12) for b in budgets]
        done = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(not isinstance(d, BaseException) for d in done) == MAX_RELAYS // 20
        assert all(isinstance(d, Refused) for d in done if isinstance(d, BaseException))
        assert (await budgets[0].used())["relay"] == MAX_RELAYS
        elsewhere = Budget(clock, SharedWeights(stores[0]), "there:mainnet")
        await elsewhere.take("relay", 20)
    finally:
        for store in stores:
            await store.close()


async def test_what_was_not_spent_is_given_back_for_all_processes(database_url: str) -> None:
    clock = Clock()
    store = await open_store(database_url, PATIENT)
    try:
        one, two = (Budget(clock, SharedWeights(store), "here:mainnet") for _ in range(2))
        spending = await one.take("relay", 120)
        await one.settle(spending, 21)
        assert (await two.used())["relay"] == 21
    finally:
        await store.close()


async def test_the_allowlist_is_seeded_once_and_what_an_operator_removed_stays_removed(
    sqlite_url: str,
) -> None:
    wallet = "0x" + "ab" * 20
    settings = Settings(database_url=sqlite_url, trade_allowlist=f"{wallet},u_abcdefgh23")
    async with build_runtime(settings) as parts:
        read = parts.deps.store.read
        assert await read(lambda uow: uow.allowlist.all()) == {wallet, "u_abcdefgh23"}
        now = parts.deps.clock.now()
        assert [
            (c.subject, c.changed_by) for _, c in await read(lambda u: u.limit_log.page(None, 9))
        ] == [(wallet, "settings"), ("u_abcdefgh23", "settings")][::-1]
        await parts.deps.store.write(
            lambda uow: uow.allowlist.put(
                wallet, allowed=False, now=now, by="operator", reason="asked to"
            )
        )
    async with build_runtime(settings) as parts:
        assert await parts.deps.store.read(lambda uow: uow.allowlist.all()) == {"u_abcdefgh23"}


async def test_a_start_does_not_need_the_venue(sqlite_url: str) -> None:
    dead = "http://127.0.0.1:9"
    settings = Settings(database_url=sqlite_url, venue_mainnet_url=dead, venue_testnet_url=dead)
    async with build_runtime(settings) as parts:
        assert parts.deps.venues is not None


async def test_an_operator_ends_a_link_by_command(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wallet = "0x" + "AB" * 20
    store, clock = await open_store(sqlite_url, PATIENT), Clock()
    link = Link(
        link_id="ln_1",
        user_id="u_1",
        network="testnet",
        wallet=wallet,
        terms_version=1,
        linked_at=clock.now(),
    )
    await store.write(lambda uow: uow.venue.add_link(link))
    monkeypatch.setenv("WALLET_DATABASE_URL", sqlite_url)
    asked = ["unlink", wallet, "--network", "testnet", "--why", "sold"]
    first = await asyncio.to_thread(CliRunner().invoke, main, asked)
    assert (first.exit_code, first.output) == (0, "")
    assert await store.read(lambda uow: uow.venue.link_to(wallet, "testnet")) is None
    again = await asyncio.to_thread(CliRunner().invoke, main, asked)
    assert again.exit_code == 1
    await store.close()
