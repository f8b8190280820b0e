"""Unread words: the terms that an unread sentence may be about, or any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from domain.mandates.notes import forms as f
from domain.mandates.notes.tokens import (
    AMOUNT,
    CURRENCY,
    FIGURES,
    MONEY,
    SHARE,
    STRANGE,
    Token,
    words,
)
from domain.mandates.purses import PARTS

EVERY: Final = frozenset(
    {f.BUDGET, f.TX, f.DAY, f.ASK, f.FLOOR, f.ON_FLOOR, f.FEE, f.DAYS, f.AIM, f.TARGETS}
)
_OF_MONEY: Final = frozenset({f.BUDGET, f.TX, f.DAY, f.ASK, f.FLOOR})
# A word, or the letter of a figure, and the terms that it speaks of.
_SPEAKS: Final[Mapping[str, frozenset[str]]] = MappingProxyType({
    word: frozenset(terms)
    for text, terms in (
        ("budget total overall altogether allowance capital funds stake", (f.BUDGET,)),
        ("limit limits limited cap caps capped max maximum ceiling "
         "spending", (f.BUDGET, f.TX, f.DAY)),
        ("size sized sizes", (f.TX,)), ("daily", (f.DAY,)),
        ("ask asks asked asking check checks checking approve approves approved "
         "approval approvals confirm confirmation confirming permission consent "
         "consult okay ok authorize authorise authorization me us myself own alone "
         "autonomous autonomously autonomy independently unattended automatic "
         "automatically manual manually supervised discretion", (f.ASK,)),
        ("stop stops stopped stopping loss losses lose loses losing lost "
         "drawdown drawdowns drop drops fall falls down floor line risk "
         "risks risky", (f.FLOOR, f.ON_FLOOR)),
        ("close closes closed closing sell sells selling liquidate exit unwind "
         "position positions keep hold", (f.ON_FLOOR,)),
        ("fee fees free cost costs commission share cut reward payout percent "
         "profit profits gain gains pct", (f.FEE, f.AIM)),
        ("day days week weeks weekly month months monthly year years yearly "
         "fortnight until till deadline forever expire expires end ends ended finish "
         "terminate terminates duration period hour hours minute minutes weekend "
         "weekends weekday weekdays today tomorrow tonight monday tuesday wednesday "
         "thursday friday saturday sunday mondays tuesdays wednesdays thursdays "
         "fridays saturdays sundays january february march april june july august "
         "september october november december christmas easter spring summer autumn "
         "winter", (f.DAYS,)),
        ("target targets aim aims goal goals return returns apy apr", (f.AIM,)),
        ("market markets venue venues exchange exchanges protocol protocols pool "
         "pools perp perps perpetual perpetuals leverage leveraged spot "
         "futures options", (f.TARGETS,)),
        ("x402", (f.TARGETS, *PARTS)),
        ("api apis web webservice webservices services purse payee payees "
         "webdienst webdienste webdiensten schnittstelle schnittstellen", PARTS),
        (" ".join((MONEY, *CURRENCY)), _OF_MONEY), (AMOUNT, _OF_MONEY | {f.DAYS}),
        (STRANGE, EVERY), (SHARE, (f.TX, f.DAY, f.FLOOR, f.FEE, f.AIM)),
        ("currency euro euros eur pound pounds gbp rupee rupees inr yen jpy yuan chf "
         "franc francs cad aud hkd eth btc sol afford", _OF_MONEY),
    )
    for word in words(text)
})  # fmt: skip
# "grow it for me" asks for nothing.
_BEFORE_ME: Final = words("for give let help make get earn to with_me")
_ACTS: Final = words(
    "trade action purchase transaction payment order day trades actions purchases transactions "
    "payments orders"
)
_CALLS: Final = words("call request query")
_PER: Final = words("per each every /")
_EACH: Final = words("per a each every any single /")

# Takes back, corrects or makes up.
_REVOKES: Final = words(
    "actually correction correct sorry oops wait scrap forget ignore disregard cancel undo revert "
    "instead rather mind kidding joke joking lol psych nevermind mistake typo wrong meant mean "
    "means imagine suppose supposing pretend hypothetically hypothetical hypothetic example "
    "examples e.g. e.g eg sample template dummy fake test testing toy case scenario opposite "
    "reverse vice versa whatever depends maybe perhaps possibly probably might could would should "
    "wish hope reconsider misspoke hmm hm um uh er erm hang scratch strike retract take back "
    "thought thoughts otherwise delete remove void invalid error oh changed change update updated "
    "edit edited replace override overrides supersede system unless except excluding only besides "
    "halve halved doubled increase increased decrease reduce reduced raise lower adjust adjusted "
    "modify amend amended negotiable flexible tentative draft provisional estimate guess "
    "approximate obsolete outdated expired former formerly quote quoted nah think sure unsure "
    "know fool fools copied pasted confirmed agreed higher bigger smaller"
)
_NEGATES: Final = words(
    "not no never none nor neither nothing without don't dont doesn't doesnt won't wont can't "
    "cannot isn't isnt aren't arent wasn't shouldn't mustn't needn't avoid nope refuse"
)
_POINTS: Final = words(
    "that this those these them it its above below following follows follow so same all any "
    "anything everything either both one ones number numbers figure figures amount amounts term "
    "terms rule rules condition conditions note message text said say says wrote write before "
    "previous earlier first last next what whatever which here there like as limits"
)
_OTHERS: Final = words(
    "friend friends sister brother mother father mom dad wife husband partner boss colleague "
    "lawyer accountant manager blog article neighbour neighbor client customer he she they him "
    "her his their theirs someone somebody people others another other who whose everyone most "
    "was were had did been used yesterday ago once when if while though although however but "
    "still then than until"
)
# What opens words that go on with the sentence before: "or less", "per day", "roughly".
_GOES_ON: Final = words(
    "or and at per each every in plus minus to roughly approximately approx about around circa "
    "tbc tbd pending starting from by on of as more less nor yet even if when where which who "
    "also"
)
_FEW: Final = 3
_ENGLISH: Final = words("the to of be my me you your is are and with for it i'm i'll don't")
_COURTESY: Final = words(
    "thanks hi dear agent good luck have fun be careful carefully wisely bold conservative brief "
    "go trade spend best wishes make me rich evening morning new here am i i'll that's it please "
    "very just write question questions"
)
# Words that are no name by themselves.
ORDINARY: Final = frozenset(_SPEAKS).union(
    _ACTS, _REVOKES, _NEGATES, _POINTS, _OTHERS, _GOES_ON, _ENGLISH, _COURTESY
)


def concerned(sentence: Sequence[Token], markets: frozenset[str], *, asks: bool) -> frozenset[str]:
    """The terms that an unread sentence may be about; none where it is about something else.

    Shapes: `markets` are words of market names; `asks` is true of a question.
    """
    kinds = [t.kind for t in sentence]
    word_set = set(kinds)
    terms = frozenset[str]().union(*map(_terms_of, kinds, ["", *kinds]))
    if not word_set.isdisjoint(markets):
        terms |= {f.TARGETS}
    goes_on = kinds[0] in _GOES_ON or kinds[-1] == ":"
    # A few words beside a term, without a figure of their own, may modify or deny it.
    strange = {w for w in word_set if w[0].isalpha()} - _COURTESY
    bare = (
        bool(strange)
        and word_set.isdisjoint(FIGURES)
        and word_set.isdisjoint(_ENGLISH | markets if len(kinds) > _FEW else markets)
    )
    doubtful = goes_on or bare or (asks and terms) or _spoils(word_set - markets)
    return EVERY | terms if doubtful else terms


def _spoils(word_set: set[str]) -> bool:
    """True of words that may be about what stands around them, and take it back."""
    names = {w for w in word_set if w[0].isalpha()}
    denies, points = bool(names & _NEGATES), bool(names & _POINTS)
    return (
        bool(names & _REVOKES)
        or (denies and (points or len(names) < _FEW))
        or (points and bool(names & _OTHERS))
    )


def _terms_of(word: str, before: str) -> frozenset[str]:
    if word in _ACTS and before in _EACH:
        return frozenset({f.DAY} if word == "day" else {f.TX})
    if word in _CALLS and before in _PER:
        return frozenset({f.PURSE, f.PAYMENT})
    if word in ("me", "us") and before in _BEFORE_ME:
        return frozenset()
    return _SPEAKS.get(word, frozenset())
