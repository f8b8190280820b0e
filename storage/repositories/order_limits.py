"""Order limits: daily counters, a person's own limits, wallets' nonces and the venue's requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from domain.money import Usdc
from domain.trading.modes import TradingSurface
from domain.trading.order_caps import Counter, DayUse, OrderLimits
from storage.codec import Table
from storage.sql import Repository, first, number

T = TypeVar("T")
_RESERVE: Final = (
    "INSERT INTO order_counters (scope, day, used_micros, reserved_micros) "
    "VALUES (:scope, :day, :used, :held) ON CONFLICT (scope, day) DO UPDATE "
    "SET reserved_micros = order_counters.reserved_micros + :held, "
    "used_micros = order_counters.used_micros + :used "
    "WHERE order_counters.used_micros + order_counters.reserved_micros + :n <= :most"
)
_SETTLE: Final = (
    "UPDATE order_counters SET reserved_micros = reserved_micros - :reserved, "
    "used_micros = used_micros + :used WHERE scope = :scope AND day = :day"
)
_USES: Final = Table(
    "order_counters", DayUse, names={"used": "used_micros", "reserved": "reserved_micros"}
)
_OWN: Final = Table(
    "own_limits",
    OrderLimits,
    names={"per_order": "per_order_micros", "per_day": "per_day_micros"},
    more=("user_id", "surface"),
)
_OF: Final = "user_id = :user_id AND surface = :surface"
_SET_OWN: Final = (
    "UPDATE own_limits SET per_order_micros = :per_order_micros, per_day_micros = :per_day_micros "
    f"WHERE {_OF}"
)
_REDUCE: Final = (
    f"{_SET_OWN} AND :per_order_micros <= per_order_micros AND :per_day_micros <= per_day_micros"
)
_CHANGE: Final = f"{_SET_OWN} AND per_order_micros = :was_order AND per_day_micros = :was_day"
_NEXT_NONCE: Final = (
    "INSERT INTO signer_nonces (signer, last) VALUES (:signer, :now) "
    "ON CONFLICT (signer) DO UPDATE SET last = CASE "
    "WHEN signer_nonces.last >= excluded.last THEN signer_nonces.last + 1 "
    "ELSE excluded.last END RETURNING last AS n"
)


class OrderCounterRepository(Repository):
    """The day's counters. What is reserved is checked by the statement that reserves it."""

    def reserve(self, counter: Counter, amount: Usdc, used: Usdc | None = None) -> bool:
        """Reserve an amount within the counter's limit, or count what was `used` of it already;
        False where the amount does not fit.
        """
        if amount > counter.limit:
            return False  # the first row of a day has nothing to be compared with
        values = {"scope": counter.scope, "day": counter.day, "most": counter.limit.micros}
        held = (amount.micros, 0) if used is None else (0, used.micros)
        done = self._sql.run(_RESERVE, **values, n=amount.micros, held=held[0], used=held[1])
        return done == 1

    def settle(self, scope: str, day: str, reserved: Usdc, used: Usdc) -> None:
        """Give back what was reserved, and count what was traded in its place."""
        values = {"reserved": reserved.micros, "used": used.micros}
        self._sql.run(_SETTLE, **values, scope=scope, day=day)

    def uses(self, counters: Sequence[Counter]) -> dict[Counter, DayUse]:
        """Return the values of counters, in the order given."""
        if not counters:
            return {}
        name = {f"s{n}": c.scope for n, c in enumerate(counters)}
        name |= {f"d{n}": c.day for n, c in enumerate(counters)}
        which = " OR ".join(f"(scope = :s{n} AND day = :d{n})" for n, _ in enumerate(counters))
        rows = self._sql.rows(f"SELECT * FROM order_counters WHERE {which}", **name)
        spent = {(r["scope"], r["day"]): _USES.record(r) for r in rows}
        return {c: spent.get((c.scope, c.day), DayUse()) for c in counters}


class OwnLimitRepository(Repository):
    """Limits of people, each on one surface."""

    def get(
        self, user_id: str, transport: TradingSurface, *, lock: bool = False
    ) -> OrderLimits | None:
        """A person's limits; None where they are still the starting ones. `lock` keeps other
        writers off them.
        """
        where = _OF + (self._sql.locks if lock else "")
        return _OWN.first(self._sql, where, user_id=user_id, surface=transport)

    def begin(self, user_id: str, transport: TradingSurface, start: OrderLimits) -> None:
        """Write the starting limits down where nothing is."""
        text = f"{_OWN.insert} ON CONFLICT (user_id, surface) DO NOTHING"
        self._sql.run(text, **_OWN.row(start, user_id=user_id, surface=transport))

    def reduce(self, user_id: str, transport: TradingSurface, to: OrderLimits) -> bool:
        """Set both limits where neither goes up; False where one would."""
        return self._sql.run(_REDUCE, **_OWN.row(to, user_id=user_id, surface=transport)) == 1

    def change(
        self, user_id: str, transport: TradingSurface, was: OrderLimits, to: OrderLimits
    ) -> bool:
        """Set both limits where they still are what they were; the operator's, and the steps of the
        terminal.
        """
        values = _OWN.row(to, user_id=user_id, surface=transport)
        before = {"was_order": was.per_order.micros, "was_day": was.per_day.micros}
        return self._sql.run(_CHANGE, **values, **before) == 1


class SignerNonceRepository(Repository):
    """The last nonce that was given out for a wallet; every process takes the next one here."""

    def next(self, signer: str, now_ms: int) -> int:
        """A nonce that no other order of this wallet has; the present, or one more than the
        last.
        """
        return number(self._sql, _NEXT_NONCE, signer=signer, now=now_ms)


class VenueWeightRepository(Repository):
    """The request budget that the processes of one outgoing address share."""

    def change(self, key: str, work: Callable[[str | None], tuple[str, T]]) -> T:
        """Replace the text under a key; others who change it wait."""
        text = "INSERT INTO venue_weights (key, body) VALUES (:key, '') ON CONFLICT DO NOTHING"
        self._sql.run(text, key=key)
        query = "SELECT body FROM venue_weights WHERE key = :key" + self._sql.locks
        row = first(self._sql, query, key=key)
        body, result = work(row["body"] or None if row else None)
        self._sql.run("UPDATE venue_weights SET body = :body WHERE key = :key", body=body, key=key)
        return result
