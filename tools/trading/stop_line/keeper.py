"""Stop line keeper: one leader checks each mandate twice, and stores each step before it
is sent (trading 5).

Whatever ends a process between two steps, the next one finds on record what was sent, asks the
venue what became of it, and goes on from the position that is left.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import anyio

from domain.mandates.mandate import Status
from domain.refusals import Refused
from domain.trading.stop_line import WorthReading, reached
from domain.trading.venue_values import NETWORKS, Network
from storage.unit_of_work import UnitOfWork
from tools.model.operation import Deps
from tools.trading.stop_line.executor import StopLineExecutor, Superseded
from tools.trading.stop_line.gauges import LEADER
from tools.trading.stop_line.tracked_mandate import (
    DistanceMeter,
    TrackedMandate,
    VenueSnapshot,
    load,
)

log = logging.getLogger("wallet.stop_line")
# Half of the reserve of a minute: there are two rounds in one.
WEIGHT_A_ROUND: Final = 200
BATCH: Final = 20
# A leader that is gone is followed after three rounds.
ROUNDS_A_LEASE: Final = 3
SHORTEST_LEASE: Final = timedelta(seconds=5)
ONE_S: Final = 20
_Id = tuple[str, Network]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundResult:
    """Counts of a round; `led` is False where another process leads."""

    led: bool
    looked: int = 0
    weight: int = 0


class StopLineKeeper:
    """The keeper of what mandates hold at the venue, in one process.

    What it remembers, the last look at each mandate and when that was, is its own and small: a new
    leader looks twice again. Nothing is written but what was done.
    """

    def __init__(self, deps: Deps, holder: str, tick_s: int = 30, batch: int = BATCH):
        self.deps, self._holder, self._batch = deps, holder, batch
        self._lease = max(ROUNDS_A_LEASE * timedelta(seconds=tick_s), SHORTEST_LEASE)
        self._looks: dict[_Id, WorthReading | None] = {}
        self._seen: dict[_Id, int] = {}
        self._round = 0

    async def round(self) -> RoundResult:
        """Everything once, as far as the weight of a round goes; the least recently seen first.

        Errors: none of one mandate or of the venue ends the round for another.
        """
        if self.deps.venues is None:
            return RoundResult(led=False)
        if not await self.deps.store.write(self.leads):
            self._looks.clear()
            return RoundResult(led=False)
        self._round += 1
        watched = await self.deps.store.read(lambda uow: uow.venue_keeping.watched())
        self._forget(watched)
        meter, looked = DistanceMeter(), 0
        snapshots = {n: VenueSnapshot(self.deps, n, meter) for n in NETWORKS}
        for one in sorted(watched, key=self._look_order):
            if looked >= self._batch or meter.spent >= WEIGHT_A_ROUND:
                break
            try:
                looked += await self._bounded(one, snapshots[one[1]])
            except Superseded:
                log.warning("another process leads now")
                break
        if looked:
            log.info("looked at %s mandates at the venue, weight %s", looked, meter.spent)
        return RoundResult(led=True, looked=looked, weight=meter.spent)

    async def release(self) -> None:
        """Let another process lead at once."""
        await self.deps.store.write(lambda uow: uow.work.release(*LEADER, self._holder))

    def leads(self, uow: UnitOfWork) -> bool:
        """Whether this process leads, from this transaction on for another lease.

        Every step that is put on record asks in its own transaction: who lost the lease meanwhile
        writes nothing, and sends nothing.
        """
        now = self.deps.clock.now()
        return uow.work.acquire(*LEADER, self._holder, now, now + self._lease)

    def _look_order(self, one: _Id) -> tuple[int, int]:
        """Order of a round: mandates whose second look is due, then the least recently seen."""
        last_look = self._looks.get(one)
        return (0 if last_look is not None and last_look.below else 1, self._seen.get(one, 0))

    def _forget(self, watched: Sequence[_Id]) -> None:
        there = set(watched)
        self._looks = {k: v for k, v in self._looks.items() if k in there}
        self._seen = {k: v for k, v in self._seen.items() if k in there}

    async def _bounded(self, one: _Id, market_snapshot: VenueSnapshot) -> bool:
        """Keep one mandate; its trouble is its own, and its owner reads why nothing was done."""
        self._seen[one] = self._round
        try:
            with anyio.fail_after(ONE_S):
                return await self._one(one, market_snapshot)
        except Superseded:
            raise
        except Refused as refused:
            reason = refused.refusal.reason.rstrip(".")
            log.warning("%s on %s: %s", *one, refused.refusal.reason)
        except TimeoutError:
            reason = "the venue takes too long"
            log.warning("%s on %s: %s", *one, reason)
        except Exception:
            reason = "of an error here, which its operator reads"
            log.exception("keeping %s on %s failed", *one)
        try:
            await self._tell(one, market_snapshot, reason)
        except Superseded:
            raise
        except Exception:
            log.exception("telling the owner of %s on %s failed", *one)
        self._looks.pop(one, None)
        return True

    async def _load(self, one: _Id) -> TrackedMandate | None:
        return await self.deps.store.read(lambda uow: load(uow, self.deps, *one))

    async def _tell(self, one: _Id, market_snapshot: VenueSnapshot, reason: str) -> None:
        """Tell the owner of a mandate that is being closed."""
        w = await self._load(one)
        if w is None or w.keeping is None or w.keeping.state != "open":
            return
        if not w.switches.stop_line_dry_run:
            await self._executor(market_snapshot, w).note("open", reason)

    def _executor(self, market_snapshot: VenueSnapshot, w: TrackedMandate) -> StopLineExecutor:
        return StopLineExecutor(self.deps, market_snapshot, self.leads, w)

    async def _one(self, one: _Id, market_snapshot: VenueSnapshot) -> bool:
        """Look at one mandate, and do what is due; False where there is nothing to keep."""
        w = await self._load(one)
        if w is None:
            return False
        if w.mandate.status is Status.STOPPED:
            if not (w.floored or w.keeping is not None):
                return False
            await self._pursue(self._executor(market_snapshot, w))
            return True
        before = self._looks.get(one)
        now = self._looks[one] = await market_snapshot.reading(w)
        if reached(now, before) and now is not None:
            line = "%s on %s stands below its stop line: %s of %s micro-USDC"
            log.warning(line, *w.id, now.worth, now.floor)
            await self._pursue(self._executor(market_snapshot, w))
        return True

    async def _pursue(self, acting: StopLineExecutor) -> None:
        """Stop a mandate at its line, open an episode, and close what is held, a step a round."""
        w = acting.w
        if w.switches.stop_line_dry_run:
            await acting.would()
        elif not w.ready:
            await acting.warn()
        elif w.mandate.status is Status.WORKING:
            await acting.stop()
            await self._pursue(acting)
        else:
            if _begins(w):
                await acting.begin_episode()
            await acting.steps()


def _begins(w: TrackedMandate) -> bool:
    """Whether the next episode is due."""
    stored = w.keeping
    if stored is None or stored.state == "warned":
        return True
    return stored.state == "blocked" and stored.again_at is not None and w.now >= stored.again_at
