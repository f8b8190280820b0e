"""Reading the terms and signing them; throwing a draft away."""

from __future__ import annotations

import json
from typing import Final

from aiohttp import web

from app import answer
from app.answer import Visit
from app.ask import NotDone
from app.page import Page
from app.replies import Json
from app.views import review

PARTS: Final = "mandate,progress"


async def reviewed(visit: Visit) -> web.Response:
    """The terms; a mandate that is signed shows the same, without the button."""
    return await _shown(visit)


async def _shown(visit: Visit, refused: NotDone | None = None) -> web.Response:
    public_id = visit.named("id")
    read = await visit.ask("mandate_get", public_id=public_id, parts=PARTS)
    terms = await visit.ask("owner_terms", public_id=public_id)
    shown = review.view(terms, read, None if refused is None else refused.block)
    status = 200 if refused is None else refused.status
    chain_id = read["mandate"]["chain_id"]
    return visit.show("review.html", shown, status=status, chain_id=chain_id)


async def typed_data(visit: Visit) -> web.Response:
    """What is signed, for who wants to hash it elsewhere."""
    terms = await visit.ask("owner_terms", public_id=visit.named("id"))
    told: Json = {n: terms[n] for n in ("typed_data", "digest", "terms_version")}
    return answer.text(json.dumps(told, indent=1, ensure_ascii=False), "application/json")


async def sign(visit: Visit) -> web.Response:
    """Hand the signature in; what is refused is told beside the terms as they stand now."""
    public_id = visit.named("id")
    try:
        await visit.ask("owner_sign", public_id=public_id, signature=visit.field("signature") or "")
    except NotDone as refused:
        return await _shown(visit, refused)
    return visit.go(f"/app/mandates/{public_id}/create")


async def cancel(visit: Visit) -> web.Response:
    """Give up a draft, or signed terms without a vault."""
    await visit.ask("owner_mandate_cancel", public_id=visit.named("id"))
    return visit.go("/app/mandates")


PAGES: Final = (
    Page(method="GET", path="/app/mandates/{id}/review", show=reviewed),
    Page(method="GET", path="/app/mandates/{id}/terms.json", show=typed_data),
    Page(method="POST", path="/app/mandates/{id}/sign", show=sign),
    Page(method="POST", path="/app/mandates/{id}/cancel", show=cancel),
)
