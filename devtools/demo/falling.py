"""The chapter in which a market falls below the line, with the keeper in dry run: the exit that the
vault refuses, the record, and the exit that passes.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import anyio

from chain.contracts import abi_codec
from devtools.demo.stage import CHAIN_ID, DemoStage
from devtools.demo.story import StepFailed
from domain.chain_facts import Call
from domain.money import Usdc

TERMS: Final = {
    "budget_usdc": "200",
    "per_tx_cap_usdc": "150",
    "daily_cap_usdc": "200",
    "stop_floor_bps": 100,
    "markets": ["test-market"],
}
PUT_IN, LOST, LEFT = "150", "10", "140"
LOOKS: Final = 300
LOOK_S: Final = 0.1


async def falls(s: DemoStage, number: int) -> None:
    """Put 150 of 200 USDC into the market, lose 10 of it, and get out all the same."""
    s.story.chapter(number, "A market falls: the exit that is refused, the record, the exit")
    path, vault = await _invests(s)
    agent = s.owner.with_key(s.seen["agent_key"], s.agent_wallet)
    exits = partial(
        agent.ask, "GET", path + "/execute-call", target=s.market, data=await _exit(s, vault)
    )
    lose = abi_codec.calldata("TestMarket", "lose", (Usdc.parse(LOST),))
    await s.agent_wallet.send(Call(CHAIN_ID, s.market, lose))
    s.story.print_line(f"the market loses {LOST} of {PUT_IN} USDC, more than a fair exit may lose")
    refused = await exits(expect=409)
    raw = refused["detail"]["recorded_value_stale"]
    s.story.same("below the line the agent's exit is refused", refused["error"], "below_stop_line")
    s.story.print_line(
        f"recorded {raw['recorded']}, now {raw['now']}: an exit of everything has to bring "
        f"{raw['least_returned']}; {' or '.join(raw['who_may_record'])} may record"
    )
    s.story.same("recorded is what was put in", raw["recorded"], str(Usdc.parse(PUT_IN)))
    owners = await s.owner.ask("GET", path + "/record-call")
    s.story.same("the owner's record call works", owners["simulation"]["ok"], True)
    await _until_recorded(s, path)
    await agent.send(await exits())
    await _leaves(s, path, vault)


async def _invests(s: DemoStage) -> tuple[str, str]:
    """Terms, a vault, 200 USDC in it, 150 of them in the market; its route and its vault."""
    agent = s.owner.with_key(s.seen["agent_key"], s.agent_wallet)
    made = await s.owner.agree(TERMS | {"agent_id": s.seen["agent_id"]}, "200")
    path, vault = made.path, made.vault
    await agent.ask("POST", path + "/accept")
    data = abi_codec.calldata("TestMarket", "deposit", (Usdc.parse(PUT_IN), vault))
    buys = partial(agent.ask, "GET", path + "/execute-call", target=s.market, data=data)
    await agent.send(await buys(approve_amount=PUT_IN))
    return path, vault


async def _exit(s: DemoStage, vault: str) -> str:
    """Calldata that takes everything out of the market."""
    data = abi_codec.calldata("TestMarket", "balanceOf", (vault,))
    raw = await s.chain.eth_call(s.market, data, await s.chain.latest())
    return abi_codec.calldata("TestMarket", "redeem", (int.from_bytes(raw, "big"), vault, vault))


async def _until_recorded(s: DemoStage, path: str) -> None:
    """Let the fall stand for some blocks; the keeper then records it, though it is in dry run."""
    for _ in range(LOOKS):
        await s.chain.node().ask("evm_mine")
        state = (await s.owner.ask("GET", path, parts="chain_state"))["chain_state"]
        if not state["recorded_value"]["stale"]:
            recorded, stopped = state["recorded_value"]["recorded"], state["stopped"]
            s.story.same("the keeper, in dry run, has recorded", recorded[:3], LEFT[:3])
            s.story.same("and stopped the vault", stopped, False)
            return
        await anyio.sleep(LOOK_S)
    raise StepFailed("the keeper did not record what the market left")


async def _leaves(s: DemoStage, path: str, vault: str) -> None:
    """The owner takes everything out."""
    state = (await s.chain.vault_states([vault]))[vault]
    s.story.hold(
        f"the exit passed: {state.cash} USDC of 200 are back in the vault",
        truth=state.cash >= Usdc.parse("189.99"),
        shown=state.positions,
    )
    call = (await s.owner.ask("GET", path + "/withdraw-call"))["call"]
    await s.owner.ask("POST", path + "/vault-tx", {"tx_hash": await s.owner.send(call)})
