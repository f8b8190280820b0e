"""What a statement comes to on a given budget: the value of a term, or why it has none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from domain.mandates.mandate import MAX_HORIZON_DAYS, MAX_PAYOUT_BPS
from domain.mandates.purpose import vocabulary as v
from domain.mandates.purpose.statements import Statement
from domain.money import BPS, Usdc

MAX_BUDGET: Final = 10**18
TARGET_MAX_BPS: Final = 1_000_000
FEE_KIND: Final = "share_of_verified_gain"
ALWAYS: Final = "0.000001"
TERM_OF: Final[Mapping[str, str]] = MappingProxyType({
    "budget": v.BUDGET, "budget_bare": v.BUDGET, "budget_or": v.BUDGET,
    "budget_of": v.BUDGET, "budget_cap": v.BUDGET, "tx": v.TX, "tx_share": v.TX, "tx_or": v.TX,
    "tx_each": v.TX, "tx_one": v.TX, "day": v.DAY, "day_share": v.DAY, "day_or": v.DAY,
    "lost": v.FLOOR, "lost_all": v.FLOOR,
    "half_lost": v.FLOOR, "left": v.FLOOR, "line": v.FLOOR, "stop_at": v.FLOOR, "close_there":
    v.ON_FLOOR, "close_then": v.ON_FLOOR, "keep_there": v.ON_FLOOR, "keep_then": v.ON_FLOOR,
    "fee": v.FEE, "no_fee": v.FEE, "ask": v.ASK, "ask_from": v.ASK, "ask_never": v.ASK,
    "ask_always": v.ASK, "span": v.DAYS, "week": v.DAYS, "fortnight": v.DAYS, "month": v.DAYS,
    "year": v.DAYS, "until": v.DAYS, "before": v.DAYS, "aim": v.AIM, "aim_money": v.AIM, "aim_to":
    v.AIM,
    "markets": v.MARKETS,
})  # fmt: skip
_FIXED: Final[Mapping[str, object]] = MappingProxyType({
    "lost_all": BPS, "half_lost": BPS // 2, "close_there": "close", "close_then": "close",
    "keep_there": "keep", "keep_then": "keep", "week": 7, "fortnight": 14, "month": 30, "year":
    365,
})  # fmt: skip
_MONEY_WORDS: Final = v.words(
    "spend spending cap caps limit limits budget allowance use invest total ceiling spends using"
    " capped limited costs spent"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a statement comes to on a given budget: a value, or why it has none and what it
    could be.
    """

    term: str
    value: Any = None
    why: str = ""
    could_be: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Basis:
    """What claims hang on: the budget, whether the note names it, whether it caps an action, why
    markets cannot be used, by id, and the days that the note names, or 0.
    """

    budget: Usdc
    named: bool
    caps_an_action: bool
    closed: Mapping[str, str]
    days: int = 0

    def claim(self, s: Statement) -> Claim:
        """The value of a statement."""
        term, action = TERM_OF[s.action], s.action
        if action in _FIXED:
            return Claim(term, _FIXED[action])
        if action == "ask_never":
            return Claim(term, None)
        if action == "ask_always":
            return Claim(
                term,
                None,
                "no amount stands for always: the smallest that can be asked above is 0.000001",
                (ALWAYS,),
            )
        if action == "no_fee":
            return Claim(term, _fee(0))
        if term == v.MARKETS:
            return self._on_markets(s)
        if s.figure is None or s.figure.value is None:
            return Claim(term, None, s.figure.why if s.figure else "it holds no figure", (None,))
        if action == "day" and s.figure.kind == "NUM" and not self._counts_money(s):
            return Claim(
                term, None, "it can mean an amount or how often", (str(Usdc(s.figure.value)),)
            )
        return self._of_figure(term, action, s.figure.kind, s.figure.value)

    def _counts_money(self, s: Statement) -> bool:
        """True where a mere number per day is an amount: it says so, stands beside a cap per
        action, or comes to the budget over the days: "100 USDC, ten days, ten a day".
        """
        said = set(s.text.lower().replace(":", " ").split())
        value = (s.figure.value if s.figure else None) or 0
        spread = self.named and value * self.days == self.budget.micros
        part = any(
            f" of {one} " in f" {s.text.lower()} " for one in ("it", "that", "this", "which")
        )
        return bool(said & _MONEY_WORDS) or part or self.caps_an_action or spread

    def _of_figure(self, term: str, action: str, kind: str, value: int) -> Claim:
        if term == v.DAYS:
            days = value - (action == "before")
            return (
                Claim(term, days)
                if 1 <= days <= MAX_HORIZON_DAYS
                else _no(term, f"it is not between 1 and {MAX_HORIZON_DAYS} days")
            )
        if term == v.FEE:
            return (
                Claim(term, _fee(value))
                if value <= MAX_PAYOUT_BPS
                else _no(term, f"the fee is at most {MAX_PAYOUT_BPS // 100}% of verified gain")
            )
        if term == v.FLOOR:
            return self._stop_line(action, kind, value)
        if term == v.AIM:
            return self._aim(action, value)
        if term in (v.TX, v.DAY) and kind == "PCT":
            if not self.named:
                return _no(term, "it is a share of a budget that the note does not name")
            value = self.budget.share_down(value).micros if value <= BPS else 0
        if action == "ask_from":
            value -= 1
        if not 0 < value <= MAX_BUDGET:
            return _no(term, "it is not above 0 and up to 1e12 USDC")
        return Claim(term, str(Usdc(value)))

    def _stop_line(self, action: str, kind: str, value: int) -> Claim:
        """The loss that stops the mandate, in basis points, rounded towards stopping earlier."""
        share = kind in ("PCT", "BPS")
        if not share and not self.named:
            return _no(v.FLOOR, "it is an amount of a budget that the note does not name")
        whole = BPS if share else self.budget.micros
        lost, left = value * BPS // whole, (whole - value) * BPS // whole
        if not 0 < value < whole and not (share and value == BPS and action == "lost"):
            return _no(v.FLOOR, "it is not inside the budget")
        if action == "lost":
            return Claim(v.FLOOR, lost)
        if action == "left":
            return Claim(v.FLOOR, left)
        # A line at most of the budget can only be what is left; below half of it, or as
        # a share, it may be what is lost.
        if action == "line" and not share and 2 * value > whole:
            return Claim(v.FLOOR, left)
        return Claim(
            v.FLOOR,
            None,
            "it can mean what is lost or what is left",
            tuple(dict.fromkeys((lost, left))),
        )

    def _aim(self, action: str, value: int) -> Claim:
        if action in ("aim_money", "aim_to"):
            if not self.named:
                return _no(v.AIM, "it is a gain on a budget that the note does not name")
            gain = value - self.budget.micros if action == "aim_to" else value
            value = gain * BPS // self.budget.micros
        return (
            Claim(v.AIM, value)
            if 0 < value <= TARGET_MAX_BPS
            else _no(v.AIM, "it is not between 0.01% and 100 times the budget")
        )

    def _on_markets(self, s: Statement) -> Claim:
        found = list(dict.fromkeys(s.figure.markets)) if s.figure else []
        shut = [f"{m} cannot be used: {self.closed[m]}" for m in found if m in self.closed]
        if shut or not found:
            return Claim(
                v.MARKETS,
                None,
                "; ".join(shut) or (s.figure.why if s.figure else "") or "it names no market",
                (found or None,),
            )
        return Claim(v.MARKETS, found)


def _fee(bps: int) -> dict[str, object]:
    return {"kind": FEE_KIND, "bps": bps}


def _no(term: str, why: str) -> Claim:
    return Claim(term, None, why, (None,))
