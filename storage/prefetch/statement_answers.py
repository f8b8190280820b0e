"""The statements of the rows that a snapshot answers, each as the database would."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from domain.ledger.events.event import Reporter
from storage.prefetch.prefetched_rows import PrefetchedRows, pair
from storage.repositories import (
    approvals,
    chain_index,
    idempotency,
    identities,
    mandates,
    orders,
    people,
    policies,
    switches,
)
from storage.repositories import ledger_queries as ledger
from storage.sql import LOCKED, PrefetchMiss, Row

Answer = Callable[[PrefetchedRows, Row], Sequence[Row]]


def _of(snapshot: PrefetchedRows, kind: str, public_id: str) -> Sequence[Row]:
    if public_id not in snapshot.mandates:
        raise PrefetchMiss(public_id)
    return snapshot.of(kind, public_id)


def _mandate(s: PrefetchedRows, values: Row) -> Sequence[Row]:
    return _of(s, "mandate", values["id"])


def _head(s: PrefetchedRows, values: Row) -> Sequence[Row]:
    return _of(s, "head", values["public_id"])


def _checkpoint(s: PrefetchedRows, values: Row) -> Sequence[Row]:
    (head,) = _of(s, "head", values["public_id"]) or (None,)
    if head is None or not head["sought"] or values["last"] != head["seq"]:
        raise PrefetchMiss(values["public_id"])
    return [{"state": head["state"], "row_hash": head["state_hash"]}] if head["state"] else []


def _tail(s: PrefetchedRows, values: Row) -> Sequence[Row]:
    after, last = values["after"], values["last"]
    (head,) = _of(s, "head", values["public_id"]) or (None,)
    if head is None or after < head["behind"] or last > head["seq"]:
        raise PrefetchMiss(values["public_id"])
    rows = sorted(s.of("row", values["public_id"]), key=lambda row: int(row["seq"]))
    if len(rows) >= ledger.PAGE:  # there may be more of them
        raise PrefetchMiss(values["public_id"])
    return [row for row in rows if after < row["seq"] <= last]


def _row(s: PrefetchedRows, values: Row) -> Sequence[Row]:
    rows = _of(s, "row", values["public_id"])
    rows = [*rows, *s.of("pair", values["public_id"])]
    match = [row for row in rows if row["seq"] == values["seq"]][:1]
    if not match:
        raise PrefetchMiss(values["public_id"])
    return match


def _items(status: str) -> Answer:
    def answer(s: PrefetchedRows, values: Row) -> Sequence[Row]:
        rows = [r for r in _of(s, "approval", values["mandate"]) if r["status"] == status]
        return _still_good(s, rows, values["now"], "requested_at", "approval_id")

    return answer


def _handed_out(s: PrefetchedRows, values: Row) -> Sequence[Row]:
    rows = _of(s, "reservation", values["mandate"])
    return _still_good(s, rows, values["now"], "made_at", "action_hash")


def _still_good(s: PrefetchedRows, rows: Sequence[Row], now: int, *by: str) -> Sequence[Row]:
    if now < s.now:  # what was over by then stayed behind
        raise PrefetchMiss(now)
    good = [row for row in rows if row["expires_at"] > now]
    return sorted(good, key=lambda row: tuple(row[name] for name in by))


def _policy(s: PrefetchedRows, values: Row) -> Sequence[Row]:
    if all(row["agent_id"] != values["id"] for row in s.every("mandate")):
        raise PrefetchMiss(values["id"])
    return s.of("policy", values["id"])


def _staged(s: PrefetchedRows, values: Row) -> Sequence[Row]:
    if values["most"] != chain_index.STAGED_SHOWN:
        raise PrefetchMiss(values["most"])
    rows = _of(s, "staged", values["mandate"])
    return sorted(rows, key=lambda row: (row["block_number"], row["log_index"]))


def _counted(s: PrefetchedRows, values: Row) -> Sequence[Row]:
    if values["day"] not in s.days:
        raise PrefetchMiss(values["day"])
    return [r for r in _of(s, "counted", values["mandate"]) if r["day"] == values["day"]]


def _switches(s: PrefetchedRows, values: Row) -> Sequence[Row]:
    if not s.mandates:
        raise PrefetchMiss("switches")
    return s.every("switch")


def _whose(kind: str) -> Answer:
    def answer(s: PrefetchedRows, values: Row) -> Sequence[Row]:
        if values["hash"] not in s.credentials or values.get("now", s.now) < s.now:
            raise PrefetchMiss(kind)
        rows = s.of(kind, values["hash"])
        return [row for row in rows if row.get("expires_at", 2**62) > values.get("now", 0)]

    return answer


def _claimed(s: PrefetchedRows, values: Row) -> Sequence[Row]:
    return _paired(s, "claim", pair(values["scope"], values["key"]))


def _of_tx(s: PrefetchedRows, values: Row) -> Sequence[Row]:
    rows = _paired(s, "of_tx", pair(values["public_id"], values["tx_hash"]))
    if len(rows) >= ledger.PAGE:  # there may be more of them
        raise PrefetchMiss(values["tx_hash"])
    return sorted(rows, key=lambda row: int(row["seq"]))


def _partners(s: PrefetchedRows, values: Row) -> Sequence[Row]:
    rows = _of_tx(s, values)
    taken = {row["pairs_with"] for row in rows}
    free = [r for r in rows if r["pairs_with"] is None and r["seq"] not in taken]
    chains = [r for r in free if r["reported_by"] == "chain" and r["kind"] == "move"]
    return chains[: values["most"]]


def _paired(s: PrefetchedRows, kind: str, key: str) -> Sequence[Row]:
    if key not in s.pairs:
        raise PrefetchMiss(key)
    return s.of(kind, key)


READ_ANSWERS: Final[Mapping[str, Answer]] = {
    mandates.BY_ID: _mandate,
    ledger.HEAD: _head,
    ledger.CHECKPOINT: _checkpoint,
    ledger.TAIL: _tail,
    ledger.BY_SEQ: _row,
    approvals.PENDING: _items("pending"),
    approvals.APPROVED: _items("approved"),
    approvals.LIVE: _handed_out,
    policies.OF_AGENT: _policy,
    chain_index.STAGED: _staged,
    orders.COUNTED: _counted,
    switches.SWITCHES: _switches,
    identities.AGENT_BY_KEY: _whose("agent"),
    people.SESSION: _whose("session"),
    identities.HOUSE_ROLE: _whose("house"),
}
# What a handler that writes may look at besides, and what it may not: orders move by themselves,
# and no number of the mandate's tells of it.
WRITING: Final[Mapping[str, Answer]] = {
    **{text: answer for text, answer in READ_ANSWERS.items() if text != orders.COUNTED},
    mandates.BY_ID + LOCKED: _mandate,
    ledger.HEAD + LOCKED: _head,
    ledger.BY_TX: _of_tx,
    ledger.PARTNERS[Reporter.CHAIN]: _partners,
    idempotency.CLAIMED: _claimed,
}
