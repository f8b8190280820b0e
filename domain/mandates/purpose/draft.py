"""A purpose note into terms: what is understood, what is assumed, what is unclear and what is about something else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from domain.mandates.mandate import MAX_HORIZON_DAYS
from domain.mandates.purpose import vocabulary as v
from domain.mandates.purpose.statements import Reading, Statement, Unread, read
from domain.money import BPS, Usdc

NOTE_MAX: Final = 2_000
MAX_BUDGET: Final = 10**18
MAX_FEE_BPS: Final = 5_000
TARGET_MAX_BPS: Final = 1_000_000
TX_BPS: Final = 1_000
DAY_BPS: Final = 3_000
FEE_KIND: Final = "share_of_verified_gain"
PRESET: Final[Mapping[str, Any]] = MappingProxyType({
    v.BUDGET: "500.000000", v.FLOOR: 2000, v.DAYS: 30, v.FEE: {"kind": FEE_KIND, "bps": 1000}, v.ASK: None, v.ON_FLOOR: "keep",
    v.AIM: None,
})  # fmt: skip
DEFAULT_MARKETS: Final = ({"kind": "vault"}, {"kind": "x402", "hosts": []})
SILENT: Final = "the note does not say"
ALWAYS: Final = "0.000001"
_TERM_OF: Final[Mapping[str, str]] = MappingProxyType({
    "budget": v.BUDGET, "budget_bare": v.BUDGET, "tx": v.TX, "tx_share": v.TX, "day": v.DAY, "day_share": v.DAY, "tx_or": v.TX, "day_or": v.DAY, "lost": v.FLOOR,
    "lost_all": v.FLOOR, "half_lost": v.FLOOR, "left": v.FLOOR, "line": v.FLOOR, "close_there": v.ON_FLOOR, "close_then": v.ON_FLOOR,
    "keep_there": v.ON_FLOOR, "keep_then": v.ON_FLOOR, "fee": v.FEE, "no_fee": v.FEE, "ask": v.ASK, "ask_from": v.ASK,
    "ask_never": v.ASK, "ask_always": v.ASK, "span": v.DAYS, "week": v.DAYS, "fortnight": v.DAYS, "month": v.DAYS, "year": v.DAYS,
    "until": v.DAYS, "before": v.DAYS, "aim": v.AIM, "aim_money": v.AIM, "markets": v.MARKETS,
})  # fmt: skip
_FIXED: Final[Mapping[str, Any]] = MappingProxyType({
    "lost_all": BPS, "half_lost": BPS // 2, "close_there": "close", "close_then": "close", "keep_there": "keep", "keep_then": "keep",
    "week": 7, "fortnight": 14, "month": 30, "year": 365,
})  # fmt: skip
_MONEY_WORDS: Final = frozenset(
    "spend spending cap caps limit limits budget allowance use invest total ceiling spends using capped limited costs spent".split()
)


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
    """What a note comes to: the fields of a create body, and an account of every clause with a figure in it."""

    terms: Mapping[str, Any]
    understood: tuple[Understood, ...]
    assumed: tuple[Assumed, ...]
    unclear: tuple[Unclear, ...]
    unrelated: tuple[str, ...]
    steps: int

    @property
    def needs_review(self) -> bool:
        """True where the owner has to say what was meant before anything is signed."""
        return bool(self.unclear)


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a statement comes to on a given budget: a value, or why it has none and what it could be."""

    term: str
    value: Any = None
    why: str = ""
    could_be: tuple[Any, ...] = ()
    known: bool = True


def parse_note(
    note: str,
    *,
    now: datetime,
    market_names: Mapping[str, str],
    closed: Mapping[str, str] = MappingProxyType({}),
) -> Draft:
    """Read a purpose note; total and deterministic.

    Shapes: `market_names` is market id to name, `closed` market id to why it cannot be used. What is beyond the first `NOTE_MAX`
    characters is not read, and then nothing is.
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
    """Statements on their way to terms: what contradicts or leans on something unsure falls back to the preset."""

    reading: Reading
    closed: Mapping[str, str]
    doubts: dict[str, str] = field(default_factory=dict)
    budget: Usdc = field(default_factory=lambda: Usdc.parse(PRESET[v.BUDGET]))
    named: bool = False
    claims: list[tuple[Statement, _Claim]] = field(default_factory=list)

    def draft(self) -> Draft:
        for one in self.reading.unread:
            for term in (*one.terms, *(_TERM_OF[p.action] for p in one.parts)):
                self.doubts.setdefault(term, f"“{_short(one.text)}” is unclear")
        # Each round only adds doubts, of which there are as many as terms.
        while True:
            self.measure()
            found = self.contradictions()
            if not found:
                break
            self.doubts.update(found)
        return self.told()

    def measure(self) -> None:
        """Every statement's claim, on the budget as far as that is sure."""
        budgets = {
            self.claim(s).value for s in self.reading.statements if _TERM_OF[s.action] == v.BUDGET
        }
        self.named = v.BUDGET not in self.doubts and len(budgets) == 1 and None not in budgets
        self.budget = Usdc.parse(next(iter(budgets)) if self.named else PRESET[v.BUDGET])
        self.claims = [(s, self.claim(s)) for s in self.reading.statements]

    def contradictions(self) -> dict[str, str]:
        """Terms, not in doubt before, whose statements do not go together, and why."""
        found: dict[str, str] = {}
        said: dict[str, list[Any]] = {}
        for statement, claim in self.claims:
            if claim.why:
                found[claim.term] = claim.why
            elif not (claim.term == v.MARKETS and " only" not in f" {statement.text.lower()}"):
                values = said.setdefault(claim.term, [])
                values.append(claim.value) if claim.value not in values else None
            if (
                claim.term == v.MARKETS
                and said.get(v.MARKETS)
                and any(c.value != claim.value for _, c in self.claims if c.term == v.MARKETS)
            ):
                found[v.MARKETS] = "the note names markets in two ways"
        found |= {
            term: "the note says two things about it"
            for term, values in said.items()
            if len(values) > 1
        }
        if not any(term not in self.doubts for term in found):
            found |= self.disorder()
        return {term: why for term, why in found.items() if term not in self.doubts}

    def disorder(self) -> dict[str, str]:
        """Caps that are not 0 < per action <= per day <= budget."""
        stated = {
            c.term: Usdc.parse(c.value)
            for _, c in self.claims
            if c.term in (v.TX, v.DAY) and c.value and c.term not in self.doubts
        }
        per_tx, per_day = stated.get(v.TX), stated.get(v.DAY)
        if per_tx is not None and per_day is not None and per_tx > per_day:
            return dict.fromkeys((v.TX, v.DAY), "the cap per action is above the cap per day")
        over = [term for term, amount in stated.items() if amount > self.budget]
        if not over:
            return {}
        why = (
            "it is above the budget"
            if self.named
            else f"it is above the budget that is assumed, {self.budget} USDC"
        )
        return dict.fromkeys([*over, v.BUDGET], why) if self.named else dict.fromkeys(over, why)

    # -- what a statement comes to

    def claim(self, s: Statement) -> _Claim:
        """The value of a statement."""
        term, action = _TERM_OF[s.action], s.action
        if action in _FIXED:
            return _Claim(term, _FIXED[action])
        if action == "ask_never":
            return _Claim(term, None)
        if action == "ask_always":
            return _Claim(
                term,
                None,
                "no amount stands for always: the smallest that can be asked above is 0.000001",
                (ALWAYS,),
            )
        if action == "no_fee":
            return _Claim(term, _fee(0))
        if term == v.MARKETS:
            return self.on_markets(s)
        if s.figure is None or s.figure.value is None:
            return _Claim(term, None, s.figure.why if s.figure else "it holds no figure", (None,))
        if action == "day" and s.figure.kind == "NUM" and not self.counts_money(s):
            return _Claim(
                term, None, "it can mean an amount or how often", (str(Usdc(s.figure.value)),)
            )
        return self.of_figure(term, action, s.figure.kind, s.figure.value)

    def counts_money(self, s: Statement) -> bool:
        """True where a mere number per day is an amount: it says so, or stands beside a cap per action."""
        said = set(s.text.lower().replace(":", " ").split())
        return bool(said & _MONEY_WORDS) or any(
            x.action in ("tx", "tx_share") for x in self.reading.statements
        )

    def of_figure(self, term: str, action: str, kind: str, value: int) -> _Claim:
        if term == v.DAYS:
            days = value - (action == "before")
            return (
                _Claim(term, days)
                if 1 <= days <= MAX_HORIZON_DAYS
                else _no(term, f"it is not between 1 and {MAX_HORIZON_DAYS} days")
            )
        if term == v.FEE:
            return (
                _Claim(term, _fee(value))
                if value <= MAX_FEE_BPS
                else _no(term, "the fee is at most 50% of verified gain")
            )
        if term == v.FLOOR:
            return self.stop_line(action, kind, value)
        if term == v.AIM:
            return self.aim(action, value)
        if action in ("tx_share", "day_share"):
            if not self.named:
                return _no(term, "it is a share of a budget that the note does not name")
            value = self.budget.share_down(value).micros if value <= BPS else 0
        if action == "ask_from":
            value -= 1
        if not 0 < value <= MAX_BUDGET:
            return _no(term, "it is not above 0 and up to 1e12 USDC")
        return _Claim(term, str(Usdc(value)))

    def stop_line(self, action: str, kind: str, value: int) -> _Claim:
        """The loss that stops the mandate, in basis points, rounded towards stopping earlier."""
        share = kind in ("PCT", "BPS")
        if not share and not self.named:
            return _no(v.FLOOR, "it is an amount of a budget that the note does not name")
        whole = BPS if share else self.budget.micros
        lost, left = value * BPS // whole, (whole - value) * BPS // whole
        if not 0 < value < whole and not (share and value == BPS and action == "lost"):
            return _no(v.FLOOR, "it is not inside the budget")
        if action == "lost":
            return _Claim(v.FLOOR, lost)
        if action == "left":
            return _Claim(v.FLOOR, left)
        # A line at most of the budget can only be what is left; below half of it, or as a share, it may be what is lost.
        if not share and 2 * value > whole:
            return _Claim(v.FLOOR, left)
        return _Claim(
            v.FLOOR,
            None,
            "it can mean what is lost or what is left",
            tuple(dict.fromkeys((lost, left))),
        )

    def aim(self, action: str, value: int) -> _Claim:
        if action == "aim_money":
            if not self.named:
                return _no(v.AIM, "it is a gain on a budget that the note does not name")
            value = value * BPS // self.budget.micros
        return (
            _Claim(v.AIM, value)
            if 0 < value <= TARGET_MAX_BPS
            else _no(v.AIM, "it is not between 0.01% and 100 times the budget")
        )

    def on_markets(self, s: Statement) -> _Claim:
        found = list(dict.fromkeys(s.figure.markets)) if s.figure else []
        shut = [f"{m} cannot be used: {self.closed[m]}" for m in found if m in self.closed]
        if shut or not found:
            return _Claim(
                v.MARKETS, None, "; ".join(shut) or "two markets have this name", (found or None,)
            )
        return _Claim(v.MARKETS, found)

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
        """What an unread clause may mean: what its parts would say alone, and the terms that its words speak of."""
        found = []
        for part in parts:
            claim = self.claim(part)
            found += [CouldBe(claim.term, value) for value in claim.could_be or (claim.value,)]
        named = {c.term for c in found}
        found += [CouldBe(term, None) for term in terms if term not in named]
        return tuple(c for at, c in enumerate(found) if c not in found[:at])

    def terms(self, stated: Sequence[Understood], assumed: list[Assumed]) -> dict[str, Any]:
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
        terms: dict[str, Any] = {v.BUDGET: str(budget), v.TX: str(per_tx), v.DAY: str(per_day)}
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


def _fee(bps: int) -> dict[str, Any]:
    return {"kind": FEE_KIND, "bps": bps}


def _no(term: str, why: str) -> _Claim:
    return _Claim(term, None, why, (None,))


def _short(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
