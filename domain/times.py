"""Times: their wire form, UTC days and midnights."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Any, Final

MONTHS: Final = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip


def timestamp(at: datetime) -> str:
    """ISO 8601 UTC with milliseconds and a trailing Z (contract 1); an aware time."""
    utc = at if at.tzinfo is UTC else at.astimezone(UTC)
    return utc.isoformat(timespec="milliseconds")[:-6] + "Z"


def format_day(at: date) -> str:
    """A day in a sentence: 21 Dec 2026."""
    return f"{at.day} {MONTHS[at.month - 1]} {at.year}"


def format_minute(at: datetime) -> str:
    """A time in a sentence, to the minute: 21 Dec 2026, 18:03 UTC."""
    utc = at.astimezone(UTC)
    return f"{format_day(utc)}, {utc:%H:%M} UTC"


# The rows of a ledger are shown again and again, and writing a time costs more than the rest of
# showing it.
written_time = lru_cache(maxsize=16_384)(timestamp)


class _OnTheWire:
    """The pydantic serialization and schema of a time: `timestamp`, `date-time`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        schema = handler(source)
        schema["serialization"] = core_schema.plain_serializer_function_ser_schema(
            written_time, return_schema=core_schema.str_schema()
        )
        return schema

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, object]:
        return {"type": "string", "format": "date-time"}


Timestamp = Annotated[datetime, _OnTheWire()]
"""An aware time that leaves the service as `timestamp` writes it."""


def day_of(at: datetime) -> str:
    """The UTC calendar day."""
    utc = at if at.tzinfo is UTC else at.astimezone(UTC)
    return utc.date().isoformat()


@lru_cache(maxsize=64)
def bounds(day: str) -> tuple[datetime, datetime]:
    """(first moment, the one after its last) of a UTC day, remembered."""
    begins = datetime.fromisoformat(day).replace(tzinfo=UTC)
    return begins, begins + timedelta(days=1)


def from_unix(seconds: int) -> datetime:
    """The UTC time of unix seconds."""
    return datetime.fromtimestamp(seconds, UTC)


def midnight(now: datetime) -> datetime:
    """The next 00:00 UTC."""
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day + timedelta(days=1)


def moment_of(text: object) -> datetime | None:
    """The stored time that a text names; None where it names none, or none that is aware."""
    try:
        at = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return at if at is not None and at.tzinfo is not None else None
