"""How a note names the listed markets: by their names, or as people call such a market."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

# Coins as people call them. One that is not listed beside one that is makes both unclear.
_COINS: Final = {
    called: coin
    for coin, text in {
        "btc": "btc bitcoin xbt",
        "eth": "eth ethereum ether",
        "sol": "sol solana",
        "doge": "doge dogecoin",
        "xrp": "xrp ripple",
        "bnb": "bnb",
        "avax": "avax avalanche",
        "link": "chainlink",
        "arb": "arb",
        "ltc": "ltc litecoin",
        "ada": "ada cardano",
        "gold": "gold xau",
        "hype": "hype",
    }.items()
    for called in text.split()
}
_COIN: Final = f"(?:{'|'.join(sorted(_COINS, key=len, reverse=True))})"
_JOIN: Final = r"(?:\s*[/+&]\s*|\s*,\s*(?:and\s+)?|\s+(?:and|or)\s+)"
_AND: Final = r"(?:\s*[/+&]\s*|\s+(?:and|or)\s+)"
_PERPS: Final = (
    r"(?:perpetual(?:s| futures?| contracts?| swaps?)?|perps?(?: futures| contracts| markets)?)"
)
_PERPETUALS: Final = (
    rf"{_COIN}(?:{_JOIN}{_COIN})*[ -]{_PERPS}|{_PERPS} (?:on|in|for) {_COIN}(?:{_AND}{_COIN})*"
)
_OVER: Final = r"(?: (?:over|through|via|on|with|using|by|from) x402)"
_MANY: Final = r"(?:reads|apis|calls|requests|feeds|sources|services|purchases|payments|endpoints)"
# "Per x402 call" is an action, not a market.
_READS: Final = (
    rf"paid (?:x402 )?(?:(?:data|api|news) )?(?:{_MANY}{_OVER}|reads|data(?: {_MANY})?){_OVER}?"
    rf"|x402(?: paid)?(?: (?:data|api|news))?(?: {_MANY})?"
    r"(?! (?:data |api |paid )?(?:call|read|request|purchase|payment|feed|query)\b)"
)
_TAIL: Final = r"(?: (?:vault|pool|market)(?! orders?\b))?"
_PERPETUAL: Final = re.compile(r"(\w+) perpetual")


@dataclass(frozen=True, slots=True)
class Named:
    """A place where a note names markets; none are told where it is not certain which."""

    start: int
    end: int
    markets: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Listed:
    """What a note may call the markets of a list: `names`, perpetuals by coin, the paid reads."""

    pattern: re.Pattern[str]
    names: Mapping[str, tuple[str, ...]]
    coins: Mapping[str, tuple[str, ...]]
    reads: tuple[str, ...]


def named(text: str, listed: Mapping[str, str]) -> Iterator[Named]:
    """Every market that a text in lower case names; `listed` is market id to name."""
    known = _known(tuple(sorted(listed.items())))
    if known is None:
        return
    for found in known.pattern.finditer(text):
        one = _one(known, found)
        if one is not None:
            yield one


@lru_cache(16)
def _known(listed: tuple[tuple[str, str], ...]) -> _Listed | None:
    names: dict[str, tuple[str, ...]] = {}
    coins: dict[str, tuple[str, ...]] = {}
    reads: tuple[str, ...] = ()
    for market, name in listed:
        for said in {market.lower(), name.lower()}:
            if said.strip():
                names[said] = (*names.get(said, ()), market)
        perpetual = _PERPETUAL.fullmatch(name.lower())
        if perpetual:
            coin = _COINS.get(perpetual[1], perpetual[1])
            coins[coin] = (*coins.get(coin, ()), market)
        reads = (*reads, market) if "x402" in name.lower() else reads
    if not names:
        return None
    ways = ["|".join(re.escape(w) for w in sorted(names, key=len, reverse=True))]
    ways += [_PERPETUALS] if coins else []
    ways += [_READS] if reads else []
    pattern = rf"(?<![\w-])(?:the )?(?P<said>{'|'.join(ways)}){_TAIL}(?![\w-])"
    return _Listed(re.compile(pattern), names, coins, reads)


def _one(known: _Listed, found: re.Match[str]) -> Named | None:
    said, place = found["said"], found.span()
    if said in known.names or "x402" in said or said.startswith("paid"):
        ids = known.names.get(said, known.reads)
        return Named(*place, *((ids,) if len(ids) == 1 else ((), "two markets have this name")))
    coins = [_COINS[word] for word in re.findall(r"[a-z]+", said) if word in _COINS]
    if not any(coin in known.coins for coin in coins):
        return None
    if any(len(known.coins.get(coin, ())) != 1 for coin in coins):
        return Named(*place, (), "not each of them is one listed market")
    return Named(*place, tuple(known.coins[coin][0] for coin in coins))
