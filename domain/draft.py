"""The purpose-note parser: plain words into terms, by fixed patterns; what it is not sure of it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, Final

from domain.mandate import MAX_HORIZON_DAYS
from domain.money import BPS, Usdc
from domain.words import AMOUNT, Amount, amount_of, plain_words

NOTE_MAX: Final = 2_000
PRESET: Final[Mapping[str, Any]] = {
    "budget_usdc": "500.000000", "stop_floor_bps": 2000, "horizon_days": 30, "payout_bps": 1000, "approval_above_usdc": None,
    "on_floor": "keep", "target_bps": None,
}  # fmt: skip
ASK_ALWAYS: Final = "0.000001"


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


@dataclass(slots=True)
class _Reading:
    """The note as far as it was read; fragments that were understood are taken out of `rest`."""

    rest: str
    now: datetime
    understood: list[Understood] = field(default_factory=list)
    assumed: list[Assumed] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    amounts: dict[str, Amount] = field(default_factory=dict)

    def take(self, found: re.Match[str]) -> str:
        """Blank a fragment out, so that no other term reads it."""
        text = found.group(0).strip(" ,.;")
        self.rest = self.rest[: found.start()] + " " * (found.end() - found.start()) + self.rest[found.end() :]
        return text

    def know(self, term: str, value: Any, text: str) -> None:
        self.values[term] = value
        self.understood.append(Understood(term, value, text))

    def assume(self, term: str, value: Any, why: str) -> None:
        self.values[term] = value
        self.assumed.append(Assumed(term, value, why))


def parse_note(note: str, *, now: datetime, market_names: Mapping[str, str]) -> Draft:
    """Read a purpose note; total and deterministic.

    Shapes: `market_names` is market id to name. Amounts in the result are 6-decimal strings.
    Source: spec 4.1 (deterministic parser), contract 3 (Standard preset).
    """
    reading = _Reading(plain_words(note[:NOTE_MAX]), now)
    for step in (
        _markets(market_names), _foreign_money, _approval, _fee, _floor, _at_floor, _per_day, _per_action, _target_gain,
        _horizon, _budget,
    ):  # fmt: skip
        step(reading)
    return _settled(reading)


# -- one function a term -------------------------------------------------------------------------------------------


def _one(reading: _Reading, term: str, pattern: re.Pattern[str]) -> tuple[re.Match[str], bool] | None:
    """The first match and whether a later one contradicts it; all are taken out."""
    found = list(pattern.finditer(reading.rest))
    if not found:
        return None
    said = {tuple(g for g in f.groups() if g) for f in found}
    for match in reversed(found[1:]):
        reading.take(match)
    return found[0], len(said) > 1


def _markets(names: Mapping[str, str]) -> Callable[[_Reading], None]:
    def step(reading: _Reading) -> None:
        found = []
        for market_id, name in names.items():
            wanted = "|".join(re.escape(plain_words(w)) for w in sorted({name, market_id}, key=len, reverse=True))
            match = re.search(rf"(?<![\w-])(?:{wanted})(?![\w-])", reading.rest)
            if match:
                found.append((market_id, reading.take(match)))
        if found:
            reading.know("markets", [m for m, _ in found], "; ".join(t for _, t in found))

    return step


_FOREIGN: Final = re.compile(
    r"(?:[€£¥]\s*\d[\d,.]*\s*k?|\d[\d,.]*\s*k?\s*(?:€|£|¥|eur\b|euros?\b|gbp\b|pounds?\b|btc\b|eth\b|yen\b))"
)


def _foreign_money(reading: _Reading) -> None:
    found = _FOREIGN.search(reading.rest)
    if found:
        text = reading.take(found)
        reading.assumed.append(Assumed("budget_usdc", None, f'"{text}" is not USDC, and no rate is applied'))


_ASK_ALL: Final = re.compile(
    r"\b(?:ask (?:me )?(?:every time|always|for everything|before (?:every|each|any) (?:action|trade|purchase|spend|payment))|approve everything)\b"
)
_ASK_NEVER: Final = re.compile(
    r"\b(?:(?:never|don't|do not|no need to) ask(?: me)?|without asking(?: me)?|no approvals?(?: needed)?|on (?:its|your) own)\b"
)
_ASK: Final = re.compile(
    rf"\b(?:ask(?: me| first)*(?: before| for| about| when| if)?(?: anything| any \w+| it is| it's| you spend| spending)?|(?:my )?approval(?: is)?(?: needed| required)?(?: for)?(?: anything)?|approve anything|confirm(?: with me)?(?: anything)?)"
    rf"\s*(?:above|over|more than|beyond|exceeding|bigger than|larger than|greater than)\s*{AMOUNT}"
)


def _approval(reading: _Reading) -> None:
    asked = _one(reading, "approval_above_usdc", _ASK)
    if asked:
        match, clash = asked
        amount = amount_of(match)
        text = reading.take(match)
        if clash:
            reading.assume("approval_above_usdc", ASK_ALWAYS, "the note names two approval amounts, so the owner is always asked")
        elif amount.micros is None or amount.micros <= 0:
            reading.assume(
                "approval_above_usdc", ASK_ALWAYS, f'"{text}" is not an amount to ask above, so the owner is always asked'
            )
        else:
            reading.know("approval_above_usdc", str(Usdc(amount.micros)), text)
        return
    always, never = _ASK_ALL.search(reading.rest), _ASK_NEVER.search(reading.rest)
    if always:
        text = reading.take(always)
        reading.know("approval_above_usdc", ASK_ALWAYS, text)
    elif never:
        reading.know("approval_above_usdc", None, reading.take(never))


_PCT: Final = r"(\d{1,3}(?:\.\d{1,2})?)\s*(?:%|percent\b|per cent\b)"
_NO_FEE: Final = re.compile(r"\b(?:no|zero|without(?: any| a)?|0%) (?:agent )?(?:fee|fees|commission)\b")
_FEE: Final = re.compile(
    rf"(?:\b(?:fee|commission|cut|share)(?: is| of|:)?\s*{_PCT}|{_PCT}\s*(?:of (?:the |any |all |its |verified )*(?:profits?|gains?|winnings)|(?:performance )?(?:fee|commission)))"
)


def _bps(text: str) -> int:
    whole, _, part = text.partition(".")
    return int(whole) * 100 + int((part + "00")[:2])


def _fee(reading: _Reading) -> None:
    none = _NO_FEE.search(reading.rest)
    if none:
        reading.know("payout_bps", 0, reading.take(none))
        return
    told = _one(reading, "payout_bps", _FEE)
    if told is None:
        return
    match, clash = told
    bps = _bps(match.group(1) or match.group(2))
    text = reading.take(match)
    if clash:
        reading.assume("payout_bps", PRESET["payout_bps"], "the note names two fees")
    elif bps > 5000:
        reading.assume("payout_bps", PRESET["payout_bps"], f'"{text}" is above the highest fee, 50% of verified gain')
    else:
        reading.know("payout_bps", bps, text)


_LOSS: Final = (
    r"(?:(?:never|don't|do not|can't|cannot|must not|not) (?:lose|risk|drop|fall)(?: by)?(?: more than| over)?|stop (?:if|when|once|after|at)(?: it| you| we| the \w+)?(?: is| are)?(?: has| have)?"
    r"(?: lose| loses| lost| drop| drops| dropped| down| falls| fell| losing| a loss of)+(?: more than| by| over)?|max(?:imum)?(?: total)? (?:loss|drawdown)(?: of| is|:)?|stop[- ]?loss(?: at| of|:)?|risk (?:at most|no more than|up to))"
)
_KEEP: Final = (
    r"(?:keep (?:at least|a minimum of|no less than)|(?:never|don't|do not) (?:go|fall|drop|get) below|floor(?: of| at|:)?|(?:not|never) (?:below|under)|"
    r"stop (?:at|when it (?:reaches|hits)|if it (?:reaches|hits))|down to|no lower than|leave at least)"
)
_FLOOR: Final = re.compile(rf"\b(?:(?P<loss>{_LOSS})|(?P<keep>{_KEEP}))\s*(?:{_PCT}|{AMOUNT})")


def _floor(reading: _Reading) -> None:
    told = _one(reading, "stop_floor_bps", _FLOOR)
    if told is None:
        return
    match, clash = told
    percent, loss = match.group(3), match.group("loss") is not None
    amount = None if percent else amount_of(match)
    text = reading.take(match)
    if clash:
        reading.assume("stop_floor_bps", PRESET["stop_floor_bps"], "the note names two stop lines")
    elif percent is not None:
        bps = _bps(percent)
        lost = bps if loss else BPS - bps
        _stop_at(reading, lost, text)
    elif amount is None or amount.micros is None:
        reading.assume("stop_floor_bps", PRESET["stop_floor_bps"], f'"{text}" is not an amount')
    else:
        # An amount becomes a share of the budget once the budget is known.
        reading.amounts["loss" if loss else "keep"] = Amount(amount.micros, text)


def _stop_at(reading: _Reading, lost_bps: int, text: str) -> None:
    if 0 <= lost_bps <= BPS:
        reading.know("stop_floor_bps", lost_bps, text)
    else:
        reading.assume("stop_floor_bps", PRESET["stop_floor_bps"], f'"{text}" is not between 0 and 100% of the budget')


_CLOSE: Final = re.compile(
    r"\b(?:(?:then |and )?(?:close|sell|exit|liquidate|unwind) (?:everything|all(?: positions)?|out|the positions?)(?: then| there| at the (?:floor|stop line|stop))?)\b"
)
_STAY: Final = re.compile(
    r"\b(?:(?:just |then |and )*(?:keep|hold|leave) (?:the |all |open |my )*positions?(?: open)?(?: then| there| at the (?:floor|stop line|stop))?)\b"
)


def _at_floor(reading: _Reading) -> None:
    close, stay = _CLOSE.search(reading.rest), _STAY.search(reading.rest)
    if close and stay:
        reading.take(close)
        reading.assume("on_floor", "keep", "the note says both to close and to keep positions at the stop line")
    elif close:
        reading.know("on_floor", "close", reading.take(close))
    elif stay:
        reading.know("on_floor", "keep", reading.take(stay))


_EACH_DAY: Final = r"(?:per day|a day|each day|every day|daily|/\s?day|per-day|in a day|in one day)"
_DAY: Final = re.compile(
    rf"(?:(?:daily|per[- ]day) (?:cap|limit|max(?:imum)?|budget)(?: of| is|:)?\s*(?:{_PCT}|{AMOUNT})|(?:{_PCT}|{AMOUNT})(?: of (?:it|the budget))?\s*(?:at most |max(?:imum)? )?{_EACH_DAY})"
)
_EACH: Final = r"(?:per (?:action|trade|transaction|tx|purchase|order|payment|buy|move|call|swap|deposit)|(?:a|each|every) (?:action|trade|transaction|purchase|order|payment|time|buy|move|swap)|at a time|at once|in one go|/\s?(?:trade|tx|action))"
_ACTION: Final = re.compile(
    rf"(?:(?:per[- ](?:action|trade|tx|transaction|order)|single[- ](?:action|trade)|(?:action|trade|order|transaction)) (?:cap|limit|max(?:imum)?|size)(?: of| is|:)?\s*(?:{_PCT}|{AMOUNT})|(?:{_PCT}|{AMOUNT})(?: of (?:it|the budget))?\s*(?:at most |max(?:imum)? )?{_EACH})"
)


def _cap(reading: _Reading, term: str, pattern: re.Pattern[str], what: str) -> None:
    told = _one(reading, term, pattern)
    if told is None:
        return
    match, clash = told
    share = next((g for g in match.groups() if g), None)
    amount = None if share else amount_of(match)
    text = reading.take(match)
    if clash:
        reading.assumed.append(Assumed(term, None, f"the note names two caps {what}"))
    elif share is not None:
        reading.amounts[term + "%"] = Amount(_bps(share), text)
    elif amount is None or amount.micros is None or amount.micros <= 0:
        reading.assumed.append(Assumed(term, None, f'"{text}" is not a cap {what}'))
    else:
        reading.amounts[term] = Amount(amount.micros, text)


def _per_day(reading: _Reading) -> None:
    _cap(reading, "daily_cap_usdc", _DAY, "per day")


def _per_action(reading: _Reading) -> None:
    _cap(reading, "per_tx_cap_usdc", _ACTION, "per action")


_AIM: Final = re.compile(
    rf"\b(?:aim(?:ing)? (?:for|at)|target(?:ing)?(?: of)?|goal(?: of| is|:)?|make(?: me)?|earn(?: me)?|grow (?:it )?(?:by)?)\s*(?:about |around |at least |a gain of )?{_PCT}"
)


def _target_gain(reading: _Reading) -> None:
    told = _one(reading, "target_bps", _AIM)
    if told is None:
        return
    match, clash = told
    bps = _bps(match.group(1))
    text = reading.take(match)
    if clash or bps < 1:
        reading.assume("target_bps", None, "the note names two targets" if clash else f'"{text}" is no target')
    else:
        reading.know("target_bps", bps, text)


_UNITS: Final = {"hour": 0, "day": 1, "week": 7, "fortnight": 14, "month": 30, "quarter": 90, "year": 365}
_SPAN: Final = re.compile(
    r"\b(?:for |over |within |during |in |next |the next |lasting )*(?:the )?(?:next )?(\d{1,4}|an?|one|half a)[ -](day|week|fortnight|month|quarter|year)s?\b"
)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_UNTIL: Final = re.compile(
    r"\b(?:until|till|through|by|before|ending|ends?(?: on)?)\s+(?:the )?(?:(\d{4})-(\d{1,2})-(\d{1,2})|([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?|(\d{1,2})(?:st|nd|rd|th)?(?: of)? ([a-z]{3,9})\.?(?:,? (\d{4}))?)"
)


def _date(match: re.Match[str], now: datetime) -> date | None:
    """The day a note names; without a year the next such day."""
    y, m, d, name1, day1, year1, day2, name2, year2 = match.groups()
    try:
        if y:
            return date(int(y), int(m), int(d))
        month = _MONTHS.index((name1 or name2)[:3]) + 1
        day, year = int(day1 or day2), year1 or year2
        today = now.astimezone(UTC).date()
        named = date(int(year) if year else today.year, month, day)
        return named if year or named > today else date(today.year + 1, month, day)
    except ValueError:
        return None


def _horizon(reading: _Reading) -> None:
    until = next(
        (m for m in _UNTIL.finditer(reading.rest) if m.group(1) or (m.group(4) or m.group(8) or "")[:3] in _MONTHS), None
    )
    span = _SPAN.search(reading.rest)
    if until is not None:
        named = _date(until, reading.now)
        text = reading.take(until)
        if span is not None and (span := _SPAN.search(reading.rest)) is not None:
            reading.take(span)
            reading.assume("horizon_days", PRESET["horizon_days"], "the note names both an end date and a span")
            return
        # The named day itself is the last one: whole days from now to its end, rounded up.
        days = None if named is None else (named - reading.now.astimezone(UTC).date()).days
        _days(reading, days, text)
    elif span is not None:
        count = {"a": 1, "an": 1, "one": 1}.get(span.group(1))
        unit = _UNITS[span.group(2)]
        days = unit // 2 if span.group(1) == "half a" else (count or int(span.group(1))) * unit
        text = reading.take(span)
        again = _SPAN.search(reading.rest)
        if again is not None and again.group(1, 2) != span.group(1, 2):
            reading.take(again)
            reading.assume("horizon_days", PRESET["horizon_days"], "the note names two spans of time")
        else:
            _days(reading, days, text)


def _days(reading: _Reading, days: int | None, text: str) -> None:
    if days is None:
        reading.assume("horizon_days", PRESET["horizon_days"], f'"{text}" is not a date')
    elif not 1 <= days <= MAX_HORIZON_DAYS:
        reading.assume("horizon_days", PRESET["horizon_days"], f'"{text}" is not between 1 and {MAX_HORIZON_DAYS} days from now')
    else:
        reading.know("horizon_days", days, text)


_BUDGET: Final = re.compile(
    rf"(?:\b(?:budget|total|allowance|up to|at most|spend|invest|put|give|use|with|have|manage|fund)(?: of| is|:)?\s*(?:it |you |the agent |up to |at most |a total of |about |around )*)?{AMOUNT}"
)


def _budget(reading: _Reading) -> None:
    found = [m for m in _BUDGET.finditer(reading.rest) if amount_of(m).is_money]
    if not found:
        bare = [m for m in _BUDGET.finditer(reading.rest) if m.group(0)[:1].isalpha()]
        found = bare[:1] if len({amount_of(m).micros for m in bare}) == 1 else []
    if not found:
        reading.assume("budget_usdc", PRESET["budget_usdc"], "the note names no budget")
        return
    said = {amount_of(m).micros for m in found}
    amount = amount_of(found[0])
    text = found[0].group(0).strip(" ,.;")
    for match in reversed(found):
        reading.take(match)
    if len(said) > 1:
        reading.assume("budget_usdc", PRESET["budget_usdc"], "the note names two amounts that could be the budget")
    elif amount.micros is None or not 0 < amount.micros <= 10**18:
        reading.assume("budget_usdc", PRESET["budget_usdc"], f'"{text}" is not a budget above 0 and up to 1e12')
    else:
        reading.know("budget_usdc", str(Usdc(amount.micros)), text)


# -- put together --------------------------------------------------------------------------------------------------


def _settled(reading: _Reading) -> Draft:
    budget = Usdc.parse(reading.values["budget_usdc"])
    per_day = _limit(reading, "daily_cap_usdc", budget, 3000)
    per_tx = _limit(reading, "per_tx_cap_usdc", budget, 1000)
    per_day, per_tx = _ordered(reading, budget, per_day, per_tx)
    _floor_share(reading, budget)
    for term in ("stop_floor_bps", "horizon_days", "payout_bps", "approval_above_usdc", "on_floor", "target_bps"):
        if term not in reading.values:
            why = (
                "the note asks for no approval; the agent acts on its own"
                if term == "approval_above_usdc"
                else "the note does not say; the Standard preset"
            )
            reading.assume(term, PRESET[term], why)
    v = reading.values
    terms: dict[str, Any] = {
        "budget_usdc": str(budget), "per_tx_cap_usdc": str(per_tx), "daily_cap_usdc": str(per_day),
        "stop_floor_bps": v["stop_floor_bps"], "horizon_days": v["horizon_days"], "target_bps": v["target_bps"],
        "payout_rule": {"kind": "share_of_verified_gain", "bps": v["payout_bps"]},
        "approval_above_usdc": v["approval_above_usdc"], "on_floor": v["on_floor"],
    }  # fmt: skip
    if "markets" in v:
        terms["markets"] = v["markets"]
    else:
        reading.assume("allowed_targets", [{"kind": "vault"}, {"kind": "x402", "hosts": []}], "the note names no market")
    assumed = [
        a if a.value is not None or a.term not in terms else Assumed(a.term, terms[a.term], a.why) for a in reading.assumed
    ]
    return Draft(terms, tuple(reading.understood), tuple(assumed))


def _limit(reading: _Reading, term: str, budget: Usdc, preset_bps: int) -> Usdc | None:
    """The cap as stated, None where the preset is to be taken."""
    share, stated = reading.amounts.get(term + "%"), reading.amounts.get(term)
    if share is not None and share.micros is not None:
        value = budget.share_down(share.micros)
        if Usdc(0) < value <= budget:
            reading.know(term, str(value), share.text)
            return value
        reading.assumed.append(Assumed(term, None, f'"{share.text}" is not a share of the budget'))
        return None
    if stated is not None and stated.micros is not None:
        value = Usdc(stated.micros)
        if value <= budget:
            reading.know(term, str(value), stated.text)
            return value
        reading.assumed.append(Assumed(term, None, f'"{stated.text}" is above the budget'))
    return None


def _ordered(reading: _Reading, budget: Usdc, per_day: Usdc | None, per_tx: Usdc | None) -> tuple[Usdc, Usdc]:
    """(per day, per action) with 0 < per action <= per day <= budget; what contradicts itself is said."""
    if per_day is not None and per_tx is not None and per_tx > per_day:
        reading.understood = [u for u in reading.understood if u.term != "per_tx_cap_usdc"]
        reading.assumed.append(Assumed("per_tx_cap_usdc", None, "the note's cap per action is above its cap per day"))
        per_tx = None
    named = {a.term for a in reading.assumed}
    preset = "the note does not say; the Standard preset, kept inside the other caps"
    if per_day is None:
        per_day = max(budget.share_down(3000), per_tx or Usdc(1))
        if "daily_cap_usdc" not in named:
            reading.assumed.append(Assumed("daily_cap_usdc", str(per_day), preset))
    if per_tx is None:
        per_tx = min(max(budget.share_down(1000), Usdc(1)), per_day)
        if "per_tx_cap_usdc" not in named:
            reading.assumed.append(Assumed("per_tx_cap_usdc", str(per_tx), preset))
    return per_day, per_tx


def _floor_share(reading: _Reading, budget: Usdc) -> None:
    """An amount as stop line becomes a share of the budget, rounded towards stopping earlier."""
    if "stop_floor_bps" in reading.values:
        return
    loss, keep = reading.amounts.get("loss"), reading.amounts.get("keep")
    told = loss or keep
    if told is None or told.micros is None:
        return
    lost = told.micros if loss else budget.micros - told.micros
    if not 0 <= lost <= budget.micros:
        reading.assume("stop_floor_bps", PRESET["stop_floor_bps"], f'"{told.text}" is not inside the budget')
        return
    reading.know("stop_floor_bps", lost * BPS // budget.micros, told.text)
