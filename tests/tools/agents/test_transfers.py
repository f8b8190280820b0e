"""Transfer reports by their operations: outcomes, idempotency, the chain's word, many at once."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from chain.contracts import abi_codec
from domain.agents.transfers import TransferOutcome
from domain.chain_facts import Call, TransferLog
from domain.money import Usdc
from storage.integrity.ledger_check import verify
from tests.world import CHAIN_ID, World
from tools.keeper.transfer_confirmation import TransferConfirmer, settle_report, take_inbound
from tools.model.operation import Caller, OperationResult
from tools.model.serialization import wire

pytestmark = pytest.mark.anyio


def tx(n: int) -> str:
    return f"0x{n:064x}"


async def an_agent(
    world: World, *, proves: bool = False, **policy: Any
) -> tuple[Caller, Caller, Any]:
    owner, _ = await world.owner()
    agent, wallet = await world.agent(owner, **policy)
    if proves:
        await world.prove(agent, wallet)
    return owner, agent, wallet


async def status_of(world: World, hashed: str) -> tuple[str, str] | None:
    found = await world.store.read(lambda uow: uow.transfers.get(CHAIN_ID, hashed))
    return (found.agent_id, found.status) if found else None


async def report(
    world: World,
    agent: Caller,
    n: int | str,
    amount: Any = "5",
    direction: str = "out",
    **more: Any,
) -> OperationResult:
    given = {"chain_id": CHAIN_ID, "asset": "USDC", "amount": amount, "direction": direction} | more
    given["tx_hash"] = n if isinstance(n, str) else tx(n)
    return await world.do("transfer_report", agent, **given)


async def settle(world: World, n: int, actual: int | None) -> Any:
    """Give a report its outcome, as the keeper does."""
    told, now = TransferOutcome(actual), world.clock.now()
    return await world.store.write(lambda uow: settle_report(uow, CHAIN_ID, tx(n), told, now))


async def inbound(world: World, found: list[tuple[str, TransferLog]]) -> int:
    """Take in what the chain moved."""
    usdc, now = world.evm.usdc, world.clock.now()
    return await world.store.write(lambda uow: take_inbound(uow, CHAIN_ID, usdc, found, now))


async def funded(world: World, agent: Caller, amount: str = "100", n: int = 10_000) -> None:
    assert (await report(world, agent, n, amount, "in")).status == 201
    assert await settle(world, n, Usdc.parse(amount).micros)


async def held(world: World, agent: Caller) -> dict[str, str]:
    rows = (await world.ok("agent_balances", agent, agent_id=agent.user_id))["balances"]
    return {s: rows[0][s] if rows else "0.000000" for s in ("idle", "in_transit")}


def of(idle: str, in_transit: str = "0.000000") -> dict[str, str]:
    return {"idle": idle, "in_transit": in_transit}


NOTHING = of("0.000000")


async def test_an_inbound_report_waits_in_transit_and_lands_on_idle(both: World) -> None:
    _, agent, _ = await an_agent(both)
    told = await report(both, agent, 1, "100.5", "in")
    assert told.status == 201
    assert told.body["status"] == "reported"
    assert await held(both, agent) == of("0.000000", "100.500000")
    await settle(both, 1, 100_000_000)
    assert await held(both, agent) == of("100.000000")
    assert await settle(both, 1, None) is None


async def test_what_the_chain_told_of_a_transaction_first_stands_against_its_report(
    both: World,
) -> None:
    owner, agent, wallet = await an_agent(both, proves=True)
    other, others = await both.agent(owner)
    await both.prove(other, others)
    await funded(both, agent, "5")
    assert (await report(both, agent, 1, "2", "in")).status == 201
    found = [(tx(1), TransferLog(both.evm.usdc, wallet.address, others.address, 1_000_000, 0))]
    # It left the agent, who said that it came; then the chain mines it anew, with a gain.
    assert await inbound(both, found) == 2
    await settle(both, 1, 2_000_000)
    assert await status_of(both, tx(1)) == (agent.user_id, "failed")
    assert await held(both, agent) == of("4.000000")
    assert await settle(both, 1, 2_000_000) is None


async def test_a_duplicate_is_refused_whoever_reports_it_and_in_any_case(world: World) -> None:
    owner, agent, _ = await an_agent(world)
    rival, _ = await world.agent(owner)
    hashed = "0x" + "ab" * 32
    assert (await report(world, agent, hashed, "5", "in")).status == 201
    for caller in (agent, rival):
        reply = await report(world, caller, hashed.upper().replace("0X", "0x"), "5", "in")
        assert (reply.status, reply.body["error"]) == (409, "duplicate_transfer")
    assert (await world.ok("agent_balances", rival, agent_id=rival.user_id))["balances"] == []
    assert (await report(world, agent, hashed, "5", "in", chain_id=8453)).status == 201


async def test_an_outbound_report_above_idle_writes_nothing(world: World) -> None:
    _, agent, _ = await an_agent(world)
    await funded(world, agent, "4")
    reply = await report(world, agent, 1, "4.000001")
    assert (reply.status, reply.body["error"]) == (409, "insufficient_idle")
    assert reply.body["remaining"] == {"idle": "4.000000"}
    assert await held(world, agent) == of("4.000000")
    assert (await report(world, agent, 1, "4")).status == 201


async def test_an_allowed_overdraft_is_recorded(world: World) -> None:
    _, agent, _ = await an_agent(world, auto_vs_approval={"allow_overdraft": True})
    told = await report(world, agent, 1, "4")
    assert told.status == 201
    assert told.body["override_reason"].startswith("allow_overdraft")
    assert (await held(world, agent))["idle"] == "-4.000000"


async def test_one_key_is_one_report(both: World) -> None:
    _, agent, _ = await an_agent(both)
    await funded(both, agent)
    replies: list[OperationResult] = []

    async def once() -> None:
        replies.append(await report(both, agent, 1, "5", key="k-1"))

    async with anyio.create_task_group() as group:
        for _ in range(16):
            group.start_soon(once)
    assert {r.status for r in replies} == {201}
    assert len({str(dict(r.body)) for r in replies}) == 1
    assert await held(both, agent) == of("95.000000", "5.000000")
    assert (await report(both, agent, 2, "5", key="k-1")).body["error"] == "idempotency_key_reused"


async def test_64_outbound_reports_at_once_never_overdraw(both: World) -> None:
    _, agent, _ = await an_agent(both)
    await funded(both, agent, "100")
    replies: list[OperationResult] = []

    async def one(n: int) -> None:
        replies.append(await report(both, agent, n, "7"))

    async with anyio.create_task_group() as group:
        for n in range(64):
            group.start_soon(one, n)
    assert sorted(r.status for r in replies) == [201] * 14 + [409] * 50
    assert {r.body["error"] for r in replies if r.refused} == {"insufficient_idle"}
    assert await held(both, agent) == of("2.000000", "98.000000")
    assert (await verify(both.store)).ok


@pytest.mark.parametrize("amount", ["0", "-1", "NaN", "1e3", "0.0000001", "1000000000001"])
async def test_an_amount_that_moves_nothing_or_is_none_is_refused(
    world: World, amount: Any
) -> None:
    _, agent, _ = await an_agent(world)
    assert (await report(world, agent, 1, amount, "in")).body["error"] == "invalid_number"
    assert await held(world, agent) == NOTHING


WRONG = {
    "tx_hash": ["0x12"],
    "asset": ["US DC"],
    "direction": ["up"],
    "chain_id": [0, "1"],
    "more": [1],
}


@pytest.mark.parametrize(("field", "value"), [(f, v) for f, of in WRONG.items() for v in of])
async def test_a_report_has_a_form(world: World, field: str, value: Any) -> None:
    _, agent, _ = await an_agent(world)
    given = {"asset": "USDC", "amount": "1", "tx_hash": tx(1), "direction": "in"}
    given |= {"chain_id": CHAIN_ID, field: value}
    reply = await world.do("transfer_report", agent, **given)
    assert reply.body["error"] == "invalid_request"
    assert reply.body["detail"]["fields"][0]["loc"] == field


async def test_a_secret_in_a_report_is_refused_and_not_repeated(world: World) -> None:
    _, agent, _ = await an_agent(world)
    reply = await report(world, agent, 1, "1", "in", exchangeApiKey="hunter2")
    assert reply.body["error"] == "secret_not_accepted"
    assert "hunter2" not in str(reply.body)


async def sent(world: World, wallet: Any, to: str, amount: str) -> str:
    await world.mint(wallet.address, "1000")
    data = abi_codec.calldata("TestUSDC", "transfer", (to, Usdc.parse(amount)))
    ok, hashed = await world.mined(wallet, wire(Call(CHAIN_ID, world.evm.usdc, data)))
    assert ok
    return hashed


async def test_the_chain_confirms_with_the_amount_that_moved(world: World) -> None:
    owner, agent, wallet = await an_agent(world, proves=True)
    _, other = await world.agent(owner)
    into = await sent(world, other, wallet.address, "40")
    out = await sent(world, wallet, other.address, "30")
    assert (await report(world, agent, into, "50", "in")).status == 201
    await funded(world, agent, "100")
    await funded(world, agent, "1", n=10_001)
    assert (await report(world, agent, out, "30", "out")).status == 201
    assert (await report(world, agent, 77, "1", "out")).status == 201
    watch = TransferConfirmer(world.deps)
    assert await watch.round(CHAIN_ID) == 2
    assert await held(world, agent) == of("110.000000", "1.000000")
    stored = await world.store.read(lambda uow: uow.transfers.get(CHAIN_ID, into))
    assert stored is not None
    assert (stored.status, stored.amount_actual) == ("confirmed", 40_000_000)
    world.clock.forward(hours=24)
    assert await watch.round(CHAIN_ID) == 1
    assert await held(world, agent) == of("111.000000")


async def test_a_transaction_of_somebody_else_is_confirmed_for_nobody(world: World) -> None:
    owner, agent, _ = await an_agent(world, proves=True)
    _, one = await world.agent(owner)
    _, two = await world.agent(owner)
    foreign = await sent(world, one, two.address, "40")
    assert (await report(world, agent, foreign, "40", "in")).status == 201
    watch = TransferConfirmer(world.deps)
    assert await watch.round(CHAIN_ID) == 0
    assert await held(world, agent) == of("0.000000", "40.000000")
    world.clock.forward(hours=24)
    assert await watch.round(CHAIN_ID) == 1
    assert await status_of(world, foreign) == (agent.user_id, "failed")
    assert await held(world, agent) == NOTHING


async def test_an_address_that_signed_nothing_confirms_nothing_until_it_does(both: World) -> None:
    owner, agent, wallet = await an_agent(both)
    _, other = await both.agent(owner)
    hashed = await sent(both, other, wallet.address, "40")
    assert (await report(both, agent, hashed, "40", "in")).status == 201
    watch = TransferConfirmer(both.deps)
    assert await watch.round(CHAIN_ID) == 0
    assert await held(both, agent) == of("0.000000", "40.000000")
    await both.prove(agent, wallet)
    assert await watch.round(CHAIN_ID) == 1
    assert await held(both, agent) == of("40.000000")


async def test_naming_another_agents_address_takes_none_of_its_money(both: World) -> None:
    owner, agent, wallet = await an_agent(both, proves=True)
    thief, _ = await both.agent(owner)
    _, other = await both.agent(owner)
    named = {"agent_id": thief.user_id, "chain_id": CHAIN_ID, "address": wallet.address}
    told = await both.ok("agent_deposit_address", thief, **named)
    assert told["proven"] is False
    into = await sent(both, other, wallet.address, "40")
    assert (await report(both, thief, into, "40", "in")).status == 201
    watch = TransferConfirmer(both.deps)
    assert await watch.round(CHAIN_ID) == 0
    assert await held(both, thief) == of("0.000000", "40.000000")
    assert await held(both, agent) == of("40.000000")
    assert await watch.round(CHAIN_ID) == 0
    assert await held(both, agent) == of("40.000000")
    both.clock.forward(hours=24)
    assert await watch.round(CHAIN_ID) == 1
    assert await held(both, thief) == NOTHING
    again = await report(both, agent, into, "40", "in")
    assert again.body["error"] == "duplicate_transfer"
    assert (await verify(both.store)).ok


async def test_a_report_on_the_wrong_side_is_not_confirmed(world: World) -> None:
    owner, agent, wallet = await an_agent(world, proves=True)
    _, other = await world.agent(owner)
    await funded(world, agent, "100")
    into = await sent(world, other, wallet.address, "40")
    assert (await report(world, agent, into, "40", "out")).status == 201
    watch = TransferConfirmer(world.deps)
    assert await watch.round(CHAIN_ID) == 0
    assert await status_of(world, into) == (agent.user_id, "reported")
    world.clock.forward(hours=24)
    assert await watch.round(CHAIN_ID) == 1
    assert await held(world, agent) == of("140.000000")


@pytest.mark.parametrize("reporter", ["sender", "recipient", "chain"])
async def test_a_transfer_between_two_agents_is_in_both_balances_whoever_reports_it(
    both: World, reporter: str
) -> None:
    owner, payer, wallet = await an_agent(both, proves=True)
    payee, purse = await both.agent(owner)
    await both.prove(payee, purse)
    await funded(both, payer, "100")
    hashed = await sent(both, wallet, purse.address, "30")
    if reporter == "sender":
        assert (await report(both, payer, hashed, "30", "out")).status == 201
    if reporter == "recipient":
        assert (await report(both, payee, hashed, "30", "in")).status == 201
    receipt = await both.chains.get(CHAIN_ID).receipt(hashed)
    assert receipt is not None
    found = [(hashed, g) for g in receipt.transfers]
    watch = TransferConfirmer(both.deps)
    for _ in range(2):
        await watch.round(CHAIN_ID)
        await inbound(both, found)
    assert await held(both, payer) == of("70.000000")
    assert await held(both, payee) == of("30.000000")
    for agent, side in ((payer, "out"), (payee, "in")):
        again = await report(both, agent, hashed, "30", side)
        assert again.body["error"] == "duplicate_transfer"
    assert (await verify(both.store)).ok


@pytest.mark.parametrize(
    ("chain_id", "asset"), [(999_999, "USDC"), (CHAIN_ID, "WETH")], ids=["chain", "asset"]
)
async def test_what_nobody_can_ask_about_fails_after_a_day(
    world: World, chain_id: int, asset: str
) -> None:
    owner, agent, wallet = await an_agent(world, proves=True)
    _, other = await world.agent(owner)
    hashed = await sent(world, other, wallet.address, "1")
    given = {"chain_id": chain_id, "asset": asset}
    assert (await report(world, agent, hashed, "5", "in", **given)).status == 201
    watch = TransferConfirmer(world.deps)

    async def settled() -> int:
        return await watch.round(CHAIN_ID) + await watch.expire()

    world.clock.forward(hours=23, minutes=59)
    assert await settled() == 0
    world.clock.forward(minutes=1)
    assert await settled() == 1
    rows = (await world.ok("agent_balances", agent, agent_id=agent.user_id))["balances"]
    assert {r["in_transit"] for r in rows if r["asset"] == asset} == {"0.000000"}


@pytest.mark.parametrize("direction", ["in", "out"])
async def test_what_failed_is_confirmed_late_with_compensating_rows(
    both: World, direction: str
) -> None:
    owner, agent, wallet = await an_agent(both)
    _, other = await both.agent(owner)
    await funded(both, agent, "100")
    pair = (other, wallet) if direction == "in" else (wallet, other)
    hashed = await sent(both, pair[0], pair[1].address, "30")
    assert (await report(both, agent, hashed, "30", direction)).status == 201
    watch = TransferConfirmer(both.deps)
    both.clock.forward(hours=24)
    assert await watch.round(CHAIN_ID) == 1
    assert await held(both, agent) == of("100.000000")
    await both.prove(agent, wallet)
    assert await watch.round(CHAIN_ID) == 1
    assert await watch.round(CHAIN_ID) == 0
    idle = "130.000000" if direction == "in" else "70.000000"
    assert await held(both, agent) == of(idle)
    assert await status_of(both, hashed) == (agent.user_id, "confirmed")
    assert (await verify(both.store)).ok


async def test_an_inbound_transfer_that_nobody_reported_is_reported_by_the_chain_once(
    both: World,
) -> None:
    _, agent, wallet = await an_agent(both, proves=True)
    stranger, usdc = "0x" + "99" * 20, both.evm.usdc
    found = [
        (tx(1), TransferLog(usdc, stranger, wallet.address, 3_000_000, 0)),
        (tx(1), TransferLog(usdc, stranger, wallet.address, 2_000_000, 1)),
        (tx(2), TransferLog(usdc, wallet.address, stranger, 9_000_000, 0)),
        (tx(3), TransferLog(stranger, stranger, wallet.address, 9_000_000, 0)),
    ]
    assert [await inbound(both, found) for _ in range(2)] == [1, 0]
    assert await held(both, agent) == of("5.000000")
    stored = await both.store.read(lambda uow: uow.transfers.get(CHAIN_ID, tx(1)))
    assert stored is not None
    assert (stored.reported_by, stored.status) == ("chain", "confirmed")


async def test_a_report_of_another_asset_is_not_settled_in_usdc(world: World) -> None:
    owner, agent, wallet = await an_agent(world, proves=True)
    _, other = await world.agent(owner)
    hashed = await sent(world, other, wallet.address, "30")
    assert (await report(world, agent, hashed, "1", "in", asset="WETH")).status == 201
    await TransferConfirmer(world.deps).round(CHAIN_ID)
    rows = (await world.ok("agent_balances", agent, agent_id=agent.user_id))["balances"]
    told = {r["asset"]: (r["idle"], r["in_transit"]) for r in rows}
    assert told == {"USDC": ("30.000000", "0.000000"), "WETH": ("0.000000", "1.000000")}


async def test_waiting_reports_are_asked_about_in_turn(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.keeper.transfer_confirmation.A_ROUND", 2)
    _, agent, wallet = await an_agent(world, proves=True)
    owner, _ = await world.owner()
    _, other = await world.agent(owner)
    for n in range(4):
        await report(world, agent, n, "1", "in")
        world.clock.forward(seconds=1)
    late = await sent(world, other, wallet.address, "1")
    await report(world, agent, late, "1", "in")
    watch = TransferConfirmer(world.deps)
    assert [await watch.round(CHAIN_ID) for _ in range(3)] == [0, 0, 1]


async def test_an_address_that_others_keep_busy_fills_no_table(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.keeper.transfer_confirmation.FOUND_A_DAY", 3)
    _, _, wallet = await an_agent(world, proves=True)
    sender, usdc = "0x" + "99" * 20, world.evm.usdc
    found = [(tx(n), TransferLog(usdc, sender, wallet.address, 1_000_000, 0)) for n in range(9)]
    assert await inbound(world, found) == 3
    world.clock.forward(days=1)
    assert await inbound(world, found) == 3


async def test_a_false_claim_keeps_nobodys_transfer_out_of_the_books(both: World) -> None:
    owner, agent, wallet = await an_agent(both, proves=True)
    thief, purse = await both.agent(owner)
    await both.prove(thief, purse)
    _, other = await both.agent(owner)
    into = await sent(both, other, wallet.address, "40")
    out = await sent(both, wallet, other.address, "30")
    for hashed in (into, out):
        assert (await report(both, thief, hashed, "1", "in")).status == 201
    await funded(both, agent, "100")
    assert (await report(both, agent, out, "30")).body["error"] == "duplicate_transfer"
    watch = TransferConfirmer(both.deps)
    assert await watch.round(CHAIN_ID) == 0
    assert await held(both, agent) == of("110.000000")
    assert (await held(both, thief))["idle"] == "0.000000"
    both.clock.forward(hours=24)
    assert await watch.round(CHAIN_ID) == 2
    assert await held(both, thief) == NOTHING
    for caller, amount, side in ((thief, "1", "in"), (agent, "30", "out")):
        again = await report(both, caller, out, amount, side)
        assert again.body["error"] == "duplicate_transfer"
    assert await held(both, agent) == of("110.000000")
    assert (await verify(both.store)).ok
