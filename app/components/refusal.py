"""A refusal beside what it refused; drawn by `macros/refusal.html`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from app.replies import Json, Record
from app.words import money
from app.words.refusals import AMOUNT, ELSE, ELSEWHERE, TITLES, WHO, sentences
from app.words.text import _
from domain.refusal_kinds.requests import KINDS

# Steps of a refusal that a page of ours takes; `{public_id}` is the mandate at hand.
PAGES: Final[Mapping[str, str]] = {
    "POST /wallet/auth/challenge": "/app/sign-in",
    "GET /wallet/mandates": "/app/mandates",
    "GET /wallet/mandates/{public_id}": "/app/mandates/{public_id}",
    "GET /wallet/mandates/{public_id}/terms": "/app/mandates/{public_id}/review",
    "GET /wallet/mandates/{public_id}/approvals": "/app/mandates/{public_id}",
    "GET /wallet/mandates/{public_id}/withdraw-call": "/app/mandates/{public_id}/withdraw",
    "GET /wallet/mandates/{public_id}/close-all-plan": "/app/mandates/{public_id}/leave",
    "GET /wallet/mandates/{public_id}/create-call": "/app/mandates/{public_id}/create",
    "GET /wallet/mandates/{public_id}/fund": "/app/mandates/{public_id}/fund",
    "GET /wallet/markets": "/app/markets",
    "POST /wallet/mandates": "/app/start",
    "GET /wallet/hall": "/app/hall",
    "GET /wallet/own/status": "/app/own",
    "POST /wallet/own/link/challenge": "/app/own",
    "POST /wallet/own/enable/relay": "/app/own",
    "POST /wallet/own/enable/verify": "/app/own",
    "GET /app/trade/products": "/app/orders",
    "GET /app/trade/me": "/app/orders#limits",
    "GET /app/trade/positions": "/app/orders#positions",
    "GET /wallet/order/pending": "/app/orders#waiting",
}
REMAINING: Final[Mapping[str, str]] = {
    "value": _("Possible now"),
    "idle": _("Available"),
    "per_action": _("Left for one action"),
    "per_day": _("Left today"),
    "budget": _("Left of the budget"),
    "nearest": _("Nearest allowed value"),
    "limit": _("The limit"),
    "used": _("Used of it"),
    "per_order_usdc": _("Your limit per order"),
    "per_day_usdc": _("Your limit per day"),
}
# What the caller of a request mends is the reader's own to mend: no agent reads a page.
NOT_FIXED: Final = frozenset({"not_found", "wrong_status", "not_paused", "no_position"})
OWN: Final = frozenset(kind.code for kind in KINDS if kind.who_fixes == "agent")


def _who_fixes(code: str, who: str, page: str | None) -> str:
    """The party that can fix it; none where a page of ours goes on from here all the same, or where
    nothing is found that could be, or a state that few leave again.
    """
    if code in NOT_FIXED or (who == "nobody" and page is not None):
        return ""
    return WHO.get("owner" if code in OWN else who, "")


def _told_as(code: str, fields: Sequence[Json]) -> str:
    """The code whose sentence is true: nothing has changed where a field of a form is taken."""
    return "invalid_request" if code == "conflict" and fields else code


def _remaining(value: str, field: str) -> str:
    """An amount that is left, or the nearest value of a field, as a form takes it."""
    if field == "slippage_bps" and value.isdecimal():
        return money.percent(int(value)) or value
    return money.sentence_amount(value) if AMOUNT.fullmatch(value) else value


def view(block: Json | None, public_id: str | None = None, shown_state: str = "") -> Record | None:
    """A refusal block (contract 1) as a person reads it: its sentences, the party that can fix it,
    and the next step. None where nothing was refused. `shown_state`: the word for the mandate's
    state on the page.
    """
    if block is None:
        return None
    code = str(block["error"])
    first: Json = next(iter(block.get("next") or ()), {})
    page = PAGES.get(first.get("route", ""))
    if page is not None and "{public_id}" in page:
        page = page.replace("{public_id}", public_id) if public_id else None
    remaining = block.get("remaining") or {}
    fields = (block.get("detail") or {}).get("fields") or ()
    return Record(
        title=TITLES.get(code, ELSE),
        sentences=sentences(_told_as(code, fields), str(block["reason"]), shown_state),
        who_fixes=_who_fixes(code, block["who_fixes"], page),
        retry_safe=block["retry_safe"],
        retry_at=block.get("retry_at"),
        remaining=tuple(
            (REMAINING[n], _remaining(str(v), str(remaining.get("field"))))
            for n, v in remaining.items()
            if n in REMAINING
        ),
        step=_(first.get("text", "")),
        href=page,
        elsewhere=first.get("text") in ELSEWHERE,
        fields=tuple((str(f["loc"]), str(f["msg"])) for f in fields),
        code=code,
    )
