"""The chain reader follows purses: whoever settles, whatever a node leaves out, whatever the chain takes back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from chain.contracts import abi_codec
from domain.chain_facts import Call, VaultLog
from domain.mandates.bills import Bill
from domain.money import Usdc
from storage.integrity.ledger_check import verify
from storage.unit_of_work import UnitOfWork
from tests.chain.nodes import distorted
from tests.databases import engines
from tests.purses import PAYEE, URL, Purse, at_once, opened
from tests.server.test_sums import kept_by
from tests.tools.keeper.test_attach import lost
from tests.tools.keeper.test_transfers_chain import ticks, token
from tests.tools.paying import paid as signed_payment
from tests.tools.paying import required, settled
from tests.world import Evm, World, a_world
from tools.keeper import ingest
from tools.keeper.ingest import IngestContext, ingest_transaction
from tools.model.switches import switches

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(either_url: str, evm: Evm) -> AsyncIterator[World]:
    async with a_world(either_url, evm, purses=True) as made:
        yield made


async def changes(purse: Purse) -> list[tuple[str, str | None]]:
    """What the rows tell, oldest first: (what, amount)."""
    return [
        (e["payload"].get("purse_moved", {}).get("change", "paid"), e["amount_usdc"])
        for e in await purse.rows()
    ]


async def agrees(purse: Purse) -> None:
    """The rows leave in the purse what lies there, and nothing is in doubt."""
    told = await purse.read()
    assert told["in_purse"] == await purse.balance()
    assert (await purse.m.read())["progress"].get("data_issue", False) is False
    assert (await verify(purse.world.store)).ok


@engines
async def test_what_is_put_in_and_paid_is_measured(world: World) -> None:
    purse = await opened(world)
    await purse.fund("20")
    tx = await purse.pay("0.25")
    await ticks(world).round()
    told = await purse.read()
    assert (told["in_purse"], told["funded_today"], told["paid_today"]) == (
        "19.750000", "20.000000", "0.250000",
    )  # fmt: skip
    (_, paid) = await purse.rows()
    assert (paid["kind"], paid["amount_usdc"], paid["reported_by"]) == ("fee", "0.250000", "chain")
    assert (paid["tx_hash"], paid["payload"]["fee_kind"]) == (tx, "x402")
    assert paid["payload"]["payee"].lower() == PAYEE.lower()
    read = await purse.m.read()
    assert (read["progress"]["cash"], read["progress"]["worth_est"]) == ("480.000000", "480.000000")
    assert read["progress"]["positions"] == []
    assert read["fees"]["tools"] == "0.250000"
    assert [s["code"] for s in read["steps"] if s["amount_usdc"] == "20.000000"] == [
        "into_purse", "purse_funded",
    ]  # fmt: skip
    await agrees(purse)


async def test_drains_and_gifts_are_told_apart(world: World) -> None:
    purse = await opened(world)
    await purse.fund("20")
    await world.mint(purse.address, "3")
    await purse.pay("5")
    await purse.drain()
    await ticks(world).round()
    assert await changes(purse) == [
        ("funded", "20.000000"), ("came_in", "3.000000"), ("paid", "5.000000"), ("drained", "18.000000"),
    ]  # fmt: skip
    read = await purse.m.read()
    assert (read["progress"]["cash"], (await purse.read())["in_purse"]) == (
        "498.000000",
        "0.000000",
    )
    assert [s["code"] for s in read["steps"] if s["amount_usdc"] == "18.000000"] == [
        "out_of_purse", "purse_drained",
    ]  # fmt: skip
    await agrees(purse)


async def test_a_surplus_of_a_drain_goes_to_the_owner_and_is_no_payment(world: World) -> None:
    purse = await opened(world)
    await purse.fund("20")
    await world.mint(purse.address, "3")
    await purse.drain()
    await ticks(world).round()
    (*_, drained) = await purse.rows()
    assert (drained["amount_usdc"], drained["payload"]["purse_moved"]["to_owner"]) == (
        "20.000000", "3.000000",
    )  # fmt: skip
    assert (await purse.read())["paid_ever"] == "0.000000"
    await agrees(purse)


async def test_transfers_of_nothing_and_gifts_before_the_first_fund_are_no_riddle(
    world: World,
) -> None:
    purse = await opened(world)
    stranger = world.wallet()
    await world.mint(purse.address, "1")
    nothing = Usdc(0)
    await token(world, stranger, "transferFrom", purse.address, stranger.address, nothing)
    await purse.fund("5")
    await ticks(world).round()
    assert await changes(purse) == [("came_in", "1.000000"), ("funded", "5.000000")]
    await agrees(purse)


@engines
async def test_an_owner_who_makes_open_payments_void_is_in_the_record(world: World) -> None:
    purse = await opened(world)
    await purse.fund("20")
    stale = purse.settlement(purse.bill("1"))
    await purse.void()
    ok, _ = await world.mined(purse.m.owner_wallet, _wired(stale), gas=900_000)
    assert not ok
    await purse.pay("2", epoch=1)
    await ticks(world).round()
    assert await changes(purse) == [("funded", "20.000000"), ("voided", None), ("paid", "2.000000")]
    await agrees(purse)


def _wired(call: Call) -> dict[str, Any]:
    return {"chain_id": call.chain_id, "to": call.to, "data": call.data, "value": call.value}


async def test_a_stranger_who_settles_first_settles_the_same_payment(world: World) -> None:
    """The facilitator's own transaction reverts; what it names is no other payment."""
    purse = await opened(world)
    await purse.fund("20")
    call = purse.settlement(purse.bill("0.5"))
    first = await purse.mined(world.wallet(), call)
    ok, second = await world.mined(purse.m.owner_wallet, _wired(call), gas=900_000)
    assert not ok
    await ticks(world).round()
    report = {"resource": URL, "salt": purse.salt, "fee_kind": "x402"}
    told = await purse.m.as_agent(
        "mandate_report_event", kind="fee", amount_usdc="0.5", tx_hash=second, payload=report
    )
    assert (told.status, told.body["violation"]) == (201, False), told.body
    (_, paid, *_) = await purse.rows()
    assert paid["tx_hash"] == first
    assert (await purse.m.read())["fees"]["tools"] == "0.500000"
    await agrees(purse)


@engines
async def test_two_payments_in_one_transaction_are_two_rows(world: World) -> None:
    purse, other = await opened(world), PAYEE[:-1] + "d"
    await purse.fund("20")
    calls = [purse.settlement(purse.bill(a, to)) for a, to in (("0.25", PAYEE), ("0.75", other))]
    tx = await at_once(world, world.wallet(), calls)
    await ticks(world).round()
    paid = [e for e in await purse.rows() if e["kind"] == "fee"]
    assert [(e["tx_hash"], e["amount_usdc"]) for e in paid] == [(tx, "0.250000"), (tx, "0.750000")]
    assert len({e["payload"]["nonce"] for e in paid}) == 2
    assert len({e["payload"]["log_index"] for e in paid}) == 2
    await agrees(purse)


@engines
async def test_a_purse_that_pays_another_is_told_in_both(world: World) -> None:
    purse, other = await opened(world), await opened(world)
    await purse.fund("20")
    await other.fund("1")
    await purse.pay("5", other.address)
    await ticks(world).round()
    assert await changes(purse) == [("funded", "20.000000"), ("paid", "5.000000")]
    assert await changes(other) == [("funded", "1.000000"), ("came_in", "5.000000")]
    await agrees(purse)
    await agrees(other)


async def test_an_owner_whom_usdc_refuses_leaves_the_surplus_inside(world: World) -> None:
    purse = await opened(world)
    await purse.fund("20")
    await world.mint(purse.address, "3")
    await token(world, world.wallet(), "setBlacklisted", purse.m.owner_wallet.address, True)
    await purse.drain()
    await ticks(world).round()
    assert (await purse.read())["in_purse"] == "3.000000"
    await agrees(purse)


# -- what was bought


async def reported(purse: Purse, resource: str = URL, **payload: Any) -> Any:
    fee = {"resource": resource, "salt": purse.salt, "fee_kind": "x402"} | payload
    return await purse.m.as_agent("mandate_report_event", kind="fee", amount_usdc="0", payload=fee)


async def flags(purse: Purse) -> list[str]:
    rows = (await purse.m.read())["events"]
    return [c for e in rows for c in e["payload"].get("violation", {}).get("codes", ())]


async def test_a_payment_of_which_nobody_says_what_it_bought_is_flagged_after_an_hour(
    world: World,
) -> None:
    purse = await opened(world)
    await purse.fund("20")
    await purse.pay("0.25")
    keeper = ticks(world)
    await keeper.round()
    world.clock.forward(minutes=59)
    await keeper.round()
    assert await flags(purse) == []
    world.clock.forward(minutes=2)
    await keeper.round()
    await keeper.round()
    assert await flags(purse) == ["payment_unreported"]
    (flag,) = [e for e in (await purse.m.read())["events"] if "unexplained" in e["payload"]]
    (_, paid) = await purse.rows()
    assert flag["payload"]["unexplained"]["event_id"] == paid["event_id"]
    rules = {r["code"]: r["ok"] for r in (await purse.m.read())["progress"]["rules"]}
    assert rules["payment_unreported"] is False
    entries = (await purse.m.as_owner("owner_statement_rows", limit=200)).body["rows"]
    told = [r["code"] for r in entries if r["amount_usdc"] == "0.250000"]
    assert told == ["purse_paid"]  # the flag tells of the same amount


@engines
async def test_a_flag_goes_with_its_payment_and_comes_back_with_it_after_its_hour(
    world: World,
) -> None:
    purse, keeper = await opened(world), ticks(world)
    await purse.fund("20")
    await keeper.round()
    call = purse.settlement(purse.bill("0.25"))
    tx = await purse.mined(purse.m.owner_wallet, call)
    await keeper.round()
    world.clock.forward(minutes=40)
    await keeper.round()
    world.clock.forward(minutes=21)
    await keeper.round()
    assert await broken(purse) == ["payment_unreported"]
    lost(world, tx)
    await keeper.round()
    assert await broken(purse) == []
    await purse.pay("0.25")
    await keeper.round()
    assert await broken(purse) == []
    world.clock.forward(minutes=61)
    await keeper.round()
    assert await broken(purse) == ["payment_unreported"]
    assert (await verify(world.store)).ok


async def broken(purse: Purse) -> list[str]:
    """The rules that are broken by what stands."""
    read = await purse.m.read()
    codes = sorted({b["code"] for b in read["limits"]["breaches"]})
    assert codes == sorted(r["code"] for r in read["progress"]["rules"] if not r["ok"])
    return codes


@pytest.mark.parametrize("early", [False, True])
async def test_a_report_that_the_nonce_commits_to_explains_its_payment(
    world: World, early: bool
) -> None:
    purse, keeper = await opened(world), ticks(world)
    await purse.fund("20")
    await purse.pay("0.25")
    if not early:
        await keeper.round()
    told = await reported(purse, **({"payee": PAYEE} if early else {}))
    assert (told.status, told.body["violation"]) == (201, False), told.body
    await keeper.round()
    world.clock.forward(hours=2)
    await keeper.round()
    assert await flags(purse) == []
    read = await purse.m.read()
    assert read["fees"]["tools"] == "0.250000"  # measured once, and told for nothing
    (bought,) = [s for s in read["steps"] if s["code"] == "paid_read"]
    assert bought["resource"] == URL


async def test_a_report_that_no_payment_commits_to_is_refused_and_explains_nothing(
    world: World,
) -> None:
    purse = await opened(world)
    await purse.fund("20")
    await purse.pay("0.25")
    await ticks(world).round()
    told = await reported(purse, "https://data.example/other")
    assert (told.status, told.body["error"]) == (400, "invalid_request")
    wrong = await reported(purse, "https://data.example/other", payee=PAYEE)
    assert wrong.status == 201
    world.clock.forward(hours=2)
    await ticks(world).round()
    assert await flags(purse) == ["payment_unreported"]


async def test_what_was_bought_elsewhere_than_the_terms_allow_is_flagged(world: World) -> None:
    purse = await opened(world, hosts=["api.example"])
    await purse.fund("20")
    await purse.pay("0.25")
    await ticks(world).round()
    told = await reported(purse)
    assert (told.status, told.body["violation"]) == (202, True)
    assert await flags(purse) == ["target_not_allowed"]


@pytest.mark.parametrize(
    ("name", "value"), [("salt", "0x12"), ("salt", 7), ("payee", "0x12"), ("resource", None)]
)
async def test_a_report_of_a_bill_that_is_none_is_refused(
    world: World, name: str, value: object
) -> None:
    purse = await opened(world)
    told = await reported(purse, **{name: value})
    assert (told.status, told.body["error"]) == (400, "invalid_request")


@engines
async def test_a_payment_whose_bill_was_made_here_needs_no_report(world: World) -> None:
    purse, keeper = await opened(world), ticks(world)
    await purse.fund("20")
    await keeper.round()
    payment = (await signed_payment(purse.m, "0.25"))["payment_payload"]
    (bill,) = (await purse.read())["open_bills"]
    assert (bill["amount_usdc"], bill["resource"]) == ("0.250000", URL)
    assert await settled(world, payment)
    await keeper.round()
    (_, row) = await purse.rows()
    assert (row["payload"]["resource"], row["payload"]["nonce"]) == (
        URL, payment["payload"]["authorization"]["nonce"],
    )  # fmt: skip
    assert (await purse.read())["open_bills"] == []
    assert (await bills(purse))[0].paid_at is not None
    lost(world, row["tx_hash"])
    await keeper.round()
    assert (await bills(purse))[0].paid_at is None
    assert await settled(world, payment)
    world.clock.forward(hours=2)
    await keeper.round()
    assert (await bills(purse))[0].paid_at is not None
    assert await flags(purse) == []
    await agrees(purse)


@engines
@pytest.mark.parametrize("new_first", [False, True])
async def test_a_bill_is_settled_by_the_transaction_that_stands_in_any_order_of_rows(
    world: World, new_first: bool
) -> None:
    purse, keeper = await opened(world), ticks(world)
    await purse.fund("20")
    await keeper.round()
    payment = (await signed_payment(purse.m, "0.25"))["payment_payload"]
    seen = await told_logs(world, lambda: settled(world, payment))
    (first,) = [g for g in seen if g.name == "PursePaid"]
    other = replace(first, tx_hash="0x" + "c4" * 32)

    def moved(uow: UnitOfWork) -> None:
        mandate = uow.mandates.get(purse.m.id, lock=True)
        deps = world.deps
        ctx = IngestContext(
            uow, world.clock.now(), deps.ids, deps.config, switches(uow, deps.defaults)
        )
        steps = [(first.tx_hash, ()), (other.tx_hash, (other,))]
        assert mandate is not None
        for tx_hash, logs in reversed(steps) if new_first else steps:
            ingest_transaction(ctx, mandate, tx_hash, logs, purse=purse.address.lower())

    await world.store.write(moved)
    (bill,) = await bills(purse)
    assert (bill.tx_hash, bill.paid_at is not None) == (other.tx_hash, True)
    assert (await purse.read())["open_bills"] == []


async def told_logs(world: World, act: Callable[[], Awaitable[object]]) -> list[VaultLog]:
    """The logs that the reader takes in of what is done now."""
    seen: list[VaultLog] = []

    def kept(*args: Any, **more: Any) -> int:
        seen.extend(args[3])
        return ingest_transaction(*args, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest, "ingest_transaction", kept)
        await act()
        await ticks(world).round()
    return seen


@engines
async def test_bills_live_again_when_what_made_them_void_is_gone(world: World) -> None:
    purse, keeper = await opened(world), ticks(world)
    await purse.fund("20")
    await keeper.round()
    await signed_payment(purse.m, "0.25")
    tx = await purse.void()
    await keeper.round()
    assert (await purse.read())["open_bills"] == []
    lost(world, tx)
    await keeper.round()
    (bill,) = (await purse.read())["open_bills"]
    assert bill["amount_usdc"] == "0.250000"


async def test_a_bill_is_open_again_when_the_payment_under_its_nonce_is_gone(world: World) -> None:
    purse, keeper = await opened(world), ticks(world)
    await purse.fund("20")
    await keeper.round()
    await signed_payment(purse.m, "0.25")
    (bill,) = await bills(purse)
    other = replace(bill.terms, amount=Usdc.parse("5"))
    tx = await purse.mined(purse.m.owner_wallet, purse.settlement(other))
    await keeper.round()
    assert (await purse.read())["open_bills"] == []
    lost(world, tx)
    await keeper.round()
    assert len((await purse.read())["open_bills"]) == 1


@pytest.mark.parametrize("change", [{"pay_to": "0x" + "c4" * 20}, {"amount": Usdc.parse("5")}])
async def test_a_payment_of_another_payee_or_amount_under_the_nonce_of_a_bill_is_not_that_bill(
    world: World, change: dict[str, Any]
) -> None:
    purse, keeper = await opened(world), ticks(world)
    await purse.fund("20")
    await keeper.round()
    asked = {"payment_required": required(world, "0.25"), "max_amount": "1", "why": "data"}
    assert (await purse.m.as_agent("mandate_pay", **asked)).status == 200
    (bill,) = await bills(purse)
    await purse.mined(purse.m.owner_wallet, purse.settlement(replace(bill.terms, **change)))
    await keeper.round()
    (_, row) = await purse.rows()
    assert "resource" not in row["payload"]
    assert (await bills(purse))[0].paid_at is None
    world.clock.forward(hours=2)
    await keeper.round()
    assert await flags(purse) == ["payment_unreported"]
    await agrees(purse)


@pytest.mark.parametrize("early", [False, True])
async def test_a_report_that_names_another_payee_than_was_paid_explains_nothing(
    world: World, early: bool
) -> None:
    """The nonce of a bill is the agent's to choose: it can commit to a seller and pay itself."""
    purse, keeper = await opened(world), ticks(world)
    await purse.fund("20")
    bill = replace(purse.bill("5"), pay_to="0x" + "c4" * 20)
    await purse.mined(purse.m.owner_wallet, purse.settlement(bill))
    if not early:
        await keeper.round()
    assert (await reported(purse, payee=PAYEE)).status == 201
    await keeper.round()
    assert (await reported(purse)).body["error"] == "invalid_request"
    world.clock.forward(hours=2)
    await keeper.round()
    assert await flags(purse) == ["payment_unreported"]


async def bills(purse: Purse) -> Sequence[Bill]:
    return await purse.world.store.read(lambda uow: uow.bills.page(purse.m.id, after=None, limit=9))


# -- reorganisations


async def test_a_payment_that_a_reorganisation_took_away_is_taken_back(world: World) -> None:
    purse = await opened(world)
    await purse.fund("20")
    keeper = ticks(world)
    await keeper.round()
    tx = await purse.pay("0.25")
    await keeper.round()
    assert (await purse.read())["in_purse"] == "19.750000"
    lost(world, tx)
    await keeper.round()
    told = await purse.read()
    assert (told["in_purse"], told["paid_ever"], told["payments"]) == ("20.000000", "0.000000", 0)
    assert (await purse.m.read())["fees"]["tools"] == "0.000000"
    await agrees(purse)


@engines
async def test_a_payment_that_moved_is_one_payment(world: World) -> None:
    purse = await opened(world)
    await purse.fund("20")
    keeper = ticks(world)
    await purse.pay("0.25")
    await keeper.round()
    world.evm.chain.reorg(1)
    world.evm.chain.mine()
    await keeper.round()
    told = await purse.read()
    assert (told["in_purse"], told["payments"]) == ("19.750000", 1)
    await agrees(purse)


@engines
async def test_a_fund_that_a_reorganisation_took_away_takes_both_rows_back(world: World) -> None:
    purse = await opened(world)
    keeper = ticks(world)
    await purse.fund("5")
    await keeper.round()
    tx = await purse.fund("20")
    await keeper.round()
    lost(world, tx)
    await keeper.round()
    assert (await purse.read())["in_purse"] == "5.000000"
    assert (await purse.m.read())["progress"]["cash"] == "495.000000"
    await agrees(purse)


# -- nodes that leave something out


def topic(event: str) -> str:
    if event == "AuthorizationUsed":
        return abi_codec.AUTHORIZATION_USED_TOPIC
    if event == "Transfer":
        return abi_codec.ERC20_TRANSFER_TOPIC
    return "0x" + abi_codec.items("PurseHub", "event")[event].selector.hex()


@asynccontextmanager
async def hiding(world: World, event: str, *, receipts: bool = False) -> AsyncIterator[str]:
    """A node that leaves out every log of an event from now on."""
    first, hidden = world.evm.chain.head.number + 1, topic(event)

    def kept(logs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [g for g in logs if int(g["blockNumber"], 16) < first or g["topics"][0] != hidden]

    def distort(request: dict[str, Any], raw: Any) -> Any:
        if request["method"] == "eth_getLogs" and isinstance(raw.get("result"), list):
            return raw | {"result": kept(raw["result"])}
        if receipts and request["method"] == "eth_getBlockReceipts":
            told = [r | {"logs": kept(r["logs"])} for r in raw["result"]]
            return raw | {"result": told}
        return raw

    async with distorted(world.evm.chain, distort) as url:
        yield url


HIDDEN = ["AuthorizationUsed", "Transfer", "PurseFunded", "PurseDrained", "PurseOpened"]


@pytest.mark.slow
@pytest.mark.parametrize("event", HIDDEN)
async def test_what_one_node_of_three_leaves_out_is_told_by_the_others(
    world: World, event: str
) -> None:
    purse = await opened(world)
    async with (
        hiding(world, event) as bad,
        distorted(world.evm.chain, lambda _, told: told) as third,
        kept_by(world, bad, world.evm.url, third) as keeper,
    ):
        await keeper.round()
        await purse.fund("20")
        await purse.pay("0.25")
        await purse.drain()
        await keeper.round()
        assert await changes(purse) == [
            ("funded", "20.000000"), ("paid", "0.250000"), ("drained", "19.750000"),
        ]  # fmt: skip
    await agrees(purse)


@pytest.mark.slow
@pytest.mark.parametrize("event", HIDDEN[:4])
async def test_what_the_only_node_leaves_out_of_its_log_index_is_read_another_way(
    world: World, event: str
) -> None:
    purse = await opened(world)
    async with hiding(world, event) as bad, kept_by(world, bad) as keeper:
        await keeper.round()
        await purse.fund("20")
        await purse.pay("0.25")
        await purse.drain()
        await keeper.round()
        told = await changes(purse)
    assert sorted(told) == [("drained", "19.750000"), ("funded", "20.000000"), ("paid", "0.250000")]
    await agrees(purse)


@pytest.mark.slow
@pytest.mark.parametrize("event", HIDDEN[:4])
async def test_what_the_only_node_hides_altogether_is_an_open_question_and_no_figure(
    world: World, event: str
) -> None:
    purse = await opened(world)
    async with hiding(world, event, receipts=True) as bad, kept_by(world, bad) as keeper:
        await keeper.round()
        await purse.fund("20")
        await purse.pay("0.25")
        await purse.drain()
        await keeper.round()
        read = await purse.m.read()
        assert (await purse.read())["in_purse"] is None
        assert read["progress"]["data_issue"] is True
        assert read["progress"]["cash"] is None
    await ticks(world).round()
    await agrees(purse)
