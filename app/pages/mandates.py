"""An owner's mandates: what waits for the owner, drafts, a card each, the whole record of one."""

from __future__ import annotations

import json
from typing import Final

from aiohttp import web

from app.components import asks, next_step, refusal
from app.page_context import OperationRefused, PageRequest, PageRoute
from app.replies import Json, Record
from app.words import times
from app.words.steps import lines
from app.words.text import _
from app.words.untrusted_text import agent_of

A_PAGE: Final = 50


async def show_mandates(
    visit: PageRequest, refused: OperationRefused | None = None
) -> web.Response:
    """Show the owner's open decisions, and a card for each mandate; drafts stay ticked where their
    form was refused.
    """
    rows = await visit.run("mandate_list", cursor=visit.query("cursor"))
    approvals = await visit.run(
        "owner_approvals", status="pending", cursor=visit.query("waiting"), limit=A_PAGE
    )
    waiting = (
        Record(
            agent=agent_of(item),
            asks=item["approve_amount_usdc"],
            href=asks.page_of(item),
            ends=times.distance(item["expires_at"], visit.now),
        )
        for item in approvals["items"]
    )
    drafts = await visit.run("mandate_list", status="draft", cursor=visit.query("drafts"))
    is_new = not rows["items"] and not (await visit.run("owner_agents", limit=1))["items"]
    ticked = visit.form.getall("draft", [])
    view = Record(
        rows,
        problem=refusal.view(refused and refused.block),
        first_agent=Record(name="", accepts=True) if is_new else None,
        items=tuple(
            Record(r, next=next_step.view(r, r["pending_approvals"]))
            for r in rows["items"]
            if not _is_unsigned(r["mandate"])
        ),
        pending=(*waiting, *(Record(s, asks=None) for s in next_step.for_owner(rows))),
        more=approvals["next_cursor"],
        drafts=tuple(Record(_draft(d), ticked=d["public_id"] in ticked) for d in drafts["items"]),
        more_drafts=drafts["next_cursor"],
    )
    return visit.show("mandates.html", view, refused=refused)


def _is_unsigned(mandate: Json) -> bool:
    """True for a draft, and for one that was thrown away."""
    status = mandate["status"]
    return status == "draft" or (status == "cancelled" and mandate["signed_at"] is None)


def _draft(row: Json) -> Record:
    """A draft with what it still needs; its budget is None where it is unclear."""
    mandate = row["mandate"]
    by_agent, href = mandate["proposed_by_agent_id"] is not None, next_step.draft_page(mandate)
    if mandate["needs_review"]:
        text = _("Fill in the missing terms")
    elif href.startswith("/app/start"):
        text = _("Choose who is to act")
    else:
        text = _("Review and sign terms")
    unclear = "budget_usdc" in mandate["unclear_terms"]
    return Record(
        public_id=row["public_id"],
        href=href,
        state=_("Draft by your agent") if by_agent else _("Draft"),
        budget=None if unclear else mandate["budget_usdc"],
        agent=agent_of(mandate),
        purpose=mandate["purpose"],
        text=text,
    )


async def discard_drafts(visit: PageRequest) -> web.Response:
    """Throw away one draft, or those that are ticked."""
    only = visit.field("only")
    chosen = [only] if only else [str(i) for i in visit.form.getall("draft", [])]
    if chosen:
        await visit.run("owner_drafts_discard", public_ids=chosen)
    return visit.go("/app/mandates")


async def show_record(visit: PageRequest) -> web.Response:
    """All steps, a page at a time; the rows as they are stored behind "as stored"."""
    public_id, stored = visit.path_part("id"), visit.query("as") == "stored"
    name = "mandate_events" if stored else "mandate_steps"
    page = await visit.run(name, public_id=public_id, cursor=visit.query("cursor"))
    head = await visit.run("mandate_get", public_id=public_id, parts="mandate,progress")
    rows = page["items"] if stored else ()
    view = Record(
        head,
        lines=() if stored else lines(page["items"], visit.market_names()),
        rows=tuple(Record(r, text=json.dumps(r, indent=1, ensure_ascii=True)) for r in rows),
        stored=stored,
        older=page["next_cursor"],
    )
    return visit.show("record.html", view, chain_id=head["mandate"]["chain_id"])


PAGES: Final = (
    PageRoute("GET", "/app/mandates", show_mandates),
    PageRoute("POST", "/app/mandates/discard", discard_drafts, refused=show_mandates),
    PageRoute("GET", "/app/mandates/{id}/record", show_record),
)
