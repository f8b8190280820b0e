"""Shared places: sessions and streams that each of several serving processes knows of."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Protocol

import anyio

from domain.refusals import Refused
from storage.errors import Unavailable
from storage.repositories.mcp_places import SESSION_RESTS, STREAM_RESTS, McpPlace, PlaceKind
from tools.context.credentials import hashed
from tools.model.operation import Deps

log = logging.getLogger("wallet.mcp")

# How soon a process learns what another one ended, or that a session it does not hold has ended.
SYNC_S: Final = 1
TOUCH_S: Final = 15
SWEEP_S: Final = 60
KNOWN_MOST: Final = 10_000


class Slot(Protocol):
    """A place of this process; `used` is when a message last came for it. `has_rested`: it ended
    here for resting, and goes on where another process is asked for it.
    """

    has_rested: bool
    owner: str
    keyed: bool
    used: float
    place_hash: str | None

    @property
    def is_busy(self) -> bool:
        """True while it is answered, or listens."""
        ...


class PlaceLimits(Protocol):
    """So many places for one owner, and after how many seconds one that rests may be given away."""

    @property
    def one(self) -> int:
        """Places."""
        ...

    @property
    def rest_s(self) -> float:
        """Seconds."""
        ...


class Holder(Protocol):
    """The guard that holds this process's places."""

    def slots(self) -> Iterable[Slot]:
        """Every place."""
        ...

    async def end_place(self, place_hash: str) -> None:
        """End one, as its client would."""
        ...


@dataclass(frozen=True, slots=True)
class OwnPlace:
    """A place of this process, with its row."""

    slot: Slot
    row: McpPlace
    limits: PlaceLimits


class SharedPlaces:
    """This process's places in the database, and those of the others as they are asked for."""

    def __init__(self, deps: Deps, now: Callable[[], float] = time.monotonic):
        self._deps, self._now = deps, now
        self.process = deps.ids.short("p_")
        self._mine: dict[str, OwnPlace] = {}
        self._touched_at = deps.clock.now()
        self._known: OrderedDict[str, tuple[McpPlace | None, float]] = OrderedDict()
        self._used: set[str] = set()
        self._renaming: set[str] = set()

    async def add(
        self,
        slot: Slot,
        kind: PlaceKind,
        credential: str | None,
        limits: PlaceLimits,
        place_id: str | None = None,
    ) -> None:
        """Note a new place before its client can use it; without an id it is renamed later.

        Errors: `rate_limited`, `Unavailable`.
        """
        place = McpPlace(
            place_hash=hashed(place_id or self._deps.ids.token("mp_")),
            kind=kind,
            process=self.process,
            credential=credential,
            owner=slot.owner if slot.keyed else None,
            used_at=self._deps.clock.now(),
        )
        await self._add(OwnPlace(slot, place, limits))

    async def _add(self, own: OwnPlace) -> None:
        place, one = own.row, own.limits.one
        rest = timedelta(seconds=own.limits.rest_s)
        await self._deps.store.write(lambda uow: uow.mcp.add(place, limit=one, rest=rest))
        own.slot.place_hash = place.place_hash
        self._mine[place.place_hash] = own

    async def rename(self, slot: Slot, place_id: str) -> None:
        """The id of a place is known now. Errors: `Unavailable`."""
        before, slot.place_hash = slot.place_hash or "", hashed(place_id)
        own, new = self._mine.pop(before), slot.place_hash
        self._mine[new] = replace(own, row=replace(own.row, place_hash=new))
        both = {before, new}
        self._renaming |= both
        try:
            await self._deps.store.write(lambda uow: uow.mcp.rename(before, new))
        finally:
            self._renaming -= both

    async def find(self, place_id: str, kind: PlaceKind, credential: str | None) -> McpPlace | None:
        """A place of any process, by its id and the key that opened it; None for every other key
        and for one that has ended. Errors: `Unavailable`.
        """
        name, now = hashed(place_id), self._now()
        place, read_at = self._known.get(name, (None, float("-inf")))
        if now - read_at >= SYNC_S:
            at = self._deps.clock.now()
            place = await self._deps.store.read(lambda uow: uow.mcp.live(name, at), single=True)
            self._known[name] = place, now
            self._known.move_to_end(name)
            if len(self._known) > KNOWN_MOST:
                self._known.popitem(last=False)
        if place is None or place.kind != kind or place.credential != credential:
            return None
        self._used.add(name)
        return place

    async def end(self, place_hash: str) -> None:
        """End a place wherever it is. Errors: `Unavailable`."""
        now = self._deps.clock.now()
        self._known.pop(place_hash, None)
        await self._deps.store.write(lambda uow: uow.mcp.end(place_hash, now))

    async def run(self, holder: Holder) -> None:
        """Keep the rows and the places of this process alike, until cancelled."""
        touched = swept = self._now()
        try:
            while True:
                await anyio.sleep(SYNC_S)
                try:
                    await self._sync(holder)
                    if self._now() - touched >= TOUCH_S:
                        since, touched = touched, self._now()
                        await self._touch(holder, since)
                    if self._now() - swept >= SWEEP_S:
                        swept = self._now()
                        await self._sweep()
                except Unavailable as error:
                    log.warning("places of other processes: the database: %s", error.why)
                except Exception:
                    log.exception("places of other processes; trying again")
        finally:
            await self._leave()

    async def _sync(self, holder: Holder) -> None:
        """End here what another process ended; forget there what ended here."""
        read = self._deps.store.read
        ended = await read(lambda uow: uow.mcp.ended(self.process), single=True)
        for name in ended:
            if name in self._mine:
                await holder.end_place(name)
        here = {slot.place_hash for slot in holder.slots()}
        gone = {name for name in self._mine if name not in here} | set(ended)
        rested = {n for n in gone - set(ended) if self._mine[n].slot.has_rested}
        if gone - rested:
            await self._deps.store.write(lambda uow: uow.mcp.remove(gone - rested))
        for name in gone:
            self._mine.pop(name, None)

    async def _touch(self, holder: Holder, since: float) -> None:
        used, self._used = self._used, set()
        own = {s.place_hash for s in holder.slots() if s.is_busy or s.used >= since}
        names, at = used | {name for name in own if name}, self._deps.clock.now()
        if at - self._touched_at >= STREAM_RESTS / 2:
            await self._put_back(holder, at)
        await self._deps.store.write(lambda uow: uow.mcp.touch(names, at))
        self._touched_at = at

    async def _put_back(self, holder: Holder, at: datetime) -> None:
        """Add again what the others took for dead while this process stood still; after so long
        that nobody knows any more what was ended meanwhile, end it.
        """
        # What is added or renamed while the rows are read has its row, though not among them.
        held = dict(self._mine)
        known = await self._deps.store.read(lambda uow: uow.mcp.known(self.process), single=True)
        for name, own in held.items():
            if name in known | self._renaming or self._mine.get(name) is not own:
                continue
            rested_s = self._now() - own.slot.used
            used_at = at if own.slot.is_busy else at - timedelta(seconds=rested_s)
            try:
                if at - self._touched_at > SESSION_RESTS:
                    await holder.end_place(name)
                else:
                    await self._add(replace(own, row=replace(own.row, used_at=used_at)))
            except Refused:
                await holder.end_place(name)

    async def _sweep(self) -> None:
        at = self._deps.clock.now()
        await self._deps.store.write(lambda uow: uow.mcp.sweep(at))

    async def _leave(self) -> None:
        """A process that ends takes its streams along; the others answer its sessions."""
        streams = {name for name, own in self._mine.items() if own.row.kind != "session"}
        with anyio.move_on_after(1, shield=True):
            try:
                await self._deps.store.write(lambda uow: uow.mcp.remove(streams))
            except Exception:
                log.debug("the streams of this process end by themselves", exc_info=True)
