"""One mandate's ledger as it grows: server-sent events, from one reading of the tail for all.

A listener is given the rows behind the one that it names, from the ledger, and then every new one
from the hub; each row carries the id from which a later stream goes on. The ledger numbers a
mandate's rows without gaps, so that a row that did not come this way is seen to be missing, and is
read.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from domain.ledger.events.event import Event
from domain.next_steps import OWNER_OR_AGENT, NextStep
from domain.refusals import Refused, refusal
from domain.shares import holder_to_displace
from http_shim.asgi_bridge import is_gone
from http_shim.identity import identify
from storage.feed.ledger_feed import FeedEntry, LedgerFeed
from storage.repositories.event_row import event_of
from tools.context.access import visible_mandate
from tools.context.render_cache import KEPT
from tools.mandates.reads.ledger_stream import row_id
from tools.model.operation import Caller, Deps
from tools.model.serialization import encoded

log = logging.getLogger("wallet.stream")

QUEUE: Final = 256
PAGE: Final = 50
CHECK_S: Final = 15
WRITE_S: Final = 10
AGAIN_S: Final = 1
HEADERS: Final = {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"}

_CLOSE: Final = NextStep("Close one of your streams")
_READ_ROWS: Final = NextStep(
    "Read the rows page by page",
    "mandate_events",
    "GET /wallet/mandates/{public_id}/events",
    OWNER_OR_AGENT,
)


@dataclass(slots=True, eq=False)
class Listener:
    """One open stream. What the hub offers waits in a bounded queue."""

    caller: Caller
    request: web.Request
    rows: deque[tuple[int, bytes]] = field(default_factory=deque)
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    live: bool = False
    ending: str | None = None

    @property
    def gone(self) -> bool:
        """True where the client is; a stream learns it when it next writes."""
        return is_gone(self.request)

    def offer(self, seq: int, chunk: bytes) -> None:
        """Take a row; one that does not keep up ends. Before it is live it reads the ledger."""
        if not self.live:
            return
        if len(self.rows) >= QUEUE:
            self.end("behind")
            return
        self.rows.append((seq, chunk))
        self.moved.set()

    def end(self, reason: str) -> None:
        """End the stream once its task looks."""
        self.ending = self.ending or reason
        self.moved.set()


class LedgerStreamHub:
    """Follows the tail once, and offers each row to those who listen to its mandate."""

    def __init__(self, deps: Deps):
        self.deps, self.tail = deps, LedgerFeed(deps.store.url)
        self._of: defaultdict[str, set[Listener]] = defaultdict(set)

        self._tasks: list[asyncio.Task[None]] = []
        self._ready = asyncio.Event()
        self._closed, self.rows_sent = False, 0

    @property
    def listening(self) -> int:
        """Streams that are open, without those that end."""
        return len(self._open())

    def gauges(self) -> Mapping[str, int]:
        """For the metrics."""
        return {"wallet_streams": self.listening, "wallet_stream_rows_total": self.rows_sent}

    def start(self) -> None:
        """Begin to follow; the first listener does it, and who else needs the tail."""
        if not self._tasks and not self._closed:
            loop = asyncio.get_running_loop()
            self._tasks = [loop.create_task(self.tail.run()), loop.create_task(self._follow())]

    async def lifespan(self, app: web.Application) -> AsyncIterator[None]:
        """End with the application."""
        yield
        await self.leave()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def leave(self, app: web.Application | None = None) -> None:
        """End every stream; no new one begins."""
        self._closed = True
        self._end_all("leaving")

    def _end_all(self, reason: str) -> None:
        for listener in self._every():
            listener.end(reason)

    async def _follow(self) -> None:
        while True:
            try:
                cursor = await self.tail.newest()
                self._ready.set()
                async with aclosing(self.tail.follow(cursor)) as rows:
                    async for entry in rows:
                        self.tell(entry)
            except Exception:
                log.exception("the tail is lost; streams go on from where they are")
            # What was not offered is read by those who come back.
            self._ready.clear()
            self._end_all("again")
            await asyncio.sleep(AGAIN_S)

    def tell(self, entry: FeedEntry) -> None:
        """Offer a row to its listeners; it is written once for all of them."""
        listeners = self._of.get(entry.public_id)
        if not listeners:
            return
        event = event_of(entry.row)
        chunk = _row(event, entry.row["row_hash"])
        self.rows_sent += len(listeners)
        for listener in tuple(listeners):
            listener.offer(event.seq, chunk)

    @contextmanager
    def listener(self, caller: Caller, public_id: str, request: web.Request) -> Iterator[Listener]:
        """Be one of those who listen. Errors: `rate_limited` where too many do."""
        config = self.deps.config
        own = [x for x in self._every() if x.caller.user_id == caller.user_id]
        for left in (x for x in own if x.gone):
            left.end("gone")
        count = sum(not x.gone for x in own)
        if count >= config.streams_per_caller:
            why = f"{count} streams of yours are open, which is as many as there can be."
            steps = (_CLOSE, _READ_ROWS)
            raise Refused(refusal("rate_limited", why=why, retry_safe=False, next=steps))
        if self.listening >= config.streams_most:
            self._make_room(caller)
        listener = Listener(caller, request)
        if self._closed:
            listener.end("leaving")
        self._of[public_id].add(listener)
        try:
            yield listener
        finally:
            self._of[public_id].discard(listener)
            if not self._of[public_id]:
                del self._of[public_id]

    def _every(self) -> list[Listener]:
        return [x for listeners in self._of.values() for x in listeners]

    def _open(self) -> list[Listener]:
        return [x for x in self._every() if x.ending is None]

    def _make_room(self, caller: Caller) -> None:
        """End a stream of the owner who has the most, or of the caller who has the most of this
        one's. Errors: `rate_limited` where no other has more than this one.
        """
        every, owner = self._open(), _owner(caller)
        loser = holder_to_displace(Counter(_owner(x.caller) for x in every), owner)
        theirs = [x for x in every if _owner(x.caller) == (loser or owner)]
        users = Counter(x.caller.user_id or "" for x in theirs)
        most = users.most_common(1)[0][0] if loser else None
        user = most if loser else holder_to_displace(users, caller.user_id or "")
        first = next((x for x in theirs if x.caller.user_id == user), None)
        if first is None:
            # They end when their listeners leave, at a time that nobody knows.
            why = "Too many streams are open."
            raise Refused(refusal("rate_limited", why=why, retry_safe=False, next=(_READ_ROWS,)))
        first.end("full")

    async def ready(self) -> None:
        """Wait until every row that is still to come will be offered."""
        self.start()
        await self._ready.wait()


def _owner(caller: Caller) -> str:
    return caller.owner_id or caller.user_id or ""


def _row(event: Event, row_hash: str) -> bytes:
    name, data = row_id(event.seq, row_hash).encode(), encoded(KEPT.row(event))
    return b"id: %s\nevent: row\ndata: %s\n\n" % (name, data)


class LedgerStream:
    """One request's stream behind the row `start`, from its first byte to its last."""

    def __init__(self, hub: LedgerStreamHub, request: web.Request, public_id: str, start: str):
        self._hub, self._store, self._request = hub, hub.deps.store, request
        self._public_id, self._start, self._sent = public_id, start, int(start.partition(".")[0])
        self._response = web.StreamResponse(headers=HEADERS)

    async def run(self, caller: Caller) -> web.StreamResponse:
        """Pour until the client goes, falls behind, or may no longer see the mandate."""
        with self._hub.listener(caller, self._public_id, self._request) as listener:
            await self._response.prepare(self._request)
            try:
                start = self._start.encode()
                await self._write(b"retry: 3000\nid: %s\nevent: open\ndata: {}\n\n" % start)
                await self._hub.ready()
                await self._catch_up()
                listener.live = True
                await self._catch_up()
                await self._pour(listener)
            except (TimeoutError, ConnectionError):
                if self._request.transport is not None:
                    self._request.transport.abort()
        return self._response

    async def _pour(self, listener: Listener) -> None:
        loop = asyncio.get_running_loop()
        check = loop.time() + CHECK_S
        while listener.ending is None:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(check):
                    await listener.moved.wait()
            listener.moved.clear()
            if loop.time() >= check:
                if not await self._still_allowed():
                    listener.end("closed")
                    break
                await self._write(b": here\n\n")
                check = loop.time() + CHECK_S
            await self._drain(listener)
        await self._write(b"event: %s\ndata: {}\n\n" % (listener.ending or "closed").encode())
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(WRITE_S):
                await self._response.write_eof()

    async def _drain(self, listener: Listener) -> None:
        """Send what waits, in one piece; a missing row is read."""
        ready = []
        while listener.rows:
            seq, chunk = listener.rows.popleft()
            if seq == self._sent + 1:
                ready.append(chunk)
                self._sent = seq
            elif seq > self._sent:
                await self._write(b"".join(ready))
                ready.clear()
                await self._catch_up()
        await self._write(b"".join(ready))

    async def _catch_up(self) -> None:
        """Send what the ledger has behind the last row that was sent."""
        while True:
            rows = await self._store.read(
                lambda uow: uow.ledger.hashed_behind(self._public_id, self._sent, PAGE)
            )
            for event, row_hash in rows:
                await self._write(_row(event, row_hash))
                self._sent = event.seq
            if len(rows) < PAGE:
                return
            await asyncio.sleep(0)

    async def _still_allowed(self) -> bool:
        """A key that was revoked, a session that is over, a mandate that changed hands."""
        try:
            caller = await identify(self._hub.deps, self._request.headers)
            await self._store.read(lambda uow: visible_mandate(uow, caller, self._public_id))
        except Refused:
            return False
        return True

    async def _write(self, chunk: bytes) -> None:
        if chunk:
            async with asyncio.timeout(WRITE_S):
                await self._response.write(chunk)
