"""Times: a UTC day by its name, and by its bounds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from domain.times import bounds, day_of

ZONES = st.integers(-23, 23).map(lambda hours: timezone(timedelta(hours=hours)))
HOURS = st.integers(0, 20_000).map(lambda n: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=n))
TIMES = st.builds(lambda at, zone: at.astimezone(zone), HOURS, ZONES)


@given(TIMES, TIMES)
def test_a_time_lies_in_the_bounds_of_its_own_day_alone(at: datetime, other: datetime) -> None:
    begins, ends = bounds(day_of(other))
    assert (begins <= at < ends) == (day_of(at) == day_of(other))


def test_midnight_belongs_to_the_day_that_it_begins() -> None:
    midnight = datetime(2026, 11, 2, tzinfo=UTC)
    assert bounds("2026-11-02")[0] == midnight == bounds("2026-11-01")[1]
