"""A held action that asks for the owner's approval; drawn by `macros/ask.html`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from app.replies import Json, Record, pick
from app.words import money, notices, times
from app.words.status import APPROVALS
from app.words.text import _
from app.words.untrusted_text import agent_of


def page_of(item: Json) -> str:
    """The page of a held action."""
    return f"/app/mandates/{item['public_id']}/approvals/{item['approval_id']}"


def label_of(mandate: Json, target: Json) -> str | None:
    """The label of a call in the terms; None for one that is not on their list."""
    key = (str(target["address"]).lower(), str(target["selector"]).lower())
    for entry in mandate["allowed_targets"]:
        if (str(entry.get("address")).lower(), str(entry.get("selector")).lower()) == key:
            return entry.get("label") or _("a listed call without a name")
    return None


def _checks(amount: str, limits: Json, is_listed: bool) -> Iterator[Record]:
    """The limits of the action now; the vault enforces them whatever the owner answers."""
    allowed, today = limits["allowed"], limits["used"]["per_day"]
    cap, day = allowed["per_action"]["value"], allowed["per_day"]["value"]
    micros = money.micros_of(amount)
    yield _check(
        micros <= money.micros_of(cap),
        _("Within the per-action limit of {cap} (clause 2)"),
        _("Above the per-action limit of {cap} (clause 2)"),
        cap=money.sentence_amount(cap),
    )
    left = money.micros_of(day) - sum(money.micros_of(today[n]) for n in ("value", "reserved"))
    fits = micros <= left
    yield _check(
        fits,
        _("Leaves {left} of today’s {day} (clause 3)"),
        _("Today has only {left} left (clause 3): the vault would refuse it until 00:00 UTC"),
        left=money.amount(left - micros if fits else max(0, left)),
        day=money.sentence_amount(day),
    )
    yield _check(
        is_listed,
        _("The call is on your list (clause 5)"),
        _("The call is not on your list (clause 5)"),
    )


def _check(ok: bool, holds: str, fails: str, **amounts: str) -> Record:
    return Record(ok=ok, text=(holds if ok else fails).format(**amounts))


def view(item: Json, read: Json, now: datetime) -> Record:
    """`item` of the approvals; `read`: mandate, limits and clauses of its mandate. `checks` are
    (`ok`, `text`): None where one could not be made.
    """
    mandate, amount = read["mandate"], item["approve_amount_usdc"]
    name = label_of(mandate, item["target"])
    asking = next(c for c in read["clauses"] if c["key"] == "asking")
    return Record(
        pick(item, "approval_id", "expires_at", "decided_at", "data"),
        href=page_of(item),
        agent=agent_of(mandate),
        amount=amount,
        pill=APPROVALS[item["status"]],
        pending=item["status"] == "pending",
        ends=times.distance(item["expires_at"], now),
        why=item["why"] or "",
        announcement=notices.approval_notice(amount),
        note=item["note"] or "",
        name=name or _("a call that is not on your list"),
        address=item["target"]["address"],
        vault=mandate["vault_address"],
        above=mandate["approval_above_usdc"],
        checks=tuple(_checks(amount, read["limits"], name is not None)),
        signs=asking["enforced_by"] == "Contract",
    )
