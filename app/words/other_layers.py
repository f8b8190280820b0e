"""Sentences that other layers write in English, found again by their form and told in the reader's
language: the wording of clauses, the reasons within a refusal, the Hall's conditions.

What is compared and signed stays as it was written; a sentence that is not listed does too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, partial
from typing import Final

from app.words.text import _, keeps_by_language

# A value is an amount, a number, a name or an address; none has a comma but between digits.
_VALUE: Final = r"(?:[^,;]|,(?=\d))+?"
_VALUES: Final = {"count": r"\d+", "address": "0x[0-9A-Fa-f]{40}"}
_NAMED: Final = re.compile(r"\{(\w+)\}")
# Where an entry of a list begins and ends: a name that holds our words is a name.
_ENTRY: Final = r"(?:(?<=: )|(?<=, )|(?<=; )|^)(?:%s)(?=[,;]|$)"

CLAUSES: Final = (
    _("At most {amount} of yours is ever in the vault."),
    _("No single action takes more than {amount} out of the vault."),
    _(
        "All actions of a UTC day together take at most {amount} out; it resets at 00:00 UTC, so "
        "that two days' amounts can meet at midnight."
    ),
    _("The agent's calls may not bring the vault below {amount}, a loss of {share} of the budget."),
    _("The agent acts on its own inside these limits."),
    _(
        "Above {amount} the vault takes an action only with your signature over that very action, "
        "once."
    ),
    _(
        "Above {amount} the service prepares no action before you approve it; an action sent past "
        "the service is flagged."
    ),
    _("At the stop line the mandate stops and open positions are kept for you to decide."),
    _("At the stop line the mandate stops and the keeper closes open positions."),
    _("The mandate lasts {days} days, until {day}, {hour}."),
    _("The mandate lasts {days} days, from your signature."),
    _(
        "The agent earns {share} of the gain that the vault measured, once, at settlement, rounded "
        "down."
    ),
    _("The agent earns no fee."),
    _(
        "You can pause, stop and withdraw at any time; open positions can hold a withdrawal back "
        "for at most 3 days after the mandate is closed. Only the agent of these terms acts."
    ),
)
PLACES: Final = _("The agent may only deal with: {places}.")
# The entries of the list of places, as far as no operator named them, and their ends.
PLACES_NAMED: Final = (
    _("the vault itself"),
    _("nothing at all"),
    _("paid reads (x402) at named hosts ({count})"),
    _("paid reads (x402)"),
    _("markets of a venue that this service does not know"),
    _("{count} products that this service does not know"),
    _("every market"),
    _("{address} {selector} (a call that this service does not know)"),
    _(
        "paid services (x402), each bill signed by the agent's own key: at most {payment} a "
        "payment, {day} a day, {float} at risk at once"
    ),
    _("to anybody"),
    _("to named payees ({count})"),
    _("this service holds them to named hosts ({count})"),
)
RANKING: Final = _("Not ranked yet: {parts}.")
RANKING_LACKS: Final = (
    _("{have} of {need} days live"),
    _("{have} of {need} measured trades"),
    _("{have} of {need} funded mandates"),
    _("{have} of {need} USDC of other owners' capital"),
)
HALL: Final = (_("There is no stake mechanism: an operator puts up nothing here."),)
# Ways to get USDC, of the file that lists them.
WAYS: Final = (
    _("Transfer on the same network"),
    _("Send USDC to your own wallet on this network"),
    _("Deposit into the vault"),
    _("Circle CCTP, fast transfer"),
    _("Circle CCTP, standard transfer"),
    _("Burn USDC on the source chain"),
    _("Wait for Circle's attestation"),
    _("Wait for finality and the attestation"),
    _("Mint on the destination"),
    _("Withdrawal from an exchange that supports the chain"),
    _("Withdraw USDC to your own wallet on this chain"),
)
# The terms of linking an own account: what is hashed is the English text.
LINKING: Final = (
    _("Own account: terms of linking"),
    _(
        "1. Your account stays yours. The venue holds your funds; this service holds none of them "
        "and stores no key of yours."
    ),
    _(
        "2. Linking proves by a signature that a wallet is yours. The signature moves no funds and "
        "allows no trading. One wallet is linked to one person; only an operator moves a link."
    ),
    _(
        "3. An order key is made in your browser and stays there. You approve it at the venue with "
        "your wallet; this service passes that one approval on and no other action. A key lasts 30 "
        "days at most."
    ),
    _(
        "4. The venue knows no limits for an approved key. While it is approved it can place and "
        "cancel orders of any size, change leverage and move funds between your own balances at "
        "the venue; it cannot withdraw them. Keep your browser safe, and revoke a key that you no "
        "longer use: its end alone may not stop it at the venue."
    ),
    _(
        "5. A keeper key is optional and off unless you approve it. It lives in a signer apart "
        "from the service, which signs nothing but reduce-only closes and cancellations for "
        "markets that you named in mandate terms signed by you. That signer is the only fence "
        "around this key, because the venue has none."
    ),
    _("6. Without a keeper key the stop line of a mandate with a venue market only warns."),
    _(
        "7. A builder fee is charged on opening orders only after you approved it at the venue, "
        "never on closes."
    ),
    _(
        "8. Figures come from the venue and may be late; every answer says when it was read. Index "
        "and other products may not be open to you where you live; the venue's own rules apply."
    ),
    _(
        "Approve a maximum fee rate of 0% for the same builder at the venue to take the approval "
        "back; it acts on the next order. Orders without an approval carry no builder fee, and "
        "closes never do."
    ),
)
# Why the reader of a note asks, or fills a term.
NOTES: Final = (
    _("it is not one of the forms that are read"),
    _("the note does not say; the Standard preset"),
    _("the note does not say; the Standard preset, kept inside the other caps"),
    _("the note does not say; the agent acts on its own"),
    _("the note does not say; the default targets"),
    _("the purpose that the note names selects no market of the list; the default targets"),
    _("it is above the mandate's own limit"),
    _("a payment is more than a day, or than what is at risk"),
    _("the note speaks of it twice"),
    _("what follows a fee may limit the fee"),
    _("the caps are out of order: per action, per day, budget"),
    _("it does not say how much a payment may be"),
    _("it does not say how much a day"),
    _("it does not say how much may be at risk at once"),
    _("it does not say whether it may pay for web services"),
    _("payments for web services cannot be made on this network"),
    _("an address has a letter or a digit that is wrong"),
    _("it may limit the mandate, or its payments for web services"),
    _("the fee is at most {share} of verified gain"),
    _("it is a share of a budget that the note does not name"),
    _("it is an amount of a budget that the note does not name"),
    _("it is not between 1 and {number} days"),
    _("a month is no fixed number of days"),
    _("it is not inside the budget"),
    _("it can mean what is lost or what is left"),
    _("it is not above 0 and at most {amount}"),
    _("it can mean an amount or something else, as how often"),
    _("it does not say what it is a limit of"),
)
# Reasons within a refusal, and words about a field, that a form of the screens can meet.
REASONS: Final = (
    _("there is no such market"),
    _("it is on chain {number}"),
    _("it is only planned"),
    _("it can be taken for {other}"),
    _("it is not above what lies in the purse at once"),
    _("it is above 0, or left out"),
    _("it is above 0"),
    _("it is not above 0"),
    _("it is negative"),
    _("it is not above the budget"),
    _("it is not above the cap per day"),
    _("it is above 0 and at most {amount}"),
    _("it is outside ±{amount}"),
    _("it is above 0, or null for an agent that acts on its own"),
    _("at most {number} entries"),
    _("an entry occurs twice"),
    _("an address occurs twice"),
    _("a list of at most {number} addresses"),
    _("a list of at most {number} names"),
    _("a text of at most {number} characters"),
    _("a share from {least} to {most}"),
    _("a week is written YYYY-Www"),
    _("there is no such day"),
    _("it is later than since"),
    _("the owner signs by a contract on chain {number}, and by that there alone"),
    _("a named agent and the open board exclude each other"),
    _("the app does not ask to act: it needs no key"),
    _("a transfer is above 0"),
    _("one e-mail address in ASCII, such as owner@example.com"),
    _("the keys of a browser's push subscription"),
    _("another time than they begin"),
    _("a zone of the IANA database, such as Europe/Berlin"),
    _("each kind once"),
    _("it begins with https://"),
    _("a word of Latin letters holds a {script} one that looks like them"),
    _("a word holds Greek letters and Cyrillic ones, which look alike"),
    _("it holds what reads as an id"),
    _("it begins with a combining mark"),
    _("it holds no letter and no digit"),
    _("it holds a code point without a character, {point}"),
    _("text without control, invisible and private-use characters; it holds {point}"),
    _("text with at most {number} combining marks in a row"),
    _("You have an agent whose name reads the same."),
    _("An agent that is ranked in the Hall has a name that reads the same."),
    _("a URL is stored and shown: it holds no credentials"),
    _("a host, a path and a query; no fragment"),
    _("its port is 443 or 8443"),
    _("it is this service's own host"),
    _("it is not an address of the public internet"),
    _("it is no URL with a host in ASCII"),
    _("it is not a name of the public internet"),
    _("a URL whose host is in ASCII, as DNS has it"),
    _("only USDC can be brought in"),
    _("no USDC is known on this chain"),
    _("a percent string like 0.1%, in steps of 0.001%"),
    _("not negative"),
    _("a plain decimal string with at most 8 decimals"),
    _("1 to 40 characters"),
    _("at most {share} off the best price"),
    _("an order is worth 10.00 USDC or more"),
    _("it is less than one lot"),
    _("a multiple of {lot}"),
    _("a price on the tick"),
    _("within 80% of the mark price"),
    _("it takes no more open interest at the venue"),
    _("an amount from {least} to {most}"),
    _("Another paper book of yours has this name."),
    _("The limits were changed at the same time."),
    _("The order was priced anew at the same time."),
    _("The order waits for no signature any more; prepare a new one."),
    _("A close is prepared anew, not opened."),
    _("The venue has this order already; record it."),
    _("It is for another network or wallet than yours is now; prepare a new one."),
    _("It is not known yet what became of the order."),
    _("The order was changed by another request at the same time."),
    _("The order is {status}; it cannot {transition} from there."),
    _("The approval {approval} is {status} already."),
    _("Another approval was signed just now; ask again."),
    _("Another agent has accepted this mandate."),
    _("The wallet is linked to another owner."),
    _("You have linked {wallet} already."),
    _("{wallet} is not the linked wallet"),
    _("The venue refused the approval."),
    _("a live order is signed by its owner"),
    _("its purse cannot be emptied"),
    _("settling it"),
    _("one of {first}, {second}"),
    _("What the app publishes of itself has changed, or cannot be read now."),
    _("You answered this request already: you connected the app."),
    _("You answered this request already: you refused the app."),
    _("The owner decided just now; ask again."),
    _("The call cannot be made again."),
    _("The node knows no such transaction."),
    _("The first call with this key still runs."),
    _("the mandate is not signed"),
    _("no wallet can sign with it"),
    _("its owner signs what the venue is told"),
    _("it is larger than this database keeps exactly"),
    _("it gives no mark price of what is held"),
    _("the process ended before it was filled"),
    _("The agent has {number} live keys; revoke one first."),
    _("the stop line"),
    _("it is not 0x and 40 hex digits"),
    _("not a cursor of this list"),
    _("USDC as a plain decimal string from 0, at most 6 decimals"),
    _("a name of the products"),
    # What a service is not set up for.
    _("development chain"),
    _("chain {number}"),
    _("reading chain {number}"),
    _("vaults on chain {number}"),
    _("USDC on chain {number}"),
    _("payments for web services on chain {number}"),
    _("gas sponsorship on chain {number}"),
    _("keys of agents that it holds"),
    _("keys that it holds, or its signer does not answer"),
    _("keeper keys"),
    _("notices in browsers"),
    _("e-mails"),
    _("webhooks"),
    _("the venue"),
    _("paper orders"),
    _("builder fees"),
)


@cache
def _form(template: str, every: str | None = None) -> str:
    """The form of a sentence as an expression; `every` is that of each value."""
    parts = _NAMED.split(template)
    values = (every or _VALUES.get(p, _VALUE) for p in parts)
    return "".join(
        f"(?P<{p}>{value})" if n % 2 else re.escape(p)
        for n, (p, value) in enumerate(zip(parts, values, strict=True))
    )


def _filled(template: str, match: re.Match[str]) -> str:
    return str(_(template)).format(**match.groupdict())


def _listed(text: str, head: str, entries: Iterable[str]) -> str | None:
    """A sentence that is a list: its head, and each entry that is ours where it stands."""
    match = re.fullmatch(_form(head, ".*"), text, re.DOTALL)
    if match is None:
        return None
    ((name, inner),) = match.groupdict().items()
    for entry in entries:
        inner = re.sub(_ENTRY % _form(entry), partial(_filled, entry), inner)
    return str(_(head)).format(**{name: inner})


@keeps_by_language(512)
def in_language(text: str) -> str:
    """A sentence of another layer in the reader's language; as it stands where it is none of
    those that are listed.
    """
    for template in (*CLAUSES, *HALL, *WAYS, *LINKING, *NOTES, *REASONS):
        if match := re.fullmatch(_form(template), text, re.DOTALL):
            return _filled(template, match)
    for head, parts in ((PLACES, PLACES_NAMED), (RANKING, RANKING_LACKS)):
        if (translated := _listed(text, head, parts)) is not None:
            return translated
    return text
