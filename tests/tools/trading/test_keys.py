"""Approved keys are asked for anew, what the venue says is kept, and what ended is told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from devtools.devvenue import VenueFault
from domain.trading.venue_account import ZERO_ADDRESS, agent_name
from server.keeper.scheduler import KeeperScheduler
from server.settings import Settings
from server.wiring import Runtime
from tests.tools.trading.conftest import Desk, Person, a_desk, order_key
from tools.trading.account.venue_keys import A_ROUND, check_due

pytestmark = pytest.mark.anyio


class Signer:
    """Gives each wallet a key of its own, as the signer does."""

    def __init__(self) -> None:
        self.given: dict[str, str] = {}

    async def keeper_address(self, network: str, wallet: str) -> str:
        return self.given.setdefault(wallet, order_key(100 + len(self.given)))


@pytest.fixture
async def signing(database_url: str) -> AsyncIterator[Desk]:
    async with a_desk(database_url) as opened:
        opened.deps = replace(opened.deps, signer=Signer())
        yield opened


async def with_keeper(desk: Desk) -> Person:
    p = await desk.linked()
    offered = (await desk.ok("own_status", p.caller))["enable_keeper"]
    await desk.enabled(p, offered["agent_address"], kind="keeper")
    await desk.ok("own_enable_verify", p.caller)
    return p


async def key_rows(desk: Desk) -> list[dict[str, Any]]:
    return sorted(await desk.rows("venue_agent_keys"), key=lambda r: str(r["approval_id"]))


async def test_keeper_keys_are_asked_for_once_an_hour_by_one_process(signing: Desk) -> None:
    p = await with_keeper(signing)
    await signing.enabled(await signing.linked(), order_key(1))  # no keeper key: not asked for
    assert await check_due(signing.deps, "k_1") == 0
    signing.clock.forward(minutes=61)
    told = await asyncio.gather(*(check_due(signing.deps, f"k_{n}") for n in range(4)))
    assert sum(told) == 1
    assert await check_due(signing.deps, "k_9") == 0
    link = next(r for r in await signing.rows("venue_links") if r["user_id"] == p.caller.user_id)
    (row,) = [r for r in await key_rows(signing) if r["link_id"] == link["link_id"]]
    assert (row["listed"], row["checked_at"]) == (1, int(signing.clock.now().timestamp() * 10**6))


FAULTS: list[dict[str, Any]] = [
    {"effect": "status", "status": 500}, {"effect": "malformed", "value": "x"}, {"effect": "not_json"},
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault["effect"])
async def test_a_silent_venue_changes_nothing_and_is_asked_again(
    fault: dict[str, Any], signing: Desk
) -> None:
    await with_keeper(signing)
    signing.clock.forward(hours=2)
    before = await key_rows(signing)
    signing.test.faults.add(VenueFault(**fault))
    assert await check_due(signing.deps, "k_1") == 0
    assert await key_rows(signing) == before
    signing.test.faults.clear()
    signing.clock.forward(minutes=2)
    assert await check_due(signing.deps, "k_2") == 1


async def test_a_round_asks_for_few_and_the_next_goes_on(signing: Desk) -> None:
    for _ in range(A_ROUND + 2):
        await with_keeper(signing)
        signing.clock.forward(minutes=2)  # the request budget is spent by then
    signing.clock.forward(hours=2)
    budget = signing.networks.get("testnet").client._budget
    assert await check_due(signing.deps, "k_1") == A_ROUND
    assert sum((await budget.used()).values()) == A_ROUND * 20
    assert await check_due(signing.deps, "k_1") == 2


async def test_the_keepers_round_asks_and_a_key_that_the_venue_names_no_more_is_logged(
    signing: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    await with_keeper(signing)
    signing.clock.forward(hours=2)
    ticks = KeeperScheduler(
        Runtime(Settings(), signing.deps, signing.deps.chains, signing.networks)
    )  # type: ignore[arg-type]
    signing.test.faults.add(VenueFault(effect="malformed", kind="extraAgents", value=[]))
    with caplog.at_level(logging.WARNING, logger="wallet.venue"):
        await ticks.round()
    assert "names the keeper key" in caplog.text
    assert [r["listed"] for r in await key_rows(signing)] == [0]


# -- what the owner is told ----------------------------------------------------------------------------------------


async def step(desk: Desk, p: Person) -> tuple[str, str] | None:
    told = (await desk.ok("own_status", p.caller))["next"]
    return next(
        ((s["step"], s["text"]) for s in told if s["step"] in ("enable", "verify", "renew")), None
    )


async def test_what_status_reads_is_kept_and_a_key_not_yet_listed_is_to_be_checked(
    desk: Desk,
) -> None:
    p = await desk.linked()
    await desk.enabled(p, order_key(1), lasts=timedelta(days=20))
    none = VenueFault(effect="malformed", kind="extraAgents", value=[], times=1)
    desk.test.faults.add(none)
    assert await step(desk, p) == ("verify", "Check the approval")
    assert [r["listed"] for r in await key_rows(desk)] == [0]
    desk.clock.forward(minutes=2)
    assert await step(desk, p) is None
    assert [r["listed"] for r in await key_rows(desk)] == [1]


async def test_a_key_that_ends_within_a_week_or_has_ended_is_told_with_its_end(
    desk: Desk,
) -> None:
    p = await desk.linked()
    await desk.enabled(p, order_key(1), lasts=timedelta(days=20))
    assert await step(desk, p) is None
    desk.clock.forward(days=14)
    name, text = await step(desk, p) or ("", "")
    assert name == "renew"
    assert "2026-12-10T12:00:00.000Z" in text
    desk.clock.forward(days=6)
    name, text = await step(desk, p) or ("", "")
    assert name == "enable", "and no check is offered for it"
    assert "ended at 2026-12-10T12:00:00.000Z" in text


async def test_a_key_revoked_there_or_here_is_told_and_a_new_one_ends_it(desk: Desk) -> None:
    p = await desk.linked()
    await desk.enabled(p, order_key(1), lasts=timedelta(days=20))
    assert await step(desk, p) is None
    desk.clock.forward(minutes=10)
    desk.test.faults.add(VenueFault(effect="malformed", kind="extraAgents", value=[]))
    for _ in range(2):  # it stays told once the venue's answer is kept
        name, text = await step(desk, p) or ("", "")
        assert name == "enable"
        assert "names your order key no more" in text
    desk.test.faults.clear()
    name = agent_name(str(p.caller.user_id), "testnet", "order")
    asked = desk.approval(p, ZERO_ADDRESS, agent_name=name, revoke=True)
    await desk.ok("own_enable_relay", p.caller, **asked)
    assert await step(desk, p) == ("enable", "Your order key was revoked. Approve a new one")
    desk.clock.forward(seconds=10)
    await desk.enabled(p, order_key(2), lasts=timedelta(days=20))
    assert await step(desk, p) is None
