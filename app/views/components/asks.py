"""A held action that asks for the owner's approval; drawn by `macros/ask.html`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from app.replies import Json, Record
from app.words import money, notices, times
from app.words.status import Pill, approval_pill
from app.words.text import _
from app.words.untrusted_text import agent_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckView:
    """A check that holds, or does not; `ok` is None where it could not be made."""

    ok: bool | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskView:
    """One held action: facts first, the agent's own words apart."""

    approval_id: str
    href: str
    agent: Record
    amount: str
    pill: Pill
    pending: bool
    expires_at: str
    ends: str
    why: str
    announcement: str
    note: str
    decided_at: str | None
    name: str
    address: str | None
    selector: str
    data: str
    vault: str | None
    above: str | None
    checks: tuple[CheckView, ...]
    signs: bool


def label_of(mandate: Json, target: Json) -> str | None:
    """The label of a call in the terms; None for one that is not on their list."""
    key = (str(target["address"]).lower(), str(target["selector"]).lower())
    for entry in mandate["allowed_targets"]:
        entry_key = (str(entry.get("address")).lower(), str(entry.get("selector")).lower())
        if entry_key == key:
            return entry.get("label") or _("a listed call that this service has no name for")
    return None


def _checks(amount: str, limits: Json, is_listed: bool) -> Iterable[CheckView]:
    """The limits of the action now; the vault enforces them whatever the owner answers."""
    allowed, used = limits["allowed"], limits["used"]
    cap, day = allowed["per_action"]["value"], allowed["per_day"]["value"]
    amount_micros = money.micros_of(amount)
    fits = amount_micros <= money.micros_of(cap)
    within = _("Within the per-action limit of {cap} (clause 2)")
    above = _("Above the per-action limit of {cap} (clause 2)")
    yield CheckView(
        ok=fits, text=(within if fits else above).format(cap=money.sentence_amount(cap))
    )
    spent = money.micros_of(used["per_day"]["value"])
    available = money.micros_of(day) - spent - money.micros_of(used["per_day"]["reserved"])
    if amount_micros <= available:
        text = _("Leaves {left} of today’s {day} (clause 3)")
        sentence = text.format(
            left=money.digits(available - amount_micros), day=money.sentence_amount(day)
        )
    else:
        text = _("Today has only {left} left (clause 3): the vault would refuse it until 00:00 UTC")
        sentence = text.format(left=money.digits(max(0, available)))
    yield CheckView(ok=amount_micros <= available, text=sentence)
    yield CheckView(
        ok=is_listed,
        text=_("The call is on your list (clause 5)")
        if is_listed
        else _("The call is not on your list (clause 5)"),
    )


def view(item: Json, read: Json, now: datetime) -> AskView:
    """`item` of the approvals; `read`: mandate, limits and clauses of its mandate."""
    mandate, target = read["mandate"], item["target"]
    name = label_of(mandate, target)
    status, amount = item["status"], item["approve_amount_usdc"]
    asking = next(c for c in read["clauses"] if c["key"] == "asking")
    return AskView(
        approval_id=item["approval_id"],
        href=f"/app/mandates/{mandate['public_id']}/approvals/{item['approval_id']}",
        agent=agent_of(mandate),
        amount=amount,
        pill=approval_pill(status),
        pending=status == "pending",
        expires_at=item["expires_at"],
        ends=times.distance(item["expires_at"], now),
        why=item["why"] or "",
        announcement=notices.approval_notice(amount),
        note=item["note"] or "",
        decided_at=item["decided_at"],
        name=name or _("a call that is not on your list"),
        address=target["address"],
        selector=target["selector"] or "",
        data=item["data"],
        vault=mandate["vault_address"],
        above=mandate["approval_above_usdc"],
        checks=tuple(_checks(amount, read["limits"], name is not None)),
        signs=asking["enforced_by"] == "Contract",
    )
