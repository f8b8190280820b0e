"""The purpose-note parser: plain words into terms, by fixed patterns; what it is not sure of it
says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from domain.mandates.purpose.statements import NEVER, NOT_ALWAYS, Said, statements
from domain.money import BPS, Usdc

NOTE_MAX: Final = 2_000


TX_BPS: Final = 1_000


DAY_BPS: Final = 3_000


PRESET: Final[Mapping[str, Any]] = {
    "budget_usdc": "500.000000", "stop_floor_bps": 2000, "horizon_days": 30,
    "payout_rule": {"kind": "share_of_verified_gain", "bps": 1000}, "approval_above_usdc": None, "on_floor": "keep",
    "target_bps": None,
}  # fmt: skip


TARGET_MAX_BPS: Final = 1_000_000


ASK_ALWAYS: Final = "0.000001"


SILENT: Final = "the note does not say"


@dataclass(frozen=True, slots=True)
class Understood:
    """A term that the note states; `text` is the fragment that states it."""

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
class Draft:
    """What a note comes to: the fields of a create body."""

    terms: Mapping[str, Any]
    understood: tuple[Understood, ...]
    assumed: tuple[Assumed, ...]


def parse_note(
    note: str,
    *,
    now: datetime,
    market_names: Mapping[str, str],
    closed: Mapping[str, str] = MappingProxyType({}),
) -> Draft:
    """Read a purpose note; total and deterministic.

    Shapes: `market_names` is market id to name, `closed` market id to why it cannot be used.
    Units: amounts in the result are 6-decimal strings.
    Source: spec 4.1 (deterministic parser), contract 3 (Standard preset).
    """
    reading = statements(note[:NOTE_MAX], now=now, market_names=market_names, closed=closed)
    settling = _Settling(reading.said, reading.left_over)
    if len(note) > NOTE_MAX:
        settling.assume("purpose", None, f"only the first {NOTE_MAX} characters are read")
    return settling.draft()


@dataclass(slots=True)
class _Settling:
    """What was said, on its way to terms: each term is understood, or assumed with its reason."""

    said: Mapping[str, list[Said]]
    left_over: list[str]
    understood: list[Understood] = field(default_factory=list)
    assumed: list[Assumed] = field(default_factory=list)

    def draft(self) -> Draft:
        budget = Usdc.parse(self.term("budget_usdc", lambda v: str(Usdc(v))))
        named = any(u.term == "budget_usdc" for u in self.understood)
        measured = _Settling(
            _measured(self.said, budget, named), self.left_over, self.understood, self.assumed
        )
        return measured.on(budget)

    def on(self, budget: Usdc) -> Draft:
        """The draft, once the budget stands and nothing is a share of it any more."""
        per_day, per_tx = self.caps(budget)
        terms: dict[str, Any] = {
            "budget_usdc": str(budget), "per_tx_cap_usdc": str(per_tx), "daily_cap_usdc": str(per_day),
            "stop_floor_bps": self.term("stop_floor_bps", int),
            "horizon_days": self.term("horizon_days", int),
            "target_bps": self.term("target_bps", int),
            "payout_rule": self.term("payout_rule", lambda v: {"kind": "share_of_verified_gain", "bps": v}),
            "approval_above_usdc": self.approval(),
            "on_floor": self.term("on_floor", str),
        }  # fmt: skip
        markets = self.markets()
        if markets:
            terms["markets"] = markets
        else:
            why = (
                f"{SILENT} what to use instead"
                if self.said.get("markets")
                else f"{SILENT}: it names no market"
            )
            self.assume("allowed_targets", [{"kind": "vault"}, {"kind": "x402", "hosts": []}], why)
        if self.left_over:
            listed = ", ".join(f'"{t}"' for t in self.left_over[:5]) + (
                " and more" if len(self.left_over) > 5 else ""
            )
            self.assume("purpose", None, f"not read as any term: {listed}")
        return Draft(terms, tuple(self.understood), tuple(self.assumed))

    def know(self, term: str, value: Any, text: str) -> None:
        self.understood.append(Understood(term, value, text))

    def assume(self, term: str, value: Any, why: str) -> None:
        self.assumed.append(Assumed(term, value, why))

    def term(self, term: str, make: Callable[[Any], Any]) -> Any:
        """One value of a term: as stated, or the preset with the reason."""
        said = self.said.get(term, [])
        why = _doubt(said) if said else f"{SILENT}; the Standard preset"
        if why:
            self.assume(term, PRESET[term], why)
            return PRESET[term]
        value = make(said[0].value)
        self.know(term, value, said[0].text)
        return value

    def approval(self) -> str | None:
        """When to ask: in doubt always, but where the note only says that always is too much."""
        term, said = "approval_above_usdc", self.said.get("approval_above_usdc", [])
        if not said:
            self.assume(term, None, f"{SILENT}; the agent acts on its own")
            return None
        why = _doubt(said)
        if why and all(s.value == NOT_ALWAYS for s in said):
            self.assume(term, None, why)
            return None
        if why:
            self.assume(term, ASK_ALWAYS, f"{why}, so the owner is always asked")
            return ASK_ALWAYS
        value = None if said[0].value == NEVER else str(Usdc(said[0].value))
        self.know(term, value, said[0].text)
        return value

    def caps(self, budget: Usdc) -> tuple[Usdc, Usdc]:
        """(per day, per action) with 0 < per action <= per day <= budget; what contradicts itself
        is said.
        """
        per_day, no_day = self.cap("daily_cap_usdc", budget)
        per_tx, no_tx = self.cap("per_tx_cap_usdc", budget)
        if per_day is not None and per_tx is not None and per_tx > per_day:
            per_tx, no_tx = None, "the note's cap per action is above its cap per day"
        preset = f"{SILENT}; the Standard preset, kept inside the other caps"
        if per_day is not None:
            self.know("daily_cap_usdc", str(per_day), self.said["daily_cap_usdc"][0].text)
        else:
            per_day = min(budget, max(budget.share_down(DAY_BPS), per_tx or Usdc(1)))
            self.assume("daily_cap_usdc", str(per_day), no_day or preset)
        if per_tx is not None:
            self.know("per_tx_cap_usdc", str(per_tx), self.said["per_tx_cap_usdc"][0].text)
        else:
            per_tx = min(max(budget.share_down(TX_BPS), Usdc(1)), per_day)
            self.assume("per_tx_cap_usdc", str(per_tx), no_tx or preset)
        return per_day, per_tx

    def cap(self, term: str, budget: Usdc) -> tuple[Usdc | None, str]:
        """(the cap as stated, why it is not taken as it stands)."""
        said = self.said.get(term, [])
        why = _doubt(said)
        if said and not why and said[0].value > budget.micros:
            why = f'"{said[0].text}" is above the budget'
        return (None, why) if why or not said else (Usdc(said[0].value), "")

    def markets(self) -> list[str]:
        said = self.said.get("markets", [])
        out = [s for s in said if s.why]
        wanted = [s for s in said if not s.why and s.value not in {o.value for o in out}]
        found = list(dict.fromkeys(s.value for s in wanted))
        if found:
            self.know("markets", found, "; ".join(dict.fromkeys(s.text for s in wanted)))
        if out:
            self.assume("markets", found, "; ".join(s.why for s in out))
        return found


def _doubt(said: Sequence[Said]) -> str:
    """Why these statements do not give one value; empty where they do."""
    why = next((s.why for s in said if s.why), "")
    if not why and len({repr(s.value) for s in said}) > 1:
        texts = list(dict.fromkeys(s.text for s in said))
        return "the note says " + " and ".join(f'"{t}"' for t in texts[:3])
    return why


def _measured(said: Mapping[str, list[Said]], budget: Usdc, named: bool) -> dict[str, list[Said]]:
    """Every share as an amount, and the stop line's and the target's amount as a share; all of
    them hang on the budget.
    """
    unsure = (
        "" if named else f"it is measured on a budget that the note does not name, {budget} USDC"
    )
    return {
        term: [_on_budget(term, one, budget, unsure) for one in told] for term, told in said.items()
    }


def _on_budget(term: str, said: Said, budget: Usdc, unsure: str) -> Said:
    if term == "target_bps" and said.value is not None:
        aim = max(1, said.value * BPS // budget.micros) if said.measured else said.value
        why = (
            ""
            if aim <= TARGET_MAX_BPS
            else f'"{said.text}" is above the largest target, 100 times the budget'
        )
        return Said(said.text, aim, said.why or why or (unsure if said.measured else ""))
    if not said.measured:
        return said
    if term == "stop_floor_bps":
        side, amount = said.value
        lost = amount if side == "lost" else budget.micros - amount
        why = "" if 0 <= lost <= budget.micros else f'"{said.text}" is not inside the budget'
        # Rounded towards stopping earlier.
        return Said(said.text, lost * BPS // budget.micros, why or unsure)
    value = budget.share_down(said.value).micros
    why = "" if 0 < value <= budget.micros else f'"{said.text}" is not a share of the budget'
    return Said(said.text, max(1, value - said.less_micros), why or unsure)
