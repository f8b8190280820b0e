"""An Aave pool is entered and left by its market's name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from eth_abi import decode

from chain.contracts import abi_codec
from chain.tx_sender import deploy
from domain.mandates.markets import from_config
from tests.contracts.harness import artifact
from tests.hosted import hosted, signing
from tests.world import CHAIN_ID, World

pytestmark = pytest.mark.anyio


async def test_a_pool_is_entered_and_left_by_name(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = world.chains.get(CHAIN_ID)
    with monkeypatch.context() as patched:
        patched.setattr(abi_codec, "artifact", artifact)
        pool = await deploy(chain, world.evm.key(0), "AavePool", (world.evm.usdc,))
    newest = await chain.latest()
    (token,) = decode(
        ["address"], await chain.eth_call(pool, chain.function_call("token()", ()), newest)
    )
    row = {"id": "pool", "name": "Pool", "status": "live", "kind": "aave", "chain_id": CHAIN_ID}
    row |= {"address": pool, "share_token": world.chains.address(token)}
    config = replace(world.deps.config, markets=(row,))
    world.deps = replace(world.deps, config=config)
    (market,) = from_config(config.markets)
    targets = [{"kind": "vault"}, *(t.as_json() for t in market.targets())]
    async with signing(world, tmp_path):
        m = await hosted(world, allowed_targets=targets)
        action: dict[str, Any] = {"kind": "enter", "market": "pool", "amount_usdc": "40"}

        async def acted(key: str, **changes: Any) -> Any:
            asked = {"action": action | changes, "idempotency_key": key}
            return (await m.as_agent("mandate_act", **asked)).body

        told = await acted("in-1")
        assert (told["outcome"], told["event"]["kind"]) == ("landed", "buy"), told
        await m.as_owner("owner_vault_tx", tx_hash=told["tx_hash"])
        assert (await m.read())["progress"]["positions_est"] == "40.000000"
        gone = await acted("out-1", kind="exit", amount_usdc="15")
        assert (gone["outcome"], gone["event"]["kind"]) == ("landed", "sell"), gone
        await m.as_owner("owner_vault_tx", tx_hash=gone["tx_hash"])
        assert (await m.read())["progress"]["positions_est"] == "25.000000"
        most = await acted("out-2", kind="exit", amount_usdc="26")
        assert most["error"] == "would_revert", most
