"""The review page: reading the terms and signing them; throwing a draft away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from aiohttp import web

from app import page_context
from app.components import refusal
from app.page_context import OperationRefused, PageRequest, PageRoute
from app.pages.drafting import show_unsignable
from app.pages.way_out import left_by_agent
from app.replies import Json, Record, pick
from app.words.clauses import inactive
from app.words.fields import CLAUSE_OF, FIELDS, plain_value
from app.words.text import _

PARTS: Final = "mandate,progress"
ASKING: Final = 6


async def show_review(visit: PageRequest, refused: OperationRefused | None = None) -> web.Response:
    """The terms; a mandate that is signed shows the same, without the button."""
    public_id = visit.path_part("id")
    read = await visit.run("mandate_get", public_id=public_id, parts=PARTS)
    try:
        terms = await visit.run("owner_terms", public_id=public_id)
    except OperationRefused as wrong:
        return await show_unsignable(visit, wrong)
    m, clauses = read["mandate"], terms["clauses"]
    markets = next(c for c in clauses if c["key"] == "markets")
    listed = await visit.run("markets_list")
    view = Record(
        m,
        signed=m["status"] != "draft",
        terms=terms,
        unpromised=tuple(_unpromised(clauses)),
        left_by_agent=left_by_agent(m["allowed_targets"], listed),
        lines=tuple(_lines(terms["typed_data"])),
        # What the browser checks and the wallet signs.
        block=Record(
            pick(terms, "typed_data", "digest"),
            items=markets["params"]["items"],
            public_id=public_id,
        ),
        problem=refusal.view(refused and refused.block, public_id),
    )
    return visit.show("review.html", view, refused=refused, chain_id=m["chain_id"])


def _unpromised(clauses: tuple[Json, ...]) -> Iterator[str]:
    yield _("That the agent earns anything.")
    yield _("That the stop line holds when a market falls in one step, or cannot pay out.")
    if any(c["n"] == ASKING and c["enforced_by"] != "Contract" for c in clauses):
        yield _("Clause 6 against an agent that goes around this service: it is flagged, not held.")
    later = _("Clause {n} for now: it is stored, and not active on this service.")
    yield from (later.format(n=c["n"]) for c in clauses if inactive(c))


def _lines(typed: Json) -> Iterator[Record]:
    """The signed values in their order: each as the wallet shows it, and what it means."""
    for field in typed["types"]["MandateTerms"]:
        name, raw = field["name"], str(typed["message"][field["name"]])
        meaning, kind, _label = FIELDS.get(name, ("", "text", ""))
        yield Record(
            name=name,
            raw=raw,
            kind=kind,
            meaning=meaning,
            meaning_text=plain_value(kind, raw),
            clause=CLAUSE_OF.get(name),
        )


async def typed_data(visit: PageRequest) -> web.Response:
    """The typed data as a download, to hash elsewhere."""
    terms = await visit.run("owner_terms", public_id=visit.path_part("id"))
    body = pick(terms, "typed_data", "digest", "terms_version")
    return page_context.text(json.dumps(body, indent=1, ensure_ascii=False), "application/json")


async def sign(visit: PageRequest) -> web.Response:
    """Submit the signature; a refusal is shown beside the current terms."""
    public_id, signature = visit.path_part("id"), visit.field("signature") or ""
    await visit.run("owner_sign", public_id=public_id, signature=signature)
    return visit.go(f"/app/mandates/{public_id}/create")


async def cancel(visit: PageRequest) -> web.Response:
    """Give up a draft, or signed terms without a vault."""
    await visit.run("owner_mandate_cancel", public_id=visit.path_part("id"))
    return visit.go("/app/mandates")


PAGES: Final = (
    PageRoute("GET", "/app/mandates/{id}/review", show_review),
    PageRoute("GET", "/app/mandates/{id}/terms.json", typed_data),
    PageRoute("POST", "/app/mandates/{id}/sign", sign, refused=show_review),
    PageRoute("POST", "/app/mandates/{id}/cancel", cancel),
)
