"""Lazy property: worked out once, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy_property(Generic[T]):  # noqa: N801  # it stands where `property` does
    """`functools.cached_property` takes a lock before Python 3.12, which costs more than what a
    unit of work makes; one unit of work is never of two threads.
    """

    def __init__(self, make: Callable[[Any], T]):
        self._make, self.__doc__, self._name = make, make.__doc__, make.__name__

    @overload
    def __get__(self, of: None, owner: type) -> lazy_property[T]: ...

    @overload
    def __get__(self, of: object, owner: type) -> T: ...

    def __get__(self, of: object, owner: type) -> lazy_property[T] | T:
        if of is None:
            return self
        created = of.__dict__[self._name] = self._make(of)
        return created
