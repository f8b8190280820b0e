"""One action of the owner on a vault, on a page of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import web

from app.components import purse, refusal, sending
from app.components.draft_form import hub_of
from app.page_context import PageRequest, PageRoute
from app.pages.mandate import recorded_value
from app.replies import Json, Record
from app.words import money
from app.words.status import shown_state
from app.words.text import _
from domain.money import Usdc


def _texts(title: str, text: str, button: str, *points: str, look: str = "go") -> Record:
    """The texts of an action's page."""
    return Record(title=title, text=text, button=button, points=points, look=look)


ACTS: Final[Mapping[str, Record]] = {
    "pause": _texts(
        _("Pause agent"),
        _("The agent can no longer act until you resume. Money and positions stay as they are."),
        _("Pause agent"),
        _("You can resume at any time, with one more transaction."),
    ),
    "resume": _texts(
        _("Resume agent"),
        _("The agent of the signed terms may act again, inside the same limits."),
        _("Resume agent"),
    ),
    "stop": _texts(
        _("Stop for good"),
        _("The agent’s authority ends and does not come back. This does not sell open positions."),
        _("Stop mandate for good"),
        _("If you only want a break, pause instead."),
        _("A new start needs new terms, a new signature and a new vault."),
        look="danger",
    ),
    "void": _texts(
        _("Make open payments void"),
        _(
            "Every payment that the agent has signed and that is not paid yet becomes void, also "
            "one that this service does not know."
        ),
        _("Make open payments void"),
        _("A payment that is paid before this is on chain stays paid."),
        _("The money stays in the purse, and no other payment is taken back."),
        _("The agent can sign new payments afterwards. To end that too, pause the agent."),
    ),
    "drain": _texts(
        _("Bring the money in the purse back"),
        _(
            "What is in the purse goes back into your vault and counts in the result. What "
            "others sent to the purse comes straight to you."
        ),
        _("Bring it back into the vault"),
        _("Nothing can be paid out of the purse any more: the mandate is closed."),
        _("The agent’s key is not needed for this."),
    ),
    "sweep": _texts(
        _("Bring the money in the purse back"),
        _("What is in the purse comes to your wallet, all of it."),
        _("Bring it to my wallet"),
        _("It can go to no other place, no matter who sends this transaction."),
        _("The result is fixed already; this changes nothing of it."),
    ),
    "record": _texts(
        _("Record value"),
        _(
            "Your vault records the value of its open positions now. From then on the vault "
            "judges the agent’s exits by that value."
        ),
        _("Record value"),
        _("Recording stops nothing, sells nothing and moves no money."),
        _("Wait if the price looks wrong: a lower value allows cheaper exits."),
    ),
    "withdraw": _texts(
        _("Withdraw all"),
        _(
            "One transaction: stops and settles first where that has not happened, then pays "
            "everything but the agent’s share to you."
        ),
        _("Withdraw all"),
        _("The mandate is settled after this."),
    ),
    "unwind": _texts(
        _("Close a position"),
        _("Your vault leaves the market. What comes back stays in the vault until you withdraw."),
        _("Close position"),
        _("No USDC may leave the vault in this transaction; the vault sees to that."),
    ),
}
FROM_PURSE: Final = ("drain", "sweep")
NOTHING_INSIDE: Final = "0.000000"
PATHS: Final[Mapping[str, str]] = {kind: kind for kind in ACTS} | {"record": "record-value"}
"""The page of each action."""


def _action_page(kind: str) -> Callable[[PageRequest], Awaitable[web.Response]]:
    async def show(visit: PageRequest) -> web.Response:
        public_id, agent = visit.path_part("id"), None
        read = await visit.run("mandate_get", public_id=public_id)
        call, refused = await visit.run_or_refusal(f"owner_{kind}_call", public_id=public_id)
        if kind in FROM_PURSE:
            brings = _brings(read, call)
            return show_action(visit, kind, read, call, refused, brings=brings)
        if kind == "resume" and call is not None:
            terms = await visit.run("owner_terms", public_id=public_id)
            agent = str(terms["typed_data"]["message"]["agent"])
            if not agent.strip("0x"):  # the terms name none: the one that accepted them
                agent = str(call["decoded"]["args"][0])
        return show_action(visit, kind, read, call, refused, agent=agent)

    return show


def show_action(
    visit: PageRequest,
    kind: str,
    read: Json,
    call: Json | None,
    refused: Json | None,
    *,
    agent: str | None = None,
    exit: Record | None = None,
    brings: Record | None = None,
) -> web.Response:
    """`call` of the action's call operation, or the block of its refusal; `agent` who may act after
    a resumption, `exit` the position that an unwind closes and `brings` what comes out of a purse,
    with the texts of its page. `already`: what the record says is done; who sees something else on
    the chain may still send it.
    """
    public_id, send = visit.path_part("id"), None
    already = _already(kind, read, call)
    own = exit or brings
    texts = ACTS[kind] if own is None else Record({**ACTS[kind], **own["texts"]})
    if call is not None:
        button, steps = texts["button"], read["steps"]
        look = "" if already else texts["look"]  # a call that changes nothing is no call to make
        send = sending.view(kind, public_id, [call], button=button, look=look, steps=steps)
    locked = refused is not None and refused["error"] == "withdraw_locked"
    if refused is not None and locked:
        refused = {**refused, "who_fixes": "owner"}  # the positions are closed on a page of ours
    view = Record(
        read,
        kind=kind,
        texts=texts,
        agent=agent,
        already=already,
        pays=(call or {}).get("pays") or Record(owner=None, agent_fee=None),
        recorded=recorded_value(read) if kind == "record" else None,
        purse=purse.view(read, visit.now) if kind == "void" else None,
        exit=exit,
        brings=brings,
        sending=send,
        closes=locked,
        left_in_purse=_left_in_purse(read) if kind == "withdraw" else None,
        problem=refusal.view(refused, public_id, shown_state(read)),
    )
    return visit.show("act.html", view, chain_id=read["mandate"]["chain_id"])


def _brings(read: Json, call: Json | None) -> Record:
    """The amount that comes out of a purse and the contract that sends it, with the texts of its
    page; the amount is None where it is not known.
    """
    amount, texts = None if call is None else call["in_purse"], Record()
    if amount is not None and money.micros_of(amount):
        says = _("Bring {amount} back from the purse").format(amount=money.sentence_amount(amount))
        texts = Record(title=says, button=says)
    return Record(amount=amount, hub=hub_of(read["mandate"]["allowed_targets"]), texts=texts)


def _left_in_purse(read: Json) -> str | None:
    """The amount that a withdrawal leaves in the purse and out of the result; None where
    that is nothing, or the result is fixed.
    """
    inside = read["x402"]["in_purse"] if read.get("x402") else None
    is_over = read["mandate"]["status"] == "settled"
    return inside if inside is not None and money.micros_of(inside) > 0 and not is_over else None


def _already(kind: str, read: Json, call: Json | None) -> str:
    m, cash = read["mandate"], read["progress"]["cash"]
    if kind == "pause" and m["paused"]:
        return _("The agent is paused already. Another transaction changes nothing.")
    is_empty = cash is not None and not Usdc.parse(cash).micros
    if kind == "withdraw" and m["status"] == "settled" and is_empty:
        return _("Everything was paid out already. Another transaction moves nothing.")
    if kind == "void" and "x402" in read and read["x402"]["in_purse"] == NOTHING_INSIDE:
        return _("The purse is empty: as long as it is, nothing can be paid out of it.")
    if kind in FROM_PURSE and call is not None and call["in_purse"] == NOTHING_INSIDE:
        return _("The purse is empty. Another transaction brings nothing back.")
    return ""


PAGES: Final = (
    *(
        PageRoute("GET", f"/app/mandates/{{id}}/{path}", _action_page(kind))
        for kind, path in PATHS.items()
        if kind != "unwind"
    ),
)
