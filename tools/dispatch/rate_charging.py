"""Rate charging: the cost of a call and the limit that it counts against (contract 1)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final

from tools.model.operation import Caller, Deps, Operation
from tools.model.rate_limiter import Network, client_network, networks

REFUSED: Final = 1  # what a refusal costs beside the call
WRONG_CREDENTIAL: Final = 5
OWNER_TIMES: Final = 2  # what one credential may, an owner's may together
ANONYMOUS: Final = "requests without a key"
READS: Final = "reads"
WALLETS_AN_ADDRESS: Final = 10  # that can start signing in as often as one may
WALLET_LENGTH: Final = 42


def counted_address(deps: Deps, peer: str | None, forwarded_for: Sequence[str]) -> str | None:
    """The network address that a request counts for: the peer's, or the last hop in
    X-Forwarded-For that is no proxy of ours (contract 1).
    """
    trusted = _trusted(deps.config.trusted_proxies)
    return client_network(peer, ",".join(forwarded_for) if trusted else None, trusted)


def is_proxy(deps: Deps, peer: str) -> bool:
    """Whether an address is one of ours that stands in front."""
    return client_network(peer, "0.0.0.0", _trusted(deps.config.trusted_proxies)) == "0.0.0.0"  # noqa: S104


@lru_cache(maxsize=4)
def _trusted(setting: str) -> tuple[Network, ...]:
    return networks(setting)


def charge_call(
    deps: Deps,
    caller: Caller,
    address: str | None,
    op: Operation,
    now: datetime,
    *,
    prepaid_cost: int = 0,
    wallet: object = None,
) -> None:
    """Count a call before it runs; `prepaid_cost` of its weight was counted where it came in, as
    that of a read: a write counts as a write in full. `wallet` is whose sign-in it begins.

    Errors: `rate_limited`.
    """
    if op.name == "auth_challenge" and address is not None:
        limit, of = deps.config.rate_challenges, f"{address} {str(wallet)[:WALLET_LENGTH].lower()}"
        deps.rates.acquire("sign-in challenges", of, limit, now)
        # Behind a proxy that is not known as one, everybody has the same address.
        many = "sign-in challenges of one address"
        deps.rates.acquire(many, address, limit * WALLETS_AN_ADDRESS, now)
    if op.is_relay and address is not None:
        deps.rates.acquire("relays", address, deps.config.trading.relays_per_minute, now)
    counted = 0 if op.writes and caller.credential is not None else prepaid_cost
    _take(deps, caller, address, op, now, cost=op.weight - counted)


def charge_refusal(
    deps: Deps, caller: Caller, address: str | None, op: Operation, now: datetime
) -> None:
    """Charge a refused call once more: it cost as much as one that succeeds, without a result."""
    _take(deps, caller, address, op, now, cost=REFUSED, force=True)


def charge_request(
    deps: Deps, credential: str | None, address: str | None, *, cost: int = 1
) -> None:
    """Count a request, whatever it asks for, before anything is done for it: for its credential,
    where that is a good one, else for its address. Errors: `rate_limited`.
    """
    if credential is None:
        charge_stranger(deps, address, cost=cost)
    else:
        limit, now = deps.config.rate_reads, deps.clock.now()
        deps.rates.acquire(READS, credential, limit, now, cost=cost)


def charge_owner(deps: Deps, caller: Caller, *, cost: int = 1) -> None:
    """Count a request for the owner behind its credential as well. Errors: `rate_limited`."""
    _take_of_owner(deps, caller, READS, deps.config.rate_reads, deps.clock.now(), cost=cost)


def charge_stranger(deps: Deps, address: str | None, *, cost: int = 1) -> None:
    """Count a request that no credential of ours came with. Errors: `rate_limited`."""
    if address is not None:
        limit, now = deps.config.rate_anonymous, deps.clock.now()
        deps.rates.acquire(ANONYMOUS, address, limit, now, cost=cost)


def _take(
    deps: Deps,
    caller: Caller,
    address: str | None,
    op: Operation,
    now: datetime,
    *,
    cost: int,
    force: bool = False,
) -> None:
    config = deps.config
    if caller.credential is not None:
        writes = "writes", config.rate_writes
        subject, limit = writes if op.writes else (READS, config.rate_reads)
        deps.rates.acquire(subject, caller.credential, limit, now, cost=cost, force=force)
        _take_of_owner(deps, caller, subject, limit, now, cost=cost, force=force)
    elif address is not None:
        deps.rates.acquire(ANONYMOUS, address, config.rate_anonymous, now, cost=cost, force=force)


def _take_of_owner(
    deps: Deps,
    caller: Caller,
    subject: str,
    limit: int,
    now: datetime,
    *,
    cost: int = 1,
    force: bool = False,
) -> None:
    """Count for all keys of all agents together, or for all sessions: agents never use up what
    their owner needs to stop them.
    """
    if caller.owner_id is not None:
        whose = "your owner's agents" if caller.role == "agent" else "your sessions"
        subject, limit = f"{subject} of {whose} together", limit * OWNER_TIMES
        deps.rates.acquire(subject, caller.owner_id, limit, now, cost=cost, force=force)
