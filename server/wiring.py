"""Composition: the real clock, ids, store, chains and keeper, put together once."""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from domain.ports import Clock, Ids
from server.chains import LateChains, LateKeeper, LateSignIn
from server.chains import chain_facts as chain_facts
from server.late_venues import LateVenues
from server.settings import Settings
from storage.store import Store, open_store
from tools.call.operation import Deps
from tools.call.signing import WebhookSigning
from tools.call.watch import Unwatched

if TYPE_CHECKING:
    from chain.evm import EvmChains
    from http_shim.metrics import Metrics
    from venue.networks import Networks


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the present as an aware UTC datetime."""
        return datetime.now(UTC)


log = logging.getLogger("wallet.start")
LEAST_MICROS: Final = 10_000_000  # the venue takes no smaller order
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


@dataclass(frozen=True, slots=True)
class Wired:
    """The parts of a running process."""

    settings: Settings
    deps: Deps
    chains: EvmChains
    venues: Networks


@asynccontextmanager
async def wired(
    settings: Settings,
    clock: Clock | None = None,
    ids: Ids | None = None,
    *,
    address: str | None = None,
    metrics: Metrics | None = None,
) -> AsyncIterator[Wired]:
    """Open the store and the chains, and close them at the end; `address` is what is served,
    `metrics` counts what is done.
    """
    from chain.evm import EvmChains
    from chain.sender import Sender
    from chain.sign_in import SiweSignIn
    from server.signer.line import SignerLine
    from server.venues import SharedWeights, venues
    from tools.trading.paper.desk import Desk

    store = await _opened(settings, metrics)
    chains = EvmChains(chain_facts(settings))
    key = settings.keeper_private_key
    time = clock or SystemClock()
    networks = venues(settings, time, SharedWeights(store))
    config = settings.config(address)
    if min(config.trading.cap_per_order_micros, config.trading.cap_per_day_micros) < LEAST_MICROS:
        log.warning("an order cap is below 10 USDC: no order can be placed")
    if config.trading.allowlist:
        await store.write(lambda uow: uow.allowlist.seed(config.trading.allowlist, time.now()))
    deps = Deps(
        store=store,
        chains=chains,
        clock=time,
        ids=ids or SystemIds(),
        config=config,
        sign_in=SiweSignIn(),
        defaults=settings.switches(),
        keeper=Sender(chains, key.get_secret_value()) if key else None,
        venues=networks,
        signer=SignerLine(settings.signer_socket) if settings.signer_socket else None,
        paper=Desk(store=store, clock=time, trading=config.trading),
        webhooks=_signing(settings),
        watch=metrics or Unwatched(),
    )
    try:
        yield Wired(settings, deps, chains, networks)
    finally:
        await networks.close()
        await chains.close()
        await store.close()


async def _opened(settings: Settings, metrics: Metrics | None) -> Store:
    if metrics is None:
        return await open_store(settings.database_url, settings.patience())
    from server.watched import watched_store

    return await watched_store(settings.database_url, settings.patience(), metrics)


def _signing(settings: Settings) -> WebhookSigning | None:
    key = settings.webhook_key
    return None if key is None else WebhookSigning(key.get_secret_value().encode())


@asynccontextmanager
async def wired_late(settings: Settings) -> AsyncIterator[Deps]:
    """The same for a process that a person waits for: what talks to chains is loaded when a call
    needs it.
    """
    from tools.trading.paper.desk import Desk

    store, config = await open_store(settings.database_url, settings.patience()), settings.config()
    chains, key, clock = LateChains(settings), settings.keeper_private_key, SystemClock()
    venues = LateVenues(settings, clock, store)
    deps = Deps(
        store=store,
        chains=chains,
        clock=clock,
        ids=SystemIds(),
        config=config,
        sign_in=LateSignIn(),
        defaults=settings.switches(),
        keeper=LateKeeper(chains, key.get_secret_value()) if key else None,
        venues=venues,
        paper=Desk(store=store, clock=clock, trading=config.trading),
        webhooks=_signing(settings),
    )
    try:
        yield deps
    finally:
        await venues.close()
        await chains.close()
        await store.close()
