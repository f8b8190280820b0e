"""The audit from outside: its own reading of the database, its own hashes; nothing of the product's code."""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import asyncpg

from tests.campaign.callers import Callers, Write
from tests.campaign.house import AGENT, House

# docs/canonical-encodings.md: every column of a row but its own hash.
HASHED = (
    "public_id", "seq", "event_id", "kind", "reported_by", "amount_micros", "tx_hash", "chain_id", "log_index", "block_number",
    "pairs_with", "payload", "occurred_at", "created_at", "prev_hash",
)  # fmt: skip
TOLERANCE_S = 1.0
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Record:
    """What a database holds of the play."""

    events: Mapping[str, Sequence[Row]]
    heads: Mapping[str, Row]
    keys: Sequence[Row]
    transfers: Mapping[str, Row]
    balances: Mapping[str, int]
    deltas: Sequence[Row]


QUERIES = {
    "events": "SELECT * FROM ledger_events ORDER BY public_id, seq",
    "heads": "SELECT * FROM ledger_heads",
    "keys": "SELECT scope, key, status FROM idempotency",
    "transfers": f"SELECT * FROM transfer_reports WHERE agent_id = '{AGENT}'",
    "balances": f"SELECT * FROM balances WHERE agent_id = '{AGENT}'",
    "deltas": f"SELECT * FROM balance_events WHERE agent_id = '{AGENT}' ORDER BY n",
}


async def read_record(url: str) -> Record:
    """Read it by the databases' own drivers."""
    if url.startswith("sqlite"):
        file = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30)
        file.row_factory = sqlite3.Row
        file.execute("BEGIN")
        rows: dict[str, list[Row]] = {
            n: [dict(r) for r in file.execute(q)] for n, q in QUERIES.items()
        }
        file.close()
    else:
        connection = await asyncpg.connect(url, timeout=30)
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            rows = {n: [dict(r) for r in await connection.fetch(q)] for n, q in QUERIES.items()}
        await connection.close()
    events: dict[str, list[Row]] = {}
    for row in rows["events"]:
        events.setdefault(row["public_id"], []).append(row)
    return Record(
        events,
        {r["public_id"]: r for r in rows["heads"]},
        rows["keys"],
        {r["tx_hash"]: r for r in rows["transfers"]},
        {f"{r['chain_id']}/{r['asset']}/{r['state']}": int(r["amount"]) for r in rows["balances"]},
        rows["deltas"],
    )


def row_hash(row: Row) -> str:
    """SHA-256 of the JSON of the columns, keys sorted, no spaces, ASCII."""
    told = {n: int(row[n]) if isinstance(row[n], Decimal) else row[n] for n in HASHED}
    text = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def chained(record: Record) -> list[str]:
    """What is wrong with the chains: gaps, hashes, heads."""
    wrong = []
    for public_id, rows in record.events.items():
        before = ""
        for n, row in enumerate(rows, start=1):
            if row["seq"] != n:
                wrong.append(f"{public_id}: row {n} has the number {row['seq']}")
            if row["prev_hash"] != before or row["row_hash"] != row_hash(row):
                wrong.append(f"{public_id}/{n}: its hash is not that of its columns")
            before = row["row_hash"]
        head = record.heads[public_id]
        if (head["seq"], head["row_hash"]) != (len(rows), before):
            wrong.append(f"{public_id}: its head is not its last row")
    return wrong


def written(record: Record, writes: Sequence[Write]) -> list[str]:
    """What is wrong with what was acknowledged: lost, doubled, or another than was sent."""
    by_id = {r["event_id"]: r for rows in record.events.values() for r in rows}
    said = Counter(
        json.loads(r["payload"]).get("text") for rows in record.events.values() for r in rows
    )
    keys = Counter(r["key"] for r in record.keys if r["status"] is not None)
    wrong = []
    for write in writes:
        if keys[write.key] > 1 or (write.acknowledged and keys[write.key] != 1):
            wrong.append(f"{write.key}: its key is kept {keys[write.key]} times")
        if "tx_hash" in write.body:
            wrong += _transfer(record, write)
            continue
        times = said[write.body["payload"]["text"]]
        if times > 1 or (write.acknowledged and times != 1):
            wrong.append(f"{write.key}: {times} rows")
        if write.acknowledged:
            row = by_id.get(write.told()["event"]["event_id"])
            wrong += [f"{write.key}: no row of its id"] if row is None else _differs(write, row)
    return wrong


def _differs(write: Write, row: Row) -> list[str]:
    """How a row is another than what was sent."""
    sent = write.body
    micros = Decimal(sent["amount_usdc"]).scaleb(6) if "amount_usdc" in sent else None
    there = (row["kind"], row["amount_micros"], row["reported_by"], row["public_id"] in write.path)
    same = there == (sent["kind"], micros, "agent", True)
    return [] if same else [f"{write.key}: stored as {dict(row)}"]


def _transfer(record: Record, write: Write) -> list[str]:
    row = record.transfers.get(write.body["tx_hash"])
    if row is None:
        return [f"{write.key}: no transfer"] if write.acknowledged else []
    same = Decimal(row["amount"]) == Decimal(write.body["amount"]).scaleb(6)
    return [] if same else [f"{write.key}: stored as {dict(row)}"]


def balanced(record: Record) -> list[str]:
    """Balances are the sums of their rows, and those the reports'."""
    sums: Counter[str] = Counter()
    for r in record.deltas:
        sums[f"{r['chain_id']}/{r['asset']}/{r['state']}"] += int(r["delta"])
    wrong = [f"balances {record.balances} of rows {dict(sums)}"] if sums != record.balances else []
    told = sum(int(r["amount"]) for r in record.transfers.values())
    total = sum(sums.values())
    return wrong + ([f"{total} of {told} micro-USDC reported"] if told != total else [])


def stamped(record: Record, house: House, writes: Sequence[Write]) -> list[str]:
    """Rows whose time is not the clock's between the first try and the answer."""
    by_id = {r["event_id"]: r for rows in record.events.values() for r in rows}
    wrong = []
    for write in writes:
        if not write.acknowledged or "tx_hash" in write.body:
            continue
        row = by_id.get(write.told()["event"]["event_id"])
        pushed = _offsets(house, write.first_sent, write.answered)
        low, high = write.first_sent + min(pushed), write.answered + max(pushed)
        at = row["created_at"] / 1_000_000 if row else low
        if not low - TOLERANCE_S <= at <= high + TOLERANCE_S:
            wrong.append(f"{write.key}: stamped {at - low:+.1f} s from when it was sent")
    return wrong


def _offsets(house: House, since: float, until: float) -> list[float]:
    """How far the clock was pushed at any moment between two, and at the first."""
    before = [s for at, s in house.offsets if at <= since][-1:]
    return [*before, *(s for at, s in house.offsets if since < at <= until)] or [0.0]


def prefix(part: Record, whole: Record) -> list[str]:
    """What a copy holds that the original does not: every row of it has to be there."""
    wrong = chained(part)
    for public_id, rows in part.events.items():
        theirs = whole.events.get(public_id, ())
        if [r["row_hash"] for r in rows] != [r["row_hash"] for r in theirs[: len(rows)]]:
            wrong.append(f"{public_id}: the copy is another record")
    return wrong


async def replayed(callers: Callers, dice: random.Random, limit: int) -> list[str]:
    """What a repeat with the same key is told that differs from the first answer."""
    told = callers.acknowledged()
    wrong = []
    for write in dice.sample(told, min(limit, len(told))):
        status, raw = await callers.sent(write, dice.choice(callers.house.servers).base)
        if (status, raw) != (write.status, write.answer):
            wrong.append(f"{write.key}: {write.status} {write.answer!r}, then {status} {raw!r}")
    return wrong


async def audit(callers: Callers, dice: random.Random, *, replays: int = 40) -> Record:
    """All of it. Errors: AssertionError, with the first findings."""
    house = callers.house
    record = await read_record(house.own_url)
    wrong = [
        *callers.faults,
        *chained(record),
        *written(record, callers.writes),
        *balanced(record),
        *stamped(record, house, callers.writes),
        *await replayed(callers, dice, replays),
    ]
    died = [s.port for s in house.servers if s.process is None or s.process.poll() is not None]
    wrong += [f"the server on port {port} is gone" for port in died]
    assert not wrong, f"{len(wrong)} findings: {wrong[:5]}\n{house.last_lines()}"
    return record
