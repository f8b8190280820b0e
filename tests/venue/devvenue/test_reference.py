"""The examples of the venue's documents and cassettes beside what the local venue answers."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import devtools.devvenue
from devtools.devvenue import refusals
from tests.venue.devvenue.material import ALICE, BOB, BUILDER, KEY, Desk, address, limit

EXAMPLES: Final[dict[str, Any]] = json.loads((Path(__file__).parent / "examples.json").read_text())
DECIMAL: Final = re.compile(r"-?\d+\.\d+")
HEX: Final = re.compile(r"0x[0-9a-f]+")


def misfits(example: Any, answer: Any, at: str = "$") -> list[str]:
    """Where an answer lacks what an example has, or has it of another kind.

    A decimal string stays one, hex keeps its length; other texts and figures are free.
    """
    if type(example) is not type(answer):
        return [f"{at}: {example!r} beside {answer!r}"]
    if isinstance(example, dict):
        missing = [f"{at}.{key} is missing" for key in example if key not in answer]
        return missing + [
            fault
            for key in example
            if key in answer
            for fault in misfits(example[key], answer[key], f"{at}.{key}")
        ]
    if isinstance(example, list):
        if len(answer) < min(1, len(example)):
            return [f"{at}: nothing to compare"]
        pairs = zip(example, answer, strict=False)
        return [f for n, pair in enumerate(pairs) for f in misfits(*pair, f"{at}[{n}]")]
    if isinstance(example, str) and bool(DECIMAL.fullmatch(example)):
        return [] if DECIMAL.fullmatch(answer) else [f"{at}: {answer!r} is no decimal"]
    if isinstance(example, str) and HEX.fullmatch(example):
        fits = HEX.fullmatch(answer) and len(answer) == len(example)
        return [] if fits else [f"{at}: {answer!r} is no such hex"]
    return []


@pytest.fixture
def desk() -> Desk:
    """A venue with a short, a fill for a builder, a close, a resting order and a refused one."""
    made = Desk()
    btc = made.id("BTC")
    made.approve(ALICE, address(KEY), "ok")
    made.approve_builder(ALICE, "0.001%")
    builder = {"b": address(BUILDER), "f": 1}
    made.order(ALICE, limit(btc, False, "63000", "1", "Ioc"), builder=builder)
    made.order(BOB, limit(btc, True, "64500", "0.001", "Ioc"))
    made.order(BOB, limit(btc, False, "63000", "0.001", "Ioc", reduce=True))
    made.order(ALICE, limit(btc, True, "60000", "0.001"))
    made.order(ALICE, limit(btc, True, "60000", "0.001", "Ioc"))
    return made


def context(ingest_context: Desk, coin: str) -> Any:
    market = ingest_context.venue.market(coin)
    rows = ingest_context.ask("metaAndAssetCtxs", dex=market.dex)
    return rows[1][[row["name"] for row in rows[0]["universe"]].index(coin)]


def without_book(ingest_context: Desk) -> Any:
    ingest_context.venue.book("SOL", [], [])
    return context(ingest_context, "SOL")


def predicted(ingest_context: Desk) -> Any:
    """The other exchange's rate is null here: only this venue's own is compared."""
    coin, rows = ingest_context.ask("predictedFundings")[0]
    return [[coin, [[rows[0][0], rows[1][1]], rows[1]]]]


BUILDER_QUERY: Final = {"builder": BUILDER.address}
ANSWERS: Final[dict[str, Callable[[Desk], Any]]] = {
    "meta": lambda d: d.ask("meta"),
    "meta dex=xyz": lambda d: d.ask("meta", dex="xyz"),
    "ctx xyz:XYZ100": lambda d: context(d, "xyz:XYZ100"),
    "ctx, no book": without_book,
    "perpDexs": lambda d: d.ask("perpDexs"),
    "spotMeta": lambda d: d.ask("spotMeta"),
    "allMids": lambda d: d.ask("allMids"),
    "l2Book": lambda d: d.ask("l2Book", coin="DYDX"),
    "fundingHistory": lambda d: d.ask("fundingHistory", coin="BTC", startTime=0),
    "predictedFundings": predicted,
    "historicalOrders": lambda d: d.ask("historicalOrders", ALICE),
    "openOrders": lambda d: d.ask("openOrders", ALICE),
    "userFills": lambda d: d.ask("userFills", BOB),
    "fill with builder": lambda d: d.ask("userFills", ALICE)[-1],
    "userFees": lambda d: d.ask("userFees", ALICE),
    "portfolio": lambda d: d.ask("portfolio", ALICE),
    "clearinghouseState": lambda d: d.ask("clearinghouseState", ALICE),
    "spotClearinghouseState": lambda d: d.ask("spotClearinghouseState", ALICE),
    "maxBuilderFee": lambda d: d.ask("maxBuilderFee", ALICE, **BUILDER_QUERY),
    "extraAgents": lambda d: d.ask("extraAgents", ALICE),
    "userRole": lambda d: d.ask("userRole", BOB),
    "orderStatus": lambda d: d.ask("orderStatus", ALICE, oid=1),
    "perpCategories": lambda d: d.ask("perpCategories"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_answer_has_all_that_its_example_has(desk: Desk, name: str) -> None:
    assert misfits(EXAMPLES[name], ANSWERS[name](desk)) == []


@pytest.mark.parametrize("name", ["userRole", "orderStatus", "maxBuilderFee"])
def test_an_answer_without_figures_is_the_example(desk: Desk, name: str) -> None:
    assert ANSWERS[name](desk) == EXAMPLES[name]


def test_the_refused_order_of_the_example_is_told_the_same(desk: Desk) -> None:
    shown, told = EXAMPLES["historicalOrders"][0], ANSWERS["historicalOrders"](desk)[0]
    assert told["status"] == shown["status"] == "iocCancelRejected"
    for key in ("side", "tif", "cloid", "orderType", "children", "triggerCondition", "triggerPx"):
        assert told["order"][key] == shown["order"][key]


@pytest.mark.parametrize("user", ["0x12", "nobody", KEY.address, "0x" + "99" * 20])
@pytest.mark.parametrize("kind", ["historicalOrders", "userFills", "openOrders", "extraAgents"])
def test_a_malformed_a_strange_and_an_agents_address_are_answered_empty(
    desk: Desk, kind: str, user: str
) -> None:
    assert desk.ask(kind, user=user) == []


# The texts on record, as the documents, ccxt's list and transcripts have them.
TEXTS: Final = """
Price must be divisible by tick size.
Order must have minimum value of $10.
Insufficient margin to place order.
Reduce only order would increase position.
Post only order would have immediately matched, bbo was 1@2.
Order could not immediately match against any resting orders.
No liquidity available for market order.
Order price cannot be more than 80% away from the reference price
Order price too far from oracle
Order would increase open interest while open interest is capped
Order rejected due to price more aggressive than oracle while at open interest cap
Order would increase open interest too quickly
Order would cause position to exceed margin tier limit at current leverage
Order has invalid size.
Order has zero size.
Order has invalid price.
Builder fee has not been approved.
User or API Wallet 0x12 does not exist.
Must deposit before performing actions. User: 0x12
Invalid nonce: duplicate nonce 7
Too many extra agents for cumulative volume traded. Current limit is 3
Extra agent already used.
Agent valid_until already expired.
User has pending agent removal
Only post-only orders allowed immediately after network upgrade
Action already expired
Order was never placed, already canceled, or filled.
""".strip().splitlines()
MADE: Final = {
    refusals.post_only("1@2"),
    refusals.unknown_wallet("0x12"),
    refusals.must_deposit("0x12"),
    refusals.duplicate_nonce(7),
    refusals.too_many_agents(3),
}


@pytest.mark.parametrize("text", TEXTS)
def test_the_words_on_record_are_the_local_venues(text: str) -> None:
    said = {value for value in vars(refusals).values() if isinstance(value, str)}
    assert text in said | MADE


def test_it_uses_nothing_of_the_code_that_is_tested_against_it() -> None:
    for module in Path(str(devtools.devvenue.__file__)).parent.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            ours = ("venue", "chain", "domain", "tools", "storage", "server")
            for name in names:
                assert name.split(".")[0] not in ours or name.startswith("devtools.devvenue."), name
