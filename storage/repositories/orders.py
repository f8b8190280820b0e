"""Orders and their fills: searchable values in columns, the rest as canonical JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from domain.money import ZERO, Usdc
from domain.refusals import Refused, refusal
from domain.trading.modes import Mode
from domain.trading.orders import (
    DONE,
    PENDING,
    UNDER_WAY,
    UNSENT,
    Order,
    OrderFill,
)
from domain.trading.venue_values import Network
from storage.repositories.order_codec import COLUMNS, fill_body, fill_of, order_of, row_of
from storage.sql import (
    Row,
    Sql,
    canonical,
    columns,
    first,
    in_turns,
    micros,
    moment,
)

_SHOWN_AT_MOST: Final = 200
_NEWEST: Final = 20
_LAST: Final = 2**63 - 1


def _in(words: Sequence[str] | frozenset[str]) -> str:
    """A list of our own words for an IN; none of them is a caller's."""
    return ", ".join(f"'{w}'" for w in sorted(words))


SUMS: Final = (
    "SUM(counted_micros) AS n, "
    f"SUM(CASE WHEN status IN ({_in(DONE)}) THEN counted_micros ELSE 0 END) AS done FROM orders "
)
COUNTED: Final = (
    f"SELECT mode, {SUMS}WHERE mandate_id = :mandate AND counted_day = :day GROUP BY mode"
)


class OrderRepository:
    """The orders, each changed only from the state that it was read in."""

    def __init__(self, sql: Sql):
        self._sql = sql
        self._lock = sql.locks

    def add(self, order: Order) -> Order:
        """Store a new order, and give it back."""
        self._sql.run("INSERT INTO orders " + columns(COLUMNS), **row_of(order))
        self._turned(order, None)
        return order

    def get(self, order_id: str, *, lock: bool = False) -> Order | None:
        """An order by its id; `lock` keeps other writers off it."""
        tail = self._lock if lock else ""
        row = first(self._sql, "SELECT * FROM orders WHERE order_id = :id" + tail, id=order_id)
        return self._order(row)

    def of_confirm(self, confirm_hash: str) -> Order | None:
        """The order that a confirm id was given out for, used or not."""
        row = first(self._sql, "SELECT * FROM orders WHERE confirm_hash = :hash", hash=confirm_hash)
        return self._order(row)

    def save(self, order: Order, was: Order) -> Order:
        """Store an order's new state, if the order still is as it was read. Errors: `conflict`
        where another transaction was first.
        """
        values = row_of(order) | {"version": was.version + 1}
        sets = ", ".join(f"{n} = :{n}" for n in COLUMNS if n != "order_id")
        done = self._sql.run(
            f"UPDATE orders SET {sets} WHERE order_id = :order_id AND status = :was_status "
            "AND version = :was_version",
            **values,
            was_status=was.status,
            was_version=was.version,
        )
        if done != 1:
            why = "The order was changed by another request at the same time."
            raise Refused(refusal("conflict", why=why))
        self._turned(order, was)
        fills = self._fills([order.order_id])[order.order_id]
        return replace(order, version=was.version + 1, fills=tuple(fills))

    def _turned(self, order: Order, was: Order | None) -> None:
        """Whether an order may be stored: where more of the mandate's day is counted by now, a
        decision made on less writes nothing (0020). SQLite has one writer at a time.
        """
        if not self._lock or order.mandate_id is None or order.mode != "live":
            return
        before = was.counted if was and was.counted_day == order.counted_day else ZERO
        if order.counted_day is not None and order.counted > before:
            self._sql.run(
                "UPDATE mandates SET turn = turn + 1 WHERE public_id = :id", id=order.mandate_id
            )

    def add_fills(self, order_id: str, fills: Sequence[OrderFill]) -> list[tuple[int, OrderFill]]:
        """Write fills down; one that is there already stays as it is. Those that were not, with
        their numbers from 1.
        """
        row = first(
            self._sql, "SELECT COUNT(*) AS n FROM order_fills WHERE order_id = :id", id=order_id
        )
        n, new = int(row["n"]) if row else 0, []
        for fill in fills:
            done = self._sql.run(
                "INSERT INTO order_fills " + columns(("order_id", "n", "tid", "body"))
                + " ON CONFLICT DO NOTHING",
                order_id=order_id, n=n + 1, tid=fill.tid, body=fill_body(fill),
            )  # fmt: skip
            if done == 1:
                n += 1
                new.append((n, fill))
        return new

    # -- what is asked for

    def pending(self, *, owner_id: str | None = None, agent_id: str | None = None) -> list[Order]:
        """Orders that wait for a decision, newest first: a person's, or one agent's."""
        who = "owner_id = :who" if owner_id is not None else "agent_id = :who"
        rows = self._sql.rows(
            f"SELECT * FROM orders WHERE {who} AND status IN ({_in(PENDING)}) "
            "ORDER BY created_at DESC, order_id LIMIT :most",
            who=owner_id or agent_id,
            most=_SHOWN_AT_MOST,
        )
        return self._orders(rows)

    def under_way(self, owner_id: str) -> list[Order]:
        """A person's orders that were sent and are not over, newest first."""
        rows = self._sql.rows(
            f"SELECT * FROM orders WHERE owner_id = :who AND status IN ({_in(UNDER_WAY)}) "
            "ORDER BY created_at DESC, order_id LIMIT :most",
            who=owner_id,
            most=_SHOWN_AT_MOST,
        )
        return self._orders(rows)

    def moved_at(self, owner_id: str) -> datetime | None:
        """The time at which the newest of a person's live orders was sent or ended."""
        orders = [order for _, order in self.live_of(owner_id, None, _NEWEST)]
        times = (at for o in orders for at in (o.sent_at, o.done_at))
        return max((at for at in times if at is not None), default=None)

    def pending_of_agent(self, agent_id: str, now: datetime) -> int:
        """Count an agent's orders that wait for its owner or for their outcome."""
        row = first(
            self._sql,
            "SELECT COUNT(*) AS n FROM orders WHERE agent_id = :who "
            f"AND status IN ({_in(PENDING)}) AND (status = 'unknown' OR expires_at > :now)",
            who=agent_id,
            now=micros(now),
        )
        return int(row["n"]) if row else 0

    def first_to_end(self, agent_id: str, now: datetime) -> datetime | None:
        """The time at which the first of an agent's orders that wait for its owner expires; None
        where all wait for their outcome.
        """
        row = first(
            self._sql,
            "SELECT MIN(expires_at) AS at FROM orders WHERE agent_id = :who "
            f"AND status IN ({_in(PENDING)}) AND status <> 'unknown' AND expires_at > :now",
            who=agent_id,
            now=micros(now),
        )
        return moment(row["at"]) if row and row["at"] is not None else None

    def to_ask(self, now: datetime, mode: Mode, limit: int) -> list[Order]:
        """Orders about which the venue is due to be asked: each owner's first before any owner's
        second, the longest due first.
        """
        due = "next_check_at IS NOT NULL AND next_check_at <= :now AND mode = :mode"
        rows = self._sql.rows(
            in_turns("orders t", due, "owner_id", "next_check_at"),
            now=micros(now),
            mode=mode,
            most=limit,
        )
        return self._orders(rows)

    def past(self, now: datetime, limit: int, *, owner_id: str | None = None) -> list[Order]:
        """Orders that were not sent in their time: each owner's first before any owner's second,
        the oldest first.
        """
        whose = "owner_id = :who AND " if owner_id is not None else ""
        parameters = {"who": owner_id} if owner_id is not None else {}
        rows = self._sql.rows(
            in_turns(
                "orders t",
                f"{whose}status IN ({_in(UNSENT)}) AND expires_at <= :now",
                "owner_id",
                "expires_at",
            ),
            now=micros(now),
            most=limit,
            **parameters,
        )
        return self._orders(rows)

    def waiting_on_paper(self, owner_id: str) -> list[Order]:
        """A person's paper orders that rest."""
        rows = self._sql.rows(
            "SELECT * FROM orders WHERE owner_id = :who AND status = 'resting' AND mode = 'paper' "
            "ORDER BY created_at, order_id",
            who=owner_id,
        )
        return self._orders(rows)

    def of_book(
        self, owner_id: str, book: str, before: Sequence[Any] | None, limit: int
    ) -> list[tuple[int, Order]]:
        """Orders of a paper book with the time that they sort by, newest first.

        `before`: time and id of the last one on the page before.
        """
        whose = "book = :book AND owner_id = :who"
        return self._newest(whose, before, limit, book=book, who=owner_id)

    def live_of(
        self, owner_id: str, before: Sequence[Any] | None, limit: int
    ) -> list[tuple[int, Order]]:
        """A person's live orders and those of his agents, whatever became of them, in the same
        form.
        """
        return self._newest("owner_id = :who AND mode = 'live'", before, limit, who=owner_id)

    def _newest(
        self, whose: str, before: Sequence[Any] | None, limit: int, **values: Any
    ) -> list[tuple[int, Order]]:
        rows = self._sql.rows(
            f"SELECT * FROM orders WHERE {whose} "
            "AND (created_at < :at OR (created_at = :at AND order_id < :id)) "
            "ORDER BY created_at DESC, order_id DESC LIMIT :most",
            at=before[0] if before else _LAST,
            id=before[1] if before else "",
            most=limit,
            **values,
        )
        return [
            (int(r["created_at"]), order) for r, order in zip(rows, self._orders(rows), strict=True)
        ]

    def counted_of_mandate(self, mandate_id: str, day: str) -> dict[Mode, tuple[Usdc, Usdc]]:
        """The notional that a mandate's orders count against its day, by mode, and the part of it
        that is final.
        """
        rows = self._sql.rows(
            COUNTED,
            mandate=mandate_id,
            day=day,
        )
        return {row["mode"]: (Usdc(int(row["n"])), Usdc(int(row["done"]))) for row in rows}

    def live_of_mandate(self, mandate_id: str, network: Network) -> list[Order]:
        """Every live order on one network that cites a mandate, oldest first."""
        rows = self._sql.rows(
            "SELECT * FROM orders WHERE mandate_id = :mandate AND mode = 'live' "
            "AND network = :network ORDER BY created_at, order_id",
            mandate=mandate_id,
            network=network,
        )
        return self._orders(rows)

    def open_of_agent(self, agent_id: str) -> Usdc:
        """The notional of an agent's live orders that are not done."""
        row = first(
            self._sql,
            "SELECT COALESCE(SUM(counted_micros), 0) AS n FROM orders "
            f"WHERE agent_id = :who AND mode = 'live' AND status NOT IN ({_in(DONE)})",
            who=agent_id,
        )
        return Usdc(int(row["n"])) if row else Usdc(0)

    def has_intent(self, intent_id: str, user_id: str) -> bool:
        """Whether an intent that an order cites is its owner's own."""
        row = first(
            self._sql,
            "SELECT 1 AS it FROM venue_intents WHERE intent_id = :id AND user_id = :user",
            id=intent_id,
            user=user_id,
        )
        return row is not None

    # -- rows

    def _order(self, row: Row | None) -> Order | None:
        return None if row is None else self._orders([row])[0]

    def _orders(self, rows: Sequence[Row]) -> list[Order]:
        fills = self._fills([row["order_id"] for row in rows])
        return [order_of(row, tuple(fills[row["order_id"]])) for row in rows]

    def _fills(self, order_ids: Sequence[str]) -> dict[str, list[OrderFill]]:
        """The fills of each of some orders, in one statement."""
        fills: dict[str, list[OrderFill]] = {order_id: [] for order_id in order_ids}
        if not fills:
            return fills
        # One text for any number of them, as both databases take a list.
        ids: object = list(fills)
        those = "order_id = ANY(:ids::text[])"
        if not self._lock:
            ids, those = canonical(ids), "order_id IN (SELECT value FROM json_each(:ids))"
        rows = self._sql.rows(
            f"SELECT order_id, body FROM order_fills WHERE {those} ORDER BY order_id, n", ids=ids
        )
        for row in rows:
            fills[row["order_id"]].append(fill_of(row["body"]))
        return fills
