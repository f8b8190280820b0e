"""An owner's mandates: the list, one of them, its record and its held actions."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from app.operations import OperationRefused
from app.page import PageRoute
from app.page_context import PageRequest
from app.views import approval, mandate, mandates, record

A_PAGE: Final = 50


async def show_mandates(visit: PageRequest) -> web.Response:
    """Pending approvals, and a card for each mandate."""
    rows = await visit.run("mandate_list", cursor=visit.query("cursor"))
    approvals = await visit.run(
        "owner_approvals", status="pending", cursor=visit.query("waiting"), limit=A_PAGE
    )
    return visit.show("mandates.html", mandates.view(rows, approvals, visit.now))


async def show_mandate(visit: PageRequest) -> web.Response:
    """One mandate; a draft is still to be read and signed."""
    public_id = visit.path_part("id")
    read = await visit.run("mandate_get", public_id=public_id)
    if read["mandate"]["status"] == "draft":
        return visit.go(mandates.draft_page(read["mandate"]))
    series = await visit.run("mandate_series", public_id=public_id)
    pending = await visit.run("mandate_approvals", public_id=public_id, status="pending")
    view = mandate.view(read, series, pending, visit.now)
    return visit.show("mandate.html", view, chain_id=read["mandate"]["chain_id"])


async def show_record(visit: PageRequest) -> web.Response:
    """All steps, a page at a time; the rows as they are stored behind "as stored"."""
    public_id, cursor = visit.path_part("id"), visit.query("cursor")
    stored = visit.query("as") == "stored"
    name = "mandate_events" if stored else "mandate_steps"
    rows = await visit.run(name, public_id=public_id, cursor=cursor)
    head = await visit.run("mandate_get", public_id=public_id, parts="mandate,progress")
    view = record.view(head, rows, stored=stored)
    return visit.show("record.html", view, chain_id=head["mandate"]["chain_id"])


async def show_approval(visit: PageRequest) -> web.Response:
    """One held action, looked at again as things stand now."""
    view, chain_id = await _load_approval(visit)
    return visit.show("approval.html", view, chain_id=chain_id)


async def _load_approval(visit: PageRequest) -> tuple[approval.ApprovalView, int]:
    """The action and the chain on which its vault is."""
    public_id, approval_id = visit.path_part("id"), visit.path_part("approval")
    parts = "mandate,progress,limits,clauses"
    read = await visit.run("mandate_get", public_id=public_id, parts=parts)
    fresh = await visit.run("mandate_approval", public_id=public_id, approval_id=approval_id)
    return approval.view(fresh, read, visit.now), int(read["mandate"]["chain_id"])


async def decide(visit: PageRequest) -> web.Response:
    """Approve or decline; where the vault keeps approvals, approving asks the wallet first."""
    public_id, approval_id = visit.path_part("id"), visit.path_part("approval")
    try:
        await visit.run(
            "owner_approval_decide",
            public_id=public_id,
            approval_id=approval_id,
            decision=visit.field("decision") or "",
            note=visit.field("note"),
            signature=visit.field("signature"),
        )
    except OperationRefused as refused:
        view, chain_id = await _load_approval(visit)
        view = approval.with_refusal(view, refused.block, note=visit.field("note") or "")
        return visit.show("approval.html", view, status=refused.status, chain_id=chain_id)
    return visit.go(f"/app/mandates/{public_id}#record")


PAGES: Final = (
    PageRoute(method="GET", path="/app/mandates", show=show_mandates),
    PageRoute(method="GET", path="/app/mandates/{id}", show=show_mandate),
    PageRoute(method="GET", path="/app/mandates/{id}/record", show=show_record),
    PageRoute(method="GET", path="/app/mandates/{id}/approvals/{approval}", show=show_approval),
    PageRoute(method="POST", path="/app/mandates/{id}/approvals/{approval}", show=decide),
)
