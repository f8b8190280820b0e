"""Venue on one network: the `Venue` port with cache, typed values and weight budget."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from datetime import datetime
from typing import Any, Final, TypeVar

import orjson

from domain.ports import Clock
from domain.refusals import Refused, refusal
from domain.trading.orders import CancelAction, Envelope, OrderAction
from domain.trading.venue_values import (
    Abstraction,
    ActionAck,
    AgentApproval,
    ApprovedAgent,
    CachedValue,
    DexAccount,
    Leverage,
    Network,
    OpenOrder,
    OrderBook,
    OrderSeen,
    Perp,
    Placed,
    Priority,
    Relay,
    SpotBalance,
    ToSign,
    UserRole,
    VenueFill,
)
from venue import actions, json_types, orders, reads, signing, values
from venue.cache import Cache
from venue.client import Client, unavailable
from venue.marks import LastMarks
from venue.reads import InfoQuery
from venue.signing import Signature, TypedDataJson

A = TypeVar("A")
T = TypeVar("T")
SLOW_S: Final = 300  # what changes by a deployment at the venue
CAPS_S: Final = 60
ABSTRACTION_S: Final = 600
_FIRST_DEX: Final = ""
MAX_RELAYED: Final = 512 * 2**10  # bytes of one relayed answer
_TRUNCATED_LATER: Final = frozenset({"historicalOrders"})  # only its first rows are passed on


class VenueNetwork:
    """The `Venue` port over HTTP."""

    def __init__(self, network: Network, client: Client, clock: Clock):
        self._network, self.client = network, client
        # Strangers choose the keys of the relays; what the house holds must not be pushed out by
        # them.
        self._relayed, self._cache = Cache(clock), Cache(clock)
        self._marks = LastMarks(clock, client.unknown_counts)

    @property
    def network(self) -> Network:
        """The venue's network."""
        return self._network

    @property
    def url(self) -> str:
        """The venue's base URL."""
        return self.client.url

    async def close(self) -> None:
        """Cancel requests in flight and close the session."""
        await self._relayed.close()
        await self._cache.close()
        await self.client.close()

    async def _load_cached(
        self,
        key: Hashable,
        max_age_s: int,
        priority: Priority,
        read: InfoQuery[A],
        created: Callable[[A], T | None],
        fresh: bool = False,
        payer: str = "",
        **parameters: object,
    ) -> CachedValue[T]:
        async def load() -> tuple[T, int]:
            answer = await self.client.ask(read, priority, payer=payer, **parameters)
            value = created(answer.data)
            if value is None:
                raise self.client.refused(read.kind, f"its answer to {read.kind} cannot be read")
            return value, answer.size

        cache = self._relayed if priority == "relay" else self._cache
        return await cache.get(key, max_age_s, load, fresh=fresh)

    # -- reads for strangers

    async def relay(self, call: Relay, max_age_s: int, *, payer: str) -> CachedValue[Any]:
        """Run an allowed read for a stranger; type and parameters are built here, never copied from
        the caller.
        """
        cached = self._relayed.fresh(call, max_age_s)
        if cached is not None:
            return cached
        read, parameters = reads.RELAYED[call.kind], dict(call.parameters)
        created = _identity if call.kind in _TRUNCATED_LATER else _require_small
        return await self._load_cached(
            call, max_age_s, "relay", read, created, payer=payer, **parameters
        )

    # -- products

    async def dexes(self, *, priority: Priority = "house") -> CachedValue[Mapping[str, int]]:
        """Builder dexes by name with their index."""
        return await self._load_cached("perpDexs", SLOW_S, priority, reads.DEXES, values.dexes)

    async def perps(
        self, dex: str, *, priority: Priority = "house", max_age_s: int = 20
    ) -> CachedValue[tuple[Perp, ...]]:
        """A dex's perpetuals with their figures."""
        index = 0 if dex == _FIRST_DEX else (await self.dexes(priority=priority)).value.get(dex)
        if index is None:
            raise Refused(refusal("not_found", what="dex"))
        number = index

        def created(
            raw: tuple[json_types.MetaJson, list[json_types.ContextJson]],
        ) -> tuple[Perp, ...]:
            return self._marks.without_outliers(reads.PERPS.kind, values.perps(dex, number, *raw))

        return await self._load_cached(
            ("perps", dex), max_age_s, priority, reads.PERPS, created, dex=dex
        )

    async def categories(self) -> CachedValue[Mapping[str, str]]:
        """Coin to category."""
        return await self._load_cached("categories", SLOW_S, "house", reads.CATEGORIES, dict)

    async def display_names(self) -> CachedValue[Mapping[str, str]]:
        """Coin to display name."""
        return await self._load_cached("names", SLOW_S, "house", reads.ANNOTATIONS, values.names)

    async def at_open_interest_cap(self, dex: str) -> CachedValue[frozenset[str]]:
        """Coins of a dex that are at their open interest cap."""
        key = ("caps", dex)
        return await self._load_cached(key, CAPS_S, "house", reads.AT_CAP, frozenset, dex=dex)

    async def token_names(self) -> CachedValue[Mapping[int, str]]:
        """Token index to name."""
        return await self._load_cached("tokens", SLOW_S, "house", reads.SPOT_META, values.tokens)

    async def book(
        self, coin: str, *, priority: Priority, max_age_s: int
    ) -> CachedValue[OrderBook | None]:
        """The order book of a coin; None where the venue has none."""

        def created(raw: json_types.BookJson | None) -> tuple[OrderBook | None] | None:
            if raw is None:
                return (None,)
            book = values.book(raw) if raw.coin == coin else None
            return None if book is None else (book,)

        cached = await self._load_cached(
            ("book", coin), max_age_s, priority, reads.BOOK, created, True, coin=coin
        )
        return CachedValue(cached.value[0], cached.as_of, cached.stale)

    # -- accounts

    async def max_builder_fee(
        self, user: str, builder: str, *, max_age_s: int, priority: Priority
    ) -> CachedValue[int]:
        """The maximum fee that a user approved for a builder, in tenths of a basis point."""
        key = ("fee", user.lower(), builder.lower())
        return await self._load_cached(
            key, max_age_s, priority, reads.BUILDER_FEE, _fee_or_none, user=key[1], builder=key[2]
        )

    async def agents(
        self, user: str, *, max_age_s: int, fresh: bool = False, priority: Priority = "house"
    ) -> CachedValue[tuple[ApprovedAgent, ...]]:
        """A user's named agents."""
        key = ("agents", user.lower())
        return await self._load_cached(
            key, max_age_s, priority, reads.AGENTS, values.agents, fresh, user=key[1]
        )

    async def role(self, address: str) -> UserRole:
        """The role of an address at the venue."""
        answer = await self.client.ask(reads.ROLE, "order", user=address.lower())
        return values.role(answer.data)

    async def abstraction(self, user: str, *, priority: Priority) -> CachedValue[Abstraction]:
        """The margin mode of the account; it hardly ever changes."""
        key = ("abstraction", user.lower())
        read, created = reads.ABSTRACTION, values.abstraction
        return await self._load_cached(key, ABSTRACTION_S, priority, read, created, user=key[1])

    async def account(
        self, user: str, dex: str, *, priority: Priority, max_age_s: int, fresh: bool = False
    ) -> CachedValue[DexAccount]:
        """A user's account on one dex."""
        key = ("account", user.lower(), dex)
        return await self._load_cached(
            key,
            max_age_s,
            priority,
            reads.ACCOUNT,
            lambda raw: values.account(dex, raw),
            fresh,
            user=key[1],
            dex=dex,
        )

    async def balances(
        self, user: str, *, max_age_s: int, priority: Priority
    ) -> CachedValue[tuple[SpotBalance, ...]]:
        """A user's spot balances."""
        key = ("balances", user.lower())
        return await self._load_cached(
            key, max_age_s, priority, reads.BALANCES, values.balances, user=key[1]
        )

    async def time(self) -> datetime:
        """The venue's clock."""
        answer = await self.client.ask(reads.CLOCK, "house")
        now = values.moment(answer.data.time)
        if now is None:
            raise self.client.refused(reads.CLOCK.kind, "its clock cannot be read")
        return now

    # -- approvals

    def agent_typed_data(self, approval: AgentApproval) -> TypedDataJson:
        """Typed data that a wallet signs to approve an agent."""
        return signing.user_typed_data(_agent_action(approval))

    def agent_signer(self, approval: AgentApproval, signature: Mapping[str, object]) -> str | None:
        """Recover the signer of an agent approval."""
        return signing.signer(signing.user_digest(_agent_action(approval)), _parsed(signature))

    def builder_typed_data(self, builder: str, max_fee_rate: str, chain: str) -> TypedDataJson:
        """Typed data that a wallet signs to approve a builder; the wallet fills in its nonce."""
        typed_data = signing.user_typed_data(self._builder_action(builder, max_fee_rate, 0, chain))
        message = {k: v for k, v in typed_data["message"].items() if k != "nonce"}
        return {**typed_data, "message": message}

    def builder_signer(
        self,
        builder: str,
        max_fee_rate: str,
        nonce: int,
        chain: str,
        signature: Mapping[str, object],
    ) -> str | None:
        """Recover the signer of a builder approval."""
        action = self._builder_action(builder, max_fee_rate, nonce, chain)
        return signing.signer(signing.user_digest(action), _parsed(signature))

    def _builder_action(
        self, builder: str, rate: str, nonce: int, chain: str
    ) -> actions.UserSigned:
        return actions.approve_builder_fee(
            self._network,
            builder=builder,
            max_fee_rate=rate,
            nonce=nonce,
            signature_chain_id=chain,
        )

    def text_signer(self, text: str, signature: str) -> str | None:
        """Recover the signer of a text."""
        try:
            parsed = Signature.from_hex(signature)
        except ValueError as fault:
            raise _invalid(str(fault)) from None
        return signing.signer(signing.text_digest(text), parsed)

    async def approve_agent(
        self, approval: AgentApproval, signature: Mapping[str, object], signer: str
    ) -> ActionAck:
        """Post an agent approval, unchanged."""
        if approval.network != self._network:
            raise ValueError("an approval goes to the network that it names")
        recovered_signer = self.agent_signer(approval, signature)
        if recovered_signer is None or recovered_signer.lower() != signer.lower():
            raise _invalid("it is not the linked wallet's over this approval")
        ack = await self.client.post(
            _agent_action(approval), approval.nonce, _parsed(signature).as_json(), priority="order"
        )
        self._cache.drop(("agents", signer.lower()))
        return ack

    # -- orders

    def cached_book(self, coin: str, max_age_s: int) -> OrderBook | None:
        """The cached order book of a coin, without a request."""
        cached = self._cache.peek(("book", coin), max_age_s)
        return None if cached is None else cached.value[0]

    async def leverage(
        self, user: str, coin: str, *, priority: Priority, max_age_s: int
    ) -> CachedValue[Leverage]:
        """The account's leverage setting for a product."""
        read, created, account = reads.LEVERAGE, values.leverage, user.lower()
        key = ("leverage", account, coin)
        return await self._load_cached(
            key, max_age_s, priority, read, created, True, user=account, coin=coin
        )

    def to_sign(self, action: OrderAction | CancelAction, envelope: Envelope) -> ToSign:
        """An order action in the forms that its key signs."""
        return orders.to_sign(self._network, action, envelope)

    def action_signer(
        self,
        action: OrderAction | CancelAction,
        envelope: Envelope,
        signature: Mapping[str, object],
    ) -> str | None:
        """Recover the signer of an action on this network."""
        digest = signing.l1_digest(self._network, orders.hash_of(action, envelope))
        return signing.signer(digest, _parsed(signature))

    async def place(
        self,
        action: OrderAction | CancelAction,
        envelope: Envelope,
        signature: Mapping[str, object],
        *,
        priority: Priority,
    ) -> Placed:
        """Post an action once, unchanged."""
        body = orders.enveloped(action, envelope, _parsed(signature))
        raw = await self.client.send(body, priority=priority)
        placed = orders.placed(raw)
        self.client.count_answer(raw, placed.outcome, placed.kind)
        return placed

    async def funding(self, coin: str, since: datetime, *, max_age_s: int) -> CachedValue[Any]:
        """Published funding of a coin since a time."""
        start = int(since.timestamp() * 1_000)
        read, key = reads.RELAYED["fundingHistory"], ("funding", coin, start)
        return await self._load_cached(
            key, max_age_s, "house", read, _identity, True, coin=coin, startTime=start
        )

    async def order_status(self, user: str, cloid: str, *, priority: Priority) -> OrderSeen | None:
        """Status of an order; None where the venue does not know it."""
        answer = await self.client.ask(reads.ORDER_STATUS, priority, user=user.lower(), oid=cloid)
        update = answer.data.order
        order_cloid = None if update is None else update.order.cloid
        if order_cloid is not None and order_cloid.lower() != cloid.lower():
            raise self.client.refused(reads.ORDER_STATUS.kind, "it answers about another order")
        return values.order_status(answer.data)

    async def open_orders(
        self, user: str, dex: str, *, priority: Priority
    ) -> tuple[OpenOrder, ...]:
        """Open orders of an account on one dex."""
        answer = await self.client.ask(reads.OPEN_ORDERS, priority, user=user.lower(), dex=dex)
        return values.open_orders(answer.data)

    async def fills(
        self, user: str, since: datetime, *, priority: Priority
    ) -> tuple[VenueFill, ...]:
        """Fills of an account since a time."""
        start = int(since.timestamp() * 1_000)
        answer = await self.client.ask(reads.FILLS, priority, user=user.lower(), startTime=start)
        fills = values.fills(answer.data)
        if fills is None:
            raise self.client.refused(reads.FILLS.kind, "its fills cannot be read")
        return fills


def _agent_action(approval: AgentApproval) -> actions.UserSigned:
    return actions.approve_agent(
        approval.network,
        agent=approval.agent,
        name=approval.name,
        nonce=approval.nonce,
        signature_chain_id=approval.signature_chain_id,
    )


def _parsed(signature: Mapping[str, object]) -> Signature:
    try:
        return Signature.parse(signature)
    except ValueError as fault:
        raise _invalid(str(fault)) from None


def _invalid(reason: str) -> Refused:
    return Refused(refusal("invalid_signature", signer="the wallet", why=reason))


def _identity(raw: Any) -> Any:
    return raw


def _require_small(raw: Any) -> Any:
    """Require that an answer can be relayed completely.

    Errors: `venue_unavailable` above the relays' limit, which is ours: the answer itself is valid.
    """
    if len(orjson.dumps(raw)) > MAX_RELAYED:
        raise unavailable("its answer is larger than 512 KB")
    return raw


def _fee_or_none(figure: int) -> int | None:
    return figure if figure >= 0 else None
