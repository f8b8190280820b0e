"""Ports of the venue and of the signer: the smallest protocols that trading needs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

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


class Venue(Protocol):
    """The perpetuals venue on one network, read within its weight budget.

    Every read may raise `venue_unavailable`; one whose answer is held gives it as stale instead,
    unless it says that
    it reads fresh. The synchronous methods are pure.
    """

    @property
    def network(self) -> Network:
        """The venue's network; data of two networks never mix."""

    @property
    def url(self) -> str:
        """The venue's address, for a browser that calls it directly."""

    async def relay(self, call: Relay, max_age_s: int, *, payer: str) -> CachedValue[object]:
        """An allowed public read, cut to the known fields; figures stay the venue's own strings.
        `payer` is the caller whose share of the relays' weight it counts against."""

    async def dexes(self, *, priority: Priority = "house") -> CachedValue[Mapping[str, int]]:
        """Builder dexes by name with their index; the first dex is "" and 0."""

    async def perps(
        self, dex: str, *, priority: Priority = "house", max_age_s: int = 20
    ) -> CachedValue[tuple[Perp, ...]]:
        """A dex's perpetuals with their figures. Errors: `not_found` for a dex that the venue does
        not have."""

    async def categories(self) -> CachedValue[Mapping[str, str]]:
        """Coin to category, for coins of builder dexes."""

    async def display_names(self) -> CachedValue[Mapping[str, str]]:
        """Coin to its name for people, where the venue gives one."""

    async def at_open_interest_cap(self, dex: str) -> CachedValue[frozenset[str]]:
        """Coins of a dex that take no more open interest."""

    async def token_names(self) -> CachedValue[Mapping[int, str]]:
        """Token index to name."""

    async def book(
        self, coin: str, *, priority: Priority, max_age_s: int
    ) -> CachedValue[OrderBook | None]:
        """The book of a coin, None where the venue has no such market; read fresh, never stale."""

    async def max_builder_fee(
        self, user: str, builder: str, *, max_age_s: int, priority: Priority
    ) -> CachedValue[int]:
        """The fee that a user approved for a builder, in tenths of a basis point."""

    async def agents(
        self, user: str, *, max_age_s: int, fresh: bool = False, priority: Priority = "house"
    ) -> CachedValue[tuple[ApprovedAgent, ...]]:
        """A user's named agents."""

    async def role(self, address: str) -> UserRole:
        """The role of an address at the venue, read fresh."""

    async def abstraction(self, user: str, *, priority: Priority) -> CachedValue[Abstraction]:
        """The margin mode of the account."""

    async def account(
        self, user: str, dex: str, *, priority: Priority, max_age_s: int, fresh: bool = False
    ) -> CachedValue[DexAccount]:
        """A user's account on one dex."""

    async def balances(
        self, user: str, *, max_age_s: int, priority: Priority
    ) -> CachedValue[tuple[SpotBalance, ...]]:
        """A user's spot balances."""

    async def time(self) -> datetime:
        """The venue's own clock, read fresh."""

    def agent_typed_data(self, approval: AgentApproval) -> Mapping[str, object]:
        """The typed data that a wallet signs to approve an agent (EIP-712)."""

    def agent_signer(self, approval: AgentApproval, signature: Mapping[str, object]) -> str | None:
        """EIP-55 address behind `{r, s, v}` over an approval. Errors: `invalid_signature` for a
        malformed one or a high s."""

    def builder_typed_data(
        self, builder: str, max_fee_rate: str, chain: str
    ) -> Mapping[str, object]:
        """The typed data that a wallet signs to approve a builder, its message without the
        nonce.
        """

    def builder_signer(
        self,
        builder: str,
        max_fee_rate: str,
        nonce: int,
        chain: str,
        signature: Mapping[str, object],
    ) -> str | None:
        """EIP-55 address behind `{r, s, v}` over a builder's approval. Errors:
        `invalid_signature`."""

    def text_signer(self, text: str, signature: str) -> str | None:
        """EIP-55 address behind 65 bytes over a text (EIP-191). Errors: `invalid_signature`."""

    async def approve_agent(
        self, approval: AgentApproval, signature: Mapping[str, object], signer: str
    ) -> ActionAck:
        """Post exactly this approval; the signer is recovered again before it is sent.

        Errors: `venue_unavailable` where nothing was sent; `invalid_signature` where it is not the
        signer's.
        """

    # -- orders

    def cached_book(self, coin: str, max_age_s: int) -> OrderBook | None:
        """The book of a coin if one is held that is not older; nothing is asked."""

    async def leverage(
        self, user: str, coin: str, *, priority: Priority, max_age_s: int
    ) -> CachedValue[Leverage]:
        """The account's own setting for a product; never stale."""

    def to_sign(self, action: OrderAction | CancelAction, envelope: Envelope) -> ToSign:
        """The action that an order key signs, in every form that a signer may want to see it in."""

    def action_signer(
        self,
        action: OrderAction | CancelAction,
        envelope: Envelope,
        signature: Mapping[str, object],
    ) -> str | None:
        """EIP-55 address behind `{r, s, v}` over an action. Errors: `invalid_signature` for a
        malformed one or a high s."""

    async def place(
        self,
        action: OrderAction | CancelAction,
        envelope: Envelope,
        signature: Mapping[str, object],
        *,
        priority: Priority,
    ) -> Placed:
        """Post exactly these bytes, once. Errors: `venue_unavailable` where nothing was sent."""

    async def funding(self, coin: str, since: datetime, *, max_age_s: int) -> CachedValue[Any]:
        """The published funding of a coin from a time on; never stale."""

    async def order_status(self, user: str, cloid: str, *, priority: Priority) -> OrderSeen | None:
        """The status of an order, None where the venue knows of none; read fresh."""

    async def open_orders(
        self, user: str, dex: str, *, priority: Priority
    ) -> tuple[OpenOrder, ...]:
        """An account's orders on one dex that may still trade; read fresh."""

    async def fills(
        self, user: str, since: datetime, *, priority: Priority
    ) -> tuple[VenueFill, ...]:
        """An account's fills from a time on, oldest first, at most 2,000; read fresh."""


class Venues(Protocol):
    """The venue's networks as configured."""

    def get(self, network: Network) -> Venue:
        """Return the venue. Errors: `not_configured`."""

    def unknown_counts(self) -> Mapping[tuple[Network, str, str], int]:
        """Counts of unknown venue values, by network, kind and field."""

    def refused(self) -> Mapping[tuple[Network, str], int]:
        """Count the venue's answers that were refused as a whole, by network and kind."""


class OrderSigner(Protocol):
    """The process that holds keeper keys; it applies its own signing rules (trading 00.10).

    Errors: `not_configured` where it cannot be reached.
    """

    async def keeper_address(self, network: Network, wallet: str) -> str:
        """The address of the key that it made for a linked wallet; made at the first question."""

    async def keeper_renewed(self, network: Network, wallet: str, spent: str) -> str:
        """The address of a key in place of a spent one, which signs no more; asked twice, the
        same.
        """

    async def keeper_signed(
        self,
        network: Network,
        wallet: str,
        coin: str,
        action: OrderAction | CancelAction,
        expires_after: int,
        terms: Mapping[str, object],
    ) -> tuple[Envelope, Mapping[str, object]]:
        """A nonce of the key's own and `{r, s, v}` over the action with it.

        Shapes: `terms` are `message`, `chain_id`, `verifying_contract`, `signature` and `targets`.
        Units: `expires_after` ms since 1970. Errors: NotSigned with the signer's reason.
        """
