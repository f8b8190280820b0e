"""Shared rates: limits of a minute that several serving processes count together."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import anyio

from storage.errors import Unavailable
from storage.repositories.rate_meters import Counted
from storage.unit_of_work import UnitOfWork
from tools.context.credentials import hashed
from tools.dispatch.rate_charging import OF_STRANGERS
from tools.model.operation import Deps
from tools.model.rate_limiter import MINUTE, Key

log = logging.getLogger("wallet.rates")

# A call waits so long for its slice to be written down, and no call does while the database fails.
WAIT_S: Final = 5
AGAIN_S: Final = 1
SWEEP_S: Final = 60
AT_ONCE: Final = 200
STRANGERS_MOST: Final = 10_000
"""Addresses that one process writes down between two sweeps; it counts further ones alone."""


class SharedRates:
    """Writes down each slice that this process counted, and learns by the same statement what all
    have counted. A call costs no statement; a sixteenth of a limit costs one. What is written down
    is in the database's time: the clocks of processes differ.
    """

    def __init__(self, deps: Deps):
        self._deps = deps
        self._full: dict[Key, None] = {}
        self._wake, self._written = anyio.Event(), anyio.Event()
        self._fails = False
        self._strangers = 0
        self._ahead = timedelta()  # of the database's clock to this one

    def announce(self, key: Key) -> None:
        """A slice of this key was counted here that the others have not heard of."""
        self._full[key] = None
        self._wake.set()

    async def settled(self, key: Key) -> None:
        """Return once no slice of this key is unheard of; at once while the database fails."""
        if key not in self._full or self._fails:
            return
        with anyio.move_on_after(WAIT_S):
            while key in self._full and not self._fails:
                await self._written.wait()

    async def run(self) -> None:
        """Count together with the other processes, until cancelled."""
        await self._forget()
        self._deps.rates.shared = self
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._sweep)
                while True:
                    await self._wake.wait()
                    self._wake = anyio.Event()
                    while self._full:
                        await self._write([*self._full][:AT_ONCE])
        finally:
            self._deps.rates.shared = None
            self._release(fails=True)

    async def _write(self, keys: Sequence[Key]) -> None:
        """Write down slices that are full; they stay so where the database fails."""
        rates, now = self._deps.rates, self._deps.clock.now()
        counted = {key: taken for key in keys if (taken := rates.take(key)) is not None}
        ahead = self._ahead
        rows = {
            key: Counted(_name(key), since + ahead, cost)
            for key, (since, cost) in counted.items()
            if self._has_room(key)
        }
        try:
            write = self._deps.store.write
            due = await write(lambda uow: uow.rate_meters.add(rows.values(), now + ahead))
        except Exception as error:
            if isinstance(error, Unavailable):
                log.warning("calls of a minute are counted alone: the database: %s", error.why)
            else:
                log.exception("calls of a minute are counted alone; trying again")
            for key in rows:
                rates.give_back(key, *counted[key])
            self._release(fails=True)
            await anyio.sleep(AGAIN_S)
            return
        for key in keys:
            self._full.pop(key, None)
            if key in rows:
                rates.learn(key, due[rows[key].meter_hash] - ahead, now)
        self._release(fails=False)

    def _release(self, *, fails: bool) -> None:
        """Let the calls go on that wait."""
        self._fails, written, self._written = fails, self._written, anyio.Event()
        written.set()

    def _has_room(self, key: Key) -> bool:
        if key[0] not in OF_STRANGERS:
            return True
        self._strangers += 1
        return self._strangers <= STRANGERS_MOST

    async def _sweep(self) -> None:
        while True:
            await anyio.sleep(SWEEP_S)
            self._strangers = 0
            await self._forget()

    async def _forget(self) -> None:
        """Look at the database's clock, and forget what is paid off a minute later."""
        clock = self._deps.clock

        def work(uow: UnitOfWork) -> datetime:
            now = uow.rate_meters.now()
            uow.rate_meters.sweep(now - MINUTE)
            return now

        try:
            before = clock.now()
            there = await self._deps.store.write(work)
            self._ahead = there - before - (clock.now() - before) / 2
        except Unavailable as error:
            log.warning("calls of a minute that are paid off: the database: %s", error.why)
        except Exception:
            log.exception("calls of a minute that are paid off; trying again")


def _name(key: Key) -> str:
    return hashed("\n".join(key))
