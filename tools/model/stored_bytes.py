"""Cached counts of the bytes that owners stored today."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

OWNERS_MAX: Final = 10_000


@dataclass(slots=True)
class OwnerDay:
    """An owner's day: what the database says of it, and what is not written down yet."""

    day: str
    written: int
    funded: bool
    since: int = 0


@dataclass(slots=True)
class OwnerDays:
    """The days of owners of whom this process stored something, the last of them."""

    days: OrderedDict[str, OwnerDay] = field(default_factory=OrderedDict)

    def keep(self, owner_id: str, day: OwnerDay) -> OwnerDay:
        """Remember a day."""
        self.days[owner_id] = day
        self.days.move_to_end(owner_id)
        while len(self.days) > OWNERS_MAX:
            self.days.popitem(last=False)
        return day
