"""What `wallet doctor` says of a chain and its keeper: who keeps approvals, asked of the factory itself, and who records."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from chain.adapter import ChainConfig, EvmChain
from chain.rpc.errors import NodeError
from server.cli.doctor import examine
from server.cli.output import DoctorFinding
from server.cli.purse_checks import PROXIES, examine_payments
from server.settings import Settings
from tests.world import CHAIN_ID, Evm, asking_factory, own_evm, purse_contracts

evm = own_evm

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture(autouse=True)
async def _back(evm: Evm) -> AsyncIterator[None]:
    before = evm.chain.snapshot()
    yield
    evm.chain.revert(before)


async def approvals(evm: Evm, folder: Path, factory: str) -> DoctorFinding | None:
    chain = {"rpc_url": evm.url, "usdc": evm.usdc, "factory": factory, "lens": evm.lens}
    settings = Settings(
        database_url=f"sqlite:///{folder / 'w.sqlite'}",
        chains={CHAIN_ID: chain},  # type: ignore[dict-item]
        venue_mainnet_url="http://127.0.0.1:1",
        venue_testnet_url="http://127.0.0.1:1",
        venue_timeout_s=30,
    )
    found = {f.what: f for f in await examine(settings)}
    return found.get(f"chain {CHAIN_ID} approvals")


async def test_the_doctor_tells_who_keeps_approvals(evm: Evm, tmp_path: Path) -> None:
    by_service = await approvals(evm, tmp_path, evm.factory)
    assert by_service is not None
    assert (by_service.works, by_service.state) == (True, "kept by the service")
    by_vault = await approvals(evm, tmp_path, await asking_factory(evm))
    assert by_vault is not None
    assert (by_vault.works, by_vault.state) == (True, "kept by the vaults")
    no_factory = await approvals(evm, tmp_path, evm.market)
    assert no_factory is not None
    assert not no_factory.works
    assert await approvals(evm, tmp_path, "0x" + "33" * 20) is None


async def test_what_a_chain_lacks_is_a_warning_and_a_contract_that_is_not_there_a_fault(
    evm: Evm, tmp_path: Path
) -> None:
    async def examined(**chain: str) -> dict[str, tuple[str, str]]:
        settings = Settings(
            database_url=f"sqlite:///{tmp_path / 'w.sqlite'}",
            chains={CHAIN_ID: {"rpc_url": evm.url, **chain}},  # type: ignore[dict-item]
            venue_mainnet_url="http://127.0.0.1:1",
            venue_testnet_url="http://127.0.0.1:1",
        )
        found = await examine(settings)
        return {f.what: (f.status, f.effect) for f in found if f.what.startswith("chain")}

    chain = f"chain {CHAIN_ID}"
    bare = await examined()
    assert bare[chain][0] == "ok"
    assert bare[f"{chain} USDC"] == ("warning", "funding is refused")
    assert bare[f"{chain} factory"] == ("warning", "no vault can be created")
    assert bare[f"{chain} lens"][0] == "warning"
    assert bare[f"{chain} purse hub"] == ("warning", "no terms have a purse")
    assert bare[f"{chain} purse deployer"][0] == "warning"
    assert f"{chain} USDC payments" not in bare
    hubs = await purse_contracts(evm, evm.factory)
    whole = await examined(usdc=evm.usdc, factory=evm.factory, lens=evm.lens, **hubs)
    assert {status for status, _ in whole.values()} == {"ok"}
    assert f"{chain} USDC payments" in whole
    wrong = await examined(usdc="0x" + "33" * 20, factory=evm.factory, lens=evm.lens)
    assert wrong[f"{chain} USDC"] == ("fault", "funding is refused")


async def test_purses_of_another_factory_and_a_usdc_that_pays_no_bills_are_faults(
    evm: Evm, tmp_path: Path
) -> None:
    async def faults(**chain: str) -> dict[str, str]:
        settings = Settings(
            database_url=f"sqlite:///{tmp_path / 'w.sqlite'}",
            chains={CHAIN_ID: {"rpc_url": evm.url, "factory": evm.factory, **chain}},  # type: ignore[dict-item]
            venue_mainnet_url="http://127.0.0.1:1",
            venue_testnet_url="http://127.0.0.1:1",
        )
        found = await examine(settings)
        return {f.what: f.effect for f in found if f.what.startswith("chain") and not f.works}

    name = f"chain {CHAIN_ID}"
    others = await purse_contracts(evm, await asking_factory(evm))
    refuse = "its purses refuse the vaults"
    assert await faults(usdc=evm.usdc, **others) == {
        f"{name} purse hub factory": refuse,
        f"{name} purse deployer factory": refuse,
    }
    ours = await purse_contracts(evm, evm.factory)
    # A market's shares are a token without EIP-3009.
    assert await faults(usdc=evm.market, **ours) == {
        f"{name} USDC payments": "no bill of a purse is paid"
    }
    no_contract = await faults(usdc="0x" + "33" * 20, **ours)
    assert set(no_contract) == {f"{name} USDC", f"{name} USDC payments"}
    assert await faults(usdc=evm.usdc, **ours) == {}


class Telling:
    """A node that answers as a token behind Circle's proxy on it would, and tells no reason of a revert."""

    def __init__(self, code: str):
        self.code = code

    async def ask(self, method: str, *params: object) -> str:
        if method == "eth_call":
            raise NodeError(-32000, "execution reverted", None)
        if method == "eth_getStorageAt":
            return "0x" + ("ab" * 20 if params[1] == PROXIES[1] else "").zfill(64)
        return self.code if params[0] == "0x" + "ab" * 20 else "0x6000"


@pytest.mark.parametrize(("code", "pays"), [("0x80" + "63cf092995" + "14", True), ("0x80", False)])
async def test_where_a_node_tells_no_reasons_the_code_behind_the_proxy_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, code: str, pays: bool
) -> None:
    chain = EvmChain(ChainConfig(CHAIN_ID, "http://127.0.0.1:1"))
    monkeypatch.setattr(chain, "node", lambda: Telling(code))
    found = await examine_payments(chain, "USDC payments", "0x" + "cd" * 20)
    assert found.works is pays
    await chain.close()


@pytest.mark.parametrize(
    ("key", "every_s", "who"),
    [
        (None, 21_600, "only the owner records the value"),
        ("0x" + "12" * 32, 0, "only the owner records the value"),
        ("0x" + "12" * 32, 21_600, "it records values in dry run too"),
    ],
)
async def test_the_doctor_tells_who_records(
    tmp_path: Path, key: str | None, every_s: int, who: str
) -> None:
    settings = Settings(
        database_url=f"sqlite:///{tmp_path / 'w.sqlite'}",
        keeper_private_key=None if key is None else SecretStr(key),
        keeper_mark_s=every_s,
        venue_mainnet_url="http://127.0.0.1:1",
        venue_testnet_url="http://127.0.0.1:1",
    )
    found = {f.what: f for f in await examine(settings)}
    assert who in found["keeper key"].effect
