"""Status of a person's own account at the venue, and the next steps."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Literal

from pydantic import Field

from domain.refusals import Refused
from domain.times import timestamp
from domain.trading.indices import usdc_text
from domain.trading.modes import effective_mode
from domain.trading.venue_account import (
    KEY_LONGEST,
    AgentKey,
    KeyKind,
    Link,
    agent_name,
    key_standing,
    usable,
)
from domain.trading.venue_values import CHAIN_NAMES, ApprovedAgent, CachedValue, Network
from tools.model.fields import Nothing
from tools.model.operation import Caller, Deps, Operation, OperationResult, ResponseModel
from tools.trading.account.builder_fee import BuilderFeeStatusOut as BuilderFeeStatus
from tools.trading.account.builder_fee import status_of as builder_status
from tools.trading.account.venue_keys import refresh_keys
from tools.trading.fields import (
    Amount,
    MaybeMoment,
    NetworkName,
    TimestampText,
    live_side,
    signed_in,
    venue_of,
)

AGENTS_S: Final = 60
ENABLE: Final = "POST /wallet/own/enable/relay"
EQUITY_S: Final = 20
_FIRST_DEX: Final = ""
_USDC: Final = 0


class VenueKeyOut(ResponseModel):
    """An agent key, as the venue named it last."""

    address: str
    name: str = Field(description="as the venue tells it")
    valid_until: TimestampText
    checked_at: MaybeMoment
    listed: bool = Field(description="whether the venue named it at `checked_at`")


class EnableOut(ResponseModel):
    """The text to sign to approve a key: `<agent_name> valid_until <milliseconds>` on this chain
    name.
    """

    agent_name: str = Field(description="the service's own name for the key")
    max_valid_until: TimestampText
    hyperliquid_chain: Literal["Mainnet", "Testnet"]


class KeeperEnableOut(EnableOut):
    """Payload that enables the keeper key, whose address the signer gives."""

    agent_address: str


class StepOut(ResponseModel):
    """One thing that is still to do."""

    step: Literal["link", "enable", "verify", "renew", "fund", "builder_fee"]
    text: str = Field(description="the service's own words")
    route: str | None


class OwnStatusOut(ResponseModel):
    """The linked wallet and its approved keys. `equity_usdc` and `funded` are null where the venue
    does not say.
    """

    linked: bool
    wallet: str | None
    network: NetworkName
    linked_at: MaybeMoment
    terms_version: int | None
    enabled: bool
    order_key: VenueKeyOut | None
    keeper_key: VenueKeyOut | None
    enable: EnableOut
    enable_keeper: KeeperEnableOut | None
    builder_fee: BuilderFeeStatus
    abstraction_mode: str | None
    funded: bool | None
    equity_usdc: Amount
    allowlisted: bool
    mode: Literal["paper", "live"]
    stale: bool
    next: list[StepOut]


# --------------------------------------------------------------------------------------------------


async def approved_agents(
    deps: Deps, link: Link, *, max_age_s: int
) -> CachedValue[tuple[ApprovedAgent, ...]] | None:
    """The venue's list of a wallet's agents; None where it says nothing and nothing is held. Orders
    rest on it: a page that spent its share still tells of a key that was approved just now.
    """
    try:
        return await venue_of(deps, link.network).agents(
            link.wallet, max_age_s=max_age_s, priority="order"
        )
    except Refused:
        return None


async def equity_of(deps: Deps, link: Link) -> tuple[str | None, Decimal | None]:
    """The margin mode of an account, and its worth in USDC; None where the venue does not say. A
    unified account has its balance in the spot state: read elsewhere it would show 0.
    """
    wallet = link.wallet
    try:
        venue = venue_of(deps, link.network)
        mode = (await venue.abstraction(wallet, priority="page")).value
        if mode in ("unifiedAccount", "portfolioMargin"):
            balances = await venue.balances(wallet, max_age_s=EQUITY_S, priority="page")
            return mode, sum((b.total for b in balances.value if b.token == _USDC), Decimal(0))
        worth = Decimal(0)
        for dex in (_FIRST_DEX, *deps.config.trading.dexes):
            account = await venue.account(wallet, dex, priority="page", max_age_s=EQUITY_S)
            worth += account.value.account_value
    except Refused:
        return None, None
    return mode, worth if mode != "unknown" else None


def _key_out(deps: Deps, key: AgentKey | None, now: datetime) -> dict[str, Any] | None:
    if key is None or not key.alive(now):
        return None
    return {
        "address": deps.chains.address(key.agent),
        "name": key.name,
        "valid_until": timestamp(key.valid_until),
        "checked_at": timestamp(key.checked_at) if key.checked_at else None,
        "listed": key.listed,
    }


async def status(deps: Deps, caller: Caller, request: Nothing) -> OperationResult:
    """Say what is linked and approved, and what is still to do."""
    now_on, network, link, allowed = await live_side(deps, caller)
    user, now = signed_in(caller), deps.clock.now()
    fee = await builder_status(deps, link, network)
    agents = await approved_agents(deps, link, max_age_s=AGENTS_S) if link else None
    mode, worth = await equity_of(deps, link) if link else (None, None)
    order, keeper = await refresh_keys(deps, link, agents) if link else (None, None)
    enabled = usable(order, agents.value if agents else None, now)
    last = await _last(deps, link)
    body = {
        "linked": link is not None,
        "wallet": link.wallet if link else None,
        "network": network,
        "linked_at": timestamp(link.linked_at) if link else None,
        "terms_version": link.terms_version if link else None,
        "enabled": enabled,
        "order_key": _key_out(deps, order, now),
        "keeper_key": _key_out(deps, keeper, now),
        "enable": _enable(user, network, "order", now),
        "enable_keeper": await _keeper_enable(deps, user, link, now),
        "builder_fee": fee,
        "abstraction_mode": mode,
        "funded": None if worth is None else worth > 0,
        "equity_usdc": usdc_text(worth),
        "allowlisted": allowed,
        "mode": effective_mode(now_on, "terminal", allowed=allowed),
        "stale": link is not None and (agents is None or agents.stale or worth is None),
        "next": _next(
            link,
            _key_step(order, last, now, enabled=enabled),
            worth,
            fee,
            deps.config.trading.builder_address,
        ),
    }
    return OperationResult(200, body)


async def _last(deps: Deps, link: Link | None) -> AgentKey | None:
    """The newest order key that the venue took, also one that ended."""
    if link is None:
        return None
    return await deps.store.read(lambda uow: uow.venue.last_key(link.link_id, "order"))


def _enable(user: str, network: Network, kind: KeyKind, now: datetime) -> dict[str, Any]:
    return {
        "agent_name": agent_name(user, network, kind),
        "max_valid_until": timestamp(now + KEY_LONGEST),
        "hyperliquid_chain": CHAIN_NAMES[network],
    }


async def _keeper_enable(
    deps: Deps, user: str, link: Link | None, now: datetime
) -> dict[str, Any] | None:
    """The text to sign for the keeper key, a new one after one that ended; None without a
    signer.
    """
    if deps.signer is None or link is None:
        return None
    try:
        address = await deps.signer.keeper_address(link.network, link.wallet)
        used = await deps.store.read(lambda uow: uow.venue.key_of_agent(address))
        if used is not None and used.spent(now):
            address = await deps.signer.keeper_renewed(link.network, link.wallet, address)
    except Refused:
        return None
    return _enable(user, link.network, "keeper", now) | {"agent_address": address}


def _next(
    link: Link | None,
    key_step: dict[str, Any] | None,
    worth: Decimal | None,
    fee: dict[str, Any],
    builder: str | None,
) -> list[dict[str, Any]]:
    """The steps that are left, in their order; the builder fee is never required."""
    steps = []
    if link is None:
        return [_step("link", "Link a wallet", "POST /wallet/own/link/challenge")]
    if key_step is not None:
        steps.append(key_step)
    if worth is not None and worth <= 0:
        steps.append(_step("fund", "Deposit USDC at the venue", None))
    if builder is not None and not fee["approved"]:
        text = "Approve the builder fee at the venue, if you want to"
        steps.append(_step("builder_fee", text, "GET /wallet/builder-fee/config"))
    return steps


def _key_step(
    order: AgentKey | None, last: AgentKey | None, now: datetime, *, enabled: bool
) -> dict[str, Any] | None:
    """The next step for the order key, with its reason: a key that expired, was revoked or ends
    soon has one.
    """
    key = order or last
    if key is None:
        return _step("enable", "Approve an order key", ENABLE)
    stands = key_standing(key, enabled=enabled, now=now)
    if stands == "good":
        return None
    if stands == "unverified":
        return _step("verify", "Check the approval", "POST /wallet/own/enable/verify")
    until = timestamp(key.valid_until)
    why = {
        "ending": f"Your order key ends at {until}",
        "gone": "The venue names your order key no more: it was revoked there, or replaced",
        "expired": f"Your order key ended at {until}; the venue may still take it until revoked",
        "revoked": "Your order key was revoked",
    }[stands]
    return _step("renew" if stands == "ending" else "enable", f"{why}. Approve a new one", ENABLE)


def _step(step: str, text: str, route: str | None) -> dict[str, Any]:
    return {"step": step, "text": text, "route": route}


OPERATIONS: Final = (
    Operation(
        name="own_status",
        title="Read your own account",
        summary="What is linked, approved and funded at the venue, and what is still to do.",
        auth="owner",
        route=("GET", "/wallet/own/status"),
        request_model=Nothing,
        response_model=OwnStatusOut,
        pass_through=status,
        family="own account",
        open_world=True,
    ),
)
