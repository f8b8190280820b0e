"""The owner's mandates: what waits for the owner first, then a card each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.replies import Json, Record
from app.words import times
from app.words.status import Pill, pill
from app.words.text import _
from app.words.untrusted_text import agent_of


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingView:
    """A task that only the owner can do."""

    agent: Record
    asks: str | None
    text: str
    href: str
    ends: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CardView:
    """A mandate in the list."""

    href: str
    pill: Pill
    amount: str | None
    estimated: bool
    floor: str
    agent: Record
    purpose: str
    pending: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MandatesView:
    """A page of the list; `older` is the cursor of the next, `more` that of the next approvals."""

    pending: tuple[WaitingView, ...]
    more: str | None
    cards: tuple[CardView, ...]
    older: str | None


def card(row: Json) -> CardView:
    """A row of the list."""
    mandate, progress = row["mandate"], row["progress"]
    worth = progress["worth_est"]
    return CardView(
        href=f"/app/mandates/{row['public_id']}",
        pill=pill(mandate, progress),
        amount=_budget(mandate) if worth is None else worth,
        estimated=worth is not None,
        floor=progress["floor"],
        agent=agent_of(mandate),
        purpose=mandate["purpose"],
        pending=row["pending_approvals"],
    )


def _budget(mandate: Json) -> str | None:
    """The budget; None where the note of a draft leaves it open."""
    return None if "budget_usdc" in mandate["unclear_terms"] else str(mandate["budget_usdc"])


def draft_page(mandate: Json) -> str:
    """The page on which a draft continues: terms that are unclear, or name no agent, cannot be
    signed.
    """
    unnamed = mandate["agent_id"] is None and not mandate["open_board"]
    if unnamed or mandate["needs_review"]:
        return f"/app/start?draft={mandate['public_id']}"
    return f"/app/mandates/{mandate['public_id']}/review"


def _to_do(row: Json) -> WaitingView | None:
    """The tasks that a mandate waits for, apart from approvals."""
    mandate, status = row["mandate"], row["progress"]["status"]
    href, text = f"/app/mandates/{row['public_id']}", None
    if status == "draft":
        proposed = mandate["proposed_by_agent_id"] is not None
        text = _("Your agent proposes terms") if proposed else _("A draft waits for your signature")
        href = draft_page(mandate)
        if href.startswith("/app/start"):
            text = _("A draft: choose who is to act")
    elif status == "signed":
        bare = mandate["vault_address"] is None
        text = _("Signed: create its vault") if bare else _("The vault stands: put the money in")
        href += "/create" if bare else "/fund"
    elif status == "ended":
        text = _("Ended: close what is open and take your money back")
    if text is None:
        return None
    return WaitingView(agent=agent_of(mandate), asks=None, text=text, href=href, ends="")


def view(raw: Json, approvals: Json, now: datetime) -> MandatesView:
    """`listed`: a reply of mandate_list; `approvals`: the pending ones of owner_approvals."""
    request = tuple(
        WaitingView(
            agent=agent_of(item),
            asks=item["approve_amount_usdc"],
            text="",
            href=f"/app/mandates/{item['public_id']}/approvals/{item['approval_id']}",
            ends=times.distance(item["expires_at"], now),
        )
        for item in approvals["items"]
    )
    rows = raw["items"]
    to_do = tuple(todo for row in rows if (todo := _to_do(row)) is not None)
    return MandatesView(
        pending=(*request, *to_do),
        more=approvals["next_cursor"],
        cards=tuple(card(row) for row in rows),
        older=raw["next_cursor"],
    )
