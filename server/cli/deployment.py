"""Deploying the factory, the lens, hubs of purses and value probes on a configured chain."""

from __future__ import annotations

from dataclasses import dataclass

from chain.adapter import ChainConfig, EvmChain
from chain.contracts import abi_codec
from chain.contracts.fixed_addresses import fixed_address
from chain.contracts.purse import hub_address, policy
from chain.networks import NETWORKS
from chain.tx_sender import address_of, deploy, deploy_fixed, has_code, send_once
from domain.mandates.purses import PurseTerms
from domain.refusals import Refused, refusal
from server.settings import Settings


@dataclass(frozen=True, slots=True)
class Deployed:
    """Addresses of what was deployed."""

    usdc: str
    factory: str
    lens: str
    market: str | None
    share_value: str | None = None
    purse_deployer: str | None = None
    purse_hub: str | None = None


async def deploy_all(
    rpc_url: str,
    chain_id: int,
    key: str,
    keeper: str,
    *,
    usdc: str | None = None,
    approvals_on_chain: bool = False,
) -> Deployed:
    """Deploy the factory, the lens and the hubs of purses; without USDC also a test USDC, a market
    and its probe. With USDC they are at their fixed addresses where the chain has a deterministic
    deployer, and what is there already stays.
    """
    chain = EvmChain(ChainConfig(chain_id, rpc_url, confirmations=0))
    put = deploy_fixed if usdc else deploy
    try:
        token = usdc or await deploy(chain, key, "TestUSDC")
        market = None if usdc else await deploy(chain, key, "TestMarket", (token,))
        factory = await put(chain, key, "MandateVaultFactory", (token, keeper, approvals_on_chain))
        lens = await put(chain, key, "VaultLens")
        value = await deploy(chain, key, "ShareValue", (market,)) if market else None
        deployer = await put(chain, key, "PurseHubDeployer", (factory,))
        hub = await deploy_plain_hub(chain, key, deployer, factory)
    finally:
        await chain.close()
    return Deployed(token, factory, lens, market, value, deployer, hub)


async def deploy_plain_hub(chain: EvmChain, key: str, deployer: str, factory: str) -> str:
    """Have the deployer make the hub of purses without limits of their own, unless it is there."""
    hub = plain_hub_address(deployer, factory)
    if not await has_code(chain, hub):
        data = abi_codec.calldata("PurseHubDeployer", "deploy", (policy(PurseTerms()),))
        await send_once(chain, key, deployer, data)
    return hub


def plain_hub_address(deployer: str, factory: str) -> str:
    """Address of the hub of purses without limits of their own, EIP-55."""
    return hub_address(deployer, factory, PurseTerms())


def fixed_contracts(usdc: str, keeper: str, *, approvals_on_chain: bool) -> dict[str, str]:
    """The fixed addresses of the contracts for this USDC and keeper, by the names of their
    settings; nothing is asked or sent.
    """
    factory = fixed_address("MandateVaultFactory", (usdc, keeper, approvals_on_chain))
    deployer = fixed_address("PurseHubDeployer", (factory,))
    return {
        "FACTORY": factory,
        "LENS": fixed_address("VaultLens"),
        "PURSE_DEPLOYER": deployer,
        "PURSE_HUB": plain_hub_address(deployer, factory),
    }


async def deploy_contracts(
    settings: Settings,
    chain_id: int,
    key: str,
    keeper_address: str | None,
    *,
    approvals_on_chain: bool = False,
) -> dict[str, str]:
    """Deploy on a configured chain; answers the settings to add. Errors: `not_configured` without
    an RPC address, USDC or keeper.
    """
    facts, rpc_url = _where(settings, chain_id)
    keeper_address = _keeper(settings, keeper_address)
    done = await deploy_all(
        rpc_url,
        chain_id,
        key,
        keeper_address,
        usdc=facts.usdc,
        approvals_on_chain=approvals_on_chain,
    )
    prefix = f"WALLET_CHAINS__{chain_id}__"
    raw = {
        f"{prefix}USDC": done.usdc,
        f"{prefix}FACTORY": done.factory,
        f"{prefix}LENS": done.lens,
        f"{prefix}PURSE_DEPLOYER": done.purse_deployer or "",
        f"{prefix}PURSE_HUB": done.purse_hub or "",
    }
    return raw | (
        {"market": done.market, "share_value": done.share_value or ""} if done.market else {}
    )


async def contract_addresses(
    settings: Settings, chain_id: int, keeper_address: str | None, *, approvals_on_chain: bool
) -> dict[str, str]:
    """The settings that `deploy_contracts` would answer on a chain with a deterministic deployer.
    Errors: `not_configured` without USDC or keeper.
    """
    keeper_address = _keeper(settings, keeper_address)
    facts = next((f for f in settings.chain_facts() if f.chain_id == chain_id), None)
    usdc = (facts or NETWORKS.get(chain_id) or ChainConfig(chain_id)).usdc
    if usdc is None:
        raise Refused(refusal("not_configured", what=f"USDC of chain {chain_id}"))
    addresses = fixed_contracts(usdc, keeper_address, approvals_on_chain=approvals_on_chain)
    return {f"WALLET_CHAINS__{chain_id}__{name}": value for name, value in addresses.items()}


async def deploy_share_value(
    settings: Settings, chain_id: int, key: str, market: str
) -> dict[str, str]:
    """Deploy the value probe of an ERC-4626 market; answers the line for the markets file."""
    facts, _ = _where(settings, chain_id)
    chain = EvmChain(facts)
    try:
        return {"share_value": await deploy(chain, key, "ShareValue", (market,))}
    finally:
        await chain.close()


def _keeper(settings: Settings, named: str | None) -> str:
    if named is None and settings.keeper_private_key is not None:
        named = address_of(settings.keeper_private_key.get_secret_value())
    if named is None:
        raise Refused(refusal("not_configured", what="a keeper address"))
    return named


def _where(settings: Settings, chain_id: int) -> tuple[ChainConfig, str]:
    facts = next((f for f in settings.chain_facts() if f.chain_id == chain_id), None)
    if facts is None or facts.rpc_url is None:
        raise Refused(refusal("not_configured", what=f"an RPC address of chain {chain_id}"))
    return facts, facts.rpc_url
