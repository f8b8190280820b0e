"""What a call costs against the rate limits, and whose limit it is (contract 1)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final

from tools.call.operation import Caller, Deps, Operation
from tools.call.rates import Network, networks, origin

REFUSED: Final = 1  # what a refusal costs beside the call
WRONG_CREDENTIAL: Final = 5
OWNER_TIMES: Final = 2  # what one credential may, an owner's may together
ANONYMOUS: Final = "requests without a key"


def counted_address(deps: Deps, peer: str | None, forwarded_for: Sequence[str]) -> str | None:
    """The network address that a request counts for: the peer's, or the last hop in
    X-Forwarded-For that is no proxy of ours (contract 1).
    """
    trusted = _trusted(deps.config.trusted_proxies)
    return origin(peer, ",".join(forwarded_for) if trusted else None, trusted)


@lru_cache(maxsize=4)
def _trusted(setting: str) -> tuple[Network, ...]:
    return networks(setting)


def charge(
    deps: Deps,
    caller: Caller,
    address: str | None,
    op: Operation,
    now: datetime,
    *,
    paid: int = 0,
) -> None:
    """Count a call before it runs; `paid` of its weight was counted where it came in.

    Errors: `rate_limited`.
    """
    if op.name == "auth_challenge" and address is not None:
        deps.rates.take("sign-in challenges", address, deps.config.rate_challenges, now)
    if op.relays and address is not None:
        deps.rates.take("relays", address, deps.config.trading.relays_per_minute, now)
    _take(deps, caller, address, op, now, cost=op.weight - paid, force=False)


def charge_refusal(
    deps: Deps, caller: Caller, address: str | None, op: Operation, now: datetime
) -> None:
    """Count a refused call once more: it cost as much, and brought nobody on."""
    _take(deps, caller, address, op, now, cost=REFUSED, force=True)


def charge_stranger(deps: Deps, address: str | None, *, cost: int = 1) -> None:
    """Count a request that no credential of ours came with. Errors: `rate_limited`."""
    if address is not None:
        limit, now = deps.config.rate_anonymous, deps.clock.now()
        deps.rates.take(ANONYMOUS, address, limit, now, cost=cost)


def _take(
    deps: Deps,
    caller: Caller,
    address: str | None,
    op: Operation,
    now: datetime,
    *,
    cost: int,
    force: bool,
) -> None:
    config = deps.config
    if caller.credential is not None:
        limit = config.rate_writes if op.writes else config.rate_reads
        what = "writes" if op.writes else "reads"
        deps.rates.take(what, caller.credential, limit, now, cost=cost, force=force)
        if caller.owner_id is not None:
            # Of all keys of all agents together, and of all sessions: agents never use up what
            # their owner needs to stop them.
            whose = "your owner's agents" if caller.role == "agent" else "your sessions"
            what, limit = f"{what} of {whose} together", limit * OWNER_TIMES
            deps.rates.take(what, caller.owner_id, limit, now, cost=cost, force=force)
    elif address is not None:
        deps.rates.take(ANONYMOUS, address, config.rate_anonymous, now, cost=cost, force=force)
