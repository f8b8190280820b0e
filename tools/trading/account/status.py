"""Status of a person's own account at the venue, and the next steps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final, Literal

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
from tools.model.operation import Caller, Deps, HandlerResult, Operation, ResponseModel
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFacts:
    """A linked account by the venue and the record; `last` is the newest order key that the venue
    took, also one that ended. Units: `worth` USDC, None where the venue does not say.
    """

    agents: CachedValue[tuple[ApprovedAgent, ...]] | None = None
    abstraction: str | None = None
    worth: Decimal | None = None
    order: AgentKey | None = None
    keeper: AgentKey | None = None
    last: AgentKey | None = None


async def approved_agents(
    deps: Deps, link: Link, *, max_age_s: int
) -> CachedValue[tuple[ApprovedAgent, ...]] | None:
    """The venue's list of a wallet's agents; None where it says nothing and nothing is held. Orders
    rest on it: a page that spent its share still tells of a key that was approved just now.
    """
    try:
        venue = venue_of(deps, link.network)
        return await venue.agents(link.wallet, max_age_s=max_age_s, priority="order")
    except Refused:
        return None


async def account_facts(deps: Deps, link: Link | None) -> AccountFacts:
    """Read an account at the venue and on record."""
    if link is None:
        return AccountFacts()
    agents = await approved_agents(deps, link, max_age_s=AGENTS_S)
    mode, worth = await _equity(deps, link)
    order, keeper = await refresh_keys(deps, link, agents)
    last = await deps.store.read(lambda uow: uow.venue.last_key(link.link_id, "order"))
    return AccountFacts(
        agents=agents, abstraction=mode, worth=worth, order=order, keeper=keeper, last=last
    )


async def _equity(deps: Deps, link: Link) -> tuple[str | None, Decimal | None]:
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


async def status(deps: Deps, caller: Caller, request: Nothing) -> HandlerResult[OwnStatusOut]:
    """Say what is linked and approved, and what is still to do."""
    now_on, network, link, allowed = await live_side(deps, caller)
    user, now = signed_in(caller), deps.clock.now()
    fee = await builder_status(deps, link, network)
    facts = await account_facts(deps, link)
    agents, worth = facts.agents, facts.worth
    enabled = usable(facts.order, agents.value if agents else None, now)
    body = OwnStatusOut(
        linked=link is not None,
        wallet=link.wallet if link else None,
        network=network,
        linked_at=link.linked_at if link else None,
        terms_version=link.terms_version if link else None,
        enabled=enabled,
        order_key=_key_out(deps, facts.order, now),
        keeper_key=_key_out(deps, facts.keeper, now),
        enable=_enable(user, network, "order", now),
        enable_keeper=await _keeper_enable(deps, user, link, now),
        builder_fee=fee,
        abstraction_mode=facts.abstraction,
        funded=None if worth is None else worth > 0,
        equity_usdc=usdc_text(worth),
        allowlisted=allowed,
        mode=effective_mode(now_on, "terminal", allowed=allowed),
        stale=link is not None and (agents is None or agents.stale or worth is None),
        next=[],
    )
    key_step = _key_step(facts.order or facts.last, now, enabled=enabled)
    body.next = _next(body, key_step, deps.config.trading.builder_address)
    return HandlerResult(body)


def _key_out(deps: Deps, key: AgentKey | None, now: datetime) -> VenueKeyOut | None:
    if key is None or not key.alive(now):
        return None
    return VenueKeyOut(
        address=deps.chains.address(key.agent),
        name=key.name,
        valid_until=key.valid_until,
        checked_at=key.checked_at,
        listed=key.listed,
    )


def _enable(user: str, network: Network, kind: KeyKind, now: datetime) -> EnableOut:
    return EnableOut(
        agent_name=agent_name(user, network, kind),
        max_valid_until=now + KEY_LONGEST,
        hyperliquid_chain=CHAIN_NAMES[network],
    )


async def _keeper_enable(
    deps: Deps, user: str, link: Link | None, now: datetime
) -> KeeperEnableOut | None:
    """The text to sign for the keeper key, a new one after one that ended."""
    if deps.signer is None or link is None:
        return None
    try:
        address = await deps.signer.keeper_address(link.network, link.wallet)
        used = await deps.store.read(lambda uow: uow.venue.key_of_agent(address))
        if used is not None and used.spent(now):
            address = await deps.signer.keeper_renewed(link.network, link.wallet, address)
    except Refused:
        return None
    text = _enable(user, link.network, "keeper", now)
    return KeeperEnableOut(**dict(text), agent_address=address)


def _next(body: OwnStatusOut, key_step: StepOut | None, builder: str | None) -> list[StepOut]:
    """The steps that are left, in their order; the builder fee is never required."""
    if not body.linked:
        route = "POST /wallet/own/link/challenge"
        return [StepOut(step="link", text="Link a wallet", route=route)]
    steps = [] if key_step is None else [key_step]
    if body.funded is False:
        steps.append(StepOut(step="fund", text="Deposit USDC at the venue", route=None))
    if builder is not None and not body.builder_fee.approved:
        text = "Approve the builder fee at the venue, if you want to"
        steps.append(StepOut(step="builder_fee", text=text, route="GET /wallet/builder-fee/config"))
    return steps


def _key_step(key: AgentKey | None, now: datetime, *, enabled: bool) -> StepOut | None:
    """The next step for the order key, with its reason."""
    if key is None:
        return StepOut(step="enable", text="Approve an order key", route=ENABLE)
    stands = key_standing(key, enabled=enabled, now=now)
    if stands == "good":
        return None
    if stands == "unverified":
        route = "POST /wallet/own/enable/verify"
        return StepOut(step="verify", text="Check the approval", route=route)
    until = timestamp(key.valid_until)
    why = {
        "ending": f"Your order key ends at {until}",
        "gone": "The venue names your order key no more: it was revoked there, or replaced",
        "expired": f"Your order key ended at {until}; the venue may still take it until revoked",
        "revoked": "Your order key was revoked",
    }[stands]
    step: Literal["renew", "enable"] = "renew" if stands == "ending" else "enable"
    return StepOut(step=step, text=f"{why}. Approve a new one", route=ENABLE)


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
