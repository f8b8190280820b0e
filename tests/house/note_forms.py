"""The page of all forms that a purpose note is read by, made from the table of forms."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from domain.mandates.notes.forms import FORMS, NoteForm

_TITLES: Final = {
    "budget_usdc": "Budget",
    "per_tx_cap_usdc": "Limit per action",
    "daily_cap_usdc": "Limit per day",
    "approval_above_usdc": "Ask above",
    "stop_floor_bps": "Stop line",
    "on_floor": "At the stop line",
    "payout_rule": "The agent's fee",
    "horizon_days": "Days",
    "allowed_targets": "Markets",
    "purse": "Payments for web services",
    "per_payment_usdc": "Limit per payment",
    "per_day_usdc": "Payments per day",
    "float_usdc": "At risk at once",
    "payees": "Who may be paid",
    "hosts": "Where payments are made",
}
_HEAD: Final = """# The forms of a purpose note

A note is the owner's own words: it is kept and shown. `POST /wallet/mandates/draft` reads terms out of it by the forms below and by nothing else; typed `terms` beside the
note win over it. Made from `domain/mandates/notes/forms.py` (`python -m tests.house.test_documents` writes it anew).

- A note is cut into sentences at `.`, `!`, `?`, `;` and line breaks, a sentence into items at commas, brackets, "and" and dashes, and where the next item begins behind a
  figure ("500 USDC for 30 days"). Capitals, bullets and "please" say nothing.
- An item that fits one form whole is read. A sentence with an item that fits none is not read at all: it is `unclear` where it holds a figure, a span of time or a word of the
  terms, and may then unsettle what other sentences say; else it is `unrelated`. A question is never read.
- Amounts: `500`, `1,000`, `2.5k`, `$500`, `500 USDC` (usdc, usd, dollars, bucks), `five hundred`. Shares: `10%`, `10 per cent`. Nothing else is a figure: no `1.000`, `1 000`,
  `1,00,000`, `5-10`, `~500`, `€500`, `-500`, no digits of other scripts.
- A share of the budget needs a budget. An amount for the budget or a limit that is said twice, any term that is said with two values, and limits that are out of order are `unclear`.
- Markets are named by their name or id in `GET /wallet/markets`, without what stands in brackets or is no name ("Aave" for "Aave v3"), products of a venue by symbol ("BTC and ETH perps"), kinds by "lending", "yield", "savings" and "perps". One
  market that can be chosen on the network is selected; several of one name or kind are `unclear`, and so is a market that is only planned or on another network. With "only", paid reads are not allowed beside it. A purpose for which no market is listed
  selects none, and the reason of the default targets says so.
- Payments for web services are spoken of in a form of their own; a form "behind payments" is read only right behind one, in the same sentence. What the note leaves out of their amounts is asked for, as it would be as much as the mandate allows; who names no payees
  or sites lets anybody be paid. An amount a day that may be the mandate's as well as its payments' is `unclear`, and so are all payments on a network that has no purses.
- A form that is marked ambiguous states nothing: `could_be` says what it may mean.
- A term that something unclear may be about is `null` in the draft and takes no preset.
"""


def forms_md() -> str:
    """Every form with its examples, term by term."""
    lines = [_HEAD]
    for term, forms in groupby(sorted(FORMS, key=_place), key=lambda form: form.term):
        lines += [f"## {_TITLES[term]} (`{term}`)", "", "| form | for example |", "|---|---|"]
        lines += [f"| {_named(form)} | {_examples(form)} |" for form in forms]
        lines.append("")
    return "\n".join(lines)


def _place(form: NoteForm) -> int:
    return list(_TITLES).index(form.term)


def _named(form: NoteForm) -> str:
    also = "".join(f", and `{term}` {value}" for term, value in form.also)
    return f"{form.name}{also}{' (ambiguous)' if form.could else ''}"


def _examples(form: NoteForm) -> str:
    return "; ".join(f"“{example}”" for example in form.examples)
