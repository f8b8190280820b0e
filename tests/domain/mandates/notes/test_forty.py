"""Forty notes as people write them: what is read, what is asked, and what is never assumed.

Of each note the table names all that is read, in the note's own terms, and all that stays open; what
is open is null in the draft, has no preset, and is asked for with the readings that a button can fill in.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from domain.mandates.markets import from_config
from domain.mandates.notes.draft import Draft, parse_note
from domain.money import Usdc

CHAIN: Final = 8453
_AT: Final = {"chain_id": CHAIN, "address": "0x" + "11" * 20, "share_token": "0x" + "22" * 20}
MARKETS: Final = from_config([
    {"id": "perps-btc", "name": "BTC perpetual", "kind": "venue", "status": "live", "venue": "v", "symbols": ["BTC"]},
    {"id": "perps-eth", "name": "ETH perpetual", "kind": "venue", "status": "live", "venue": "v", "symbols": ["ETH"]},
    {"id": "aave", "name": "Aave v3", "kind": "aave", "status": "live", **_AT},
    {"id": "soon", "name": "Morpho USDC", "kind": "erc4626", "status": "planned"},
])  # fmt: skip
TERMS: Final = {
    "budget": "budget_usdc", "tx": "per_tx_cap_usdc", "day": "daily_cap_usdc", "floor": "stop_floor_bps", "aim": "target_bps", "days": "horizon_days",
    "fee": "payout_rule", "ask": "approval_above_usdc", "on": "on_floor", "where": "allowed_targets",
}  # fmt: skip
ALL: Final = " ".join(TERMS)
CAPS: Final = "budget tx day"
MONEY: Final = "budget tx day floor ask"

# note | read | open | readings offered, by term
FORTY: Final[tuple[tuple[str, str, str, str], ...]] = (
    ("500 USDC for lending, at most 50 per trade, 30 days", "budget=500 markets=aave tx=50 days=30", "", ""),
    ("My budget is 2k, max 200 a trade, 600 a day, two weeks", "budget=2000 tx=200 day=600 days=14", "", ""),
    ("I want you to manage $1,000 for 60 days. Ask me first above $100.", "budget=1000 days=60 ask=100", "", ""),
    ("five hundred USDC, fifty per trade, one hundred and fifty per day", "budget=500 tx=50 day=150", "", ""),
    ("Trade BTC and ETH perps with $1,500. Max drawdown 15%.", "budget=1500 markets=perps-btc,perps-eth floor=1500", "", ""),
    ("Only Aave. 3,000 USDC for 90 days. No more than 300 a day.", "markets=aave only=aave budget=3000 days=90 day=300", "", ""),
    ("Here's 250 USDC. Never spend more than 25 USDC per trade.", "budget=250 tx=25", "", ""),
    ("Budget: 1,250\nPer trade: 100\nPer day: 300\nStop loss: 20%\nDays: 14", "budget=1250 tx=100 day=300 floor=2000 days=14", "", ""),
    ("$800 in total, 10% per trade, 30% per day", "budget=800 tx=80 day=240", "", ""),
    ("Lend 400 USDC on Aave. You get 5% of the gains.", "budget=400 markets=aave fee=500", "", ""),
    ("Ask me for anything over 75 USDC. Budget 600 USDC.", "ask=75 budget=600", "", ""),
    ("100/day, 20/trade, budget 1000", "day=100 tx=20 budget=1000", "", ""),
    ("Close everything if you lose 30%. Budget 2000 USDC.", "floor=3000 on=close budget=2000", "", ""),
    ("Stop when 300 USDC is left. Budget 500 USDC.", "floor=4000 budget=500", "", ""),
    ("Max loss 100 USDC, budget 500 USDC, 10 days", "floor=2000 budget=500 days=10", "", ""),
    ("Please be careful. 500 USDC for ten days, thanks!", "budget=500 days=10", "", ""),
    ("500 USDC for trading", "budget=500", "", ""),
    # ambiguous: its own term alone is asked, with the readings
    ("Budget 500 USDC, 50 a trade, 150 a day, stop at 400, 30 days, fee 10%, ask above 100", "budget=500 tx=50 day=150 days=30 fee=1000 ask=100", "floor", "floor=8000 floor=2000"),
    ("stop line 20%, budget 500 USDC", "budget=500", "floor", "floor=2000 floor=8000"),
    ("500 USDC for 2 months", "budget=500", "days", "days=60"),
    ("500 USDC, up to 50", "", CAPS, "budget=500 budget=50 tx=50 day=50"),
    ("50 per trade. 60 per trade. Budget 500 USDC.", "budget=500", "tx", "tx=50 tx=60"),
    ("Budget 100 USDC, 500 per trade", "", CAPS, "budget=100 tx=500"),
    ("Trade perps. Budget 500 USDC.", "budget=500", "where", "markets=perps-btc markets=perps-eth markets=perps-btc,perps-eth"),
    ("Budget 500 USDC. Use Morpho.", "budget=500", "where", ""),
    # doubt, correction, negation, condition: nothing of the sentence is read
    ("Around 500 USDC, maybe a bit more", "", ALL, ""),
    ("500 USDC, actually make it 300", "", ALL, "budget=500"),
    ("Budget 500 or 600 USDC", "", f"{MONEY} days", ""),
    ("500 USDC, but not on weekends", "", f"{MONEY} days", "budget=500"),
    ("Without asking you may spend 25 per trade", "", f"{MONEY} days", ""),
    ("Use common sense with my 500 USDC and stop if it goes badly", "", ALL, ""),
    ("Never act without asking me. Budget 500 USDC, 30 days.", "budget=500 days=30", "ask", ""),
    ("Do not touch Aave. Budget 500 USDC, 30 days.", "budget=500 days=30", "where", ""),
    ("Don't spend more than I can afford to lose", "", f"{MONEY} on", ""),
    ("At least 50 USDC per trade, budget 500 USDC", "", ALL, ""),
    ("If the market is calm, spend 500 USDC", "", ALL, ""),
    ("Should the budget be 500 USDC?", "", ALL, ""),
    # figures and words of another form
    ("500 USDC until Christmas", "", f"{MONEY} days", ""),
    ("500 EUR, 30 days", "", f"{MONEY} days", ""),
    ("1.500 USDC, 30 days", "", ALL, ""),
    ("Trade BTC and SOL perps with 500 USDC", "", f"{MONEY} where", ""),
)  # fmt: skip


def value_of(name: str, told: str) -> Any:
    if name in ("budget", "tx", "day", "ask"):
        return str(Usdc.parse(told))
    if name == "fee":
        return {"kind": "share_of_verified_gain", "bps": int(told)}
    if name == "only":
        return [{"kind": "vault"}]
    if name == "markets":
        return told.split(",")
    return told if name == "on" else int(told)


def pairs(told: str) -> list[tuple[str, Any]]:
    places = {**TERMS, "markets": "markets", "only": "allowed_targets"}
    named = [pair.partition("=") for pair in told.split()]
    return [(places[name], value_of(name, value)) for name, _, value in named]


def read(note: str) -> Draft:
    return parse_note(note, markets=MARKETS, chain_id=CHAIN)


@pytest.mark.parametrize(
    ("note", "expected", "left", "offered"), FORTY, ids=[row[0] for row in FORTY]
)
def test_what_is_read_what_is_asked_and_what_is_never_assumed(
    note: str, expected: str, left: str, offered: str
) -> None:
    draft = read(note)
    is_open = {TERMS[name] for name in left.split()}
    assert {u.term: u.value for u in draft.understood} == dict(pairs(expected))
    assert all(u.text and u.text in note for u in draft.understood)
    assert set(draft.left_open) == is_open
    assert draft.needs_review is bool(is_open)
    # Never assumed: what is open has no value, and somebody is asked about each of it.
    assert not is_open & ({a.term for a in draft.assumed} | set(draft.terms))
    asked = [(c.term, c.value) for u in draft.unclear for c in u.could_be]
    assert is_open <= {"allowed_targets" if term == "markets" else term for term, _ in asked}
    readings = [option for option in asked if option[1] is not None]
    assert sorted(map(repr, readings)) == sorted(map(repr, pairs(offered)))
    assert len({(u.text, u.reason) for u in draft.unclear}) == len(draft.unclear)


def test_there_are_forty() -> None:
    assert len({note for note, *_ in FORTY}) >= 40
