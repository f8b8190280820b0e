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
from domain.money import BPS, MICROS, Usdc
from domain.refusals import Refused

NOTE_MAX: Final = 2_000
TX_BPS: Final = 1_000
DAY_BPS: Final = 3_000
MAX_BUDGET: Final = 10**18
MARKETS: Final = "markets"
FEE_KIND: Final = "share_of_verified_gain"
DEFAULT_MARKETS: Final = ({"kind": "vault"}, {"kind": "x402", "hosts": []})
PRESET: Final[Mapping[str, object]] = MappingProxyType({
    f.BUDGET: "500.000000", f.FLOOR: 2000, f.DAYS: 30, f.FEE: {"kind": FEE_KIND, "bps": 1000},
    f.ASK: None, f.ON_FLOOR: "keep", f.AIM: None,
})  # fmt: skip
_ASSUMED: Final = Usdc.parse(PRESET[f.BUDGET])
_AMOUNTS: Final = frozenset({f.BUDGET, f.TX, f.DAY})
# In the order of a create body.
_ORDER: Final = (
    f.BUDGET, f.TX, f.DAY, f.FLOOR, f.AIM, f.DAYS, f.FEE, f.ASK, f.ON_FLOOR, f.TARGETS, *PARTS,
)  # fmt: skip
SILENT: Final = "the note does not say"
_UNREAD: Final = "it is not one of the forms that are read"


@dataclass(frozen=True, slots=True)
class Understood:
    """A term that the note states in the words of `text`, or that was typed: then it is None."""

    term: str
    value: object
    text: str | None


@dataclass(frozen=True, slots=True)
class Assumed:
    """A term that the note does not mention, its preset value, and the reason for it."""

    term: str
    value: object
    reason: str


@dataclass(frozen=True, slots=True)
class CouldBe:
    """A possible meaning of unclear words; `value` is None where they give none."""

    term: str
    value: object


@dataclass(frozen=True, slots=True)
class Unclear:
    """Words that state no term, and the reason."""

    text: str
    reason: str
    could_be: tuple[CouldBe, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """The draft of a note and typed terms.

    Shapes: `terms` are the fields of a create body that are known; `left_open` are those that are
    unclear, which no preset fills.
    """

    terms: Mapping[str, object]
    left_open: tuple[str, ...]
    understood: tuple[Understood, ...]
    assumed: tuple[Assumed, ...]
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
    """The value of a term that an item states, or the reason for none and its possible values."""

    item: NoteItem
    term: str
    value: object = None
    reason: str = ""
    could_be: tuple[CouldBe, ...] = ()


@dataclass(slots=True)
class _DraftBuilder:
    reading: Reading
    typed: Mapping[str, object]
    fixed: frozenset[str]
    purses: Callable[[str], str] | None = None
    doubts: dict[str, str] = field(default_factory=dict)
    claims: list[_TermClaim] = field(default_factory=list)

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
            self.contradict(budget)
            self.check_payments(budget)
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
            there = [c for c in claims if c.term not in _PARTS or c.could_be]
            options = (CouldBe(f.TARGETS, None),)
            nowhere = _TermClaim(item, f.TARGETS, None, _NO_PURSES, options)
            return there if len(there) == len(claims) else [*there, nowhere]
        claims = [self.with_addresses(c) if c.term == f.PAYEES else c for c in claims]
        other = self.either(item)
        if other is None:
            return claims
        return [
            replace(c, value=None, reason=_EITHER, could_be=(*_options(c), CouldBe(other, c.value)))
            if c.term in (item.form.term, other) and not c.reason
            else c
            for c in claims
        ]

    def with_addresses(self, claim: _TermClaim) -> _TermClaim:
        """Payees in the form of addresses, or the reason why they are none."""
        try:
            listed = [self.purses(p) for p in claim.item.payees] if self.purses else []
        except Refused:
            return _reject(claim.item, _NO_ADDRESS)
        return replace(claim, value=[*dict.fromkeys(listed)])

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

    def check_payments(self, budget: Usdc | None) -> None:
        """Doubt payments above the mandate's own limits, and amounts of payments that nobody named:
        what is left out would be as much as the mandate allows.
        """
        stated = {c.term: c for c in self.claims if not c.reason}
        opens = f.PURSE in stated or f.PURSE in self.fixed
        if opens and self.opening() is not None:
            for term, what in _UNSAID.items():
                if term not in {c.term for c in self.claims}:
                    self.doubt(term, what)
        elif not opens and _PARTS & set(self.doubts):
            self.doubt(f.PURSE, _UNSAID_PURSE)
        amounts = {t: Usdc.parse(stated[t].value) for t in _PAID_AMOUNTS if t in stated}
        limits = self.limits(budget)
        for term, amount in amounts.items():
            over = [n for n in _BOUNDED_BY[term] if n in limits and limits[n] < amount]
            own = [t for t in (f.PAY_DAY, f.AT_RISK) if t in amounts and amounts[t] < amount]
            if over:
                self.doubt(term, "it is above the mandate's own limit")
            elif term == f.PAYMENT and own:
                for wrong in (term, *own):
                    self.doubt(wrong, "a payment is more than a day, or than what is at risk")

    def opening(self) -> NoteItem | None:
        """The first item that speaks of payments for web services beyond doubt."""
        return next((i for i in self.reading.items if _opens_payments(i)), None)

    def limits(self, budget: Usdc | None) -> dict[str, Usdc]:
        """The mandate's own limits as far as they are known, its preset among them."""
        known = self.caps(budget)
        if f.BUDGET in self.doubts:
            return known
        terms = {t: str(v) for t, v in known.items()}
        preset = _shares(terms, PRESET[f.BUDGET])
        said = {c.term for c in self.claims} | set(self.typed)
        own = {t: Usdc.parse(v) for t, v in preset.items() if t not in said | set(self.doubts)}
        return own | known

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

    def contradict(self, budget: Usdc | None) -> None:
        """Doubt what is ambiguous, said twice or out of order."""
        first: dict[str, object] = {}
        for claim in self.claims:
            is_repeat = claim.term in first and (
                claim.term in _AMOUNTS or first[claim.term] != claim.value
            )
            first.setdefault(claim.term, claim.value)
            terms = [c.term for c in claim.could_be] if claim.reason else [claim.term] * is_repeat
            for term in terms:
                self.doubt(term, claim.reason or "the note speaks of it twice")
        for fee, bound in pairwise(self.claims):
            first_word = bound.item.text.split()[0]
            first_word = first_word.lower() if bound.item.form.could else first_word
            if fee.term == f.FEE and bound.item.form.name in _BOUNDS and first_word in _LIMITS:
                for term in (f.FEE, f.BUDGET):
                    self.doubt(term, "what follows a fee may limit the fee")
        caps = self.caps(budget)
        if list(caps.values()) != sorted(caps.values()):
            for term in _AMOUNTS:
                self.doubt(term, "the caps are out of order: per action, per day, budget")

    def caps(self, budget: Usdc | None) -> dict[str, Usdc]:
        """Budget, cap per action and per day as far as they are known, from the least on."""
        amounts = {
            c.term: Usdc.parse(c.value) for c in self.claims if c.term in _AMOUNTS and not c.reason
        }
        amounts |= {t: v for t, v in self.typed.items() if t in _AMOUNTS and isinstance(v, Usdc)}
        known_amounts = {t: v for t, v in amounts.items() if t not in self.doubts}
        if known_amounts and f.BUDGET not in self.doubts:
            known_amounts[f.BUDGET] = budget or _ASSUMED
        return {t: known_amounts[t] for t in (f.TX, f.DAY, f.BUDGET) if t in known_amounts}

    def build_result(self) -> Draft:
        stated = [c for c in self.claims if c.term not in self.doubts]
        understood = [Understood(t, _plain(v), None) for t, v in self.typed.items() if t in _KNOWN]
        understood += [
            Understood(o.term, o.value, c.item.text) for c in stated for o in _options(c)
        ]
        terms = {u.term: u.value for u in understood if u.term not in _PARTS}
        open_terms = self.left_open(terms)
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
        typed = self.typed.get(f.TARGETS)
        entry = _paid(typed) if typed is not None else {}
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

    def left_open(self, terms: Mapping[str, object]) -> frozenset[str]:
        """The terms in doubt, and the caps whose preset is a share of a budget in doubt."""
        caps = {f.TX, f.DAY} - set(terms) if f.BUDGET in self.doubts else set()
        return frozenset(self.doubts) | caps

    def unclear(self, open_terms: frozenset[str]) -> list[tuple[int, Unclear]]:
        out: list[tuple[int, Unclear]] = []
        for unread in self.reading.unread:
            terms = unread.terms - self.fixed
            if terms:
                options = self.could(unread, open_terms)
                out.append((unread.start, Unclear(unread.text, _UNREAD, options)))
        # What is unsaid of payments is asked beside the words that speak of them.
        of_payments = self.opening()
        unsaid = [t for t, why in _UNSAID.items() if self.doubts.get(t) == why]
        if of_payments is not None and unsaid:
            for term in unsaid:
                options = (CouldBe(term, self.suggestion(term)),)
                out.append((of_payments.start, Unclear(of_payments.text, _UNSAID[term], options)))
        doubtful: dict[int, list[_TermClaim]] = {}
        for claim in self.claims:
            if claim.term in self.doubts:
                doubtful.setdefault(claim.item.start, []).append(claim)
        for start, claims in doubtful.items():
            reason = next((c.reason for c in claims if c.reason), self.doubts[claims[0].term])
            could = [x for c in claims for x in c.could_be or _options(c)]
            if any(c.term == f.BUDGET for c in claims):
                caps = (open_terms & {f.TX, f.DAY}) - {c.term for c in self.claims}
                could += [CouldBe(t, None) for t in _ORDER if t in caps]
            if f.PURSE in open_terms and _PARTS & {c.term for c in could}:
                could.append(CouldBe(f.PURSE, None))
            out.append((start, Unclear(claims[0].item.text, reason, tuple(could))))
        return out

    def suggestion(self, term: str) -> object:
        """A possible meaning of an amount of payments that nobody named: a day's for what is at
        risk.
        """
        days = (c.value for c in self.claims if c.term == f.PAY_DAY and not c.reason)
        return next(days, None) if term == f.AT_RISK and f.PAY_DAY not in self.doubts else None

    def could(self, unread: Unread, open_terms: frozenset[str]) -> tuple[CouldBe, ...]:
        """The readings of a sentence's items alone, and the other terms it may be about."""
        claims = [c for item in unread.items for c in _claims(item, None) if not c.reason]
        options = [o for c in claims if c.term not in self.fixed for o in _options(c)]
        terms = unread.terms | (open_terms & {f.TX, f.DAY} if f.BUDGET in unread.terms else set())
        remaining = terms - {c.term for c in options} - self.fixed
        options += [CouldBe(t, None) for t in _ORDER if t in remaining]
        return tuple(c for at, c in enumerate(options) if c not in options[:at])

    def assumed(self, terms: Mapping[str, object], open_terms: frozenset[str]) -> list[Assumed]:
        """The preset for the terms that nothing speaks of."""
        values = dict(PRESET) | _shares(terms, PRESET[f.BUDGET])
        out = [
            Assumed(name, values[name], SILENT + _WHY.get(name, "; the Standard preset"))
            for name in _ORDER
            if name in values and name not in terms and name not in open_terms
        ]
        if f.TARGETS not in self.fixed | open_terms and MARKETS not in terms:
            spoken = {w for item in self.reading.items for w in item.text.lower().split()}
            reason = SILENT if _PURPOSES.isdisjoint(spoken) else _NO_MARKET
            reason += "; the default targets"
            out.append(Assumed(f.TARGETS, list(DEFAULT_MARKETS), reason))
        return out


_BOUNDS: Final = ("a bound on nothing named", "a bound on all that is used")
_LIMITS: Final = words("max maximum at no not never up capped limited under")
_KNOWN: Final = frozenset({*_ORDER, MARKETS})
_PARTS: Final = frozenset(PARTS)
_PAID_AMOUNTS: Final = (f.PAYMENT, f.PAY_DAY, f.AT_RISK)
_BOUNDED_BY: Final[Mapping[str, Sequence[str]]] = MappingProxyType({
    f.PAYMENT: (f.TX, f.DAY, f.BUDGET), f.PAY_DAY: (f.DAY, f.BUDGET), f.AT_RISK: (f.DAY, f.BUDGET),
})  # fmt: skip
_UNSAID: Final[Mapping[str, str]] = MappingProxyType({
    f.PAYMENT: "it does not say how much a payment may be",
    f.PAY_DAY: "it does not say how much a day",
    f.AT_RISK: "it does not say how much may be at risk at once",
})  # fmt: skip
_UNSAID_PURSE: Final = "it does not say whether it may pay for web services"
_NO_PURSES: Final = "payments for web services cannot be made on this network"
_NO_ADDRESS: Final = "an address has a letter or a digit that is wrong"
_EITHER: Final = "it may limit the mandate, or its payments for web services"
_OF_PAYING: Final = words("payment payments transaction transactions purchase purchases tx")
_PURPOSES: Final = words("lending yield saving savings trading investing")
_NO_MARKET: Final = "the purpose that the note names selects no market of the list"
_INSIDE: Final = "; the Standard preset, kept inside the other caps"
_WHY: Final[Mapping[str, str]] = MappingProxyType(
    {f.TX: _INSIDE, f.DAY: _INSIDE, f.ASK: "; the agent acts on its own"}
)


def _shares(terms: Mapping[str, object], preset: object) -> dict[str, object]:
    """The preset's caps on the budget: 10% an action, 30% a day, inside the cap that is stated."""
    budget = Usdc.parse(terms.get(f.BUDGET, preset))
    tx, day = (Usdc.parse(terms[t]) if t in terms else None for t in (f.TX, f.DAY))
    day = day or min(budget, max(budget.share_down(DAY_BPS), tx or Usdc(1)))
    return {f.TX: str(tx or min(max(budget.share_down(TX_BPS), Usdc(1)), day)), f.DAY: str(day)}


def _opens_payments(item: NoteItem) -> bool:
    return item.form.term == f.PURSE or any(term == f.PURSE for term, _ in item.form.also)


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Usdc) else value


def _short(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _claims(item: NoteItem, budget: Usdc | None) -> list[_TermClaim]:
    """The term claims of an item."""
    claims = [] if item.form.term == f.TARGETS else [_claim(item, budget)]
    if item.hosts and item.form.term != f.HOSTS:
        claims.append(_TermClaim(item, f.HOSTS, [*dict.fromkeys(item.hosts)]))
    claims += [_TermClaim(item, term, value) for term, value in item.form.also]
    if (named := item.markets) is not None:
        options = tuple(CouldBe(MARKETS, [*ids]) for ids in named.could)
        unknown = (CouldBe(f.TARGETS, None),) if named.reason else ()
        value = (named.ids, item.form.reads == "only")
        claims.append(_TermClaim(item, f.TARGETS, value, named.reason, options or unknown))
    return claims


def _options(claim: _TermClaim) -> Iterator[CouldBe]:
    """The terms of a claim without a reason, by the names of a create body."""
    if claim.term != f.TARGETS:
        yield CouldBe(claim.term, claim.value)
    elif isinstance(claim.value, tuple):
        ids, only = claim.value
        yield CouldBe(MARKETS, [*ids])
        if only:  # nothing of the default targets but the vault itself
            yield CouldBe(f.TARGETS, [{"kind": "vault"}])


def _claim(item: NoteItem, budget: Usdc | None) -> _TermClaim:
    form, figure = item.form, item.figure
    if form.term == f.DAYS:
        return _length(item, figure.value if figure else MICROS)
    if form.reads == "names":
        return _TermClaim(item, form.term, [*dict.fromkeys(item.payees or item.hosts)])
    if figure is None:
        return _TermClaim(item, form.term, form.reads)
    value = figure.value
    if form.term == f.FEE:
        if value > MAX_PAYOUT_BPS:
            return _reject(item, f"the fee is at most {MAX_PAYOUT_BPS // 100}% of verified gain")
        return _TermClaim(item, f.FEE, {"kind": FEE_KIND, "bps": value})
    if form.term == f.FLOOR:
        return _stop_line(item, value, budget)
    if figure.kind == SHARE and budget is None:
        return _reject(item, "it is a share of a budget that the note does not name")
    return _amount(item, value, budget if figure.kind == SHARE else None)


def _amount(item: NoteItem, value: int, of: Usdc | None) -> _TermClaim:
    """An amount, or a share of a budget."""
    form = item.form
    if of is not None:
        value = of.share_down(value).micros if value <= BPS else 0
    if not 0 < value <= MAX_BUDGET:
        return _reject(item, "it is not above 0 and up to 1e12 USDC")
    amount = str(Usdc(value))
    if form.could:
        reason = "it does not say what it is a limit of"
        options = tuple(CouldBe(t, amount) for t in form.could)
        return _TermClaim(item, form.term, None, reason, options)
    if item.counts and (form.reads == "or count" or of is not None):
        return _reject(item, "it can mean an amount or something else, as how often", amount)
    return _TermClaim(item, form.term, amount)


def _reject(item: NoteItem, reason: str, *could_be: object) -> _TermClaim:
    term = item.form.term
    return _TermClaim(
        item, term, None, reason, tuple(CouldBe(term, v) for v in could_be or (None,))
    )


def _length(item: NoteItem, value: int) -> _TermClaim:
    many, part = divmod(value, MICROS)
    days = many * {"days": 1, "weeks": 7, "months": 30}[item.form.reads]
    if part or not 1 <= days <= MAX_HORIZON_DAYS:
        return _reject(item, f"it is not between 1 and {MAX_HORIZON_DAYS} days")
    if item.form.could:
        return _reject(item, "a month is no fixed number of days", days)
    return _TermClaim(item, f.DAYS, days)


def _stop_line(item: NoteItem, value: int, budget: Usdc | None) -> _TermClaim:
    """The loss that stops the mandate in basis points, rounded towards stopping earlier."""
    share = item.figure is not None and item.figure.kind == SHARE
    if not share and budget is None:
        return _reject(item, "it is an amount of a budget that the note does not name")
    base = BPS if share or budget is None else budget.micros
    lost_bps, left_bps = value * BPS // base, (base - value) * BPS // base
    if not 0 < value < base:
        return _reject(item, "it is not inside the budget")
    if item.form.reads == "lost" or (item.form.reads == "share" and value * 2 <= base):
        return _TermClaim(item, f.FLOOR, lost_bps)
    if item.form.reads == "left":
        return _TermClaim(item, f.FLOOR, left_bps)
    return _reject(
        item, "it can mean what is lost or what is left", *dict.fromkeys((lost_bps, left_bps))
    )
