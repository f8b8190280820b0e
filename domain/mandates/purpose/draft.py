"""A purpose note into terms: what is understood, what is assumed, what is unclear and what is
about something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from domain.mandates.purpose import vocabulary as v
from domain.mandates.purpose.claims import FEE_KIND, TERM_OF, Basis, Claim
from domain.mandates.purpose.statements import Reading, Statement, Unread, read
from domain.money import Usdc

NOTE_MAX: Final = 2_000
TX_BPS: Final = 1_000
DAY_BPS: Final = 3_000
PRESET: Final[Mapping[str, object]] = MappingProxyType({
    v.BUDGET: "500.000000", v.FLOOR: 2000, v.DAYS: 30, v.FEE: {"kind": FEE_KIND, "bps": 1000},
    v.ASK: None, v.ON_FLOOR: "keep", v.AIM: None,
})  # fmt: skip
_ASSUMED: Final = Usdc.parse(PRESET[v.BUDGET])
_RESTATES: Final = frozenset({"budget_of"})
_AMOUNTS: Final = frozenset({v.BUDGET, v.TX, v.DAY})
DEFAULT_MARKETS: Final = ({"kind": "vault"}, {"kind": "x402", "hosts": []})
SILENT: Final = "the note does not say"


@dataclass(frozen=True, slots=True)
class Understood:
    """A term that a clause states; `text` is the clause's own words."""

    term: str
    value: Any
    text: str


@dataclass(frozen=True, slots=True)
class Assumed:
    """A term that the note does not state, or not clearly, and why it has its value."""

    term: str
    value: Any
    why: str


@dataclass(frozen=True, slots=True)
class CouldBe:
    """What an unclear clause may mean; `value` is None where no value can be told."""

    term: str
    value: Any


@dataclass(frozen=True, slots=True)
class Unclear:
    """A clause of which nothing was taken, and why."""

    text: str
    why: str
    could_be: tuple[CouldBe, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """What a note comes to: the fields of a create body, and an account of every clause with a
    figure in it.
    """

    terms: Mapping[str, object]
    understood: tuple[Understood, ...]
    assumed: tuple[Assumed, ...]
    unclear: tuple[Unclear, ...]
    unrelated: tuple[str, ...]
    steps: int

    @property
    def needs_review(self) -> bool:
        """True where the owner has to say what was meant before anything is signed."""
        return bool(self.unclear)


def parse_note(
    note: str,
    *,
    now: datetime,
    market_names: Mapping[str, str],
    closed: Mapping[str, str] = MappingProxyType({}),
) -> Draft:
    """Read a purpose note; total and deterministic.

    Shapes: `market_names` is market id to name, `closed` market id to why it cannot be used. What
    is beyond the first `NOTE_MAX` characters is not read, and then nothing is.
    Units: amounts in the result are 6-decimal strings.
    Source: spec 4.1 (deterministic parser), contract 3 (Standard preset, purpose notes).
    """
    if len(note) > NOTE_MAX:
        reading = Reading(
            unread=[Unread(note[:NOTE_MAX], f"the note is longer than {NOTE_MAX} characters", 0)]
        )
    else:
        reading = read(note, today=now.astimezone(UTC).date(), market_names=market_names)
    return _Settling(reading, closed).draft()


@dataclass(slots=True)
class _Settling:
    """Statements on their way to terms: what contradicts itself, or leans on something unsure,
    falls back to the preset.
    """

    reading: Reading
    closed: Mapping[str, str]
    doubts: dict[str, str] = field(default_factory=dict)
    basis: Basis = field(default_factory=lambda: Basis(_ASSUMED, False, False, {}))
    claims: list[tuple[Statement, Claim]] = field(default_factory=list)

    def draft(self) -> Draft:
        """The draft, once no claim is in doubt that was not before."""
        for one in self.reading.unread:
            for term in (*one.terms, *(TERM_OF[p.action] for p in one.parts)):
                self.doubts.setdefault(term, f"“{_short(one.text)}” is unclear")
        # Each round only adds doubts, of which there are as many as terms.
        while True:
            self.measure()
            found = self.contradictions()
            if not found:
                return self.told()
            self.doubts.update(found)

    def measure(self) -> None:
        """Every statement's claim, on the budget as far as that is sure."""
        said = self.reading.statements
        caps = any(TERM_OF[s.action] == v.TX for s in said)
        self.basis = Basis(_ASSUMED, False, caps, self.closed)
        budgets = {self.basis.claim(s).value for s in said if TERM_OF[s.action] == v.BUDGET}
        if v.BUDGET not in self.doubts and len(budgets) == 1 and None not in budgets:
            lengths = {self.basis.claim(s).value for s in said if TERM_OF[s.action] == v.DAYS}
            days = next(iter(lengths)) if len(lengths) == 1 and v.DAYS not in self.doubts else None
            self.basis = Basis(Usdc.parse(budgets.pop()), True, caps, self.closed, days or 0)
        self.claims = [(s, self.basis.claim(s)) for s in said]

    def contradictions(self) -> dict[str, str]:
        """Terms, not in doubt before, whose statements do not go together, and why."""
        found: dict[str, str] = {}
        first: dict[str, object] = {}
        only = any(" only" in f" {s.text.lower()}" for s, c in self.claims if c.term == v.MARKETS)
        for statement, claim in sorted(self.claims, key=lambda c: c[0].action in _RESTATES):
            # Said twice, an amount may be one for each of two things; "of the 500" is not.
            again = claim.term in first and claim.term in _AMOUNTS
            again = again and statement.action not in _RESTATES
            same = first.setdefault(claim.term, claim.value) == claim.value and not again
            if claim.why:
                found[claim.term] = claim.why
            elif not same and (claim.term != v.MARKETS or only):
                found.setdefault(claim.term, "the note speaks of it twice")
        new = {term: why for term, why in found.items() if term not in self.doubts}
        return new or self.disorder()

    def disorder(self) -> dict[str, str]:
        """Caps that are not 0 < per action <= per day <= budget, where they are not in doubt."""
        caps = {c.term: c.value for _, c in self.claims if c.term in (v.TX, v.DAY)}
        stated = {t: Usdc.parse(value) for t, value in caps.items() if t not in self.doubts}
        if len(stated) == 2 and stated[v.TX] > stated[v.DAY]:
            return dict.fromkeys(stated, "the cap per action is above the cap per day")
        over = [term for term, amount in stated.items() if amount > self.basis.budget]
        if over and self.basis.named:
            return dict.fromkeys([*over, v.BUDGET], "a cap is above the budget")
        why = f"it is above the budget that is assumed, {self.basis.budget} USDC"
        return dict.fromkeys(over, why)

    # -- the answer

    def told(self) -> Draft:
        understood: list[tuple[int, Understood]] = []
        unclear = [
            (u.start, Unclear(u.text, u.why, self.could(u.terms, u.parts)))
            for u in self.reading.unread
        ]
        for statement, claim in self.claims:
            why = claim.why or self.doubts.get(claim.term, "")
            if why:
                could = tuple(
                    CouldBe(claim.term, value) for value in claim.could_be or (claim.value,)
                )
                unclear.append((statement.start, Unclear(statement.text, why, could)))
            else:
                understood.append(
                    (statement.start, Understood(claim.term, claim.value, statement.text))
                )
        stated = [u for _, u in sorted(understood, key=lambda x: x[0])]
        assumed: list[Assumed] = []
        terms = self.terms(stated, assumed)
        told = tuple(u for _, u in sorted(unclear, key=lambda x: x[0]))
        return Draft(
            terms,
            tuple(stated),
            tuple(assumed),
            told,
            tuple(s.text for s in self.reading.unrelated),
            self.reading.steps,
        )

    def could(self, terms: Iterable[str], parts: Sequence[Statement]) -> tuple[CouldBe, ...]:
        """What an unread clause may mean: what its parts would say alone, and the terms that
        its words speak of.
        """
        found = []
        for part in parts:
            claim = self.basis.claim(part)
            found += [CouldBe(claim.term, value) for value in claim.could_be or (claim.value,)]
        named = {c.term for c in found}
        found += [CouldBe(term, None) for term in terms if term not in named]
        return tuple(c for at, c in enumerate(found) if c not in found[:at])

    def terms(self, stated: Sequence[Understood], assumed: list[Assumed]) -> dict[str, object]:
        """The fields of the create body; what is not stated is assumed, with the reason."""
        values = {u.term: u.value for u in stated if u.term != v.MARKETS}

        def term(name: str, preset: Any, silent: str = "; the Standard preset") -> Any:
            if name in values:
                return values[name]
            assumed.append(
                Assumed(
                    name,
                    preset,
                    f"{self.doubts[name]}; the Standard preset"
                    if name in self.doubts
                    else SILENT + silent,
                )
            )
            return preset

        budget = Usdc.parse(term(v.BUDGET, PRESET[v.BUDGET]))
        inside = "; the Standard preset, kept inside the other caps"
        per_tx = Usdc.parse(values[v.TX]) if v.TX in values else None
        least = per_tx or Usdc(1)
        per_day = Usdc.parse(
            term(v.DAY, str(min(budget, max(budget.share_down(DAY_BPS), least))), inside)
        )
        per_tx = Usdc.parse(
            term(v.TX, str(min(max(budget.share_down(TX_BPS), Usdc(1)), per_day)), inside)
        )
        terms: dict[str, object] = {v.BUDGET: str(budget), v.TX: str(per_tx), v.DAY: str(per_day)}
        for name in (v.FLOOR, v.DAYS, v.AIM, v.FEE, v.ON_FLOOR):
            terms[name] = term(name, PRESET[name])
        terms[v.ASK] = term(v.ASK, PRESET[v.ASK], "; the agent acts on its own")
        markets = list(dict.fromkeys(m for u in stated if u.term == v.MARKETS for m in u.value))
        if markets:
            terms[v.MARKETS] = markets
        else:
            why = self.doubts.get(v.MARKETS, SILENT)
            assumed.append(
                Assumed("allowed_targets", list(DEFAULT_MARKETS), f"{why}; the default targets")
            )
        return terms


def _short(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
