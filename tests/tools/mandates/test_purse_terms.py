"""Terms with a purse: what they may say, and the entries that they become."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from chain.contracts import eip712
from domain.mandates.targets import DEFAULT_TARGETS
from tests.tools.paying import paid_targets
from tests.world import Evm, Mandated, World, a_world, drafted

pytestmark = pytest.mark.anyio
FUND, DRAIN = "0xca1d209d", "0x9890220b"
PAYEE = "0x00000000000000000000000000000000000000A1"


@pytest.fixture
async def world(sqlite_url: str, evm: Evm) -> AsyncIterator[World]:
    async with a_world(sqlite_url, evm, purses=True) as opened:
        yield opened


def _plain(world: World) -> str:
    assert world.facts is not None
    return world.facts.purse_hub or ""


async def _entries(m: Mandated) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = (await m.read())["mandate"]["allowed_targets"]
    return entries


def _calls(entries: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(t["address"], t["selector"]) for t in entries if t["kind"] == "contract"]


async def _corrected(
    m: Mandated, targets: list[dict[str, Any]], **more: Any
) -> list[dict[str, Any]]:
    body = {"budget_usdc": "500", "chain_id": 31337, "agent_id": m.agent.user_id} | more
    told = await m.as_owner("owner_mandate_correct", allowed_targets=targets, **body)
    assert told.status == 200, told.body
    return await _entries(m)


async def test_a_purse_becomes_the_two_calls_of_the_plain_hub(world: World) -> None:
    entries = await _entries(await drafted(world, allowed_targets=paid_targets()))
    hub = _plain(world)
    assert _calls(entries) == [(hub, FUND), (hub, DRAIN)]
    assert entries[1] == {"kind": "x402", "hosts": [], "purse": {"payees": [], "hub": hub}}
    assert all(t["probe"] is None and t["market"] is None for t in entries[2:])


async def test_limits_have_a_hub_of_their_own_and_stand_in_both_hashes(world: World) -> None:
    m = await drafted(world, allowed_targets=paid_targets(per_payment_usdc="1", payees=[PAYEE]))
    kept = await world.store.read(lambda uow: uow.mandates.get(m.id))
    assert kept is not None
    hub = next(t.purse.hub for t in kept.allowed_targets if t.purse)
    assert hub != _plain(world)
    other = await _corrected(m, paid_targets(per_payment_usdc="2", payees=[PAYEE]))
    assert {at for at, _ in _calls(other)} != {hub}
    after = await world.store.read(lambda uow: uow.mandates.get(m.id))
    assert after is not None
    for hashed in (eip712.targets_hash, eip712.guard_hash):
        assert hashed(kept.allowed_targets) != hashed(after.allowed_targets)


async def test_terms_without_a_purse_are_what_they_were(world: World) -> None:
    """The hashes of the default targets, from before there were purses."""
    assert [t.as_json() for t in DEFAULT_TARGETS] == [
        {"kind": "vault"}, {"kind": "x402", "hosts": []},
    ]  # fmt: skip
    m = await drafted(world, allowed_targets=[{"kind": "vault"}, {"kind": "x402"}])
    assert await _entries(m) == [{"kind": "vault"}, {"kind": "x402", "hosts": []}]


async def test_what_was_read_can_be_put_back_and_changed(world: World) -> None:
    m = await drafted(world, allowed_targets=paid_targets(per_day_usdc="20"))
    read = await _entries(m)
    assert await _corrected(m, read) == read
    changed = [
        t | {"purse": t["purse"] | {"per_day_usdc": "30"}} if "purse" in t else t for t in read
    ]
    after = await _corrected(m, changed)
    assert len(_calls(after)) == 2
    assert {at for at, _ in _calls(after)}.isdisjoint({at for at, _ in _calls(read)})


async def test_a_hub_that_is_named_by_hand_is_the_same_purse(world: World) -> None:
    by_hand = [{"kind": "contract", "address": _plain(world), "selector": FUND}]
    entries = await _entries(await drafted(world, allowed_targets=by_hand))
    named = await _entries(await drafted(world, allowed_targets=[{"kind": "x402", "purse": {}}]))
    assert entries == named


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"selector": FUND, "probe": "0x12345678"}, "no probe values it"),
        ({"selector": "0x01681a62"}, "only fund(uint256) and drain()"),
    ],
)
async def test_of_a_hub_no_other_call_and_no_probe_is_listed(
    world: World, entry: dict[str, str], problem: str
) -> None:
    listed = [{"kind": "contract", "address": _plain(world)} | entry]
    m = await drafted(world)
    told = await m.as_owner(
        "owner_mandate_correct", budget_usdc="500", chain_id=31337, allowed_targets=listed
    )
    assert told.body["error"] == "invalid_request"
    assert problem in told.body["detail"]["fields"][0]["msg"]


@pytest.mark.parametrize(
    "purse",
    [
        {"per_payment_usdc": "100.000001"}, {"per_day_usdc": "250.000001"}, {"float_usdc": "250.000001"},
        {"per_payment_usdc": "0"}, {"float_usdc": "-1"}, {"per_payment_usdc": "20", "float_usdc": "10"},
        {"payees": ["0x12"]}, {"payees": [PAYEE, PAYEE.lower()]}, {"payees": "anybody"}, {"hosts": []},
        {"per_day_usdc": "1.0000001"}, {"payees": [PAYEE] * 51}, {"hub": 5}, [],
    ],
)  # fmt: skip
async def test_limits_that_are_none_or_above_the_mandates_are_refused(
    world: World, purse: object
) -> None:
    m = await drafted(world)
    told = await m.as_owner(
        "owner_mandate_correct", budget_usdc="500", per_tx_cap_usdc="100", daily_cap_usdc="250",
        chain_id=31337, allowed_targets=[{"kind": "x402", "purse": purse}],
    )  # fmt: skip
    assert told.status == 400, told.body
    assert told.body["error"] in ("invalid_request", "invalid_number", "invalid_address")


async def test_without_a_hub_no_terms_have_a_purse(sqlite_url: str, evm: Evm) -> None:
    async with a_world(sqlite_url, evm) as world:
        m = await drafted(world)
        for purse in ({}, {"per_payment_usdc": "1"}):
            told = await m.as_owner(
                "owner_mandate_correct", budget_usdc="500", chain_id=31337,
                allowed_targets=[{"kind": "x402", "purse": purse}],
            )  # fmt: skip
            assert told.body["error"] == "not_configured"


OTHER_HUB = "0x" + "b7" * 20


@pytest.mark.parametrize(
    "targets",
    [
        [{"kind": "x402", "purse": {}}, {"kind": "x402", "purse": {"per_payment_usdc": "1"}}],
        [{"kind": "x402", "hosts": ["a.example"]}, {"kind": "x402", "purse": {}}],
        [{"kind": "x402", "purse": {}}, {"kind": "contract", "address": OTHER_HUB, "selector": FUND}],
        [{"kind": "contract", "address": OTHER_HUB, "selector": DRAIN}, {"kind": "x402", "purse": {}}],
    ],
)  # fmt: skip
async def test_terms_have_one_purse_of_one_hub(world: World, targets: list[dict[str, Any]]) -> None:
    m = await drafted(world)
    told = await m.as_owner(
        "owner_mandate_correct", budget_usdc="500", chain_id=31337, allowed_targets=targets
    )
    assert (told.status, told.body.get("error")) == (400, "invalid_request"), told.body


async def test_the_order_of_payees_makes_no_other_hub(world: World) -> None:
    listed = [PAYEE, "0x00000000000000000000000000000000000000B2"]
    made = [
        await _entries(await drafted(world, allowed_targets=paid_targets(payees=some)))
        for some in (listed, listed[::-1])
    ]
    assert _calls(made[0]) == _calls(made[1])


async def test_a_payee_of_a_wrong_checksum_is_refused(world: World) -> None:
    m = await drafted(world)
    wrong = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD".replace("Ae", "aE", 1)
    told = await m.as_owner(
        "owner_mandate_correct", budget_usdc="500", chain_id=31337,
        allowed_targets=paid_targets(payees=[wrong]),
    )  # fmt: skip
    assert told.body.get("error") == "invalid_address", told.body
