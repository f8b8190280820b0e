"""A mandate in each state that its page can show, lived for real."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from chain.contracts import abi_codec
from domain.money import Usdc
from tests.world import Mandated, World, drafted, signed, working
from tools.model.operation import Caller


async def sent(m: Mandated, name: str, **arguments: object) -> None:
    """Send a call of the owner's, and tell the service of it."""
    told = (await m.as_owner(name, **arguments)).body
    ok, tx = await m.world.mined(m.owner_wallet, told["call"])  # type: ignore[arg-type]
    assert ok
    assert (await m.as_owner("owner_vault_tx", tx_hash=tx)).status == 200


async def bought(m: Mandated, amount: str, reason: str = "the rate is 4.6%") -> None:
    """The agent acts and reports; the chain's row follows."""
    call = (await m.execute(amount)).body
    ok, tx = await m.world.mined(m.agent_wallet, call, gas=900_000)  # type: ignore[arg-type]
    assert ok
    payload = {"position": {"id": "p1"}, "target": {"market": "test-market"}, "why": reason}
    report = {"kind": "buy", "amount_usdc": amount, "tx_hash": tx, "payload": payload}
    assert (await m.as_agent("mandate_report_event", **report)).status == 201
    assert (await m.as_owner("owner_vault_tx", tx_hash=tx)).status == 200


async def created(world: World) -> Mandated:
    m = await signed(world, purpose="Park idle USDC.")
    _, tx = await world.mined(m.owner_wallet, (await m.as_owner("owner_create_call")).body["call"])  # type: ignore[arg-type]
    assert (await m.as_owner("owner_vault_attach", tx_hash=tx)).status == 200
    return m


async def at_work(world: World) -> Mandated:
    m = await working(world, purpose="Park idle USDC.", approval_above_usdc="60")
    await bought(m, "40")
    world.clock.forward(days=1)
    await bought(m, "50")
    await m.as_agent("mandate_report_refusal", reason="OverPerTxCap", check="over_per_tx_cap")
    assert (await m.execute("90", why="a larger step")).status == 202
    return m


async def paused(world: World) -> Mandated:
    m = await at_work(world)
    await sent(m, "owner_pause_call")
    return m


async def ended(world: World) -> Mandated:
    m = await working(world)
    world.clock.forward(days=31)
    world.evm.chain.mine()  # the vault ends by the time of a block
    return m


async def stopped(world: World) -> Mandated:
    m = await working(world)
    await bought(m, "40")
    await sent(m, "owner_stop_call")
    return m


async def settled(world: World) -> Mandated:
    m = await working(world)
    await sent(m, "owner_withdraw_call")
    assert (await m.as_owner("mandate_get")).body["mandate"]["status"] == "settled"  # type: ignore[index]
    return m


async def settled_with_cash(world: World) -> Mandated:
    m = await working(world)
    await bought(m, "40")
    await sent(m, "owner_stop_call")
    data = abi_codec.calldata("TestMarket", "withdraw", (Usdc.parse("40"), m.vault, m.vault))
    told = (await m.as_owner("mandate_unwind_call", target=world.evm.market, data=data)).body
    _, tx = await world.mined(m.owner_wallet, told["call"], gas=900_000)  # type: ignore[arg-type]
    await m.as_owner("owner_vault_tx", tx_hash=tx)
    done = await world.do("keeper_settle", Caller("keeper"), public_id=m.id)
    assert done.status == 200, done.body
    return m


async def cancelled(world: World) -> Mandated:
    m = await signed(world)
    assert (await m.as_owner("owner_mandate_cancel")).status == 200
    return m


Life = Callable[[World], Awaitable[Mandated]]
LIVES: dict[str, Life] = {
    "draft": drafted,
    "signed": signed,
    "created": created,
    "working": at_work,
    "paused": paused,
    "ended": ended,
    "stopped": stopped,
    "settled": settled,
    "settled with cash": settled_with_cash,
    "cancelled": cancelled,
}
