"""Linking a wallet, and the status of an own account."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from datetime import timedelta
from decimal import Decimal
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


async def test_the_terms_are_named_by_the_hash_of_their_text(desk: Desk) -> None:
    told = await desk.ok("own_terms")
    assert told["sha256"] == hashlib.sha256(told["text_en"].encode()).hexdigest()
    assert told["version"] == 1
    assert "only fence" in told["text_en"]
    assert "keeper key" in told["text_en"]


async def test_the_text_is_eip_4361_and_names_account_terms_and_network(desk: Desk) -> None:
    p = await desk.person()
    told = await desk.challenge(p)
    message = SiweMessage.from_message(told["message"])
    assert message.address == p.wallet.address
    assert message.request_id == "own-link"
    assert message.chain_id == 42161
    assert [str(r) for r in message.resources or ()] == [
        f"urn:terms:sha256:{TERMS.sha256}",
        "urn:venue:testnet",
    ]
    assert str(p.caller.address) in str(message.statement)
    assert "does not move funds and does not allow trading" in str(message.statement)
    assert len(message.nonce) == 32
    assert told["scheme"] == "eip191"
    message.verify(signed(p.wallet, told["message"]), timestamp=desk.clock.now())


async def test_a_wallet_is_linked_by_its_signature(both: Desk) -> None:
    p = await both.person()
    told = await both.link(p)
    assert (told["linked"], told["wallet"], told["network"], told["terms_version"]) == (
        True,
        p.wallet.address,
        "testnet",
        1,
    )
    assert (await both.ok("own_status", p.caller))["wallet"] == p.wallet.address
    again = await both.link(p)
    assert again["linked_at"] == told["linked_at"]


async def test_other_terms_than_todays_start_nothing(desk: Desk) -> None:
    p = await desk.person()
    refused = await desk.refused(
        "own_link_challenge", p.caller, address=p.wallet.address, terms_sha256="00" * 32
    )
    assert (refused.status, refused.body["error"]) == (409, "terms_changed")


async def test_another_persons_challenge_is_as_if_it_were_not_there(desk: Desk) -> None:
    p, thief = await desk.person(), await desk.person()
    told = await desk.challenge(p)
    assert await link_refused(desk, thief, told, p.wallet) == "not_found"
    assert (
        await link_refused(desk, thief, told, p.wallet, challenge_id="lc_aaaaaaaaaa") == "not_found"
    )
    await desk.link(p, told)


async def test_a_challenge_is_burnt_at_its_first_try_right_or_wrong(both: Desk) -> None:
    p = await both.person()
    told = await both.challenge(p)
    assert (
        await link_refused(both, p, told | {"message": "something else"}, p.wallet)
        == "invalid_signature"
    )
    assert await link_refused(both, p, told, p.wallet) == "challenge_spent"
    once = await both.challenge(p)
    await both.link(p, once)
    assert await link_refused(both, p, once, p.wallet) == "challenge_spent"


async def test_a_challenge_is_good_for_ten_minutes(desk: Desk) -> None:
    p = await desk.person()
    told = await desk.challenge(p)
    desk.clock.forward(minutes=10)
    assert await link_refused(desk, p, told, p.wallet) == "challenge_spent"


async def test_the_high_s_twin_of_a_good_signature_is_refused(desk: Desk) -> None:
    p = await desk.person()
    told = await desk.challenge(p)
    raw = bytes.fromhex(signed(p.wallet, told["message"])[2:])
    twin = (
        raw[:32]
        + (N - int.from_bytes(raw[32:64], "big")).to_bytes(32, "big")
        + bytes([55 - raw[64]])
    )
    assert (
        await link_refused(desk, p, told, p.wallet, signature="0x" + twin.hex())
        == "invalid_signature"
    )


async def test_a_v_of_zero_or_one_counts_and_sixty_four_bytes_do_not(desk: Desk) -> None:
    p = await desk.person()
    told = await desk.challenge(p)
    raw = bytes.fromhex(signed(p.wallet, told["message"])[2:])
    assert (
        await link_refused(desk, p, told, p.wallet, signature="0x" + raw[:64].hex())
        == "invalid_request"
    )
    low = "0x" + raw[:64].hex() + f"{raw[64] - 27:02x}"
    await desk.ok("own_link", p.caller, challenge_id=told["challenge_id"], signature=low)


async def test_another_wallets_signature_links_nothing(desk: Desk) -> None:
    p, other = await desk.person(), await desk.person()
    told = await desk.challenge(p)
    assert await link_refused(desk, p, told, other.wallet) == "invalid_signature"
    assert await desk.rows("venue_links") == []


async def test_a_victims_signature_over_a_thiefs_text_names_the_thief(desk: Desk) -> None:
    """The wallet shows which account it links to; a text made for oneself cannot be used by another session."""
    thief, victim = await desk.person(), await desk.person()
    lured = await desk.challenge(thief, victim.wallet.address)
    assert str(thief.caller.address) in lured["message"]
    own = await desk.challenge(victim)
    assert (
        await link_refused(desk, thief, lured | {"message": own["message"]}, victim.wallet)
        == "invalid_signature"
    )


async def test_a_testnet_proof_links_nothing_on_mainnet(desk: Desk) -> None:
    p = await desk.person()
    told = await desk.challenge(p)
    desk.switched(venue_mainnet=True)
    linked = await desk.link(p, told)
    assert linked["network"] == "testnet"
    assert (await desk.ok("own_status", p.caller))["linked"] is False
    on_main = await desk.challenge(p)
    assert (
        await link_refused(desk, p, on_main | {"message": told["message"]}, p.wallet)
        == "invalid_signature"
    )


async def test_a_link_keeps_its_network_whatever_the_switch_says_later(desk: Desk) -> None:
    p = await desk.linked()
    desk.switched(venue_mainnet=True)
    assert (await desk.link(p))["network"] == "mainnet"
    desk.switched(venue_mainnet=False)
    assert (await desk.ok("own_status", p.caller))["network"] == "testnet"
    assert {r["network"] for r in await desk.rows("venue_links")} == {"mainnet", "testnet"}


async def test_abuse_13_an_agents_address_pasted_as_own_wallet_is_refused(desk: Desk) -> None:
    owner, p = await desk.linked(), await desk.person()
    agent = Account.from_key((0xC000 + 1).to_bytes(32, "big"))
    await desk.enabled(owner, agent.address)
    told = await desk.challenge(p, agent.address)
    refused = await desk.refused(
        "own_link",
        p.caller,
        **desk.answered(told, agent),
    )
    assert (refused.status, refused.body["error"]) == (409, "not_own_account")
    assert "agent key" in refused.body["reason"]


@pytest.mark.parametrize("role", ["vault", "subAccount"])
async def test_a_vault_or_a_sub_account_is_no_own_account(role: str, desk: Desk) -> None:
    p, inner = await desk.person(), Account.from_key("0x" + "77" * 32)
    make = desk.test.vault if role == "vault" else desk.test.sub_account
    make(p.wallet.address, inner.address, "10")
    told = await desk.challenge(p, inner.address)
    assert await link_refused(desk, p, told, inner) == "not_own_account"


async def test_a_role_that_is_not_known_links_nothing(desk: Desk) -> None:
    p = await desk.person()
    told = await desk.challenge(p)
    desk.test.faults.add(
        VenueFault(effect="malformed", kind="userRole", path=("role",), value="emperor")
    )
    assert await link_refused(desk, p, told, p.wallet) == "venue_unavailable"


async def test_a_wallet_that_the_venue_has_never_seen_may_be_linked(desk: Desk) -> None:
    p = await desk.person(deposit=None)
    await desk.link(p)
    told = await desk.ok("own_status", p.caller)
    assert (told["funded"], told["equity_usdc"]) == (False, "0.000000")
    assert [s["step"] for s in told["next"]] == ["enable", "fund", "builder_fee"]


async def test_a_linked_wallet_belongs_to_one_person_and_a_person_to_one_wallet(both: Desk) -> None:
    p, second = await both.linked(), await both.person()
    told = await both.challenge(second, p.wallet.address)
    assert await link_refused(both, second, told, p.wallet) == "already_linked"
    other = await both.challenge(p, second.wallet.address)
    assert await link_refused(both, p, other, second.wallet) == "already_linked"


async def test_two_people_who_link_one_wallet_at_once_end_with_one_link(both: Desk) -> None:
    one, two = await both.person(), await both.person()
    told = [await both.challenge(p, one.wallet.address) for p in (one, two)]
    replies = await asyncio.gather(
        *(
            both.do(
                "own_link",
                p.caller,
                **both.answered(t, one.wallet),
            )
            for p, t in zip((one, two), told, strict=True)
        )
    )
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
    refused = await desk.refused(
        "own_link_challenge", p.caller, address=p.wallet.address, terms_sha256=TERMS.sha256
    )
    assert (refused.status, refused.body["error"]) == (429, "rate_limited")
    desk.clock.forward(seconds=int(refused.headers["Retry-After"]) - 1)
    early = await desk.refused(
        "own_link_challenge", p.caller, address=p.wallet.address, terms_sha256=TERMS.sha256
    )
    assert early.status == 429
    desk.clock.forward(seconds=1)
    await desk.challenge(p)


async def test_a_repeat_with_its_idempotency_key_gets_the_first_answer(both: Desk) -> None:
    p = await both.person()
    told = await both.ok(
        "own_link_challenge",
        p.caller,
        key="k1",
        address=p.wallet.address,
        terms_sha256=TERMS.sha256,
    )
    same = await both.ok(
        "own_link_challenge",
        p.caller,
        key="k1",
        address=p.wallet.address,
        terms_sha256=TERMS.sha256,
    )
    assert same == told
    asked = both.answered(told, p.wallet)
    first = await both.ok("own_link", p.caller, key="k2", **asked)
    assert await both.ok("own_link", p.caller, key="k2", **asked) == first
    refused = await both.refused(
        "own_link", p.caller, key="k2", **{**asked, "challenge_id": "lc_x"}
    )
    assert refused.body["error"] == "idempotency_key_reused"


async def test_a_refused_effect_gives_its_idempotency_key_back(desk: Desk) -> None:
    p = await desk.person()
    told = await desk.challenge(p)
    bad = {"challenge_id": "lc_none", "signature": signed(p.wallet, told["message"])}
    assert (await desk.refused("own_link", p.caller, key="k", **bad)).body["error"] == "not_found"
    await desk.ok(
        "own_link", p.caller, key="k", challenge_id=told["challenge_id"], signature=bad["signature"]
    )


# -- status --------------------------------------------------------------------------------------------------------


async def test_somebody_without_a_link_is_told_the_first_step(desk: Desk) -> None:
    p = await desk.person()
    told = await desk.ok("own_status", p.caller)
    assert (told["linked"], told["enabled"], told["order_key"], told["mode"], told["network"]) == (
        False,
        False,
        None,
        "paper",
        "testnet",
    )
    assert [s["step"] for s in told["next"]] == ["link"]
    assert told["enable"]["hyperliquid_chain"] == "Testnet"
    assert told["enable"]["agent_name"].startswith("wsvc-o-")
    assert len(told["enable"]["agent_name"]) <= 16


async def test_a_standard_account_is_the_sum_of_its_dexes(desk: Desk) -> None:
    p = await desk.linked()
    desk.test.deposit(p.wallet.address, "250.5", "xyz")
    told = await desk.ok("own_status", p.caller)
    assert (told["equity_usdc"], told["funded"]) == ("1250.500000", True)


async def test_abuse_14_a_unified_account_is_read_from_its_spot_balance(desk: Desk) -> None:
    p = await desk.linked(deposit="10")
    desk.test.deposit(p.wallet.address, "321.5", "spot")
    desk.test.abstraction(p.wallet.address, "unifiedAccount")
    told = await desk.ok("own_status", p.caller)
    assert told["abstraction_mode"] == "unifiedAccount"
    assert Decimal(told["equity_usdc"]) >= Decimal("321.5")


async def test_abuse_15_money_on_another_dex_counts_where_it_is(desk: Desk) -> None:
    p = await desk.linked(deposit=None)
    desk.test.deposit(p.wallet.address, "40", "xyz")
    assert (await desk.ok("own_status", p.caller))["equity_usdc"] == "40.000000"


async def test_while_the_venue_is_silent_the_status_says_unknown_and_never_zero(desk: Desk) -> None:
    p = await desk.linked()
    desk.test.faults.add(VenueFault(effect="status", status=500))
    told = await desk.ok("own_status", p.caller)
    assert (told["linked"], told["stale"], told["equity_usdc"], told["funded"]) == (
        True,
        True,
        None,
        None,
    )


async def test_an_unreadable_balance_is_unknown_and_never_zero(desk: Desk) -> None:
    p = await desk.linked()
    desk.test.faults.add(
        VenueFault(
            effect="malformed",
            kind="clearinghouseState",
            path=("marginSummary", "accountValue"),
            value="much",
        )
    )
    assert (await desk.ok("own_status", p.caller))["equity_usdc"] is None


async def test_the_mode_is_live_only_with_switch_and_allowlist(desk: Desk) -> None:
    p = await desk.linked()
    item = p.wallet.address.lower()
    assert (await desk.ok("own_status", p.caller))["mode"] == "paper"
    desk.switched(live_terminal=True)
    assert (await desk.ok("own_status", p.caller))["mode"] == "paper"
    await desk.store.write(lambda uow: uow.allowlist.seed((item,), desk.clock.now()))
    told = await desk.ok("own_status", p.caller)
    assert (told["mode"], told["allowlisted"]) == ("live", True)
    other = await desk.person()
    assert (await desk.ok("own_status", other.caller))["mode"] == "paper"


# -- intents -------------------------------------------------------------------------------------------------------


async def test_an_intent_is_written_down_and_does_nothing_else(both: Desk) -> None:
    p = await both.person()
    told = await both.ok(
        "own_intent",
        p.caller,
        kind="open",
        product="xyz:XYZ100",
        side="buy",
        notional_usdc="25",
        limit_px="25451.5",
        text="<b>ünicode</b>",
    )
    assert told["intent_id"].startswith("in_")
    (row,) = await both.rows("venue_intents")
    assert '"notional_usdc":"25.000000"' in row["body"]
    assert "<b>" in row["body"]
    until = (both.clock.now() + timedelta(days=30)).isoformat()
    await both.ok("own_intent", p.caller, kind="note", valid_until=until)


@pytest.mark.parametrize(
    "bad",
    [
        {"kind": "buy"}, {"notional_usdc": "-1"}, {"notional_usdc": "1.1234567"}, {"limit_px": "1e5"}, {"limit_px": "-1"}, {"text": "x" * 501},
        {"valid_until": "tomorrow"}, {"valid_until": "2026-11-20T12:00:00Z"}, {"valid_until": "2026-12-25T12:00:00Z"}, {"valid_until": "2026-11-21T12:00:00"},
        {"product": "a b"}, {"side": "long"}, {"extra": 1}, {"notional_usdc": 1.23456789},
    ],
)  # fmt: skip
async def test_what_is_no_intent_is_refused_and_writes_nothing(
    bad: dict[str, Any], desk: Desk
) -> None:
    p = await desk.person()
    refused = await desk.refused("own_intent", p.caller, **({"kind": "open"} | bad))
    assert refused.status == 400
    assert await desk.rows("venue_intents") == []


# -- secrets -------------------------------------------------------------------------------------------------------

SECRET = "0x" + "5e" * 32
WRITES: list[tuple[str, dict[str, Any]]] = [
    ("own_link_challenge", {"address": "0x" + "11" * 20, "terms_sha256": TERMS.sha256}),
    ("own_link", {"challenge_id": "lc_aaaaaaaaaa", "signature": "0x" + "11" * 65}),
    ("own_intent", {"kind": "note"}),
    ("own_enable_relay", {"agent_address": "0x" + "11" * 20, "agent_name": "x", "nonce": 1, "signature_chain_id": "0x1",
                          "signature": {"r": "0x" + "11" * 32, "s": "0x" + "11" * 32, "v": 27}}),
    ("own_enable_verify", {}),
    ("builder_fee_record", {"wallet": "0x" + "11" * 20, "max_fee_rate": "0.1%"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "asked"), WRITES, ids=[w[0] for w in WRITES])
@pytest.mark.parametrize("field", ["privateKey", "private_key", "api_secret", "mnemonic", "seed"])
async def test_abuse_42_a_secret_like_field_is_refused_on_every_write_and_never_logged(
    name: str, asked: dict[str, Any], field: str, desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    p = await desk.person()
    with caplog.at_level(logging.DEBUG):
        refused = await desk.refused(name, p.caller, **asked, **{field: SECRET})
    assert (refused.status, refused.body["error"]) == (400, "secret_not_accepted")
    assert SECRET not in caplog.text + str(refused.body)


@pytest.mark.parametrize("value", [SECRET, SECRET[2:], SECRET.upper().replace("X", "x")])
@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("own_intent", {"kind": "note"}),
        ("own_link", WRITES[1][1]),
        ("own_enable_relay", WRITES[3][1]),
    ],
)
async def test_abuse_42_sixty_four_hex_digits_where_none_belong_are_refused(
    name: str, asked: dict[str, Any], value: str, desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    p = await desk.person()
    where = {"own_intent": "text", "own_link": "challenge_id", "own_enable_relay": "agent_name"}[
        name
    ]
    with caplog.at_level(logging.DEBUG):
        refused = await desk.refused(name, p.caller, **(asked | {where: value}))
    assert (refused.status, refused.body["error"]) == (400, "secret_not_accepted")
    assert SECRET[2:].lower() not in (caplog.text + str(refused.body)).lower()
    assert await desk.rows("venue_intents") == []


async def test_abuse_42_signatures_and_the_terms_hash_are_no_secrets(desk: Desk) -> None:
    p = await desk.linked()
    await desk.enabled(p, order_key(1))


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
        bad = desk.approval(p, order_key(3)) | {
            "signature": {"r": "0x" + "12" * 32, "s": "0x" + "13" * 32, "v": 27}
        }
        await desk.do("own_enable_relay", p.caller, **bad)
    for told in (asked, lost, bad):
        assert told["signature"]["r"][2:] not in caplog.text
        assert told["signature"]["s"][2:] not in caplog.text
