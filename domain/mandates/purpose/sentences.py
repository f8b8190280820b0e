"""A note cut into its sentences, and what a sentence asks to be done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from domain.mandates.purpose import vocabulary as v
from domain.mandates.purpose.tiling import is_word
from domain.mandates.purpose.tokens import Token

# The last word of what a form asks for.
_ASKS_FOR: Final = v.words(
    "of at to than above over beyond exceeding for until till after within in"
)
_CAN: Final = frozenset({"can", "could", "would", "will"})
_GREETS: Final = v.words(
    "hi hey hello hiya heya please so ok okay well yo dear there agent bot now and thanks ,"
)
_ASKINGS: Final = (
    ("can", "i", "ask", "you", "to"),
    ("could", "i", "ask", "you", "to"),
    ("would", "you", "mind"),
)
_FOR_ME: Final = frozenset({("for", "me"), ("for", "us"), ("my", "behalf"), ("our", "behalf")})
# What somebody is asked to do for somebody, and not whether he is able to.
_DEEDS: Final = v.words(
    "look take manage invest trade use put run grow lend work buy spend hold split start place park"
    " deploy allocate mind handle administer oversee supply deposit watch find order keep purchase"
    " book care safeguard control double steward juggle tend supervise"
)


def cut(tokens: Sequence[Token]) -> list[tuple[list[Token], bool]]:
    """The sentences, and whether each is a question."""
    out: list[tuple[list[Token], bool]] = []
    now: list[Token] = []
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else None
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if (
            before is not None
            and after is not None
            and (_no_stop(before, token, after) or _of_a_form(before, token, after))
        ):
            continue
        if token.kind in v.FILLERS and (before is None or before.kind not in v.BENDS):
            continue
        if _trails_off(before, token, after) or _goes_on(tokens[at : at + 3]):
            now.append(replace(token, kind=","))
            continue
        if token.kind not in v.STOPS:
            now.append(_spaced_slash(before, token, after))
            continue
        if now:
            out.append((now, token.kind == "?"))
        now = []
    if now:
        out.append((now, False))
    return out


def _trails_off(before: Token | None, token: Token, after: Token | None) -> bool:
    """True for the dots of `500... no, 300`: what follows them may take back what they follow."""
    if token.kind == ".":
        behind = before is not None and before.kind == "." and before.end == token.start
        return behind or (after is not None and after.kind == "." and token.end == after.start)
    return token.kind == "…"


def _goes_on(tokens: Sequence[Token]) -> bool:
    """True for the stop of `up to 50 you decide. Above that, ask me.`: one thought."""
    kinds = [t.kind for t in tokens]
    return (
        kinds[:1] in ([";"], ["."])
        and kinds[1:2] != []
        and (kinds[1] in v.PAST_IT and kinds[2:] in (["that"], ["it"], ["this"]))
    )


def _spaced_slash(before: Token | None, token: Token, after: Token | None) -> Token:
    """A slash between spaces, or figures, joins clauses: `500 USDC / 30 days`, `50usdc/30d`."""
    if token.kind != "/" or before is None or after is None:
        return token
    spaced = before.end < token.start and token.end < after.start
    spaced = spaced or (before.is_figure and after.is_figure)
    return replace(token, kind="/,") if spaced else token


def requested(tokens: Sequence[Token]) -> list[Token] | None:
    """What "Can you please ...?" asks to be done, without the asking; None where nothing is asked
    to be done: "Can you trade 500 USDC?" may be asked to know it.
    """
    kinds = [t.kind for t in tokens]
    at = next((n for n, kind in enumerate(kinds[:5]) if kind in _CAN), -1)
    for asking in _ASKINGS:
        if tuple(kinds[at : at + len(asking)]) == asking and at == 0:
            return list(tokens[len(asking) :])
    greeted = all(kind in _GREETS for kind in kinds[: max(at, 0)])
    if at < 0 or not greeted or kinds[at + 1 : at + 2] != ["you"]:
        return None
    rest = kinds[at + 2 :]
    # "Can you manage 500 USDC for me?" and no more: it may be asked whether he is able to.
    told = rest if kinds[at] == "could" else rest[:-1]
    mine = any(pair in _FOR_ME for pair in pairwise(told)) and rest[0] in _DEEDS
    if not (mine or "please" in (*kinds[:at], *rest) or rest[:1] == ["kindly"]):
        return None
    return [*tokens[:at], *tokens[at + 2 :]]


def _of_a_form(before: Token, token: Token, after: Token) -> bool:
    """True for the colon of a form that is filled in: "Stop at a loss of: 5%"."""
    return token.kind == ":" and before.kind in _ASKS_FOR and after.is_figure


def _no_stop(before: Token, token: Token, after: Token) -> bool:
    """True for the dash of `per-trade`, and the dot of `max. 50`."""
    if before.end != token.start:
        return False
    if token.kind == "-":
        return token.end == after.start and (is_word(before) or before.is_figure)
    return token.kind == "." and before.kind in v.ABBREVIATED and after.is_figure
