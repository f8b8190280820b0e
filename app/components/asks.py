"""A held action that asks for the owner's approval; drawn by `macros/ask.html`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from app.replies import Json, Record, pick
from app.words import money, notices, times
from app.words.status import APPROVALS
from app.words.text import _
from app.words.untrusted_text import agent_of
from domain.mandates.payment_requests import host_of
from domain.rules.rule_table import PAUSED


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


def _bars(mandate: Json) -> Iterator[Record]:
    """Bars that hold an action back whatever its owner answers."""
    if mandate["paused"]:
        yield Record(ok=False, text=_(PAUSED.fails))


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


def _payment_checks(amount: str, purse: Json) -> Iterator[Record]:
    """The limits of a payment now; a bill that is open is counted in what is reserved."""
    micros, cap, day = money.micros_of(amount), purse["per_payment"], purse["per_day"]
    yield _check(
        micros <= money.micros_of(cap),
        _("Within the limit per payment of {cap}"),
        _("Above the limit per payment of {cap}"),
        cap=money.sentence_amount(cap),
    )
    left = money.micros_of(left_today(purse))
    yield _check(
        left >= 0,
        _("Leaves {left} of the {day} that may be paid today"),
        _("More than may be paid today, by {left}: the limit is {day}"),
        left=money.amount(abs(left)),
        day=money.sentence_amount(day),
    )
    if purse["in_purse"] is not None:
        yield _check(
            micros <= money.micros_of(purse["in_purse"]),
            _("The purse holds {inside}, enough for this payment"),
            _("The purse holds {inside}: the agent has to put more into the purse first"),
            inside=money.sentence_amount(purse["in_purse"]),
        )


def left_today(purse: Json) -> str:
    """The amount that may still be paid on this UTC day, beside what is paid and open."""
    open_bills = money.sum_of(b["amount_usdc"] for b in purse["open_bills"])
    return str(money.less(money.less(purse["per_day"], purse["paid_today"]), open_bills))


def _payment(item: Json, purse: Json | None) -> Record | None:
    """The payment that an item is, by its bill; None for a call. Site and resource are in the
    words of the agent.
    """
    resource = item["target"].get("resource")
    if resource is None:
        return None
    listed = () if purse is None else purse["payees"]
    return Record(
        resource=resource,
        host=host_of(resource) or resource,
        purse=None if purse is None else purse["purse"],
        is_listed=item["target"]["address"] in listed,
    )


def view(item: Json, read: Json, now: datetime) -> Record:
    """`item` of the approvals; `read`: mandate, limits and clauses of its mandate, and its purse
    where it has one. `checks` are (`ok`, `text`): None where one could not be made; of a payment
    that is over there are none. `payment` is None for a call.
    """
    mandate, amount, purse = read["mandate"], item["approve_amount_usdc"], read.get("x402")
    name, payment = label_of(mandate, item["target"]), _payment(item, purse)
    asking = next(c for c in read["clauses"] if c["key"] == "asking")
    if payment is None:
        checks = (*_bars(mandate), *_checks(amount, read["limits"], name is not None))
        notice = notices.approval_notice(amount)
    else:
        checks = ()
        if purse is not None and item["status"] in ("pending", "approved"):
            checks = (*_bars(mandate), *_payment_checks(amount, purse))
        notice = notices.payment_notice(amount)
    return Record(
        pick(item, "approval_id", "expires_at", "decided_at", "data"),
        href=page_of(item),
        agent=agent_of(mandate),
        amount=amount,
        pill=APPROVALS[item["status"]],
        pending=item["status"] == "pending",
        ends=times.distance(item["expires_at"], now),
        why=item["why"] or "",
        announcement=notice,
        note=item["note"] or "",
        name=name or _("a call that is not on your list"),
        address=item["target"]["address"],
        vault=mandate["vault_address"],
        above=mandate["approval_above_usdc"],
        checks=checks,
        signs=asking["enforced_by"] == "Contract",
        payment=payment,
    )
