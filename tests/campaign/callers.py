"""Agents that behave as agents should: each write has a key, and is repeated with it until it is answered."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector

from tests.campaign.house import KEY, MANDATES, House, seeded

# A server may answer so, and the same call with the same key is safe.
AGAIN = {429, 503}
IN_FLIGHT = "idempotency_in_flight"
ANSWER_S = 15
PAUSE_S = 0.05

TRANSFERS = "/wallet/transfers/report"


@dataclass
class Write:
    """One write: what was sent, and what the first answer said."""

    path: str
    key: str
    body: dict[str, Any]
    first_sent: float
    tries: int = 0
    status: int | None = None
    answer: bytes = b""
    answered: float = 0.0
    last_refusal: str = ""

    @property
    def acknowledged(self) -> bool:
        return self.status is not None

    def told(self) -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(self.answer)
        return found


@dataclass
class Callers:
    """Some callers at once, for as long as a play lasts; everything they were told is in `writes`."""

    house: House
    seed: int
    count: int = 6
    pace_s: float = 0.05
    writes: list[Write] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    reads: int = 0
    slowest_read_s: float = 0.0
    refused: int = 0
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def __aenter__(self) -> Callers:
        limits = ClientTimeout(total=ANSWER_S)
        self.http = ClientSession(timeout=limits, connector=TCPConnector(limit=0, force_close=True))
        self._tasks = [asyncio.create_task(self._calls(n)) for n in range(self.count)]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.http.close()

    async def settled(self, limit_s: float) -> None:
        """No new write; those that were begun are answered."""
        self._stop.set()
        done, late = await asyncio.wait(self._tasks, timeout=limit_s)
        for task in done:
            task.result()
        if late:
            open_ = [
                f"{w.key}: {w.tries} tries, last {w.last_refusal or 'no answer'}"
                for w in self.writes
                if not w.acknowledged
            ]
            raise AssertionError(
                f"{len(late)} callers were not answered for {limit_s} s: {open_[:5]}"
            )

    def acknowledged(self) -> list[Write]:
        return [w for w in self.writes if w.acknowledged]

    async def more(self, count: int, limit_s: float = 60) -> None:
        """Wait until so many further writes are acknowledged: what ended goes on."""
        wanted = len(self.acknowledged()) + count
        async with asyncio.timeout(limit_s):
            while len(self.acknowledged()) < wanted:
                await asyncio.sleep(0.02)

    async def refused_at_least(self, count: int, limit_s: float = 60) -> None:
        """Wait until so many writes were refused in all; they are repeated."""
        async with asyncio.timeout(limit_s):
            while self.refused < count:
                await asyncio.sleep(0.02)

    async def _calls(self, n: int) -> None:
        dice = seeded(f"{self.seed}/{n}")
        for i in range(1_000_000):
            if self._stop.is_set():
                return
            if dice.random() < 0.1:
                await self._read(dice)
            else:
                write = _write(
                    dice, f"c{self.seed}-{n}-{i}", transfers=self.house.transfers_left > 0
                )
                self.house.transfers_left -= write.path == TRANSFERS
                self.writes.append(write)
                await self._until_answered(write, dice)
            await asyncio.sleep(dice.random() * 2 * self.pace_s)

    async def _until_answered(self, write: Write, dice: random.Random) -> None:
        while True:
            status, raw = await self.sent(write, dice.choice(self.house.servers).base)
            if status in (200, 201, 202):
                write.status, write.answer, write.answered = status, raw, time.time()
                return
            if status is not None:
                code = orjson.loads(raw or b"{}").get("error")
                if status not in AGAIN and code != IN_FLIGHT:
                    self.faults.append(f"{write.key}: {status} {raw[:300]!r}")
                    if status < 500:
                        return
                self.refused += 1
            write.last_refusal = f"{status} {raw[:300]!r}" if status is not None else ""
            await asyncio.sleep(PAUSE_S)

    async def sent(self, write: Write, base: str) -> tuple[int | None, bytes]:
        """Send it once; (None, b"") where nothing was heard."""
        write.tries += 1
        headers = {"X-Service-User-Key": KEY, "Idempotency-Key": write.key}
        with suppress(ClientError, OSError, TimeoutError):
            async with self.http.post(base + write.path, json=write.body, headers=headers) as r:
                return r.status, await r.read()
        return None, b""

    async def _read(self, dice: random.Random) -> None:
        started = time.monotonic()
        base, public_id = dice.choice(self.house.servers).base, dice.choice(MANDATES)
        with suppress(ClientError, OSError, TimeoutError):
            async with self.http.get(
                f"{base}/wallet/mandates/{public_id}/limits", headers={"X-Service-User-Key": KEY}
            ) as r:
                told = await r.read()
                if r.status not in {200, *AGAIN}:
                    self.faults.append(f"read: {r.status} {told[:300]!r}")
                self.reads += r.status == 200
                self.slowest_read_s = max(self.slowest_read_s, time.monotonic() - started)


def _write(dice: random.Random, key: str, *, transfers: bool) -> Write:
    now = time.time()
    if dice.random() < 0.2 and transfers:
        amount = f"{dice.randint(1, 999)}.{dice.randint(0, 999_999):06d}"
        body = {
            "chain_id": 84532, "asset": "USDC", "amount": amount, "direction": "in", "tx_hash": f"0x{dice.getrandbits(256):064x}",
        }  # fmt: skip
        return Write(TRANSFERS, key, body, now)
    kind = dice.choice(("note", "buy", "sell"))
    told: dict[str, Any] = {"kind": kind, "payload": {"text": f"said {key}"}}
    if kind != "note":
        told["amount_usdc"] = f"{dice.randint(1, 99)}.{dice.randint(0, 999_999):06d}"
    return Write(f"/wallet/mandates/{dice.choice(MANDATES)}/events", key, told, now)
