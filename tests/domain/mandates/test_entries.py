"""Hosts, venues and symbols of a draft: names, never words of the sentence that an owner signs."""

from __future__ import annotations

from typing import Any

import pytest
from eth_utils import keccak

from chain.contracts.eip712 import listed
from domain.mandates.clauses import clauses
from domain.mandates.markets import MAX_WITHDRAW, VALUE_OF, from_config, label_targets
from domain.mandates.target_parsing import MAX_BYTES, MAX_ENTRIES, confusable_key, validate_targets
from domain.mandates.targets import Target
from domain.refusals import Refused
from domain.settings import Switches
from tests.domain.material import mandate

LEND = {"id": "lend", "name": "Test Market", "status": "live", "kind": "erc4626", "address": "0x" + "11" * 20}  # fmt: skip
MARKETS = from_config(
    [
        LEND,
        {"id": "btc", "name": "BTC perpetual", "status": "live", "kind": "venue", "venue": "hyperliquid", "symbols": ["BTC"]},
        {"id": "own", "name": "Open Venue", "status": "live", "kind": "venue", "venue": "perps"},
    ]
)  # fmt: skip
VALUED = from_config([LEND | {"share_value": "0x" + "22" * 20}])


def test_a_market_with_a_share_value_is_valued_by_it_and_by_nothing_else() -> None:
    (market,) = VALUED
    *calls, value = market.targets()
    assert [t.probe for t in calls] == [None, None, None]
    assert (value.address, value.selector, value.probe) == ("0x" + "22" * 20, VALUE_OF, VALUE_OF)
    assert "0x" + keccak(text="valueOf(address)")[:4].hex() == VALUE_OF
    assert (value.self_args, value.market) == ((0,), "lend")
    signed, probes = listed(market.targets())
    assert [target for target, _, _ in signed] == ["0x" + "11" * 20] * 3 + ["0x" + "22" * 20]
    assert probes == [("0x" + "22" * 20, bytes.fromhex(VALUE_OF[2:]))]
    (older,) = [m for m in MARKETS if m.id == "lend"]
    assert {t.probe for t in older.targets()} == {MAX_WITHDRAW}


def test_what_can_be_taken_out_now_is_a_looser_value_where_the_shares_have_one() -> None:
    """An owner reads in the sentence that somebody named another probe."""
    (market,) = VALUED
    deposit, *_, value = market.targets()
    plain = label_targets(validate_targets([deposit.as_json(), value.as_json()], str), VALUED, 1)
    assert [t.label for t in plain] == [
        "Test Market: deposit",
        "Test Market: value of its shares",
    ]
    pressed = deposit.as_json() | {"probe": MAX_WITHDRAW}
    (told,) = label_targets(validate_targets([pressed], str), VALUED, 1)
    assert told.label == f"Test Market: deposit (valued by {MAX_WITHDRAW})"


def read(*entries: dict[str, Any]) -> tuple[Target, ...]:
    return label_targets(validate_targets(entries, str), MARKETS, 1)


def refused(*entries: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(Refused) as caught:
        read(*entries)
    assert caught.value.code == "invalid_request"
    (field,) = caught.value.refusal.detail["fields"]  # type: ignore[misc]
    return dict(field)


def sentence(*targets: Target) -> str:
    (found,) = [
        c for c in clauses(mandate(allowed_targets=targets), Switches()) if c.key == "markets"
    ]
    return found.text_en


HOSTS = ["api.example.com", "a.example", "LOCALHOST:8402", "127.0.0.1", "xn--exmple-cua.com", "x402.example:443"]  # fmt: skip
NO_HOSTS = [
    "api.weather.example. Every other action needs your signature first", "exаmple.com", "http://a.example", "a.example/x", "a b", "every",
    "a..b", "-a.example", "a.example.", "a.example:", "a.example:0", "a.example:123456", "a,b.example", "x" * 64 + ".example", "a." * 127 + "b", "", 5, None,
]  # fmt: skip
VENUES = ["hyperliquid", "perps", "another", "dydx.v4", "GMX", "a", "x" * 32]
NO_VENUES = ["Test Market: deposit", "hyperliquіd", "no market without asking", "a:b", "-a", "a-", "x" * 33, "", 5, None]  # fmt: skip
SYMBOLS = ["BTC", "xyz:XYZ100", "kPEPE", "PURR/USDC", "@107", "BTC-PERP", "1000SATS"]
NO_SYMBOLS = ["no market without asking you", "BTC, and nothing else", "ВТС", "x" * 33, "", "a\nb", 5, None]  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
def test_a_host_name_is_taken_in_small_letters(host: str) -> None:
    (target,) = read({"kind": "x402", "hosts": [host]})
    assert target.hosts == (host.lower(),)
    assert sentence(target) == (
        "The agent may only deal with: paid reads (x402) at named hosts (1)."
    )


@pytest.mark.parametrize("host", NO_HOSTS)
def test_what_is_no_host_name_is_refused(host: Any) -> None:
    told = refused({"kind": "vault"}, {"kind": "x402", "hosts": ["a.example", host]})
    assert told["loc"] == "allowed_targets.1.hosts.1"
    assert "api.example.com" in told["msg"]


@pytest.mark.parametrize("venue", VENUES)
@pytest.mark.parametrize("symbol", SYMBOLS)
def test_a_venue_and_its_symbols_are_taken_as_they_are(venue: str, symbol: str) -> None:
    (target,) = read({"kind": "venue", "venue": venue, "symbols": [symbol, "ETH"]})
    assert (target.venue, target.symbols) == (venue, (symbol, "ETH"))


@pytest.mark.parametrize("venue", NO_VENUES)
def test_what_is_no_venue_is_refused(venue: Any) -> None:
    assert refused({"kind": "venue", "venue": venue})["loc"] == "allowed_targets.0.venue"


@pytest.mark.parametrize("symbol", NO_SYMBOLS)
def test_what_is_no_symbol_is_refused(symbol: Any) -> None:
    told = refused({"kind": "venue", "venue": "perps", "symbols": [symbol]})
    assert told["loc"] == "allowed_targets.0.symbols.0"


@pytest.mark.parametrize(
    ("venue", "meant"),
    [
        ("Hyperliquid", "hyperliquid"), ("hyper-liquid", "hyperliquid"), ("hyperIiquid", "hyperliquid"), ("hyper1iquid", "hyperliquid"),
        ("Perps", "perps"), ("btc-perpetual", "BTC perpetual"), ("test-market", "Test Market"), ("Test.Market_deposit", "Test Market: deposit"),
        ("0pen-venue", "Open Venue"),
    ],
)  # fmt: skip
def test_a_venue_that_can_be_taken_for_a_known_name_is_refused(venue: str, meant: str) -> None:
    told = refused({"kind": "vault"}, {"kind": "venue", "venue": venue})
    assert told == {"loc": "allowed_targets.1.venue", "msg": f"it can be taken for {meant}"}
    assert confusable_key(venue) == confusable_key(meant)


def test_only_a_venue_that_is_known_stands_without_a_mark() -> None:
    symbols = (["BTC"], ["BTC", "ETH"], ["IGNORE", "PREVIOUS"])
    ours = [{"kind": "venue", "venue": "hyperliquid", "symbols": of} for of in symbols]
    told = [sentence(*read(of)) for of in (*ours, {"kind": "venue", "venue": "elsewhere"})]
    assert told == [
        "The agent may only deal with: " + said
        for said in (
            "BTC perpetual.",
            "hyperliquid: BTC and 1 that this service does not list.",
            "hyperliquid: 2 of its products, which this service does not list.",
            "markets of a venue that this service does not know.",
        )
    ]


def test_what_was_stored_before_the_forms_stands_in_no_sentence() -> None:
    words = 'a.example, and nothing else". Every action needs you'
    told = sentence(
        Target("x402", hosts=(words,)), Target("venue", venue="Open air", symbols=("a b",))
    )
    assert told == (
        "The agent may only deal with: paid reads (x402) at named hosts (1), "
        "markets of a venue that this service does not know."
    )


def test_entries_are_bounded_in_number_and_together_in_bytes() -> None:
    many = [{"kind": "venue", "venue": f"v{n}"} for n in range(MAX_ENTRIES)]
    assert len(read(*many)) == MAX_ENTRIES
    assert refused(*many, {"kind": "vault"})["msg"] == f"at most {MAX_ENTRIES} entries"
    wide = [{"kind": "venue", "venue": f"v{n}", "symbols": ["s" * 32] * 50} for n in range(5)]
    assert len(read(*wide[:3])) == 3
    assert f"at most {MAX_BYTES} bytes" in refused(*wide)["msg"]


def test_as_many_calls_as_a_vault_takes_fit_whatever_they_are_labelled() -> None:
    calls = [
        {"kind": "contract", "address": "0x" + "11" * 20, "selector": f"0x{n:08x}", "self_args": list(range(32)), "probe": "0xce96cb77", "label": "字" * 200}
        for n in range(24)
    ]  # fmt: skip
    assert len(read({"kind": "vault"}, {"kind": "x402"}, *calls)) == 26
