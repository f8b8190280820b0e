"""Note draft: understood, unclear and preset terms of a draft, from a note and typed terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from domain.mandates.mandate import MAX_HORIZON_DAYS, MAX_PAYOUT_BPS
from domain.mandates.markets import Market
from domain.mandates.notes import forms as f
from domain.mandates.notes.market_names import market_names
from domain.mandates.notes.reader import NoteItem, Reading, Unread, read
from domain.mandates.notes.tokens import SHARE, words
from domain.mandates.notes.words import EVERY
from domain.mandates.purses import PARTS
from domain.money import BPS, LARGEST, LIMIT_MICROS, MICROS, Usdc
from domain.refusals import Refused

NOTE_MAX: Final = 2_000
TX_BPS: Final = 1_000
DAY_BPS: Final = 3_000
MARKETS: Final = "markets"
FEE_KIND: Final = "share_of_verified_gain"
DEFAULT_MARKETS: Final = ({"kind": "vault"}, {"kind": "x402", "hosts": []})
PRESET: Final[Mapping[str, object]] = MappingProxyType({
    f.BUDGET: "500.000000", f.FLOOR: 2000, f.DAYS: 30, f.FEE: {"kind": FEE_KIND, "bps": 1000},
    f.ASK: None, f.ON_FLOOR: "keep", f.AIM: None,
})  # fmt: skip
_AMOUNTS: Final = frozenset({f.BUDGET, f.TX, f.DAY})
# In the order of a create body.
_ORDER: Final = (
    f.BUDGET, f.TX, f.DAY, f.FLOOR, f.AIM, f.DAYS, f.FEE, f.ASK, f.ON_FLOOR, f.TARGETS, *PARTS,
)  # fmt: skip
SILENT: Final = "the note does not say"
_UNREAD: Final = "it is not one of the forms that are read"


@dataclass(frozen=True, slots=True)
class TermValue:
    """A term and a value that it has or may have; None where no words give one.

    Shapes: `text` are the words of the note that state it, None of what nobody wrote; `reason` says
    why a value that nobody stated is assumed.
    """

    term: str
    value: object
    text: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Unclear:
    """Words that state no term, and the reason."""

    text: str
    reason: str
    could_be: tuple[TermValue, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """The draft of a note and typed terms.

    Shapes: `terms` are the fields of a create body that are known; `left_open` are those that are
    unclear, which no preset fills.
    """

    terms: Mapping[str, object]
    left_open: tuple[str, ...]
    understood: tuple[TermValue, ...]
    assumed: tuple[TermValue, ...]
    unclear: tuple[Unclear, ...]
    unrelated: tuple[str, ...]

    @property
    def needs_review(self) -> bool:
        """True where the owner has to say what was meant before anything is signed."""
        return bool(self.unclear)


def parse_note(
    note: str,
    *,
    markets: tuple[Market, ...] = (),
    chain_id: int | None = None,
    typed: Mapping[str, object] = MappingProxyType({}),
    purses: Callable[[str], str] | None = None,
) -> Draft:
    """Read a purpose note beside typed terms, which win; total and deterministic.

    Shapes: `typed` are fields of a create body by name; amounts as `Usdc`. `markets` are the list,
    of which those of the network `chain_id` can be chosen. `purses` gives an address its EIP-55
    form, or refuses it; None where the network has no purses.
    Units: amounts in the result are 6-decimal strings.
    Source: spec 4.1 (deterministic parser), contract 3 (purpose notes, Standard preset).
    """
    if len(note) > NOTE_MAX:
        reading = Reading(unread=[Unread(note[:NOTE_MAX], 0, EVERY, ())])
    else:
        reading = read(note, market_names(markets, chain_id))
    fixed = frozenset({*typed, f.TARGETS} if MARKETS in typed else typed)
    return _DraftBuilder(reading, typed, fixed | _typed_parts(typed), purses).draft()


def _typed_parts(typed: Mapping[str, object]) -> frozenset[str]:
    """The parts of payments for web services that typed targets name; all where they name none."""
    if f.TARGETS not in typed:
        return frozenset()
    entry = _paid(typed[f.TARGETS])
    purse = entry.get(f.PURSE)
    if not isinstance(purse, Mapping):
        return frozenset(PARTS)
    return frozenset({f.PURSE, *purse} | ({f.HOSTS} & entry.keys()))


def _paid(targets: object) -> Mapping[str, object]:
    """The entry of paid reads among targets as they are typed; empty where there is none."""
    listed = targets if isinstance(targets, Sequence) else ()
    entries = (t for t in listed if isinstance(t, Mapping) and t.get("kind") == "x402")
    return next(entries, {})


@dataclass(frozen=True, slots=True)
class _TermClaim:
    """A claim of an item on a term: a value by the names of a create body, or, with a reason, the
    values that it may mean.
    """

    item: NoteItem
    term: str
    values: tuple[TermValue, ...]
    reason: str = ""

    @property
    def value(self) -> object:
        """The first of the values."""
        return self.values[0].value


@dataclass(slots=True)
class _DraftBuilder:
    reading: Reading
    typed: Mapping[str, object]
    fixed: frozenset[str]
    purses: Callable[[str], str] | None = None
    doubts: dict[str, str] = field(default_factory=dict)
    claims: list[_TermClaim] = field(default_factory=list)
    unsaid: list[_TermClaim] = field(default_factory=list)

    def draft(self) -> Draft:
        """The draft, once no term is in doubt that was not before."""
        self.spread()
        for unread in self.reading.unread:
            for term in unread.terms:
                self.doubt(term, f"“{_short(unread.text)}” is unclear")
        while True:
            before = len(self.doubts)
            budget = self.budget()
            self.claims = [c for item in self.reading.items for c in self.claims_of(item, budget)]
            self.claims = [c for c in self.claims if c.term not in self.fixed]
            self.contradict()
            self.check_payments()
            # Each round only adds doubts, of which there are as many as terms.
            if len(self.doubts) == before:
                return self.build_result()

    def spread(self) -> None:
        """Let what may be about every term be about payments too, where the note speaks of them;
        where the network has none, they are places where it cannot act.
        """
        speaks = any(u.terms & _PARTS for u in self.reading.unread) or any(
            i.form.term in _PARTS for i in self.reading.items
        )
        for at, unread in enumerate(self.reading.unread):
            terms = unread.terms | (_PARTS if speaks and unread.terms >= EVERY else frozenset())
            if self.purses is None and terms & _PARTS:
                terms = terms - _PARTS | {f.TARGETS}
            self.reading.unread[at] = replace(unread, terms=terms)

    def claims_of(self, item: NoteItem, budget: Usdc | None) -> list[_TermClaim]:
        """The claims of an item; of one that may limit the mandate or its payments, neither."""
        claims = _claims(item, budget)
        if self.purses is None:
            there = [c for c in claims if c.term not in _PARTS or c.reason]
            nowhere = _TermClaim(item, f.TARGETS, (TermValue(f.TARGETS, None),), _NO_PURSES)
            return there if len(there) == len(claims) else [*there, nowhere]
        claims = [_addressed(c, self.purses) if c.term == f.PAYEES else c for c in claims]
        other = self.either(item)
        return [
            replace(c, values=(*c.values, TermValue(other, c.value)), reason=_EITHER)
            if other and c.term in (item.form.term, other) and not c.reason
            else c
            for c in claims
        ]

    def either(self, item: NoteItem) -> str | None:
        """The other term that an amount may be of, where payments and the mandate's own limits
        stand so close that either may be meant.
        """
        items, term = self.reading.items, item.form.term
        paying = {i.form.term for i in items} & _PARTS
        if term == f.TX and paying:
            return f.PAYMENT if _OF_PAYING & set(item.text.lower().split()) else None
        if term not in (f.DAY, f.PAY_DAY) or not paying:
            return None
        at = next(n for n, i in enumerate(items) if i is item)
        near = [i for i in items if i.sentence == item.sentence]
        limits = {i.form.term for i in near} & _AMOUNTS
        if term == f.PAY_DAY:
            has_day = any(i.form.term == f.DAY for i in items)
            return f.DAY if item.form.behind and limits and not has_day else None
        if f.PAY_DAY in paying:
            return None
        follows = at > 0 and items[at - 1].form.term in _PARTS
        leads = at + 1 < len(items) and items[at + 1] in near and f.TX not in limits
        return f.PAY_DAY if follows or (leads and items[at + 1].form.term in _PARTS) else None

    def check_payments(self) -> None:
        """Doubt payments above the mandate's own limits, and amounts of payments that nobody named:
        what is left out would be as much as the mandate allows.
        """
        stated = {c.term: c for c in self.claims if not c.reason}
        amounts = {t: Usdc.parse(stated[t].value) for t in _UNSAID if t in stated}
        opens = (i for i in self.reading.items if f.PURSE in (i.form.term, *dict(i.form.also)))
        opening = next(opens, None)
        self.unsaid = []
        if f.PURSE not in {*stated, *self.fixed}:
            if _PARTS & set(self.doubts):
                self.doubt(f.PURSE, _UNSAID_PURSE)
        elif opening is not None:
            self.unsaid = [*self.left_out(opening)]
            for claim in self.unsaid:
                self.doubt(claim.term, claim.reason)
        caps = self.caps()
        for term, amount in amounts.items():
            over = [t for t in caps if caps[t] < amount and (t != f.TX or term == f.PAYMENT)]
            own = [t for t in (f.PAY_DAY, f.AT_RISK) if t in amounts and amounts[t] < amount]
            if over:
                self.doubt(term, "it is above the mandate's own limit")
            elif term == f.PAYMENT and own:
                for wrong in (term, *own):
                    self.doubt(wrong, "a payment is more than a day, or than what is at risk")

    def left_out(self, opening: NoteItem) -> Iterator[_TermClaim]:
        """The amounts of payments that nobody named; what is at risk may be a day's."""
        amounts = {c.term: c.value for c in self.claims}
        for term, reason in _UNSAID.items():
            is_open = term not in self.fixed and self.doubts.get(term, reason) == reason
            if term not in amounts and is_open:
                is_sure = term == f.AT_RISK and f.PAY_DAY not in self.doubts
                value = amounts.get(f.PAY_DAY) if is_sure else None
                yield _TermClaim(opening, term, (TermValue(term, value),), reason)

    def doubt(self, term: str, reason: str) -> None:
        term = f.TARGETS if term == MARKETS else term
        if term not in self.fixed:
            self.doubts.setdefault(term, reason)

    def budget(self) -> Usdc | None:
        """The budget that was typed, or is stated beyond doubt."""
        typed = self.typed.get(f.BUDGET)
        if isinstance(typed, Usdc):
            return typed
        stated = [c for s in self.reading.items for c in _claims(s, None) if c.term == f.BUDGET]
        if f.BUDGET in self.doubts or len(stated) != 1 or stated[0].reason:
            return None
        return Usdc.parse(stated[0].value)

    def contradict(self) -> None:
        """Doubt what is ambiguous, said twice or out of order."""
        first: dict[str, _TermClaim] = {}
        for claim in self.claims:
            before = first.setdefault(claim.term, claim)
            is_repeat = before is not claim and (
                claim.term in _AMOUNTS or before.values != claim.values
            )
            terms = [v.term for v in claim.values] if claim.reason else [claim.term] * is_repeat
            for term in terms:
                self.doubt(term, claim.reason or "the note speaks of it twice")
        for fee, bound in pairwise(self.claims):
            first_word = bound.item.text.split()[0]
            first_word = first_word.lower() if bound.item.form.could else first_word
            if fee.term == f.FEE and bound.item.form.name in _BOUNDS and first_word in _LIMITS:
                for term in (f.FEE, f.BUDGET):
                    self.doubt(term, "what follows a fee may limit the fee")
        caps = [*self.caps().values()]
        if caps != sorted(caps):
            for term in _AMOUNTS:
                self.doubt(term, "the caps are out of order: per action, per day, budget")

    def caps(self) -> dict[str, Usdc]:
        """Cap per action, per day and budget that are beyond doubt, from the least on: as they are
        stated, or the preset's shares of the budget, inside the other caps.
        """
        said = {c.term: c.value for c in self.claims if not c.reason} | dict(self.typed)
        amounts = {t: Usdc.parse(_plain(said[t])) for t in _AMOUNTS - set(self.doubts) if t in said}
        tx, day, budget = (amounts.get(t) for t in (f.TX, f.DAY, f.BUDGET))
        if f.BUDGET not in self.doubts:
            budget = budget or Usdc.parse(PRESET[f.BUDGET])
            day = day or min(budget, max(budget.share_down(DAY_BPS), tx or Usdc(1)))
            tx = tx or min(max(budget.share_down(TX_BPS), Usdc(1)), day)
        caps = {f.TX: tx, f.DAY: day, f.BUDGET: budget}
        return {t: cap for t, cap in caps.items() if cap is not None and t not in self.doubts}

    def build_result(self) -> Draft:
        stated = [c for c in self.claims if c.term not in self.doubts]
        understood = [TermValue(t, _plain(v)) for t, v in self.typed.items() if t in _KNOWN]
        understood += [replace(v, text=c.item.text) for c in stated for v in c.values]
        terms = {u.term: u.value for u in understood if u.term not in _PARTS}
        # The preset of a cap is a share of the budget.
        caps = {f.TX, f.DAY} - set(terms) if f.BUDGET in self.doubts else set()
        open_terms = frozenset(self.doubts) | caps
        assumed = self.assumed(terms, open_terms)
        parts = {u.term: u.value for u in understood if u.term in _PARTS}
        if f.TARGETS not in open_terms and (targets := self.targets(terms, parts)):
            terms |= {f.TARGETS: targets}
            assumed = [a for a in assumed if a.term != f.TARGETS]
        return Draft(
            terms | {a.term: a.value for a in assumed},
            tuple(t for t in _ORDER if t in open_terms),
            tuple(understood),
            tuple(assumed),
            tuple(u for _, u in sorted(self.unclear(open_terms), key=lambda x: x[0])),
            tuple(self.reading.unrelated),
        )

    def targets(
        self, terms: Mapping[str, object], parts: Mapping[str, object]
    ) -> list[Mapping[str, object]]:
        """The targets with the payments that are read, beside what is typed of them; empty where
        nothing of payments is read.
        """
        entry = _paid(self.typed.get(f.TARGETS))
        if not parts or (f.PURSE not in parts and not isinstance(entry.get(f.PURSE), Mapping)):
            return []
        before = entry.get(f.PURSE)
        purse = dict(before) if isinstance(before, Mapping) else {}
        purse |= {n: v for n, v in parts.items() if n not in (f.PURSE, f.HOSTS)}
        hosts = parts.get(f.HOSTS, entry.get(f.HOSTS, []))
        paid = {**entry, "kind": "x402", f.HOSTS: hosts, f.PURSE: purse}
        listed = terms.get(f.TARGETS) or [{"kind": "vault"}]
        others = listed if isinstance(listed, list) else []
        return [t for t in others if t is not entry] + [paid]

    def unclear(self, open_terms: frozenset[str]) -> list[tuple[int, Unclear]]:
        """Each question with the place of its words."""
        out = [
            (u.start, Unclear(u.text, _UNREAD, self.could(u, open_terms)))
            for u in self.reading.unread
            if u.terms - self.fixed
        ]
        # What is unsaid of payments is asked beside the words that speak of them.
        out += [(c.item.start, Unclear(c.item.text, c.reason, c.values)) for c in self.unsaid]
        doubtful: dict[int, list[_TermClaim]] = {}
        for claim in self.claims:
            if claim.term in self.doubts:
                doubtful.setdefault(claim.item.start, []).append(claim)
        for start, claims in doubtful.items():
            reason = next((c.reason for c in claims if c.reason), self.doubts[claims[0].term])
            could = [v for c in claims for v in c.values]
            if any(c.term == f.BUDGET for c in claims):
                caps = (open_terms & {f.TX, f.DAY}) - {c.term for c in self.claims}
                could += [TermValue(t, None) for t in _ORDER if t in caps]
            if f.PURSE in open_terms and _PARTS & {v.term for v in could}:
                could.append(TermValue(f.PURSE, None))
            out.append((start, Unclear(claims[0].item.text, reason, tuple(could))))
        return out

    def could(self, unread: Unread, open_terms: frozenset[str]) -> tuple[TermValue, ...]:
        """The readings of a sentence's items alone, and the other terms it may be about."""
        claims = [c for item in unread.items for c in _claims(item, None) if not c.reason]
        options = [v for c in claims if c.term not in self.fixed for v in c.values]
        terms = unread.terms | (open_terms & {f.TX, f.DAY} if f.BUDGET in unread.terms else set())
        remaining = terms - {v.term for v in options} - self.fixed
        options += [TermValue(t, None) for t in _ORDER if t in remaining]
        return tuple(v for at, v in enumerate(options) if v not in options[:at])

    def assumed(self, terms: Mapping[str, object], open_terms: frozenset[str]) -> list[TermValue]:
        """The preset for the terms that nothing speaks of."""
        values = dict(PRESET) | {t: str(cap) for t, cap in self.caps().items()}
        if f.TARGETS not in self.fixed and MARKETS not in terms:
            values[f.TARGETS] = list(DEFAULT_MARKETS)
        spoken = {w for item in self.reading.items for w in item.text.lower().split()}
        why = _WHY if _PURPOSES.isdisjoint(spoken) else {**_WHY, f.TARGETS: _NO_MARKET}
        return [
            TermValue(t, values[t], reason=why.get(t, _STANDARD))
            for t in _ORDER
            if t in values and t not in terms and t not in open_terms
        ]


_BOUNDS: Final = ("a bound on nothing named", "a bound on all that is used")
_LIMITS: Final = words("max maximum at no not never up capped limited under")
_KNOWN: Final = frozenset({*_ORDER, MARKETS})
_PARTS: Final = frozenset(PARTS)
_UNSAID: Final[Mapping[str, str]] = MappingProxyType({
    f.PAYMENT: "it does not say how much a payment may be",
    f.PAY_DAY: "it does not say how much a day",
    f.AT_RISK: "it does not say how much may be at risk at once",
})  # fmt: skip
_UNSAID_PURSE: Final = "it does not say whether it may pay for web services"
_NO_PURSES: Final = "payments for web services cannot be made on this network"
_NO_ADDRESS: Final = "an address has a letter or a digit that is wrong"
_EITHER: Final = "it may limit the mandate, or its payments for web services"
_HIGH_FEE: Final = f"the fee is at most {MAX_PAYOUT_BPS // 100}% of verified gain"
_NO_BUDGET: Final = "it is {} of a budget that the note does not name"
_DAYS_OF: Final = {"days": 1, "weeks": 7, "months": 30}
_OF_PAYING: Final = words("payment payments transaction transactions purchase purchases tx")
_PURPOSES: Final = words("lending yield saving savings trading investing")
_NO_MARKET: Final = (
    "the purpose that the note names selects no market of the list; the default targets"
)
_STANDARD: Final = f"{SILENT}; the Standard preset"
_INSIDE: Final = f"{_STANDARD}, kept inside the other caps"
_WHY: Final[Mapping[str, str]] = {
    f.TX: _INSIDE, f.DAY: _INSIDE, f.ASK: f"{SILENT}; the agent acts on its own",
    f.TARGETS: f"{SILENT}; the default targets",
}  # fmt: skip


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Usdc) else value


def _short(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _addressed(claim: _TermClaim, address: Callable[[str], str]) -> _TermClaim:
    """Payees in the form of addresses, or the reason why they are none."""
    try:
        listed = [address(written) for written in claim.item.names]
    except Refused:
        return replace(claim, values=(TermValue(f.PAYEES, None),), reason=_NO_ADDRESS)
    return replace(claim, values=(TermValue(f.PAYEES, [*dict.fromkeys(listed)]),))


def _claims(item: NoteItem, budget: Usdc | None) -> list[_TermClaim]:
    """The claims of an item: its figure, the names in it, and the fixed values of its form."""
    form, claims = item.form, list[_TermClaim]()
    if form.term != f.TARGETS:
        values, reason = _values(item, budget)
        terms = form.could if values and form.could else (form.term,)
        options = tuple(TermValue(t, v) for t in terms for v in values or (None,))
        claims.append(_TermClaim(item, form.term, options, reason))
    also = [(f.HOSTS, [*dict.fromkeys(item.names)])] if item.names and form.reads != "names" else []
    claims += [_TermClaim(item, t, (TermValue(t, v),)) for t, v in (*also, *form.also)]
    if (named := item.markets) is not None:
        places = [TermValue(MARKETS, [*ids]) for ids in named.could or [named.ids] if ids]
        if form.reads == "only" and not named.reason:
            # Nothing of the default targets but the vault itself.
            places.append(TermValue(f.TARGETS, [{"kind": "vault"}]))
        chosen = tuple(places) or (TermValue(f.TARGETS, None),)
        claims.append(_TermClaim(item, f.TARGETS, chosen, named.reason))
    return claims


def _values(item: NoteItem, budget: Usdc | None) -> tuple[Sequence[object], str]:
    """The values that an item may state of its term, and the reason why it states none."""
    form, figure = item.form, item.figure
    if form.reads == "names":
        return [[*dict.fromkeys(item.names)]], ""
    if form.reads in _DAYS_OF:
        many, part = divmod(figure.value if figure else MICROS, MICROS)
        days = many * _DAYS_OF[form.reads]
        if part or not 1 <= days <= MAX_HORIZON_DAYS:
            return [], f"it is not between 1 and {MAX_HORIZON_DAYS} days"
        return [days], "a month is no fixed number of days" if form.could else ""
    if figure is None:
        return [form.reads], ""
    if form.term == f.FEE:
        fee = {"kind": FEE_KIND, "bps": figure.value}
        return ([fee], "") if figure.value <= MAX_PAYOUT_BPS else ([], _HIGH_FEE)
    if figure.kind == SHARE:
        if form.term == f.FLOOR:
            return _stop_line(form.reads, figure.value, BPS)
        whole = budget.share_down(figure.value).micros if budget and figure.value <= BPS else 0
        return _amount(item, whole) if budget else ([], _NO_BUDGET.format("a share"))
    if form.term == f.FLOOR:
        money = _stop_line(form.reads, figure.value, budget.micros) if budget else None
        return money or ([], _NO_BUDGET.format("an amount"))
    return _amount(item, figure.value)


def _stop_line(reads: str, value: int, base: int) -> tuple[Sequence[object], str]:
    """The loss that stops the mandate in basis points, rounded towards stopping earlier."""
    lost_bps, left_bps = value * BPS // base, (base - value) * BPS // base
    if not 0 < value < base:
        return [], "it is not inside the budget"
    if reads == "lost" or (reads == "share" and value * 2 <= base):
        return [lost_bps], ""
    if reads == "left":
        return [left_bps], ""
    return [*dict.fromkeys((lost_bps, left_bps))], "it can mean what is lost or what is left"


def _amount(item: NoteItem, micros: int) -> tuple[Sequence[object], str]:
    if not 0 < micros <= LIMIT_MICROS:
        return [], f"it is not above 0 and at most {LARGEST}"
    is_share = item.figure is not None and item.figure.kind == SHARE
    may_count = item.counts and (is_share or item.form.reads == "or count")
    reason = "it can mean an amount or something else, as how often" if may_count else ""
    limits = "it does not say what it is a limit of" if item.form.could else ""
    return [str(Usdc(micros))], limits or reason
