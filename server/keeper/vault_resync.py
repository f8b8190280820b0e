"""Reading vaults again whose totals are not those of their rows: the newest blocks in every round,
and the whole life in steps over the rounds, until a reading explains what the vault says.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Literal

import anyio

from chain.adapter import EvmChain
from chain.logs.log_requery import MAX_BLOCKS, WAYS, requery_logs
from domain.chain_facts import VaultLog
from domain.refusals import Refused
from server.keeper.staged_logs import log_of, staged
from storage.repositories.resync_progress import ResyncProgress
from storage.unit_of_work import UnitOfWork
from tools.keeper.ingest import IngestContext
from tools.keeper.reconciliation import Mismatch, StillMismatched, ingest_requeried
from tools.model.operation import Deps

log = logging.getLogger("wallet.rereading")
A_STEP: Final = {"range": 10_000, "blocks": 500, "receipts": 100}
"""Blocks that are read before it is kept how far that came; half as many where the time is too
short for them.
"""
BUDGET: Final = 20 * A_STEP["range"]
"""What the steps of one round may cost a vault: a block one by one counts as a hundred of a range,
so that a round reads 200,000 blocks by range or 2,000 one by one.
"""
COST: Final = {"range": 1, "blocks": 100, "receipts": 100}
LOOK_S: Final = 10
MISSES: Final = 10
"""Rounds in a row that a node may refuse in the middle of a path before the next path is taken."""
Then = Literal["on", "later", "ended", "explained"]
REST: Final = timedelta(hours=1)
"""After a walk along all paths of which none explained the vault."""


@dataclass(frozen=True, slots=True)
class ResyncPath:
    """One way to read a vault, by one node, down to a block."""

    low: int
    way: str
    node: int

    @property
    def name(self) -> str:
        """The name under which the work is leased."""
        return f"{self.way} of node {self.node + 1} from block {self.low}"


class VaultResync:
    """Reads vaults of one chain again. Nothing is written but what makes the sums agree, and how
    far a reading came, so that another round, or another process, goes on from there.
    """

    def __init__(self, deps: Deps, chain: EvmChain):
        self._deps, self._chain = deps, chain
        self._halved, self._stepped = 0, False

    async def of(self, one: Mismatch) -> None:
        """The newest blocks since the totals were those of the rows, by every way and every node;
        then a part of the vault's life.
        """
        log.warning("%s: its vault's totals are not those of its rows", one.mandate.public_id)
        newest = max(one.low, one.blocks[-1] - MAX_BLOCKS + 1)
        with anyio.move_on_after(LOOK_S) as time_limit:
            if await self._reread_newest(replace(one, low=newest)):
                return
        lows = [n for n in (one.low, one.life) if n < newest or time_limit.cancelled_caught]
        if lows:
            await self._life(one, lows)

    async def _reread_newest(self, one: Mismatch) -> bool:
        """Read blocks that are few, along every path; True where one explains the vault."""
        for path in self._paths(one.low):
            try:
                logs = await self._read(one, path, one.low, one.blocks[-1])
                await self._deps.store.write(partial(self._explain, one, logs))
            except (StillMismatched, Refused):
                continue
            self._log_resync(one, path)
            return True
        return False

    def _paths(self, *lows: int) -> Iterator[ResyncPath]:
        """The ways of rereading, cheapest first: a range costs one call of any node."""
        for low in lows:
            for way in WAYS:
                for node in range(len(self._chain.views)):
                    yield ResyncPath(low, way, node)

    async def _read(self, one: Mismatch, path: ResyncPath, low: int, high: int) -> list[VaultLog]:
        view = self._chain.views[path.node]
        purses = await self._deps.store.read(
            lambda uow: uow.chainlog.purses_of(one.mandate.public_id)
        )
        vault = one.mandate.vault_address or ""
        return await requery_logs(view, path.way, vault, low, high, purses)

    def _explain(self, one: Mismatch, logs: Sequence[VaultLog], uow: UnitOfWork) -> None:
        """Errors: StillDiffers, and then nothing is written."""
        ingest_requeried(IngestContext.of(uow, self._deps), one, logs)

    def _log_resync(self, one: Mismatch, path: ResyncPath) -> None:
        log.warning("%s: read again, by %s", one.mandate.public_id, path.name)

    # -- the whole life

    async def _life(self, one: Mismatch, lows: Sequence[int]) -> None:
        """Walk on from where the last round came to: each path from the newest block down, first to
        where the totals were those of the rows, then to the vault's creation.
        """
        key, top = one.mandate.public_id, one.blocks[-1]
        paths = list(self._paths(*dict.fromkeys(lows)))
        done = await self._deps.store.read(lambda uow: uow.readings.of(key))
        if done is not None and done.nodes != len(self._chain.views):
            done = None  # another node may tell what these did not
        now = self._deps.clock.now()
        if done is not None and done.rests_until is not None and now < done.rests_until:
            return
        at = next((n for n, p in enumerate(paths) if done is not None and p.name == done.path), 0)
        if done is None or done.path != paths[at].name:
            done = await self._begin(key, paths[at].name, top)
        self._stepped = False
        with anyio.move_on_after(LOOK_S) as turn:
            if await self._walk(one, paths[at:], done):
                log.error("%s: no node explains what its vault says", key)
                await self._begin(key, "", top, rests_until=now + REST)
        if turn.cancelled_caught and not self._stepped:
            self._halved += 1  # or the same step would be cut off in every round

    async def _walk(self, one: Mismatch, paths: Sequence[ResyncPath], done: ResyncProgress) -> bool:
        """Steps for one round; True where the last path ends."""
        budget = BUDGET
        for n, path in enumerate(paths):
            if n:
                done = await self._begin(one.mandate.public_id, path.name, one.blocks[-1])
            then: Then = "on"
            while then == "on":
                if budget <= 0:
                    return False
                budget -= COST[path.way] * A_STEP[path.way]
                done, then = await self._step(one, path, done)
                self._stepped = True
            if then == "explained":
                self._log_resync(one, path)
            if then in ("explained", "later"):
                return False
        return True

    async def _begin(
        self, public_id: str, path: str, top: int, rests_until: datetime | None = None
    ) -> ResyncProgress:
        created = ResyncProgress(
            path=path,
            nodes=len(self._chain.views),
            low=top + 1,
            high=top,
            rests_until=rests_until,
        )

        def work(uow: UnitOfWork) -> None:
            uow.readings.drop_logs(public_id)
            uow.readings.keep(public_id, created)

        await self._deps.store.write(work)
        return created

    async def _step(
        self, one: Mismatch, path: ResyncPath, done: ResyncProgress
    ) -> tuple[ResyncProgress, Then]:
        """Read on along a path: what came since the last step, else what lies below."""
        key, top = one.mandate.public_id, one.blocks[-1]
        low, high = _next(path, done, top, max(1, A_STEP[path.way] >> self._halved))
        try:
            logs = await self._read(one, path, low, high) if low <= high else []
        except Refused:
            missed = replace(done, misses=done.misses + 1)
            await self._deps.store.write(lambda uow: uow.readings.keep(key, missed))
            # What a node refuses at once it does not serve; in the middle it may be busy.
            over = done.high < done.low or missed.misses >= MISSES
            return missed, "ended" if over else "later"
        done = replace(done, low=min(done.low, low), high=max(done.high, high), misses=0)
        ended = done.low <= path.low
        await self._deps.store.write(partial(self._keep, key, done, logs))
        if done.high < top or not (logs or ended):
            return done, "on"
        stored_logs = await self._deps.store.read(
            lambda uow: [log_of(s) for s in uow.readings.logs(key)]
        )
        try:
            window = replace(one, low=done.low)
            await self._deps.store.write(partial(self._explain, window, stored_logs))
        except (StillMismatched, Refused):
            return done, "ended" if ended else "on"
        return done, "explained"

    def _keep(
        self, public_id: str, done: ResyncProgress, logs: Sequence[VaultLog], uow: UnitOfWork
    ) -> None:
        """Keep what a step found and how far it came."""
        uow.readings.add_logs(public_id, map(staged, logs))
        uow.readings.keep(public_id, done)


def _next(path: ResyncPath, done: ResyncProgress, top: int, limit: int) -> tuple[int, int]:
    """The first and the last block of the next step, both inclusive; the last is below the first
    where all was read, and only not yet held against the vault.
    """
    if done.high < top:
        return done.high + 1, min(top, done.high + limit)
    return max(path.low, done.low - limit), done.low - 1
