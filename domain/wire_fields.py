"""Wire fields: metadata that names, describes or leaves out a published field.

The marks are plain metadata of a dataclass field, which pydantic reads where it builds schemas and
serializers (tools.model.serialization); the domain itself imports no pydantic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache, partial
from operator import is_
from typing import Any, Final, TypeAlias, TypeVar

S = TypeVar("S")

JsonObject: TypeAlias = Mapping[str, Any]
"""A JSON object as it was decoded: out of the configuration, a checkpoint, a signed message.

One function parses its keys at the boundary; no other code looks inside. An object with unknown
keys is a `Mapping[str, object]`.
"""

Args: TypeAlias = Mapping[str, Any]
"""The arguments of a log or an error by their Solidity names, each of the type that its ABI says:
uint as int, address and bytes as text."""


def wire_name(name: str) -> dict[str, object]:
    """The field's name on the wire, where Python does not take it."""
    return {"alias": name}


# Called for every such field of every answer: a partial needs no Python frame.
_is_none: Final = partial(is_, None)
LEFT_OUT: Final[dict[str, object]] = {"exclude_if": _is_none}
"""A field that an answer does not carry where it is None."""


def described(text: str) -> dict[str, object]:
    """The field's description in the published schema: its unit, or the author of its text."""
    return {"description": text}


SERVICES_LABEL: Final = described("the service's own label; null for a call that it does not know")


def copy_fields(shape: type[S], source: object, **values: object) -> S:
    """A dataclass of `values` and, for its other fields, the attributes that the source has by
    their names; what neither has keeps its default.

    Shapes: the source's class has slots, so that the class itself knows them.
    """
    for name in _shared_names(shape, type(source)):  # type: ignore[arg-type]  # classes are hashable
        if name not in values:
            values[name] = getattr(source, name)
    return shape(**values)


@cache
def _shared_names(shape: Any, source: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(shape) if hasattr(source, f.name))
