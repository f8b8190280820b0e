"""Asking the venue whether it names an approved key, and keeping its answer."""

from __future__ import annotations

from typing import Final

import anyio

from domain.ports import Venue
from domain.times import timestamp
from domain.trading.own import AgentKey, KeyKind, Link, listed, usable
from domain.trading.venue import ApprovedAgent
from tools.call.fields import Nothing
from tools.call.operation import Caller, Deps, Gives, Operation, Reply
from tools.trading.fields import (
    HASH_FIELDS,
    MaybeMoment,
    Moment,
    NetworkName,
    linked,
    live_side,
    own_write,
    venue_of,
)


class VerifiedAgent(Gives):
    """The key as the venue names it."""

    address: str
    name: str
    valid_until: Moment


class VerifyOut(Gives):
    """Whether the order key may sign now."""

    enabled: bool
    agent: VerifiedAgent | None
    network: NetworkName
    checked_at: MaybeMoment


async def verify(deps: Deps, caller: Caller, asked: Nothing) -> Reply:
    """Ask the venue for the order key, twice where it is not listed yet, and keep what it says."""
    _, network, found, _ = await live_side(deps, caller)
    link, venue = linked(found, network), venue_of(deps, network)
    order, told = await _look(deps, venue, link, "order")
    await _look(deps, venue, link, "keeper", told)
    now = deps.clock.now()
    good = usable(order, told, now)
    line = listed(order, told) if order is not None and good else None
    body = {
        "enabled": good,
        "agent": None
        if line is None or order is None
        else {
            "address": line.address,
            "name": line.name,
            "valid_until": timestamp(min(order.valid_until, line.valid_until or order.valid_until)),
        },
        "network": network,
        "checked_at": timestamp(now),
    }
    return Reply(200, body)


async def _look(
    deps: Deps,
    venue: Venue,
    link: Link,
    kind: KeyKind,
    told: tuple[ApprovedAgent, ...] | None = None,
) -> tuple[AgentKey | None, tuple[ApprovedAgent, ...]]:
    """A key and the venue's list, asked once more after a moment where the key is not in it."""
    key = await deps.store.read(lambda uow: uow.venue.key_in_use(link.link_id, kind))
    if told is None:
        told = (await venue.agents(link.wallet, good_for_s=0, fresh=True)).value
        if key is not None and key.alive(deps.clock.now()) and listed(key, told) is None:
            await anyio.sleep(deps.config.trading.verify_pause_s)
            told = (await venue.agents(link.wallet, good_for_s=0, fresh=True)).value
    if key is not None:
        found, there, now = key, listed(key, told) is not None, deps.clock.now()
        await deps.store.write(
            lambda uow: uow.venue.check_key(found.approval_id, listed=there, now=now)
        )
    return key, told


_WRITE: Final = (
    "not_linked",
    "venue_unavailable",
    "not_configured",
    "idempotency_key_reused",
    "idempotency_in_flight",
)

OPERATIONS: Final = (
    Operation(
        name="own_enable_verify",
        title="Check the order key",
        summary="Ask the venue whether it names your order key, and keep its answer.",
        auth="owner",
        route=("POST", "/wallet/own/enable/verify"),
        takes=Nothing,
        gives=VerifyOut,
        effect=verify,
        writes=True,
        idempotent=True,
        guards_secrets=True,
        hash_fields=HASH_FIELDS,
        family="own account",
        open_world=True,
        idempotency=own_write("/wallet/own/enable/verify"),
        refusals=("secret_not_accepted", *_WRITE),
    ),
)
