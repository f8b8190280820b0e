"""Payments out of a purse: what is asked for, signed, paid once, and refused."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from eth_utils import keccak

from chain.chains import EvmChains
from chain.contracts import abi_codec
from domain.agents.key_rules import PurseBill
from domain.mandates.purses import BillTerms, TokenDomain
from domain.money import Usdc
from domain.refusals import Refused, SigningRefused, refusal
from server.signer import agent_keys
from server.signer.agent_keys import AgentKeys
from tests.chain.nodes import distorted
from tests.hosted import hosted, key_ends_under_way, signing
from tests.tools.keeper.test_transfers_chain import ticks
from tests.tools.paying import (
    PAYEE,
    balance,
    funded,
    paid,
    paid_targets,
    paying,
    required,
    settled,
)
from tests.world import CHAIN_ID, Evm, Mandated, World, a_world
from tools.actions import paying as paying_module
from tools.context.snapshot_loader import signed_purse
from tools.model.shutdown import Shutdown

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(database_url: str, evm: Evm) -> AsyncIterator[World]:
    async with a_world(database_url, evm, purses=True) as opened:
        yield opened


@pytest.fixture
async def lite(sqlite_url: str, evm: Evm) -> AsyncIterator[World]:
    async with a_world(sqlite_url, evm, purses=True) as opened:
        yield opened


async def test_a_bill_is_made_signed_and_settled_by_the_token(world: World) -> None:
    m = await paying(world)
    asked = required(world, "0.25")
    made = (
        await m.as_agent("mandate_pay", payment_required=asked, max_amount="1", why="data")
    ).body
    assert made["bill"]["state"] == "open"
    assert made["purse"]["balance_usdc"] == "20.000000"
    assert made["purse"]["reserved_usdc"] == "0.250000"
    told = await m.as_agent(
        "mandate_pay", payment_required=asked, max_amount="1", why="data",
        signature=m.agent_wallet.sign_typed(made["typed_data"]),
    )  # fmt: skip
    assert told.status == 200, told.body
    payment = told.body["payment_payload"]
    assert json.loads(base64.b64decode(told.body["header"])) == payment
    assert payment["x402Version"] == 2
    assert payment["resource"] == asked["resource"]
    assert payment["accepted"] == asked["accepts"][0]
    assert payment["payload"]["authorization"]["from"] == made["purse"]["address"]
    assert await settled(world, payment)
    assert balance(world, PAYEE) == Usdc.parse("0.25")
    assert not await settled(world, payment), "the token takes a nonce once"


# -- one bill a purchase


async def _asked(m: Mandated, amount: str = "0.25", **more: Any) -> Any:
    asked = {
        "payment_required": required(m.world, amount),
        "max_amount": "50",
        "why": "data",
    } | more
    return await m.as_agent("mandate_pay", **asked)


async def _count(m: Mandated) -> int:
    return len(await m.world.store.read(lambda uow: uow.bills.page(m.id, after=None, limit=50)))


async def _refused(m: Mandated, code: str, amount: str = "0.25", **more: Any) -> dict[str, Any]:
    """A payment that is refused, and leaves no bill behind."""
    before = await _count(m)
    told = await _asked(m, amount, **more)
    assert told.body.get("error") == code, told.body
    assert await _count(m) == before
    return dict(told.body)


async def test_a_lost_answer_asked_again_is_the_same_bill(world: World) -> None:
    m = await paying(world)
    first, again = [(await _asked(m)).body for _ in range(2)]
    assert first["typed_data"] == again["typed_data"]
    named = [(await _asked(m, idempotency_key="b-1")).body for _ in range(2)]
    assert named[0]["bill"] == named[1]["bill"]
    assert named[0]["bill"]["bill_id"] != first["bill"]["bill_id"]
    assert await _count(m) == 2
    told = await _asked(m, "0.5", idempotency_key="b-1")
    assert told.body["error"] == "idempotency_key_reused"


async def test_two_at_once_make_one_bill_a_key_and_promise_no_more_than_there_is(
    world: World,
) -> None:
    m = await paying(world, fund="1")
    keys = ["same", "same", "other", "third"]
    told = await asyncio.gather(*(_asked(m, "0.5", idempotency_key=key) for key in keys))
    answers = {(k, t.body["bill"]["bill_id"] if t.status == 200 else t.body["error"]) for k, t in zip(keys, told, strict=True)}  # fmt: skip
    # Any of the three keys may come last, the one that is sent twice too.
    assert sorted(key for key, _ in answers) == ["other", "same", "third"]
    assert len({answer for _, answer in answers}) == 3
    assert [answer for _, answer in answers].count("purse_low") == 1
    assert await _count(m) == 2


async def test_a_signed_bill_answers_the_same_payment_again(world: World) -> None:
    m = await paying(world)
    first = await paid(m, "0.25", idempotency_key="b-1")
    again = await _asked(m, "0.25", max_amount="0.25", idempotency_key="b-1")
    assert again.body["payment_payload"] == first["payment_payload"]
    assert await settled(world, first["payment_payload"])


async def test_a_process_that_dies_before_its_answer_leaves_a_bill_that_is_found_again(
    world: World,
) -> None:
    """The bill is stored before anything of it leaves: whoever asks again gets that one."""
    m = await paying(world)

    def died(*_: object) -> object:
        raise RuntimeError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paying_module.Paying, "_shown", died)
        assert (await _asked(m, idempotency_key="b-1")).status == 500
    (kept,) = await world.store.read(lambda uow: uow.bills.page(m.id, after=None, limit=5))
    told = await _asked(m, idempotency_key="b-1")
    assert told.body["bill"]["bill_id"] == kept.bill_id
    assert await _count(m) == 1


async def test_an_expired_bill_promises_nothing_and_another_purchase_takes_another_key(
    lite: World,
) -> None:
    m = await paying(lite, fund="1")
    await _asked(m, "1", idempotency_key="b-1")
    await _refused(m, "purse_low", "1", idempotency_key="b-2")
    lite.clock.forward(seconds=61)
    lite.evm.chain.mine()
    told = await _refused(m, "conflict", "1", idempotency_key="b-1")
    assert told["detail"]["bill"]["state"] == "expired"
    assert (await _asked(m, "1", idempotency_key="b-2")).status == 200


async def test_an_epoch_that_ended_makes_bills_void(world: World) -> None:
    m = await paying(world, fund="1")
    first = await paid(m, "1", idempotency_key="b-1")
    purse = first["purse"]["address"]
    call = {
        "chain_id": CHAIN_ID,
        "to": purse,
        "data": abi_codec.calldata("Purse", "void", ()),
        "value": "0",
    }
    ok, _ = await world.mined(m.owner_wallet, call)
    assert ok
    assert not await settled(world, first["payment_payload"])
    told = await _refused(m, "conflict", "1", max_amount="1", idempotency_key="b-1")
    assert told["detail"]["bill"]["state"] == "void"
    second = await paid(m, "1", idempotency_key="b-2")
    assert second["bill"]["nonce"].startswith("0x00000001")
    assert await settled(world, second["payment_payload"])


async def test_an_agent_with_a_purse_is_told_of_the_tools_that_pay(lite: World) -> None:
    m = await paying(lite, fund=None)
    assert (await lite.ok("agents_me", m.agent))["toolsets"] == ["core", "pay"]


# -- what is refused


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"x402Version": 1}, "x402Version"), ({"x402Version": "2"}, "x402Version"),
        ({"x402Version": 2.5}, "x402Version"), ({"accepts": []}, "accepts"), ({"accepts": {}}, "accepts"),
        ({"accepts": ["exact"]}, "accepts.0"), ({"resource": "https://data.example"}, "resource.url"),
        ({"resource": {"url": "no host"}}, "resource.url"),
        ({"resource": {"url": "https://a:b@data.example/"}}, "resource.url"),
        ({"resource": {"url": "https://data.example/" + "x" * 2048}}, "resource.url"),
        ({"resource": {"url": "https://[::1"}}, "resource.url"),
        ({"resource": {"url": "https://\u0430\u0440\u0440\u04cf\u0435.com/"}}, "resource.url"),
        ({"resource": {"url": "https://other.example\\.data.example/"}}, "resource.url"),
        ({"resource": {"url": "https://=cmd|' /c calc'!a0.example/"}}, "resource.url"),
        ({"resource": {"url": "https://%64ata.example/"}}, "resource.url"),
        ({"resource": {"url": "https://" + "a" * 254 + "/"}}, "resource.url"),
        ({"extensions": []}, "extensions"),
        ({"extensions": {"x": "y" * 17_000}}, ""), ({"extensions": {"x": Decimal("1e400")}}, ""),
    ],
)  # fmt: skip
async def test_a_402_of_another_form_is_refused_with_its_field(
    lite: World, change: dict[str, Any], field: str
) -> None:
    m = await paying(lite, fund=None)
    told = await _refused(m, "invalid_request", payment_required=required(lite, "1") | change)
    at = f"payment_required.{field}".rstrip(".")
    assert told["detail"]["fields"][0]["loc"] == at, told


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"scheme": "upto"}, "scheme"), ({"network": "eip155:1"}, "network"), ({"network": "base"}, "network"),
        ({"asset": PAYEE}, "asset"), ({"asset": None}, "asset"),
        ({"amount": 250000}, "amount"), ({"amount": 0.25}, "amount"), ({"amount": "0.25"}, "amount"),
        ({"amount": "-1"}, "amount"), ({"amount": "0"}, "amount"), ({"amount": "1e6"}, "amount"),
        ({"amount": "1" + "0" * 17 + "01"}, "amount"), ({"amount": "9" * 80}, "amount"), ({"amount": None}, "amount"),
        ({"payTo": None}, "payTo"), ({"maxTimeoutSeconds": 0}, "maxTimeoutSeconds"),
        ({"maxTimeoutSeconds": "60"}, "maxTimeoutSeconds"), ({"maxTimeoutSeconds": True}, "maxTimeoutSeconds"),
        ({"extra": {"name": "USD Coin", "version": "2"}}, "extra.name"), ({"extra": []}, "extra"),
        ({"extra": {"assetTransferMethod": "permit2"}}, "extra.assetTransferMethod"),
    ],
)  # fmt: skip
async def test_an_offer_that_is_not_paid_is_refused_with_its_field(
    lite: World, change: dict[str, Any], field: str
) -> None:
    m = await paying(lite, fund=None)
    asked = required(lite, "1", **change)
    told = await _refused(m, "invalid_request", payment_required=asked)
    assert told["detail"]["fields"][0]["loc"] == f"payment_required.accepts.0.{field}", told


async def test_an_address_that_is_none_is_refused(lite: World) -> None:
    m = await paying(lite, fund=None)
    asked = required(lite, "1", payTo="0x12")
    await _refused(m, "invalid_address", payment_required=asked)


async def test_the_offer_that_can_be_paid_is_taken_or_the_one_that_is_chosen(lite: World) -> None:
    m = await paying(lite)
    asked = required(lite, "0.25")
    (good,) = asked["accepts"]
    asked["accepts"] = [good | {"network": "solana:mainnet"}, good, good | {"amount": "500000"}]
    assert (await _asked(m, payment_required=asked)).body["bill"]["amount_usdc"] == "0.250000"
    told = await _asked(m, payment_required=asked, choose=2)
    assert told.body["bill"]["amount_usdc"] == "0.500000"
    assert (await _asked(m, payment_required=asked, choose=0)).body["error"] == "invalid_request"
    assert (await _asked(m, payment_required=asked, choose=3)).body["error"] == "invalid_request"


async def test_a_host_of_no_entry_is_refused(lite: World) -> None:
    targets = [{"kind": "x402", "hosts": ["api.example.com", "data.example:8443"], "purse": {}}]
    m = await paying(lite, targets=targets)
    told = await _refused(m, "target_not_allowed")
    assert told["detail"]["selector"] == "data.example"
    asked = required(lite, "0.25")
    for url, error in (
        ("https://data.example:8443/x", None), ("https://API.example.com/x", None),
        ("https://api.example.com.evil.example/x", "target_not_allowed"),
        ("https://evil.example/api.example.com", "target_not_allowed"),
    ):  # fmt: skip
        told = (await _asked(m, payment_required=asked | {"resource": {"url": url}})).body
        assert told.get("error") == error, (url, told)


async def test_terms_without_a_purse_pay_nothing(lite: World) -> None:
    m = await paying(lite, fund=None, targets=[{"kind": "vault"}, {"kind": "x402"}])
    await _refused(m, "target_not_allowed")


async def test_only_payees_of_the_terms_are_paid_and_never_the_mandate_itself(lite: World) -> None:
    m = await paying(lite, purse={"payees": [PAYEE, "0x" + "c3" * 20]})
    made = await _asked(m)
    assert made.status == 200
    own = [
        m.vault,
        made.body["purse"]["address"],
        made.body["purse"]["hub"],
        "0x" + "00" * 20,
        "0x" + "d4" * 20,
    ]
    for payee in own:
        asked = required(lite, "0.25", payTo=payee)
        told = await _refused(m, "payee_not_allowed", payment_required=asked)
        assert told["detail"]["payee"].lower() == payee.lower()
    assert await settled(lite, (await paid(m, "0.25"))["payment_payload"]), "with its proof"


async def test_above_what_one_payment_may_be_is_refused(lite: World) -> None:
    m = await paying(lite, purse={"per_payment_usdc": "2"})
    told = await _refused(m, "over_per_payment", "2.000001")
    assert told["detail"] == {
        "attempted": "2.000001",
        "allowed": "2.000000",
        "bound_by": "the terms",
    }
    told = await _refused(m, "over_per_payment", "1", max_amount="0.999999")
    assert told["detail"]["bound_by"] == "max_amount"
    assert (await _asked(m, "2", max_amount="2")).status == 200


async def test_above_the_purses_day_is_refused_until_midnight(lite: World) -> None:
    m = await paying(lite, fund="5", purse={"per_day_usdc": "5", "float_usdc": "5"})
    await _asked(m, "3", idempotency_key="b-1")
    told = await _refused(m, "over_daily_cap", "2.000001", idempotency_key="b-2")
    assert told["remaining"] == {"value": "2.000000"}
    assert told["retry_at"] == "2026-11-21T00:00:00.000Z"


async def test_what_was_paid_without_a_bill_of_ours_counts_on_the_purses_day(lite: World) -> None:
    m = await paying(lite, fund="5", purse={"per_day_usdc": "5", "float_usdc": "5"})
    chain, now = lite.chains.get(CHAIN_ID), lite.evm.chain.head.timestamp
    made = (await _asked(m)).body
    purse, token = made["purse"]["address"], TokenDomain(name="USDC", version="2")
    own = BillTerms(
        pay_to=PAYEE, amount=Usdc.parse("4"), valid_after=now - 60, valid_before=now + 60,
        nonce="0x" + "00" * 31 + "07",
    )  # fmt: skip
    document = chain.bill_typed_data(purse, token, own)
    signature = chain.bill_signature(own, m.agent_wallet.sign_typed(document))
    payment = {"authorization": document["message"], "signature": signature}
    assert await settled(lite, {"payload": payment})
    await ticks(lite).round()
    told = await _refused(m, "over_daily_cap", "0.76", idempotency_key="b-2")
    assert told["detail"]["used"] == "4.250000"


async def test_no_more_bills_are_open_than_are_counted(
    lite: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paying_module, "OPEN_MOST", 2, raising=False)
    m = await paying(lite)
    for n in range(2):
        assert (await _asked(m, idempotency_key=f"b-{n}")).status == 200
    await _refused(m, "conflict", idempotency_key="b-2")
    assert (await _asked(m, idempotency_key="b-1")).status == 200


# -- each bill counts once


async def test_a_bill_that_is_paid_counts_once_before_its_row_and_after_it(world: World) -> None:
    m = await paying(world, fund="5", purse={"per_day_usdc": "5"})
    first = await paid(m, "3", idempotency_key="b-1")
    assert await settled(world, first["payment_payload"])
    told = await _asked(m, "2", idempotency_key="b-2")
    assert told.status == 200, "what was paid is in the balance"
    assert told.body["purse"]["reserved_usdc"] == "2.000000"
    over = await _refused(m, "over_daily_cap", "0.000001", idempotency_key="b-3")
    assert over["detail"]["used"] == "5.000000"
    await ticks(world).round()
    over = await _refused(m, "over_daily_cap", "0.000001", idempotency_key="b-3")
    assert over["detail"]["used"] == "5.000000"


async def test_a_paid_bill_whose_time_is_over_counts_for_the_day_before_its_row(
    world: World,
) -> None:
    m = await paying(world, fund="5", purse={"per_day_usdc": "5"})
    first = await paid(m, "3", idempotency_key="b-1")
    assert await settled(world, first["payment_payload"])
    world.clock.forward(seconds=61)
    world.evm.chain.mine()
    over = await _refused(m, "over_daily_cap", "2.000001", idempotency_key="b-2")
    assert over["detail"]["used"] == "3.000000"
    await ticks(world).round()
    over = await _refused(m, "over_daily_cap", "2.000001", idempotency_key="b-2")
    assert over["detail"]["used"] == "3.000000"


async def _other_payment(m: Mandated, bill: dict[str, Any], amount: str) -> None:
    """The agent signs another payment under the nonce of a bill, and it is settled."""
    world = m.world
    chain, now = world.chains.get(CHAIN_ID), int(world.clock.now().timestamp())
    own = BillTerms(
        pay_to="0x" + "c4" * 20, amount=Usdc.parse(amount), valid_after=now - 60,
        valid_before=now + 60, nonce=bill["nonce"],
    )  # fmt: skip
    purse = (await _asked(m, "0.000001", idempotency_key="address")).body["purse"]["address"]
    document = chain.bill_typed_data(purse, TokenDomain(name="USDC", version="2"), own)
    signature = chain.bill_signature(own, m.agent_wallet.sign_typed(document))
    payment = {"authorization": document["message"], "signature": signature}
    assert await settled(world, {"payload": payment})


async def test_a_bill_whose_nonce_paid_somebody_else_takes_nothing_any_more(world: World) -> None:
    m = await paying(world, fund="5", purse={"per_day_usdc": "5"})
    bill = (await _asked(m, "3", idempotency_key="b-1")).body["bill"]
    await _other_payment(m, bill, "0.1")
    told = await _asked(m, "1.5", idempotency_key="b-2")
    assert told.body["purse"]["reserved_usdc"] == "1.500001", told.body
    await ticks(world).round()
    told = await _asked(m, "3", idempotency_key="b-1")
    assert told.body["detail"]["bill"]["state"] == "void", told.body
    told = await _asked(m, "3.399999", idempotency_key="b-3")
    assert told.status == 200, told.body


async def test_a_node_that_does_not_tell_whether_a_nonce_is_used_pays_nothing(lite: World) -> None:
    m = await paying(lite)
    await _asked(m, "1", idempotency_key="b-1")
    selector = "0x" + keccak(text="authorizationState(address,bytes32)")[:4].hex()

    def silent(request: dict[str, Any], raw: Any) -> Any:
        asked = request["method"] == "eth_call" and request["params"][0]["data"][:10] == selector
        return raw | {"result": "0x"} if asked else raw

    async with distorted(lite.evm.chain, silent) as url:
        away = replace(lite.deps, chains=EvmChains([replace(lite.facts, rpc_url=url)]))
        lite.deps = away
        told = await _asked(m, "1", idempotency_key="b-2")
        lite.deps = lite.whole
        await away.chains.close()
    assert told.body["error"] == "chain_unavailable"


@pytest.mark.parametrize("info", [[], "id", None, 7])
async def test_an_extension_of_another_form_is_repeated_as_it_stands(
    lite: World, info: object
) -> None:
    extensions = {"payment-identifier": {"info": info}}
    told = await paid(
        await paying(lite), "0.25",
        payment_required=required(lite, "0.25") | {"extensions": extensions},
    )  # fmt: skip
    assert told["bill"]["payment_identifier"] is None
    assert told["payment_payload"]["extensions"] == extensions


async def test_a_purse_that_is_low_names_the_call_that_fills_it(lite: World) -> None:
    m = await paying(lite, fund="1")
    await _asked(m, "0.4", idempotency_key="b-1")
    told = await _refused(m, "purse_low", "0.75", idempotency_key="b-2")
    assert told["detail"]["fund"] == {"kind": "fund", "amount_usdc": "0.150000"}
    assert told["next"][0]["tool"] == "mandate_act"
    never = await paying(lite, fund=None)
    assert (await _refused(never, "purse_low"))["detail"]["fund"]["amount_usdc"] == "0.250000"


async def test_credits_of_the_day_bound_payments(sqlite_url: str, evm: Evm) -> None:
    async with a_world(sqlite_url, evm, purses=True, paid_read_enforcement=True) as world:
        m = await paying(world)
        policy = {"agent_id": m.agent.user_id, "accepts_mandates": True, "credit_budget_daily": 60}
        await world.ok("owner_agent_policy_put", m.owner, **policy)
        assert (await _asked(m, "0.35", idempotency_key="b-1")).status == 200
        told = await _refused(m, "mandate_budget_exceeded", "0.26", idempotency_key="b-2")
        assert told["remaining"] == {"credits": 25}
        assert (await _asked(m, "0.25", idempotency_key="b-2")).status == 200


async def test_credits_count_every_payment_once_whoever_made_its_bill(
    database_url: str, evm: Evm
) -> None:
    async with a_world(database_url, evm, purses=True, paid_read_enforcement=True) as world:
        m = await paying(world)
        policy = {"agent_id": m.agent.user_id, "accepts_mandates": True, "credit_budget_daily": 60}
        await world.ok("owner_agent_policy_put", m.owner, **policy)
        read = {"resource": "https://data.example/", "fee_kind": "paid_read"}
        told = await m.as_agent("mandate_report_event", kind="fee", amount_usdc="0.1", payload=read)
        assert told.status == 201, told.body
        bill = (await _asked(m, "0.05", idempotency_key="b-1")).body["bill"]
        await _other_payment(m, bill, "0.101")
        for row in ("missing", "there"):
            told = await _refused(m, "mandate_budget_exceeded", "1", idempotency_key="b-2")
            # 10 told of, and 1 for the bill of a millionth; then 11 for what was paid in place of 5.
            assert told["remaining"] == {"credits": {"missing": 44, "there": 38}[row]}
            await ticks(world).round()
        shown = (await m.read())["limits"]["used"]["paid_reads"]
        assert shown["value"] == 21


async def test_while_paused_stopped_or_ended_nothing_is_paid(world: World) -> None:
    m = await paying(world)
    before = await paid(m, "0.25", idempotency_key="b-1")
    await m.recorded(m.owner_wallet, (await m.as_owner("owner_pause_call")).body["call"])
    await _refused(m, "mandate_paused", idempotency_key="b-2")
    await _refused(m, "mandate_paused", max_amount="0.25", idempotency_key="b-1")
    assert not await settled(world, before["payment_payload"])
    await m.recorded(m.owner_wallet, (await m.as_owner("owner_resume_call")).body["call"])
    assert (await _asked(m, idempotency_key="b-2")).status == 200
    await m.recorded(m.owner_wallet, (await m.as_owner("owner_stop_call")).body["call"])
    await _refused(m, "mandate_stopped", idempotency_key="b-3")


async def test_after_the_end_and_before_acceptance_nothing_is_paid(lite: World) -> None:
    m = await paying(lite, fund=None, accept=False)
    await _refused(m, "mandate_not_accepted")
    assert (await m.as_agent("mandate_accept")).status == 200
    lite.clock.forward(days=31)
    lite.evm.chain.mine()
    await _refused(m, "mandate_ended")


async def test_a_pause_that_only_the_chain_knows_is_seen(lite: World) -> None:
    m = await paying(lite)
    call = (await m.as_owner("owner_pause_call")).body["call"]
    ok, _ = await lite.mined(m.owner_wallet, call)
    assert ok
    await _refused(m, "mandate_paused")


async def test_another_agents_mandate_is_not_found(lite: World) -> None:
    m, other = await paying(lite, fund=None), await paying(lite, fund=None)
    asked = {"payment_required": required(lite, "1"), "max_amount": "1", "why": "x"}
    told = await lite.do("mandate_pay", other.agent, public_id=m.id, **asked)
    assert told.body["error"] == "not_found"


async def test_another_keys_signature_is_refused_and_pays_nothing(lite: World) -> None:
    m = await paying(lite)
    made = (await _asked(m)).body
    for signature in (m.owner_wallet.sign_typed(made["typed_data"]), "0x" + "1b" * 65, "0x12"):
        told = await _asked(m, signature=signature)
        assert told.body["error"] == "invalid_signature", told.body
    told = await _asked(m, "0.26", signature=m.agent_wallet.sign_typed(made["typed_data"]))
    assert told.body["error"] == "conflict"


async def test_a_chain_that_cannot_be_read_pays_nothing(lite: World) -> None:
    m = await paying(lite)
    away = replace(lite.deps, chains=EvmChains([replace(lite.facts, rpc_url="http://127.0.0.1:9")]))
    lite.deps = away
    told = await _asked(m)
    lite.deps = lite.whole
    await away.chains.close()
    assert told.body["error"] == "chain_unavailable"
    assert await _count(m) == 0


async def test_the_identifier_of_a_seller_that_takes_one_is_sent_and_all_else_repeated(
    lite: World,
) -> None:
    m = await paying(lite)
    extensions = {
        "payment-identifier": {"info": {"required": True}, "schema": {"type": "object"}},
        "bazaar": {"info": {"x": [1, 2.5, None, "ü\n"]}},
    }
    asked = required(lite, "0.25") | {"extensions": extensions}
    first = await paid(m, "0.25", payment_required=asked)
    sent = first["payment_payload"]["extensions"]
    name = sent["payment-identifier"]["info"].pop("id")
    assert sent == extensions
    assert re.fullmatch("[A-Za-z0-9_-]{16,128}", name)
    assert name == first["bill"]["payment_identifier"]


# -- the owner is asked


async def test_a_payment_above_the_approval_amount_waits_for_the_owner(world: World) -> None:
    m = await paying(world, fund="10", approval_above_usdc="10")
    await funded(m, "10")
    held = await _asked(m, "15", idempotency_key="b-1")
    assert held.status == 202, held.body
    assert held.body["status"] == "pending_approval"
    assert held.body["approval"]["target"]["address"] == PAYEE
    assert held.body["approval"]["target"]["resource"] == "https://data.example/report"
    assert (await _asked(m, "15", idempotency_key="b-1")).body["approval"] == held.body["approval"]
    assert (await _asked(m, "10", idempotency_key="b-2")).body["error"] == "purse_low"
    named = {"approval_id": held.body["approval"]["approval_id"], "decision": "approve"}
    assert (await m.as_owner("owner_approval_decide", **named)).status == 200
    told = await paid(m, "15", max_amount="50", idempotency_key="b-1")
    shown = await m.as_owner("mandate_approval", approval_id=named["approval_id"])
    assert (shown.body["checks"], shown.body["simulation"]) == ([], None)
    assert await settled(world, told["payment_payload"])
    await ticks(world).round()
    shown = await m.as_owner("mandate_approval", approval_id=named["approval_id"])
    assert shown.body["approval"]["status"] == "used"


async def test_where_the_factory_keeps_approvals_the_owners_signature_is_in_the_bytes(
    database_url: str, evm: Evm
) -> None:
    async with a_world(database_url, evm, purses=True, approvals_on_chain=True) as world:
        m = await paying(world, fund="10", approval_above_usdc="10")
        await funded(m, "10")
        held = (await _asked(m, "15", idempotency_key="b-1")).body
        named = {"approval_id": held["approval"]["approval_id"], "decision": "approve"}
        asked = (await m.as_owner("owner_approval_decide", **named)).body
        assert asked["error"] == "signature_needed"
        assert (await _asked(m, "15", idempotency_key="b-1")).status == 202
        signature = m.owner_wallet.sign_typed(asked["detail"]["typed_data"])
        told = await m.as_owner("owner_approval_decide", **named, signature=signature)
        assert told.status == 200, told.body
        payment = (await paid(m, "15", max_amount="50", idempotency_key="b-1"))["payment_payload"]
        assert await settled(world, payment)
        assert not await settled(world, payment)


async def test_a_payment_that_the_owner_declined_is_refused(lite: World) -> None:
    m = await paying(lite, fund="10", approval_above_usdc="5")
    held = (await _asked(m, "7", idempotency_key="b-1")).body
    named = {"approval_id": held["approval"]["approval_id"], "decision": "decline"}
    assert (await m.as_owner("owner_approval_decide", **named)).status == 200
    told = (await _asked(m, "7", idempotency_key="b-1")).body
    assert told["error"] == "owner_declined"
    other = await _asked(m, "6", idempotency_key="b-2")
    assert other.status == 202, "what was declined takes nothing out of the purse"
    assert other.body["purse"]["reserved_usdc"] == "6.000000"


# -- the purse by its name


async def test_a_purse_is_filled_and_emptied_by_name(world: World) -> None:
    m = await paying(world, fund=None)
    told = await m.as_agent("mandate_execute_call", purse="fund", amount_usdc="20")
    assert told.status == 200, told.body
    call = {n: told.body[n] for n in ("chain_id", "to", "data", "value")}
    await m.recorded(m.agent_wallet, call)
    await paid(m, "0.25")
    refused = await m.as_agent("mandate_execute_call", purse="drain")
    assert refused.body["error"] == "conflict"
    assert refused.body["retry_at"] == "2026-11-20T12:01:00.000Z"
    world.clock.forward(seconds=61)
    world.evm.chain.mine()
    told = await m.as_agent("mandate_execute_call", purse="drain")
    assert told.status == 200, told.body
    await m.recorded(m.agent_wallet, {n: told.body[n] for n in ("chain_id", "to", "data", "value")})
    assert (await _refused(m, "purse_low"))["detail"]["balance"] == "0.000000"


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"purse": "fund"}, "amount_usdc"), ({"purse": "fund", "amount_usdc": "0"}, "amount_usdc"),
        ({"purse": "drain", "amount_usdc": "1"}, "amount_usdc"), ({"purse": "drain", "data": "0x"}, "data"),
        ({"purse": "fund", "amount_usdc": "1", "market": "test-market"}, "market"),
        ({"purse": "fund", "amount_usdc": "1", "approve_amount": "1"}, "approve_amount"),
    ],
)  # fmt: skip
async def test_a_purse_by_name_takes_no_other_fields(
    lite: World, asked: dict[str, Any], field: str
) -> None:
    m = await paying(lite, fund=None)
    told = (await m.as_agent("mandate_execute_call", **asked)).body
    assert (told["error"], told["detail"]["fields"][0]["loc"]) == ("invalid_request", field), told


async def test_terms_without_a_purse_have_none_by_name(lite: World) -> None:
    m = await paying(lite, fund=None, targets=[{"kind": "vault"}])
    told = (await m.as_agent("mandate_execute_call", purse="drain")).body
    assert told["detail"]["fields"][0]["loc"] == "purse"


# -- the signer holds the key


@pytest.fixture
async def keyed(sqlite_url: str, evm: Evm, tmp_path: Path) -> AsyncIterator[Mandated]:
    """A mandate with a purse, whose agent's key the signer holds."""
    async with (
        a_world(sqlite_url, evm, purses=True) as world,
        signing(world, tmp_path),
    ):
        m = await hosted(world, allowed_targets=paid_targets(payees=[PAYEE]))
        act = {"action": {"kind": "fund", "amount_usdc": "10"}, "idempotency_key": "fund-1"}
        told = await m.as_agent("mandate_act", **act)
        assert told.body["outcome"] == "landed", told.body
        yield m


async def test_a_held_key_pays_in_one_call_and_a_repeat_is_the_same_payment(
    keyed: Mandated,
) -> None:
    told = [await _asked(keyed, idempotency_key="b-1") for _ in range(2)]
    assert told[0].body["payment_payload"] == told[1].body["payment_payload"]
    assert await settled(keyed.world, told[0].body["payment_payload"])
    assert balance(keyed.world, PAYEE) == Usdc.parse("0.25")
    keyed.world.clock.forward(seconds=61)
    keyed.world.evm.chain.mine()
    act = {"action": {"kind": "drain"}, "idempotency_key": "drain-1"}
    assert (await keyed.as_agent("mandate_act", **act)).body["outcome"] == "landed"
    assert (await _refused(keyed, "purse_low"))["detail"]["balance"] == "0.000000"


async def test_a_payment_that_waits_while_its_process_ends_is_told_to_be_repeated(
    keyed: Mandated, monkeypatch: pytest.MonkeyPatch
) -> None:
    signer, asked = keyed.world.deps.agent_signer, asyncio.Event()

    async def hang(*args: Any) -> str:
        asked.set()
        return await asyncio.Future()

    with monkeypatch.context() as silent:
        silent.setattr(signer, "agent_signed_bill", hang)
        waits = asyncio.create_task(_asked(keyed))
        await asked.wait()
        assert await keyed.world.deps.shutdown.end()
        told = await waits
    assert (told.status, told.body["error"]) == (503, "storage_unavailable"), told.body
    assert (told.body["retry_safe"], bool(told.body["next"])) == (True, True)
    keyed.world.deps = replace(keyed.world.deps, shutdown=Shutdown())
    assert await settled(keyed.world, (await _asked(keyed)).body["payment_payload"])
    assert await _count(keyed) == 1


async def test_who_asks_the_signer_too_often_is_told_when_to_come_again(
    keyed: Mandated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_keys, "PER_MINUTE", 1)
    keyed.world.clock.forward(seconds=20)
    told = (await _asked(keyed)).body
    assert (told["error"], told["retry_safe"]) == ("signer_refused", True)
    assert told["next"][0]["text"].startswith("Wait until retry_at")
    keyed.world.clock.at = datetime.fromisoformat(told["retry_at"])
    assert await settled(keyed.world, (await _asked(keyed)).body["payment_payload"])


async def test_what_the_signer_cannot_read_now_may_be_asked_again(
    keyed: Mandated, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unread(self: AgentKeys, *asked: Any) -> Any:
        raise Refused(refusal("chain_unavailable", chain_id=CHAIN_ID, why="it is silent"))

    with monkeypatch.context() as silent:
        silent.setattr(AgentKeys, "_purse", unread)
        told = (await _asked(keyed)).body
    assert (told["error"], told["retry_safe"]) == ("signer_refused", True)
    assert await settled(keyed.world, (await _asked(keyed)).body["payment_payload"])


async def test_a_key_that_ends_while_a_bill_is_checked_signs_it_no_more(
    keyed: Mandated, monkeypatch: pytest.MonkeyPatch
) -> None:
    key_ends_under_way(keyed, monkeypatch)
    told = (await _asked(keyed)).body
    assert (told["error"], told.get("payment_payload")) == ("signer_refused", None)


async def test_the_signer_reads_the_vault_by_itself_and_signs_only_bills_of_its_purse(
    keyed: Mandated,
) -> None:
    world = keyed.world
    kept = await world.store.read(lambda uow: uow.mandates.get(keyed.id))
    key = await world.store.read(
        lambda uow: uow.hosted_keys.get(keyed.agent.user_id or "", world.clock.now())
    )
    assert kept is not None
    assert kept.signed is not None
    assert key is not None
    assert world.deps.agent_signer is not None
    signer, terms, targets = world.deps.agent_signer, kept.signed, kept.allowed_targets
    chain = world.chains.get(CHAIN_ID)
    place = signed_purse(chain, kept)
    assert place is not None
    now = int(world.clock.now().timestamp())
    payee = world.chains.address(PAYEE)
    bill = BillTerms(
        pay_to=payee, amount=Usdc(250_000), valid_after=now - 60, valid_before=now + 60,
        nonce=chain.bill_nonce(0, "https://data.example/", payee, "0x" + "07" * 32),
    )  # fmt: skip
    good = PurseBill(vault=keyed.vault, purse=world.chains.address(place.address), bill=bill)
    assert len(await signer.agent_signed_bill(key.name, terms, targets, good)) == 2 + 65 * 2
    looser = tuple(replace(t, purse=replace(t.purse, payees=())) if t.purse else t for t in targets)
    wrong = [
        ("not that of the vault", targets, replace(good, purse=payee)),
        ("not that of the terms", targets, replace(good, vault=payee)),
        ("not that of the vault", looser, good),
        ("other payees", targets, replace(good, bill=replace(bill, pay_to="0x" + "d4" * 20))),
        ("most of one payment", targets, replace(good, bill=replace(bill, amount=Usdc(100_000_001)))),
        ("most of one payment", targets, replace(good, bill=replace(bill, amount=Usdc(0)))),
        ("has less", targets, replace(good, bill=replace(bill, amount=Usdc(10_000_001)))),
        ("than an hour", targets, replace(good, bill=replace(bill, valid_before=now + 3_600))),
        ("time is over", targets, replace(good, bill=replace(bill, valid_before=now))),
        ("another epoch", targets, replace(good, bill=replace(bill, nonce="0x00000001" + "0" * 56))),
    ]  # fmt: skip
    for why, named, asked in wrong:
        with pytest.raises(SigningRefused, match=why):
            await signer.agent_signed_bill(key.name, terms, named, asked)
    call = (await keyed.as_owner("owner_pause_call")).body["call"]
    ok, _ = await world.mined(keyed.owner_wallet, call)
    assert ok
    with pytest.raises(SigningRefused, match="another agent now"):
        await signer.agent_signed_bill(key.name, terms, targets, good)
