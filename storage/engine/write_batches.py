"""Write batches on PostgreSQL: handlers prefetched for, run in memory and flushed
together (docs/decisions/0020-the-batched-unit-of-work.md).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from storage.engine.connections import Connections, ConnectionUse
from storage.engine.job import BATCH, TURN_MS, Job, OnBatch, fail
from storage.errors import Unavailable
from storage.prefetch.flush import FLUSH, MandateWrite, head_of, standing, values_of
from storage.prefetch.memory_sql import BufferedSql
from storage.prefetch.prefetched_rows import PrefetchedRows, prefetch_query, with_rows
from storage.prefetch.read_set import ReadSet
from storage.repositories.state_cache import StateCache
from storage.sql import PrefetchMiss
from storage.unit_of_work import UnitOfWork

log = logging.getLogger("wallet.storage")

# Batches that are on their way at once, of mandates that are not the same.
LANES: Final = 2
# After somebody else was quicker, a mandate is locked before it is looked at, for so long, and for
# as long again while others go on writing: where two processes serve one mandate, most of what
# either does in vain would be done again in vain.
LOCK_MS: Final = 1_000
# Lost so often, a handler runs in a transaction of its own.
TRIES: Final = 8
# Processes come in turns: whoever waits for the turn of a mandate has it next, while a row that is
# let go may be taken by whoever let it go before the one that waits has woken up. The turn is for
# batches among themselves, and ends with the transaction; the row is for everybody else.
_TURNS: Final = 0x77616C6C
_LOCK: Final = f"""\
WITH turns AS MATERIALIZED (
  SELECT pg_advisory_xact_lock({_TURNS}, k) FROM (
    SELECT DISTINCT hashtext(public_id) AS k FROM unnest($1::text[]) AS q(public_id) ORDER BY k
  ) q
)
SELECT m.public_id FROM (
  SELECT id FROM unnest($1::text[]) AS u(id) WHERE (SELECT count(*) FROM turns) > 0 ORDER BY id
) q CROSS JOIN LATERAL (SELECT public_id FROM mandates WHERE public_id = q.id FOR UPDATE) m"""

Alone = Callable[[Callable[[UnitOfWork], Any]], Awaitable[Any]]


@dataclass(slots=True, eq=False)
class _WriteJob(Job):
    """A handler that writes about one mandate; `alone` where it asked for more than was brought."""

    read_set: ReadSet = field(kw_only=True)
    tries: int = 0
    alone: bool = False

    @property
    def public_id(self) -> str:
        return self.read_set.mandates[0]


@dataclass(slots=True)
class _WriteBatch:
    jobs: list[_WriteJob]
    locks: bool
    changed: dict[str, MandateWrite] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    ran: bool = False

    @property
    def mandates(self) -> list[str]:
        return sorted({job.public_id for job in self.jobs})


class WriteBatcher:
    """The queue, and the lanes that work it off; belongs to one event loop."""

    def __init__(
        self, connections: Connections, cache: StateCache, alone: Alone, on_batch: OnBatch
    ):
        self._connections, self._cache, self._run_alone = connections, cache, alone
        self._on_batch = on_batch
        self._loop = asyncio.get_running_loop()
        self._queue: deque[_WriteJob] = deque()
        self._busy: set[str] = set()
        self._contended: dict[str, int] = {}  # until when, ms of the loop
        self._lanes: set[asyncio.Task[None]] = set()
        self._singles: set[asyncio.Task[None]] = set()

    def queued(self, work: Callable[[UnitOfWork], Any], read_set: ReadSet) -> asyncio.Future[Any]:
        """Queue a handler; the future has its answer once that is stored."""
        job = _WriteJob(work, self._loop.create_future(), read_set=read_set)
        self._queue.append(job)
        self._wake()
        return job.future

    async def drained(self) -> None:
        """Wait until nothing is queued and nothing runs."""
        while self._lanes or self._singles:
            await asyncio.wait(self._lanes | self._singles)

    def _wake(self) -> None:
        """Begin a lane where there is something for it; what is in a lane takes its like along."""
        free = any(job.public_id not in self._busy for job in self._queue)
        if free and len(self._lanes) < LANES:
            self._lanes.add(self._loop.create_task(self._lane()))

    async def _lane(self) -> None:
        try:
            await self._work()
        finally:
            # At once: whoever is answered by this lane and asks again finds a place for another.
            self._lanes -= {asyncio.current_task()}

    async def _work(self) -> None:
        await asyncio.sleep(0)  # whoever asks in this turn of the loop comes along
        while batch := self._taken():
            self._wake()
            mine = set(batch.mandates)
            self._busy |= mine
            try:
                await self._written(batch)
            except BaseException:
                fail(batch.jobs, RuntimeError("the loop of the store ended"))
                raise
            finally:
                self._busy -= mine

    def _taken(self) -> _WriteBatch | None:
        """The next handlers, of mandates that are in no other lane, and all of one kind: locked
        beforehand or not.
        """
        taken: list[_WriteJob] = []
        left: list[_WriteJob] = []
        locks: bool | None = None
        now = self._now_ms()
        while self._queue and len(taken) < BATCH:
            job = self._queue.popleft()
            wants = self._contended.get(job.public_id, 0) > now
            if job.public_id in self._busy or locks not in (None, wants):
                left.append(job)
                continue
            locks = wants
            taken.append(job)
        self._queue.extendleft(reversed(left))
        return _WriteBatch(taken, bool(locks)) if taken else None

    def _joining(self, batch: _WriteBatch) -> list[_WriteJob]:
        """Those that were queued about a batch's mandates while it waited for their locks."""
        of = set(batch.mandates)
        joining = [job for job in self._queue if job.public_id in of][: BATCH - len(batch.jobs)]
        if joining:
            taken = set(joining)
            self._queue = deque(job for job in self._queue if job not in taken)
        return joining

    async def _written(self, batch: _WriteBatch) -> None:
        won: frozenset[str] = frozenset()
        try:
            won = await self._connections.use(partial(self._talked, batch))
        except Unavailable as trouble:
            self._forget(batch.changed.values())
            for job in batch.jobs:
                if not batch.ran or job.public_id in batch.changed:
                    job.error = trouble
            won = frozenset(batch.changed)
        except Exception:
            # One row of one of them is in the way: each by itself, so that it meets its own.
            log.info("a batch of %d is run one by one", len(batch.jobs), exc_info=True)
            self._forget(batch.changed.values())
            for job in batch.jobs:
                job.alone = job.alone or not batch.ran or job.public_id in batch.changed
            won = frozenset(batch.changed)
        lost = batch.changed.keys() - won
        self._forget(batch.changed[public_id] for public_id in lost)
        self._contend(lost | batch.shared)
        again = self._settled(batch.jobs, lost)
        self._queue.extendleft(reversed(again))

    def _settled(self, jobs: Sequence[_WriteJob], lost: set[str]) -> list[_WriteJob]:
        """Answer those that are through; the others are to be run again."""
        again: list[_WriteJob] = []
        through = 0
        for job in jobs:
            if job.public_id in lost and not job.alone and job.tries < TRIES:
                job.tries += 1
                again.append(job)
            elif job.alone or job.public_id in lost:
                single = self._loop.create_task(self._single(job))
                self._singles.add(single)
                single.add_done_callback(self._singles.discard)
            else:
                through += 1
                job.settle()
        if through:
            self._on_batch(through)
        return again

    def _contend(self, mandates: set[str]) -> None:
        """From now on these are locked before they are looked at."""
        until = self._now_ms() + LOCK_MS
        self._contended |= dict.fromkeys(mandates, until)
        if len(self._contended) > BATCH:
            self._contended = {of: t for of, t in self._contended.items() if t >= until - LOCK_MS}

    async def _single(self, job: _WriteJob) -> None:
        job.result = job.error = None
        try:
            job.result = await self._run_alone(job.work)
        except BaseException as error:
            job.error = error
        job.settle()

    def _now_ms(self) -> int:
        return int(self._loop.time() * 1_000)

    def _forget(self, lost: Iterable[MandateWrite]) -> None:
        """States that were folded in vain."""
        for one in lost:
            self._cache.rewind(one.public_id, one.row_hash)

    async def _talked(self, batch: _WriteBatch, connection: ConnectionUse) -> frozenset[str]:
        """Bring, run, flush; the mandates whose changes are stored."""
        batch.changed, batch.shared, batch.ran = {}, set(), False
        async with AsyncExitStack() as stack:
            if batch.locks:
                await stack.enter_async_context(connection.transaction())
                # What is brought by a statement of its own sees what whoever was waited for did.
                await connection.connection.fetch(_LOCK, batch.mandates)
                batch.jobs += self._joining(batch)
            empty, text, values = prefetch_query([job.read_set for job in batch.jobs], self._cache)
            snapshot = with_rows(empty, await connection.connection.fetch(text, *values))
            if batch.locks:
                # Whoever wrote since our own last batch is still at it.
                batch.shared = {of for of in batch.mandates if self._is_news(snapshot, of)}
            batch.changed = await self._run(batch.jobs, snapshot)
            batch.ran = True
            if not batch.changed:
                return frozenset()
            parameters = values_of(snapshot, [*batch.changed.values()])
            connection.sent = True
            rows = await connection.connection.fetch(FLUSH, *parameters)
        return frozenset(row["public_id"] for row in rows)

    def _is_news(self, snapshot: PrefetchedRows, public_id: str) -> bool:
        """Whether rows were written that this process does not know."""
        known = self._cache.newest(public_id)
        return known is not None and head_of(snapshot, public_id)[1] != known[0]

    async def _run(
        self, jobs: Sequence[_WriteJob], snapshot: PrefetchedRows
    ) -> dict[str, MandateWrite]:
        """Run them in memory, one after the other; what those that return want written."""
        stands: dict[str, MandateWrite] = {}
        turn = self._now_ms()
        for job in jobs:
            one = stands.get(job.public_id) or standing(snapshot, job.public_id)
            sql = BufferedSql(snapshot, job.public_id)
            job.result = job.error = None
            job.alone = False
            try:
                job.result = job.work(UnitOfWork(sql, self._cache))
            except PrefetchMiss:
                job.alone = True
            except BaseException as error:
                job.error = error
            if job.alone or job.error is not None:
                sql.undo()
            elif sql.changes and one is None:  # there is no mandate, and something is written
                sql.undo()
                job.alone = True
            elif one is not None:
                one.changes.join(sql.changes)
            if one is not None:
                stands[job.public_id] = one
            if self._now_ms() - turn > TURN_MS:
                await asyncio.sleep(0)
                turn = self._now_ms()
        return {of: one for of, one in sorted(stands.items()) if one.changes}
