"""What an operator runs against a chain that is not ours."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from chain.adapter import EvmChain
from chain.contracts import abi_codec
from chain.tx_sender import address_of
from tests.waiting import PATIENTLY, STUCK_S
from tests.world import CHAIN_ID, Evm

pytestmark = [pytest.mark.anvil, pytest.mark.slow]


async def market_of(evm: Evm, share_value: str) -> str:
    """The market that a deployed value probe asks."""
    chain = EvmChain(evm.facts())
    asked = abi_codec.calldata("ShareValue", "MARKET", ())
    raw = await chain.eth_call(share_value, asked, await chain.latest())
    await chain.close()
    return abi_codec.checksummed(abi_codec.outputs("ShareValue", "MARKET", raw)[0])


def test_contracts_are_deployed_and_the_doctor_reads_the_chain(evm: Evm, tmp_path: Path) -> None:
    key = tmp_path / "deployer.key"
    key.write_text(evm.key(5))
    key.chmod(0o600)
    chain = f"WALLET_CHAINS__{CHAIN_ID}__"
    env = PATIENTLY | {
        "PATH": os.defpath, "PYTHONPATH": str(Path(__file__).parents[2]), "WALLET_DATABASE_URL": f"sqlite:///{tmp_path / 'w.sqlite'}",
        "WALLET_DEFAULT_CHAIN_ID": str(CHAIN_ID), f"{chain}RPC_URL": evm.url, f"{chain}USDC": evm.usdc,
    }  # fmt: skip

    def wallet(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "server", *arguments]
        return subprocess.run(
            command,
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=STUCK_S,
            check=False,
        )

    keeper = "0x" + "22" * 20
    on = ("--chain", str(CHAIN_ID), "--key-file", str(key))
    deploy = ("contracts", "deploy", *on, "--keeper-address", keeper)
    done = wallet(*deploy)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    names = ("USDC", "FACTORY", "LENS", "PURSE_DEPLOYER", "PURSE_HUB")
    assert set(told) == {chain + name for name in names}
    assert told[f"{chain}USDC"] == evm.usdc
    # Anvil has the canonical deployer: what is told ahead is what comes, and once.
    ahead = wallet("contracts", "addresses", "--chain", str(CHAIN_ID), "--keeper-address", keeper)
    assert json.loads(ahead.stdout) | {f"{chain}USDC": evm.usdc} == told, ahead.stderr
    sent = evm.chain.rpc("eth_getTransactionCount", address_of(evm.key(5)), "latest")  # type: ignore[attr-defined]
    again = wallet(*deploy)
    assert json.loads(again.stdout) == told, again.stderr
    assert sent == evm.chain.rpc("eth_getTransactionCount", address_of(evm.key(5)), "latest")  # type: ignore[attr-defined]
    at = ("--chain", str(CHAIN_ID), "--key-file", str(key), "--market", evm.market)
    probe = wallet("contracts", "share-value", *at)
    assert probe.returncode == 0, probe.stderr
    address = json.loads(probe.stdout)["share_value"]
    assert asyncio.run(market_of(evm, address)) == evm.market
    env |= told
    assert wallet("db", "upgrade").returncode == 0
    seen = wallet("doctor")
    assert seen.returncode == 0, seen.stdout
    assert str(CHAIN_ID) in seen.stdout
    assert "purse" in seen.stdout
    env[f"{chain}FACTORY"] = "0x" + "33" * 20
    broken = wallet("doctor")
    assert broken.returncode == 1, broken.stdout
