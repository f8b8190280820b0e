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
    """How a payload stands in a row: its keys in a `block`, and those `beside` it; without a block
    the row's kind says what it is.
    """

    block: str | None = None
    keys: Keys = ()
    beside: Keys = ()


@dataclass(frozen=True, slots=True)
class Nested:
    """What a reversed row told, as it stood."""

    what: Payload | None


def _key(name: str, reads: Reads, attr: str | None = None, **more: bool) -> FieldSpec:
    return FieldSpec(name=name, of=attrgetter(attr or name), attr=attr or name, reads=reads, **more)


def _texts(*names: str) -> tuple[FieldSpec, ...]:
    return tuple(_key(name, StoredJson.text) for name in names)


def _sums(*names: str) -> tuple[FieldSpec, ...]:
    return tuple(_key(name, StoredJson.sum, always=True) for name in names)


def _flag(name: str) -> FieldSpec:
    """Only true stands there."""
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


def _bought(s: StoredJson, name: str) -> bool:
    return s.text(name) == "buy"


def _follows(name: str, of: Callable[[Any], object]) -> FieldSpec:
    return FieldSpec(name=name, of=of, attr=name, reads=None, always=True)


def _amount(s: StoredJson, name: str) -> object:
    """Only a result may be negative, and what reverses one asks for its payload."""
    if s.values.get(name) is None:
        return None
    return s.sum(name) if _kind(s, "kind") in _SUMS else ZERO


def _way(s: StoredJson, name: str) -> object:
    what = s.text(name)
    return what if what in ("paused", "resumed") else None


def _kind(s: StoredJson, name: str) -> LedgerKind:
    try:
        return LedgerKind(s.text(name) or "")
    except ValueError:
        return LedgerKind.NOTE


_SUMS: Final = frozenset(
    {LedgerKind.DEPOSIT, LedgerKind.WITHDRAW, LedgerKind.PAYOUT, LedgerKind.MOVE}
)

_PLACE: Final = (_key("market", StoredJson.text), _key("address", StoredJson.text),
                 _key("selector", StoredJson.text), _key("label", StoredJson.text))  # fmt: skip
_TARGET: Final = Inner(name="target", attr="place", factory=CallTarget, keys=_PLACE, absent=NOWHERE)
_CALLED: Final = Inner(attr="place", factory=CallTarget, keys=(
    _key("target", StoredJson.text, "address", always=True),
    _key("selector", StoredJson.text, always=True),
    _key("market", StoredJson.text, always=True), _key("label", StoredJson.text, always=True),
))  # fmt: skip
_SAID: Final[Keys] = (
    Inner(
        name="position", attr="part", factory=LotLabel, keys=_texts("id", "market", "side", "label")
    ),
    _key("mark", StoredJson.money),
    _TARGET,
    _key("direction", one_of("in", "out")),
    *_texts("why", "text", "next_at", "fee_kind", "resource"),
    _key("preview", StoredJson.any),
    _flag("notional"),
    _flag("ordered"),
)


def _taken_back(s: StoredJson, name: str) -> Payload | None:
    """A row that reverses is itself never reversed, so that nothing nests any deeper."""
    inner = s.sub(name)
    return None if "reverses" in inner.values else parse_payload(_kind(s, "kind"), inner)


# The first block that is there says what is told, else the row's kind.
FORMS: Final[Mapping[type[Payload], Form]] = {
    LogReversed: Form(block="reverses", keys=(
        _key("event_id", text_or(""), always=True),
        _key("seq", StoredJson.number, always=True),
        FieldSpec(name="kind", of=lambda w: w.kind.value, attr="kind", reads=_kind),
        _key("amount_usdc", _amount, "amount", always=True),
        _key("tx_hash", StoredJson.text, always=True),
        _key("occurred_at", StoredJson.at, always=True),
        FieldSpec(name="payload", of=lambda w: Nested(w.what), attr="what", reads=_taken_back),
    ), beside=_texts("text")),
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
    ), beside=(_TARGET, *_texts("text"))),
    Executed: Form(block="executed", keys=(
        _CALLED, *_sums("spent", "received", "approved"), *_texts("agent", "data_hash"),
    ), beside=(_follows("direction", lambda w: "out" if w.spent else "in"),)),
    Unwound: Form(block="unwound", keys=(
        _CALLED, _follows("spent", lambda w: ZERO), *_sums("received"), *_texts("by", "data_hash"),
    ), beside=(_follows("direction", lambda w: "in"),)),
    Settled: Form(block="settled", keys=_sums("spent", "returned", "gain", "agent_fee")),
    Marked: Form(block="marked", keys=(
        *_sums("cash", "positions", "floor"), _key("block", StoredJson.number),
        *_texts("block_hash"),
    )),
    Control: Form(block="control", keys=(
        _key("what", _way, needed=True), *_texts("agent"),
    )),
    VenueFilled: Form(block="venue", keys=(
        *(_key(n, text_or(""), always=True) for n in ("venue", "network", "order_id", "product")),
        FieldSpec(name="side", of=_side, attr="is_buy", reads=_bought, always=True),
        *(_figure(n) for n in ("px", "size", "fee", "builder_fee")),
        _flag("first"), _flag("reduce_only"),
        _key("tid", StoredJson.number), _key("oid", StoredJson.number), _key("at", StoredJson.at),
    )),
    Deposited: Form(keys=(_key("from", StoredJson.text, "sender"),)),
    Withdrawn: Form(),
    AgentPaid: Form(keys=_texts("agent")),
    Stopped: Form(keys=(*_texts("reason", "by"), _flag("record_only"))),
    TermsSigned: Form(keys=_texts("digest", "signer_type")),
    PaidFee: Form(keys=_SAID),
    Reported: Form(keys=_SAID),
    Noted: Form(keys=_SAID),
}  # fmt: skip

BLOCKS: Final = tuple((f.block, made) for made, f in FORMS.items() if f.block is not None)
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


_MAKINGS: Final = {m: RecordReader(m, f.keys, f.beside) for m, f in FORMS.items()}
_BY_KIND: Final = {kind: _MAKINGS[made] for kind, made in BY_KIND.items()}
_REPORTED: Final = _MAKINGS[Reported]


def parse_payload(kind: LedgerKind, s: StoredJson) -> Payload:
    """What a stored payload tells."""
    if not _BLOCK_NAMES.isdisjoint(s.values):
        for block, created in BLOCKS:
            if s.values.get(block) is not None:
                parsed = _read(created, s.sub(block), s)
                return _read(Noted, s, s) or Noted() if parsed is None else parsed
    # What a kind alone tells needs no key.
    payload: Payload = _BY_KIND.get(kind, _REPORTED).read_record(s, s)
    return payload


def _read(created: type[Payload], s: StoredJson, around: StoredJson) -> Payload | None:
    """A payload out of its block and of what stands around it; None without what is needed."""
    making = _MAKINGS[created]
    for name, reads in making.needed:
        if reads is None or reads(s, name) is None:
            return None
    return cast(Payload, making.read_record(s, around))


Value: TypeAlias = tuple[str, object]
"""A key that stands in the row, and its value."""


@dataclass(frozen=True, slots=True)
class Object:
    """An object inside another, by its values."""

    values: Sequence[Value]


class _Telling:
    """How keys are written and shown, with what each asks for worked out once."""

    __slots__ = ("steps",)

    def __init__(self, keys: Keys):
        self.steps = tuple(
            (k.name, k.of, k.always, None, None)
            if isinstance(k, FieldSpec)
            else (k.name or "", attrgetter(k.attr), False, _Telling(k.keys), k.absent)
            for k in keys
        )

    def add(self, what: object, values: list[Value]) -> list[Value]:
        """Add what a payload tells, key by key; an inner object is an `Object`."""
        for name, of, always, inner, absent in self.steps:
            value = of(what)
            if inner is None:
                if value is not None or always:
                    values.append((name, value))
            elif not name:
                inner.add(value, values)
            elif value is not absent and value != absent:
                values.append((name, Object(inner.add(value, []))))
        return values


_TELLINGS: Final = {
    made: (form.block, _Telling(form.keys), _Telling(form.beside) if form.beside else None)
    for made, form in FORMS.items()
}


# What is written is shown next, out of the same values: the last one told is kept.
_last: tuple[object, Sequence[Value]] = (None, ())


def parts_of(payload: Payload) -> Sequence[Value]:
    """The values of a whole payload: its block, and what stands beside it."""
    global _last
    known, parts = _last
    if known is not payload:
        parts = _parts(payload)
        _last = (payload, parts)
    return parts


def _parts(payload: Payload) -> Sequence[Value]:
    block, keys, beside = _TELLINGS[type(payload)]
    values = keys.add(payload, [])
    parts: list[Value] = values if block is None else [(block, Object(values))]
    return parts if beside is None else beside.add(payload, parts)
