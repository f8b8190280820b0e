"""Payload schema: the one table of stored keys, used to read, write and show payloads.

A key is a field of its payload, and the field's type says how it is read and written; the table
names what does not follow from that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from decimal import Decimal
from functools import partial
from operator import attrgetter
from typing import Any, Final, Literal, TypeAlias, cast, get_args, get_origin, get_type_hints

from domain.ledger.events import payloads
from domain.ledger.events.event_kinds import LedgerKind
from domain.ledger.events.payloads import NOWHERE, CallTarget, Json, LotLabel, Payload
from domain.ledger.events.stored_json import StoredJson
from domain.ledger.fast_copy import fast_constructor
from domain.money import ZERO, Usdc

Reads: TypeAlias = Callable[[StoredJson, str], object]
"""How the value under a name is read."""
Of: TypeAlias = Callable[[Any], object]
"""The value of a payload that is written and shown under a name."""
Value: TypeAlias = tuple[str, object]
"""A key that stands in the row, and its value."""


@dataclass(frozen=True, slots=True)
class Nested:
    """The body of a reversed row, as it was stored."""

    body: Payload | None


@dataclass(frozen=True, slots=True)
class Object:
    """An object inside another, by its values."""

    values: Sequence[Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The layout of one payload type in a row: its keys in a `block`, and those `beside` it;
    without a block the row's kind identifies the type.

    Shapes: `names` are the keys of fields with another name. A value that is None is left out, but
    stands there as null among the `always`. Without a `needed` field the row is a note. `flat` are
    the fields of the target that stand among its neighbours, by their keys; `order` is that of the
    fields, where it is another. `reads` and `writes` are of fields that their type does not tell
    all of; `follows` are keys that are worked out, in the block or beside it, and never read.
    """

    block: str | None = None
    beside: Sequence[str] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    always: Sequence[str] = ()
    needed: str | None = None
    flat: Mapping[str, str] | None = None
    order: Sequence[str] = ()
    reads: Mapping[str, Reads] = field(default_factory=dict)
    writes: Mapping[str, Of] = field(default_factory=dict)
    follows: Mapping[str, Of] = field(default_factory=dict)
    follows_beside: Mapping[str, Of] = field(default_factory=dict)


def _amount(s: StoredJson, name: str) -> object:
    """The amount of a reversed row; 0 for kinds whose amount may be negative."""
    if s.values.get(name) is None:
        return None
    return s.sum(name) if _kind(s, "kind") in _SUMS else ZERO


def _change(s: StoredJson, name: str) -> str | None:
    change = s.text(name)
    return change if change in ("paused", "resumed") else None


def _kind(s: StoredJson, name: str) -> LedgerKind:
    try:
        return LedgerKind(s.text(name) or "")
    except ValueError:
        return LedgerKind.NOTE


def _reversed_payload(s: StoredJson, name: str) -> Payload | None:
    """The body of the reversed row; a reversal is itself never reversed, so nesting ends here."""
    inner = s.sub(name)
    return None if "reverses" in inner.values else parse_payload(_kind(s, "kind"), inner)


_SUMS: Final = frozenset(
    {LedgerKind.DEPOSIT, LedgerKind.WITHDRAW, LedgerKind.PAYOUT, LedgerKind.MOVE}
    | {LedgerKind.FEE, LedgerKind.NOTE}
)
# In the order in which they are stored.
_CALLED: Final = {"address": "target", "selector": "selector", "market": "market", "label": "label"}
_STATEMENT: Final = Form(names={"part": "position"})

# The first block present identifies the type, else the row's kind.
FORMS: Final[Mapping[type[Payload], Form]] = {
    payloads.LogReversed: Form(
        block="reverses",
        beside=("text",),
        names={"amount": "amount_usdc", "body": "payload"},
        always=("seq", "amount", "tx_hash", "occurred_at"),
        reads={"kind": _kind, "amount": _amount, "body": _reversed_payload},
        writes={"kind": lambda w: w.kind.value, "body": lambda w: Nested(w.body)},
    ),
    payloads.ClaimEnded: Form(block="claim", needed="outcome"),
    payloads.PaymentUnexplained: Form(block="unexplained"),
    payloads.OwnerNoticed: Form(block="notice", needed="outcome"),
    payloads.RefusedAttempt: Form(block="refusal", always=("source", "check")),
    payloads.ApprovalDecided: Form(
        block="approval",
        beside=("target", "text"),
        always=("approval_id",),
        follows={"clause": lambda w: 6},
    ),
    payloads.Executed: Form(
        block="executed",
        flat=_CALLED,
        follows_beside={"direction": lambda w: "out" if w.spent else "in"},
    ),
    payloads.Unwound: Form(
        block="unwound",
        flat=_CALLED,
        follows={"spent": lambda w: ZERO},
        follows_beside={"direction": lambda w: "in"},
    ),
    payloads.PurseMoved: Form(block="purse_moved", names={"sender": "from"}, needed="change"),
    payloads.Settled: Form(block="settled"),
    payloads.Marked: Form(block="marked"),
    payloads.Control: Form(
        block="control", names={"change": "what"}, reads={"change": _change}, needed="change"
    ),
    payloads.VenueFilled: Form(
        block="venue",
        names={"is_buy": "side"},
        reads={"is_buy": lambda s, name: s.text(name) == "buy"},
        writes={"is_buy": lambda w: "buy" if w.is_buy else "sell"},
    ),
    payloads.Deposited: Form(names={"sender": "from"}),
    payloads.Withdrawn: Form(),
    payloads.AgentPaid: Form(),
    payloads.Stopped: Form(),
    payloads.TermsSigned: Form(),
    payloads.PaidFee: _STATEMENT,
    payloads.Reported: _STATEMENT,
    payloads.Noted: _STATEMENT,
}
BLOCKS: Final = tuple((f.block, kind) for kind, f in FORMS.items() if f.block is not None)
BY_KIND: Final[Mapping[LedgerKind, type[Payload]]] = {
    LedgerKind.DEPOSIT: payloads.Deposited,
    LedgerKind.WITHDRAW: payloads.Withdrawn,
    LedgerKind.PAYOUT: payloads.AgentPaid,
    LedgerKind.STOP: payloads.Stopped,
    LedgerKind.SIGNED: payloads.TermsSigned,
    LedgerKind.FEE: payloads.PaidFee,
    LedgerKind.NOTE: payloads.Noted,
}

# How a value of a type is read, and what an absent one reads as.
_READS: Final[Mapping[object, tuple[Reads, object]]] = {
    str | None: (StoredJson.text, None),
    int | None: (StoredJson.number, None),
    bool: (StoredJson.flag, False),
    Usdc: (StoredJson.sum, ZERO),
    Usdc | None: (StoredJson.money, None),
    datetime | None: (StoredJson.at, None),
    Json | None: (StoredJson.json, None),
    Decimal: (StoredJson.figure, None),
}
_ANY: Final[tuple[Reads, object]] = (StoredJson.any, None)
_OBJECTS: Final[Mapping[object, tuple[type, object]]] = {
    CallTarget: (CallTarget, NOWHERE),
    LotLabel | None: (LotLabel, None),
}
# Read where they are absent too: they look at other keys, or have to be there.
_NEVER_ABSENT: Final = (_kind, _reversed_payload, StoredJson.figure)


def _one_of(options: frozenset[object], s: StoredJson, name: str) -> object:
    """One of some texts; anything else reads as None."""
    value = s.values.get(name)
    return value if isinstance(value, str) and value in options else None


def _text_or(default: str, s: StoredJson, name: str) -> str:
    return s.text(name) or default


def _reading(hint: object, default: object) -> tuple[Reads, object]:
    if hint is str:
        text = "" if default is MISSING else str(default)
        return partial(_text_or, text), text
    choices = next((one for one in (hint, *get_args(hint)) if get_origin(one) is Literal), None)
    if choices is not None:
        return partial(_one_of, frozenset(get_args(choices))), None
    return _READS.get(hint, _ANY)


def _writing(hint: object, name: str) -> Of:
    if hint is Decimal:  # to its own decimals
        return lambda w: format(getattr(w, name), "f")
    if hint is bool:  # stored only where it is true
        return lambda w: getattr(w, name) or None
    return attrgetter(name)


class _Keys:
    """Some keys of a record, prepared once, since every row that is read comes through here.

    Shapes: `alone` are the keys that are read only where they are present, by name, with the place
    of their field; `always` those that are read in any case; `flat` a target made of neighbouring
    keys; `steps` what is written.
    """

    __slots__ = ("_alone", "_always", "_flat", "_steps", "nothing")

    def __init__(self, record: type, names: Sequence[str], form: Form, follows: Mapping[str, Of]):
        hints, declared = get_type_hints(record), [*fields(record)]
        places = {f.name: place for place, f in enumerate(declared)}
        self.nothing: dict[str, object] = {}
        self._alone: dict[str, tuple[int, Reads | None, _Record | None]] = {}
        self._always: list[tuple[str, int, Reads]] = []
        self._flat: list[tuple[int, _Record]] = []
        self._steps: list[tuple[str, Of, bool, _Record | None, object]] = []
        for name in names:
            key, hint, place = form.names.get(name, name), hints[name], places[name]
            if hint in _OBJECTS:
                kind, absent = _OBJECTS[hint]
                self.nothing[name] = absent
                if form.flat is None:
                    inner = _Record(kind, Form())
                    self._alone[key] = (place, None, inner)
                else:
                    inner, key = (
                        _Record(
                            kind, Form(names=form.flat, always=(*form.flat,), order=(*form.flat,))
                        ),
                        "",
                    )
                    self._flat.append((place, inner))
                self._steps.append((key, attrgetter(name), False, inner, absent))
                continue
            by_type, self.nothing[name] = _reading(hint, declared[place].default)
            reads = form.reads.get(name, by_type)
            if reads in _NEVER_ABSENT:
                self._always.append((key, place, reads))
            else:
                self._alone[key] = (place, reads, None)
            always = name in form.always or hint in (str, Usdc, Decimal)
            of = form.writes.get(name) or _writing(hint, name)
            self._steps.append((key, of, always, None, None))
        # Behind the first: a checkpoint has the keys of a payload in their order.
        self._steps[1:1] = [(key, of, True, None, None) for key, of in follows.items()]

    def reading(self, key: str) -> tuple[str, Reads]:
        """The reading of a key."""
        return key, self._alone[key][1] or StoredJson.any

    def fill(self, s: StoredJson, values: list[object]) -> None:
        """Read an object's keys into the values of a record, by field index."""
        alone, stored = self._alone, s.values
        for name in stored:
            if name in alone:
                place, reads, record = alone[name]
                if reads is not None:
                    values[place] = reads(s, name)
                elif record is not None and stored[name] is not None:
                    inner = s.sub(name)
                    if inner.is_object:
                        values[place] = record.read(inner)
        for name, place, reads in self._always:
            values[place] = reads(s, name)
        for place, record in self._flat:
            values[place] = record.read(s)

    def add(self, body: object, values: list[Value]) -> list[Value]:
        """Append the values of a body, key by key; an inner object is an `Object`."""
        for name, of, always, inner, absent in self._steps:
            value = of(body)
            if inner is None:
                if value is not None or always:
                    values.append((name, value))
            elif not name:
                inner.keys.add(value, values)
            elif value is not absent and value != absent:
                values.append((name, Object(inner.keys.add(value, []))))
        return values


class _Record:
    """One record type in its stored form: both ways."""

    __slots__ = ("_beside", "_block", "_make", "_needed", "_nothing", "keys")

    def __init__(self, record: type, form: Form):
        names = [f.name for f in fields(record)]
        own = [name for name in form.order or names if name not in form.beside]
        self._block = form.block
        self._make: Callable[..., object] = fast_constructor(record)
        self.keys = _Keys(record, own, form, form.follows)
        without_flat = Form(names=form.names, always=form.always)
        beside = form.beside or form.follows_beside
        self._beside = (
            _Keys(record, form.beside, without_flat, form.follows_beside) if beside else None
        )
        nothing = self.keys.nothing | (self._beside.nothing if self._beside is not None else {})
        self._nothing = [nothing[name] for name in names]
        self._needed = form.needed and self.keys.reading(form.names.get(form.needed, form.needed))

    def read(self, s: StoredJson, around: StoredJson | None = None) -> Any:
        """The record from its object and from the object around it; None where its needed value is
        missing.
        """
        if self._needed:
            key, reads = self._needed
            if reads(s, key) is None:
                return None
        values = self._nothing.copy()
        self.keys.fill(s, values)
        if self._beside is not None and around is not None:
            self._beside.fill(around, values)
        return self._make(*values)

    def parts(self, payload: Payload) -> Sequence[Value]:
        """The values of a body: its block, and the keys beside it."""
        values = self.keys.add(payload, [])
        parts: list[Value] = values if self._block is None else [(self._block, Object(values))]
        return parts if self._beside is None else self._beside.add(payload, parts)


_RECORDS: Final = {kind: _Record(kind, form) for kind, form in FORMS.items()}
_BLOCKS: Final = {block: _RECORDS[kind] for block, kind in BLOCKS}
_BY_KIND: Final = {kind: _RECORDS[payload_type] for kind, payload_type in BY_KIND.items()}
_REPORTED, _NOTED = _RECORDS[payloads.Reported], _RECORDS[payloads.Noted]


def parse_payload(kind: LedgerKind, s: StoredJson) -> Payload:
    """The body of a stored payload.

    Errors: none; a block without its needed keys reads as a note.
    """
    if not _BLOCKS.keys().isdisjoint(s.values):
        for block, record in _BLOCKS.items():
            if s.values.get(block) is not None:
                payload = record.read(s.sub(block), s)
                return cast(Payload, _NOTED.read(s) if payload is None else payload)
    # A type that its kind alone identifies needs no key.
    return cast(Payload, _BY_KIND.get(kind, _REPORTED).read(s))


# A payload is written and then shown from the same values: the last one is cached.
_last: tuple[object, Sequence[Value]] = (None, ())


def parts_of(payload: Payload) -> Sequence[Value]:
    """The values of a body: its block, and the keys beside it."""
    global _last
    last_payload, parts = _last
    if last_payload is not payload:
        parts = _RECORDS[type(payload)].parts(payload)
        _last = (payload, parts)
    return parts
