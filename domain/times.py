"""Times: their wire form, UTC days and midnights."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def timestamp(at: datetime) -> str:
    """ISO 8601 UTC with milliseconds and a trailing Z (contract 1); an aware time."""
    utc = at if at.tzinfo is UTC else at.astimezone(UTC)
    return utc.isoformat(timespec="milliseconds")[:-6] + "Z"


def day_of(at: datetime) -> str:
    """The UTC calendar day."""
    return at.astimezone(UTC).date().isoformat()


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
