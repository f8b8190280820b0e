"""Putting money in: an approval of exactly the amount, and the deposit."""

from __future__ import annotations

from dataclasses import dataclass

from app.replies import Json
from app.views.components import refusal, sending, worst
from app.views.components.refusal import RefusalView
from app.views.components.sending import SendingView, SimulationView
from app.views.components.worst import WorstView
from app.words.text import _


@dataclass(frozen=True, slots=True, kw_only=True)
class FundView:
    """The page; `approved`: an approval of an earlier try stands, and only the deposit is left."""

    public_id: str
    first: bool
    vault: str
    usdc: str
    room: str
    in_wallet: str | None
    provisional: bool
    amount: str | None
    approved: bool
    sending: SendingView | None
    worst: WorstView
    problem: RefusalView | None


def _outcome(approved: bool, simulation: Json | None) -> SimulationView:
    outcome = sending.tried(simulation)
    if approved or not outcome.ok:
        return outcome
    text = _("The approval was tried out just now: it works. The deposit waits for it.")
    return SimulationView(ok=True, text=text)


def view(read: Json, raw: Json, refused: Json | None = None) -> FundView:
    """`raw` of owner_fund, for an amount or without one; `refused` what was said to an amount."""
    m, calls = read["mandate"], raw["calls"]
    public_id = m["public_id"]
    approved = bool(calls) and bool((calls[-1]["simulation"] or {}).get("ok"))
    remaining = calls[-1:] if approved else calls
    send = None
    if remaining:
        button = _("Deposit") if approved else _("Approve and deposit")
        name = [
            {"call": c, "decoded": c["decoded"], "simulation": c["simulation"]} for c in remaining
        ]
        outcome = _outcome(approved, remaining[0]["simulation"])
        send = sending.view(
            "fund",
            public_id,
            name,
            button=button,
            steps=read["steps"],
            outcome=outcome,
            capabilities=raw["capabilities"],
        )
    return FundView(
        public_id=public_id,
        first=m["status"] == "signed",
        vault=raw["vault_address"],
        usdc=raw["usdc"],
        room=raw["room"],
        in_wallet=raw["in_wallet"],
        provisional=raw["provisional"],
        amount=raw["amount"],
        approved=approved,
        sending=send,
        worst=worst.view(read["exposure"], live=True),
        problem=None if refused is None else refusal.view(refused, public_id),
    )
