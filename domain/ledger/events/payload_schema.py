"""Payload schema: the one table of stored keys, used to read, write and show payloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, TypeAlias, cast

from domain.ledger.events.event_kinds import LedgerKind
from domain.ledger.events.payloads import (
    NOWHERE,
    OUTCOMES,
    AgentPaid,
    ApprovalDecided,
    CallTarget,
    ClaimEnded,
    Control,
    Deposited,
    Executed,
    LogReversed,
    LotLabel,
    Marked,
    Noted,
    PaidFee,
    Payload,
    RefusedAttempt,
    Reported,
    Settled,
    Stopped,
    TermsSigned,
    Unwound,
    VenueFilled,
    Withdrawn,
)
from domain.ledger.events.record_codec import FieldSpec, Inner, Keys, RecordReader
from domain.ledger.events.stored_json import Reads, StoredJson, one_of, text_or
from domain.money import ZERO


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The layout of one payload type in a row: its keys in a `block`, and those `beside` it;
    without a block the row's kind identifies the type.
    """

    block: str | None = None
    keys: Keys = ()
    beside: Keys = ()


@dataclass(frozen=True, slots=True)
class Nested:
    """The body of a reversed row, as it was stored."""

    body: Payload | None


def _key(name: str, reads: Reads, attr: str | None = None, **more: bool) -> FieldSpec:
    return FieldSpec(name=name, of=attrgetter(attr or name), attr=attr or name, reads=reads, **more)


def _text_keys(*names: str) -> tuple[FieldSpec, ...]:
    return tuple(_key(name, StoredJson.text) for name in names)


def _sum_keys(*names: str) -> tuple[FieldSpec, ...]:
    return tuple(_key(name, StoredJson.sum, always=True) for name in names)


def _flag(name: str) -> FieldSpec:
    """A flag that is stored only where it is true."""
    return FieldSpec(
        name=name, of=lambda w: getattr(w, name) or None, attr=name, reads=StoredJson.flag
    )


def _figure(name: str) -> FieldSpec:
    """A figure of the venue's, to its own decimals."""
    return FieldSpec(
        name=name,
        of=lambda w: format(getattr(w, name), "f"),
        attr=name,
        reads=StoredJson.figure,
        always=True,
    )


def _side(w: VenueFilled) -> str:
    return "buy" if w.is_buy else "sell"


def _is_buy(s: StoredJson, name: str) -> bool:
    return s.text(name) == "buy"


def _follows(name: str, of: Callable[[Any], object]) -> FieldSpec:
    return FieldSpec(name=name, of=of, attr=name, reads=None, always=True)


def _amount(s: StoredJson, name: str) -> object:
    """The amount of a reversed row; 0 for kinds whose amount may be negative."""
    if s.values.get(name) is None:
        return None
    return s.sum(name) if _kind(s, "kind") in _SUMS else ZERO


def _change(s: StoredJson, name: str) -> object:
    body = s.text(name)
    return body if body in ("paused", "resumed") else None


def _kind(s: StoredJson, name: str) -> LedgerKind:
    try:
        return LedgerKind(s.text(name) or "")
    except ValueError:
        return LedgerKind.NOTE


_SUMS: Final = frozenset(
    {LedgerKind.DEPOSIT, LedgerKind.WITHDRAW, LedgerKind.PAYOUT, LedgerKind.MOVE}
)

_TARGET_KEYS: Final = (_key("market", StoredJson.text), _key("address", StoredJson.text),
                 _key("selector", StoredJson.text), _key("label", StoredJson.text))  # fmt: skip
_TARGET: Final = Inner(
    name="target", attr="target", factory=CallTarget, keys=_TARGET_KEYS, absent=NOWHERE
)
_CALLED: Final = Inner(attr="target", factory=CallTarget, keys=(
    _key("target", StoredJson.text, "address", always=True),
    _key("selector", StoredJson.text, always=True),
    _key("market", StoredJson.text, always=True), _key("label", StoredJson.text, always=True),
))  # fmt: skip
_STATEMENT_KEYS: Final[Keys] = (
    Inner(
        name="position",
        attr="part",
        factory=LotLabel,
        keys=_text_keys("id", "market", "side", "label"),
    ),
    _key("mark", StoredJson.money),
    _TARGET,
    _key("direction", one_of("in", "out")),
    *_text_keys("why", "text", "next_at", "fee_kind", "resource"),
    _key("preview", StoredJson.any),
    _flag("notional"),
    _flag("ordered"),
)


def _reversed_payload(s: StoredJson, name: str) -> Payload | None:
    """The body of the reversed row; a reversal is itself never reversed, so nesting ends here."""
    inner = s.sub(name)
    return None if "reverses" in inner.values else parse_payload(_kind(s, "kind"), inner)


# The first block present identifies the type, else the row's kind.
FORMS: Final[Mapping[type[Payload], Form]] = {
    LogReversed: Form(block="reverses", keys=(
        _key("event_id", text_or(""), always=True),
        _key("seq", StoredJson.number, always=True),
        FieldSpec(name="kind", of=lambda w: w.kind.value, attr="kind", reads=_kind),
        _key("amount_usdc", _amount, "amount", always=True),
        _key("tx_hash", StoredJson.text, always=True),
        _key("occurred_at", StoredJson.at, always=True),
        FieldSpec(
            name="payload", of=lambda w: Nested(w.body), attr="body", reads=_reversed_payload
        ),
    ), beside=_text_keys("text")),
    ClaimEnded: Form(block="claim", keys=(
        _key("event_id", text_or(""), always=True), _key("outcome", one_of(*OUTCOMES), needed=True),
    )),
    RefusedAttempt: Form(block="refusal", keys=(
        _key("reason", text_or(""), always=True),
        _key("source", StoredJson.text, always=True),
        _key("reason_source", text_or("agent"), always=True),
        _key("check", StoredJson.text, always=True),
        _key("attempted", StoredJson.json),
        _key("proof", StoredJson.json),
    )),
    ApprovalDecided: Form(block="approval", keys=(
        _key("approval_id", StoredJson.text, always=True),
        _key("status", text_or("recorded"), always=True),
        _follows("clause", lambda w: 6),
        _key("reason", StoredJson.text),
    ), beside=(_TARGET, *_text_keys("text"))),
    Executed: Form(block="executed", keys=(
        _CALLED, *_sum_keys("spent", "received", "approved"), *_text_keys("agent", "data_hash"),
    ), beside=(_follows("direction", lambda w: "out" if w.spent else "in"),)),
    Unwound: Form(block="unwound", keys=(
        _CALLED, _follows("spent", lambda w: ZERO), *_sum_keys("received"),
        *_text_keys("by", "data_hash"),
    ), beside=(_follows("direction", lambda w: "in"),)),
    Settled: Form(block="settled", keys=_sum_keys("spent", "returned", "gain", "agent_fee")),
    Marked: Form(block="marked", keys=(
        *_sum_keys("cash", "positions", "floor"), _key("block", StoredJson.number),
        *_text_keys("block_hash"),
    )),
    Control: Form(block="control", keys=(
        _key("what", _change, "change", needed=True), *_text_keys("agent"),
    )),
    VenueFilled: Form(block="venue", keys=(
        *(_key(n, text_or(""), always=True) for n in ("venue", "network", "order_id", "product")),
        FieldSpec(name="side", of=_side, attr="is_buy", reads=_is_buy, always=True),
        *(_figure(n) for n in ("px", "size", "fee", "builder_fee")),
        _flag("first"), _flag("reduce_only"),
        _key("tid", StoredJson.number), _key("oid", StoredJson.number), _key("at", StoredJson.at),
    )),
    Deposited: Form(keys=(_key("from", StoredJson.text, "sender"),)),
    Withdrawn: Form(),
    AgentPaid: Form(keys=_text_keys("agent")),
    Stopped: Form(keys=(*_text_keys("reason", "by"), _flag("record_only"))),
    TermsSigned: Form(keys=_text_keys("digest", "signer_type")),
    PaidFee: Form(keys=_STATEMENT_KEYS),
    Reported: Form(keys=_STATEMENT_KEYS),
    Noted: Form(keys=_STATEMENT_KEYS),
}  # fmt: skip

BLOCKS: Final = tuple(
    (f.block, payload_type) for payload_type, f in FORMS.items() if f.block is not None
)
BY_KIND: Final[Mapping[LedgerKind, type[Payload]]] = {
    LedgerKind.DEPOSIT: Deposited,
    LedgerKind.WITHDRAW: Withdrawn,
    LedgerKind.PAYOUT: AgentPaid,
    LedgerKind.STOP: Stopped,
    LedgerKind.SIGNED: TermsSigned,
    LedgerKind.FEE: PaidFee,
    LedgerKind.NOTE: Noted,
}


_BLOCK_NAMES: Final = frozenset(block for block, _ in BLOCKS)


_READERS: Final = {m: RecordReader(m, f.keys, f.beside) for m, f in FORMS.items()}
_BY_KIND: Final = {kind: _READERS[payload_type] for kind, payload_type in BY_KIND.items()}
_REPORTED: Final = _READERS[Reported]


def parse_payload(kind: LedgerKind, s: StoredJson) -> Payload:
    """The body of a stored payload.

    Errors: none; a block without its needed keys reads as a note.
    """
    if not _BLOCK_NAMES.isdisjoint(s.values):
        for block, payload_type in BLOCKS:
            if s.values.get(block) is not None:
                parsed = _read(payload_type, s.sub(block), s)
                return _read(Noted, s, s) or Noted() if parsed is None else parsed
    # A type that its kind alone identifies needs no key.
    payload: Payload = _BY_KIND.get(kind, _REPORTED).read_record(s, s)
    return payload


def _read(payload_type: type[Payload], s: StoredJson, around: StoredJson) -> Payload | None:
    """A body from its block and the row around it; None where a needed key is missing."""
    reader = _READERS[payload_type]
    for name, reads in reader.needed:
        if reads is None or reads(s, name) is None:
            return None
    return cast(Payload, reader.read_record(s, around))


Value: TypeAlias = tuple[str, object]
"""A key that stands in the row, and its value."""


@dataclass(frozen=True, slots=True)
class Object:
    """An object inside another, by its values."""

    values: Sequence[Value]


class _FieldWriter:
    """Writes and shows the keys of one record; its accessors are prepared once."""

    __slots__ = ("steps",)

    def __init__(self, keys: Keys):
        self.steps = tuple(
            (k.name, k.of, k.always, None, None)
            if isinstance(k, FieldSpec)
            else (k.name or "", attrgetter(k.attr), False, _FieldWriter(k.keys), k.absent)
            for k in keys
        )

    def add(self, body: object, values: list[Value]) -> list[Value]:
        """Append the values of a body, key by key; an inner object is an `Object`."""
        for name, of, always, inner, absent in self.steps:
            value = of(body)
            if inner is None:
                if value is not None or always:
                    values.append((name, value))
            elif not name:
                inner.add(value, values)
            elif value is not absent and value != absent:
                values.append((name, Object(inner.add(value, []))))
        return values


_WRITERS: Final = {
    payload_type: (
        form.block,
        _FieldWriter(form.keys),
        _FieldWriter(form.beside) if form.beside else None,
    )
    for payload_type, form in FORMS.items()
}


# A payload is written and then shown from the same values: the last one is cached.
_last: tuple[object, Sequence[Value]] = (None, ())


def parts_of(payload: Payload) -> Sequence[Value]:
    """The values of a body: its block, and the keys beside it."""
    global _last
    last_payload, parts = _last
    if last_payload is not payload:
        parts = _parts(payload)
        _last = (payload, parts)
    return parts


def _parts(payload: Payload) -> Sequence[Value]:
    block, keys, beside = _WRITERS[type(payload)]
    values = keys.add(payload, [])
    parts: list[Value] = values if block is None else [(block, Object(values))]
    return parts if beside is None else beside.add(payload, parts)
