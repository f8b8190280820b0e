"""Approving an order key: one action type, rebuilt from our own fields, and verified by the venue's own list."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from eth_account import Account

from devtools.devvenue import VenueFault
from domain.refusals import Refused, refusal
from domain.trading.venue_account import ZERO_ADDRESS, agent_name, milliseconds
from tests.tools.trading.conftest import Desk, Person, order_key, signed_name
from tests.tools.trading.signers import a_signer

pytestmark = pytest.mark.anyio


async def refused(desk: Desk, p: Person, **request: Any) -> tuple[int, str]:
    reply = await desk.refused("own_enable_relay", p.caller, **request)
    return reply.status, str(reply.body["error"])


async def verified(desk: Desk, p: Person) -> bool:
    return bool((await desk.ok("own_enable_verify", p.caller))["enabled"])


def posted(desk: Desk) -> list[str]:
    """What the venue was told to approve."""
    return [a for account in desk.test.state.accounts.values() for a in account.agents]


async def test_an_approved_key_is_named_by_the_venue_and_enabled(both: Desk) -> None:
    p, key = await both.linked(), order_key(1)
    told = await both.enabled(p, key)
    assert (told["relayed"], told["venue"], told["agent"]["address"]) == (True, "ok", key)
    assert told["verify_after"] == "2026-11-20T12:00:02.000Z"
    assert (await both.ok("own_status", p.caller))["enabled"] is True
    verified = await both.ok("own_enable_verify", p.caller)
    assert (verified["enabled"], verified["agent"]["address"]) == (True, key)
    assert verified["agent"]["name"] == agent_name(str(p.caller.user_id), "testnet", "order")
    status = await both.ok("own_status", p.caller)
    assert status["order_key"]["address"] == key
    assert [s["step"] for s in status["next"]] == ["builder_fee"]


async def test_somebody_without_a_link_approves_nothing(desk: Desk) -> None:
    p = await desk.person()
    assert await refused(desk, p, **desk.approval(p, order_key(1))) == (409, "not_linked")
    assert (await desk.refused("own_enable_verify", p.caller)).body["error"] == "not_linked"


async def test_every_field_is_under_the_signature(desk: Desk) -> None:
    p = await desk.linked()
    asked = desk.approval(p, order_key(1))
    name = agent_name(str(p.caller.user_id), "testnet", "order")
    for other in (
        {"agent_address": order_key(2)},
        {"nonce": asked["nonce"] + 1},
        {"signature_chain_id": "0x1"},
        {"agent_name": signed_name(name, desk.clock.now() + timedelta(days=8))},
    ):
        assert await refused(desk, p, **(asked | other)) == (400, "invalid_signature"), other
    # abuse 08: and the network
    until = signed_name(name, desk.clock.now() + timedelta(days=1))
    asked = desk.approval(p, order_key(1), network="mainnet", agent_name=until)
    assert await refused(desk, p, **asked) == (400, "invalid_signature")
    assert await desk.rows("venue_agent_keys") == []


async def test_abuse_12_another_action_type_or_destination_is_not_even_a_field(desk: Desk) -> None:
    p = await desk.linked()
    asked = desk.approval(p, order_key(1))
    for more in (
        {"type": "withdraw3"},
        {"action": {"type": "usdSend"}},
        {"hyperliquid_chain": "Mainnet"},
        {"destination": order_key(2)},
        {"vaultAddress": order_key(3)},
    ):
        assert await refused(desk, p, **asked, **more) == (400, "invalid_request")
    assert await desk.rows("venue_agent_keys") == []


async def test_abuse_12_a_signature_over_a_withdrawal_approves_nothing_and_sends_nothing(
    desk: Desk,
) -> None:
    p = await desk.linked()
    typed = {
        "domain": {"name": "HyperliquidSignTransaction", "version": "1", "chainId": 42161, "verifyingContract": ZERO_ADDRESS},
        "types": {"HyperliquidTransaction:Withdraw": [{"name": "hyperliquidChain", "type": "string"}, {"name": "destination", "type": "string"}, {"name": "amount", "type": "string"}, {"name": "time", "type": "uint64"}]},
        "primaryType": "HyperliquidTransaction:Withdraw",
        "message": {"hyperliquidChain": "Testnet", "destination": order_key(9), "amount": "900", "time": 1},
    }  # fmt: skip
    made = p.wallet.sign_typed_data(full_message=typed)
    asked = desk.approval(p, order_key(1)) | {
        "signature": {"r": f"0x{made.r:064x}", "s": f"0x{made.s:064x}", "v": made.v}
    }
    assert await refused(desk, p, **asked) == (400, "invalid_signature")
    assert posted(desk) == []


BAD = (400, "invalid_request")


async def test_abuse_12_the_owner_as_agent_the_zero_address_and_a_used_agent_are_refused(
    desk: Desk,
) -> None:
    p, other = await desk.linked(), await desk.linked()
    assert await refused(desk, p, **desk.approval(p, p.wallet.address)) == BAD
    assert await refused(desk, p, **desk.approval(p, ZERO_ADDRESS)) == BAD
    await desk.enabled(p, order_key(1))
    for who in (p, other):
        assert await refused(desk, who, **desk.approval(who, order_key(1))) == (409, "conflict")


async def test_a_wrong_end_name_or_nonce_is_refused_and_nothing_is_kept(desk: Desk) -> None:
    p, now, day = await desk.linked(), milliseconds(desk.clock.now()), 86_400_000
    for change in (
        {"lasts": timedelta(days=30, seconds=1)},
        {"lasts": timedelta(0)},
        {"lasts": timedelta(days=-1)},
        {"agent_name": "wsvc-o-000000"},
        {"agent_name": "other valid_until 1795000000000"},
        {"agent_name": ""},
        {"nonce": 0},
        {"nonce": 1_795_000_000_000_000},
        # abuse 36: a clock that is off, by a day or by more than five minutes
        *({"nonce": now + skew} for skew in (-day - 1, day + 1, -300_001, 300_001)),
    ):
        assert await refused(desk, p, **desk.approval(p, order_key(1), **change)) == BAD, change
    assert await desk.rows("venue_agent_keys") == []
    for n, nonce in enumerate((now - 300_000, now + 300_000)):
        await desk.enabled(p, order_key(10 + n), lasts=timedelta(days=30), nonce=nonce)


async def test_a_nonce_is_used_once_and_the_very_same_request_is_answered_the_same(
    both: Desk,
) -> None:
    p = await both.linked()
    asked = both.approval(p, order_key(1))
    first = await both.ok("own_enable_relay", p.caller, **asked)
    assert await both.ok("own_enable_relay", p.caller, **asked) == first
    again = both.approval(p, order_key(2), nonce=asked["nonce"])
    assert await refused(both, p, **again) == (409, "conflict")
    both.clock.forward(seconds=1)
    await both.enabled(p, order_key(2))
    told = await both.ok("own_enable_verify", p.caller)
    assert told["agent"]["address"] == order_key(2), "it takes the old key's place"
    ended = {r["agent_lower"]: bool(r["ended_at"]) for r in await both.rows("venue_agent_keys")}
    assert ended == {order_key(1).lower(): True, order_key(2).lower(): False}


def revocation(desk: Desk, p: Person, agent: str = ZERO_ADDRESS, **changes: Any) -> dict[str, Any]:
    name = agent_name(str(p.caller.user_id), "testnet", "order")
    return desk.approval(p, agent, revoke=True, **({"agent_name": name} | changes))


async def test_abuse_09_a_key_revoked_one_second_ago_is_dead_though_the_venue_still_lists_it(
    desk: Desk,
) -> None:
    p = await desk.linked()
    await desk.enabled(p, order_key(1))
    await desk.ok("own_enable_verify", p.caller)
    still = desk.test.info({"type": "extraAgents", "user": p.wallet.address})
    desk.clock.forward(seconds=1)
    told = await desk.ok("own_enable_relay", p.caller, **revocation(desk, p))
    assert told["agent"] is None
    desk.test.faults.add(VenueFault(effect="malformed", kind="extraAgents", value=still))
    desk.clock.forward(seconds=1)
    assert not await verified(desk, p)
    status = await desk.ok("own_status", p.caller)
    assert (status["enabled"], status["order_key"]) == (False, None)


async def test_a_revocation_that_gets_no_answer_ends_the_key_here_at_once(desk: Desk) -> None:
    p = await desk.linked()
    await desk.enabled(p, order_key(1))
    desk.clock.forward(seconds=1)
    desk.test.faults.add(VenueFault(effect="status", status=500))
    assert await refused(desk, p, **revocation(desk, p)) == (504, "outcome_unknown")
    desk.test.faults.clear()
    desk.clock.forward(seconds=5)
    assert not await verified(desk, p)


async def test_only_a_name_that_was_approved_here_is_revoked_and_only_by_the_zero_address(
    desk: Desk,
) -> None:
    p = await desk.linked()
    assert await refused(desk, p, **revocation(desk, p)) == BAD
    await desk.enabled(p, order_key(1))
    assert await refused(desk, p, **revocation(desk, p, agent_name="somebody else's")) == BAD
    assert await refused(desk, p, **revocation(desk, p, order_key(2))) == BAD


async def test_abuse_10_a_key_past_its_end_by_our_clock_is_refused_though_the_venue_still_takes_it(
    desk: Desk,
) -> None:
    p = await desk.linked()
    await desk.enabled(p, order_key(1), lasts=timedelta(hours=1))
    await desk.ok("own_enable_verify", p.caller)
    desk.clock.forward(hours=1)
    listed = desk.test.info({"type": "extraAgents", "user": p.wallet.address})
    assert listed, "the venue's own end is lazy"
    assert not await verified(desk, p)
    status = await desk.ok("own_status", p.caller)
    assert (status["enabled"], status["order_key"]) == (False, None)


async def test_abuse_11_after_a_wallet_went_to_another_owner_the_former_ones_keys_are_dead(
    both: Desk,
) -> None:
    former, heir = await both.linked(), await both.person()
    await both.enabled(former, order_key(1))
    await both.ok("own_enable_verify", former.caller)

    def end(uow: Any) -> None:
        link = uow.venue.link_to(former.wallet.address, "testnet")
        assert link is not None
        uow.venue.end_link(link.link_id, "sold", both.clock.now())

    await both.store.write(end)
    told = await both.challenge(heir, former.wallet.address)
    await both.ok("own_link", heir.caller, **both.answered(told, former.wallet))
    for p in (former, heir):
        status = await both.ok("own_status", p.caller)
        assert (status["enabled"], status["order_key"]) == (False, None)
    assert (await both.ok("own_status", former.caller))["linked"] is False
    assert (await both.ok("own_enable_verify", heir.caller))["enabled"] is False
    asked = both.approval(Person(heir.caller, former.wallet), order_key(1))
    assert await refused(both, heir, **asked) == (409, "conflict")


async def test_a_key_is_looked_for_twice_and_not_enabled_once_the_venue_names_it_no_more(
    desk: Desk,
) -> None:
    p = await desk.linked()
    await desk.enabled(p, order_key(1))
    none = VenueFault(effect="malformed", kind="extraAgents", value=[], times=1)
    desk.test.faults.add(none)
    assert await verified(desk, p)
    desk.test.faults.add(VenueFault(effect="malformed", kind="extraAgents", value=[]))
    desk.clock.forward(minutes=2)
    assert (await desk.ok("own_status", p.caller))["enabled"] is False
    assert not await verified(desk, p)


# -- what the venue refuses ----------------------------------------------------------------------------------------


async def test_too_many_agents_and_no_deposit_are_told_with_what_to_do(desk: Desk) -> None:
    p = await desk.linked()
    desk.test.rules.extra_agents = 0
    reply = await desk.refused("own_enable_relay", p.caller, **desk.approval(p, order_key(1)))
    assert (reply.status, reply.body["error"]) == (409, "agent_slots_full")
    assert reply.body["detail"]["venue"].startswith("Too many extra agents")
    poor = await desk.linked(deposit=None)
    asked = desk.approval(poor, order_key(2))
    assert await refused(desk, poor, **asked) == (409, "account_unfunded")
    assert (await desk.ok("own_status", poor.caller))["order_key"] is None


async def test_a_removal_under_way_is_waited_for(desk: Desk) -> None:
    p = await desk.linked()
    await desk.enabled(p, order_key(1))
    desk.clock.forward(seconds=1)
    await desk.ok("own_enable_relay", p.caller, **revocation(desk, p))
    desk.clock.forward(seconds=1)
    reply = await desk.refused("own_enable_relay", p.caller, **desk.approval(p, order_key(2)))
    away = (503, "venue_unavailable", "5")
    assert (reply.status, reply.body["error"], reply.headers["Retry-After"]) == away
    desk.clock.forward(seconds=6)
    await desk.enabled(p, order_key(3))


# -- faults --------------------------------------------------------------------------------------------------------


FAULTS: list[dict[str, Any]] = [
    {"effect": "lost"}, {"effect": "executed_status"}, {"effect": "not_json"}, {"effect": "truncated"},
    {"effect": "status", "status": 429, "times": 1},  # that executed nothing: identical bytes are sent again
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault["effect"])
async def test_an_answer_lost_at_the_approval_is_found_in_the_venues_list(
    fault: dict[str, Any], desk: Desk
) -> None:
    p = await desk.linked()
    desk.test.faults.add(VenueFault(route="/exchange", **fault))
    assert (await desk.enabled(p, order_key(1)))["venue"] == "ok"
    assert len(posted(desk)) == 1


async def test_where_nothing_was_sent_nothing_is_kept(desk: Desk) -> None:
    p = await desk.linked()
    desk.networks.get("testnet").client.url = "http://127.0.0.1:9"
    asked = desk.approval(p, order_key(1))
    assert await refused(desk, p, **asked) == (503, "venue_unavailable")
    assert await desk.rows("venue_agent_keys") == []


async def test_two_of_the_same_request_at_once_approve_once(both: Desk) -> None:
    p = await both.linked()
    asked = both.approval(p, order_key(1))
    sent = (both.do("own_enable_relay", p.caller, **asked) for _ in range(5))
    statuses = {r.status for r in await asyncio.gather(*sent)}
    assert {200} <= statuses <= {200, 409, 503}
    assert len(await both.rows("venue_agent_keys")) == 1
    assert len(posted(both)) == 1


# -- the keeper key ------------------------------------------------------------------------------------------------


class FixedSigner:
    """A signer that always names the same key."""

    def __init__(self, address: str, *, away: bool = False):
        self.address, self.away = address, away

    async def keeper_address(self, network: str, wallet: str) -> str:
        if self.away:
            raise Refused(refusal("not_configured", what="the signer"))
        return self.address


@pytest.fixture
def signing(desk: Desk) -> Desk:
    desk.deps = replace(desk.deps, signer=FixedSigner(Account.from_key("0x" + "66" * 32).address))
    return desk


async def test_the_keeper_key_is_the_signers_and_no_other(signing: Desk) -> None:
    p = await signing.linked()
    offered = (await signing.ok("own_status", p.caller))["enable_keeper"]
    assert offered["agent_name"].startswith("wsvc-k-")
    assert await refused(signing, p, **signing.approval(p, order_key(1), kind="keeper")) == BAD
    await signing.enabled(p, offered["agent_address"], kind="keeper")
    await signing.enabled(p, order_key(2))
    await signing.ok("own_enable_verify", p.caller)
    status = await signing.ok("own_status", p.caller)
    assert status["keeper_key"]["address"] == offered["agent_address"]
    assert status["order_key"]["address"] == order_key(2)


async def test_after_its_end_or_a_revocation_the_signer_offers_a_key_that_was_never_used(
    desk: Desk,
) -> None:
    p = await desk.linked()
    seen = set()
    async with a_signer(desk):

        async def offered() -> str:
            told = (await desk.ok("own_status", p.caller))["enable_keeper"]
            return str(told["agent_address"])

        async def approved() -> None:
            seen.add(await offered())
            await desk.enabled(p, await offered(), kind="keeper", lasts=timedelta(days=30))
            await desk.ok("own_enable_verify", p.caller)
            told = await desk.ok("own_status", p.caller)
            assert told["keeper_key"]["address"] in seen
            assert told["keeper_key"]["listed"]

        await approved()
        assert await offered() in seen  # it stands: nothing else is offered
        desk.clock.forward(days=30)
        await approved()
        name = agent_name(str(p.caller.user_id), "testnet", "keeper")
        gone = desk.approval(p, ZERO_ADDRESS, agent_name=name, revoke=True, kind="keeper")
        await desk.ok("own_enable_relay", p.caller, **gone)
        desk.clock.forward(seconds=10)
        await approved()
    assert len(seen) == 3


async def test_an_approval_that_was_lost_on_the_way_spends_the_key_once_its_nonce_is_dead(
    desk: Desk,
) -> None:
    p = await desk.linked()
    async with a_signer(desk):
        first = (await desk.ok("own_status", p.caller))["enable_keeper"]["agent_address"]
        desk.test.faults.add(VenueFault(effect="status", status=500))
        asked = desk.approval(p, first, kind="keeper")
        assert await refused(desk, p, **asked) == (504, "outcome_unknown")
        desk.test.faults.clear()
        desk.clock.forward(minutes=9)
        assert (await desk.ok("own_status", p.caller))["enable_keeper"]["agent_address"] == first
        desk.clock.forward(minutes=2)
        fresh = (await desk.ok("own_status", p.caller))["enable_keeper"]["agent_address"]
        assert fresh != first
        await desk.enabled(p, fresh, kind="keeper")


async def test_without_a_signer_or_while_it_is_away_only_the_keeper_key_is_not_to_be_had(
    desk: Desk,
) -> None:
    p = await desk.linked()
    assert (await desk.ok("own_status", p.caller))["enable_keeper"] is None
    asked = desk.approval(p, order_key(1), kind="keeper")
    assert await refused(desk, p, **asked) == (409, "not_configured")
    desk.deps = replace(desk.deps, signer=FixedSigner("0x" + "00" * 20, away=True))
    assert (await desk.ok("own_status", p.caller))["enable_keeper"] is None
    await desk.enabled(p, order_key(1))
