"""Refusals as an owner reads them: our sentence where the registry's speaks to a program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from markupsafe import Markup, escape

from app.words import money
from app.words.other_layers import in_language
from app.words.status import state
from app.words.text import _
from app.words.times import moment
from domain.refusals import REFUSALS, Refused
from domain.times import MONTHS

ALONE: Final[Mapping[str, str]] = {
    "terms_expired": _(
        "These terms are older than a day. Open them again; the values stay, the dates move."
    ),
    "not_found": _("There is no such page, or it is not yours to see."),
    "unauthenticated": _("Your session has ended. Sign in again."),
    "method_not_allowed": _(
        "This page does not take this form. Nothing was sent. Open the page again and repeat."
    ),
    "rate_limited": _("That was too much at once. Wait a moment, then try again."),
    "internal": _("Something failed on our side. Nothing was sent in your name."),
    "invalid_request": _("Part of what was entered cannot be taken. Nothing was sent."),
    "chain_unavailable": _(
        "The network does not answer just now. Your vault is not affected. Try again in a moment."
    ),
    "storage_unavailable": _("The service is busy with its own records. Try again in a moment."),
    "venue_unavailable": _("The venue does not answer just now. Try again in a moment."),
    "owner_declined": _("You declined this action."),
    "approval_expired": _("This request has expired. Nothing was spent. The agent may ask again."),
    "body_too_large": _("The text is too long for this form. Nothing was sent."),
    "no_position": _("Nothing is left in this market. Nothing was sent."),
    "no_recipe": _("Only the agent can leave this market. Nothing was sent."),
    "tx_pending": _("The network has not settled this transaction yet. Do not send it again."),
    "agent_not_accepting": _("This agent takes no mandates at present. Choose another."),
    "mandate_signed": _("These terms are signed. They cannot be changed any more."),
    "wallet_not_allowlisted": _(
        "You are not on the operator’s list of those who trade live. Paper orders work."
    ),
    "wallet_no_position": _("The position is smaller than that. Nothing was sent."),
    "wallet_outcome_unknown": _(
        "The order was sent, and the venue has not answered yet. Do not send it again."
    ),
    "idempotency_key_reused": _(
        "This form was sent before with other contents. Nothing was sent now. Press the button "
        "again to send the new contents."
    ),
    "idempotency_in_flight": _("This form is being processed already. Nothing is sent twice."),
}
# An owner is told how it stands too where the sentence of the registry says more than ours.
BESIDE_REASON: Final[Mapping[str, str]] = {
    "conflict": _("It changed meanwhile. This is how it stands now."),
    "secret_not_accepted": _(
        "That looks like a key or a password. It was not stored. Never enter one here."
    ),
    "withdraw_locked": _("Open positions hold the money for now. Close them first, or wait."),
    "draft_unclear": _("Part of your description was not understood. Fill in those fields first."),
    "wallet_rate_limited": _(
        "Too many orders in a short time. That stops a loop; wait, then go on."
    ),
    "wallet_invalid_order": _("The order cannot be placed like this. Nothing was sent."),
    "wallet_live_off": _("Live orders are switched off here. Paper orders and closes work."),
    "wallet_mode_changed": _(
        "Orders changed between paper and live while this page was open. Nothing was sent. Check "
        "which one is shown now, and decide again."
    ),
    "wallet_not_ready": _("Your account cannot trade live yet. Nothing was sent."),
    "wallet_over_cap": _("The order is above a limit. Nothing was sent."),
    "wallet_limit_raise": _("Limits only fall here; only the operator can raise one."),
    "wallet_signature_invalid": _(
        "The signature does not fit this order, or the order has expired. Nothing was sent. "
        "Prepare the order again."
    ),
    "wallet_venue_rejected": _("The venue rejected the order. Nothing was traded."),
    "wallet_venue_unavailable": _("The venue does not answer. Nothing was sent."),
}
SENTENCES: Final[Mapping[str, str]] = {**ALONE, **BESIDE_REASON}
# The registry names a state as it is stored, and what was asked for; a page names the state by the
# word of its pill, and is itself about what was asked for.
WRONG_STATUS: Final = _("The mandate’s state is “{status}”. This is not possible in that state.")
# Conflicts with what stood there before: nothing changed meanwhile.
STANDS: Final = re.compile(
    r"The agent has \d+ live keys; .*|Another paper book of yours has this name\."
    r"|You have linked .* already\.|The wallet is linked to another owner\."
)
NOT_PLAIN: Final = "it is not a plain decimal number"
PLAIN_AMOUNT: Final = _(
    "“{value}” is not an amount. Enter digits alone, with a point before decimals: 1000.50."
)
# Fields of requests that forms fill, by the labels of the forms.
FIELDS: Final[Mapping[str, str]] = {
    "name": _("Name"),
    "agent_id": _("Who is to act"),
    "url": _("Where to"),
    "email": _("Your address"),
    "quiet.begins": _("From"),
    "quiet.ends": _("Until"),
    "quiet.zone": _("Your time zone"),
    "tx_hash": _("Transaction"),
    "amount": _("Amount in USDC"),
    "note": _("What is the money for?"),
    "notional_usdc": _("Order value"),
    "size": _("Size"),
    "limit_px": _("My price"),
    "product": _("Product"),
    "slippage_bps": _("Largest price difference"),
    "signature_chain_id": _("Network"),
    "signature": _("Signature"),
    "week": _("Week"),
    "since": _("First day"),
    "until": _("Day after the last"),
    "cursor": _("Page"),
    "market": _("Market"),
    "start_usdc": _("Starting amount, in paper USDC"),
    "per_order_usdc": _("Your limit per order"),
    "per_day_usdc": _("Your limit per day"),
}
# What a schema says of a value, and what a person is told.
PROBLEMS: Final = (
    (re.compile(r"(?:String|Value|List) should have at least 1 "), _("it is empty")),
    (
        re.compile(r"(?:String|Value|List) should have at most (\d+) "),
        _("it is too long: at most {0} fit"),
    ),
    (
        re.compile(r"String should match pattern|Input should "),
        _("it does not have the form that this field takes"),
    ),
    (re.compile(r"Field required"), _("it is empty")),
    (
        re.compile(r"the agent has no address on chain "),
        _(
            "the agent has no wallet address on this network yet, and registers it itself, with "
            "its signature"
        ),
    ),
)
TITLES: Final[Mapping[str, str]] = {
    "not_found": _("Not here"),
    "rate_limited": _("Too much at once"),
    "internal": _("Something failed on our side"),
    "chain_unavailable": _("The network does not answer"),
    "storage_unavailable": _("Busy for a moment"),
    "forbidden": _("Not from this page"),
    "not_configured": _("Not set up here"),
    "wrong_status": _("Not possible now"),
    "mandate_ended": _("Not possible now"),
    "mandate_stopped": _("Not possible now"),
    "mandate_paused": _("Not possible now"),
}
ELSE: Final = _("That was not done")
WHO: Final[Mapping[str, str]] = {
    "owner": _("You can fix this."),
    "agent": _("The agent has to fix this."),
    "keeper": _("The operator has to fix this."),
    "operator": _("The operator has to fix this."),
    "venue": _("The venue has to fix this."),
    "nobody": _("This cannot be changed."),
}
# Steps that a person takes elsewhere: no page of ours goes on from there.
ELSEWHERE: Final = frozenset(
    {_("Start connecting again in the app: a link lasts ten minutes")},
)
AMOUNT: Final = re.compile(r"-?\d+\.\d{6}")  # an amount as replies have it
_WIRE: Final = re.compile(r"[a-z0-9_.]+")
_VALUE: Final = re.compile(r"\{(\w+)(?::\w+)?\}")
_STAMP: Final = re.compile(rf"(\d\d?) ({'|'.join(MONTHS)}) (\d{{4}}), (\d\d:\d\d) UTC")


def dated(sentence: str) -> Markup:
    """A sentence whose times are times: the reader's own, once the page's script has run."""
    parts: list[Markup] = []
    at = 0
    for match in _STAMP.finditer(sentence):
        parts += [escape(sentence[at : match.start()]), moment(_iso(match))]
        at = match.end()
    return Markup("").join([*parts, escape(sentence[at:])])


def _iso(match: re.Match[str]) -> str:
    day, month, year, clock = match.groups()
    return f"{year}-{MONTHS.index(month) + 1:02d}-{int(day):02d}T{clock}:00Z"


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """The form of a filled sentence of the registry; each value by its name."""
    texts = _VALUE.split(template)
    parts = (f"(?P<{t}>.*?)" if n % 2 else re.escape(t) for n, t in enumerate(texts))
    return re.compile("".join(parts), re.DOTALL)


def in_words(code: str, reason: str) -> str:
    """The registry's sentence of a refusal in the reader's language, with the values that it has.
    A reason within it that is one of those listed is told in it too; a sentence of another form
    stays as it is.
    """
    values = _values(code, reason)
    if values is None:
        return in_language(reason)
    translated = {name: in_language(value) for name, value in values.items()}
    if "field" in translated:
        translated["field"] = _label(values["field"])
    return _VALUE.sub(r"{\1}", str(_(REFUSALS[code].sentence))).format_map(translated)


def _values(code: str, reason: str) -> Mapping[str, str] | None:
    """The values that a sentence of the registry was filled with; None for another sentence."""
    kind = REFUSALS.get(code)
    match = kind and _pattern(kind.sentence).fullmatch(reason)
    return match.groupdict() if match else None


def sentences(code: str, reason: str, shown_state: str = "") -> tuple[Markup, ...]:
    """Sentences that explain a refusal, the most useful first; `shown_state` is the word for the
    mandate's state beside them, where the page has one.
    """
    own = SENTENCES.get(code)
    values = _values(code, reason) or {}
    if code == "wrong_status" and values:
        shown_state = shown_state or state(values["status"])
        return (escape(_(WRONG_STATUS).format(status=shown_state)),)
    if code == "invalid_number" and values:
        typed = values["value"].strip("'\"")
        if values["why"] == NOT_PLAIN:
            return (escape(_(PLAIN_AMOUNT).format(value=typed)),)
        reason = reason.replace(values["value"], _typed(typed), 1)
    sentence = dated(in_words(code, reason))
    if own is None or (code == "conflict" and STANDS.fullmatch(reason)):
        return (sentence,)
    return (escape(own), sentence) if code in BESIDE_REASON else (escape(own),)


def _typed(text: str) -> str:
    """A refused amount in the one form; quoted where it has none, or is above any amount."""
    try:
        return money.sentence_amount(text) if AMOUNT.fullmatch(text) else f"“{text}”"
    except Refused:
        return f"“{text}”"


def in_fields(problems: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Fields of a form, each with what is wrong with it, as a reader of the form knows them; words
    that are no schema's, and labels, stay as they are.
    """
    return tuple((_label(name), _problem(text)) for name, text in problems)


def _label(name: str) -> str:
    if name in FIELDS:
        return str(_(FIELDS[name]))
    return name.replace("_", " ").replace(".", ", ") if _WIRE.fullmatch(name) else name


def _problem(text: str) -> str:
    for shape, words in PROBLEMS:
        if match := shape.match(text):
            return str(_(words)).format(*match.groups())
    return in_language(text)
