"""Record codec: reads a stored object, key by key, into a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, TypeAlias, cast

from domain.ledger.events.stored_json import CHOICES, Reads, StoredJson
from domain.ledger.fast_copy import fast_constructor
from domain.money import ZERO


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSpec:
    """One key of a stored object.

    Shapes: `of` gives the value of a payload that is written and shown; `reads` is None where the
    key follows from the others, and `attr` is what is read into. `always` stands there as null too,
    any other is left out where it has no value. Without a `needed` one the row is a note.
    """

    name: str
    of: Callable[[Any], object]
    attr: str
    reads: Reads | None
    always: bool = False
    needed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """Keys that make a value of their own: an object under `name`, or flat among their neighbours.

    Shapes: `absent` is the value where there is no such object.
    """

    attr: str
    factory: Callable[..., object]
    keys: tuple[FieldSpec, ...]
    name: str | None = None
    absent: object = None


Keys: TypeAlias = tuple[FieldSpec | Inner, ...]


# The results of readers that look at their own key alone, where that key is absent: most keys are.
_NOTHING: Final[Mapping[Reads, object]] = {
    StoredJson.text: None,
    StoredJson.number: None,
    StoredJson.flag: False,
    StoredJson.money: None,
    StoredJson.sum: ZERO,
    StoredJson.at: None,
    StoredJson.json: None,
    StoredJson.any: None,
}


class _Plan:
    """Mapping from keys to the fields of a record, by place.

    Shapes: `nothing` holds the values of absent keys, by attribute; `alone` the keys and inner
    objects that are read only where they are present, by name; `always` the keys whose reader looks
    at other keys or supplies a default; `flat` the values made of neighbouring keys.
    """

    __slots__ = ("alone", "always", "flat", "nothing")

    def __init__(self, keys: Keys, indexes: Mapping[str, int]):
        read = [(k, k.reads) for k in keys if isinstance(k, FieldSpec) and k.reads is not None]
        alone = [(k, reads) for k, reads in read if _is_alone(reads)]
        inners = [(k, RecordReader(k.factory, k.keys)) for k in keys if isinstance(k, Inner)]
        self.nothing = {k.attr: _NOTHING.get(reads) for k, reads in alone}
        self.nothing |= {k.attr: k.absent for k, _ in inners}
        self.alone: dict[str, tuple[int, Reads | None, RecordReader | None]] = {
            k.name: (indexes[k.attr], reads, None) for k, reads in alone
        }
        self.alone |= {k.name: (indexes[k.attr], None, reader) for k, reader in inners if k.name}
        self.always = tuple(
            (k.name, indexes[k.attr], reads) for k, reads in read if not _is_alone(reads)
        )
        self.flat = tuple((indexes[k.attr], reader) for k, reader in inners if not k.name)

    def fill(self, s: StoredJson, values: list[object]) -> None:
        """Read an object's keys into the values of a record, by field index."""
        alone, stored = self.alone, s.values
        for name in stored:
            if name in alone:
                index, reads, reader = alone[name]
                if reads is not None:
                    values[index] = reads(s, name)
                elif reader is not None and stored[name] is not None:
                    inner = s.sub(name)
                    if inner.is_object:
                        values[index] = reader.read_record(inner)
        for name, index, reads in self.always:
            values[index] = reads(s, name)
        for index, reader in self.flat:
            values[index] = reader.read_record(s)


def _is_alone(reads: Reads) -> bool:
    return reads in _NOTHING or reads in CHOICES


class RecordReader:
    """Reads one record type from stored objects; all that is the same for each row is prepared
    once, since every row that is read comes through here.
    """

    __slots__ = ("beside", "make", "needed", "nothing", "plan")

    def __init__(self, record_type: Callable[..., object], keys: Keys, beside: Keys = ()):
        record = cast(type[Any], record_type)
        indexes = {f.name: n for n, f in enumerate(fields(record))}
        self.make = fast_constructor(record)
        self.needed = tuple(
            (k.name, k.reads) for k in keys if isinstance(k, FieldSpec) and k.needed
        )
        self.plan = _Plan(keys, indexes)
        self.beside = _Plan(beside, indexes) if beside else None
        nothing = {f.name: f.default for f in fields(record)} | self.plan.nothing
        nothing |= self.beside.nothing if self.beside is not None else {}
        self.nothing = [*nothing.values()]

    def read_record(self, s: StoredJson, around: StoredJson | None = None) -> Any:
        """The record from its object and from the object around it."""
        values = self.nothing.copy()
        self.plan.fill(s, values)
        if self.beside is not None and around is not None:
            self.beside.fill(around, values)
        return self.make(*values)
