"""Deploying the factory, the lens and the value probe of a market on a configured chain."""

from __future__ import annotations

from dataclasses import dataclass

from chain.adapter import ChainConfig, EvmChain
from chain.tx_sender import address_of, deploy
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


async def deploy_all(
    rpc_url: str,
    chain_id: int,
    key: str,
    keeper: str,
    *,
    usdc: str | None = None,
    approvals_on_chain: bool = False,
) -> Deployed:
    """Deploy the factory and the lens; without USDC also a test USDC, a market and its probe."""
    chain = EvmChain(ChainConfig(chain_id, rpc_url, confirmations=0))
    try:
        token = usdc or await deploy(chain, key, "TestUSDC")
        market = None if usdc else await deploy(chain, key, "TestMarket", (token,))
        factory = await deploy(
            chain, key, "MandateVaultFactory", (token, keeper, approvals_on_chain)
        )
        lens = await deploy(chain, key, "VaultLens")
        value = await deploy(chain, key, "ShareValue", (market,)) if market else None
    finally:
        await chain.close()
    return Deployed(token, factory, lens, market, value)


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
    if keeper_address is None and settings.keeper_private_key is not None:
        keeper_address = address_of(settings.keeper_private_key.get_secret_value())
    if keeper_address is None:
        raise Refused(refusal("not_configured", what="a keeper address"))
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
    }
    return raw | (
        {"market": done.market, "share_value": done.share_value or ""} if done.market else {}
    )


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


def _where(settings: Settings, chain_id: int) -> tuple[ChainConfig, str]:
    facts = next((f for f in settings.chain_facts() if f.chain_id == chain_id), None)
    if facts is None or facts.rpc_url is None:
        raise Refused(refusal("not_configured", what=f"an RPC address of chain {chain_id}"))
    return facts, facts.rpc_url
