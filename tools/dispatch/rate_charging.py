"""Rate charging: the cost of a call and the limit that it counts against (contract 1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
CHALLENGES: Final = "sign-in challenges"
CHALLENGES_TOGETHER: Final = "sign-in challenges of one address"
RELAYS: Final = "relays"
# Who has no credential is counted under these.
OF_STRANGERS: Final = frozenset({ANONYMOUS, CHALLENGES, CHALLENGES_TOGETHER, RELAYS})
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


async def charge_call(
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
        await deps.rates.charge(CHALLENGES, of, limit, now)
        # Behind a proxy that is not known as one, everybody has the same address.
        await deps.rates.charge(CHALLENGES_TOGETHER, address, limit * WALLETS_AN_ADDRESS, now)
    if op.is_relay and address is not None:
        await deps.rates.charge(RELAYS, address, deps.config.trading.relays_per_minute, now)
    counted = 0 if op.writes and caller.credential is not None else prepaid_cost
    for subject, whose, limit in _meters(deps, caller, address, op):
        await deps.rates.charge(subject, whose, limit, now, cost=op.weight - counted)


def charge_refusal(
    deps: Deps, caller: Caller, address: str | None, op: Operation, now: datetime
) -> None:
    """Charge a refused call once more: it cost as much as one that succeeds, without a result."""
    for subject, whose, limit in _meters(deps, caller, address, op):
        deps.rates.acquire(subject, whose, limit, now, cost=REFUSED, force=True)


async def charge_request(
    deps: Deps, credential: str | None, address: str | None, *, cost: int = 1
) -> None:
    """Count a request, whatever it asks for, before anything is done for it: for its credential,
    where that is a good one, else for its address. Errors: `rate_limited`.
    """
    now = deps.clock.now()
    if credential is not None:
        await deps.rates.charge(READS, credential, deps.config.rate_reads, now, cost=cost)
    elif address is not None:
        await deps.rates.charge(ANONYMOUS, address, deps.config.rate_anonymous, now, cost=cost)


async def charge_owner(deps: Deps, caller: Caller, *, cost: int = 1) -> None:
    """Count a request for the owner behind its credential as well. Errors: `rate_limited`."""
    for subject, owner_id, limit in _meter_of_owner(caller, READS, deps.config.rate_reads):
        await deps.rates.charge(subject, owner_id, limit, deps.clock.now(), cost=cost)


def charge_stranger(deps: Deps, address: str | None, *, cost: int = 1) -> None:
    """Count what was done for a stranger, at once. Errors: `rate_limited`."""
    if address is not None:
        limit, now = deps.config.rate_anonymous, deps.clock.now()
        deps.rates.acquire(ANONYMOUS, address, limit, now, cost=cost)


def _meters(
    deps: Deps, caller: Caller, address: str | None, op: Operation
) -> Iterator[tuple[str, str, int]]:
    """The meters of a call: the subject, whose it is, and the limit of a minute."""
    config = deps.config
    if caller.credential is not None:
        writes = "writes", config.rate_writes
        subject, limit = writes if op.writes else (READS, config.rate_reads)
        yield subject, caller.credential, limit
        yield from _meter_of_owner(caller, subject, limit)
    elif address is not None:
        yield ANONYMOUS, address, config.rate_anonymous


def _meter_of_owner(caller: Caller, subject: str, limit: int) -> Iterator[tuple[str, str, int]]:
    """The meter of all keys of all agents together, or of all sessions: agents never use up what
    their owner needs to stop them.
    """
    if caller.owner_id is not None:
        whose = "your owner's agents" if caller.role == "agent" else "your sessions"
        yield f"{subject} of {whose} together", caller.owner_id, limit * OWNER_TIMES
