"""What `wallet doctor` finds at the venue, and what it says that this switches off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import stamina
from eth_account import Account

from domain.trading.own import milliseconds
from server.doctor_venue import Seen, examine_venue
from server.settings import Settings
from tests.world import Clock
from venue.devvenue import DevVenue, Fault, serve

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


async def seen(url: str, clock: Clock, **settings: Any) -> dict[str, Seen]:
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
    venues_clock, ours = Clock(), Clock()
    ours.forward(days=2)
    async with both(venues_clock) as (_, _, urls):
        found = await seen(sqlite_url, ours, **urls)
    assert not found["venue mainnet"].works
    assert "nonces may be refused" in found["venue mainnet"].effect


async def test_a_venue_that_was_set_and_does_not_answer_is_a_fault_and_says_what_is_off(
    sqlite_url: str,
) -> None:
    clock = Clock()
    async with both(clock) as (main, _, urls):
        main.faults.add(Fault(effect="status", status=500))
        found = await seen(sqlite_url, clock, **urls)
    assert not found["venue mainnet"].works
    assert found["venue mainnet"].effect == "no relays, indices and paper prices"


async def test_a_dex_that_the_venue_does_not_have_is_a_fault(sqlite_url: str) -> None:
    clock = Clock()
    async with both(clock) as (_, _, urls):
        found = await seen(sqlite_url, clock, **urls, venue_dexes="xyz,none")
    assert (found["venue dexes"].works, found["venue dexes"].state) == (
        False,
        "the venue has no none",
    )


async def test_a_builder_that_earns_nothing_is_a_fault(sqlite_url: str) -> None:
    clock = Clock()
    async with both(clock) as (_, test, urls):
        poor = await seen(sqlite_url, clock, **urls, builder_address=BUILDER)
        test.deposit(BUILDER, "150")
        rich = await seen(sqlite_url, clock, **urls, builder_address=BUILDER)
    assert not poor["builder"].works
    assert "credits nothing below 100 USDC" in poor["builder"].effect
    assert rich["builder"].works


async def test_a_signer_that_is_set_and_away_is_a_fault(sqlite_url: str, tmp_path: Path) -> None:
    clock = Clock()
    async with both(clock) as (_, _, urls):
        found = await seen(sqlite_url, clock, **urls, signer_socket=tmp_path / "nobody.sock")
    assert not found["signer"].works
