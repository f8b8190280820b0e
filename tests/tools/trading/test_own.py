"""Linking a wallet, and the status of an own account."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from datetime import timedelta
from typing import Any

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from siwe import SiweMessage

from devtools.devvenue import VenueFault
from domain.trading.venue_account import TERMS
from tests.tools.trading.conftest import Desk, Person, order_key, signed

pytestmark = pytest.mark.anyio
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


async def link_refused(
    desk: Desk, p: Person, challenge: dict[str, Any], by: LocalAccount, **changes: str
) -> str:
    """The code that refuses a link."""
    asked = desk.answered(challenge, by) | changes
    return str((await desk.refused("own_link", p.caller, **asked)).body["error"])


async def status(desk: Desk, p: Person) -> dict[str, Any]:
    return await desk.ok("own_status", p.caller)


async def test_the_terms_are_named_by_the_hash_of_their_text(desk: Desk) -> None:
    told = await desk.ok("own_terms")
    assert told["sha256"] == hashlib.sha256(told["text_en"].encode()).hexdigest()
    assert told["version"] == 1
    assert "only fence" in told["text_en"]
    p = await desk.person()
    asked = {"address": p.wallet.address, "terms_sha256": "00" * 32}
    refused = await desk.refused("own_link_challenge", p.caller, **asked)
    assert (refused.status, refused.body["error"]) == (409, "terms_changed")


async def test_the_text_is_eip_4361_and_names_account_terms_and_network(desk: Desk) -> None:
    p = await desk.person()
    told = await desk.challenge(p)
    message = SiweMessage.from_message(told["message"])
    named = (message.address, message.request_id, message.chain_id, len(message.nonce))
    assert named == (p.wallet.address, "own-link", 42161, 32)
    resources = [f"urn:terms:sha256:{TERMS.sha256}", "urn:venue:testnet"]
    assert [str(r) for r in message.resources or ()] == resources
    assert str(p.caller.address) in str(message.statement)
    assert "does not move funds and does not allow trading" in str(message.statement)
    assert told["scheme"] == "eip191"
    message.verify(signed(p.wallet, told["message"]), timestamp=desk.clock.now())


async def test_a_wallet_is_linked_by_its_signature(both: Desk) -> None:
    p = await both.person()
    told = await both.link(p)
    link = {"linked": True, "wallet": p.wallet.address, "network": "testnet", "terms_version": 1}
    assert told == told | link
    assert (await status(both, p))["wallet"] == p.wallet.address
    again = await both.link(p)
    assert again["linked_at"] == told["linked_at"]


async def test_another_persons_challenge_is_as_if_it_were_not_there(desk: Desk) -> None:
    p, thief = await desk.person(), await desk.person()
    told = await desk.challenge(p)
    assert await link_refused(desk, thief, told, p.wallet) == "not_found"
    none = {"challenge_id": "lc_aaaaaaaaaa"}
    assert await link_refused(desk, thief, told, p.wallet, **none) == "not_found"
    await desk.link(p, told)


async def test_a_challenge_is_burnt_at_its_first_try_right_or_wrong(both: Desk) -> None:
    p = await both.person()
    told = await both.challenge(p)
    other = told | {"message": "something else"}
    assert await link_refused(both, p, other, p.wallet) == "invalid_signature"
    assert await link_refused(both, p, told, p.wallet) == "challenge_spent"
    signer = (await both.person()).wallet
    assert await link_refused(both, p, await both.challenge(p), signer) == "invalid_signature"
    assert await both.rows("venue_links") == []
    late = await both.challenge(p)
    both.clock.forward(minutes=10)
    assert await link_refused(both, p, late, p.wallet) == "challenge_spent"
    once = await both.challenge(p)
    await both.link(p, once)
    assert await link_refused(both, p, once, p.wallet) == "challenge_spent"


async def test_one_signature_has_one_form_but_for_its_v(desk: Desk) -> None:
    p = await desk.person()
    told = await desk.challenge(p)
    raw = bytes.fromhex(signed(p.wallet, told["message"])[2:])
    high = (N - int.from_bytes(raw[32:64], "big")).to_bytes(32, "big")
    twin = "0x" + (raw[:32] + high + bytes([55 - raw[64]])).hex()
    assert await link_refused(desk, p, told, p.wallet, signature=twin) == "invalid_signature"
    told = await desk.challenge(p)
    raw = bytes.fromhex(signed(p.wallet, told["message"])[2:])
    short = "0x" + raw[:64].hex()
    assert await link_refused(desk, p, told, p.wallet, signature=short) == "invalid_request"
    low = short + f"{raw[64] - 27:02x}"
    await desk.ok("own_link", p.caller, challenge_id=told["challenge_id"], signature=low)


async def test_a_victims_signature_over_a_thiefs_text_names_the_thief(desk: Desk) -> None:
    """The wallet shows which account it links to; a text made for oneself cannot be used by another session."""
    thief, victim = await desk.person(), await desk.person()
    lured = await desk.challenge(thief, victim.wallet.address)
    assert str(thief.caller.address) in lured["message"]
    own = lured | {"message": (await desk.challenge(victim))["message"]}
    assert await link_refused(desk, thief, own, victim.wallet) == "invalid_signature"


async def test_a_link_keeps_its_network_and_a_testnet_proof_links_nothing_on_mainnet(
    desk: Desk,
) -> None:
    p = await desk.person()
    told = await desk.challenge(p)
    desk.switched(venue_mainnet=True)
    assert (await desk.link(p, told))["network"] == "testnet"
    assert (await status(desk, p))["linked"] is False
    swapped = await desk.challenge(p) | {"message": told["message"]}
    assert await link_refused(desk, p, swapped, p.wallet) == "invalid_signature"
    assert (await desk.link(p))["network"] == "mainnet"
    desk.switched(venue_mainnet=False)
    assert (await status(desk, p))["network"] == "testnet"
    assert {r["network"] for r in await desk.rows("venue_links")} == {"mainnet", "testnet"}


async def test_abuse_13_an_agents_address_pasted_as_own_wallet_is_refused(desk: Desk) -> None:
    owner, p = await desk.linked(), await desk.person()
    agent = Account.from_key((0xC000 + 1).to_bytes(32, "big"))
    await desk.enabled(owner, agent.address)
    told = await desk.challenge(p, agent.address)
    refused = await desk.refused("own_link", p.caller, **desk.answered(told, agent))
    assert (refused.status, refused.body["error"]) == (409, "not_own_account")
    assert "agent key" in refused.body["reason"]


ROLES = {"vault": "not_own_account", "subAccount": "not_own_account", "new": "venue_unavailable"}


@pytest.mark.parametrize("role", ROLES)
async def test_a_role_that_is_no_account_or_not_known_links_nothing(role: str, desk: Desk) -> None:
    p = await desk.person()
    told, path = await desk.challenge(p), ("role",)
    desk.test.faults.add(VenueFault(effect="malformed", kind="userRole", path=path, value=role))
    assert await link_refused(desk, p, told, p.wallet) == ROLES[role]


async def test_a_linked_wallet_belongs_to_one_person_and_a_person_to_one_wallet(both: Desk) -> None:
    p, second = await both.linked(), await both.person()
    told = await both.challenge(second, p.wallet.address)
    assert await link_refused(both, second, told, p.wallet) == "already_linked"
    other = await both.challenge(p, second.wallet.address)
    assert await link_refused(both, p, other, second.wallet) == "already_linked"


async def test_two_people_who_link_one_wallet_at_once_end_with_one_link(both: Desk) -> None:
    people = [await both.person(), await both.person()]
    wallet = people[0].wallet
    asked = [both.answered(await both.challenge(p, wallet.address), wallet) for p in people]
    links = (both.do("own_link", p.caller, **a) for p, a in zip(people, asked, strict=True))
    replies = await asyncio.gather(*links)
    assert sorted(r.status for r in replies) == [200, 409]
    assert len(await both.rows("venue_links")) == 1


async def test_only_five_texts_are_open_and_twenty_a_day_are_given(desk: Desk) -> None:
    p = await desk.person()
    told = []
    for _ in range(6):
        told.append(await desk.challenge(p))
        desk.clock.forward(seconds=1)
    assert await link_refused(desk, p, told[0], p.wallet) == "challenge_spent"
    await desk.link(p, told[1])
    for _ in range(14):
        await desk.challenge(p)
    asked = {"address": p.wallet.address, "terms_sha256": TERMS.sha256}
    refused = await desk.refused("own_link_challenge", p.caller, **asked)
    assert (refused.status, refused.body["error"]) == (429, "rate_limited")
    desk.clock.forward(seconds=int(refused.headers["Retry-After"]) - 1)
    assert (await desk.refused("own_link_challenge", p.caller, **asked)).status == 429
    desk.clock.forward(seconds=1)
    await desk.challenge(p)


async def test_a_repeat_with_its_idempotency_key_gets_the_first_answer(both: Desk) -> None:
    p = await both.person()
    text = {"address": p.wallet.address, "terms_sha256": TERMS.sha256}
    told = await both.ok("own_link_challenge", p.caller, key="k1", **text)
    assert await both.ok("own_link_challenge", p.caller, key="k1", **text) == told
    asked = both.answered(told, p.wallet)
    none = asked | {"challenge_id": "lc_none"}
    refused = await both.refused("own_link", p.caller, key="k2", **none)
    assert refused.body["error"] == "not_found"
    # A refused effect gives its key back.
    first = await both.ok("own_link", p.caller, key="k2", **asked)
    assert await both.ok("own_link", p.caller, key="k2", **asked) == first
    refused = await both.refused("own_link", p.caller, key="k2", **none)
    assert refused.body["error"] == "idempotency_key_reused"


# -- status --------------------------------------------------------------------------------------------------------


async def test_somebody_without_a_link_is_told_the_first_step(desk: Desk) -> None:
    told = await status(desk, await desk.person())
    start = {"linked": False, "enabled": False, "order_key": None, "mode": "paper"}
    assert told == told | start | {"network": "testnet"}
    assert [s["step"] for s in told["next"]] == ["link"]
    assert told["enable"]["hyperliquid_chain"] == "Testnet"
    assert told["enable"]["agent_name"].startswith("wsvc-o-")
    assert len(told["enable"]["agent_name"]) <= 16


async def test_an_account_is_worth_what_it_has_where_the_venue_keeps_it(desk: Desk) -> None:
    p = await desk.linked()
    desk.test.deposit(p.wallet.address, "250.5", "xyz")
    told = await status(desk, p)
    assert (told["equity_usdc"], told["funded"]) == ("1250.500000", True)
    # abuse 15: on another dex alone
    other = await desk.linked(deposit=None)
    desk.test.deposit(other.wallet.address, "40", "xyz")
    assert (await status(desk, other))["equity_usdc"] == "40.000000"
    # abuse 14: a unified account has its balance in the spot state
    unified = await desk.linked(deposit=None)
    desk.test.deposit(unified.wallet.address, "321.5", "spot")
    desk.test.abstraction(unified.wallet.address, "unifiedAccount")
    told = await status(desk, unified)
    assert (told["abstraction_mode"], told["equity_usdc"]) == ("unifiedAccount", "321.500000")
    # one that the venue has never seen
    unseen = await desk.linked(deposit=None)
    told = await status(desk, unseen)
    assert (told["funded"], told["equity_usdc"]) == (False, "0.000000")
    assert [s["step"] for s in told["next"]] == ["enable", "fund", "builder_fee"]


async def test_while_the_venue_is_silent_the_status_says_unknown_and_never_zero(desk: Desk) -> None:
    p, kind = await desk.linked(), "clearinghouseState"
    path = ("marginSummary", "accountValue")
    lie = VenueFault(effect="malformed", kind=kind, path=path, value="much", times=1)
    desk.test.faults.add(lie)
    assert (await status(desk, p))["equity_usdc"] is None
    desk.clock.forward(minutes=2)
    desk.test.faults.add(VenueFault(effect="status", status=500))
    told = await status(desk, p)
    assert told == told | {"linked": True, "stale": True, "equity_usdc": None, "funded": None}


async def test_the_mode_is_live_only_with_switch_and_allowlist(desk: Desk) -> None:
    p, other = await desk.linked(), await desk.person()
    item = p.wallet.address.lower()
    assert (await status(desk, p))["mode"] == "paper"
    desk.switched(live_terminal=True)
    assert (await status(desk, p))["mode"] == "paper"
    await desk.store.write(lambda uow: uow.allowlist.seed((item,), desk.clock.now()))
    told = await status(desk, p)
    assert (told["mode"], told["allowlisted"]) == ("live", True)
    assert (await status(desk, other))["mode"] == "paper"


# -- intents -------------------------------------------------------------------------------------------------------


async def test_an_intent_is_written_down_and_does_nothing_else(both: Desk) -> None:
    p = await both.person()
    intent = {"kind": "open", "product": "xyz:XYZ100", "side": "buy", "notional_usdc": "25"}
    more = {"limit_px": "25451.5", "text": "<b>ünicode</b>"}
    told = await both.ok("own_intent", p.caller, **intent, **more)
    assert told["intent_id"].startswith("in_")
    (row,) = await both.rows("venue_intents")
    assert '"notional_usdc":"25.000000"' in row["body"]
    assert "<b>" in row["body"]
    until = (both.clock.now() + timedelta(days=30)).isoformat()
    await both.ok("own_intent", p.caller, kind="note", valid_until=until)


BAD_INTENTS: list[dict[str, Any]] = [
    {"kind": "buy"}, {"notional_usdc": "-1"}, {"notional_usdc": "1.1234567"}, {"limit_px": "1e5"}, {"limit_px": "-1"}, {"text": "x" * 501},
    {"valid_until": "tomorrow"}, {"valid_until": "2026-11-20T12:00:00Z"}, {"valid_until": "2026-12-25T12:00:00Z"}, {"valid_until": "2026-11-21T12:00:00"},
    {"product": "a b"}, {"side": "long"}, {"extra": 1}, {"notional_usdc": 1.23456789},
]  # fmt: skip


async def test_what_is_no_intent_is_refused_and_writes_nothing(desk: Desk) -> None:
    p = await desk.person()
    for bad in BAD_INTENTS:
        refused = await desk.refused("own_intent", p.caller, **({"kind": "open"} | bad))
        assert refused.status == 400, bad
    assert await desk.rows("venue_intents") == []


# -- secrets -------------------------------------------------------------------------------------------------------

SECRET = "0x" + "5e" * 32
WRITES: dict[str, dict[str, Any]] = {
    "own_link_challenge": {"address": "0x" + "11" * 20, "terms_sha256": TERMS.sha256},
    "own_link": {"challenge_id": "lc_aaaaaaaaaa", "signature": "0x" + "11" * 65},
    "own_intent": {"kind": "note"},
    "own_enable_relay": {"agent_address": "0x" + "11" * 20, "agent_name": "x", "nonce": 1, "signature_chain_id": "0x1",
                         "signature": {"r": "0x" + "11" * 32, "s": "0x" + "11" * 32, "v": 27}},
    "own_enable_verify": {},
    "builder_fee_record": {"wallet": "0x" + "11" * 20, "max_fee_rate": "0.1%"},
}  # fmt: skip
FIELDS = ("privateKey", "private_key", "api_secret", "mnemonic", "seed")
TEXTS = {"own_intent": "text", "own_link": "challenge_id", "own_enable_relay": "agent_name"}


@pytest.mark.parametrize("name", WRITES)
async def test_abuse_42_what_looks_like_a_secret_is_refused_on_every_write_and_never_logged(
    name: str, desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """By a field's name, and sixty-four hex digits where none belong."""
    p, secrets = await desk.person(), (SECRET, SECRET[2:], SECRET.upper().replace("X", "x"))
    cases = [(field, SECRET) for field in FIELDS]
    cases += [(TEXTS[name], secret) for secret in secrets if name in TEXTS]
    with caplog.at_level(logging.DEBUG):
        for field, value in cases:
            refused = await desk.refused(name, p.caller, **(WRITES[name] | {field: value}))
            assert (refused.status, refused.body["error"]) == (400, "secret_not_accepted"), field
            assert SECRET[2:] not in str(refused.body).lower(), field
    assert SECRET[2:] not in caplog.text.lower()
    assert await desk.rows("venue_intents") == []


async def test_abuse_43_no_signature_is_ever_logged(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        p = await desk.linked()
        asked = desk.approval(p, order_key(1))
        await desk.ok("own_enable_relay", p.caller, **asked)
        desk.test.faults.add(VenueFault(effect="lost", route="/exchange"))
        lost = desk.approval(p, order_key(2))
        await desk.do("own_enable_relay", p.caller, **lost)
        wrong = {"signature": {"r": "0x" + "12" * 32, "s": "0x" + "13" * 32, "v": 27}}
        bad = desk.approval(p, order_key(3)) | wrong
        await desk.do("own_enable_relay", p.caller, **bad)
    for told in (asked, lost, bad):
        assert told["signature"]["r"][2:] not in caplog.text
        assert told["signature"]["s"][2:] not in caplog.text
