"""The record as a person reads it: one line a transaction, with all its effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

from app.replies import Json, Record
from app.words.text import _
from domain.reads.step import TOLD_BY

TITLES: Final[Mapping[str, str]] = {
    "buy": _("Put to work"),
    "sell": _("Brought back to the vault"),
    "move": _("Moved"),
    "executed": _("Action seen on chain; the agent has not reported it"),
    "unwound": _("Position closed"),
    "into_purse": _("Put into the purse"),
    "out_of_purse": _("Taken back out of the purse"),
    "purse_funded": _("Put into the purse"),
    "purse_drained": _("Taken back out of the purse"),
    "purse_came_in": _("Money from elsewhere arrived in the purse"),
    "purse_voided": _("Open payments made void"),
    "purse_paid": _("Paid out of the purse"),
    "unexplained": _("The agent has not said what a payment bought"),
    "deposit": _("Deposit"),
    "withdraw": _("Withdrawal"),
    "signed": _("You signed the terms"),
    "purpose": _("Your instruction"),
    "paused": _("You paused the agent"),
    "resumed": _("You resumed the agent"),
    "stop": _("Stopped"),
    "cancelled": _("You cancelled the mandate"),
    "payout": _("The agent’s share was paid"),
    "resolve": _("Result"),
    "paid_read": _("Paid for information"),
    "fee": _("Fee"),
    "preview": _("Checked before acting"),
    "mark": _("Value recorded"),
    "claim": _("A reported action never reached the chain"),
    "told_push": _("You were told in a browser"),
    "told_email": _("You were told by e-mail"),
    "told_webhook": _("You were told by webhook"),
    "note": _("Note"),
    "refused": _("Attempt refused"),
}
REFUSED: Final[Mapping[str, str]] = {
    "OverPerTxCap": _("above the per-action limit"),
    "OverDailyCap": _("above the day limit"),
    "TargetNotAllowed": _("not on the list of allowed calls"),
    "MandateStopped": _("the mandate is stopped"),
    "MandateEnded": _("the mandate has ended"),
    "server_guard": _("refused by this service"),
}
UNTOLD: Final[Mapping[str, str]] = {
    "told_push": _("You could not be told in a browser"),
    "told_email": _("You could not be told by e-mail"),
    "told_webhook": _("You could not be told by webhook"),
}
CONSENT: Final[Mapping[str, str]] = {
    "pending": _("Needs your approval"),
    "approved": _("You approved the action"),
    "declined": _("You declined the action"),
    "used": _("Approved action: done"),
    "expired": _("Request for your approval expired"),
}
STOPPED_BY: Final[Mapping[str, str]] = {
    "owner": _("You stopped the mandate"),
    "agent": _("The agent stopped the mandate"),
    "floor": _("Stopped at the stop line"),
    "withdraw": _("Stopped by your withdrawal"),
}
SOURCES: Final[Mapping[str, str]] = {
    "chain": _("read from the chain"),
    "agent": _("reported by the agent, not confirmed"),
    "owner": _("by you"),
    "keeper": _("by this service"),
}
CONFIRMED: Final = _("reported by the agent, confirmed on chain")
HELD: Final = _("held by this service (clause 6)")
PROVISIONAL: Final = _("confirming")
UNPROVEN: Final = _("reported without a transaction; not counted")
CONTRADICTED: Final = _("the agent reported other figures; the chain’s figures count")
# What speaks for a transaction in which several things happened, the most telling first.
LEADS: Final = (
    "buy", "sell", "move", "into_purse", "out_of_purse", "unwound", "executed", "withdraw",
    "deposit", "stop", "resolve", "payout", "paused", "resumed",
)  # fmt: skip


def attempt(refused: Json) -> str:
    """The title of an attempt that was refused, by its reason."""
    why = REFUSED.get(refused.get("reason", ""), _("outside the terms"))
    return f"{TITLES['refused']}: {why}"


def _title(step: Json) -> str:
    code, params = step["code"], step["params"]
    if step["kind"] == "consent":
        return CONSENT.get(step["status"], _("Approval"))
    if code == "refused":
        return attempt(params.get("refusal") or {})
    if step["status"] == "failed" and code in UNTOLD:
        return UNTOLD[code]
    if code == "paid_read" and params.get("purse"):
        return TITLES["purse_paid"]
    if code == "stop":
        return STOPPED_BY.get(params.get("reason") or "", TITLES[code])
    return TITLES.get(code, code.replace("_", " ").capitalize())


def _source(step: Json) -> str:
    if step["kind"] == "consent" and step["status"] == "pending":
        return HELD
    if step["status"] == "provisional":
        return PROVISIONAL
    if step["status"] == "unproven":
        return UNPROVEN
    if step.get("contradicted"):
        return CONTRADICTED
    by = step["reported_by"]
    return CONFIRMED if by == "agent" and step["confirmed_on_chain"] else SOURCES[by]


def rank(code: str) -> int:
    """Its place among what speaks for a transaction, the most telling first."""
    return LEADS.index(code) if code in LEADS else len(LEADS)


def _numbers(steps: Iterable[Json], name: str) -> tuple[int, ...]:
    return tuple(sorted({n for s in steps for n in s[name]}))


def _line(group: list[Json], markets: Mapping[str, str]) -> Record:
    """A group of steps: the telling one leads, what else happened follows as effects; `why`,
    `note`, `resource` and `market` are other people's words.
    """
    first, *others = sorted(group, key=lambda step: rank(step["code"]))
    # A report and the chain's row of it are one thing that happened, not two.
    twin = first["kind"] == "action" and first["reported_by"] == "agent"
    effects = [s for s in others if not (twin and s["code"] in ("executed", "unwound"))]
    source = _source(first)
    if len(effects) < len(others) and source == SOURCES["agent"]:
        source = CONFIRMED
    return Record(
        at=max(s["at"] for s in group),
        title=_title(first),
        market=market_name(first["target"]["market"], markets),
        amount=first["amount_usdc"],
        effects=tuple(dict.fromkeys((_title(s), s["amount_usdc"]) for s in effects)),
        why=next((s["why"] for s in group if s["why"]), ""),
        note=next((s["note"] for s in group if s["note"]), ""),
        resource=first["resource"] or "",
        payee=_payee(first),
        tx_hash=first["tx_hash"] if _payee(first) else "",
        source=source,
        allowed_by=_numbers(group, "allowed_by"),
        breached=_numbers(group, "breached"),
    )


def _payee(step: Json) -> str:
    """The address that a payment out of the purse went to; "" for any other step."""
    params = step["params"]
    return str(params["payee"]) if params.get("purse") and params.get("payee") else ""


def market_name(market: str | None, markets: Mapping[str, str]) -> str:
    """The service's name of a market that it knows; else what the agent calls it, "" for none."""
    return markets.get(market or "", market or "")


def lines(
    steps: Iterable[Json], markets: Mapping[str, str], limit: int | None = None
) -> tuple[Record, ...]:
    """The steps of a reply, newest first as they came, `limit` lines of them; marks are left to the
    chart, and an owner who said nothing gave no instruction. `markets` are the names of those that
    the service knows, by their ids.
    """
    groups: dict[str, list[Json]] = {}
    for step in steps:
        empty = step["kind"] == "instruction" and not step["note"]
        if step["code"] != "mark" and not empty:
            groups.setdefault(step["group"], []).append(step)
    telling = map(_telling, islice(groups.values(), limit))
    return tuple(_line(group, markets) for group in telling)


def _telling(group: list[Json]) -> list[Json]:
    """The steps without what another says already."""
    codes = {s["code"] for s in group}
    repeated = {TOLD_BY[code] for code in codes & TOLD_BY.keys()}
    return [s for s in group if s["code"] not in repeated]
