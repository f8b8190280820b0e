"""The keeper killed at every step, and a venue that fails at every step: a position only ever shrinks."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from devtools.devvenue import VenueFault
from domain.mandates.mandate import Mandate, Status
from domain.trading.outcome import filled_size
from tests.tools.trading.conftest import Person, a_desk
from tests.tools.trading.mortal import Fate, Killed, mortal
from tests.tools.trading.stop_line import Lines, lines_of
from tools.trading.orders.status_sync import sync_due_orders

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
SEED = int(os.environ.get("KEEPER_SEED", "1"))
RUNS = int(os.environ.get("KEEPER_RUNS", "300"))
AT_MOST = 120  # ticks until everything is closed, the rests of a blocked ladder with them
KINDS = (
    "order", "cancelByCloid", "clearinghouseState", "openOrders", "orderStatus", "l2Book", "metaAndAssetCtxs", "userFillsByTime",
)  # fmt: skip
EFFECTS = ("status", "lost", "executed_status", "unknown_field", "not_json", "truncated", "huge")
STRANGE: tuple[Any, ...] = (
    {"status": "ok", "response": {"type": "order", "data": {"statuses": [{"unheard": 1}]}}},
    {"status": "ok", "response": {"type": "order", "data": {"statuses": ["waitingForFill"]}}},
    {"status": "ok", "response": {"type": "default"}}, {"status": "err", "response": "Invalid nonce: duplicate nonce 5"}, {}, [], None,
    {"status": "unknownOid"},
)  # fmt: skip


FILLED: Any = {"filled": {"totalSz": "10", "avgPx": "58000", "oid": 5}}
STATUSES = ("response", "data", "statuses")
OPEN: Any = {"coin": "BTC", "limitPx": "30000", "oid": 5, "side": "B", "sz": "1", "timestamp": 1, "origSz": "1"}  # fmt: skip
# Answers in the venue's own forms that are not true.
LIES: tuple[tuple[str, tuple[str | int, ...], Any], ...] = (
    ("order", STATUSES, [FILLED]),
    ("order", STATUSES, [{"filled": {"totalSz": "0.004", "avgPx": "1", "oid": 5}}]),
    ("order", STATUSES, [{"resting": {"oid": 5}}]),
    ("order", STATUSES, [{"error": "Insufficient margin to place order. asset=0"}]),
    ("order", STATUSES, [{"error": "Order could not immediately match against any resting orders. asset=0"}]),
    ("order", (), {"status": "err", "response": "Something else went wrong"}),
    ("cancelByCloid", STATUSES, ["success"]),
    ("cancelByCloid", STATUSES, [{"error": "Order was never placed, already canceled, or filled."}]),
    ("orderStatus", (), {"status": "unknownOid"}),
    ("orderStatus", ("order", "status"), "filled"),
    ("orderStatus", ("order", "status"), "canceled"),
    ("orderStatus", ("order", "status"), "open"),
    ("orderStatus", ("order", "status"), "iocCancelRejected"),
    ("orderStatus", ("order", "status"), "aWordOfNobody"),
    ("orderStatus", ("order", "order", "sz"), "5"),
    ("orderStatus", ("order", "order", "sz"), "0.004"),
    ("orderStatus", ("order", "order", "side"), "B"),
    ("openOrders", (), []),
    ("openOrders", (), [OPEN]),
    ("userFillsByTime", (), []),
    ("userFillsByTime", (0, "sz"), "1000"),
    ("userFillsByTime", (0, "px"), "0.5"),
    ("userFillsByTime", (0, "fee"), "-9999"),
    ("clearinghouseState", ("assetPositions",), []),
    ("clearinghouseState", ("assetPositions", 0, "position", "szi"), "7"),
    ("clearinghouseState", ("assetPositions", 0, "position", "szi"), "-0.01"),
    ("clearinghouseState", ("assetPositions", 0, "position", "positionValue"), "1"),
    ("metaAndAssetCtxs", (1, 0, "markPx"), "99999999999999"),
    ("metaAndAssetCtxs", (0, "universe", 0, "szDecimals"), -1),
    ("l2Book", ("levels", 0, 0, "px"), "-5"),
    ("l2Book", ("levels", 0, 0, "sz"), "100000"),
)  # fmt: skip


@pytest.fixture
async def lines(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Lines]:
    async with a_desk(sqlite_url) as desk, lines_of(desk, tmp_path) as made:
        yield made


@dataclass
class Scene:
    """A mandate at its line: a position on a thin book, and an order of its own that rests."""

    lines: Lines
    p: Person
    m: Mandate

    async def played(self, *fates: Fate) -> None:
        """Play with processes that may die, one after the other."""
        left = iter(fates)
        keeper = mortal(self.lines, "p0", next(left))
        with self.lines.only_shrinks(self.p, "BTC"):
            for n in range(AT_MOST):
                try:
                    await self.lines.tick(keeper)
                except Killed:
                    keeper = mortal(self.lines, f"p{n + 1}", next(left, Fate()))
                    self.lines.desk.clock.forward(seconds=61)  # its lease runs out
                if await self.lines.state(self.m) == "done":
                    return
                if self.lines.held(self.p) and n > 20:
                    self.lines.desk.test.move("BTC", "58000")
        raise AssertionError(f"open after {AT_MOST} ticks: {await self.lines.keeping(self.m)}")

    async def plays(self, note: str, *fates: Fate) -> None:
        """Play to the end of all faults, and check; `note` says how to play it again."""
        try:
            await self.played(*fates)
            self.lines.desk.test.faults.clear()
            await self.sound()
        except AssertionError as error:
            raise AssertionError(note) from error

    async def sound(self) -> None:
        """What holds however it was played, once the tick of orders has asked after all."""
        lines = self.lines
        for _ in range(12):
            lines.desk.clock.forward(seconds=61)
            await sync_due_orders(lines.desk.deps)
        assert lines.held(self.p) == 0
        assert (await lines.stored(self.m)).status is Status.STOPPED
        stops = [kind for kind, _ in await lines.told(self.m) if kind == "stop"]
        assert stops == ["stop"], "it is stopped once"
        posted = Counter(o["c"] for o in lines.log.closes() if o["r"])
        assert all(n == 1 for n in posted.values()), "no bytes are sent twice"
        recorded = {o.action.cloid for o in await lines.closes(self.m)}
        ours = {c for c in posted if c in recorded}
        here = [o for o in lines.desk.test.account(self.p.wallet.address).history if o.reduce_only]
        assert {o.cloid for o in here} <= ours, "everything that was sent is on record"
        assert all(o.status not in ("executing", "unknown") for o in await lines.closes(self.m))
        # A size that its status went on to deny is not verified; its fills tell what was closed.
        closes = await lines.closes(self.m)
        filled = sum(
            ((o.filled_size or Decimal(0)) if o.verified else filled_size(o.fills) for o in closes),
            Decimal(0),
        )
        assert filled == Decimal("0.01"), "the record knows what was closed"


async def scene(lines: Lines) -> Scene:
    lines.desk.test.faults.clear()
    lines.desk.test.move("BTC", "64000")
    p = await lines.person(deposit="3000")
    m = await lines.mandate(p)
    await lines.bought(p, m)
    await lines.resting(p, m, "BTC", "0.001", "30000")
    bids = [("58000", "0.004"), ("57000", "0.004"), ("40000", "9")]
    lines.desk.test.book("BTC", bids, [("58100", "9")])
    lines.desk.test.prices("BTC", "58050", "58050")
    return Scene(lines, p, m)


async def boundaries(lines: Lines) -> int:
    """How often a process waits for somebody else until all is closed."""
    fate = Fate()
    made = await scene(lines)
    await made.played(fate)
    await made.sound()
    return fate.met


async def sweep(lines: Lines, every: int) -> None:
    """Die at the boundaries, before and after each."""
    last = await boundaries(lines)
    assert last > 30
    for at in range(1 + SEED % every, last + 1, every):
        for after in (False, True):
            note = f"killed {'after' if after else 'before'} {at} of {last}"
            await (await scene(lines)).plays(note, Fate(at, after))


def may_die(rng: random.Random, chance: float, steps: int) -> Fate:
    return Fate(rng.randint(1, steps), rng.random() < 0.5) if rng.random() < chance else Fate()


async def faulty(lines: Lines, seed: int) -> None:
    """A venue that fails in random ways at random steps, and two processes that die at random ones."""
    rng = random.Random(seed)  # noqa: S311 - a seed that can be played again
    made = await scene(lines)
    for _ in range(rng.randint(1, 6)):
        kind, times, status = rng.choice(KINDS), rng.randint(1, 4), rng.choice((429, 500, 502))
        fault = VenueFault(effect=rng.choice(EFFECTS), kind=kind, times=times, status=status)
        if rng.random() < 0.2:
            fault = VenueFault(effect="malformed", kind=kind, times=1, value=rng.choice(STRANGE))
        lines.desk.test.faults.add(fault)
    lines.desk.test.rules.strict_reduce_only = rng.random() < 0.3
    fates = may_die(rng, 0.7, 60), may_die(rng, 0.3, 40)
    await made.plays(f"KEEPER_SEED={seed} KEEPER_RUNS=1", *fates)


async def lying(lines: Lines, seed: int) -> None:
    """A venue that lies in its own forms, each time for a while, and a process that may die."""
    rng = random.Random(seed)  # noqa: S311 - a seed that can be played again
    made = await scene(lines)
    told = rng.sample(LIES, rng.randint(1, 4))
    for kind, path, value in told:
        times = rng.randint(1, 5)
        lie = VenueFault(effect="malformed", kind=kind, path=path, value=value, times=times)
        lines.desk.test.faults.add(lie)
    await made.plays(f"KEEPER_SEED={seed} KEEPER_RUNS=1: {told}", may_die(rng, 0.4, 60))


async def test_killed_at_a_step_the_next_process_goes_on_and_the_position_only_shrinks(
    lines: Lines,
) -> None:
    await sweep(lines, every=17)


async def test_random_faults_and_kills_never_flip_a_position_and_always_end_closed(
    lines: Lines,
) -> None:
    for seed in range(SEED, SEED + 8):
        await faulty(lines, seed)


async def test_a_venue_that_lies_never_flips_a_position_and_it_always_ends_closed(
    lines: Lines,
) -> None:
    for seed in range(SEED, SEED + 8):
        await lying(lines, seed)


@pytest.mark.campaign
async def test_killed_at_every_step(lines: Lines) -> None:
    await sweep(lines, every=1)


@pytest.mark.campaign
@pytest.mark.parametrize("play", [faulty, lying])
async def test_random_faults_lies_and_kills_for_long(play: Any, lines: Lines) -> None:
    for seed in range(SEED, SEED + RUNS):
        await play(lines, seed)
