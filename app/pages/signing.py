"""Reading the terms and signing them; throwing a draft away."""

from __future__ import annotations

import json
from typing import Final

from aiohttp import web

from app import page_context
from app.operations import OperationRefused
from app.page import PageRoute
from app.page_context import PageRequest
from app.replies import Json
from app.views import review

PARTS: Final = "mandate,progress"


async def show_review(visit: PageRequest) -> web.Response:
    """The terms; a mandate that is signed shows the same, without the button."""
    return await _show_review(visit)


async def _show_review(visit: PageRequest, refused: OperationRefused | None = None) -> web.Response:
    public_id = visit.path_part("id")
    read = await visit.run("mandate_get", public_id=public_id, parts=PARTS)
    terms = await visit.run("owner_terms", public_id=public_id)
    view = review.view(terms, read, None if refused is None else refused.block)
    status = 200 if refused is None else refused.status
    chain_id = read["mandate"]["chain_id"]
    return visit.show("review.html", view, status=status, chain_id=chain_id)


async def typed_data(visit: PageRequest) -> web.Response:
    """The typed data as a download, to hash elsewhere."""
    terms = await visit.run("owner_terms", public_id=visit.path_part("id"))
    body: Json = {n: terms[n] for n in ("typed_data", "digest", "terms_version")}
    return page_context.text(json.dumps(body, indent=1, ensure_ascii=False), "application/json")


async def sign(visit: PageRequest) -> web.Response:
    """Submit the signature; a refusal is shown beside the current terms."""
    public_id = visit.path_part("id")
    try:
        await visit.run("owner_sign", public_id=public_id, signature=visit.field("signature") or "")
    except OperationRefused as refused:
        return await _show_review(visit, refused)
    return visit.go(f"/app/mandates/{public_id}/create")


async def cancel(visit: PageRequest) -> web.Response:
    """Give up a draft, or signed terms without a vault."""
    await visit.run("owner_mandate_cancel", public_id=visit.path_part("id"))
    return visit.go("/app/mandates")


PAGES: Final = (
    PageRoute(method="GET", path="/app/mandates/{id}/review", show=show_review),
    PageRoute(method="GET", path="/app/mandates/{id}/terms.json", show=typed_data),
    PageRoute(method="POST", path="/app/mandates/{id}/sign", show=sign),
    PageRoute(method="POST", path="/app/mandates/{id}/cancel", show=cancel),
)
