"""Composition: the real clock, ids, store, chains and keeper, put together once."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import anyio

from chain.chains import EvmChains
from chain.contracts.sign_in import SiweSignIn
from domain.ports import AgentSigner, Clock, Ids
from server.lazy.lazy_parts import LazyHouseKeeper, LazyVenues
from server.mail_server import mail_server
from server.settings import Settings
from server.system import SystemClock, SystemIds
from server.tracing import tracer_of
from storage.read_replica import ReadReplica
from storage.store import Store, open_store
from tools.model.operation import Deps
from tools.model.switches import is_on
from tools.model.telemetry import NullTelemetry
from tools.model.web_push import WebPush
from tools.model.webhook_signing import WebhookSigning

if TYPE_CHECKING:
    from http_shim.metrics import Metrics
    from server.mail import MailClient
    from server.signer.client import SignerClient
    from venue.venues import Networks


log = logging.getLogger("wallet.start")
_LATE: Final = (
    "chain.adapter", "chain.tx_sender", "eth_account.messages", "server.venues",
    "server.keeper.scheduler",
)  # fmt: skip
LEAST_MICROS: Final = 10_000_000  # the venue takes no smaller order


@dataclass(frozen=True, slots=True)
class Runtime:
    """The parts of a running process."""

    settings: Settings
    deps: Deps
    chains: EvmChains
    venues: LazyVenues | Networks

    async def load(self) -> None:
        """Load what is late, so that no call waits for it. Errors: Refused, ValueError for a
        setting of theirs that cannot be.
        """
        for module in _LATE:
            await anyio.to_thread.run_sync(import_module, module)
        for part in (self.chains, self.venues, self.deps.keeper):
            if isinstance(part, EvmChains | LazyVenues | LazyHouseKeeper):
                part.load()


@asynccontextmanager
async def build_runtime(
    settings: Settings,
    clock: Clock | None = None,
    ids: Ids | None = None,
    *,
    address: str | None = None,
    metrics: Metrics | None = None,
) -> AsyncIterator[Runtime]:
    """Open the store, and close at the end what was opened; `address` is what is served, `metrics`
    counts what is done.

    What talks to chains and to the venue is loaded by the first call that needs it, or by
    `server.runtime.serve` once it serves.
    """
    from tools.trading.paper.simulated_exchange import SimulatedExchange

    tracer = None if metrics is None else tracer_of(settings)
    store = await _opened(settings, metrics)
    replica = await _replica(settings, store)
    time = clock or SystemClock()
    chains = EvmChains(settings.chain_facts, settings.chain_call_ms)
    venues = LazyVenues(settings, time, store)
    key, config = settings.keeper_private_key, settings.config(address)
    if min(config.trading.cap_per_order_micros, config.trading.cap_per_day_micros) < LEAST_MICROS:
        log.warning("an order cap is below 10 USDC: no order can be placed")
    if settings.state_keys is None and not settings.database_url.startswith("sqlite:"):
        log.warning("WALLET_STATE_KEYS is not set: another process cannot open what this one seals")
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
        keeper=LazyHouseKeeper(chains, key.get_secret_value()) if key else None,
        venues=venues,
        signer=_signer(settings.signer_socket) if settings.signer_socket else None,
        agent_signer=_agent_signer(settings),
        paper=SimulatedExchange(store=store, clock=time, trading=config.trading),
        webhooks=_signing(settings),
        push=web_push(settings),
        email=settings.sends_email(),
        sealing=settings.state_ring(),
        watch=metrics or NullTelemetry(),
        tracer=tracer,
        replica=replica,
    )
    try:
        yield Runtime(settings, deps, chains, venues)
    finally:
        await venues.close()
        await chains.close()
        if replica is not None:
            await replica.close()
        await store.close()
        if tracer is not None:
            await tracer.close()


async def _replica(settings: Settings, primary: Store) -> ReadReplica | None:
    if settings.database_read_url is None:
        return None
    standby = await open_store(settings.database_read_url, settings.patience())
    return ReadReplica(primary, standby, settings.database_read_lag_ms)


async def _opened(settings: Settings, metrics: Metrics | None) -> Store:
    if metrics is None:
        return await open_store(settings.database_url, settings.patience())
    from server.instrumentation import watched_store

    return await watched_store(settings.database_url, settings.patience(), metrics)


def _signer(socket: Path) -> SignerClient:
    from server.signer.client import SignerClient

    return SignerClient(socket)


def _agent_signer(settings: Settings) -> AgentSigner | None:
    socket = settings.signer_socket if is_on(settings.hosted_agents) else None
    return None if socket is None else _signer(socket)


def _signing(settings: Settings) -> WebhookSigning | None:
    key = settings.webhook_key
    return None if key is None else WebhookSigning(key.get_secret_value().encode())


def web_push(settings: Settings) -> WebPush | None:
    """The operator's key pair for browsers, with the best contact that is set."""
    if settings.vapid_private_key is None:
        return None
    contact, base = settings.push_contact, settings.base_url or ""
    if contact is None and base.startswith("https://"):
        contact = base
    elif contact is None and settings.mail_from is not None:
        contact = f"mailto:{settings.mail_from}"
    return WebPush(settings.vapid_private_key.get_secret_value(), contact)


def mail_client(settings: Settings, base_url: str) -> MailClient | None:
    """The client of the operator's mail server; None where one of its settings is not set."""
    if settings.smtp_url is None or settings.mail_from is None or not settings.sends_email():
        return None
    from server.mail import MailClient

    host = urlsplit(base_url).hostname or "localhost"
    return MailClient(mail_server(settings.smtp_url.get_secret_value()), settings.mail_from, host)
