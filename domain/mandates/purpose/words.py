"""A note as tokens: words, stops, and figures with what they are worth, each with its place in
the note.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from domain.mandates.purpose import markets
from domain.mandates.purpose import vocabulary as v
from domain.mandates.purpose.lengths import spans
from domain.mandates.purpose.quantities import Quantities
from domain.mandates.purpose.tokens import BAD, MARKET, Token

_ATOM: Final = re.compile(
    r"(?P<url>https?://[^\s,;]+|www\.[^\s,;]+|[a-z0-9._+-]+@[a-z0-9.-]+"
    r"|(?:[a-z][a-z0-9-]*\.)+(?:com|org|net|io|xyz|dev|ai|app|finance)\b)"
    r"|(?P<iso>\d{4}-\d{2}-\d{2})(?![\w-])"
    r"|(?P<num>(?:\d{1,3}(?: \d{3})+(?!\w|[.,]\d)|\d+(?:[.,'_:/-]\d+)*))(?P<glue>(?:-?[a-z]\w*)?)"
    r"|(?P<smile>(?<!\S)[:;=]-?[)d](?!\w))"
    r"|(?P<before>b4(?!\w))|(?P<without>w/o(?=[\s\d$]))|(?P<with>w/(?=[\s\d$]))"
    r"|(?P<word>[^\W\d_]\w*(?:'[^\W\d_]+)*(?:-\d[\w-]*)?)"
    r"|(?P<space>\s+)|(?P<stop>.)",
    re.DOTALL,
)
_KINDS: Final = {
    "smile": ",",
    "without": "without",
    "with": "with",
    "before": "before",
    "iso": "iso",
}
_QUOTES: Final = {
    "’": "'",
    "‘": "'",
    "‛": "'",
    "`": "'",
    "´": "'",
    "‐": "-",
    "‑": "-",
    "‒": "-",
    "−": "-",
    "“": '"',
    "”": '"',
}
# Short forms and slips of the pen that can stand for one word only.
_MEANT: Final = {
    short: word
    for word, text in {
        "you": "u ya",
        "your": "ur",
        "please": "pls plz plse plss plsss pleasee pleaseee",
        "with": "w",
        "performance": "perf",
        "don't": "dont",
        "here's": "heres",
        "we've": "weve",
        "you'll": "youll",
        "isn't": "isnt",
        "can't": "cant",
        "doesn't": "doesnt",
        "shouldn't": "shouldnt",
        "mustn't": "mustnt",
        "i'm": "im",
        "i've": "ive",
        "you're": "youre",
        "that's": "thats",
        "there's": "theres",
        "hey": "heyy heyyy heyyyy",
        "hi": "hii hiii hiiii hiya",
        "hello": "helloo hellooo helo",
        "thanks": "thankss thanx thnx tysm thankyou",
        "lose": "loose",
        "loses": "looses",
        "losing": "loosing",
        "through": "thru",
        "max": "≤",
        "over": ">",
        "under": "<",
        "maximum": "maxium maximun maximim maxmimum maximmum",
        "budget": "buget budjet budet bugdet bgt bdgt",
        "daily": "dayly dailly daliy",
        "transaction": "transction trasaction transacton",
        "transactions": "transctions trasactions transactons",
        "approval": "aproval approvel",
        "approve": "aprove",
        "permission": "permision",
        "total": "totel",
        "weeks": "weeeks wekks",
        "profit": "proffit",
        "profits": "proffits",
        "keep": "keeping",
        "limit": "limiting",
        "cap": "capping",
        "restrict": "restricting",
    }.items()
    for short in text.split()
}
_COMPARED: Final = frozenset({"more", "less", "bigger", "larger", "greater", "higher", "lower"})
# Before one of these "w" is "with", and no week.
_HAD: Final = frozenset({"my", "the", "a", "your", "our", "this", "it", "these"})
_SIGNS: Final = frozenset("<>≤")
# Behind one of these "no more" is a limit.
_PAUSED: Final = v.JOINS | v.STOPS | {"but", "–", "—", ":", "to", "at"}
_MEASURED_BY: Final = frozenset({"over", "above", "more", "under", "below", "down", "bigger"})
_LIKE_DIGITS: Final = frozenset("0123456789loisbzq")
_SHOWN: Final = frozenset("\n\r\t")


@dataclass(frozen=True, slots=True)
class Text:
    """A note cut into tokens; `strange` is why no figure of it can be trusted, or empty."""

    tokens: tuple[Token, ...]
    strange: str


def plain(note: str) -> str:
    """Lower case with straight quotes, a character for a character, so that places stay."""
    return "".join(_QUOTES.get(c, c.lower() if len(c.lower()) == 1 else c) for c in note)


def strange_character(note: str) -> str:
    """Why the note's characters cannot be trusted; empty where they can."""
    if note.isascii() and note.isprintable():
        return ""
    for c in note:
        if c in _SHOWN or "\x20" <= c < "\x7f":
            continue
        category = unicodedata.category(c)
        if category in ("Cf", "Cc", "Co", "Cn", "Cs"):
            return "the note holds characters that are not seen"
        if category in ("Nd", "Nl", "No"):
            return "the note holds figures that are not plain digits"
        if category == "Lm" or (
            unicodedata.normalize("NFKC", c) != c and not c.isspace() and c not in "…´"
        ):
            return "the note holds letters that only look like plain ones"
    return ""


def tokens_of(note: str, names: Mapping[str, str], today: date) -> Text:
    """Cut a note into tokens; `names` is market id to name."""
    text = plain(note)
    strange = strange_character(note)
    atoms: list[Token] = []
    at = 0
    listed = {market: plain(name) for market, name in names.items()}
    for one in markets.named(text, listed):
        atoms += _atoms(text, at, one.start)
        atoms.append(Token(MARKET, one.start, one.end, why=one.why, markets=one.markets))
        at = one.end
    atoms += _atoms(text, at, len(text))
    kept, begins = _unlisted(atoms, text)
    reader = Quantities(text, [_meant(kept, at, text) for at in range(len(kept))], today)
    tokens = [replace(t, start=begins.get(t.start, t.start)) for t in reader.all()]
    return Text(tuple(_listed(spans(tokens))), strange or reader.strange)


def _atoms(text: str, start: int, end: int) -> list[Token]:
    out: list[Token] = []
    for found in _ATOM.finditer(text, start, end):
        kind, at = found.lastgroup, found.start()
        if kind == "space":
            if "\n" in found.group(0):
                out.append(Token("\n", *found.span()))
        elif found["num"]:
            out.append(Token("#", *found.span("num")))
            if found["glue"]:
                out.append(Token("-" + found["glue"].lstrip("-"), *found.span("glue")))
        elif kind in _KINDS:
            out.append(Token(_KINDS[kind], *found.span()))
        elif kind == "url":
            out.append(
                Token(BAD if any(c.isdigit() for c in found.group(0)) else "url", *found.span())
            )
        elif kind == "word" and ("-" in found.group(0) or _looks_like_a_figure(found.group(0))):
            out.append(Token(BAD, *found.span()))
        else:
            out.append(Token(text[at : found.end()], *found.span()))
    return out


def _meant(atoms: Sequence[Token], at: int, text: str) -> Token:
    """The word that a short form stands for; `>` and its like only where they stand alone."""
    atom = atoms[at]
    word = _MEANT.get(atom.kind, "")
    if atom.kind == "its" and at + 1 < len(atoms) and atoms[at + 1].kind in _MEASURED_BY:
        word = "it's"
    if atom.kind in "–—" and _between(atoms, at):
        word = "-"
    if atom.kind == "then" and at and atoms[at - 1].kind in _COMPARED:
        word = "than"
    if atom.kind == "more" and _ends_it(atoms, at):
        word = "longer"
    if atom.kind == "w" and at + 1 < len(atoms) and atoms[at + 1].kind in _HAD:
        word = "with"
    alone = not (text[: atom.start][-1:] + text[atom.end : atom.end + 1]).strip()
    return replace(atom, kind=word) if word and (alone or atom.kind not in _SIGNS) else atom


def _ends_it(atoms: Sequence[Token], at: int) -> bool:
    """True for "it is yours no more", which is no longer; not for "50 a day, no more"."""
    before = [atom.kind for atom in atoms[max(0, at - 2) : at]]
    behind = atoms[at + 1].kind if at + 1 < len(atoms) else "."
    ends = behind in v.STOPS or behind in v.JOINS
    return ends and len(before) == 2 and before[1] == "no" and before[0] not in _PAUSED


def _between(atoms: Sequence[Token], at: int) -> bool:
    """True for a long dash between two thoughts: spaces on both sides of it, or a word."""
    if not 0 < at < len(atoms) - 1:
        return False
    before, atom, behind = atoms[at - 1 : at + 2]
    if before.end == atom.start:
        return atom.end == behind.start and before.kind.isalpha() and behind.kind.isalpha()
    return before.kind not in v.STOPS and atom.end < behind.start


def _unlisted(atoms: list[Token], text: str) -> tuple[list[Token], dict[int, int]]:
    """The atoms without the numbers of a list, `1. ... 2. ...`, each at the start of its line and
    one more than the one before; and by where what is numbered starts, where its number does.
    """
    marks = {
        at
        for at, atom in enumerate(atoms[:-2])
        if atom.kind == "#"
        and (at == 0 or atoms[at - 1].kind == "\n")
        and atoms[at + 1].kind in (".", ")")
        and atom.end == atoms[at + 1].start
        and atoms[at + 1].end < atoms[at + 2].start
    }
    said = [text[atoms[at].start : atoms[at].end] for at in sorted(marks)]
    if len(marks) < 2 or said != [str(n) for n in range(1, len(marks) + 1)]:
        return atoms, {}
    kept = [a for at, a in enumerate(atoms) if at not in marks and at - 1 not in marks]
    return kept, {atoms[at + 2].start: atoms[at].start for at in marks}


def _looks_like_a_figure(word: str) -> bool:
    """True for `l00` and `5o`: letters that stand for digits, and a digit among them."""
    return not set(word) - _LIKE_DIGITS and any(c.isdigit() for c in word)


def _listed(tokens: list[Token]) -> list[Token]:
    """Markets in a row, `A, B and C`, as one token."""
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        one = tokens[at]
        at += 1
        while one.kind == MARKET and one.markets:
            skip = at
            while (
                skip < len(tokens)
                and tokens[skip].kind in (",", "and", "&", "or", "+", "/", "plus")
                and skip - at < 2
            ):
                skip += 1
            if (
                skip == at
                or skip >= len(tokens)
                or tokens[skip].kind != MARKET
                or not tokens[skip].markets
            ):
                break
            one = replace(one, end=tokens[skip].end, markets=(*one.markets, *tokens[skip].markets))
            at = skip + 1
        out.append(one)
    return out
