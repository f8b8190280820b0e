"""Trader context: person, surface, limits and keys, read before and inside a write."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final, Literal

from domain.money import Usdc
from domain.refusals import Refusal, Refused, refusal
from domain.settings import Switches, Trading
from domain.times import day_of
from domain.trading.modes import (
    MARKET_NETWORK,
    Mode,
    TradingSurface,
    allowlisted,
    effective_mode,
    live_network,
)
from domain.trading.order_caps import CapCheck, Counter, OrderLimits, day_scopes
from domain.trading.order_gate import GateInput, gate
from domain.trading.orders import Order, Source
from domain.trading.venue_account import AgentKey, Link
from domain.trading.venue_values import Network
from storage.unit_of_work import UnitOfWork
from tools.model.operation import Caller, Deps
from tools.model.switches import switches


@dataclass(frozen=True, slots=True, kw_only=True)
class TraderContext:
    """A person on one surface, and the agent that acts for that person where one does. `network` is
    that of live orders; `own` are the person's limits here, `operator` those for all.
    """

    owner_id: str
    agent_id: str | None
    transport: TradingSurface
    switches: Switches
    trading: Trading
    network: Network
    link: Link | None
    allowed: bool
    key: AgentKey | None
    own: OrderLimits
    operator: OrderLimits

    @property
    def mode(self) -> Mode:
        """Live or paper, as orders go now."""
        return effective_mode(self.switches, self.transport, allowed=self.allowed)

    @property
    def by(self) -> Literal["owner", "agent"]:
        """The principal that acts."""
        return "agent" if self.agent_id else "owner"

    @property
    def limits(self) -> OrderLimits:
        """The stricter of both limits."""
        return self.own.within(self.operator)

    def network_of(self, mode: Mode) -> Network:
        """Paper is on the market's own prices, live on the network that is switched on."""
        return self.network if mode == "live" else MARKET_NETWORK

    def wallet_of(self, mode: Mode) -> str | None:
        """The linked wallet that a mode's counters are kept for."""
        return self.link.wallet if mode == "live" and self.link is not None else None

    def counters(self, mode: Mode, now: datetime) -> tuple[Counter, ...]:
        """The day's counters that an order has to fit into, always in this order."""
        network, wallet = self.network_of(mode), self.wallet_of(mode)
        of_all, here = day_scopes(mode, network, wallet, self.owner_id, self.transport)
        return (
            Counter(scope=of_all, day=day_of(now), limit=self.operator.per_day),
            Counter(scope=here, day=day_of(now), limit=self.own.per_day),
        )

    @property
    def gate_input(self) -> GateInput:
        """The gate's input for this person, of whose order nothing is known yet."""
        return GateInput(
            transport=self.transport,
            switches=self.switches,
            allowed=self.allowed,
            closes_need_allowlist=self.trading.close_needs_allowlist,
            mode_seen=None,
        )


def operator_limits(trading: Trading) -> OrderLimits:
    """The operator's caps."""
    return OrderLimits(
        per_order=Usdc(trading.cap_per_order_micros), per_day=Usdc(trading.cap_per_day_micros)
    )


def first_limits(trading: Trading) -> OrderLimits:
    """The limits that a person starts with."""
    return OrderLimits(
        per_order=Usdc(trading.signed_in_per_order_micros),
        per_day=Usdc(trading.signed_in_per_day_micros),
    )


def owner_of(caller: Caller) -> str:
    """The person whose account it is: the caller, or who registered the calling agent."""
    if caller.owner_id is None:
        raise Refused(refusal("unauthenticated", needs="an owner session or an agent key"))
    return caller.owner_id


def trader_context(
    uow: UnitOfWork, now_on: Switches, trading: Trading, caller: Caller, transport: TradingSurface
) -> TraderContext:
    """Read how a caller stands, in this transaction."""
    owner, network = owner_of(caller), live_network(now_on)
    link = uow.venue.link_of(owner, network)
    wallet = link.wallet if link else None
    return TraderContext(
        owner_id=owner,
        agent_id=caller.user_id if caller.role == "agent" else None,
        transport=transport,
        switches=now_on,
        trading=trading,
        network=network,
        link=link,
        allowed=allowlisted(uow.allowlist.all(), owner, wallet),
        key=uow.venue.key_in_use(link.link_id, "order") if link else None,
        own=uow.own_limits.get(owner, transport) or first_limits(trading),
        operator=operator_limits(trading),
    )


async def load_trader(deps: Deps, caller: Caller, transport: TradingSurface) -> TraderContext:
    """Read the trader context in a transaction of its own."""
    return await deps.store.read(
        lambda uow: trader_context(
            uow, switches(uow, deps.defaults), deps.config.trading, caller, transport
        )
    )


def throttle_key(link: Link | None, owner_id: str) -> str:
    """The key under which calls are counted together: the linked wallet, else the person."""
    return link.wallet.lower() if link is not None else owner_id


async def _count(
    deps: Deps, caller: Caller, *, transport: TradingSurface, closing: bool = False
) -> None:
    """Count an order or a close. Errors: `wallet_rate_limited`."""

    def key(uow: UnitOfWork) -> str:
        owner = owner_of(caller)
        link = uow.venue.link_of(owner, live_network(switches(uow, deps.defaults)))
        return throttle_key(link, owner)

    reserve = deps.config.trading.throttle_close_reserve
    full = deps.throttle.take(
        await deps.store.read(key), deps.clock.now(), closing=closing, reserve=reserve
    )
    if full is not None:
        trader = await load_trader(deps, caller, transport)
        require_allowed(replace(trader.gate_input, throttled=full))


counted: Final = partial(_count, transport="terminal")
counted_at_door: Final = partial(_count, transport="door")
counted_close: Final = partial(_count, transport="door", closing=True)


def require_allowed(attempt: GateInput) -> Mode:
    """The mode in which it goes through. Errors: the first of the 13 refusals that holds."""
    verdict = gate(attempt)
    if isinstance(verdict, Refusal):
        raise Refused(verdict)
    return verdict


def per_order(trader: TraderContext, amount: Usdc) -> CapCheck:
    """The limit on one order."""
    limit = trader.limits.per_order
    return CapCheck(name="per_order", limit=limit, used=Usdc(0), attempted=amount)


def per_close(trader: TraderContext, amount: Usdc) -> CapCheck:
    """The limit on a reduce-only order whose position is not verified."""
    limit = Usdc(trader.trading.cap_per_close_micros)
    return CapCheck(name="per_close", limit=limit, used=Usdc(0), attempted=amount)


def surface_of(source: Source) -> TradingSurface:
    """The surface whose switch and limits an order is under."""
    return "door" if source == "door" else "terminal"


def scopes(order: Order) -> tuple[str, str]:
    """The counters that an order was reserved in, in the order in which they are taken."""
    wallet = order.wallet if order.mode == "live" else None
    surface = surface_of(order.source)
    return day_scopes(order.mode, order.network, wallet, order.owner_id, surface)
