"""Creating the vault, by one transaction to the factory that carries the signed terms; putting
money in, by an approval of exactly the amount and the deposit.
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

from app.components import refusal, sending
from app.page_context import PageRequest, PageRoute
from app.replies import Json, Record, pick
from app.words import money
from app.words.text import _

_HUB_FIRST: Final = _(
    "Two transactions: the first creates the contract that holds the limits of payments for web "
    "services, the second your vault. They are tried out in your wallet, one after the other."
)


async def show_create(visit: PageRequest) -> web.Response:
    """The factory call; a mandate that has its vault, or no signature, is shown where it stands."""
    public_id = visit.path_part("id")
    read = await visit.run("mandate_get", public_id=public_id)
    m = read["mandate"]
    if m["status"] == "draft":
        return visit.go(f"/app/mandates/{public_id}/review")
    if m["status"] != "signed" or m["vault_address"] is not None:
        return visit.go(f"/app/mandates/{public_id}")
    terms = await visit.run("owner_terms", public_id=public_id)
    call, refused = await visit.run_or_refusal("owner_create_call", public_id=public_id)
    send, message, hub = None, "", None
    if call is not None and call["call"] is not None:
        button = _("Create vault")
        calls, hub = [call], _hub_call(call, m)
        if hub is not None:
            calls = [hub, Record(call, call=Record(call["call"], step=_("create vault")))]
        outcome = None if hub is None else Record(ok=None, text=_HUB_FIRST, error="")
        send = sending.view("create", public_id, calls, button=button, steps=(), outcome=outcome)
    elif call is not None:
        message = _("No vault factory is set for this network yet. The operator has to act.")
    view = Record(
        m,
        terms=terms,
        hub=hub and hub["policy"],
        vault=call["predicted_vault"] if call is not None and send is not None else None,
        sending=send,
        signed_terms=pick(terms, "typed_data", "digest"),
        message=message,
        problem=refusal.view(refused, public_id),
    )
    return visit.show("create.html", view, chain_id=m["chain_id"])


def _hub_call(created: Json, m: Json) -> Record | None:
    """The transaction that makes the contract that holds a purse's limits, as the sending and the
    page show it: `policy` with zero where the mandate's own limit holds. None where it stands.
    """
    call = created.get("first")
    if call is None:
        return None
    purse = next(t["purse"] for t in m["allowed_targets"] if t.get("purse"))
    limits = {n: purse.get(n, "0") for n in ("per_payment_usdc", "per_day_usdc", "float_usdc")}
    # The last word of deploy(policy).
    policy = Record(limits, deployer=call["to"], root="0x" + call["data"][-64:])
    return Record(
        call=Record(call, step=_("contract of the payments")),
        decoded=Record(function="deploy", args=(*limits.values(), policy["root"])),
        simulation=None,
        policy=policy,
    )


async def show_fund(visit: PageRequest) -> web.Response:
    """Both calls for an amount; the whole room in the budget where none is named."""
    public_id, amount = visit.path_part("id"), visit.query("amount")
    funding = await visit.run("owner_fund", public_id=public_id)
    if amount is None and _has_room(funding):
        amount = funding["room"]
    priced, refused = None, None
    if amount is not None:
        priced, refused = await visit.run_or_refusal(
            "owner_fund", public_id=public_id, amount=amount
        )
    read = await visit.run("mandate_get", public_id=public_id)
    view = _fund_view(read, priced or funding, refused)
    return visit.show("fund.html", view, chain_id=read["mandate"]["chain_id"])


def _has_room(funding: Json) -> bool:
    """True where something can be deposited under the terms."""
    return money.micros_of(funding["room"]) > 0


def _fund_view(read: Json, raw: Json, refused: Json | None) -> Record:
    """`raw` of owner_fund, for an amount or without one; `refused` what was said to an amount.
    `approved`: an approval of an earlier try stands, and only the deposit is left.
    """
    m, calls, send = read["mandate"], raw["calls"], None
    if refused is not None:
        refused = {**refused, "who_fixes": "owner"}  # the amount is the reader's own
    approved = bool(calls) and bool((calls[-1]["simulation"] or {}).get("ok"))
    if calls:
        remaining = calls[-1:] if approved else calls
        outcome = sending.tried(remaining[0]["simulation"])
        if outcome["ok"] and not approved:
            text = _("The approval was tried out just now: it works. The deposit waits for it.")
            outcome = Record(ok=True, text=text, error="")
        send = sending.view(
            "fund",
            m["public_id"],
            [Record(call, call=call) for call in remaining],
            button=_("Deposit {amount}") if approved else _("Approve and deposit {amount}"),
            amount=raw["amount"],
            steps=read["steps"],
            outcome=outcome,
            capabilities=raw["capabilities"],
        )
    return Record(
        raw,
        public_id=m["public_id"],
        first=m["status"] == "signed",
        has_room=_has_room(raw),
        approved=approved,
        typed=money.typed(raw["amount"]),
        sending=send,
        exposure=read["exposure"],
        problem=refusal.view(refused, m["public_id"]),
    )


PAGES: Final = (
    PageRoute("GET", "/app/mandates/{id}/create", show_create),
    PageRoute("GET", "/app/mandates/{id}/fund", show_fund),
)
