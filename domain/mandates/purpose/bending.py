"""Words that stand in no phrase and change what stands around them: other people's rules, what was
once, what only might be, and corrections.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from domain.mandates.purpose import vocabulary as v

_NEAR_START: Final = 4
_FOR_WHOM: Final = frozenset({"for", "with", "to", "from", "about", "on"})
_SAYING: Final = v.words(
    "say says said saying tell tells told think thinks thought suggest suggests suggested advise "
    "advises advised recommend recommends recommended want wants wanted use uses used set sets do "
    "does did give gives gave have has had write writes wrote believe believes swear swears claim "
    "claims according like as per"
)
_ONCE: Final = v.words(
    "had was were made gave ran earned traded told said thought lost wanted tried started opened "
    "went got did bought sold paid ago yesterday formerly"
)
_MIGHT: Final = v.words("would might could i'd we'd he'd she'd they'd if")
# Read at the start of a clause. What stands behind these needs no figure to correct something.
_TAKES_BACK: Final = (
    "no wait", "wait no", "oh wait", "hm wait", "no no", "no sorry", "i mean", "i meant",
    "or rather", "or better", "on second", "second thoughts", "second thought", "strike that",
    "change that", "change it", "change this", "come to think", "my bad", "i misspoke",
    "i mistyped", "i miscounted", "misspoke", "that was wrong", "that's wrong", "that is wrong",
    "that was a typo", "should read", "should say", "should have said", "i take that", "i take it",
    "let me rephrase", "let me correct", "let me change", "let me start over", "start over",
    "edit :", "edit -", "update :", "nah", "pardon", "erm", "nope", "i changed my", "changed my",
    "i've changed my", "i have changed my", "thinking about it", "thinking again", "having said",
    "that should", "this should be", "no make", "well no", "well actually", "i should have",
    "that's not right", "that is not right", "not right", "wrong",
)  # fmt: skip
# These correct only beside a figure: "make it quick" does not.
_GIVES_NEW: Final = (
    "make that", "make it", "make those", "make this", "let's make", "let us make", "let's say",
    "let us say", "rather", "better", "well", "it's", "it is", "that's", "that is", "it should",
    "so", "call it", "turn that", "lower that", "raise that", "lower it", "raise it", "say",
)  # fmt: skip
_STOPS_SHORT: Final = (
    "wait",
    "hold on",
    "hang on",
    "one moment",
    "hold up",
    "hmm",
    "hm",
    "um",
    "uh",
)
_SHORT_CLAUSE: Final = 3


def _starts(kinds: Sequence[str], openings: Sequence[str]) -> bool:
    said = " ".join(kinds) + " "
    return any(said.startswith(f"{one} ") for one in openings)


def corrects(kinds: Sequence[str], *, figure: bool, opens: bool) -> bool:
    """True for a clause in no phrase that corrects what was said: "no wait", "make that 300".

    Shapes: `figure` where the clause holds one; `opens` where the clause opens its sentence.
    """
    bare = kinds[1:] if kinds[:1] in (["oh"], ["and"], ["but"], ["ah"], ["or"]) else kinds
    if _starts(kinds, _TAKES_BACK) or _starts(bare, _TAKES_BACK):
        return True
    if figure and (opens or kinds[:1] == ["make"]) and _starts(bare, _GIVES_NEW):
        return True
    return len(kinds) <= _SHORT_CLAUSE and _starts(bare, _STOPS_SHORT)


def of_others(kinds: Sequence[str]) -> bool:
    """True for a clause whose subject is somebody else, or that tells what somebody says."""
    people = [at for at, kind in enumerate(kinds) if kind in v.PEOPLE]
    if not people:
        return False
    first = people[0]
    if first < _NEAR_START and not set(kinds[:first]) & _FOR_WHOM:
        return True
    return bool(set(kinds) & _SAYING)


def of_once(kinds: Sequence[str]) -> bool:
    """True for a clause on what was, or would be, and is not."""
    said = set(kinds)
    return bool(said & (_ONCE | _MIGHT)) or "used to" in " ".join(kinds)
