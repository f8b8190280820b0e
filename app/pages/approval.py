"""A pending approval: the action, its limits and checks now, its simulation, the answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from aiohttp import web

from app.components import asks, meters, refusal
from app.page_context import OperationRefused, PageRequest, PageRoute
from app.replies import Json, Record
from app.words import money, reverts
from app.words.text import _
from domain.rules.rule_table import BY_REFUSAL

PARTS: Final = "mandate,progress,limits,clauses,x402"


async def show_approval(
    visit: PageRequest, refused: OperationRefused | None = None
) -> web.Response:
    """One held action, looked at again as things stand now."""
    public_id, approval_id = visit.path_part("id"), visit.path_part("approval")
    read = await visit.run("mandate_get", public_id=public_id, parts=PARTS)
    fresh = await visit.run("mandate_approval", public_id=public_id, approval_id=approval_id)
    view = _view(fresh, read, visit.now)
    if refused is not None:
        view = Record(view, note=visit.field("note") or "", **_answer(refused.block, public_id))
    return visit.show("approval.html", view, refused=refused, chain_id=read["mandate"]["chain_id"])


def _answer(block: Json, public_id: str) -> Record:
    """The answer to a decision that did not go through: the data to sign, or its refusal."""
    if block["error"] == "signature_needed":
        return Record(sign=block["detail"]["typed_data"], digest=block["detail"]["digest"])
    return Record(problem=refusal.view(block, public_id))


def _view(fresh: Json, read: Json, now: datetime) -> Record:
    """`fresh` of mandate_approval; `read`: mandate, limits and clauses of its mandate. `sign` is
    what the wallet is to sign, where the vault keeps approvals.
    """
    item, call = asks.view(fresh["approval"], read, now), fresh["decoded"]["call"]
    remaining = None if item["payment"] is not None else fresh["remaining_after"]
    return Record(
        public_id=read["mandate"]["public_id"],
        item=Record(item, checks=tuple(_fresh(fresh["checks"])) or item["checks"]),
        function=call.get("function") or call["selector"] or "",
        args=tuple(a if isinstance(a, str) else json.dumps(a) for a in call.get("args") or ()),
        tried=_tried(fresh["simulation"]),
        **_meters(item, read),
        remaining_after=None if remaining is None else remaining["value"],
        problem=None,
        note="",
        sign=None,
        digest="",
    )


def _meters(item: Json, read: Json) -> dict[str, Record]:
    """The day's meter and the action's, by what holds it: the vault, or for a payment the purse."""
    purse, reset = read.get("x402"), _("resets at 00:00 UTC")
    if item["payment"] is not None and purse is not None:
        reserved = money.sum_of(b["amount_usdc"] for b in purse["open_bills"])
        day = meters.view(
            _("Paid today"), purse["paid_today"], purse["per_day"], reset, reserved=reserved
        )
        title, note = _("This payment, of the limit per payment"), _("enforced by the purse")
        return {
            "today": day,
            "action": meters.view(title, item["amount"], purse["per_payment"], note, warns=False),
        }
    allowed, today = read["limits"]["allowed"], read["limits"]["used"]["per_day"]
    cap, reserved = allowed["per_day"]["value"], today["reserved"]
    title = _("This action, of the per-action limit")
    note = _("clause 2, enforced by the vault")
    per_action = allowed["per_action"]["value"]
    return {
        "today": meters.view(_("Used today"), today["value"], cap, reset, reserved=reserved),
        "action": meters.view(title, item["amount"], per_action, note, warns=False),
    }


def _tried(simulation: Json | None) -> Record:
    if simulation is None:
        return Record(ok=None, text=_("The action could not be tried out just now."), error="")
    if simulation["ok"]:
        gas = f"{simulation['gas']:,}" if simulation["gas"] else _("some")
        text = _("Tried out just now: it works, about {gas} gas, which the agent pays.")
        return Record(ok=True, text=text.format(gas=gas), error="")
    revert = simulation["revert"]
    text = _("This would fail now: {why}.").format(why=reverts.reason(revert))
    return Record(ok=False, text=text, error=reverts.error_name(revert))


def _fresh(checks: Iterable[Json]) -> Iterator[Record]:
    """The checks as they stand now; the owner's own answer is not one of them."""
    for check in checks:
        ok, rule = check["ok"], BY_REFUSAL.get(check["code"])
        if rule is None or (ok and rule.quiet):
            continue
        text = _(rule.fails if ok is False else rule.holds)
        if ok is None:
            unread = _("Not checked, because the network does not answer just now: {what}")
            text = unread.format(what=text)
        yield Record(ok=ok, text=text)


async def decide(visit: PageRequest) -> web.Response:
    """Approve or decline; where the vault keeps approvals, approving asks the wallet first."""
    await visit.run(
        "owner_approval_decide",
        public_id=visit.path_part("id"),
        approval_id=visit.path_part("approval"),
        decision=visit.field("decision") or "",
        note=visit.field("note"),
        signature=visit.field("signature"),
    )
    return visit.go(f"/app/mandates/{visit.path_part('id')}#record")


HERE: Final = "/app/mandates/{id}/approvals/{approval}"
PAGES: Final = (
    PageRoute("GET", HERE, show_approval),
    PageRoute("POST", HERE, decide, refused=show_approval),
)
