"""Order codec: an order and its fills as rows of searchable columns and canonical JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from domain.money import Usdc
from domain.trading.orders import (
    Envelope,
    Order,
    OrderAction,
    OrderFill,
    PaidBuilder,
    SeenAtVenue,
    Status,
)
from storage.sql import Row, canonical, maybe_micros, maybe_moment, micros, moment

COLUMNS: Final = (
    "order_id", "owner_id", "agent_id", "mode", "network", "status", "version", "cloid",
    "mandate_id", "counted_micros", "counted_day", "confirm_hash", "created_at", "expires_at",
    "next_check_at", "body", "book",
)  # fmt: skip
_PLAIN: Final = (
    "source", "closing", "mode_seen", "wallet", "book", "product", "side", "type", "slippage_bps",
    "leverage", "sign_mode", "attempt", "by", "intent_id", "why", "asked", "cancel_hash",
    "verified", "refusal", "claimed", "fills_whole", "tries",
)  # fmt: skip


def row_of(order: Order) -> dict[str, object]:
    """The row of an order, without its fills."""
    body = {name: getattr(order, name) for name in _PLAIN}
    body |= {
        "notional": order.notional.micros,
        "action": _action_body(order.action),
        "former": [_action_body(one) | {"cloid": one.cloid} for one in order.former],
        "envelope": _envelope_body(order.envelope),
        "cancelling": _envelope_body(order.cancelling),
        "sent_at": maybe_micros(order.sent_at),
        "done_at": maybe_micros(order.done_at),
        "filled_size": _text(order.filled_size),
        "avg_px": _text(order.avg_px),
        "seen": None
        if order.seen is None
        else [order.seen.oid, order.seen.status, micros(order.seen.checked_at)],
    }
    return {
        "order_id": order.order_id,
        "owner_id": order.owner_id,
        "agent_id": order.agent_id,
        "mode": order.mode,
        "network": order.network,
        "status": order.status,
        "version": order.version,
        "cloid": order.action.cloid,
        "mandate_id": order.mandate_id,
        "counted_micros": order.counted.micros,
        "counted_day": order.counted_day,
        "confirm_hash": order.confirm_hash,
        "created_at": micros(order.created_at),
        "expires_at": micros(order.expires_at),
        "next_check_at": maybe_micros(order.next_check_at),
        "book": order.book,
        "body": canonical(body),
    }


def order_of(row: Row, fills: tuple[OrderFill, ...]) -> Order:
    """The order of a row, with its fills."""
    body = json.loads(row["body"])
    plain = {name: body[name] for name in _PLAIN}
    # Rows of before name the ids of earlier pricings alone; their bytes ended long ago.
    former = tuple(_action(o, o["cloid"]) for o in body["former"] if isinstance(o, dict))
    venue_state = body["seen"]
    status: Status = row["status"]
    return Order(
        **plain,
        order_id=row["order_id"],
        owner_id=row["owner_id"],
        agent_id=row["agent_id"],
        mode=row["mode"],
        network=row["network"],
        status=status,
        version=int(row["version"]),
        mandate_id=row["mandate_id"],
        counted=Usdc(int(row["counted_micros"])),
        counted_day=row["counted_day"],
        confirm_hash=row["confirm_hash"],
        created_at=moment(row["created_at"]),
        expires_at=moment(row["expires_at"]),
        next_check_at=maybe_moment(row["next_check_at"]),
        notional=Usdc(body["notional"]),
        action=_action(body["action"], row["cloid"]),
        former=former,
        envelope=_envelope(body["envelope"]),
        cancelling=_envelope(body["cancelling"]),
        sent_at=maybe_moment(body["sent_at"]),
        done_at=maybe_moment(body["done_at"]),
        filled_size=_figure(body["filled_size"]),
        avg_px=_figure(body["avg_px"]),
        seen=None
        if venue_state is None
        else SeenAtVenue(
            oid=venue_state[0], status=venue_state[1], checked_at=moment(venue_state[2])
        ),
        fills=fills,
    )


def _text(figure: Decimal | None) -> str | None:
    return None if figure is None else format(figure, "f")


def _figure(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def _envelope_body(envelope: Envelope | None) -> list[int] | None:
    return None if envelope is None else [envelope.nonce, envelope.expires_after]


def _envelope(numbers: Sequence[int] | None) -> Envelope | None:
    return None if numbers is None else Envelope(nonce=numbers[0], expires_after=numbers[1])


def _action_body(action: OrderAction) -> dict[str, object]:
    prepaid_cost = action.builder
    return {
        "asset_id": action.asset_id,
        "is_buy": action.is_buy,
        "limit_px": _text(action.limit_px),
        "size": _text(action.size),
        "reduce_only": action.reduce_only,
        "tif": action.tif,
        "builder": None
        if prepaid_cost is None
        else [prepaid_cost.address, prepaid_cost.fee_tenths_bps],
    }


def _action(raw: Any, cloid: str) -> OrderAction:
    prepaid_cost = raw["builder"]
    return OrderAction(
        asset_id=raw["asset_id"],
        is_buy=raw["is_buy"],
        limit_px=Decimal(raw["limit_px"]),
        size=Decimal(raw["size"]),
        reduce_only=raw["reduce_only"],
        tif=raw["tif"],
        cloid=cloid,
        builder=None
        if prepaid_cost is None
        else PaidBuilder(address=prepaid_cost[0], fee_tenths_bps=prepaid_cost[1]),
    )


def fill_body(fill: OrderFill) -> str:
    """A fill as JSON."""
    figures = ("px", "size", "fee", "builder_fee", "closed_pnl")
    body = {n: _text(getattr(fill, n)) for n in figures} | {
        "at": micros(fill.at),
        "tid": fill.tid,
        "snapshot": fill.snapshot,
    }
    return canonical(body)


def fill_of(body: str) -> OrderFill:
    """The fill of its JSON."""
    raw = json.loads(body)
    figures = ("px", "size", "fee", "builder_fee", "closed_pnl")
    return OrderFill(
        **{n: Decimal(raw[n]) for n in figures},
        at=moment(raw["at"]),
        tid=raw["tid"],
        snapshot=raw["snapshot"],
    )
