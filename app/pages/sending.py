"""Transactions of the owner's wallet: the vault, the money, each action, and its outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import quote

from aiohttp import web

from app.operations import OperationRefused
from app.page import PageRoute
from app.page_context import PageRequest
from app.replies import Json
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


async def _or_refusal(visit: PageRequest, name: str, **arguments: str | None) -> tuple[Json, Json]:
    """(reply, {}) or ({}, the block of the refusal)."""
    try:
        response = await visit.ask(name, public_id=visit.path_part("id"), **arguments)
    except OperationRefused as refused:
        if refused.code == "not_found":
            raise
        return {}, refused.block
    return response, {}


async def _read(visit: PageRequest) -> Json:
    return await visit.ask("mandate_get", public_id=visit.path_part("id"))


async def creating(visit: PageRequest) -> web.Response:
    """The factory call; a mandate that has its vault, or no signature, is shown where it stands."""
    public_id, read = visit.path_part("id"), await _read(visit)
    m = read["mandate"]
    if m["status"] == "draft":
        return visit.go(f"/app/mandates/{public_id}/review")
    if m["status"] != "signed" or m["vault_address"] is not None:
        return visit.go(f"/app/mandates/{public_id}")
    terms = await visit.ask("owner_terms", public_id=public_id)
    call, refused = await _or_refusal(visit, "owner_create_call")
    view = create.view(read, terms, call or None, refused or None)
    return visit.show("create.html", view, chain_id=m["chain_id"])


async def funding(visit: PageRequest) -> web.Response:
    """Both calls for an amount; the whole room in the budget where none is named."""
    public_id, typed_amount = visit.path_part("id"), visit.query("amount")
    response = await visit.ask("owner_fund", public_id=public_id)
    amount = typed_amount or (response["room"] if _positive(response["room"]) else None)
    priced: Json = {}
    refused: Json = {}
    if amount is not None:
        priced, refused = await _or_refusal(visit, "owner_fund", amount=amount)
    read = await _read(visit)
    view = fund.view(read, priced or response, refused or None)
    return visit.show("fund.html", view, chain_id=read["mandate"]["chain_id"])


def _positive(amount: str) -> bool:
    return any(c in "123456789" for c in amount)


def _acting(kind: str) -> Callable[[PageRequest], Awaitable[web.Response]]:
    async def show(visit: PageRequest) -> web.Response:
        read = await _read(visit)
        response, refused = await _or_refusal(visit, f"owner_{kind}_call")
        agent_name = None
        if kind == "resume" and response:
            terms = await visit.ask("owner_terms", public_id=visit.path_part("id"))
            agent_name = str(terms["typed_data"]["message"]["agent"])
        view = act.view(kind, read, response or None, refused or None, name=agent_name)
        return visit.show("act.html", view, chain_id=read["mandate"]["chain_id"])

    return show


async def leaving(visit: PageRequest) -> web.Response:
    """The steps out of everything, each on its own page."""
    read = await _read(visit)
    plan = await visit.ask("owner_close_all_plan", public_id=visit.path_part("id"))
    return visit.show("leave.html", leave.view(read, plan), chain_id=read["mandate"]["chain_id"])


async def unwinding(visit: PageRequest) -> web.Response:
    """One position's exit; without its call the page asks for it."""
    target, data = visit.query("target") or "", visit.query("data")
    read = await _read(visit)
    chain_id = read["mandate"]["chain_id"]
    if data is None:
        is_repeat = visit.query("again") is not None
        asks = leave.UnwindChoiceView(
            public_id=visit.path_part("id"), target=target, again=is_repeat
        )
        return visit.show("unwind.html", asks, chain_id=chain_id)
    data = data.strip()
    response, refused = await _or_refusal(visit, "mandate_unwind_call", target=target, data=data)
    way_out = (
        act.ExitView(target=str(response["decoded"]["args"][0]), data=data) if response else None
    )
    view = act.view("unwind", read, response or None, refused or None, exit=way_out)
    return visit.show("act.html", view, chain_id=chain_id)


UNANSWERED: Final = 500  # from here on a status says nothing of what was asked


async def sent(visit: PageRequest) -> web.Response:
    """The wallet has sent it: follow it. The hash alone is taken, whatever else there is."""
    tx_hash, what = visit.field("tx_hash") or "", visit.field("for") or ""
    await _reconciled(visit, tx_hash)
    at = f"/app/mandates/{visit.path_part('id')}/tx/{quote(tx_hash, safe='')}"
    return visit.go(f"{at}?for={quote(what, safe='')}")


async def _reconciled(visit: PageRequest, tx_hash: str) -> tuple[Json, Json]:
    """(what became of a transaction, {}), or (that it is not known, the block that says why)."""
    try:
        return await visit.ask(
            "mandate_reconcile", public_id=visit.path_part("id"), tx_hash=tx_hash
        ), {}
    except OperationRefused as refused:
        if refused.status < UNANSWERED:
            raise
        return {"outcome": "unknown"}, refused.block


def _shows(subject: str, was: str | None, read: Json) -> bool:
    """True where a mandate stands as after an action; `was`: the newest deposit, exit or record
    before it.
    A contract wallet names a hash of its own, and somebody else's transaction carries out what it
    stands for.
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


async def following(visit: PageRequest) -> web.Response:
    """What is known of a transaction; where it landed, on to what it made."""
    public_id, tx_hash = visit.path_part("id"), visit.path_part("hash")
    what, separator, before = (visit.query("for") or "").partition(".")
    was = before if separator else None
    response, refused = await _reconciled(visit, tx_hash)
    read = await visit.ask("mandate_get", public_id=public_id, parts="mandate,steps")
    if response["outcome"] == "not_seen" and _shows(what, was, read):
        return visit.go(f"/app/mandates/{public_id}" + ("/fund" if what == "create" else ""))
    # Somebody else's transaction may have made the vault, which only the attaching can tell.
    if response["outcome"] == "landed" or (
        what == "create" and response["outcome"] == "unknown" and not refused
    ):
        if what == "create":
            done, refused = await _or_refusal(visit, "owner_vault_attach", tx_hash=tx_hash)
        else:
            kind = KINDS.get(what)
            done, refused = await _or_refusal(visit, "owner_vault_tx", tx_hash=tx_hash, kind=kind)
        if done:
            return visit.go(f"/app/mandates/{public_id}" + ("/fund" if what == "create" else ""))
    view = tx.view(public_id, tx_hash, what, response, refused or None)
    return visit.show("tx.html", view, chain_id=read["mandate"]["chain_id"])


PAGES: Final = (
    PageRoute(method="GET", path="/app/mandates/{id}/create", show=creating),
    PageRoute(method="GET", path="/app/mandates/{id}/fund", show=funding),
    *(
        PageRoute(method="GET", path=f"/app/mandates/{{id}}/{page}", show=_acting(kind))
        for kind, page in tx.PAGES.items()
        if kind in ("pause", "resume", "stop", "record", "withdraw")
    ),
    PageRoute(method="GET", path="/app/mandates/{id}/leave", show=leaving),
    PageRoute(method="GET", path="/app/mandates/{id}/unwind", show=unwinding),
    PageRoute(method="POST", path="/app/mandates/{id}/sent", show=sent),
    PageRoute(method="GET", path="/app/mandates/{id}/tx/{hash}", show=following),
)
