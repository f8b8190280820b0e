"""Who says what in a purpose note: fixed patterns, a function a term; what a statement comes to is
decided in `domain.draft`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from domain.mandates.mandate import MAX_HORIZON_DAYS
from domain.mandates.purpose.words import Quantity, Words, mark_figures, words_of
from domain.money import BPS

MAX_FEE_BPS: Final = 5_000


MAX_BUDGET: Final = 10**18


NEVER: Final = "never"


NOT_ALWAYS: Final = "not always"


@dataclass(frozen=True, slots=True)
class Said:
    """One statement of a term: its value, or the reason why it gives none.

    `measured` where the value hangs on the budget; `less_micros` comes off the amount that it
    comes to.
    """

    text: str
    value: Any = None
    why: str = ""
    measured: bool = False
    less_micros: int = 0


@dataclass(slots=True)
class Reading:
    """The note as far as it was read; what was taken no other term reads."""

    words: Words
    said: dict[str, list[Said]] = field(default_factory=dict)
    left_over: list[str] = field(default_factory=list)

    def state(self, term: str, said: Said) -> None:
        """Add a statement of a term."""
        self.said.setdefault(term, []).append(said)

    def each(self, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str]]:
        """Every match with the note's own words for it; each is taken."""
        for found in list(pattern.finditer(self.words.plain)):
            yield found, self.words.said(*found.span())
            self.words.blank(*found.span())

    def figure(self, mark: str) -> Quantity:
        """The figure behind its mark."""
        return self.words.figures[int(re.sub(r"\D", "", mark))]


def statements(
    note: str, *, now: datetime, market_names: Mapping[str, str], closed: Mapping[str, str]
) -> Reading:
    """Everything the note says, by term. Shapes: `market_names` is market id to name, `closed`
    market id to the reason.
    """
    reading = Reading(words_of(note))
    _markets(reading, market_names, closed)
    mark_figures(reading.words, now)
    for step in (
        _asking,
        _fee,
        _floor,
        _at_floor,
        _aim,
        _caps,
        _horizon,
        _budget,
        _unread,
        _left_over,
    ):
        step(reading)
    return reading


# -- one function a term: who says what
# ----------------------------------------------------------------------------

_NOT: Final = re.compile(
    r"\b(?:not|no|never|avoid|avoiding|except|without|excluding|nothing in|away from|n't)(?: \w+){0,2} $"
)


def _markets(reading: Reading, names: Mapping[str, str], closed: Mapping[str, str]) -> None:
    wanted = {
        words_of(w).plain: market
        for market, name in names.items()
        for w in (market, name)
        if w.strip()
    }
    if not wanted:
        return
    listed = "|".join(re.escape(w) for w in sorted(wanted, key=len, reverse=True))
    for found, text in reading.each(re.compile(rf"(?<![\w-])(?:{listed})(?![\w-])")):
        before = re.split(r"[.;!?]|, (?!but)", reading.words.plain[: found.start()])[-1]
        ruled_out = _NOT.search(before) is not None
        market = wanted[found.group(0)]
        why = (
            f'"{text}" is ruled out'
            if ruled_out
            else f'"{text}" cannot be used: {closed[market]}'
            if market in closed
            else ""
        )
        reading.state("markets", Said(text, market, why))


_M: Final = r"⟦m\d+⟧"


_MP: Final = r"⟦[mp]\d+⟧"


_PERIOD: Final = (
    r"(?:\s?(?:a|per|each|every|/)\s?(?:hour|day|week|month|quarter|year)|\s?(?:daily|weekly|monthly|yearly|annually|annualized|p\.a\."
    r"|apy|apr)| (?:in|over|within|during) ⟦s\d+⟧| ⟦s\d+⟧)"
)


_ABOVE: Final = r"(?:above|over|more than|beyond|exceeding|exceeds|bigger than|larger than|greater than|higher than|from):?"


_ASK_WORDS: Final = r"(?:ask|check with|confirm with|consult|get (?:my|an) (?:ok|okay|approval)|my (?:ok|okay|approval)|approval|approve|confirm)"


_ASK: Final = re.compile(
    rf"\b{_ASK_WORDS}(?: (?:me|us|first|again|before|for|about|when|if|on|is|are|needed|required|anything|everything|any|a|all|the|it"
    rf"|its?|you|spend|spending|spends|trades?|purchases?|payments?|actions?|amounts?|moves?|costs?|with|goes|going))* {_ABOVE} (?P<q>{_MP})"
    r"(?P<up>,? (?:up|upwards|on|onwards|and (?:up|above|more)))?"
    rf"|\b(?:anything|everything|any \w+|trades?|purchases?|actions?|payments?|amounts?|spends?)(?: that (?:is|are|costs?))? {_ABOVE} (?P<q2>{_MP})"
    r",? (?:(?:needs?|requires?|wants?) (?:my |an )?(?:ok|okay|approval|confirmation|sign-?off)|(?:must|has to|have to) be approved)"
    rf"|\bif (?:an?|any|the|one|it) ?(?:\w+ )??(?:is|costs|goes|spends)? ?{_ABOVE} (?P<q3>{_MP}),? (?:then )?(?:please )?(?:ask|check with|confirm with) (?:me|us)"
    rf"|\b(?:approval|asking) (?:threshold|amount|limit|line)(?: (?:is|of|at))*:? (?P<q6>{_MP})"
    rf"|\bno (?:approval|confirmation|permission)s?(?: is| are)?(?: needed| required)? (?:under|below|up to|until) (?P<q4>{_MP})"
    rf"|\b(?:don't|do not|no need to) ask(?: me)?(?: for anything)? (?:under|below|up to) (?P<q5>{_MP})"
)


_ASK_SOMETIMES: Final = re.compile(
    r"\b(?:don't|do not|no need to|needn't) (?:\w+ )?ask (?:me )?(?:every time|always|for everything|each time)"
)


_ASK_ALL: Final = re.compile(
    r"\b(?:(?:ask|check with|confirm with) (?:me |us )?(?:first )?(?:every time|each time|always|for everything|about everything|before (?:every|each|any|anything|you \w+)(?: \w+)?)"
    r"|always (?:ask|check with|confirm with)(?: me| us)?(?: first)?|approve everything|approve (?:every|each|all)(?: \w+)?)"
)


_ASK_NEVER: Final = re.compile(
    r"\b(?:(?:never|don't|do not|no need to|needn't) (?:ask|bother)(?: me)?(?: for anything)?|without (?:ever )?asking(?: me)?"
    r"|no (?:approvals?|confirmations?)(?: is| are)?(?: needed| required)?|(?:act|trade|decide|work|go) on (?:its|your) own)\b"
)


_ASK_UNCLEAR: Final = re.compile(
    rf"\b{_ASK_WORDS}(?: \w+){{0,4}} {_ABOVE}? ?(?:a |an )?(?P<q>{_MP})"
)


def _asking(reading: Reading) -> None:
    for _, text in reading.each(_ASK_SOMETIMES):
        reading.state(
            "approval_above_usdc", Said(text, NOT_ALWAYS, f'"{text}" leaves open when to ask')
        )
    for found, text in reading.each(_ASK):
        mark = next(found[name] for name in ("q", "q2", "q3", "q4", "q5", "q6") if found[name])
        less = 1 if found["up"] else 0
        reading.state("approval_above_usdc", _amount(reading.figure(mark), text, less=less))
    for _, text in reading.each(_ASK_ALL):
        reading.state("approval_above_usdc", Said(text, 1))
    for _, text in reading.each(_ASK_NEVER):
        reading.state("approval_above_usdc", Said(text, NEVER))
    for _, text in reading.each(_ASK_UNCLEAR):
        reading.state(
            "approval_above_usdc", Said(text, None, f'"{text}" is not an amount to ask above')
        )


def _amount(figure: Quantity, text: str, *, less: int = 0) -> Said:
    """A positive amount, or a share of the budget, as a statement."""
    if figure.value is None:
        return Said(text, None, figure.why)
    if figure.value <= 0:
        return Said(text, None, f'"{text}": the figure is not above 0')
    if figure.kind == "part":
        return Said(text, figure.value, measured=True, less_micros=less)
    # An amount of nothing asks for nothing: the least there is stands for "always".
    return Said(text, max(1, figure.value - less))


_GAIN: Final = r"(?:profits?|gains?|winnings|upside|earnings)"


_NO_GAIN: Final = r"(?:loss(?:es)?|turnover|volume|trades?|deposits?|capital|principal)\b"


_FEE: Final = re.compile(
    rf"\b(?P<none>(?:no|zero|without(?: any| an?)?) (?:agent |performance )?(?:fees?|commissions?)|(?:fees?|commission)(?: is)?:? (?:none|nothing|nil|free))\b"
    rf"|\b(?:fees?|commission|cut|your share|the agent's share)(?: (?:is|of|at|up to))*:? (?P<q>{_MP})(?: of (?:\w+ ){{0,2}}{_GAIN})?"
    rf"|(?:\b(?:keep|get|take|earn|receive)s? )?(?P<q2>{_MP}) of (?:(?:the|any|all|your|my|its|our|verified|net) )*{_GAIN}\b"
    rf"|(?P<q3>{_MP})(?: (?:performance|success|agent|profit))? (?:fee|commission|cut)\b(?! (?:on|of|from) (?:\w+ )?{_NO_GAIN})"
    rf"|(?P<odd>{_MP} (?:fee|commission|cut|share)s? (?:on|of|from) (?:\w+ )?{_NO_GAIN}|{_MP} (?:management|flat|monthly|annual|fixed|entry|exit)(?: \w+)? fee|\bsplit (?:the |any |all )?{_GAIN}[^.;!?]*)"
)


def _fee(reading: Reading) -> None:
    for found, text in reading.each(_FEE):
        mark = found["q"] or found["q2"] or found["q3"]
        figure = reading.figure(mark) if mark else None
        if found["none"]:
            reading.state("payout_rule", Said(text, 0))
        elif figure is None or figure.kind != "part" or figure.value is None:
            reading.state(
                "payout_rule", Said(text, None, f'"{text}" is not one share of verified gain')
            )
        elif not 0 <= figure.value <= MAX_FEE_BPS:
            reading.state(
                "payout_rule",
                Said(text, None, f'"{text}" is not between 0 and 50% of verified gain'),
            )
        else:
            reading.state("payout_rule", Said(text, figure.value))


_NEVER: Final = r"(?:never|don't|do not|can't|cannot|must not|may not|mustn't|won't|shouldn't|not)"


_BY: Final = r"(?: (?:more than|by|over|another|about|above|up to|at most))*"


_FLOOR: Final = re.compile(
    rf"\b{_NEVER} (?:\w+ )?(?:lose|risk losing|drop|fall){_BY} (?P<loss>{_MP})(?P<period>{_PERIOD})?"
    rf"|\b{_NEVER} risk{_BY} (?P<loss2>{_MP})(?! ?(?:per|a|each|every|/) ?\w)"
    rf"|\brisk (?:at most|no more than|up to) (?P<loss3>{_MP})(?! ?(?:(?:per|a|an|each|every|in one|/|at) ?\w|of each))"
    rf"|\b(?:stop|halt|quit)(?: (?:it|everything|trading|all))? (?:if|when|once|after|at)(?: (?:it|you|we|i|this|that|they|the \w+))?(?: (?:is|are|has|have|goes|go))?"
    rf"(?: (?:lose|loses|lost|losing|drop|drops|dropped|down|falls?|fell|fallen|a (?:loss|drop|drawdown) of))+(?P<to> (?:to|below|under))?{_BY} (?P<stop>{_MP})(?P<period2>{_PERIOD})?"
    rf"|\b(?:stop|halt|quit) at(?: an?)? (?P<loss4>{_MP}) (?:loss|drawdown|down|below)\b"
    rf"|\b(?:max(?:imum|imal)?|largest|highest|total)\.?(?: (?:total|overall|allowed))* (?:loss|drawdown)(?: (?:of|is|at))*:? (?P<loss5>{_MP})(?P<period3>{_PERIOD})?"
    rf"|\bstop[ -]?loss(?: (?:at|of|is))*:? (?P<loss6>{_MP})"
    rf"|\b(?:lose|losing) (?:no more than|not more than|at most|up to|max(?:imum)?) (?P<loss7>{_MP})(?P<period4>{_PERIOD})?"
    rf"|\b(?:loss|drawdown) (?:limit|cap|max(?:imum)?)(?: (?:of|is|at))*:? (?P<loss8>{_MP})|(?P<loss9>{_MP}) (?:max(?:imum)? )?(?:stop[ -]?loss|loss limit|drawdown|loss)\b"
    rf"|\bif (?:we|it|you|i|they|losses|the \w+)(?:'re| are| is)? (?:reach|hit|down|lose|lost|at)(?:e?s)?{_BY} (?P<loss10>{_MP}),? (?:(?:then|just|please) )*(?:stop|halt|quit)\b"
    rf"|\b(?:keep|leave|hold|put) (?P<keep5>{_MP}) (?:in reserve|aside|untouched|back)\b"
    rf"|\b(?:keep|leave|preserve|retain)(?: me)? (?:at least|a minimum of|no less than|not less than|min(?:imum)?) (?P<keep>{_MP})(?: of (?:the|my|it)(?: \w+)?)?"
    rf"|\b{_NEVER} (?:go|fall|drop|get|sink|be) (?:below|under|lower than) (?P<keep2>{_MP})"
    rf"|\b(?:down to|no lower than|floor(?: (?:of|at|is))*:?|stop line(?: (?:of|at|is))*:?) (?P<keep3>{_MP})"
    rf"|\b(?:stop|halt|quit) (?:at|below|when it (?:reaches|hits)|if it (?:reaches|hits|goes below|is below|gets to)) (?P<keep4>{_MP})(?P<whole> of (?:the|my|its?|your)(?: \w+)?)?"
    r"|\b(?P<none>no (?:stop[ -]line|floor|stop[ -]loss|loss limit)|(?:may|can|could) lose (?:it all|everything|all of it|the whole \w+))\b"
)


def _floor(reading: Reading) -> None:
    for found, text in reading.each(_FLOOR):
        reading.state("stop_floor_bps", _stop_line(reading, found, text))


def _stop_line(reading: Reading, found: re.Match[str], text: str) -> Said:
    """The loss that stops the mandate, in basis points; an amount is kept until the budget is
    known.
    """
    if found["none"]:
        return Said(text, BPS)
    named = {name: mark for name, mark in found.groupdict().items() if mark}
    loss = next((mark for name, mark in named.items() if name.startswith("loss")), None)
    keep = next((mark for name, mark in named.items() if name.startswith("keep")), None)
    if found["stop"]:
        loss, keep = (None, found["stop"]) if found["to"] else (found["stop"], None)
    figure = reading.figure(loss or keep or "")
    if any(name.startswith("period") for name in named):
        return Said(
            text, None, f'"{text}" is a loss in a time, and the stop line holds for the whole time'
        )
    if figure.value is None:
        return Said(text, None, figure.why)
    if found["keep4"] and figure.kind == "part" and not found["whole"]:
        return Said(text, None, f'"{text}" can mean what is lost or what is left')
    if figure.kind == "part":
        lost = figure.value if loss else BPS - figure.value
        inside = 0 <= lost <= BPS
        return (
            Said(text, lost)
            if inside
            else Said(text, None, f'"{text}" is not between 0 and 100% of the budget')
        )
    if figure.value < 0:
        return Said(text, None, f'"{text}" is below 0')
    return Said(text, ("lost" if loss else "left", figure.value), measured=True)


_ALL: Final = r"(?:everything|all(?: (?:of it|(?:open |my |the )*positions?))?|out|(?:the |my |open )*positions?|it all|anything)"


_SELL: Final = r"(?:close|sell|exit|liquidate|unwind)"


_THERE: Final = r"(?: (?:then|there|out|at the (?:floor|stop line|stop)))?"


_STAY: Final = re.compile(
    rf"\b(?:don't|do not|never|without) {_SELL}(?:ing)? {_ALL}{_THERE}"
    rf"|\b(?:just |then |and |simply )*(?:keep|hold|leave) (?:(?:the|all|open|my|your|its) )*positions?(?: open)?{_THERE}"
    rf"|\b(?:at the|(?:if|when|once) (?:it|we|you) (?:hits?|reach(?:es)?|gets? to) the) (?:floor|stop line|stop),?"
    r" (?:(?:just|simply|then) )*(?:keep|hold|do nothing|sell nothing)(?: (?:it|them|everything|holding))?\b"
    r"|\b(?:do|sell) nothing at the (?:floor|stop line|stop)\b"
)


_CLOSE: Final = re.compile(
    rf"\b(?:then |and )?{_SELL}(?: off| down)? {_ALL}{_THERE}(?P<when> (?:on |at )?⟦u\d+⟧)?(?!\w)"
)


def _at_floor(reading: Reading) -> None:
    for _, text in reading.each(_STAY):
        reading.state("on_floor", Said(text, "keep"))
    for found in list(_CLOSE.finditer(reading.words.plain)):
        # A date belongs to the end of the mandate, which closes nothing by itself.
        end = found.start("when") if found["when"] else found.end()
        text = reading.words.said(found.start(), end)
        why = f'"{text}" at a date is not what happens at the stop line' if found["when"] else ""
        reading.state("on_floor", Said(text, "close", why))
        reading.words.blank(found.start(), end)


_AIM: Final = re.compile(
    rf"\b(?:aim(?:ing)?|target(?:ing)?|goal|make|earn|gain|grow|return)(?: (?:for|at|of|is|me|it|by|to|make|about|around|at least|a|an|gain|return|profit))*:? (?P<q>{_MP})"
    rf"(?: (?:gain|profit|return|growth))?(?P<period>{_PERIOD})?"
    rf"|(?P<q2>{_MP}) (?:target|goal|gain|profit target|return)\b(?P<period2>{_PERIOD})?|\b(?P<double>double (?:it|the money|my money|the budget))\b"
)


def _aim(reading: Reading) -> None:
    for found, text in reading.each(_AIM):
        if found["double"]:
            reading.state("target_bps", Said(text, BPS))
        elif found["period"] or found["period2"]:
            reading.state(
                "target_bps",
                Said(
                    text,
                    None,
                    f'"{text}" is a gain in a time, and a target holds for the whole time',
                ),
            )
        else:
            said = _amount(reading.figure(found["q"] or found["q2"]), text)
            # The other way round here: a share is the target, an amount is measured on the budget.
            reading.state(
                "target_bps", replace(said, measured=said.value is not None and not said.measured)
            )


_EACH_DAY: Final = r"(?:(?:per|a|each|every|one|any|in a|in one|in any)[ -](?:single )?(?:calendar )?day|daily|/\s?day)\b"


_ACT: Final = r"(?:action|trade|transaction|tx|purchase|order|payment|buy|move|call|swap|deposit|position|request|query|read|bet|item|invoice)"


_EACH_ACT: Final = rf"(?:(?:per|a|an|each|every|any|single|in one|in a|in a single|in any|(?:on|for) each|(?:on|for) every)[ -](?:single )?{_ACT}|at a time|at once|in one go|each time|apiece|each(?! \w)|/\s?{_ACT})\b"


_LIMIT: Final = r"(?:,? (?:cap|limit|at most|max(?:imum)?|tops|at the most|or less))?"


_TO: Final = r"(?:\s?(?:(?:spend|spending|cap|limit|max(?:imum)?|budget|size|amount|allowance)|of|to|is|are|at|at most|up to|above|below|under|no more than|not more than|never more than|:|=))*"


_OF_IT: Final = r"(?: of (?:it|(?:the|my|your|its) (?:budget|total|money|funds)))?"


_CAP: Final = re.compile(
    r"(?P<without>\b(?:no|without(?: an?y?)?) (?:(?P<free>daily|day|per[- ]day) )?(?:\w+[- ]){0,2}(?:limit|cap|maximum)s?\b(?P<rest> (?:per|a|on each|for each|on a) \w+)?)"
    rf"|(?P<other>{_M}(?:\s?(?:a|per|each|every|/)\s?(?:week|month|year|quarter|hour)| ?(?:weekly|monthly|yearly|hourly))\b)"
    rf"|(?P<q>{_MP}){_OF_IT}{_LIMIT},? ?(?:(?P<day>{_EACH_DAY})|(?P<act>{_EACH_ACT}))"
    rf"|(?:(?P<day2>{_EACH_DAY})|(?P<act2>{_EACH_ACT})|(?:trade|action|order|transaction|purchase) (?=cap|limit|max|size)){_TO} ?(?P<q2>{_MP}){_OF_IT}{_LIMIT}"
)


def _caps(reading: Reading) -> None:
    for found, text in reading.each(_CAP):
        if found["without"]:
            daily = found["free"] or (found["rest"] or "").endswith(" day")
            term = "daily_cap_usdc" if daily else "per_tx_cap_usdc"
            reading.state(term, Said(text, None, f'"{text}": a mandate always has this cap'))
            continue
        if found["other"]:
            reading.state(
                "daily_cap_usdc", Said(text, None, f'"{text}" is a cap for another time than a day')
            )
            continue
        term = "daily_cap_usdc" if found["day"] or found["day2"] else "per_tx_cap_usdc"
        reading.state(term, _amount(reading.figure(found["q"] or found["q2"]), text))


_SPANS: Final = re.compile(
    r"(?:\b(?:for|over|within|during|in|lasting|the|next|a|an) ){0,3}(?P<q>⟦[su]\d+⟧)|\b(?P<ever>forever|indefinitely|for good|no end(?: date)?)\b"
)


def _horizon(reading: Reading) -> None:
    for found, text in reading.each(_SPANS):
        figure = (
            reading.figure(found["q"])
            if found["q"]
            else Quantity("span", None, text, f'"{text}" is no end date')
        )
        if figure.value is None:
            reading.state("horizon_days", Said(figure.text, None, figure.why))
        elif not 1 <= figure.value <= MAX_HORIZON_DAYS:
            why = f'"{figure.text}" is not between 1 and {MAX_HORIZON_DAYS} days from now'
            reading.state("horizon_days", Said(figure.text, None, why))
        else:
            reading.state("horizon_days", Said(figure.text, figure.value))


_BUDGET_WORD: Final = re.compile(
    rf"\b(?:budget|total|allowance|limit)(?: (?:is|of|to|at|up to|at most|a total of|about|around|exactly))*:? ?(?P<q>{_M})|(?P<q2>{_M})(?: (?:in|as) (?:total|budget|all))\b"
)


_GIVEN: Final = re.compile(
    rf"\b(?:up to|at most|spend|invest|put|give|use|with|have|manage|fund|deposit|allocate|trade)(?: (?:is|of|it|you|the agent|the bot|up to|at most|only|just|a total of|about|around|another))*:? (?P<q>{_M})"
)


_ANY_MONEY: Final = re.compile(rf"(?P<q>{_M})")


def _budget(reading: Reading) -> None:
    """The word itself first, then what is given or named in USDC; a bare number alone is no
    budget.
    """
    for found, text in reading.each(_BUDGET_WORD):
        reading.state("budget_usdc", _whole(reading.figure(found["q"] or found["q2"]), text))
    if "budget_usdc" in reading.said:
        return
    for found, text in reading.each(_GIVEN):
        reading.state("budget_usdc", _whole(reading.figure(found["q"]), text))
    for found in list(_ANY_MONEY.finditer(reading.words.plain)):
        if reading.figure(found["q"]).named:
            text = reading.words.said(*found.span())
            reading.words.blank(*found.span())
            reading.state("budget_usdc", _whole(reading.figure(found["q"]), text))


def _whole(figure: Quantity, text: str) -> Said:
    if figure.value is None:
        return Said(text, None, figure.why)
    if not 0 < figure.value <= MAX_BUDGET:
        return Said(text, None, f'"{text}" is not a budget above 0 and up to 1e12')
    return Said(text, figure.value)


_TOPICS: Final = {
    "payout_rule": re.compile(r"\b(?:fees?|commissions?)\b"),
    "stop_floor_bps": re.compile(
        r"\b(?:stop[ -]?loss|drawdown|floor|stop line|lose|losing|loss(?:es)?)\b"
    ),
    "approval_above_usdc": re.compile(
        r"\b(?:ask (?:me|us)|approvals?|my (?:ok|consent|permission)|check with (?:me|us))\b"
    ),
    "daily_cap_usdc": re.compile(
        r"\b(?:daily|(?<!trades )(?<!actions )(?<!times )(?<!orders )(?<!calls )per day)\b"
    ),
    "on_floor": re.compile(r"\b(?:liquidate|sell everything|close everything|exit everything)\b"),
}


def _unread(reading: Reading) -> None:
    """A term that the note speaks of, in words that no pattern reads, is in doubt: it is not one
    that the note leaves out.
    """
    for term, words in _TOPICS.items():
        found = None if term in reading.said else words.search(reading.words.plain)
        if found:
            text = reading.words.said(*found.span())
            reading.state(
                term, Said(text, None, f'the note speaks of "{text}" in words that are not read')
            )


def _left_over(reading: Reading) -> None:
    reading.left_over = [
        reading.figure(mark).text for mark in re.findall(r"⟦\w\d+⟧", reading.words.plain)
    ]
