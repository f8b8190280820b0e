"""Readiness: a test write to the database, at most once a second."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Final

from aiohttp import web

from http_shim.seldom import Seldom
from tools.model.operation import Deps

log = logging.getLogger("wallet.http")

ANSWERS_WITHIN_S: Final = 2.0
KEPT_S: Final = 1.0


class Readiness:
    """One durable write a second at most, however often and by however many it is asked.

    A read is no proof: a full disk and a standby answer reads. A probe that hangs is answered as a
    failure in `ANSWERS_WITHIN_S` seconds, and no second one is sent beside it.
    """

    def __init__(self, deps: Deps):
        self._deps = deps
        self._probe: asyncio.Task[bool] | None = None
        self._kept = (False, float("-inf"))
        self._failed = Seldom()

    async def ok(self) -> bool:
        """Whether the last write, or one now, was committed in time."""
        loop = asyncio.get_running_loop()
        answer, at = self._kept
        if loop.time() - at < KEPT_S:
            return answer
        if self._probe is None or self._probe.done():
            self._probe = loop.create_task(self._write())
        probe = self._probe  # which whoever asks next may replace, before this one goes on
        done, _ = await asyncio.wait({probe}, timeout=ANSWERS_WITHIN_S)
        answer = bool(done) and probe.result()
        self._kept = (answer, loop.time())
        return answer

    async def close(self, _: web.Application) -> None:
        """Let go of a probe that still waits; for `app.on_cleanup`."""
        if self._probe is not None:
            self._probe.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._probe

    async def _write(self) -> bool:
        now = self._deps.clock.now()
        try:
            await self._deps.store.write(
                lambda uow: uow.work.acquire("probe", "ready", "probe", now, now)
            )
        except Exception as error:
            if self._failed.count():
                log.warning("the database takes no write: %s", error)
            return False
        self._failed = Seldom()
        return True
