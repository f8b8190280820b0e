"""Orders and their fills: searchable values in columns, the rest as canonical JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from domain.money import ZERO, Usdc
from domain.refusals import Refused, refusal
from domain.trading.modes import Mode
from domain.trading.orders import (
    DONE,
    PENDING,
    UNDER_WAY,
    UNSENT,
    Envelope,
    Order,
    OrderFill,
    PaidBuilder,
    SeenAtVenue,
)
from domain.trading.venue_values import Network
from storage.codec import Codecs, Table
from storage.sql import (
    Repository,
    Row,
    Sql,
    canonical,
    columns,
    exists,
    in_turns,
    micros,
    moment,
    number,
)

_SHOWN_AT_MOST: Final = 200
_NEWEST: Final = 20
_LAST: Final = 2**63 - 1
_BODIES: Final = Codecs(lists=(Envelope, PaidBuilder, SeenAtVenue))
_IN_BODY: Final = (
    "source", "closing", "mode_seen", "wallet", "book", "product", "side", "type", "slippage_bps",
    "leverage", "sign_mode", "attempt", "by", "intent_id", "why", "asked", "cancel_hash",
    "verified", "refusal", "claimed", "fills_whole", "tries", "notional", "action", "former",
    "envelope", "cancelling", "sent_at", "done_at", "filled_size", "avg_px", "seen",
)  # fmt: skip
_ORDERS: Final = Table(
    "orders",
    Order,
    names={"counted": "counted_micros", "fills": None},
    body={name: name for name in _IN_BODY},
    more=("cloid", "book"),
    codecs=_BODIES,
)
FILL: Final = _BODIES.of(OrderFill).as_text()
_ADD_FILL: Final = (
    f"INSERT INTO order_fills {columns(('order_id', 'n', 'tid', 'body'))} ON CONFLICT DO NOTHING"
)


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
_SAVE: Final = (
    f"UPDATE orders SET {', '.join(f'{n} = :{n}' for n in _ORDERS.columns if n != 'order_id')} "
    "WHERE order_id = :order_id AND status = :was_status AND version = :was_version"
)
_WAITING: Final = f"agent_id = :who AND status IN ({_in(PENDING)})"
_OPEN: Final = (
    "SELECT SUM(counted_micros) AS n FROM orders "
    f"WHERE agent_id = :who AND mode = 'live' AND status NOT IN ({_in(DONE)})"
)


def row_of(order: Order) -> Row:
    """The row of an order, without its fills; the id that it is sent with stands in a column."""
    body = _ORDERS.body(order)
    del body["action"]["cloid"]
    more = {"cloid": order.action.cloid, "book": order.book, "body": canonical(body)}
    return _ORDERS.row(order, **more)


def order_of(row: Row, fills: tuple[OrderFill, ...]) -> Order:
    """The order of a row, with its fills."""
    body = json.loads(row["body"])
    body["action"]["cloid"] = row["cloid"]
    # Rows of before name the ids of earlier pricings alone; their bytes ended long ago.
    body["former"] = [one for one in body["former"] if isinstance(one, dict)]
    return _ORDERS.record(row, body, fills=fills)


class OrderRepository(Repository):
    """The orders, each changed only from the state that it was read in."""

    def __init__(self, sql: Sql):
        super().__init__(sql)
        self._lock = sql.locks

    def add(self, order: Order) -> Order:
        """Store a new order, and give it back."""
        self._sql.run(_ORDERS.insert, **row_of(order))
        self._turned(order, None)
        return order

    def get(self, order_id: str, *, lock: bool = False) -> Order | None:
        """An order by its id; `lock` keeps other writers off it."""
        tail = self._lock if lock else ""
        return next(iter(self._some("order_id = :id" + tail, id=order_id)), None)

    def of_confirm(self, confirm_hash: str) -> Order | None:
        """The order that a confirm id was given out for, used or not."""
        return next(iter(self._some("confirm_hash = :hash", hash=confirm_hash)), None)

    def save(self, order: Order, was: Order) -> Order:
        """Store an order's new state, if the order still is as it was read. Errors: `conflict`
        where another transaction was first.
        """
        values = {**row_of(order), "version": was.version + 1}
        done = self._sql.run(_SAVE, **values, was_status=was.status, was_version=was.version)
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
            text = "UPDATE mandates SET turn = turn + 1 WHERE public_id = :id"
            self._sql.run(text, id=order.mandate_id)

    def add_fills(self, order_id: str, fills: Sequence[OrderFill]) -> list[tuple[int, OrderFill]]:
        """Write fills down; one that is there already stays as it is. Those that were not, with
        their numbers from 1.
        """
        text = "SELECT COUNT(*) AS n FROM order_fills WHERE order_id = :id"
        n, new = number(self._sql, text, id=order_id), []
        for fill in fills:
            row = {"order_id": order_id, "n": n + 1, "tid": fill.tid, "body": FILL.dump(fill)}
            if self._sql.run(_ADD_FILL, **row) == 1:
                n += 1
                new.append((n, fill))
        return new

    # -- what is asked for

    def pending(self, *, owner_id: str | None = None, agent_id: str | None = None) -> list[Order]:
        """Orders that wait for a decision, newest first: a person's, or one agent's."""
        whose = "owner_id" if owner_id is not None else "agent_id"
        return self._newest_of(whose, owner_id or agent_id, PENDING)

    def under_way(self, owner_id: str) -> list[Order]:
        """A person's orders that were sent and are not over, newest first."""
        return self._newest_of("owner_id", owner_id, UNDER_WAY)

    def _newest_of(self, whose: str, name: str | None, status: frozenset[str]) -> list[Order]:
        where = (
            f"{whose} = :who AND status IN ({_in(status)}) "
            "ORDER BY created_at DESC, order_id LIMIT :most"
        )
        return self._some(where, who=name, most=_SHOWN_AT_MOST)

    def moved_at(self, owner_id: str) -> datetime | None:
        """The time at which the newest of a person's live orders was sent or ended."""
        orders = [order for _, order in self.live_of(owner_id, None, _NEWEST)]
        times = (at for o in orders for at in (o.sent_at, o.done_at))
        return max((at for at in times if at is not None), default=None)

    def pending_of_agent(self, agent_id: str, now: datetime) -> int:
        """Count an agent's orders that wait for its owner or for their outcome."""
        where = f"{_WAITING} AND (status = 'unknown' OR expires_at > :now)"
        text = f"SELECT COUNT(*) AS n FROM orders WHERE {where}"
        return number(self._sql, text, who=agent_id, now=micros(now))

    def first_to_end(self, agent_id: str, now: datetime) -> datetime | None:
        """The time at which the first of an agent's orders that wait for its owner expires; None
        where all wait for their outcome.
        """
        where = f"{_WAITING} AND status <> 'unknown' AND expires_at > :now"
        text = f"SELECT MIN(expires_at) AS n FROM orders WHERE {where}"
        at = number(self._sql, text, who=agent_id, now=micros(now))
        return moment(at) if at else None

    def to_ask(self, now: datetime, mode: Mode, limit: int) -> list[Order]:
        """Orders about which the venue is due to be asked: each owner's first before any owner's
        second, the longest due first.
        """
        due = "next_check_at IS NOT NULL AND next_check_at <= :now AND mode = :mode"
        text = in_turns("orders t", due, "owner_id", "next_check_at")
        return self._orders(self._sql.rows(text, now=micros(now), mode=mode, most=limit))

    def past(self, now: datetime, limit: int, *, owner_id: str | None = None) -> list[Order]:
        """Orders that were not sent in their time: each owner's first before any owner's second,
        the oldest first.
        """
        whose = "owner_id = :who AND " if owner_id is not None else ""
        parameters = {"who": owner_id} if owner_id is not None else {}
        over = f"{whose}status IN ({_in(UNSENT)}) AND expires_at <= :now"
        text = in_turns("orders t", over, "owner_id", "expires_at")
        return self._orders(self._sql.rows(text, now=micros(now), most=limit, **parameters))

    def waiting_on_paper(self, owner_id: str) -> list[Order]:
        """A person's paper orders that rest."""
        where = "owner_id = :who AND status = 'resting' AND mode = 'paper'"
        return self._some(f"{where} ORDER BY created_at, order_id", who=owner_id)

    def of_book(
        self, owner_id: str, book: str, before: Sequence[int | str] | None, limit: int
    ) -> list[tuple[int, Order]]:
        """Orders of a paper book with the time that they sort by, newest first.

        `before`: time and id of the last one on the page before.
        """
        whose = "book = :book AND owner_id = :who"
        return self._newest(whose, before, limit, book=book, who=owner_id)

    def live_of(
        self, owner_id: str, before: Sequence[int | str] | None, limit: int
    ) -> list[tuple[int, Order]]:
        """A person's live orders and those of his agents, whatever became of them, in the same
        form.
        """
        return self._newest("owner_id = :who AND mode = 'live'", before, limit, who=owner_id)

    def _newest(
        self, whose: str, before: Sequence[int | str] | None, limit: int, **values: object
    ) -> list[tuple[int, Order]]:
        where = (
            f"{whose} AND (created_at < :at OR (created_at = :at AND order_id < :id)) "
            "ORDER BY created_at DESC, order_id DESC LIMIT :most"
        )
        at, last = before or (_LAST, "")
        orders = self._some(where, at=at, id=last, most=limit, **values)
        return [(micros(order.created_at), order) for order in orders]

    def counted_of_mandate(self, mandate_id: str, day: str) -> dict[Mode, tuple[Usdc, Usdc]]:
        """The notional that a mandate's orders count against its day, by mode, and the part of it
        that is final.
        """
        rows = self._sql.rows(COUNTED, mandate=mandate_id, day=day)
        return {row["mode"]: (Usdc(int(row["n"])), Usdc(int(row["done"]))) for row in rows}

    def live_of_mandate(self, mandate_id: str, network: Network) -> list[Order]:
        """Every live order on one network that cites a mandate, oldest first."""
        where = "mandate_id = :mandate AND mode = 'live' AND network = :network"
        order = f"{where} ORDER BY created_at, order_id"
        return self._some(order, mandate=mandate_id, network=network)

    def open_of_agent(self, agent_id: str) -> Usdc:
        """The notional of an agent's live orders that are not done."""
        return Usdc(number(self._sql, _OPEN, who=agent_id))

    def has_intent(self, intent_id: str, user_id: str) -> bool:
        """Whether an intent that an order cites is its owner's own."""
        where = "venue_intents WHERE intent_id = :id AND user_id = :user"
        return exists(self._sql, where, id=intent_id, user=user_id)

    # -- rows

    def _some(self, where: str, /, **values: object) -> list[Order]:
        return self._orders(self._sql.rows(f"SELECT * FROM orders WHERE {where}", **values))

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
        text = f"SELECT order_id, body FROM order_fills WHERE {those} ORDER BY order_id, n"
        for row in self._sql.rows(text, ids=ids):
            fills[row["order_id"]].append(FILL.load(row["body"]))
        return fills
