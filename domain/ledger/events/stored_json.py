"""Lenient readers of a stored object: an unusable value is noted and reads as None."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Final

from domain.ledger.events.payloads import Json
from domain.money import ZERO, Usdc
from domain.refusals import Refused
from domain.times import moment_of

_FIGURE: Final = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?")


class StoredJson:
    """One stored object while it is read; what is unusable is noted once, by its path."""

    __slots__ = ("_bad", "is_object", "path", "values")

    def __init__(self, stored: object, path: str, bad: list[str]):
        self.path, self._bad = path, bad
        self.values: Mapping[str, object]
        if type(stored) is dict or isinstance(stored, Mapping):
            self.is_object, self.values = True, stored
            return
        self.is_object, self.values = False, {}
        if stored is not None:
            bad.append(path)

    def note(self, name: str) -> None:
        """Note that the value under a name is unusable."""
        self._bad.append(f"{self.path}.{name}" if self.path else name)

    def sub(self, name: str) -> StoredJson:
        """The object under a name."""
        path = f"{self.path}.{name}" if self.path else name
        return StoredJson(self.values.get(name), path, self._bad)

    def text(self, name: str) -> str | None:
        """A text."""
        value = self.values.get(name)
        if value is None or isinstance(value, str):
            return value
        self.note(name)
        return None

    def number(self, name: str) -> int | None:
        """A whole number."""
        value = self.values.get(name)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        self.note(name)
        return None

    def flag(self, name: str) -> bool:
        """A flag; anything but true is false."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, bool):
            self.note(name)
        return value is True

    def money(self, name: str) -> Usdc | None:
        """An amount that may be missing; an unusable one is 0."""
        value = self.values.get(name)
        if value is None:
            return None
        try:
            amount = Usdc.parse(value)
        except Refused:
            amount = None
        if amount is None or amount < ZERO:
            self.note(name)
            return ZERO
        return amount

    def sum(self, name: str) -> Usdc:
        """An amount; a missing one is 0."""
        amount = self.money(name)
        return ZERO if amount is None else amount

    def figure(self, name: str) -> Decimal:
        """A plain decimal figure, of either sign; an unusable one, or none, is 0."""
        value = self.values.get(name)
        if isinstance(value, str) and _FIGURE.fullmatch(value):
            return Decimal(value)
        self.note(name)
        return Decimal(0)

    def at(self, name: str) -> datetime | None:
        """A moment."""
        value = self.text(name)
        at = moment_of(value)
        if value is not None and at is None:
            self.note(name)
        return at

    def json(self, name: str) -> Json | None:
        """An object that is passed on unread."""
        s = self.sub(name)
        return s.values if s.is_object else None

    def any(self, name: str) -> object:
        """A value of any type, unchecked."""
        return self.values.get(name)
