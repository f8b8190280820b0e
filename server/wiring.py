"""Composition: the real clock, ids, store, chains and keeper, put together once."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from chain.evm import ChainFacts, EvmChains
from chain.networks import NETWORKS
from chain.sender import Sender
from chain.sign_in import SiweSignIn
from domain.ports import Clock, Ids
from server.settings import ChainSettings, Settings
from storage.store import open_store
from tools.call.operation import Deps


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the present as an aware UTC datetime."""
        return datetime.now(UTC)


_BASE32: Final = bytes(b"abcdefghijklmnopqrstuvwxyz234567"[n % 32] for n in range(256))


class SystemIds:
    """Ids and tokens from the operating system's CSPRNG."""

    def short(self, prefix: str) -> str:
        """Return `prefix` and 10 random characters of a-z2-7 (50 bits)."""
        return prefix + secrets.token_bytes(10).translate(_BASE32).decode()

    def token(self, prefix: str) -> str:
        """Return `prefix` and 43 base64url characters (256 bits)."""
        return prefix + secrets.token_urlsafe(32)

    def nonce256(self) -> int:
        """Return a random 256-bit integer."""
        return secrets.randbits(256)


def chain_facts(settings: Settings) -> list[ChainFacts]:
    """The settings of every configured chain over what is known of its network."""
    return [_facts(chain_id, own) for chain_id, own in sorted(settings.chains.items())]


def _facts(chain_id: int, own: ChainSettings) -> ChainFacts:
    network = NETWORKS.get(chain_id)
    confirmations = own.confirmations
    if confirmations is None:
        confirmations = network.confirmations if network else 24
    address = EvmChains([]).address
    return ChainFacts(
        chain_id=chain_id,
        rpc_url=own.rpc_url,
        usdc=address(own.usdc) if own.usdc else (network.usdc if network else None),
        factory=address(own.factory) if own.factory else None,
        lens=address(own.lens) if own.lens else None,
        explorer=own.explorer or (network.explorer if network else None),
        confirmations=confirmations,
        start_block=own.start_block,
        paymaster_url=own.paymaster_url,
    )


@dataclass(frozen=True, slots=True)
class Wired:
    """The parts of a running process."""

    settings: Settings
    deps: Deps
    chains: EvmChains


@asynccontextmanager
async def wired(
    settings: Settings,
    clock: Clock | None = None,
    ids: Ids | None = None,
    *,
    address: str | None = None,
) -> AsyncIterator[Wired]:
    """Open the store and the chains, and close them at the end; `address` is what is served."""
    store = await open_store(settings.database_url)
    chains = EvmChains(chain_facts(settings))
    key = settings.keeper_private_key
    deps = Deps(
        store=store,
        chains=chains,
        clock=clock or SystemClock(),
        ids=ids or SystemIds(),
        config=settings.config(address),
        sign_in=SiweSignIn(),
        defaults=settings.switches(),
        keeper=Sender(chains, key.get_secret_value()) if key else None,
    )
    try:
        yield Wired(settings, deps, chains)
    finally:
        await chains.close()
        await store.close()
