"""A new mandate: from a sentence to a draft, its fields, and the agent that is to act."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

from aiohttp import web

from app.operations import OperationRefused
from app.page import PageRoute
from app.page_context import PageRequest
from app.replies import Json
from app.views import start
from domain.refusals import Refused, invalid

PERCENTAGE: Final = re.compile(r"([0-9]{1,3})(?:\.([0-9]{1,2}))?\s*%?")
NONE: Final = "none"  # an agent that asks for nothing, where an empty field may be an oversight
AMOUNTS: Final = ("per_tx_cap_usdc", "daily_cap_usdc", "approval_above_usdc")


async def show_start(visit: PageRequest) -> web.Response:
    """The sentence; with `draft` the terms that were made of it."""
    draft = visit.query("draft")
    if draft is None:
        return visit.show("start.html", start.empty(agent=visit.query("agent") or ""))
    return await _show_draft(visit, draft)


async def _show_draft(
    visit: PageRequest, draft: str, refused: Json | None = None, status: int = 200
) -> web.Response:
    read = await visit.run("mandate_get", public_id=draft)
    m = read["mandate"]
    if m["status"] != "draft":
        return visit.go(f"/app/mandates/{draft}")
    note = await visit.run("mandate_draft", note=m["purpose"]) if m["purpose"] else None
    markets = await visit.run("markets_list")
    own = await visit.run("owner_agents", limit=200)
    hall = await visit.run("hall_list", accepting=True)
    names = ("budget_usdc", *AMOUNTS, "stop_floor", "share", "horizon_days", "on_floor")
    typed = {n: visit.form.get(n, "") for n in names} if refused is not None else None
    view = start.view(read, note, markets, own, hall, refused=refused, typed=typed)
    return visit.show("start.html", view, status=status, chain_id=m["chain_id"])


async def show_read_note(visit: PageRequest) -> web.Response:
    """Read the sentence, and keep what was understood as a draft."""
    note, agent = visit.field("note") or "", visit.field("agent") or ""
    try:
        response = await visit.run_once("mandate_draft", note=note, save=True)
    except OperationRefused as refused:
        view = start.empty(note, refused.block, agent=agent)
        return visit.show("start.html", view, status=refused.status)
    if agent:
        with suppress(OperationRefused):  # then somebody else is chosen on the draft
            await visit.run("owner_mandate_assign", public_id=response["public_id"], agent_id=agent)
    return visit.go(f"/app/start?draft={response['public_id']}")


def _bps(visit: PageRequest, name: str) -> int | None:
    """A percentage of the form in ten-thousandths. Errors: `invalid_request`."""
    raw = visit.field(name)
    if raw is None:
        return None
    written = PERCENTAGE.fullmatch(raw)
    bps = int(written[1]) * 100 + int((written[2] or "").ljust(2, "0")) if written else -1
    if not 0 <= bps <= 10_000:
        raise invalid(name, "a percentage from 0 to 100 with at most two decimals")
    return bps


def _days(visit: PageRequest) -> int | None:
    raw = visit.field("horizon_days")
    if raw is not None and not (raw.isascii() and raw.isdigit() and len(raw) < 6):
        raise invalid("horizon_days", "a whole number of days")
    return None if raw is None else int(raw)


def _require_filled(visit: PageRequest, m: Json) -> None:
    """Refuse a form that leaves out what the sentence leaves open: the preset fills none of it.

    Errors: `invalid_request`.
    """
    for name in sorted(start.missing(m) - {"market"}):
        if visit.field(name) is None:
            raise invalid(name, "fill this in: your sentence was not understood here")


def _typed_terms(visit: PageRequest, m: Json) -> dict[str, object]:
    """The fields of the form as an operation takes them."""
    _require_filled(visit, m)
    share, agent = _bps(visit, "share"), visit.field("agent")
    asks_above = visit.field("approval_above_usdc")
    current = {t["market"] for t in m["allowed_targets"] if t.get("market")}
    chosen = [str(name) for name in visit.form.getall("market", [])]
    others = any(
        t["kind"] in ("contract", "venue") and not t.get("market") for t in m["allowed_targets"]
    )
    same = set(chosen) == current and (not others or visit.field("others") == "keep")
    name = [] if same else chosen
    targets = m["allowed_targets"]
    if not same:
        targets = [
            t
            for t in targets
            if t["kind"] in ("vault", "x402")
            or (not t.get("market") and visit.field("others") == "keep")
        ]
    return {
        "budget_usdc": visit.field("budget_usdc") or "",
        **{name: visit.field(name) for name in AMOUNTS},
        "approval_above_usdc": None if asks_above == NONE else asks_above,
        "stop_floor_bps": _bps(visit, "stop_floor"),
        "horizon_days": _days(visit),
        "payout_rule": None if share is None else {"bps": share},
        "on_floor": visit.field("on_floor"),
        "purpose": m["purpose"],
        "target_bps": m["target_bps"],
        "chain_id": m["chain_id"],
        "allowed_targets": targets,
        "markets": name or None,
        "agent_id": None if agent == "board" else agent,
        "open_board": True if agent == "board" else None,
    }


async def store_draft(visit: PageRequest) -> web.Response:
    """Keep the fields as the draft's terms; then on to the review where that was asked for."""
    draft = visit.path_part("id")
    read = await visit.run("mandate_get", public_id=draft)
    try:
        fields = _typed_terms(visit, read["mandate"])
        await visit.run("owner_mandate_correct", public_id=draft, **fields)
    except OperationRefused as refused:
        return await _show_draft(visit, draft, refused.block, refused.status)
    except Refused as wrong:
        return await _show_draft(visit, draft, wrong.refusal.as_json(visit.caller.role), 400)
    name = fields["agent_id"] or fields["open_board"]
    if name and visit.field("then") == "review":
        return visit.go(f"/app/mandates/{draft}/review")
    return visit.go(f"/app/start?draft={draft}")


PAGES: Final = (
    PageRoute(method="GET", path="/app/start", show=show_start),
    PageRoute(method="POST", path="/app/start", show=show_read_note),
    PageRoute(method="POST", path="/app/start/{id}", show=store_draft),
)
