"""What a call costs against the rate limits, and whose limit it is (contract 1)."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from tools.call.operation import Caller, Deps, Operation

REFUSED: Final = 1  # what a refusal costs beside the call
WRONG_CREDENTIAL: Final = 5
ANONYMOUS: Final = "requests without a key"


def charge(deps: Deps, caller: Caller, address: str | None, op: Operation, now: datetime) -> None:
    """Count a call before it runs. Errors: `rate_limited`."""
    if op.name == "auth_challenge" and address is not None:
        deps.rates.take("sign-in challenges", address, deps.config.rate_challenges, now)
    if op.relays and address is not None:
        deps.rates.take("relays", address, deps.config.trading.relays_per_minute, now)
    _take(deps, caller, address, op, now, cost=op.weight, force=False)


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
    elif address is not None:
        deps.rates.take(ANONYMOUS, address, config.rate_anonymous, now, cost=cost, force=force)
