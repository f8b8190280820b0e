"""Transactions of the owner's wallet: the vault, the money, each action, and its outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import quote

from aiohttp import web

from app.operations import OperationRefused
from app.page import PageRoute
from app.page_context import PageRequest
from app.replies import Json, Record
from app.views import act, create, fund, leave, tx
from app.views.components import sending

KINDS: Final[Mapping[str, str]] = {
    "fund": "deposit",
    "pause": "pause",
    "resume": "resume",
    "stop": "stop",
    "record": "record",
    "withdraw": "withdraw",
    "unwind": "unwind",
}


async def _run_or_refusal(
    visit: PageRequest, name: str, **arguments: str | None
) -> tuple[Json, Json]:
    """(reply, {}) or ({}, the block of the refusal)."""
    try:
        response = await visit.run(name, public_id=visit.path_part("id"), **arguments)
    except OperationRefused as refused:
        if refused.code == "not_found":
            raise
        return {}, refused.block
    return response, {}


async def _read(visit: PageRequest) -> Json:
    return await visit.run("mandate_get", public_id=visit.path_part("id"))


async def show_create(visit: PageRequest) -> web.Response:
    """The factory call; a mandate that has its vault, or no signature, is shown where it stands."""
    public_id, read = visit.path_part("id"), await _read(visit)
    m = read["mandate"]
    if m["status"] == "draft":
        return visit.go(f"/app/mandates/{public_id}/review")
    if m["status"] != "signed" or m["vault_address"] is not None:
        return visit.go(f"/app/mandates/{public_id}")
    terms = await visit.run("owner_terms", public_id=public_id)
    call, refused = await _run_or_refusal(visit, "owner_create_call")
    view = create.view(read, terms, call or None, refused or None)
    return visit.show("create.html", view, chain_id=m["chain_id"])


async def show_fund(visit: PageRequest) -> web.Response:
    """Both calls for an amount; the whole room in the budget where none is named."""
    public_id, typed_amount = visit.path_part("id"), visit.query("amount")
    response = await visit.run("owner_fund", public_id=public_id)
    amount = typed_amount or (response["room"] if _positive(response["room"]) else None)
    priced: Json = {}
    refused: Json = {}
    if amount is not None:
        priced, refused = await _run_or_refusal(visit, "owner_fund", amount=amount)
    read = await _read(visit)
    view = fund.view(read, priced or response, refused or None)
    return visit.show("fund.html", view, chain_id=read["mandate"]["chain_id"])


def _positive(amount: str) -> bool:
    return any(c in "123456789" for c in amount)


def _action_page(kind: str) -> Callable[[PageRequest], Awaitable[web.Response]]:
    async def show(visit: PageRequest) -> web.Response:
        read = await _read(visit)
        response, refused = await _run_or_refusal(visit, f"owner_{kind}_call")
        agent_name = None
        if kind == "resume" and response:
            terms = await visit.run("owner_terms", public_id=visit.path_part("id"))
            agent_name = str(terms["typed_data"]["message"]["agent"])
        view = act.view(kind, read, response or None, refused or None, name=agent_name)
        return visit.show("act.html", view, chain_id=read["mandate"]["chain_id"])

    return show


async def show_leave(visit: PageRequest) -> web.Response:
    """The steps out of everything, each on its own page."""
    read = await _read(visit)
    plan = await visit.run("owner_close_all_plan", public_id=visit.path_part("id"))
    return visit.show("leave.html", leave.view(read, plan), chain_id=read["mandate"]["chain_id"])


async def show_unwind(visit: PageRequest) -> web.Response:
    """One position's exit; without its call the page asks for it."""
    target, data = visit.query("target") or "", visit.query("data")
    read = await _read(visit)
    chain_id = read["mandate"]["chain_id"]
    if data is None:
        is_repeat = visit.query("again") is not None
        asks = Record(public_id=visit.path_part("id"), target=target, is_repeat=is_repeat)
        return visit.show("unwind.html", asks, chain_id=chain_id)
    data = data.strip()
    response, refused = await _run_or_refusal(
        visit, "mandate_unwind_call", target=target, data=data
    )
    way_out = (
        act.ExitView(target=str(response["decoded"]["args"][0]), data=data) if response else None
    )
    view = act.view("unwind", read, response or None, refused or None, exit=way_out)
    return visit.show("act.html", view, chain_id=chain_id)


UNANSWERED: Final = 500  # from here on a status says nothing of what was asked


async def follow_sent(visit: PageRequest) -> web.Response:
    """Redirect to the page of a transaction that the wallet sent; only its hash is taken."""
    tx_hash, purpose = visit.field("tx_hash") or "", visit.field("for") or ""
    await _reconcile(visit, tx_hash)
    at = f"/app/mandates/{visit.path_part('id')}/tx/{quote(tx_hash, safe='')}"
    return visit.go(f"{at}?for={quote(purpose, safe='')}")


async def _reconcile(visit: PageRequest, tx_hash: str) -> tuple[Json, Json]:
    """(the outcome of a transaction, {}), or (an unknown outcome, the block of the refusal)."""
    try:
        return await visit.run(
            "mandate_reconcile", public_id=visit.path_part("id"), tx_hash=tx_hash
        ), {}
    except OperationRefused as refused:
        if refused.status < UNANSWERED:
            raise
        return {"outcome": "unknown"}, refused.block


def _has_happened(subject: str, was: str | None, read: Json) -> bool:
    """True where a mandate stands as after an action; `was`: the newest deposit, exit or record
    before it. A contract wallet names a hash of its own, and another transaction carries out what
    it stands for.
    """
    m = read["mandate"]
    if subject in sending.STEPS:
        return was is not None and sending.newest(subject, read["steps"]) not in ("", was)
    if subject == "create":
        return m["vault_address"] is not None
    if subject in ("pause", "resume"):
        return bool(m["status"] == "working" and m["paused"] == (subject == "pause"))
    ended = {"stop": ("stopped", "settled"), "withdraw": ("settled",)}
    return m["status"] in ended.get(subject, ())


async def show_transaction(visit: PageRequest) -> web.Response:
    """The state of a transaction; redirect to its result once it landed."""
    public_id, tx_hash = visit.path_part("id"), visit.path_part("hash")
    purpose, separator, before = (visit.query("for") or "").partition(".")
    was = before if separator else None
    response, refused = await _reconcile(visit, tx_hash)
    read = await visit.run("mandate_get", public_id=public_id, parts="mandate,steps")
    if response["outcome"] == "not_seen" and _has_happened(purpose, was, read):
        return visit.go(f"/app/mandates/{public_id}" + ("/fund" if purpose == "create" else ""))
    # Another wallet's transaction may have created the vault; only attaching it shows that.
    if response["outcome"] == "landed" or (
        purpose == "create" and response["outcome"] == "unknown" and not refused
    ):
        if purpose == "create":
            result, refused = await _run_or_refusal(visit, "owner_vault_attach", tx_hash=tx_hash)
        else:
            kind = KINDS.get(purpose)
            result, refused = await _run_or_refusal(
                visit, "owner_vault_tx", tx_hash=tx_hash, kind=kind
            )
        if result:
            return visit.go(f"/app/mandates/{public_id}" + ("/fund" if purpose == "create" else ""))
    view = tx.view(public_id, tx_hash, purpose, response, refused or None)
    return visit.show("tx.html", view, chain_id=read["mandate"]["chain_id"])


PAGES: Final = (
    PageRoute(method="GET", path="/app/mandates/{id}/create", show=show_create),
    PageRoute(method="GET", path="/app/mandates/{id}/fund", show=show_fund),
    *(
        PageRoute(method="GET", path=f"/app/mandates/{{id}}/{page}", show=_action_page(kind))
        for kind, page in tx.PAGES.items()
        if kind in ("pause", "resume", "stop", "record", "withdraw")
    ),
    PageRoute(method="GET", path="/app/mandates/{id}/leave", show=show_leave),
    PageRoute(method="GET", path="/app/mandates/{id}/unwind", show=show_unwind),
    PageRoute(method="POST", path="/app/mandates/{id}/sent", show=follow_sent),
    PageRoute(method="GET", path="/app/mandates/{id}/tx/{hash}", show=show_transaction),
)
