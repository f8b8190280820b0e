"""Agents whose keys the service holds: a signer behind its socket, and mandates that name such a key."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chain.chains import EvmChains
from domain.agents.key_rules import ReadTerms
from domain.chain_facts import Call
from domain.ports import Venue
from domain.trading.venue_values import Network
from server.signer.agent_keys import AgentKeys
from server.signer.client import SignerClient
from server.signer.daemon import Signer, listening
from server.system import SystemIds
from tests.world import CHAIN_ID, HUB_GAS, PLENTY, Mandated, World, market_targets
from venue.keystore import Keystore

COIN = 10**18


def no_venue(network: Network) -> Venue:
    raise AssertionError(network)


@asynccontextmanager
async def signing(world: World, folder: Path) -> AsyncIterator[AgentKeys]:
    """A signer with its own view of the chain; the world asks it over its socket."""
    seal = folder / "seal"
    seal.write_text("s" * 40)
    seal.chmod(0o600)
    keys = Keystore(folder / "keys", seal, SystemIds().nonce256)
    assert world.facts is not None
    chains = EvmChains([world.facts])
    agents = AgentKeys(keys=keys, chains=chains, clock=world.clock)
    socket = folder / "signer.sock"
    signer = Signer(keys=keys, clock=world.clock, venue=no_venue, agents=agents)
    world.remembers = False
    async with listening(signer, socket, os.getuid()):
        world.deps = replace(world.deps, agent_signer=SignerClient(socket))
        try:
            yield agents
        finally:
            await chains.close()


def key_ends_under_way(m: Mandated, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner ends the agent's key while the signer reads the chain for its next signature."""
    read = AgentKeys._terms

    async def late(self: AgentKeys, request: Mapping[str, object]) -> ReadTerms:
        terms = await read(self, request)
        await m.world.ok("owner_agent_hosted_key_end", m.owner, agent_id=m.agent.user_id)
        return terms

    monkeypatch.setattr(AgentKeys, "_terms", late)


async def coins(world: World, address: str, wei: int = COIN) -> None:
    """Send some of the chain's own coin."""
    await world.wallets[0].send(Call(CHAIN_ID, address, "0x", str(wei)), gas=21_000)


async def hosted(world: World, *, gas: int = COIN, accepted: bool = True, **terms: Any) -> Mandated:
    """A funded mandate that names a key which the signer holds."""
    owner, owner_wallet = await world.owner()
    agent, agent_wallet = await world.agent(owner)
    key = await world.ok("owner_agent_hosted_key_make", owner, agent_id=agent.user_id)
    if gas:
        await coins(world, key["address"], gas)
    body = {
        "budget_usdc": "500", "per_tx_cap_usdc": "100", "daily_cap_usdc": "250", "agent_id": agent.user_id, "chain_id": CHAIN_ID,
        "allowed_targets": market_targets(world),
    } | terms  # fmt: skip
    told = await world.ok("owner_mandate_create", owner, **body)
    m = Mandated(world, told["mandate"]["public_id"], owner, owner_wallet, agent, agent_wallet)
    asked: Any = (await m.as_owner("owner_terms")).body
    assert asked["typed_data"]["message"]["agent"] == key["address"]
    signature = m.owner_wallet.sign_typed(asked["typed_data"])
    assert (await m.as_owner("owner_sign", signature=signature)).status == 200
    create: Any = (await m.as_owner("owner_create_call")).body
    if create.get("first"):
        ok, _ = await world.mined(m.owner_wallet, create["first"], gas=HUB_GAS)
        assert ok
    ok, tx = await world.mined(m.owner_wallet, create["call"])
    assert ok
    attached: Any = (await m.as_owner("owner_vault_attach", tx_hash=tx)).body
    m.vault = attached["mandate"]["vault_address"]
    await world.mint(m.owner_wallet.address, "10000")
    fund: Any = (await m.as_owner("owner_fund", amount="500")).body
    for call in fund["calls"]:
        ok, tx = await world.mined(m.owner_wallet, call, gas=PLENTY)
        assert ok
    assert (await m.as_owner("owner_vault_tx", tx_hash=tx)).status == 200
    if accepted:
        assert (await m.as_agent("mandate_accept")).status == 200
    return m
