"""A ledger row, its event, and the hash that chains it to the row before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

import orjson

from domain.ledger.events.event import Event, LedgerKind, Reporter
from domain.ledger.events.payload_codec import read
from domain.ledger.fast_copy import fast_constructor
from domain.money import Usdc
from storage.errors import Unavailable
from storage.sql import Row, canonical, micros, moment

COLUMNS: Final = (
    "public_id",
    "seq",
    "event_id",
    "kind",
    "reported_by",
    "amount_micros",
    "tx_hash",
    "chain_id",
    "log_index",
    "block_number",
    "pairs_with",
    "payload",
    "occurred_at",
    "created_at",
    "prev_hash",
    "row_hash",
)


IN_ORDER: Final = (*sorted({*COLUMNS} - {"row_hash"}), "row_hash")
"""The columns under the hash as the canonical form has them, and the hash behind them."""

_LAST: Final = b',"row_hash":""}'

# Every row that is read comes through here, and an enumeration's own look-up takes three times as
# long.
_KINDS: Final[Mapping[str, LedgerKind]] = {kind.value: kind for kind in LedgerKind}
_REPORTERS: Final[Mapping[str, Reporter]] = {who.value: who for who in Reporter}
_DECODED: Final = json.JSONDecoder().raw_decode
_DELETE: Final = b"\x7f"


def row_values(public_id: str, event: Event, prev_hash: str) -> Row:
    """The columns of a row, its own hash among them."""
    row: dict[str, object] = {
        "public_id": public_id,
        "seq": event.seq,
        "event_id": event.event_id,
        "kind": event.kind.value,
        "reported_by": event.reported_by.value,
        "amount_micros": event.amount_usdc.micros if event.amount_usdc is not None else None,
        "tx_hash": event.tx_hash,
        "chain_id": event.chain_id,
        "log_index": event.log_index,
        "block_number": event.block_number,
        "pairs_with": event.pairs_with,
        "payload": canonical(dict(event.payload)),
        "occurred_at": micros(event.occurred_at),
        "created_at": micros(event.created_at),
        "prev_hash": prev_hash,
    }
    row["row_hash"] = row_hash(row)
    return row


def row_hash(row: Row) -> str:
    """SHA-256 over the previous hash and the canonical row (contract 5): every column but the hash
    itself.
    """
    return hashlib.sha256(_canonical(_hashed(row))).hexdigest()


def has_its_hash(row: Row) -> bool:
    """Whether a row's hash is its own; with the columns of `IN_ORDER`, in that order, in less time.

    In another order its bytes are not the canonical ones, and the hash is worked out as everywhere.
    """
    raw = row["row_hash"]
    try:
        plain = orjson.dumps(row)[: -len(_LAST) - len(raw)] + b"}"
    except TypeError:
        return bool(row_hash(row) == raw)
    quick = _is_canonical(plain) and hashlib.sha256(plain).hexdigest() == raw
    return quick or bool(row_hash(row) == raw)


def _hashed(row: Row) -> Row:
    """The columns under the hash, in the order of the canonical form: nothing is left to be sorted,
    and one by one they are gathered in half the time of any loop.
    """
    return {
        "amount_micros": row["amount_micros"],
        "block_number": row["block_number"],
        "chain_id": row["chain_id"],
        "created_at": row["created_at"],
        "event_id": row["event_id"],
        "kind": row["kind"],
        "log_index": row["log_index"],
        "occurred_at": row["occurred_at"],
        "pairs_with": row["pairs_with"],
        "payload": row["payload"],
        "prev_hash": row["prev_hash"],
        "public_id": row["public_id"],
        "reported_by": row["reported_by"],
        "seq": row["seq"],
        "tx_hash": row["tx_hash"],
    }


def _canonical(row: Row) -> bytes:
    """The bytes of `canonical` of a row whose columns are sorted, in a fraction of its time where
    the text is plain.
    """
    try:
        plain = orjson.dumps(row)
    except TypeError:  # an integer beyond 64 bits, half of a surrogate pair
        return canonical(row).encode()
    return plain if _is_canonical(plain) else canonical(row).encode()


def _is_canonical(plain: bytes) -> bool:
    """Whether a text is its own canonical form: ASCII; what is not, `canonical` escapes."""
    return plain.isascii() and _DELETE not in plain


def _stored(text: str) -> object:
    """Parse a payload's stored text; text that is no JSON, which no payload writes, is returned
    bare.
    """
    try:
        # What was written is one object and nothing around it, which is read in half the steps.
        raw, end = _DECODED(text) if text.startswith("{") else (None, -1)
        return raw if end == len(text) else json.loads(text)
    except (ValueError, RecursionError):
        return text


def as_stored(row: Row) -> Any:
    """A row's payload as it is read."""
    return _stored(row["payload"])


def event_of(row: Row) -> Event:
    """The event behind a stored row. Errors: `Unavailable` for a row that we did not write."""
    try:
        amount = row["amount_micros"]
        created, occurred = row["created_at"], row["occurred_at"]
        at = moment(created)
        kind = _KINDS.get(row["kind"]) or LedgerKind(row["kind"])
        payload = as_stored(row)
        content = read(kind, payload)
        return _EVENT(
            event_id=row["event_id"],
            seq=int(row["seq"]),
            kind=kind,
            reported_by=_REPORTERS.get(row["reported_by"]) or Reporter(row["reported_by"]),
            created_at=at,
            occurred_at=at if occurred == created else moment(occurred),
            amount_usdc=None if amount is None else _USDC(int(amount)),
            tx_hash=row["tx_hash"],
            chain_id=row["chain_id"],
            log_index=row["log_index"],
            block_number=row["block_number"],
            pairs_with=row["pairs_with"],
            # The type check is the fast path; anything else is damaged and noted in `content`.
            payload=payload if type(payload) is dict else {},
            content=content,
        )
    except (ValueError, TypeError, OverflowError) as error:
        raise Unavailable(UNREADABLE) from error


UNREADABLE: Final = "a row of a ledger cannot be read; `wallet db verify` says which"
_EVENT: Final = fast_constructor(Event)
_USDC: Final = fast_constructor(Usdc)
