"""One transaction on its way: its known outcome, and the steps that are safe to repeat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from aiohttp import web

from app.components import refusal, sending
from app.page_context import OperationRefused, PageRequest, PageRoute
from app.pages import acting
from app.replies import Json, Record
from app.words.status import Pill
from app.words.text import _

KINDS: Final[Mapping[str, str]] = {kind: kind for kind in acting.ACTS} | {
    "fund": "deposit",
    "drain": "unwind",
}
PATHS: Final[Mapping[str, str]] = {"create": "create", "fund": "fund", **acting.PATHS}
"""The page on which an action starts over."""
AFTERWARDS: Final[Mapping[str, str]] = {
    "create": "/fund",
    **dict.fromkeys(("stop", "unwind", "drain", "sweep"), "/leave"),
}
"""The page on which an action goes on once it is done."""
OUTCOMES: Final[Mapping[str, tuple[Pill, str]]] = {
    "reverted": (
        Pill("bad", _("Failed")),
        _(
            "The transaction failed. It cost gas, and moved nothing. Look at what changed, then "
            "try again."
        ),
    ),
    "pending": (
        Pill("warn", _("Sent")),
        _(
            "The network has your transaction. You can close this page; the result will be in the "
            "history."
        ),
    ),
    "not_seen": (
        Pill("warn", _("Sent")),
        _(
            "Your wallet has sent it and the network does not show it yet. Do not send it again. "
            "With a Safe, others may have to confirm first."
        ),
    ),
    "landed": (
        Pill("warn", _("Confirmed")),
        _("Your transaction is confirmed, but it is not the one that this page expected."),
    ),
    "unknown": (
        Pill("warn", _("Outcome unknown")),
        _("The network does not answer, so the outcome is unknown. Do not send it again."),
    ),
    "elsewhere": (
        Pill("bad", _("Nothing changed here")),
        _(
            "Your transaction is confirmed, and it did nothing with this vault. With a Safe, the "
            "call inside it may have failed."
        ),
    ),
}
NOTHING: Final = acting.NOTHING_INSIDE
OVER: Final = frozenset({"reverted", "not_seen", "elsewhere", "landed"})
UNANSWERED: Final = 500  # from here on a status says nothing of what was asked


async def follow_sent(visit: PageRequest) -> web.Response:
    """Redirect to the page of a transaction that the wallet sent; only its hash is taken."""
    tx_hash, purpose = visit.field("tx_hash") or "", visit.field("for") or ""
    await _reconcile(visit, tx_hash)
    at = f"/app/mandates/{visit.path_part('id')}/tx/{quote(tx_hash, safe='')}"
    return visit.go(f"{at}?for={quote(purpose, safe='')}")


async def _reconcile(visit: PageRequest, tx_hash: str) -> tuple[Json, Json | None]:
    """(the outcome of a transaction, None), or (an unknown outcome, the block of the refusal)."""
    public_id = visit.path_part("id")
    try:
        return await visit.run("mandate_reconcile", public_id=public_id, tx_hash=tx_hash), None
    except OperationRefused as refused:
        if refused.status < UNANSWERED:
            raise
        return Record(outcome="unknown"), refused.block


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
    raw, refused = await _reconcile(visit, tx_hash)
    read = await visit.run("mandate_get", public_id=public_id, parts="mandate,steps,x402")
    outcome, creates = raw["outcome"], purpose == "create"
    done = outcome == "not_seen" and _has_happened(purpose, before if separator else None, read)
    # Another wallet's transaction may have created the vault; only attaching it shows that.
    if outcome == "landed" or (creates and outcome == "unknown" and refused is None):
        name = "owner_vault_attach" if creates else "owner_vault_tx"
        kind = KINDS.get(purpose)
        result, refused = await visit.run_or_refusal(
            name, public_id=public_id, tx_hash=tx_hash, kind=kind
        )
        done = result is not None
    if done:
        goes_on = AFTERWARDS.get(purpose, "")
        if purpose == "withdraw" and read.get("x402") and read["x402"]["in_purse"] != NOTHING:
            goes_on = "/leave"  # what is in the purse comes after it
        return visit.go(f"/app/mandates/{public_id}{goes_on}")
    if refused is not None and refused["error"] == "tx_pending":
        outcome, refused = "pending", None
    if outcome == "unknown" and raw.get("block"):  # a receipt that tells of other contracts alone
        outcome = "elsewhere"
    pill, message = OUTCOMES[outcome]
    again = f"/app/mandates/{public_id}/{PATHS.get(purpose)}?again=1"
    ended = outcome in OVER and purpose in PATHS
    view = Record(
        public_id=public_id,
        tx_hash=tx_hash,
        pill=pill,
        message=message,
        retry_href=again if ended else None,
        dropped=outcome == "not_seen" and ended,
        problem=refusal.view(refused, public_id),
    )
    return visit.show("tx.html", view, chain_id=read["mandate"]["chain_id"])


PAGES: Final = (
    PageRoute("POST", "/app/mandates/{id}/sent", follow_sent),
    PageRoute("GET", "/app/mandates/{id}/tx/{hash}", show_transaction),
)
