"""Agents and builders at the local venue, as the venue's testnet was measured."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount

from devtools.devvenue import Malformed
from tests.venue.devvenue.material import (
    ALICE,
    BOB,
    BUILDER,
    KEY,
    START,
    STRANGER,
    Desk,
    address,
    limit,
)

DAY = 86_400_000
ZERO_ADDRESS = "0x" + "00" * 20
PENDING = "User has pending agent removal"
EXPIRED = "Agent valid_until already expired."


@pytest.fixture
def desk() -> Desk:
    return Desk()


def another(n: int) -> LocalAccount:
    return Account.from_key(n.to_bytes(32, "big"))


def noop(ingest_context: Desk, who: LocalAccount, **more: Any) -> str:
    told = ingest_context.act(who, {"type": "noop"}, **more)
    return "ok" if told["status"] == "ok" else str(told["response"])


def test_an_agent_acts_for_its_master_and_is_listed_under_it(desk: Desk) -> None:
    until = START + DAY
    assert desk.approve(ALICE, address(KEY), f"key valid_until {until}") == "ok"
    row = {"name": "key", "address": address(KEY), "validUntil": until}
    assert desk.ask("extraAgents", ALICE) == [row]
    assert desk.ask("userRole", KEY) == {"role": "agent", "data": {"user": address(ALICE)}}
    asset = desk.id("BTC")
    resting = desk.order(KEY, limit(asset, True, "60000", "0.001"))["resting"]
    assert desk.ask("openOrders", ALICE)[0]["oid"] == resting["oid"]
    assert desk.ask("openOrders", KEY) == []


def test_without_a_date_an_agent_lives_ninety_days(desk: Desk) -> None:
    desk.approve(ALICE, address(KEY), "key")
    assert desk.ask("extraAgents", ALICE)[0]["validUntil"] == START + 90 * DAY


@pytest.mark.parametrize(
    ("until", "words"),
    [
        (START - 1, EXPIRED),
        (START, EXPIRED),
        (START + 180 * DAY, "ok"),
        (START + 180 * DAY + 1, EXPIRED),
    ],
)
def test_an_agent_lives_at_most_180_days(desk: Desk, until: int, words: str) -> None:
    assert desk.approve(ALICE, address(KEY), f"key valid_until {until}") == words


def test_there_are_three_named_places_and_an_unnamed_one_that_is_not_listed(desk: Desk) -> None:
    for n in (1, 2, 3):
        assert desk.approve(ALICE, address(another(n)), f"n{n}") == "ok"
    words = "Too many extra agents for cumulative volume traded. Current limit is 3"
    assert desk.approve(ALICE, address(another(4)), "n4") == words
    assert desk.approve(ALICE, address(another(5))) == "ok"
    assert [row["name"] for row in desk.ask("extraAgents", ALICE)] == ["n1", "n2", "n3"]
    assert desk.ask("userRole", another(5))["role"] == "agent"
    assert noop(desk, another(5)) == "ok"


def test_the_same_name_rotates_and_the_old_key_dies_at_once(desk: Desk) -> None:
    desk.approve(ALICE, address(another(1)), "key")
    assert desk.approve(ALICE, address(another(2)), "key") == "ok"
    gone = f"Must deposit before performing actions. User: {address(ALICE)}"
    assert noop(desk, another(1)) == gone
    assert noop(desk, another(2)) == "ok"
    assert len(desk.ask("extraAgents", ALICE)) == 1
    assert desk.approve(ALICE, address(another(3)), "other") == PENDING
    desk.now += 5_001
    unknown = f"User or API Wallet {address(another(1))} does not exist."
    assert noop(desk, another(1)) == unknown


def test_address_zero_removes_and_the_removal_is_pending_for_five_seconds(desk: Desk) -> None:
    desk.approve(ALICE, address(KEY), "key")
    assert desk.approve(ALICE, ZERO_ADDRESS, "key") == "ok"
    assert desk.ask("extraAgents", ALICE) == []
    assert noop(desk, KEY) == f"User or API Wallet {address(KEY)} does not exist."
    assert desk.approve(ALICE, address(another(1)), "key") == PENDING
    late = f"key valid_until {START - 1}"
    assert desk.approve(ALICE, address(another(1)), late) == EXPIRED
    assert desk.approve(BOB, address(another(2)), "key") == "ok"
    desk.now += 5_000
    assert desk.approve(ALICE, address(another(1)), "key") == "ok"


def test_an_expired_key_trades_on_until_the_venue_looks(desk: Desk) -> None:
    desk.approve(ALICE, address(KEY), f"key valid_until {START + 15_000}")
    desk.now += 891_000
    assert noop(desk, KEY) == "ok"
    assert desk.ask("extraAgents", ALICE)[0]["validUntil"] == START + 15_000
    desk.venue.prune(ALICE.address)
    assert desk.ask("extraAgents", ALICE) == []
    assert noop(desk, KEY) != "ok"


def test_another_approval_prunes_the_expired(desk: Desk) -> None:
    for n in (1, 2, 3):
        desk.approve(ALICE, address(another(n)), f"n{n} valid_until {START + 1}")
    desk.now += 2
    assert desk.approve(ALICE, address(another(4)), "n4") == "ok"
    assert [row["name"] for row in desk.ask("extraAgents", ALICE)] == ["n4"]


def test_an_address_is_an_agent_once(desk: Desk) -> None:
    used = "Extra agent already used."
    desk.approve(ALICE, address(KEY), "key")
    assert desk.approve(ALICE, address(KEY), "key") == used
    assert desk.approve(BOB, address(KEY), "key") == used
    assert desk.approve(ALICE, address(BOB), "bob") == used
    desk.approve(ALICE, ZERO_ADDRESS, "key")
    desk.now += 5_000
    assert desk.approve(ALICE, address(KEY), "key") == used


def test_where_addresses_may_return_an_old_action_may_too(desk: Desk) -> None:
    desk.rules.refuse_reused_agents = False
    desk.approve(ALICE, address(KEY), "key")
    wire = limit(desk.id("BTC"), True, "64500", "0.001", "Ioc")
    old = desk.l1(KEY, {"type": "order", "orders": [wire], "grouping": "na"})
    desk.venue.exchange(old)
    assert "duplicate nonce" in desk.venue.exchange(old)["response"]
    desk.approve(ALICE, ZERO_ADDRESS, "key")
    desk.now += 5_000
    assert desk.approve(ALICE, address(KEY), "key") == "ok"
    assert desk.venue.exchange(old)["status"] == "ok"
    position = desk.position(ALICE, "BTC")
    assert position
    assert position["szi"] == "0.002"


def test_an_agent_approves_nobody_and_no_vault_does(desk: Desk) -> None:
    desk.approve(ALICE, address(KEY), "key")
    words = f"Must deposit before performing actions. User: {address(KEY)}"
    assert desk.approve(KEY, address(another(1)), "mine") == words
    vault = "0x" + "5b" * 20
    body = desk.agent_envelope(ALICE, address(another(1)), "x") | {"vaultAddress": vault}
    assert desk.venue.exchange(body)["response"] == "Vault may not perform this action."
    assert noop(desk, ALICE, vault=vault) == f"Vault not registered: {vault}"


def test_a_name_is_sixteen_characters_and_the_date_is_none_of_them(desk: Desk) -> None:
    until = START + DAY
    assert desk.approve(ALICE, address(another(1)), f"{'n' * 16} valid_until {until}") == "ok"
    with pytest.raises(Malformed):
        desk.approve(ALICE, address(another(2)), "n" * 17)


def builder_order(ingest_context: Desk, fee: int) -> Any:
    wire = limit(ingest_context.id("BTC"), True, "64500", "0.001", "Ioc")
    return ingest_context.order(ALICE, wire, builder={"b": address(BUILDER), "f": fee})


def test_a_builder_takes_no_more_than_was_approved_and_nothing_unapproved(desk: Desk) -> None:
    words = "Builder fee has not been approved."
    assert builder_order(desk, 0) == words
    assert desk.approve_builder(ALICE, "0.05%") == "ok"
    asked = {"type": "maxBuilderFee", "user": ALICE.address, "builder": BUILDER.address}
    assert desk.venue.info(asked) == 50
    assert builder_order(desk, 51) == words
    assert "filled" in builder_order(desk, 50)
    assert desk.approve_builder(ALICE, "0%") == "ok"
    assert desk.venue.info(asked) == 0
    assert builder_order(desk, 1) == words


def test_the_fee_includes_the_builders_part_and_reaches_the_builder(desk: Desk) -> None:
    desk.approve_builder(ALICE, "0.1%")
    builder_order(desk, 100)
    (fill,) = desk.ask("userFills", ALICE)
    assert (fill["px"], fill["sz"]) == ("64001.0", "0.001")
    assert fill["builderFee"] == "0.064001"
    assert fill["fee"] == "0.092801"
    assert desk.venue.account(BUILDER.address).builder_rewards == Decimal("0.064001")


def test_a_builder_has_a_hundred_dollars_and_a_user_ten_builders(desk: Desk) -> None:
    poor = "Builder has insufficient balance to be approved."
    assert desk.approve_builder(ALICE, "0.1%", address(STRANGER)) == poor
    for n in range(10):
        desk.venue.deposit(another(n + 1).address, 100)
        assert desk.approve_builder(ALICE, "0.1%", address(another(n + 1))) == "ok"
    assert desk.approve_builder(ALICE, "0.1%") != "ok"
    assert desk.approve_builder(ALICE, "0%", address(another(1))) == "ok"
    assert desk.approve_builder(ALICE, "0.1%") == "ok"


@pytest.mark.parametrize("rate", ["0.1", "1.001%", "-1%", "0.0005%", "%", "1e-1%"])
def test_a_rate_is_a_percentage_up_to_one(desk: Desk, rate: str) -> None:
    with pytest.raises(Malformed):
        desk.approve_builder(ALICE, rate)
