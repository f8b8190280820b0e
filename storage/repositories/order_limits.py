"""Order limits: daily counters, and a person's own limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from domain.money import Usdc
from domain.trading.modes import TradingSurface
from domain.trading.order_caps import Counter, DayUse, OrderLimits
from storage.sql import Sql, columns, first

_RESERVE: Final = (
    "INSERT INTO order_counters (scope, day, used_micros, reserved_micros) "
    "VALUES (:scope, :day, :used, :held) ON CONFLICT (scope, day) DO UPDATE "
    "SET reserved_micros = order_counters.reserved_micros + :held, "
    "used_micros = order_counters.used_micros + :used "
    "WHERE order_counters.used_micros + order_counters.reserved_micros + :n <= :most"
)


class OrderCounterRepository:
    """The day's counters. What is reserved is checked by the statement that reserves it."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def reserve(self, counter: Counter, amount: Usdc, used: Usdc | None = None) -> bool:
        """Reserve an amount within the counter's limit, or count what was `used` of it already;
        False where the amount does not fit.
        """
        if amount > counter.limit:
            return False  # the first row of a day has nothing to be compared with
        done = self._sql.run(
            _RESERVE,
            n=amount.micros,
            held=amount.micros if used is None else 0,
            used=0 if used is None else used.micros,
            scope=counter.scope,
            day=counter.day,
            most=counter.limit.micros,
        )
        return done == 1

    def settle(self, scope: str, day: str, reserved: Usdc, used: Usdc) -> None:
        """Give back what was reserved, and count what was traded in its place."""
        self._sql.run(
            "UPDATE order_counters SET reserved_micros = reserved_micros - :reserved, "
            "used_micros = used_micros + :used WHERE scope = :scope AND day = :day",
            reserved=reserved.micros,
            used=used.micros,
            scope=scope,
            day=day,
        )

    def uses(self, counters: Sequence[Counter]) -> dict[Counter, DayUse]:
        """Return the values of counters, in the order given."""
        if not counters:
            return {}
        name = {f"s{n}": c.scope for n, c in enumerate(counters)}
        name |= {f"d{n}": c.day for n, c in enumerate(counters)}
        which = " OR ".join(f"(scope = :s{n} AND day = :d{n})" for n, _ in enumerate(counters))
        rows = self._sql.rows(f"SELECT * FROM order_counters WHERE {which}", **name)
        spent = {
            (r["scope"], r["day"]): DayUse(
                used=Usdc(r["used_micros"]), reserved=Usdc(r["reserved_micros"])
            )
            for r in rows
        }
        return {c: spent.get((c.scope, c.day), DayUse()) for c in counters}


class OwnLimitRepository:
    """Limits of people, each on one surface."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def get(
        self, user_id: str, transport: TradingSurface, *, lock: bool = False
    ) -> OrderLimits | None:
        """A person's limits; None where they are still the starting ones. `lock` keeps other
        writers off them.
        """
        tail = self._sql.locks if lock else ""
        row = first(
            self._sql,
            "SELECT per_order_micros, per_day_micros FROM own_limits "
            "WHERE user_id = :user AND surface = :surface" + tail,
            user=user_id,
            surface=transport,
        )
        if row is None:
            return None
        return OrderLimits(
            per_order=Usdc(row["per_order_micros"]), per_day=Usdc(row["per_day_micros"])
        )

    def begin(self, user_id: str, transport: TradingSurface, start: OrderLimits) -> None:
        """Write the starting limits down where nothing is."""
        self._sql.run(
            "INSERT INTO own_limits "
            + columns(("user_id", "surface", "per_order_micros", "per_day_micros"))
            + " ON CONFLICT (user_id, surface) DO NOTHING",
            user_id=user_id,
            surface=transport,
            per_order_micros=start.per_order.micros,
            per_day_micros=start.per_day.micros,
        )

    def reduce(self, user_id: str, transport: TradingSurface, to: OrderLimits) -> bool:
        """Set both limits where neither goes up; False where one would."""
        done = self._sql.run(
            "UPDATE own_limits SET per_order_micros = :per_order, per_day_micros = :per_day "
            "WHERE user_id = :user AND surface = :surface "
            "AND :per_order <= per_order_micros AND :per_day <= per_day_micros",
            user=user_id,
            surface=transport,
            per_order=to.per_order.micros,
            per_day=to.per_day.micros,
        )
        return done == 1

    def change(
        self, user_id: str, transport: TradingSurface, was: OrderLimits, to: OrderLimits
    ) -> bool:
        """Set both limits where they still are what they were; the operator's, and the steps of the
        terminal.
        """
        done = self._sql.run(
            "UPDATE own_limits SET per_order_micros = :per_order, per_day_micros = :per_day "
            "WHERE user_id = :user AND surface = :surface "
            "AND per_order_micros = :was_order AND per_day_micros = :was_day",
            user=user_id,
            surface=transport,
            per_order=to.per_order.micros,
            per_day=to.per_day.micros,
            was_order=was.per_order.micros,
            was_day=was.per_day.micros,
        )
        return done == 1
