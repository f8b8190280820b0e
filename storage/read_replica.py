"""Read replica: reads that may be a moment old, by a server that follows the primary."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from storage.errors import DatabaseTimeouts, Unavailable
from storage.sql import number
from storage.store import Store, StoreWork, T, open_store
from storage.unit_of_work import UnitOfWork

log = logging.getLogger("wallet.storage")

# How often both servers are asked how far they are, at the most, and how long that may take.
LOOK_MS: Final = 500
ANSWER_MS: Final = 1_000
# After a fault the replica is left alone for so long.
AWAY_MS: Final = 5_000
# Bytes of the log since its beginning; a primary writes it, a standby replays it.
_WRITTEN: Final = (
    "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() "
    "ELSE pg_current_wal_flush_lsn() END - '0/0'::pg_lsn)::bigint AS n"
)
_REPLAYED: Final = "SELECT (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::bigint AS n"
# A standby is a copy: it has the cluster's identifier and the database's number from its primary.
_IDENTITY: Final = (
    "SELECT (SELECT system_identifier FROM pg_control_system()) AS cluster, "
    "(SELECT oid::bigint FROM pg_database WHERE datname = current_database()) AS base, "
    "pg_is_in_recovery()::int AS follows"
)
_AGAIN_MS: Final = 20
ANOTHER: Final = "it is another database"


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """A replica beside its primary: whether it is a copy of the same database; whether it follows,
    and so takes no writes; and milliseconds until it had what the primary had written, None where
    it did not get there in the time that was given.
    """

    is_same: bool
    follows: bool
    behind_ms: int | None

    @property
    def is_near(self) -> bool:
        """Whether it can be read instead of the primary."""
        return self.is_same and self.follows and self.behind_ms is not None


async def replica_state(
    primary_url: str, replica_url: str, patience: DatabaseTimeouts, most_ms: int
) -> ReplicaState:
    """Look what a replica is, and wait for it, `most_ms` milliseconds at the most. Errors:
    `Unavailable` of either; ValueError for an address of neither database.
    """
    async with AsyncExitStack() as opened:
        primary = await open_store(primary_url, patience)
        opened.push_async_callback(primary.close)
        replica = await open_store(replica_url, patience)
        opened.push_async_callback(replica.close)
        return await _compared(primary, replica, most_ms)


async def _compared(primary: Store, replica: Store, most_ms: int) -> ReplicaState:
    loop = asyncio.get_running_loop()
    ours, theirs = await primary.read(_identity), await replica.read(_identity)
    is_same, follows = ours[:2] == theirs[:2], bool(theirs[2])
    if not (is_same and follows):
        return ReplicaState(is_same, follows, None)
    written, began = await primary.read(_written), loop.time()
    while await replica.read(_replayed) < written:
        if loop.time() >= began + most_ms / 1_000:
            return ReplicaState(is_same, follows, None)
        await asyncio.sleep(_AGAIN_MS / 1_000)
    return ReplicaState(is_same, follows, int((loop.time() - began) * 1_000))


class ReadReplica:
    """Reads on the replica while it is near, else on the primary; belongs to one event loop.

    How far behind it is, is measured by the log: the primary's position is noted now and then, and
    the replica has what was written until the last note that it has replayed. So a primary that is
    idle makes no lag, and a replica that is cut off, or that was promoted, falls behind.
    Units: `most_ms` milliseconds that a read may be behind the primary.
    Errors: `Unavailable` of the primary alone.
    """

    def __init__(self, primary: Store, replica: Store, most_ms: int):
        self._primary, self._replica, self._most_ms = primary, replica, most_ms
        self._loop = asyncio.get_running_loop()
        self._notes: deque[tuple[int, int]] = deque(maxlen=1_000)
        self._looking = asyncio.Lock()
        self._looked_ms = self._away_until_ms = -(10**12)
        self._near_ms: int | None = None
        self._is_known = False
        self._read = self._fell_back = 0

    async def read(self, work: StoreWork[T]) -> T:
        """Run on one snapshot of the replica where it is near, else of the primary."""
        if await self._is_near():
            try:
                result = await self._replica.read(work)
            except Unavailable as error:
                self._leave(error.why)
            else:
                self._read += 1
                return result
        self._fell_back += 1
        return await self._primary.read(work)

    def gauges(self) -> Mapping[str, int]:
        """Metrics: reads by where they ran, and milliseconds behind; -1 where that is not known."""
        behind = self._behind_ms()
        return {
            'wallet_replica_reads_total{server="replica"}': self._read,
            'wallet_replica_reads_total{server="primary"}': self._fell_back,
            "wallet_replica_behind_milliseconds": -1 if behind is None else behind,
        }

    async def close(self) -> None:
        """Close the replica's connections."""
        await self._replica.close()

    def _behind_ms(self) -> int | None:
        return None if self._near_ms is None else self._now_ms() - self._near_ms

    async def _is_near(self) -> bool:
        async with self._looking:
            now = self._now_ms()
            if now < self._away_until_ms:
                return False
            if now >= self._looked_ms + LOOK_MS:
                self._looked_ms = now
                await self._look()
        behind = self._behind_ms()
        return behind is not None and behind <= self._most_ms

    async def _look(self) -> None:
        """Note the primary's position, then see which note the replica has reached."""
        try:
            async with asyncio.timeout(ANSWER_MS / 1_000):
                if not self._is_known and not await self._is_same():
                    return self._leave(ANOTHER)
                at = self._now_ms()
                written = await self._primary.read(_written, single=True)
                self._notes.append((at, written))
                replayed = await self._replica.read(_replayed, single=True)
        except (Unavailable, TimeoutError) as error:
            self._leave(error.why if isinstance(error, Unavailable) else "it takes too long")
            return
        while self._notes and self._notes[0][1] <= replayed:
            self._near_ms = self._notes.popleft()[0]

    async def _is_same(self) -> bool:
        """Whether it is of the same database: a wrong address would answer, and of something else.
        Looked at again after each fault, as another server may have come behind the address.
        """
        ours = await self._primary.read(_identity)
        self._is_known = ours[:2] == (await self._replica.read(_identity))[:2]
        return self._is_known

    def _leave(self, why: str) -> None:
        """Leave the replica alone for a while."""
        self._is_known = False
        log.warning("the read replica: %s; its reads go to the primary meanwhile", why)
        self._near_ms, self._away_until_ms = None, self._now_ms() + AWAY_MS
        self._notes.clear()

    def _now_ms(self) -> int:
        return int(self._loop.time() * 1_000)


def _identity(uow: UnitOfWork) -> tuple[int, int, int]:
    (row,) = uow.sql.rows(_IDENTITY)
    return row["cluster"], row["base"], row["follows"]


def _written(uow: UnitOfWork) -> int:
    return number(uow.sql, _WRITTEN)


def _replayed(uow: UnitOfWork) -> int:
    return number(uow.sql, _REPLAYED)
