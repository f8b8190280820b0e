"""Replies of operations to the screens, as records that do not change."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, Final, NoReturn, TypeAlias

from domain.wire_fields import JsonObject

Json: TypeAlias = JsonObject
"""What an operation answered, or a part of it: its shape stands in docs/openapi.json."""
# Most of a reply, and nothing to be looked at again.
_VALUES: Final = frozenset({str, int, bool, NoneType})


def _fixed(*_: object, **__: object) -> NoReturn:
    raise TypeError("a record does not change")


class Record(dict[str, Any]):
    """Object of a reply, or what a page joins of several: `Record(reply, problem=None)` has the
    fields of both.

    It is made of values that do not change, so that its text can be the version of a page and it
    can be the key of a fragment. In a template `record.field` is the field, never a method, and a
    field that it does not have is an error.
    """

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _fixed
    update = setdefault = pop = popitem = clear = _fixed

    def __hash__(self) -> int:  # type: ignore[override]  # a dict has none
        return hash(frozenset(self.items()))


def pick(reply: Json, *names: str) -> Record:
    """The named fields alone: what a page does not show is no part of its version."""
    return Record((name, reply[name]) for name in names)


def freeze(value: object) -> Any:
    """A reply with its objects as records and its lists as tuples."""
    if isinstance(value, Mapping):
        parts = value.items()
        return Record({n: part if type(part) in _VALUES else freeze(part) for n, part in parts})
    return tuple(map(freeze, value)) if isinstance(value, list | tuple) else value


def thaw(value: object) -> Any:
    """A frozen part of a reply as an argument of an operation again."""
    if isinstance(value, Mapping):
        return {name: thaw(part) for name, part in value.items()}
    return list(map(thaw, value)) if isinstance(value, list | tuple) else value
