"""Input policy: refuses text that cannot be read or stored, and secrets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import filterfalse
from pathlib import Path
from typing import Any, Final

from domain.refusals import Refused, invalid, refusal
from domain.text import composed, text_problem, without_heaps

VALUES_MAX: Final = 5_000
FIELD_MAX: Final = 200
FIELDS_MAX: Final = 65_536  # bytes
# The purpose, why and the notes of contract 1, by their paths: a line breaks nowhere else.
IN_LINES: Final = frozenset({"purpose", "why", "note", "payload.text", "payload.why"})


def check_size(body: Mapping[str, object]) -> None:
    """Refuse a body with more than 5,000 values, with a field's name of more than 200 characters or
    64 KiB of names: each is looked at, so that their number bounds what a call costs.

    Errors: `invalid_request`.
    """
    name, count = _name_bytes(body), 0
    queue: list[Collection[object]] = [body.values()]
    for values in queue:
        count += len(values)
        if count > VALUES_MAX:
            raise invalid("body", f"at most {VALUES_MAX} values")
        for value in values:
            if isinstance(value, dict):
                name += _name_bytes(value)
                queue.append(value.values())
            elif isinstance(value, list):
                queue.append(value)
        if name > FIELDS_MAX:
            raise invalid("body", f"names of fields with at most {FIELDS_MAX} bytes in all")


def _name_bytes(fields: Mapping[str, object]) -> int:
    """Count the bytes of the names of an object. Errors: `invalid_request`."""
    if max(map(len, fields), default=0) > FIELD_MAX:
        raise invalid("name", f"the name of a field has at most {FIELD_MAX} characters")
    return sum(len(n) if n.isascii() else len(n.encode("utf-8", "replace")) for n in fields)


def normalize_text(value: Any, path: str = "") -> Any:
    """The value with every text in NFC.

    Text with control, invisible or private-use characters is refused at any depth, and so is NUL
    and half of a surrogate pair: stored, they would make a later read fail or say something else
    than it shows. A line feed passes in `IN_LINES` alone.
    Errors: `invalid_request`.
    """
    if isinstance(value, str):
        if value.isascii() and value.isprintable():  # most of it
            return value
        text = composed(value)
        why = text_problem(text, lines=path in IN_LINES)
        if why is not None:
            raise invalid(_path_text(path) or "text", why)
        return text
    if isinstance(value, Mapping):
        return {
            _name(n, path): normalize_text(v, f"{path}.{n}" if path else n)
            for n, v in value.items()
        }
    if isinstance(value, list):
        return [normalize_text(inner, f"{path}.{n}") for n, inner in enumerate(value)]
    return value


def _name(name: str, path: str) -> str:
    if name.isascii() and name.isprintable():
        return name
    why = text_problem(name, lines=False)
    if why is not None:
        raise invalid(_path_text(path) or "name", f"the name of a field is {why}")
    return composed(name)


def _path_text(path: str) -> str:
    """A path without characters that an answer cannot carry."""
    return path.encode("ascii", "replace").decode()[:80]


# A field's name that asks for a secret, after folding, small and without separators, one a line.
_NAMES: Final = re.compile(
    r"(?:private|priv|secret|api|access|sign(?:ing|er)|exchange|master)key|apisecret|mnemoni[ck]"
    r"|passphrase|passw(?:or)?d|(?:seed|recovery|backup)(?:phrase|word|code)|key(?:store|file)"
    r"|credential|xpriv"
    r"|xprv|^secret(?!ar)|(?:secret|seed|wif|(?:api|access|auth|bearer)token)s?$",
    re.MULTILINE,
)
# Names that ask for one where a text stands in them: `private: true` says who sees a thing.
_NAMES_OF_TEXT: Final = re.compile(r"^(?:pk|sk|pkey|private|jwt)$", re.MULTILINE)
# Letters that Unicode's table of confusables folds to no Latin letter, or to another one.
_MORE: Final = dict(zip(map(ord, "κıɩıοαερτνυωηѡƙ"), "kiiioaeptvuwnwk", strict=True))
# Digits and signs in the place of letters.
_NO_SIGNS: Final = str.maketrans("", "", "@$!|")
_AS_LETTERS: Final = tuple(str.maketrans("013457@$!|", s) for s in ("oleastasil", "oieastasil"))


@cache
def _look_alikes() -> Mapping[int, str]:
    """Character to the Latin letter or digit that it looks like (UTS 39)."""
    # Its tables take a while to load, and hardly any call needs them.
    from confusable_homoglyphs.confusables import confusables_data

    table = dict(_MORE)
    for char, alike in confusables_data.items():
        latin = [h["c"] for h in alike if h["c"].isascii() and h["c"].isalnum()]
        if len(char) == 1 and not char.isascii() and latin:
            table.setdefault(ord(char), latin[0].lower())
    return table


def confusable_skeleton(text: str) -> str:
    """Names as a reader sees them: NFKC, look-alike letters as the Latin ones, without marks and
    separators, small (contract 7). Line feeds stay.
    """
    if not text.isascii():
        text = _narrow(without_heaps(text))
        apart = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
        text = "".join(filterfalse(unicodedata.combining, apart)).translate(_look_alikes())
    return text.lower()


def to_latin(text: str) -> str:
    """The text in NFKC with letters that look like Latin ones, capitals among them, as these."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text).translate(_look_alikes())


def _narrow(text: str) -> str:
    """The text with what stands for a whole phrase cut to its beginning, so that no name is many
    times as long folded as it was sent.
    """
    normalized = {c: unicodedata.normalize("NFKC", c) for c in set(text)}
    wide = {ord(c): form[:WIDEST] for c, form in normalized.items() if len(form) > WIDEST}
    return text.translate(wide) if wide else text


def secret_name(names: Sequence[str], *, in_texts: bool = False) -> int | None:
    """The place of the first name that asks for a secret, however it is spelt; `in_texts`: or that
    asks for one where a text stands in it.

    All are looked at in one go: a body can hold tens of thousands.
    """
    joined = "\n".join(n.replace("\n", " ") for n in names)
    asks = _NAMES_OF_TEXT if in_texts else _NAMES
    # The fields of our own operations are the same few names in every call.
    find = _short_secret_name if len(joined) <= SHORT_NAMES else _secret_name
    return find(joined, asks)


def _secret_name(text: str, asks: re.Pattern[str]) -> int | None:
    skeleton = confusable_skeleton(text)
    joined = re.sub(r"[^\w\n@$!|]+|_+", "", skeleton)
    plains = [joined.translate(_NO_SIGNS), *(joined.translate(table) for table in _AS_LETTERS)]
    for plain in plains:
        match = asks.search(plain)
        if match is not None:
            return plain.count("\n", 0, match.start())
    return None


_short_secret_name = lru_cache(maxsize=1_024)(_secret_name)


# Fields in which 32 bytes are no key: what a chain or a market calls its things.
_KNOWN: Final = re.compile(
    r"(hash|hashes|digest|tx|txid|transaction|signature|sig|data|calldata|topics?|root|nonce|salt"
    r"|block|cursor|idempotencykey|bidid|uid|conditionid|marketid|positionid|orderid|gaslimits|gasfees)$"
    r"|^(r|s|termssha256)$"
)
# On chain a market is 32 bytes with 0x before them; without it they are as good as a key.
_MARKETS: Final = frozenset({"market"})
_KEY_FORM: Final = re.compile(r"(0x)?[0-9a-f]{64}", re.I)
# A key in groups has one sign between them, as two UUIDs in one text do not.
_IN_GROUPS: Final = re.compile(r"(?:0x)?[0-9a-f]+(?:([\s:_.,-]+)[0-9a-f]+)(?:\1[0-9a-f]+)*", re.I)
GROUPS_MAX: Final = 200  # characters of a key in groups
_KEY_INSIDE: Final = re.compile(
    r"(?<![0-9a-z])(?:0x)?(?:[0-9a-f]{64}|[0-9a-f]{32}[\s:_.,-]{1,3}[0-9a-f]{32})(?![0-9a-z])", re.I
)
_TELLS: Final = re.compile(
    r"private|secret|seed|priv\W?key|\b(?:p|s)?key\b|\b[ps]k\b|mnemoni[ck]", re.I
)
_OTHER_FORMS: Final = re.compile(
    r"(?<![0-9A-Za-z])("
    r"[akdw][ks]_[A-Za-z0-9_-]{43}"  # our own keys and session tokens
    r"|[xyzt]prv[1-9A-HJ-NP-Za-km-z]{100,}"  # BIP-32
    r"|[5KL][1-9A-HJ-NP-Za-km-z]{50,51}"  # WIF
    r"|(?<![_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}"  # a signed JWT
    r")(?![0-9A-Za-z])|-----BEGIN [A-Z ]*PRIVATE KEY"
)
PHRASE_MIN: Final = 12
WIDEST: Final = 3  # letters of one character: a sign in brackets has no more
SHORT_NAMES: Final = 256  # characters of field names whose judgement is kept
SHORTEST: Final = 30  # characters: no key and no phrase is shorter


@cache
def _wordlist() -> frozenset[str]:
    """The words of BIP-39, every language that eth-account ships, in NFC."""
    spec = find_spec("eth_account")
    folder = Path((spec and spec.origin) or "").parent / "hdaccount" / "wordlist"
    lists = [p.read_text(encoding="utf-8") for p in sorted(folder.glob("*.txt"))]
    return frozenset(composed(word) for text in lists for word in text.split())


def _is_phrase(text: str) -> bool:
    """True where 12 words of BIP-39 follow each other, numbers and signs between them aside."""
    words = re.findall(r"[^\W\d_]+", text.casefold())
    if len(words) < PHRASE_MIN:
        return False
    known, run = _wordlist(), 0
    for word in words:
        run = run + 1 if word in known else 0
        if run == PHRASE_MIN:
            return True
    return False


@lru_cache(maxsize=1_024)  # a list repeats the name of its field for each value
def _is_known(field: str, *, on_chain: bool) -> bool:
    name = re.sub(r"[\W_]", "", confusable_skeleton(field))
    return _KNOWN.search(name) is not None or (on_chain and name in _MARKETS)


def _is_secret(field: str, text: str) -> bool:
    if _OTHER_FORMS.search(text):
        return True
    stripped = text.strip()
    if _KEY_FORM.fullmatch(stripped):
        return not _is_known(field, on_chain=stripped[1] in "xX")
    if len(stripped) <= GROUPS_MAX and _IN_GROUPS.fullmatch(stripped):
        return _KEY_FORM.fullmatch(re.sub(r"[\W_]", "", stripped)) is not None
    if _KEY_INSIDE.search(text) and _TELLS.search(text):
        return True
    return _is_phrase(text)


@dataclass(slots=True, eq=False)  # one a field of every body: a frozen one takes four times as long
class _Place:
    """The place of a value: the name of its field, below another place; whether it is a text."""

    above: _Place | None
    name: str
    says: bool

    def __str__(self) -> str:
        """The path; none of its parts is a value that a caller used as a name."""
        part = "…" if len(self.name) >= SHORTEST else self.name
        return _path_text(f"{self.above}.{part}" if self.above else part)


def refuse_secrets(value: Mapping[str, object]) -> None:
    """Refuse a body with a secret-shaped field or value at any depth (contract 7).

    Errors: `secret_not_accepted`; it names the field and never repeats the value.
    """
    names, texts = _leaves(value)
    short_names = [p for p in names if p.says and len(p.name) < SHORTEST]
    for place, field, text in texts:
        if _is_secret(field, text):
            raise Refused(refusal("secret_not_accepted", field=str(place)))
    for places, in_texts in ((names, False), (short_names, True)):
        index = secret_name([p.name for p in places], in_texts=in_texts) if places else None
        if index is not None:
            raise Refused(refusal("secret_not_accepted", field=str(places[index])))


def _leaves(body: Mapping[str, object]) -> tuple[list[_Place], list[tuple[_Place, str, str]]]:
    """Every field's place; (place, field, text) of every text that is long enough to be a secret,
    names and lists of words among them.
    """
    names: list[_Place] = []
    texts: list[tuple[_Place, str, str]] = []
    queue: list[tuple[_Place | None, str, object]] = [(None, "", body)]
    while queue:
        place, field, value = queue.pop()
        if isinstance(value, str):  # most of it
            if place is not None and len(value) >= SHORTEST:
                texts.append((place, field, value))
        elif isinstance(value, Mapping):
            for name, inner in value.items():
                below = _Place(place, name, isinstance(inner, str))
                names.append(below)
                if len(name) >= SHORTEST:
                    texts.append((below, "", name))
                queue.append((below, name, inner))
        elif place is None:
            continue
        elif isinstance(value, list):
            queue += [(place, field, inner) for inner in value]
            if len(value) >= PHRASE_MIN and all(isinstance(v, str) and len(v) < 16 for v in value):
                texts.append((place, field, " ".join(value)))
    return names, texts
