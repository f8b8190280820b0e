"""One order: its terms, its status, and the data to sign for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.replies import Json
from app.views.components import refusal
from app.views.components.refusal import RefusalView
from app.views.orders import order_title
from app.words import money
from app.words.orders import MOVING, STATUS, TIFS
from app.words.status import Pill
from app.words.text import _
from app.words.untrusted_text import AgentName, with_name

CANCELS = frozenset({"prepared", "awaiting_owner", "awaiting_signature", "resting"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FillView:
    """A trade."""

    px: str
    size: str
    fee: str
    at: str
    snapshot: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsView:
    """The market data of its pricing. Units: USDC."""

    bid: str | None
    ask: str | None
    mark: str | None
    as_of: str | None
    fee: str
    builder_fee: str
    liquidation: str | None
    limit: str | None
    used: str | None
    reserved: str | None
    remaining: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningView:
    """The data for the order key to sign. `block` is read by the page's script, which takes nothing
    of it on trust; `step` is how the signature is handed in.
    """

    kind: str
    step: str
    confirm_id: str
    wallet: str | None
    key: str | None
    expires_at: str
    venue: str
    block: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOrderView:
    """One order, paper or live."""

    order_id: str
    title: str
    mode: str
    network: str
    pill: Pill
    message: str
    moving: bool
    product: str
    asset: int
    side: str
    type: str
    size: str
    limit_px: str
    value: str
    reduce_only: bool
    tif: str
    tif_words: str
    slippage: str | None
    leverage: int | None
    cloid: str
    builder: str
    builder_fee: int | None
    book: str | None
    book_name: str
    mandate_id: str | None
    agent: AgentName | None
    why: str
    created_at: str
    sent_at: str | None
    done_at: str | None
    expires_at: str
    filled: str | None
    remaining: str | None
    avg_px: str | None
    fee: str | None
    result: str | None
    partial: bool
    verified: bool
    venue_says: str
    refused: str
    fills: tuple[FillView, ...]
    opens: bool
    cancels: bool
    facts: FactsView | None = None
    signing: SigningView | None = None
    problem: RefusalView | None = None


def _fills(order: Json) -> tuple[FillView, ...]:
    return tuple(
        FillView(px=f["px"], size=f["size"], fee=f["fee_usdc"], at=f["at"], snapshot=f["snapshot"])
        for f in order["fills"]
    )


def view(order: Json, names: Mapping[str, str]) -> OneOrderView:
    """`order` as it leaves the service; `names` of the owner's agents and paper books by id."""
    status, by, prepaid_cost = order["status"], order["prepared_by"], order["builder"]
    pill, message = STATUS[status]
    venue_state, refused = order["venue"], order["refusal"]
    if status == "executed" and order["partial"]:
        message = _("A part was traded; the rest was dropped.")
    return OneOrderView(
        order_id=order["order_id"],
        title=order_title(order),
        mode=order["mode"],
        network=order["network"],
        pill=pill,
        message=message,
        moving=status in MOVING,
        product=order["product"],
        asset=order["asset_id"],
        side=order["side"],
        type=order["type"],
        size=order["size"],
        limit_px=order["limit_px"],
        value=order["notional_usdc"],
        reduce_only=order["reduce_only"],
        tif=order["tif"],
        tif_words=TIFS[order["tif"]],
        slippage=money.percent(order["slippage_bps"]),
        leverage=order["leverage"],
        cloid=order["cloid"],
        builder=prepaid_cost["address"] if prepaid_cost else "",
        builder_fee=prepaid_cost["fee_tenths_bps"] if prepaid_cost else None,
        book=order["book"],
        book_name=names.get(order["book"] or "", ""),
        mandate_id=order["mandate_id"],
        agent=with_name(by["id"], names) if by["kind"] == "agent" else None,
        why=order["why"] or "",
        created_at=order["created_at"],
        sent_at=order["sent_at"],
        done_at=order["done_at"],
        expires_at=order["expires_at"],
        filled=order["filled_size"],
        remaining=order["remaining_size"],
        avg_px=order["avg_px"],
        fee=order["fee_usdc"],
        result=order["closed_pnl_usdc"],
        partial=order["partial"],
        verified=order["verified"],
        venue_says=venue_state["status"] if venue_state else "",
        refused=refused["reason"] if refused else "",
        fills=_fills(order),
        opens=status in ("awaiting_owner", "awaiting_signature"),
        cancels=status in CANCELS,
    )


def _facts(checks: Json) -> FactsView:
    price, cap = checks["price"], checks["cap"] or {}
    return FactsView(
        bid=price["bid"],
        ask=price["ask"],
        mark=price["mark"],
        as_of=price["as_of"],
        fee=checks["fee_est"],
        builder_fee=checks["builder_fee_est"],
        liquidation=checks["liquidation_px_est"],
        limit=cap.get("limit"),
        used=cap.get("used"),
        reserved=cap.get("reserved"),
        remaining=cap.get("remaining"),
    )


def to_sign(
    view: OneOrderView, raw: Json, *, kind: str, step: str, venue: str, until: str
) -> OneOrderView:
    """The order with what is to be signed for it; `until` is when that is over."""
    request, checks = raw["to_sign"], raw["checks"]
    signers = [*request["signer_must_be"], None, None]
    signing = SigningView(
        kind=kind,
        step=step,
        confirm_id=raw["confirm_id"],
        wallet=signers[0],
        key=signers[1],
        expires_at=until,
        venue=venue,
        block=request,
    )
    return replace(view, signing=signing, facts=_facts(checks) if checks else None)


def refused(view: OneOrderView, block: Json) -> OneOrderView:
    """The order after something was refused."""
    return replace(view, problem=refusal.view(block, None))
