"""Notice sentences for an owner: on a page, by the browser, by a webhook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.replies import Json
from app.words import money
from app.words.status import has_agent
from app.words.text import _

KINDS: Final[Mapping[str, str]] = {
    "approval.asked": _("an action needs your approval"),
    "approval.decided": _("an action was approved, declined, or expired"),
    "cap.reached": _("50, 80 or 100% of a limit is used"),
    "mandate.acceptance_ended": _("you changed terms that an agent had accepted"),
    "mandate.paused": _("a mandate is paused"),
    "mandate.resumed": _("a mandate is resumed"),
    "mandate.stop_line": _("a mandate stopped at its stop line"),
    "mandate.stopped": _("a mandate was stopped"),
    "mandate.settled": _("a mandate is settled"),
    "deposit.seen": _("a deposit arrived in a vault"),
    "transfer.in": _("an agent received money that it had not reported"),
    "order.asked": _("an order needs your signature"),
    "order.unknown": _("the outcome of an order is unknown"),
}
"""The kinds of notices (`domain/mandates/notice_choices.py`), as their owner reads them."""
MESSAGES: Final[Mapping[str, str]] = {
    **KINDS,
    "notice.test": _("a test that you asked for"),
    "email.verify": _("confirm your e-mail address"),
}
"""The same, and what is sent because its owner asks for it at that moment."""
SENDER: Final = _("Mandates")
OTHER: Final = _("Something asks for your look.")
LETTER_SETTINGS: Final = _("Choose what you are told")
LETTER_STOP: Final = _("Send no more e-mails to this address")
LETTER_END: Final = _(
    "Amounts, addresses and keys are never in an e-mail of ours: you sign in before anything is "
    "shown, and before anything is answered."
)
MANDATES: Final[Mapping[str, str]] = {
    "paused": _("A mandate is paused."),
    "ended": _("A mandate has ended. Close its positions and withdraw."),
    "stopped": _("A mandate is stopped."),
    "settled": _("A mandate is settled."),
}
UNREACHED: Final[Mapping[str, str]] = {
    "push": _("Notices do not arrive in a browser that you chose."),
    "email": _("Notices do not arrive at your e-mail address."),
    "webhook": _("Notices do not arrive at a webhook of yours."),
}
"""What its owner is told of a channel whose last three tries failed."""
ORDERS: Final[Mapping[str, str]] = {
    "awaiting_owner": _("An order of your agent needs your signature."),
    "unknown": _("The outcome of an order is unknown. Do not send it again."),
}


@dataclass(frozen=True, slots=True)
class LetterText:
    """The first words of an e-mail, and those of its link."""

    first: str
    open: str


def letter_subject(kind: str) -> str:
    """The subject of an e-mail."""
    said = str(MESSAGES[kind])
    return said[0].upper() + said[1:]


def letter_text(kind: str) -> LetterText:
    """The words of an e-mail about a kind of notice."""
    if kind == "email.verify":
        first = _(
            "An owner who signed in with a wallet gave this address to be told by e-mail. If it "
            "was you, open the link within a day, sign in with the same wallet and confirm. If "
            "not, do nothing: nothing more is sent."
        )
        return LetterText(str(first), str(_("Confirm this address")))
    return LetterText(letter_subject(kind) + ".", str(_("Open it")))


def approval_notice(amount: str) -> str:
    """The notice of a pending approval; `amount` in USDC."""
    return _("An action needs your approval: {amount}.").format(
        amount=money.sentence_amount(amount)
    )


def payment_notice(amount: str) -> str:
    """The notice of a payment that needs an approval; `amount` in USDC."""
    return _("A payment needs your approval: {amount}.").format(
        amount=money.sentence_amount(amount)
    )


def mandate_notice(read: Json) -> str:
    """The notice that a mandate's state is worth; empty where it works as it should."""
    status = read["progress"]["status"]
    paused = status == "working" and read["mandate"]["paused"] and has_agent(read)
    return MANDATES.get("paused" if paused else status, "")


def order_notice(order: Json) -> str:
    """The notice of an order, in words."""
    return ORDERS.get(order["status"], "")
