"""From the venue's answers, in their known form, to values with exact figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final, get_args

from domain.trading.venue import (
    Abstraction,
    ApprovedAgent,
    Book,
    DexAccount,
    Level,
    Leverage,
    MarginMode,
    OpenOrder,
    OrderSeen,
    Perp,
    Position,
    SeenAs,
    SpotBalance,
    UserRole,
    VenueFill,
    book_hash,
)
from venue import forms

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MARGIN: Final[Mapping[str, MarginMode]] = {
    "strictIsolated": "strict_isolated",
    "noCross": "no_cross",
}
_ROLES: Final[Mapping[str, UserRole]] = {role: role for role in get_args(UserRole)}
_ABSTRACTIONS: Final[Mapping[str, Abstraction]] = {mode: mode for mode in get_args(Abstraction)}
_HIGHEST_FEE: Final = Decimal("0.05")  # of what was traded; a maker may be paid as much
_A_CENT: Final = Decimal("0.01")
_SIDES: Final[Mapping[str, bool]] = {"B": True, "A": False}
_FIRST_OF_DEX: Final = 100_000
_A_DEX: Final = 10_000
_LATEST_MS: Final = 253_402_300_799_000


def moment(ms: int) -> datetime | None:
    """A time of the venue's; None where no calendar has it."""
    return _EPOCH + timedelta(milliseconds=ms) if 0 <= ms <= _LATEST_MS else None


def decimal(figure: str | None) -> Decimal | None:
    """A figure, exactly; None stays None."""
    return None if figure is None else Decimal(figure)


def asset_id(dex_index: int, place: int) -> int:
    """The number that orders name an asset by: its place in the first dex, else 100000 + 10000 a
    dex."""
    return place if dex_index == 0 else _FIRST_OF_DEX + dex_index * _A_DEX + place


def _margin_mode(asset: forms.Asset) -> MarginMode:
    told = asset.get("marginMode")
    if isinstance(told, str) and told in _MARGIN:
        return _MARGIN[told]
    # A mode that is not known is held for the strictest, so that nobody counts on cross margin.
    return "strict_isolated" if told is not None or asset.get("onlyIsolated") else "cross"


def perps(
    dex: str, dex_index: int, meta: forms.Meta, contexts: Sequence[forms.Context]
) -> tuple[Perp, ...]:
    """A dex's perpetuals with their figures, in the order of their ids; contexts beyond the
    universe tell nothing."""
    figures = [*contexts, *(forms.Context() for _ in meta["universe"][len(contexts) :])]
    return tuple(
        _perp(dex, asset_id(dex_index, n), asset, meta.get("collateralToken"), context)
        for n, (asset, context) in enumerate(zip(meta["universe"], figures, strict=False))
    )


def _perp(
    dex: str, number: int, asset: forms.Asset, token: int | None, context: forms.Context
) -> Perp:
    return Perp(
        coin=asset["name"],
        dex=dex,
        asset_id=number,
        sz_decimals=asset["szDecimals"],
        max_leverage=asset["maxLeverage"],
        margin_mode=_margin_mode(asset),
        growth_mode=asset.get("growthMode") == "enabled",
        collateral_token=token,
        delisted=bool(asset.get("isDelisted")),
        has_book=context.get("midPx") is not None and context.get("impactPxs") is not None,
        mark_px=decimal(context.get("markPx")),
        oracle_px=decimal(context.get("oraclePx")),
        mid_px=decimal(context.get("midPx")),
        prev_day_px=decimal(context.get("prevDayPx")),
        funding=decimal(context.get("funding")),
        open_interest=decimal(context.get("openInterest")),
        day_volume=decimal(context.get("dayNtlVlm")),
    )


def book(told: forms.Book) -> Book | None:
    """A snapshot; None where its time cannot be read."""
    at = moment(told["time"])
    sides = [
        tuple(Level(Decimal(r["px"]), Decimal(r["sz"]), r["n"]) for r in side)
        for side in told["levels"]
    ]
    if at is None:
        return None
    named = book_hash(told["coin"], at, sides[0], sides[1])
    return Book(told["coin"], at, sides[0], sides[1], named)


def agents(told: Sequence[forms.Agent]) -> tuple[ApprovedAgent, ...]:
    """Named agents; the unnamed one is never told."""
    return tuple(
        ApprovedAgent(
            a["name"],
            a["address"].lower(),
            None if (until := a.get("validUntil")) is None else moment(until),
        )
        for a in told
    )


def _position(told: forms.Position) -> Position:
    leverage = told.get("leverage")
    return Position(
        coin=told["coin"],
        size=Decimal(told["szi"]),
        entry_px=decimal(told.get("entryPx")),
        value=decimal(told.get("positionValue")),
        unrealized=decimal(told.get("unrealizedPnl")),
        liquidation_px=decimal(told.get("liquidationPx")),
        leverage=None if leverage is None else leverage["value"],
        cross=leverage is not None and leverage["type"] == "cross",
    )


def account(dex: str, told: forms.Clearinghouse) -> DexAccount | None:
    """An account on one dex; None where its time cannot be read."""
    at = moment(told["time"])
    if at is None:
        return None
    return DexAccount(
        dex,
        at,
        Decimal(told["marginSummary"]["accountValue"]),
        Decimal(told["withdrawable"]),
        tuple(_position(p["position"]) for p in told["assetPositions"]),
    )


def balances(told: forms.Balances) -> tuple[SpotBalance, ...]:
    """Spot balances."""
    return tuple(
        SpotBalance(b["token"], Decimal(b["total"]), Decimal(b["hold"])) for b in told["balances"]
    )


def seen_as(status: str) -> SeenAs:
    """What a status comes to; one that is not known is neither an end nor a fill.

    The venue's words say by their ending what they are, new ones too.
    """
    if status in ("open", "triggered"):
        return "open"
    if status == "filled":
        return "filled"
    if status in ("canceled", "scheduledCancel", "internalCancel") or status.endswith("Canceled"):
        return "cancelled"
    return "refused" if status == "rejected" or status.endswith("Rejected") else "unknown"


def order_seen(told: forms.OrderStatus) -> OrderSeen | None:
    """Where an order stands; None where the venue knows of none."""
    if told["status"] != "order" or "order" not in told:
        return None
    update = told["order"]
    order = update["order"]
    return OrderSeen(
        oid=order["oid"],
        coin=order["coin"],
        is_buy=_SIDES.get(order["side"]),
        status=update["status"],
        seen_as=seen_as(update["status"]),
        size=decimal(order.get("origSz")),
        left=decimal(order["sz"]),
    )


def open_orders(told: Sequence[forms.OpenOrder]) -> tuple[OpenOrder, ...]:
    """Orders that may still trade."""
    return tuple(
        OpenOrder(coin=row["coin"], oid=row["oid"], cloid=row.get("cloid")) for row in told
    )


def fills(told: Sequence[forms.Fill]) -> tuple[VenueFill, ...] | None:
    """Fills whose fee is in USDC, oldest first; None where the time of one cannot be read, or its
    fee is no fee.
    """
    read = []
    for row in told:
        if row.get("feeToken") not in (None, "USDC"):
            continue
        at, worth = moment(row["time"]), Decimal(row["px"]) * Decimal(row["sz"])
        most = worth * _HIGHEST_FEE + _A_CENT
        if at is None or max(abs(Decimal(row["fee"])), Decimal(row.get("builderFee") or 0)) > most:
            return None
        read.append(
            VenueFill(
                coin=row["coin"],
                px=Decimal(row["px"]),
                size=Decimal(row["sz"]),
                is_buy=row["side"] == "B",
                at=at,
                oid=row["oid"],
                tid=row["tid"],
                fee=Decimal(row["fee"]),
                builder_fee=Decimal(row.get("builderFee") or 0),
                closed_pnl=Decimal(row["closedPnl"]),
                cloid=row.get("cloid"),
            )
        )
    return tuple(sorted(read, key=lambda f: (f.at, f.tid)))


def leverage(told: forms.ActiveAsset) -> Leverage:
    """An account's setting for one product."""
    return Leverage(told["leverage"]["value"], told["leverage"]["type"] == "cross")


def role(told: forms.Role) -> UserRole:
    """What an address is at the venue; `unknown` for a word that is not known."""
    return _ROLES.get(told["role"], "unknown")


def abstraction(told: str) -> Abstraction:
    """How an account holds its margin; `unknown` for a word that is not known."""
    return _ABSTRACTIONS.get(told, "unknown")


def dexes(told: Sequence[forms.Dex | None]) -> dict[str, int]:
    """Builder dexes by name with their index; the first is "" and 0."""
    return {"": 0} | {d["name"]: n for n, d in enumerate(told) if n and d is not None}


def names(told: Sequence[tuple[str, forms.Annotation]]) -> dict[str, str]:
    """Coin to its name for people."""
    return {coin: name for coin, a in told if (name := a.get("displayName"))}


def tokens(told: forms.SpotMeta) -> dict[int, str]:
    """Token index to name."""
    return {t["index"]: t["name"] for t in told["tokens"]}
