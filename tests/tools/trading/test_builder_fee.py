"""The builder fee: what it is, what an owner told, and what only the venue can say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devtools.devvenue import VenueFault
from domain.money import Usdc
from domain.trading.builder_fee import fee_of, order_fee, rate_text, tenths_of
from tests.tools.trading.conftest import BUILDER, Desk, Person, a_desk
from tools.model.operation import Caller
from venue import actions, signing

pytestmark = pytest.mark.anyio
ADMIN = Caller("admin")


def approve(ingest_context: Desk, p: Person, rate: str) -> None:
    """The owner approves at the venue, as his browser does."""
    nonce = int(ingest_context.clock.now().timestamp() * 1_000) + ingest_context.next_nonce()
    action = actions.approve_builder_fee(
        "testnet",
        builder=BUILDER.address,
        max_fee_rate=rate,
        nonce=nonce,
        signature_chain_id="0xa4b1",
    )
    made = signing.sign(signing.key_from(bytes(p.wallet.key)), signing.user_digest(action))
    sent = {"action": dict(action), "nonce": nonce, "signature": made.as_json()}
    assert ingest_context.test.exchange(sent)["status"] == "ok"


def asked(p: Person, **more: Any) -> dict[str, Any]:
    return {"wallet": p.wallet.address, "max_fee_rate": "0.1%"} | more


async def record(ingest_context: Desk, p: Person, **more: Any) -> dict[str, Any]:
    told = await ingest_context.ok("builder_fee_record", p.caller, **asked(p, **more))
    assert told["recorded"] is True
    return told


async def record_refused(ingest_context: Desk, p: Person, **more: Any) -> tuple[int, str]:
    reply = await ingest_context.refused("builder_fee_record", p.caller, **asked(p, **more))
    return reply.status, str(reply.body["error"])


async def test_the_fee_is_told_with_an_example_and_what_to_sign(desk: Desk) -> None:
    told = await desk.ok("builder_fee_config")
    fee = {"configured": True, "builder": BUILDER.address, "fee_pct": "0.1%", "fee_tenths_bps": 100}
    assert told == told | fee | {"network": "testnet"}
    assert told["cost_example"] == {"notional": "1000.000000", "fee": "1.000000"}
    assert told["typed_data"]["primaryType"] == "HyperliquidTransaction:ApproveBuilderFee"
    message = told["typed_data"]["message"]
    assert "nonce" not in message
    assert message["hyperliquidChain"] == "Testnet"
    desk.switched(venue_mainnet=True)
    message = (await desk.ok("builder_fee_config"))["typed_data"]["message"]
    assert message["hyperliquidChain"] == "Mainnet"


async def test_what_the_config_says_to_sign_is_what_the_venue_takes(desk: Desk) -> None:
    p = await desk.linked()
    typed = (await desk.ok("builder_fee_config"))["typed_data"]
    nonce = int(desk.clock.now().timestamp() * 1_000)
    typed["message"]["nonce"] = nonce
    made = p.wallet.sign_typed_data(full_message=typed)
    signature = {"r": f"0x{made.r:064x}", "s": f"0x{made.s:064x}", "v": made.v}
    action = {"type": "approveBuilderFee", "signatureChainId": "0xa4b1", **typed["message"]}
    sent = {"action": action, "nonce": nonce, "signature": signature}
    assert desk.test.exchange(sent)["status"] == "ok"
    told = await record(desk, p, nonce=nonce, signature=signature)
    assert (told["verified"], told["approved_tenths_bps"]) == (True, 100)


async def test_without_a_builder_it_says_so_with_nulls(sqlite_url: str) -> None:
    async with a_desk(sqlite_url, builder_address=None) as desk:
        told = await desk.ok("builder_fee_config")
        nulls = dict.fromkeys(("builder", "typed_data", "cost_example"))
        assert told == told | nulls | {"configured": False}
        p = await desk.linked()
        assert (await record_refused(desk, p))[1] == "not_configured"
        assert (await desk.ok("builder_fee_status", p.caller))["approved"] is False
        assert (await desk.ok("builder_fee_count", ADMIN))["recorded"] == 0


async def test_a_record_alone_never_makes_it_approved(both: Desk) -> None:
    p = await both.linked()
    told = await record(both, p)
    assert (told["verified"], told["approved_tenths_bps"]) == (False, 0)
    status = await both.ok("builder_fee_status", p.caller)
    assert (status["approved"], status["source"]) == (False, "venue")
    assert await record(both, p) == told
    assert len(await both.rows("venue_builder_fees")) == 1


async def test_the_venues_approval_counts_and_its_revocation_too(both: Desk) -> None:
    p = await both.linked()
    approve(both, p, "0.05%")
    told = await record(both, p, max_fee_rate="0.05%")
    less = {"verified": False, "approved_tenths_bps": 50, "required_tenths_bps": 100}
    assert told == told | less, "less than the fee is told as it is"
    approve(both, p, "0.1%")
    assert (await record(both, p))["verified"] is True
    both.clock.forward(seconds=60)
    assert (await both.ok("builder_fee_status", p.caller))["approved"] is True
    counts = await both.ok("builder_fee_count", ADMIN)
    assert counts == counts | {"recorded": 1, "verified": 1, "revoked": 0}
    approve(both, p, "0%")
    status = await both.ok("builder_fee_status", p.caller)
    assert status["approved"] is True, "held for 60 seconds"
    both.clock.forward(seconds=60)
    status = await both.ok("builder_fee_status", p.caller)
    assert (status["approved"], status["approved_tenths_bps"]) == (False, 0)
    counts = await both.ok("builder_fee_count", ADMIN)
    assert counts == counts | {"recorded": 1, "verified": 0, "revoked": 1}


async def test_abuse_30_a_fee_revoked_at_the_venue_is_seen_as_soon_as_it_is_read_fresh(
    desk: Desk,
) -> None:
    p = await desk.linked()
    approve(desk, p, "0.1%")
    assert (await record(desk, p))["approved_tenths_bps"] == 100
    approve(desk, p, "0%")
    told = await record(desk, p)
    assert (told["verified"], told["approved_tenths_bps"]) == (False, 0)
    assert order_fee(told["approved_tenths_bps"], 100) is None


async def test_while_the_venue_is_silent_its_last_word_stands_and_a_record_is_pending(
    desk: Desk,
) -> None:
    p, late = await desk.linked(), await desk.linked()
    approve(desk, p, "0.1%")
    first = await record(desk, p)
    desk.clock.forward(minutes=5)
    desk.test.faults.add(VenueFault(effect="status", status=500))
    status = await desk.ok("builder_fee_status", p.caller)
    last = {"approved": True, "source": "venue", "checked_at": first["checked_at"]}
    assert status == status | last | {"stale": True}
    told = await record(desk, late)
    pending = {"verified": False, "approved_tenths_bps": None, "checked_at": None}
    assert told == told | pending
    status = await desk.ok("builder_fee_status", late.caller)
    assert (status["approved"], status["source"], status["stale"]) == (False, "record", True)


async def test_only_the_linked_wallet_is_recorded(desk: Desk) -> None:
    p, other = await desk.linked(), await desk.person()
    for who in (p, other):
        told = await record_refused(desk, who, wallet=other.wallet.address)
        assert told == (409, "not_linked")
    assert (await desk.ok("builder_fee_status", other.caller))["wallet"] is None


async def test_what_is_no_rate_and_a_signature_that_is_not_the_wallets_are_refused(
    desk: Desk,
) -> None:
    p = await desk.linked()
    for rate in ("0.1", "1%%", "-0.1%", "abc", "", "0.00001%", "1e-1%", "0,1%", " 0.1%"):
        told = await record_refused(desk, p, max_fee_rate=rate)
        assert told == (400, "invalid_request"), rate
    signature = {"r": "0x" + "11" * 32, "s": "0x" + "11" * 32, "v": 27}
    assert (await record_refused(desk, p, signature=signature))[1] == "invalid_request"
    assert (await record_refused(desk, p, signature=signature, nonce=5))[1] == "invalid_signature"
    assert await desk.rows("venue_builder_fees") == []


async def test_only_the_operator_counts(desk: Desk) -> None:
    p = await desk.person()
    assert (await desk.do("builder_fee_count", p.caller)).status == 403
    assert (await desk.do("builder_fee_count")).status == 401


@given(st.integers(0, 100_000))
def test_a_rate_is_read_as_it_is_written(tenths: int) -> None:
    assert tenths_of(rate_text(tenths)) == tenths


@given(st.integers(0, 10**15), st.integers(1, 100))
def test_the_fee_is_rounded_up_and_never_above_a_tenth_of_a_percent_and_one_unit(
    micros: int, tenths: int
) -> None:
    fee = fee_of(Usdc(micros), tenths)
    assert 0 <= fee.micros * 100_000 - micros * tenths < 100_000
    assert order_fee(tenths, 100) == tenths
    assert order_fee(0, 100) is None
    assert order_fee(None, 100) is None
    assert order_fee(500, 100) == 100
