"""The codec of stored values: records as JSON and as rows, by the types of their fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import (
    Any,
    Final,
    Generic,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from domain.money import Usdc
from storage.cursors import keys_of
from storage.sql import Row, Sql, canonical, columns, first, micros, moment

T = TypeVar("T")
Stored: TypeAlias = Any
"""A value, or what is stored of it: JSON, or what a column holds."""
Way = Callable[[Stored], Stored]


@dataclass(frozen=True, slots=True)
class Codec:
    """Both ways between a value and its stored form; None where that is the value itself."""

    to: Way | None = None
    back: Way | None = None

    def dump(self, value: Stored) -> Stored:
        """The stored form of a value."""
        return value if self.to is None else self.to(value)

    def load(self, stored: Stored) -> Stored:
        """The value behind a stored form."""
        return stored if self.back is None else self.back(stored)

    def optional(self) -> Codec:
        """The same for a value that may be None."""
        return self._within(lambda way: lambda value: None if value is None else way(value))

    def in_mapping(self) -> Codec:
        """The same for each value of a mapping."""
        each = self._within(lambda way: lambda of: {key: way(value) for key, value in of.items()})
        return Codec(each.to or dict, each.back)

    def in_tuple(self) -> Codec:
        """The same for each value of a tuple, which JSON has as a list."""
        each = self._within(lambda way: lambda values: [way(one) for one in values])
        back = each.back
        return Codec(each.to or list, (lambda values: tuple(back(values))) if back else tuple)

    def as_text(self) -> Codec:
        """The same as canonical JSON text, as a column holds it."""
        return Codec(
            lambda value: canonical(self.dump(value)), lambda text: self.load(json.loads(text))
        )

    def _within(self, around: Callable[[Way], Way]) -> Codec:
        return Codec(self.to and around(self.to), self.back and around(self.back))


PLAIN: Final = Codec()
MICROS: Final = Codec(micros, moment)
ISO: Final = Codec(datetime.isoformat, datetime.fromisoformat)
LISTED: Final = Codec(list, tuple)
_SCALARS: Final[Mapping[object, Codec]] = {
    Usdc: Codec(attrgetter("micros"), Usdc),
    Decimal: Codec(lambda figure: format(figure, "f"), Decimal),
}


def _hints(record: Stored) -> Mapping[str, object]:
    hints = get_type_hints(record)
    return {field.name: hints[field.name] for field in fields(record)}


hints_of: Final[Callable[[object], Mapping[str, object]]] = cache(_hints)
"""The types of a record's fields, by name."""


class Codecs:
    """The codecs of JSON values by their types; `special` are those that no rule gives, and `at`
    that of a time. A record is an object of its fields, or a list of their values where it is among
    `lists`.
    """

    def __init__(
        self, at: Codec = MICROS, lists: Iterable[type] = (), special: Mapping[object, Codec] = {}
    ):
        self._lists = frozenset(lists)
        self._of: dict[object, Codec] = {datetime: at, **_SCALARS, **special}

    def of(self, kind: object) -> Codec:
        """The codec of a type."""
        codec = self._of.get(kind)
        if codec is None:
            codec = self._of[kind] = self._made(kind)
        return codec

    def put(self, kind: type, codec: Codec) -> Codec:
        """Take a codec for those of a type, and return it."""
        self._of[kind] = codec
        return codec

    def _made(self, kind: Stored) -> Codec:
        base: Stored = get_origin(kind) or kind
        args = get_args(kind)
        if base in (Union, UnionType):
            inner = [arg for arg in args if arg is not NoneType]
            return self.of(inner[0]).optional() if len(inner) == 1 else PLAIN
        if base is tuple:
            return self.of(args[0]).in_tuple() if args[-1] is Ellipsis else LISTED
        if not isinstance(base, type):
            return PLAIN
        if issubclass(base, Mapping):
            return self.of(args[1]).in_mapping()
        if issubclass(base, Enum):
            return Codec(attrgetter("value"), base)
        return self.record(base) if is_dataclass(base) else PLAIN

    def record(
        self, kind: Stored, names: Iterable[str] | Mapping[str, str] = (), *, empty: object = None
    ) -> Codec:
        """Take a codec for a record: of its fields, or of some by their stored names, in order. Of
        a sparse one, with an `empty` example, only what differs from that is stored.
        """
        named = names if isinstance(names, Mapping) else {n: n for n in names}
        some = Fields(named or {n: n for n in hints_of(kind)}, kind, self.of)

        def sparse(record: object) -> dict[str, object]:
            differing = {n for n in some.names if getattr(record, n) != getattr(empty, n)}
            return {n: v for n, v in some.dump(record).items() if n in differing}

        def load(raw: Row) -> object:
            return kind(**some.load(raw, raw))

        if kind in self._lists:
            stored = [*some.names.values()]
            listed = Codec(some.values, lambda raw: load(dict(zip(stored, raw, strict=True))))
            return self.put(kind, listed)
        return self.put(kind, Codec(some.dump if empty is None else sparse, load))


class Fields:
    """Some fields of a record under their stored names."""

    def __init__(
        self,
        names: Mapping[str, str],
        record: type,
        codec: Callable[[object], Codec],
        special: Mapping[str, Codec] = {},
    ):
        self.names = names
        codecs = [special.get(name) or codec(hints_of(record)[name]) for name in names]
        got = attrgetter(*names)
        self._got = got if len(names) > 1 else lambda record: (got(record),)
        self._dumps = [one.to for one in codecs]
        self._loads = [(n, s, one.back) for (n, s), one in zip(names.items(), codecs, strict=True)]
        self._plain = not any(self._dumps)

    def values(self, record: object) -> list[object]:
        """The stored values, in order."""
        got = self._got(record)
        if self._plain:
            return list(got)
        return [way(v) if way else v for way, v in zip(self._dumps, got, strict=True)]

    def dump(self, record: object) -> dict[str, object]:
        """The stored values, by name."""
        return dict(zip(self.names.values(), self.values(record), strict=True))

    def load(self, raw: Row, there: Iterable[str] | None = None) -> dict[str, object]:
        """The fields behind stored values: all of them, or those that are `there`."""
        some = self._loads if there is None else [one for one in self._loads if one[1] in there]
        return {n: way(raw[s]) if way else raw[s] for n, s, way in some}


BODIES: Final = Codecs()
"""What stands in JSON beside the columns of a row."""


class Table(Generic[T]):
    """A table whose rows are values of a record, a column a field.

    Shapes: `names` has the columns of fields whose name is another, None where there is none;
    `body` the fields that stand together in the JSON column `body`, with their keys; `more` the
    columns that no field tells of: their values are given beside a record. `key` is the primary
    key, `fixed` what an `upsert` leaves as it is; `special` the codecs of some fields.
    """

    def __init__(
        self,
        name: str,
        record: type[T],
        *,
        key: str = "",
        names: Mapping[str, str | None] = {},
        body: Mapping[str, str] = {},
        more: Sequence[str] = (),
        fixed: Sequence[str] = (),
        special: Mapping[str, Codec] = {},
        codecs: Codecs = BODIES,
    ):
        self.name, self._record = name, record
        all_names = {n: names.get(n, n) for n in hints_of(record) if n not in body}
        own = {n: column for n, column in all_names.items() if column is not None}
        self._columns = Fields(own, record, lambda kind: _column(kind, codecs), special)
        self._body = Fields(body, record, codecs.of) if body else None
        self.columns = tuple(dict.fromkeys((*own.values(), *(("body",) if body else ()), *more)))
        self.insert = f"INSERT INTO {name} {columns(self.columns)}"
        sets = (f"{n} = excluded.{n}" for n in self.columns if n not in (*key.split(", "), *fixed))
        self.upsert = f"{self.insert} ON CONFLICT ({key}) DO UPDATE SET {', '.join(sets)}"

    def row(self, record: T, **more: object) -> Row:
        """The row of a record."""
        row = self._columns.dump(record)
        if self._body is not None and "body" not in more:
            row["body"] = canonical(self._body.dump(record))
        return row | more

    def body(self, record: T) -> dict[str, Stored]:
        """The body of a record's row."""
        return self._body.dump(record) if self._body is not None else {}

    def record(self, row: Row, body: Row | None = None, /, **more: object) -> T:
        """The record of a row; `more` are the fields that it does not tell of."""
        values = self._columns.load(row) | more
        if self._body is not None:
            raw = json.loads(row["body"]) if body is None else body
            values |= self._body.load(raw, raw)
        return self._record(**values)

    def first(self, sql: Sql, where: str, /, **values: object) -> T | None:
        """The record of the first row, or None; `where` and what stands behind it."""
        row = first(sql, f"SELECT * FROM {self.name} WHERE {where}", **values)
        return None if row is None else self.record(row)

    def all(self, sql: Sql, where: str, /, **values: object) -> list[T]:
        """The records of all rows; `where` and what stands behind it."""
        rows = sql.rows(f"SELECT * FROM {self.name} WHERE {where}", **values)
        return [self.record(row) for row in rows]

    def page(
        self, sql: Sql, where: str, by: str, after: str | None, limit: int, /, **values: object
    ) -> list[T]:
        """A page of records behind a cursor, newest first; `by` names a time and an id."""
        time, name = by.split(", ")
        at, last = keys_of(after, (int, str)) if after else (2**62, "")
        where += f" AND ({by}) < (:at, :last) ORDER BY {time} DESC, {name} DESC LIMIT :most"
        return self.all(sql, where, at=at, last=last, most=limit, **values)

    def add(self, sql: Sql, record: T, /, **more: object) -> None:
        """Store a new row."""
        sql.run(self.insert, **self.row(record, **more))


def _column(kind: object, codecs: Codecs) -> Codec:
    """The codec of a column: what is neither a number nor a text is JSON."""
    if kind is bool:
        return Codec(int, bool)
    codec, inner = codecs.of(kind), get_args(kind) if get_origin(kind) is UnionType else (kind,)
    is_json = any(
        get_origin(one) in (tuple, Mapping) or (is_dataclass(one) and one is not Usdc)
        for one in inner
    )
    return codec.as_text() if is_json else codec
