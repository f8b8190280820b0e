"""Market names: words of a note that name markets of the list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from domain.mandates.markets import Market
from domain.mandates.notes.tokens import Token, tokens, words
from domain.mandates.notes.words import ORDINARY

NAMED: Final = "K"
CATEGORY: Final = "C"
_MOST: Final = 3
_LONGEST: Final = 12
_GENERIC: Final = words("usdc usd vault vaults pool market markets v1 v2 v3 v4 supply protocol")
_COMMON: Final = words("paid reads read of the in on and usdc usd here open")
_PERPS: Final = words("perp perps perpetual perpetuals")
_CATEGORIES: Final[Mapping[str, Sequence[str]]] = {
    **dict.fromkeys(("lending", "yield", "saving", "savings"), ("erc4626", "aave")),
    **dict.fromkeys(("perps", "perpetuals"), ("venue",)),
}
_JOINS: Final = frozenset({",", "and", "&"})
_FAR: Final = "it is a market of another network"
_PLANNED: Final = "it is only planned here, and nobody is let in yet"


@dataclass(frozen=True, slots=True)
class Named:
    """Markets by their ids; a `reason` where the words choose none, and those that they could."""

    ids: tuple[str, ...]
    reason: str = ""
    could: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class MarketNames:
    """Markets by the phrases, under their first word, and the symbols that name them."""

    phrases: Mapping[str, Sequence[tuple[Sequence[str], str, Named]]]
    symbols: Mapping[str, Named]
    words: frozenset[str]


@lru_cache(maxsize=32)
def market_names(markets: tuple[Market, ...], chain_id: int | None) -> MarketNames:
    """The names of a list of markets on a network."""
    named, products = dict[tuple[str, ...], list[Market]](), dict[str, list[Market]]()
    for market in markets:
        for phrase in _phrases(market):
            named.setdefault(phrase, []).append(market)
        for symbol in market.symbols:
            products.setdefault(symbol.lower(), []).append(market)
    entries = [(phrase, NAMED, _named(of, chain_id)) for phrase, of in named.items()]
    for word, kinds in _CATEGORIES.items():
        category = _named([m for m in markets if m.kind in kinds], chain_id)
        if category.ids or category.could:
            entries.append(((word,), CATEGORY, category))
    first = dict[str, list[tuple[Sequence[str], str, Named]]]()
    for entry in sorted(entries, key=lambda e: -len(e[0])):
        first.setdefault(entry[0][0], []).append(entry)
    said = {t.kind for m in markets for t in tokens(m.name) if t.kind[0].isalpha()}
    symbols = {symbol: _named(of, chain_id) for symbol, of in products.items()}
    return MarketNames(first, symbols, frozenset(said) - _COMMON)


def _phrases(market: Market) -> set[tuple[str, ...]]:
    """Names of a market: its name, its id, its name without generic words."""
    if market.kind == "x402":
        return set()
    name = market.name.partition("(")[0].partition(",")[0]
    kinds = [tuple(t.kind for t in tokens(text)) for text in (name, market.id)]
    core = tuple(k for k in kinds[0] if k not in _GENERIC)
    fits = {k for k in kinds if len(k) > 1 or not ORDINARY.issuperset(k)}
    fits |= {core} if core and ORDINARY.isdisjoint(core) else set()
    fits -= {(word,) for word in _CATEGORIES}
    return {k for k in fits if k and all(w[0].islower() for w in k)}


def _named(markets: Sequence[Market], chain_id: int | None) -> Named:
    """One market that can be chosen; several are a question, and none has a reason."""
    ids = tuple(m.id for m in markets if m.status != "planned" and m.chain_id in (None, chain_id))
    if len(ids) > 1:
        each = tuple((market_id,) for market_id in ids[:_MOST])
        return Named((), "it is the name of several markets here", (*each, ids))
    planned = any(m.status == "planned" for m in markets)
    return Named(ids, "" if ids else _PLANNED if planned else _FAR)


def with_markets(sentence: Sequence[Token], names: MarketNames) -> tuple[list[Token], list[Named]]:
    """A sentence in which each name of markets is one token, whose value is its place in the list.

    "BTC and ETH perps" is one name, and so is "Aave v3 and Morpho".
    """
    out, names_in, at = list[Token](), list[Named](), 0
    while at < len(sentence):
        end, kind, named = _name_at(sentence, at, names)
        if named is None:
            out.append(sentence[at])
        elif [t.kind in _JOINS or t.kind for t in out[-2:]] == [kind, True] and kind == NAMED:
            names_in[-1] = _both(names_in[-1], named)
            out[-2:] = [out[-2]._replace(end=sentence[end - 1].end)]
        else:
            out.append(Token(kind, sentence[at].start, sentence[end - 1].end, len(names_in)))
            names_in.append(named)
        at = end
    return out, names_in


def _both(one: Named, other: Named) -> Named:
    """Two names in one; a question or a reason of either is of both."""
    doubtful = one if one.reason else other
    if doubtful.reason:
        return Named((), doubtful.reason, doubtful.could)
    return Named(tuple(dict.fromkeys((*one.ids, *other.ids))))


def _name_at(
    sentence: Sequence[Token], at: int, names: MarketNames
) -> tuple[int, str, Named | None]:
    """The end of the name that begins at a place, its token, and what it names."""
    for phrase, kind, named in names.phrases.get(sentence[at].kind, ()):
        if [t.kind for t in sentence[at : at + len(phrase)]] == list(phrase):
            return at + len(phrase), kind, named
    end, products = at, Named(())
    # A list longer than that is no name, so that the whole stays linear.
    last = min(len(sentence), at + _LONGEST)
    while end + 1 < last and (product := names.symbols.get(sentence[end].kind)):
        end, products = end + 1, _both(products, product)
        if sentence[end].kind in _PERPS:
            return end + 1, NAMED, products
        end += sentence[end].kind in _JOINS
    return at + 1, "", None
