"""Write batches on PostgreSQL: the queries of handlers that write about one mandate each are run
together, the handlers run in memory one after the other, and one statement stores what they write
(docs/decisions/0020-the-batched-unit-of-work.md).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from domain.spans import Span, spans_in
from storage.engine.connections import Connections, ConnectionUse
from storage.engine.job import BATCH, TURN_MS, Job, OnBatch, fail
from storage.engine.lane import JobQueue
from storage.errors import Unavailable
from storage.prefetch.flush import (
    FLUSH,
    VERSION,
    BufferedSql,
    MandateWrite,
    flush_values,
    mandate_write,
)
from storage.prefetch.prefetch_query import (
    PrefetchedSql,
    Query,
    QueryRows,
    prefetch_query,
    queries_of,
    rows_by_query,
)
from storage.prefetch.read_set import ReadSet
from storage.repositories.state_cache import StateCache
from storage.sql import PrefetchMiss
from storage.unit_of_work import UnitOfWork

log = logging.getLogger("wallet.storage")

# A mandate that another process writes too is locked before it is looked at, for so long after the
# last time that the other was met there: most of what either does would be done again in vain.
LOCK_MS: Final = 1_000
# Lost so often, a handler runs in a transaction of its own, where it waits for whoever is in the
# way.
TRIES: Final = 8
# PostgreSQL hands this lock to whoever waits for it; a row's may be taken again by whoever let go.
LOCK: Final = f"""\
SELECT pg_advisory_xact_lock({0x77616C6C}, k) FROM (
  SELECT DISTINCT hashtext(id) AS k FROM unnest($1::text[]) AS q(id) ORDER BY k
) locks"""

RunAlone = Callable[[Callable[[UnitOfWork], object]], Awaitable[object]]


@dataclass(slots=True, eq=False)
class _WriteJob(Job):
    """A handler that writes about one mandate; `alone` where it asks for more than it declared."""

    read_set: ReadSet = field(kw_only=True)
    tries: int = 0
    alone: bool = False

    @property
    def public_id(self) -> str:
        return self.read_set.mandates[0]

    @property
    def exclusive(self) -> set[object]:
        """Names under which no two handlers of one batch may both write."""
        read_set = self.read_set
        tx = (self.public_id, read_set.tx_hash) if read_set.tx_hash is not None else None
        return {name for name in (read_set.key, tx) if name is not None}


class _WriteBatch:
    """Handlers that are run together. `behind` are those that have to see what one before them
    wrote under the same key or transaction: they come along with the next batch.
    """

    def __init__(self, jobs: list[_WriteJob]):
        self.jobs = jobs
        self.begin()

    def begin(self) -> None:
        """Forget a try that was lost."""
        self.writes: dict[str, MandateWrite] = {}
        self.shared: set[str] = set()
        self.behind: set[_WriteJob] = set()
        self.names: set[object] = set()
        self.ran = False
        for job in self.jobs:
            job.result, job.error, job.alone = None, None, False

    @property
    def mandates(self) -> list[str]:
        return sorted({job.public_id for job in self.jobs})

    @property
    def spans(self) -> tuple[Span, ...]:
        """The traced calls that the batch is a part of."""
        return spans_in(job.context for job in self.jobs)

    @property
    def changed(self) -> dict[str, MandateWrite]:
        """The mandates under which something is to be stored."""
        return {public_id: write for public_id, write in self.writes.items() if write.rows}

    def join(self, lane: JobQueue[_WriteJob]) -> None:
        """Take those along that were queued for the same mandates while the batch waited."""
        mandates = {job.public_id for job in self.jobs}
        self.jobs += lane.take(BATCH - len(self.jobs), lambda job: job.public_id in mandates)

    def queries(self, cache: StateCache) -> Iterator[Query]:
        """The queries of all of them, and how their mandates are."""
        for job in self.jobs:
            yield VERSION, job.public_id
            yield from queries_of(job.read_set, cache, writes=True)


class WriteBatcher:
    """Two lanes: one for mandates that this process has to itself, one for those that another
    process writes too, which are locked first. Belongs to one event loop.
    """

    def __init__(
        self, connections: Connections, cache: StateCache, run_alone: RunAlone, on_batch: OnBatch
    ):
        self._connections, self._cache, self._run_alone = connections, cache, run_alone
        self._on_batch = on_batch
        self._loop = asyncio.get_running_loop()
        self._own: JobQueue[_WriteJob] = JobQueue(partial(self._serve, False))
        self._contended: JobQueue[_WriteJob] = JobQueue(partial(self._serve, True))
        self._contended_until: dict[str, int] = {}  # ms of the loop
        self._singles: set[asyncio.Task[None]] = set()

    def queued(self, work: Callable[[UnitOfWork], Any], read_set: ReadSet) -> asyncio.Future[Any]:
        """Queue a handler; the future has its answer once that is stored."""
        job = _WriteJob(work, self._loop.create_future(), read_set=read_set)
        self._queue(job)
        return job.future

    async def drained(self) -> None:
        """Wait until nothing is queued and nothing runs."""
        await asyncio.gather(self._own.drained(), self._contended.drained())
        while self._singles:
            await asyncio.wait(self._singles)

    def _queue(self, job: _WriteJob) -> None:
        contended = self._contended_until.get(job.public_id, 0) > self._now_ms()
        (self._contended if contended else self._own).add(job)

    async def _serve(self, locks: bool, jobs: list[_WriteJob]) -> None:
        batch = _WriteBatch(jobs)
        trouble: Exception | None = None
        won: frozenset[str] = frozenset()
        try:
            won = await self._connections.use(partial(self._write, batch, locks))
        except Unavailable as error:
            trouble = error
        except Exception as error:
            # A row of one of them is in the way: each by itself, so that it meets its own.
            log.info("a batch of %d is run one by one", len(batch.jobs), exc_info=True)
            trouble = error
        except BaseException:
            fail(batch.jobs, RuntimeError("the loop of the store ended"))
            raise
        self._settle(batch, won, trouble)

    def _settle(self, batch: _WriteBatch, won: frozenset[str], trouble: Exception | None) -> None:
        """Answer those whose writes are stored, or that wrote nothing; run the others again."""
        lost = batch.changed.keys() - won
        for public_id in lost:  # states that were folded in vain
            self._cache.rewind(public_id, batch.writes[public_id].read_head["row_hash"])
        if trouble is None:
            self._contend(lost | batch.shared)
        through = 0
        for job in batch.jobs:
            undone = job.public_id in lost or not batch.ran
            if undone and isinstance(trouble, Unavailable) and job not in batch.behind:
                job.error = trouble
            elif job in batch.behind or (undone and trouble is None and job.tries < TRIES):
                job.tries += undone
                self._queue(job)
                continue
            elif job.alone or undone:
                self._single(job)
                continue
            through += 1
            job.settle()
        if through:
            self._on_batch(through)

    def _contend(self, mandates: Iterable[str]) -> None:
        """From now on these are locked before they are looked at."""
        now = self._now_ms()
        self._contended_until |= dict.fromkeys(mandates, now + LOCK_MS)
        if len(self._contended_until) > BATCH:
            self._contended_until = {of: t for of, t in self._contended_until.items() if t > now}

    def _single(self, job: _WriteJob) -> None:
        async def run() -> None:
            job.result = job.error = None
            try:
                job.result = await self._run_alone(job.work)
            except BaseException as error:
                job.error = error
            job.settle()

        task = self._loop.create_task(run(), context=job.context)
        self._singles.add(task)
        task.add_done_callback(self._singles.discard)

    def _now_ms(self) -> int:
        return int(self._loop.time() * 1_000)

    async def _write(
        self, batch: _WriteBatch, locks: bool, connection: ConnectionUse
    ) -> frozenset[str]:
        """Read, run, flush; the mandates whose writes are stored."""
        batch.begin()
        connection.spans = batch.spans
        async with AsyncExitStack() as stack:
            if locks:
                await stack.enter_async_context(connection.transaction())
                # The reads, by a statement of their own, see what whoever was waited for did.
                await connection.fetch(LOCK, batch.mandates)
                batch.join(self._contended)
                connection.spans = batch.spans
            queries, text, values = prefetch_query(batch.queries(self._cache))
            prefetched = rows_by_query(queries, await connection.fetch(text, *values))
            if locks:
                # Whoever wrote since our own last batch is still at it.
                batch.shared = {of for of in batch.mandates if self._is_news(prefetched, of)}
            await self._run(batch, prefetched)
            if not batch.changed:
                return frozenset()
            rows = flush_values(batch.changed.values())
            connection.sent = True
            records = await connection.fetch(FLUSH, *rows)
        return frozenset(record["public_id"] for record in records)

    def _is_news(self, prefetched: QueryRows, public_id: str) -> bool:
        """Whether rows were written that this process does not know."""
        known, write = self._cache.newest(public_id), mandate_write(prefetched, public_id)
        return known is not None and write is not None and write.read_head["row_hash"] != known[0]

    async def _run(self, batch: _WriteBatch, prefetched: QueryRows) -> None:
        """Run the handlers one after the other, each on what the one before it left."""
        turn = self._now_ms()
        for job in batch.jobs:
            write = batch.writes.get(job.public_id) or mandate_write(prefetched, job.public_id)
            if write is not None:
                batch.writes[job.public_id] = write
                if write.closed or not batch.names.isdisjoint(job.exclusive):
                    batch.behind.add(job)
                    continue
            self._run_job(batch, job, prefetched, write)
            if self._now_ms() - turn > TURN_MS:
                await asyncio.sleep(0)
                turn = self._now_ms()
        batch.ran = True

    def _run_job(
        self, batch: _WriteBatch, job: _WriteJob, prefetched: QueryRows, write: MandateWrite | None
    ) -> None:
        # Of a mandate that is not there nothing is written: its handler says so itself.
        sql = BufferedSql(prefetched, write) if write else PrefetchedSql(prefetched)
        try:
            job.result = job.run(UnitOfWork(sql, self._cache))
        except PrefetchMiss:
            job.alone = True
        except BaseException as error:
            job.error = error
        if not isinstance(sql, BufferedSql):
            return
        if job.alone or job.error is not None:
            sql.undo()
        elif sql.has_written:
            batch.names |= job.exclusive
