"""Logs of USDC and of a hub, paired within a transaction: what lacks its other half makes nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from chain.contracts.purse_logs import PURSES_A_CALL, paired, token_filters
from domain.chain_facts import BlockStamp, PurseFacts, VaultLog

STAMP = BlockStamp(7, "0x" + "07" * 32, datetime(2026, 11, 20, tzinfo=UTC))
USDC, HUB, VAULT, PURSE, OTHER, SELLER = ("0x" + f"{n:02x}" * 20 for n in range(0xA1, 0xA7))
PURSES = {p: PurseFacts(p, HUB, VAULT) for p in (PURSE, OTHER)}


def log(name: str, index: int, address: str = USDC, tx: str = "0x01", **args: Any) -> VaultLog:
    values = {"from" if n == "from_" else n: v for n, v in args.items()}
    return VaultLog(name, address, None, values, tx, index, STAMP)


def used(index: int, nonce: str = "0x05", purse: str = PURSE) -> VaultLog:
    return log("AuthorizationUsed", index, purse=purse, nonce=nonce)


def moved(index: int, sender: str, to: str, amount: int = 5) -> VaultLog:
    return log("Transfer", index, from_=sender, to=to, amount=amount)


def rows(*logs: VaultLog) -> list[tuple[str, int]]:
    return [(g.name, g.log_index) for g in paired(logs, PURSES)]


def test_a_payment_is_its_authorization_and_the_next_transfer() -> None:
    assert rows(used(1), moved(2, PURSE, SELLER)) == [("PursePaid", 2)]
    twice = (used(1), moved(2, PURSE, SELLER), used(3, "0x06"), moved(4, PURSE, SELLER, 9))
    told = paired(reversed(twice), PURSES)
    assert [(g.args["nonce"], g.args["amount"]) for g in told] == [("0x05", 5), ("0x06", 9)]


def test_a_payment_to_another_purse_is_in_both() -> None:
    told = paired((used(1), moved(2, PURSE, OTHER)), PURSES)
    assert {(g.name, g.address.lower()) for g in told} == {
        ("PursePaid", PURSE), ("PurseReceived", OTHER),
    }  # fmt: skip


@pytest.mark.parametrize(
    "logs",
    [
        (used(1),),
        (moved(2, PURSE, SELLER),),
        (moved(1, PURSE, SELLER), used(2)),
        (moved(1, VAULT, PURSE),),
        (moved(1, PURSE, VAULT),),
        (moved(1, PURSE, SELLER, 0),),
        (moved(1, SELLER, PURSE, 0),),
        (used(1, purse=SELLER), moved(2, SELLER, VAULT)),
        (log("PurseFunded", 2, SELLER, purse=PURSE, amount=5),),
    ],
)
def test_what_lacks_its_other_half_or_is_nothing_makes_no_row(logs: tuple[VaultLog, ...]) -> None:
    assert rows(*logs) == []


def test_what_the_hub_moves_is_no_gift_and_no_payment() -> None:
    funded = log("PurseFunded", 2, HUB, purse=PURSE, amount=5)
    assert rows(moved(1, VAULT, PURSE), funded) == [("PurseFunded", 2)]
    drained = log("PurseDrained", 6, HUB, purse=PURSE, amount=5, toOwner=2)
    out = (moved(4, PURSE, VAULT), moved(5, PURSE, SELLER, 2))
    assert rows(used(1), moved(2, PURSE, SELLER, 7), *out, drained) == [
        ("PursePaid", 2), ("PurseDrained", 6),
    ]  # fmt: skip


def test_logs_of_two_transactions_are_not_paired() -> None:
    one = log("AuthorizationUsed", 1, tx="0x01", purse=PURSE, nonce="0x05")
    other = log("Transfer", 2, tx="0x02", from_=PURSE, to=SELLER, amount=5)
    assert rows(one, other) == []


@pytest.mark.parametrize(("purses", "questions"), [(1, 2), (500, 2), (501, 4), (1_001, 6)])
def test_no_question_names_more_than_500_purses(purses: int, questions: int) -> None:
    filters = token_filters(USDC, [f"0x{n:040x}" for n in range(purses)])
    assert len(filters) == questions
    lists = [topic for f in filters for topic in f["topics"][1:] if topic]  # type: ignore[index]
    assert max(map(len, lists)) <= PURSES_A_CALL
    assert sum(map(len, lists)) == 2 * purses
