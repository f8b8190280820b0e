"""One leader on both databases, the weight of a tick, and what the keeper does when the venue fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from devtools.devvenue import Rules, VenueFault
from devtools.devvenue.limits import info_weight
from domain.ledger.events.event import Reporter
from domain.mandates.mandate import Mandate, Status
from domain.refusals import Refused
from storage.integrity.ledger_check import verify
from storage.store import open_store
from tests.databases import PATIENT
from tests.tools.trading.conftest import Person, a_desk
from tests.tools.trading.stop_line import TICK, Lines, lines_of
from tools.trading.orders.status_sync import sync_due_orders
from tools.trading.stop_line.gauges import gauges_of
from tools.trading.stop_line.keeper import WEIGHT_A_ROUND, StopLineKeeper
from venue import reads
from venue.budget import RESERVE

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
async def lines(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Lines]:
    async with a_desk(sqlite_url) as desk, lines_of(desk, tmp_path) as made:
        yield made


@pytest.fixture
async def both(database_url: str, tmp_path: Path) -> AsyncIterator[Lines]:
    async with a_desk(database_url) as desk, lines_of(desk, tmp_path) as made:
        yield made


async def holding(
    lines: Lines, people: int, *, rests: bool = False
) -> list[tuple[Person, Mandate]]:
    found = []
    for _ in range(people):
        if people > 2:
            lines.desk.clock.forward(seconds=10)  # linking reads much
        p = await lines.person(deposit="2000")
        m = await lines.mandate(p)
        await lines.bought(p, m)
        if rests:
            await lines.resting(p, m, "BTC", "0.001", "30000")
        found.append((p, m))
    return found


async def test_of_two_processes_one_leads_and_the_other_reads_nothing(both: Lines) -> None:
    ((p, m),) = await holding(both, 1)
    other_store = await open_store(both.desk.store.url, PATIENT)
    other = StopLineKeeper(replace(both.desk.deps, store=other_store), "two")
    both.desk.test.move("BTC", "58000")
    for _ in range(3):
        both.desk.clock.at += TICK
        first, second = await asyncio.gather(both.keeper.round(), other.round())
        assert [first.led, second.led].count(True) == 1
    assert both.held(p) == 0
    assert len(both.log.closes()) == 2, "one order opened it, one closed it"
    assert [kind for kind, _ in await both.told(m)] == ["stop", "sell"]
    await other_store.close()


async def test_after_its_lease_or_its_end_a_leader_is_followed_and_can_do_nothing_more(
    both: Lines,
) -> None:
    ((p, _),) = await holding(both, 1)
    both.desk.test.move("BTC", "58000")
    await both.tick()
    other = both.another("two")
    assert not (await both.tick(other)).led
    both.desk.clock.forward(seconds=91)
    assert (await other.round()).led
    assert not (await both.tick()).led
    await both.tick(other)
    assert both.held(p) == 0
    await other.release()
    assert (await both.tick()).led, "a process that ends hands over at once"


async def test_who_lost_the_lease_before_it_sends_sends_nothing(both: Lines) -> None:
    """The old leader was paused between its reads and its step; another leads meanwhile."""
    ((p, m),) = await holding(both, 1)
    both.desk.test.move("BTC", "58000")
    await both.tick()
    other, signer = both.another("two"), both.desk.deps.signer

    class Slow:
        async def keeper_signed(self, *args: Any) -> Any:
            signed = await signer.keeper_signed(*args)  # type: ignore[union-attr]
            both.desk.clock.forward(seconds=100)
            assert (await other.round()).led
            return signed

    n = len(both.log.exchange)
    both.keeper.deps = replace(both.keeper.deps, signer=Slow())  # type: ignore[arg-type]
    await both.tick()
    posted = both.log.exchange[n:]
    recorded = [o.action.cloid for o in await both.closes(m)]
    assert [o["c"] for a in posted for o in a["orders"]] == recorded
    assert len(recorded) == 1
    assert both.held(p) == 0


async def test_twenty_mandates_a_tick_stay_within_half_of_the_reserve(lines: Lines) -> None:
    await holding(lines, 21)
    n = len(lines.log.info)
    told = await lines.tick()
    asked = lines.log.info[n:]
    assert (told.looked, told.weight) == (20, sum(info_weight(a["type"]) for a in asked))
    assert told.weight <= WEIGHT_A_ROUND <= RESERVE // 2
    again = await lines.tick()
    assert again.looked == 20
    seen = {a["user"] for a in lines.log.info if a["type"] == "clearinghouseState"}
    assert len(seen) == 21, "who was seen longest ago comes first"


async def test_when_all_fall_at_once_twenty_are_closed_in_one_tick_within_the_reserve(
    lines: Lines,
) -> None:
    found = await holding(lines, 20)
    lines.desk.test.move("BTC", "58000", "9")
    await lines.tick()
    n, e = len(lines.log.info), len(lines.log.exchange)
    told = await lines.tick()
    spent = sum(info_weight(a["type"]) for a in lines.log.info[n:]) + len(lines.log.exchange[e:])
    assert [lines.held(p) for p, _ in found] == [0] * 20
    assert told.weight <= WEIGHT_A_ROUND + 10
    assert spent <= RESERVE // 2, "the signer's reads with it"


async def test_what_a_tick_cannot_afford_the_next_ones_do(lines: Lines) -> None:
    found = await holding(lines, 12, rests=True)
    lines.desk.test.move("BTC", "58000", "9")
    lines.desk.test.rules.ip_budget = 1200
    await lines.tick()
    closed = []
    for _ in range(6):
        told = await lines.tick()
        assert told.weight <= WEIGHT_A_ROUND + 40
        closed.append(sum(lines.held(p) == 0 for p, _ in found))
    assert closed[0] < 12
    assert closed[-1] == 12


async def test_a_flood_of_others_leaves_the_keeper_its_reserve(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with (
        a_desk(sqlite_url, rules=Rules(ip_budget=1200)) as desk,
        lines_of(desk, tmp_path) as lines,
    ):
        ((p, _),) = await holding(lines, 1)
        lines.desk.test.move("BTC", "58000")
        await lines.tick()
        venue = desk.networks.get("testnet")
        for _ in range(60):
            try:
                await venue.client.ask(reads.OPEN_ORDERS, "house", user=p.wallet.address, dex="")
            except Refused:
                break
        else:
            raise AssertionError("the house never ran into its limit")
        await lines.tick()
        assert lines.held(p) == 0


async def test_an_answer_that_is_lost_is_settled_by_its_id_and_never_sent_again(
    lines: Lines,
) -> None:
    for effect in ("lost", "executed_status", "not_json"):
        ((p, m),) = await holding(lines, 1)
        lines.desk.test.move("BTC", "58000")
        await lines.tick()
        lines.desk.test.faults.add(VenueFault(effect=effect, kind="order", times=1))  # type: ignore[arg-type]
        await lines.tick()
        (close,) = await lines.closes(m)
        assert close.status == "unknown"
        await lines.tick()
        (close,) = await lines.closes(m)
        assert (close.status, lines.held(p)) == ("executed", 0)
        lines.desk.test.move("BTC", "64000")


async def test_what_never_arrived_is_void_before_the_same_rung_is_tried_anew(lines: Lines) -> None:
    ((p, m),) = await holding(lines, 1)
    lines.desk.test.move("BTC", "58000")
    await lines.tick()
    lines.desk.test.faults.add(VenueFault(effect="status", kind="order", times=1, status=500))
    n = len(lines.log.closes())
    for _ in range(5):
        await lines.tick()
        assert lines.held(p) == Decimal("0.01"), "its bytes may still act"
    await lines.tick()
    assert lines.held(p) == 0
    assert [o.slippage_bps for o in await lines.closes(m)] == [100, 100]
    assert len({o["c"] for o in lines.log.closes()[n:]}) == len(lines.log.closes()[n:])


async def test_an_account_that_cannot_be_read_whole_closes_nothing(lines: Lines) -> None:
    ((p, m),) = await holding(lines, 1)
    lines.desk.test.move("BTC", "58000")
    await lines.tick()
    size = ("assetPositions", 0, "position", "szi")
    none = VenueFault(effect="malformed", kind="clearinghouseState", path=size, value="NaN")
    lines.desk.test.faults.add(none)
    await lines.ticks(3)
    assert (await lines.stored(m)).status is Status.WORKING
    lines.desk.test.faults.clear()
    late = VenueFault(effect="malformed", kind="clearinghouseState", path=("time",), value=1)
    lines.desk.test.faults.add(late)
    await lines.ticks(3)
    assert (await lines.stored(m)).status is Status.WORKING, "an old answer is none"
    assert lines.held(p) == Decimal("0.01")


async def test_without_a_signer_the_owner_is_told_and_the_close_follows_when_it_is_back(
    lines: Lines,
) -> None:
    ((p, m),) = await holding(lines, 1)
    lines.desk.test.move("BTC", "58000")
    signer = lines.desk.deps.signer
    lines.keeper.deps = replace(lines.desk.deps, signer=None)
    await lines.ticks(4)
    assert [kind for kind, _ in await lines.told(m)] == ["stop", "note"]
    lines.keeper.deps = replace(lines.desk.deps, signer=signer)
    await lines.tick()
    assert lines.held(p) == 0


async def test_what_was_taken_off_past_us_counts_at_the_mark_and_is_not_closed_again(
    lines: Lines,
) -> None:
    ((p, m),) = await holding(lines, 1)
    lines.trade(p, "BTC", "-0.01")
    await lines.tick()
    assert (await lines.stored(m)).status is Status.WORKING
    lines.desk.test.move("BTC", "58000")
    n = len(lines.log.exchange)
    await lines.ticks(9)
    assert (await lines.stored(m)).status is Status.STOPPED
    assert lines.log.exchange[n:] == []
    assert await lines.state(m) == "done"


async def test_one_mandates_trouble_holds_no_other(lines: Lines) -> None:
    (p, m), (q, _) = await holding(lines, 2)
    lines.desk.test.move("BTC", "58000")
    await lines.tick()
    await lines.desk.store.write(
        lambda uow: uow.sql.run("UPDATE orders SET body = '{' WHERE mandate_id = :m", m=m.public_id)
    )
    await lines.tick()
    assert (lines.held(p), lines.held(q)) == (Decimal("0.01"), 0)


async def test_the_metrics_tell_how_many_stand_how_and_who_cannot_be_closed(lines: Lines) -> None:
    ((_, _),) = await holding(lines, 1)
    p = await lines.desk.linked()
    m = await lines.mandate(p)
    await lines.bought(p, m)
    lines.desk.test.move("BTC", "58000")
    await lines.ticks(3)
    told = await lines.desk.store.read(lambda uow: gauges_of(uow, lines.desk.clock.now()))
    assert told == {
        'wallet_keeper_mandates{network="testnet",state="done"}': 1,
        'wallet_keeper_mandates{network="testnet",state="warned"}': 1,
        "wallet_keeper_blocked": 1,
        "wallet_keeper_lease_seconds": 90,
    }


async def test_clause_seven_is_stored_and_pending_without_a_keeper_key(lines: Lines) -> None:
    p = await lines.desk.linked()
    m = await lines.mandate(p)

    async def seventh() -> str:
        told = await lines.desk.ok("mandate_get", p.caller, public_id=m.public_id)
        (clause,) = [c for c in told["clauses"] if c["n"] == 7]
        return str(clause["status"])

    assert await seventh() == "stored_pending"
    await lines.keyed(p)
    assert await seventh() == "enforced"
    lines.switched(stop_line_dry_run=True)
    assert await seventh() == "stored_pending"


async def test_the_keepers_orders_are_settled_and_shown_like_all_others(lines: Lines) -> None:
    ((p, m),) = await holding(lines, 1)
    lines.desk.test.move("BTC", "58000")
    await lines.ticks(2)
    lines.desk.clock.forward(seconds=2)
    await sync_due_orders(lines.desk.deps)
    (close,) = await lines.closes(m)
    told = await lines.desk.ok("order_get", p.caller, order_id=close.order_id)
    by = (told["source"], told["sign_mode"], told["prepared_by"]["kind"])
    assert by == ("keeper", "keeper", "keeper")
    assert (told["builder"], told["builder_fee_usdc"]) == (None, "0")
    assert Decimal(told["fee_usdc"]) > 0
    rows = await lines.desk.store.read(lambda uow: uow.ledger.newest(m.public_id))
    kinds = [e.kind.value for e in reversed(rows) if e.reported_by is Reporter.KEEPER]
    assert kinds == ["stop", "sell"]
    assert rows[0].payload["venue"]["product"] == "BTC"  # type: ignore[index]
    assert (await verify(lines.desk.store)).ok
