"""Every page that the routes of the screens name, with what its address needs: a page that is added
is looked at without an edit here, and one whose address needs something unknown fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final

from app.page_context import PageRoute
from app.pages.public import TITLES
from app.screens import PAGES
from tests.world import Mandated

PART: Final = re.compile(r"{(\w+)(?::[^}]*)?}")
UNSEEN: Final = "0x" + "12" * 32
Values = Mapping[str, Sequence[str]]


async def values_of(m: Mandated) -> Values:
    """What a part of an address may be, for a mandate."""
    told = await m.world.ok("mandate_approvals", m.owner, public_id=m.id)
    held = [str(a["approval_id"]) for a in told["items"]]
    hook = await m.world.do("owner_webhook_create", m.owner, url="https://hooks.example/a")
    made: Any = hook.body.get("webhook", NOWHERE)
    return NOWHERE | {
        "hook": [made["webhook_id"]] if hook.status == 201 else NOWHERE["hook"],
        "id": [m.id],
        "agent": [m.agent.user_id],
        "approval": held or ["ap_" + A],
    }


A: Final = "a" * 10
NOWHERE: Final[Values] = {
    "id": ["m_" + A],
    "agent": ["u_" + A],
    "approval": ["ap_" + A],
    "hash": [UNSEEN],
    "page": list(TITLES),
    "order": ["o_" + A],
    "book": ["b_" + A],
    "hook": ["wh_" + A],
    "ask": ["s1." + A],
    "code": ["c" * 32],
    "receiver": ["wh_" + A],
}
"""What a part of an address may be where there is nothing of the kind."""
QUERIES: Final[dict[str, tuple[str, ...]]] = {
    "/app/mandates/{id}/record": ("", "?as=stored"),
    "/app/mandates/{id}/fund": ("", "?amount=999999"),
    "/app/mandates/{id}/unwind": ("", "?market=test-market", "?market=nowhere"),
    "/app/mandates/{id}/tx/{hash}": ("?for=pause", "?for=create"),
    "/app/start": ("", "?form=1"),
    "/app/deposit": ("", "?amount=100"),
    "/app/sign-in": ("", "?ended=1"),
}


FILES: Final = (".csv",)  # a browser keeps these, and shows no page


def opened() -> list[PageRoute]:
    """The pages that are opened by an address."""
    return [p for p in PAGES if p.method == "GET" and not p.path.endswith(FILES)]


def parts(page: PageRoute) -> list[str]:
    """What the page's address needs."""
    return PART.findall(page.path)


def stations(values: Values, pages: Iterable[PageRoute]) -> list[str]:
    """The addresses of some pages."""
    found: list[str] = []
    for page in pages:
        names = parts(page)
        for chosen in product(*(values[name] for name in names)):
            by_name = {"id": values["id"][0]} | dict(zip(names, chosen, strict=True))
            path = PART.sub(lambda told, named=by_name: named[told[1]], page.path)
            queries = QUERIES.get(page.path, ("",))
            found += [path + query.format(id=by_name["id"], zeros="0" * 40) for query in queries]
    return found
