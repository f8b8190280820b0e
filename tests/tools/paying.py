"""Mandates with purses."""

from __future__ import annotations

from typing import Any

from domain.money import Usdc
from tests.world import CHAIN_ID, Mandated, World, working
from tools.model.serialization import wire


def paid_targets(**purse: Any) -> list[dict[str, Any]]:
    """Terms that let an agent pay."""
    return [{"kind": "vault"}, {"kind": "x402", "purse": purse}]


async def paying(
    world: World, *, fund: str | None = "20", purse: dict[str, Any] | None = None, **terms: Any
) -> Mandated:
    """A working mandate with a purse, which has some USDC in it."""
    m = await working(world, allowed_targets=paid_targets(**(purse or {})), **terms)
    if fund is not None:
        await funded(m, fund)
    return m


async def hub_of(m: Mandated) -> str:
    """The hub of the mandate's purse."""
    entries = (await m.read())["mandate"]["allowed_targets"]
    (hub,) = {t["purse"]["hub"] for t in entries if "purse" in t}
    return str(hub)


async def funded(m: Mandated, amount: str) -> None:
    """Let the agent put USDC into the purse."""
    chain, usdc = m.world.chains.get(CHAIN_ID), Usdc.parse(amount)
    data = chain.purse_call("fund", usdc)
    call = chain.vault_call(m.vault, "execute", await hub_of(m), data, usdc)
    await m.recorded(m.agent_wallet, dict(wire(call)))
