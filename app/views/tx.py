"""One transaction on its way: its known outcome, and the steps that are safe to repeat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.replies import Json
from app.views.components import refusal
from app.views.components.refusal import RefusalView
from app.words.status import Pill
from app.words.text import _

PAGES: Final[Mapping[str, str]] = {
    "create": "create",
    "fund": "fund",
    "pause": "pause",
    "resume": "resume",
    "stop": "stop",
    "record": "record-value",
    "withdraw": "withdraw",
    "unwind": "unwind",
}
PILLS: Final[Mapping[str, Pill]] = {
    "reverted": Pill(tone="bad", text=_("Failed on chain")),
    "pending": Pill(tone="warn", text=_("On its way")),
    "not_seen": Pill(tone="warn", text=_("Sent, not seen yet")),
    "landed": Pill(tone="warn", text=_("On chain, not understood")),
    "unknown": Pill(tone="warn", text=_("Not known")),
    "elsewhere": Pill(tone="bad", text=_("Nothing done here")),
}
MESSAGES: Final[Mapping[str, str]] = {
    "reverted": _(
        "The chain refused it. Nothing moved but the gas. Look at what changed, then try again."
    ),
    "pending": _(
        "The network has it. You can close this page; what happened will be in the record."
    ),
    "not_seen": _(
        "Your wallet has sent it and the network does not show it yet. Do not send it again. With "
        "a Safe, others may have to confirm first."
    ),
    "landed": _("It is on chain, and it is not what this page expected."),
    "unknown": _("It cannot be told just now what became of it. Do not send it again."),
    "elsewhere": _(
        "It is on chain and succeeded, and nothing in it is of this vault. With a Safe, the call "
        "inside it may have failed."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TxView:
    """The page; `retry_href` is the page to start over, where that is safe or the owner must
    decide.
    """

    public_id: str
    tx_hash: str
    pill: Pill
    message: str
    retry_href: str | None
    dropped: bool
    problem: RefusalView | None


def view(public_id: str, tx_hash: str, subject: str, raw: Json, refused: Json | None) -> TxView:
    """`raw` of mandate_reconcile; `refused` what the service said when it was to be recorded."""
    outcome = raw["outcome"]
    if refused is not None and refused["error"] == "tx_pending":
        outcome, refused = "pending", None
    if outcome == "unknown" and raw.get("block"):  # a receipt that tells of other contracts alone
        outcome = "elsewhere"
    page = PAGES.get(subject)
    over = ("reverted", "not_seen", "elsewhere", "landed")
    ended = outcome in over and page is not None
    return TxView(
        public_id=public_id,
        tx_hash=tx_hash,
        pill=PILLS[outcome],
        message=MESSAGES[outcome],
        retry_href=f"/app/mandates/{public_id}/{page}?again=1" if ended else None,
        dropped=outcome == "not_seen" and ended,
        problem=None if refused is None else refusal.view(refused, public_id),
    )
