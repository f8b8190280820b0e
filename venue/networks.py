"""Venue on one network: the `Venue` port with cache, typed values and weight budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Final

import orjson

from domain.ports import Clock
from domain.refusals import Refused, refusal
from domain.trading import venue_values as v
from domain.trading.orders import CancelAction, Envelope, OrderAction
from domain.trading.venue_account import milliseconds
from venue import actions, orders, reads, signing
from venue.cache import Cache
from venue.client import Client, unavailable
from venue.marks import LastMarks
from venue.reads import InfoQuery, T
from venue.signing import Signature, TypedDataJson

SLOW_S: Final = 300  # what changes by a deployment at the venue
CAPS_S: Final = 60
ABSTRACTION_S: Final = 600
MAX_RELAYED: Final = 512 * 2**10  # bytes of one relayed answer
_TRUNCATED_LATER: Final = "historicalOrders"  # only its first rows are passed on


class VenueNetwork:
    """The `Venue` port over HTTP."""

    def __init__(self, network: v.Network, client: Client, clock: Clock):
        self.network, self.url, self.client = network, client.url, client
        # Strangers choose the keys of the relays; what the house holds must not be pushed out by
        # them.
        self._relayed, self._cache = Cache(clock), Cache(clock)
        self._marks = LastMarks(clock, client.unknown_counts)

    async def close(self) -> None:
        """Cancel requests in flight and close the session."""
        await self._relayed.close()
        await self._cache.close()
        await self.client.close()

    async def _cached(
        self,
        read: InfoQuery[T],
        max_age_s: int,
        priority: v.Priority,
        *,
        fresh: bool = False,
        **parameters: object,
    ) -> v.CachedValue[T]:
        """A read by its cache, under its kind and parameters; `fresh` gives nothing stale. A
        stranger's is apart: its flight, its failure and its size are none of the house's.
        """

        async def load() -> tuple[T, int]:
            answer = await self.client.ask(read, priority, payer="", **parameters)
            return answer.data, answer.size

        key = (read.kind, *parameters.values())
        cache = self._relayed if priority == "relay" else self._cache
        return await cache.get(key, max_age_s, load, fresh=fresh)

    async def relay(self, call: v.Relay, max_age_s: int, *, payer: str) -> v.CachedValue[object]:
        """A read for a stranger; type and parameters are built here, never copied from a caller."""

        async def load() -> tuple[object, int]:
            read, named = reads.RELAYED[call.kind], dict(call.parameters)
            answer = await self.client.ask(read, "relay", payer=payer, **named)
            # The limit is ours: a longer answer is valid, and not passed on.
            small = call.kind == _TRUNCATED_LATER or len(orjson.dumps(answer.data)) <= MAX_RELAYED
            if not small:
                raise unavailable("its answer is larger than 512 KB")
            return answer.data, answer.size

        return await self._relayed.get(call, max_age_s, load)

    # -- products

    async def dexes(self, *, priority: v.Priority = "house") -> v.CachedValue[Mapping[str, int]]:
        """Builder dexes by name with their index."""
        return await self._cached(reads.DEXES, SLOW_S, priority)

    async def perps(
        self, dex: str, *, priority: v.Priority = "house", max_age_s: int = 20
    ) -> v.CachedValue[tuple[v.Perp, ...]]:
        """A dex's perpetuals, without prices that are far from the last ones."""
        index = 0 if not dex else (await self.dexes(priority=priority)).value.get(dex)
        if index is None:
            raise Refused(refusal("not_found", what="dex"))
        plausible = partial(self._marks.without_outliers, reads.PERPS.kind)
        read = reads.PERPS.about(dex, index, plausible)
        return await self._cached(read, max_age_s, priority, dex=dex)

    async def categories(self) -> v.CachedValue[Mapping[str, str]]:
        """Coin to category."""
        return await self._cached(reads.CATEGORIES, SLOW_S, "house")

    async def display_names(self) -> v.CachedValue[Mapping[str, str]]:
        """Coin to display name."""
        return await self._cached(reads.ANNOTATIONS, SLOW_S, "house")

    async def at_open_interest_cap(self, dex: str) -> v.CachedValue[frozenset[str]]:
        """Coins of a dex that are at their open interest cap."""
        return await self._cached(reads.AT_CAP, CAPS_S, "house", dex=dex)

    async def token_names(self) -> v.CachedValue[Mapping[int, str]]:
        """Token index to name."""
        return await self._cached(reads.SPOT_META, SLOW_S, "house")

    async def book(
        self, coin: str, *, priority: v.Priority, max_age_s: int
    ) -> v.CachedValue[v.OrderBook | None]:
        """The order book of a coin."""
        read = reads.BOOK.about(coin)
        return await self._cached(read, max_age_s, priority, fresh=True, coin=coin)

    def cached_book(self, coin: str, max_age_s: int) -> v.OrderBook | None:
        """The cached order book of a coin."""
        cached = self._cache.peek((reads.BOOK.kind, coin), max_age_s)
        return None if cached is None else cached.value

    async def funding(
        self, coin: str, since: datetime, *, max_age_s: int
    ) -> v.CachedValue[Sequence[v.FundingRate]]:
        """Published funding of a coin."""
        start = milliseconds(since)
        return await self._cached(
            reads.FUNDING, max_age_s, "house", fresh=True, coin=coin, startTime=start
        )

    # -- accounts

    async def max_builder_fee(
        self, user: str, builder: str, *, max_age_s: int, priority: v.Priority
    ) -> v.CachedValue[int]:
        """The maximum fee that a user approved for a builder."""
        user, builder = user.lower(), builder.lower()
        return await self._cached(
            reads.BUILDER_FEE, max_age_s, priority, user=user, builder=builder
        )

    async def agents(
        self, user: str, *, max_age_s: int, fresh: bool = False, priority: v.Priority = "house"
    ) -> v.CachedValue[tuple[v.ApprovedAgent, ...]]:
        """A user's named agents."""
        return await self._cached(reads.AGENTS, max_age_s, priority, fresh=fresh, user=user.lower())

    async def role(self, address: str) -> v.UserRole:
        """The role of an address."""
        return (await self.client.ask(reads.ROLE, "order", user=address.lower())).data

    async def abstraction(self, user: str, *, priority: v.Priority) -> v.CachedValue[v.Abstraction]:
        """The margin mode of the account; it hardly ever changes."""
        return await self._cached(reads.ABSTRACTION, ABSTRACTION_S, priority, user=user.lower())

    async def account(
        self, user: str, dex: str, *, priority: v.Priority, max_age_s: int, fresh: bool = False
    ) -> v.CachedValue[v.DexAccount]:
        """A user's account on one dex."""
        read = reads.ACCOUNT.about(dex)
        return await self._cached(
            read, max_age_s, priority, fresh=fresh, user=user.lower(), dex=dex
        )

    async def balances(
        self, user: str, *, max_age_s: int, priority: v.Priority
    ) -> v.CachedValue[tuple[v.SpotBalance, ...]]:
        """A user's spot balances."""
        return await self._cached(reads.BALANCES, max_age_s, priority, user=user.lower())

    async def leverage(
        self, user: str, coin: str, *, priority: v.Priority, max_age_s: int
    ) -> v.CachedValue[v.Leverage]:
        """The account's leverage setting for a product."""
        return await self._cached(
            reads.LEVERAGE, max_age_s, priority, fresh=True, user=user.lower(), coin=coin
        )

    async def time(self) -> datetime:
        """The venue's clock."""
        return (await self.client.ask(reads.CLOCK, "house")).data

    # -- approvals

    def agent_signer(
        self, approval: v.AgentApproval, signature: Mapping[str, object]
    ) -> str | None:
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
            self.network,
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
        self, approval: v.AgentApproval, signature: Mapping[str, object], signer: str
    ) -> v.ActionAck:
        """Post an agent approval, unchanged."""
        if approval.network != self.network:
            raise ValueError("an approval goes to the network that it names")
        recovered_signer = self.agent_signer(approval, signature)
        if recovered_signer is None or recovered_signer.lower() != signer.lower():
            raise _invalid("it is not the linked wallet's over this approval")
        ack = await self.client.post(
            _agent_action(approval), approval.nonce, _parsed(signature).as_json(), priority="order"
        )
        self._cache.drop((reads.AGENTS.kind, signer.lower()))
        return ack

    # -- orders

    def to_sign(self, action: OrderAction | CancelAction, envelope: Envelope) -> v.ToSign:
        """An order action in the forms that its key signs."""
        return orders.to_sign(self.network, action, envelope)

    def action_signer(
        self,
        action: OrderAction | CancelAction,
        envelope: Envelope,
        signature: Mapping[str, object],
    ) -> str | None:
        """Recover the signer of an action on this network."""
        digest = signing.l1_digest(self.network, orders.hash_of(action, envelope))
        return signing.signer(digest, _parsed(signature))

    async def place(
        self,
        action: OrderAction | CancelAction,
        envelope: Envelope,
        signature: Mapping[str, object],
        *,
        priority: v.Priority,
    ) -> v.Placed:
        """Post an action once, unchanged."""
        body = orders.enveloped(action, envelope, _parsed(signature))
        raw = await self.client.send(body, priority=priority)
        placed = orders.placed(raw)
        self.client.count_answer(raw, placed.outcome, placed.kind)
        return placed

    async def order_status(
        self, user: str, cloid: str, *, priority: v.Priority
    ) -> v.OrderSeen | None:
        """Status of an order."""
        read = reads.ORDER_STATUS.about(cloid)
        return (await self.client.ask(read, priority, user=user.lower(), oid=cloid)).data

    async def open_orders(
        self, user: str, dex: str, *, priority: v.Priority
    ) -> tuple[v.OpenOrder, ...]:
        """Open orders of an account on one dex."""
        read = reads.OPEN_ORDERS
        return (await self.client.ask(read, priority, user=user.lower(), dex=dex)).data

    async def fills(
        self, user: str, since: datetime, *, priority: v.Priority
    ) -> tuple[v.VenueFill, ...]:
        """Fills of an account since a time."""
        start = milliseconds(since)
        answer = await self.client.ask(reads.FILLS, priority, user=user.lower(), startTime=start)
        return answer.data


def _agent_action(approval: v.AgentApproval) -> actions.UserSigned:
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
