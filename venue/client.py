"""HTTP client of the venue: one session, bounded bodies and times, three kinds of failure."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Generic
from urllib.parse import urlsplit

import orjson
import stamina
from aiohttp import (
    ClientConnectorError,
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
)
from pydantic import ValidationError

from domain.refusals import Refused, refusal
from domain.spans import part
from domain.trading.venue_values import ActionAck, Priority
from venue.addresses import plain_http_is_local
from venue.budget import Budget
from venue.json_readers import Tally
from venue.reads import InfoQuery, T
from venue.unknown_fields import UnknownFieldCounts
from venue.words import OTHER, kind_of, parse_answer, readable

MAX_BODY: Final = 2 * 2**20
MAX_INLINE: Final = 64 * 2**10  # longer answers are read in a thread, so that the loop stays free
ATTEMPTS: Final = 3
EXCHANGE: Final = "exchange"
_JSON: Final = {"Content-Type": "application/json"}
CONNECTIONS: Final = 32
SILENCE: Final = timedelta(seconds=2)
_ONE_TRY_WHILE_AWAY: Final[frozenset[Priority]] = frozenset({"house", "page", "relay"})
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TRANSIENT: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


class _TransientError(Exception):
    """The venue is busy or broken for the moment."""


class _UnusableAnswer(Exception):
    """The venue sent an unusable answer; a retry would not help now."""


@dataclass(frozen=True, slots=True)
class VenueAnswer(Generic[T]):
    """A parsed answer of a read; `size` is that of its body in bytes."""

    data: T
    size: int


class Client:
    """Client of the venue's two routes.

    Errors: `venue_unavailable` where nothing was sent or no answer can be used. An action that was
    sent and not answered is `ActionAck("unknown")`: it may have been executed, so no caller may
    send it again under another nonce.
    """

    def __init__(self, url: str, budget: Budget, timeout_s: int = 5):
        if not plain_http_is_local(url):
            raise ValueError("the venue is asked over https, over plain http only on this machine")
        self.url, self._budget, self._timeout_s = url.rstrip("/"), budget, timeout_s
        self._host = urlsplit(url).hostname or ""
        self._session: ClientSession | None = None
        self._silent_until: dict[Priority, datetime] = {}
        self._failing_priorities: set[Priority] = set()
        self.unknown_counts = UnknownFieldCounts()

    def _http(self) -> ClientSession:
        if self._session is None or self._session.closed:
            self._session = ClientSession(
                connector=TCPConnector(limit=CONNECTIONS),
                cookie_jar=DummyCookieJar(),
                timeout=ClientTimeout(total=None),  # every call has its own end
                headers={"User-Agent": "mandate-wallet"},
                trust_env=False,
            )
        return self._session

    async def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()

    async def ask(
        self, read: InfoQuery[T], priority: Priority, *, payer: str = "", **parameters: object
    ) -> VenueAnswer[T]:
        """Make one read, with retries within the time limit. The weight counts for the account that
        the read is about; for a relay, for its `payer`.

        Errors: `venue_unavailable`, also where the budget is spent.
        """
        body = {"type": read.kind, **parameters}
        account = payer if priority == "relay" else str(body.get("user", ""))
        if self._silent_until.get(priority, _LONG_AGO) > self._budget.now():
            raise unavailable("it did not answer in time a moment ago")
        try:
            async with asyncio.timeout(self._timeout_s):
                async for attempt in stamina.retry_context(
                    on=_TransientError,
                    attempts=1 if priority in self._failing_priorities else ATTEMPTS,
                    timeout=None,
                    wait_initial=0.1,
                    wait_max=1.0,
                ):
                    with attempt:
                        answer = await self._request_info(read, priority, body, account)
                        self._failing_priorities.discard(priority)
                        return answer
        except TimeoutError:
            # An operation that reads several things waits once for a venue that hangs. The lanes
            # are apart, so that a stranger's slow question does not silence anything else.
            self._silent_until[priority] = self._budget.now() + SILENCE
            raise unavailable("it does not answer in time") from None
        except (_TransientError, _UnusableAnswer) as fault:
            # Until it answers again, pages and relays do not wait for a second try.
            if isinstance(fault, _TransientError) and priority in _ONE_TRY_WHILE_AWAY:
                self._failing_priorities.add(priority)
            raise unavailable(str(fault)) from None
        raise AssertionError("the retry loop returns or raises")

    async def _request_info(
        self, read: InfoQuery[T], priority: Priority, body: Mapping[str, object], account: str
    ) -> VenueAnswer[T]:
        hold = await self._budget.take(priority, read.max_cost, account)
        try:
            status, raw = await self._posted("info", orjson.dumps(body), read.kind)
        except ClientConnectorError as error:
            await self._budget.settle(hold, 0)  # nothing was sent
            raise _TransientError(f"no connection ({type(error).__name__})") from None
        except (ClientError, OSError) as error:
            raise _TransientError(f"no answer ({type(error).__name__})") from None
        except _UnusableAnswer:
            self.unknown_counts.refuse(read.kind)
            raise
        if status != 200:
            await self._budget.settle(hold, read.weight)
            fault = _TransientError if status in _TRANSIENT else _UnusableAnswer
            raise fault(f"HTTP {status}")
        if len(raw) > MAX_INLINE:
            answer, tally, cost = await asyncio.to_thread(_read, read, raw)
        else:
            answer, tally, cost = _read(read, raw)
        await self._budget.settle(hold, cost)
        if tally is None:
            self.unknown_counts.count(read.kind, "form")
            raise self._refused(read.kind, "is not of a known form")
        self.unknown_counts.refuse(read.kind, 0)
        self.unknown_counts.note(read.kind, tally)
        try:
            return VenueAnswer(read.parse(answer), len(raw))
        except ValueError:
            raise self._refused(read.kind, "cannot be read") from None

    def _refused(self, kind: str, reason: str) -> Refused:
        """Build the refusal for an unusable answer, and count it."""
        self.unknown_counts.refuse(kind)
        return unavailable(f"its answer to {kind} {reason}")

    async def _posted(self, route: str, body: bytes, kind: str = "") -> tuple[int, bytes]:
        """Post to a route: status and body of the answer. Its span, where the call is traced, tells
        the host and the kind of a read, and nothing that is asked or sent.
        """
        about: dict[str, str | int] = {
            "http.request.method": "POST",
            "server.address": self._host,
            "url.template": f"/{route}",
        }
        with part(f"{route} {kind}".rstrip(), "client", about) as span:
            async with self._http().post(
                f"{self.url}/{route}", data=body, headers=_JSON, allow_redirects=False
            ) as response:
                raw = await self._body(response)
            if span is not None:
                span.add({"http.response.status_code": response.status})
        return response.status, raw

    @staticmethod
    async def _body(response: ClientResponse) -> bytes:
        chunks, size = [], 0
        async for chunk in response.content.iter_any():
            size += len(chunk)
            if size > MAX_BODY:
                response.close()
                raise _UnusableAnswer("its answer is larger than 2 MB")
            chunks.append(chunk)
        return b"".join(chunks)

    async def post(
        self,
        action: Mapping[str, object],
        nonce: int,
        signature: Mapping[str, object],
        *,
        priority: Priority,
    ) -> ActionAck:
        """Post a user-signed action once. Errors: `venue_unavailable` where nothing was sent."""
        raw = await self.send(
            {"action": action, "nonce": nonce, "signature": signature}, priority=priority
        )
        ack = ActionAck("unknown") if raw is None else _parse_ack(raw)
        self.count_answer(raw, ack.outcome, ack.kind)
        return ack

    def count_answer(self, raw: bytes | None, outcome: str, kind: str | None) -> None:
        """Count an answer to an action whose form or refusal sentence is unknown."""
        if raw is None:
            return
        is_unreadable = outcome == "unknown" and kind is None
        self.unknown_counts.refuse(EXCHANGE, int(is_unreadable))
        if is_unreadable:
            self.unknown_counts.count(EXCHANGE, "form")
        if kind == OTHER:
            self.unknown_counts.count(EXCHANGE, "words")

    async def send(self, envelope: Mapping[str, object], *, priority: Priority) -> bytes | None:
        """Post a signed envelope once; None where no answer came. Errors: `venue_unavailable`."""
        hold = await self._budget.take(priority, 1)
        # The key order of the action is that of its hash; orjson keeps it.
        body = orjson.dumps(envelope)
        try:
            async with asyncio.timeout(self._timeout_s):
                status, raw = await self._posted("exchange", body)
        except ClientConnectorError as error:
            await self._budget.settle(hold, 0)
            raise unavailable(f"no connection ({type(error).__name__})") from None
        except (ClientError, OSError, TimeoutError, _UnusableAnswer):
            return None
        # No source says that a 429 is refused before it is processed, so it is unknown like a 500.
        return raw if status == 200 else None


def unavailable(reason: str, retry_after_s: int = 2) -> Refused:
    """Build the refusal for a venue that cannot be used."""
    return Refused(
        refusal("venue_unavailable", why=reason, detail={"retry_after_s": max(1, retry_after_s)})
    )


def _read(read: InfoQuery[T], raw: bytes) -> tuple[object, Tally | None, int]:
    """An answer and the tally of its parts, none where its form is unknown; and its cost."""
    tally, cost = Tally(), read.max_cost
    try:
        body = orjson.loads(raw)
        cost = read.cost(body)
        return read.read(body, tally), tally, cost
    except (orjson.JSONDecodeError, ValidationError):
        return None, None, cost


def _parse_ack(raw: bytes) -> ActionAck:
    """Parse the outcome of an action; an unknown form is `unknown`, never a success."""
    response = parse_answer(raw)
    if isinstance(response, str):
        return ActionAck("refused", readable(response), kind_of(response))
    is_accepted = response is not None and response.get("type") == "default"
    return ActionAck("ok" if is_accepted else "unknown")
