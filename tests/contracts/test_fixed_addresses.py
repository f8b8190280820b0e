"""Where the contracts will be: computed, told on a page, and by the deployer's own words."""

from __future__ import annotations

import re

from eth_utils import keccak, to_checksum_address

from chain.contracts.fixed_addresses import (
    DETERMINISTIC_DEPLOYER,
    SALT,
    fixed_address,
    fixed_deployment,
)
from chain.networks import NETWORKS
from server.cli.deployment import fixed_contracts, plain_hub_address
from tests.contracts.harness import ROOT, ZERO, World

PAGE = ROOT / "docs" / "operating" / "contracts.md"


def test_the_page_names_the_addresses_that_the_committed_bytes_give() -> None:
    page = PAGE.read_text()
    rows = re.findall(r"^\| \S[^|]* \((\d+)\) \| ([^|]+) \| `(\w+)` \| `(\w+)` \| `(\w+)` \|$", page, re.M)  # fmt: skip
    assert len(rows) == 4
    for chain_id, approvals, *told in rows:
        usdc = NETWORKS[int(chain_id)].usdc
        assert usdc is not None
        found = fixed_contracts(usdc, ZERO, approvals_on_chain=approvals == "on chain")
        assert [found[n] for n in ("FACTORY", "PURSE_DEPLOYER", "PURSE_HUB")] == told
        assert found["LENS"] in page
    assert DETERMINISTIC_DEPLOYER in page


def test_an_address_is_the_one_that_create2_gives_to_what_is_sent() -> None:
    sent = bytes.fromhex(fixed_deployment("VaultLens").removeprefix("0x"))
    deployer, salt = bytes.fromhex(DETERMINISTIC_DEPLOYER[2:]), bytes.fromhex(SALT[2:])
    assert sent[:32] == salt
    made = keccak(b"\xff" + deployer + salt + keccak(sent[32:]))[12:]
    assert fixed_address("VaultLens") == to_checksum_address(made)


def test_another_keeper_usdc_or_place_of_approvals_is_another_factory_and_another_hub() -> None:
    base, sepolia = (str(NETWORKS[c].usdc) for c in (8453, 84532))
    keeper = "0x" + "22" * 20
    found = [
        fixed_contracts(usdc, by, approvals_on_chain=kept)
        for usdc in (base, sepolia)
        for by in (ZERO, keeper)
        for kept in (True, False)
    ]
    for name in ("FACTORY", "PURSE_DEPLOYER", "PURSE_HUB"):
        assert len({f[name] for f in found}) == 8


def test_the_plain_hub_is_where_its_deployer_says() -> None:
    world = World()
    deployer = world.evm.deploy("PurseHubDeployer", world.factory.address)
    told = deployer.read("hubOf", (0, 0, 0, bytes(32)))
    assert plain_hub_address(deployer.address, world.factory.address) == told
    assert world.evm.code(told) == b""
    made = deployer.send(world.stranger, "deploy", (0, 0, 0, bytes(32))).one("HubDeployed")
    assert made["hub"] == told
    assert world.evm.code(told) != b""
