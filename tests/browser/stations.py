"""Every page that the routes of the screens name, with what its address needs: a page that is added
is looked at without an edit here, and one whose address needs something unknown fails.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from itertools import product
from typing import Final

from app.page import Page
from app.screens import PAGES
from app.views.documents import TITLES
from tests.world import Mandated

PART: Final = re.compile(r"{(\w+)(?::[^}]*)?}")
UNSEEN: Final = "0x" + "12" * 32
Values = Callable[[Mandated], Awaitable[list[str]]]


async def _approvals(m: Mandated) -> list[str]:
    told = await m.world.ok("mandate_approvals", m.owner, public_id=m.id)
    return [str(a["approval_id"]) for a in told["items"]] or ["ap_aaaaaaaaaa"]


async def _orders(m: Mandated) -> list[str]:
    return ["ord_aaaaaaaaaa"]


async def _books(m: Mandated) -> list[str]:
    return ["main"]


async def _one(value: str) -> list[str]:
    return [value]


VALUES: Final[dict[str, Values]] = {
    "id": lambda m: _one(m.id),
    "agent": lambda m: _one(m.agent.user_id),
    "approval": _approvals,
    "hash": lambda _: _one(UNSEEN),
    "page": lambda _: _all(TITLES),
    "order_id": _orders,
    "order": _orders,
    "book": _books,
}
"""What a part of an address may be, for a mandate."""
QUERIES: Final[dict[str, tuple[str, ...]]] = {
    "/app/mandates/{id}/record": ("", "?as=stored"),
    "/app/mandates/{id}/fund": ("", "?amount=999999"),
    "/app/mandates/{id}/unwind": ("", "?target=0x{zeros}&data=0x12345678"),
    "/app/mandates/{id}/tx/{hash}": ("?for=pause", "?for=create"),
    "/app/start": ("", "?draft={id}"),
    "/app/deposit": ("", "?amount=100"),
    "/app/sign-in": ("", "?ended=1"),
}


async def _all(values: Iterable[str]) -> list[str]:
    return list(values)


def opened() -> list[Page]:
    """The pages that are opened by an address."""
    return [page for page in PAGES if page.method == "GET"]


def parts(page: Page) -> list[str]:
    """What the page's address needs."""
    return PART.findall(page.path)


async def stations(m: Mandated, pages: Iterable[Page]) -> list[str]:
    """The addresses of some pages, for one mandate."""
    found: list[str] = []
    for page in pages:
        names = parts(page)
        values = [await VALUES[name](m) for name in names]
        for chosen, query in product(product(*values), QUERIES.get(page.path, ("",))):
            by_name = dict(zip(names, chosen, strict=True)) | {"id": m.id, "zeros": "0" * 40}
            path = PART.sub(lambda told, named=by_name: str(named[told[1]]), page.path)
            found.append(path + query.replace("{id}", m.id).replace("{zeros}", "0" * 40))
    return found
