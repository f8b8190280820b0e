"""Ports of the venue and of the signer: the smallest protocols that trading needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from domain.trading import venue_values as v
from domain.trading.orders import CancelAction, Envelope, OrderAction


class Venue(Protocol):
    """The perpetuals venue on one network, read within its weight budget.

    Every read may raise `venue_unavailable`; one whose answer is held gives it as stale instead,
    unless it says that it is read fresh or never stale. The synchronous methods are pure. Whom a
    signature proves is an EIP-55 address; a malformed one is `invalid_signature`.
    """

    @property
    def network(self) -> v.Network:
        """The venue's network; data of two networks never mix."""

    @property
    def url(self) -> str:
        """The venue's address, for a browser that calls it directly."""

    async def relay(self, call: v.Relay, max_age_s: int, *, payer: str) -> v.CachedValue[object]:
        """A public read, cut to the known fields; it counts against the share of `payer`."""

    async def dexes(self, *, priority: v.Priority = "house") -> v.CachedValue[Mapping[str, int]]:
        """Builder dexes by name with their index; the first dex is "" and 0."""

    async def perps(
        self, dex: str, *, priority: v.Priority = "house", max_age_s: int = 20
    ) -> v.CachedValue[tuple[v.Perp, ...]]:
        """A dex's perpetuals. Errors: `not_found` for a dex that the venue does not have."""

    async def categories(self) -> v.CachedValue[Mapping[str, str]]:
        """Coin to category, for coins of builder dexes."""

    async def display_names(self) -> v.CachedValue[Mapping[str, str]]:
        """Coin to its name for people, where the venue gives one."""

    async def at_open_interest_cap(self, dex: str) -> v.CachedValue[frozenset[str]]:
        """Coins of a dex that take no more open interest."""

    async def token_names(self) -> v.CachedValue[Mapping[int, str]]:
        """Token index to name."""

    async def book(
        self, coin: str, *, priority: v.Priority, max_age_s: int
    ) -> v.CachedValue[v.OrderBook | None]:
        """The book of a coin, None where the venue has no such market; never stale."""

    def cached_book(self, coin: str, max_age_s: int) -> v.OrderBook | None:
        """The book of a coin if one is held that is not older; nothing is asked."""

    async def funding(
        self, coin: str, since: datetime, *, max_age_s: int
    ) -> v.CachedValue[Sequence[v.FundingRate]]:
        """The published funding of a coin from a time on; never stale."""

    async def max_builder_fee(
        self, user: str, builder: str, *, max_age_s: int, priority: v.Priority
    ) -> v.CachedValue[int]:
        """The fee that a user approved for a builder, in tenths of a basis point."""

    async def agents(
        self, user: str, *, max_age_s: int, fresh: bool = False, priority: v.Priority = "house"
    ) -> v.CachedValue[tuple[v.ApprovedAgent, ...]]:
        """A user's named agents."""

    async def role(self, address: str) -> v.UserRole:
        """The role of an address at the venue, read fresh."""

    async def abstraction(self, user: str, *, priority: v.Priority) -> v.CachedValue[v.Abstraction]:
        """The margin mode of the account."""

    async def account(
        self, user: str, dex: str, *, priority: v.Priority, max_age_s: int, fresh: bool = False
    ) -> v.CachedValue[v.DexAccount]:
        """A user's account on one dex."""

    async def balances(
        self, user: str, *, max_age_s: int, priority: v.Priority
    ) -> v.CachedValue[tuple[v.SpotBalance, ...]]:
        """A user's spot balances."""

    async def leverage(
        self, user: str, coin: str, *, priority: v.Priority, max_age_s: int
    ) -> v.CachedValue[v.Leverage]:
        """The account's own setting for a product; never stale."""

    async def time(self) -> datetime:
        """The venue's own clock, read fresh."""

    def agent_signer(
        self, approval: v.AgentApproval, signature: Mapping[str, object]
    ) -> str | None:
        """The signer of `{r, s, v}` over an approval."""

    def builder_typed_data(
        self, builder: str, max_fee_rate: str, chain: str
    ) -> Mapping[str, object]:
        """The typed data that a wallet signs to approve a builder, without the nonce."""

    def builder_signer(
        self,
        builder: str,
        max_fee_rate: str,
        nonce: int,
        chain: str,
        signature: Mapping[str, object],
    ) -> str | None:
        """The signer of `{r, s, v}` over a builder's approval."""

    def text_signer(self, text: str, signature: str) -> str | None:
        """The signer of 65 bytes over a text (EIP-191)."""

    async def approve_agent(
        self, approval: v.AgentApproval, signature: Mapping[str, object], signer: str
    ) -> v.ActionAck:
        """Post exactly this approval, if it is the signer's. Errors: `venue_unavailable` where
        nothing was sent.
        """

    def to_sign(self, action: OrderAction | CancelAction, envelope: Envelope) -> v.ToSign:
        """The action that an order key signs, in every form that a signer may want to see it in."""

    def action_signer(
        self,
        action: OrderAction | CancelAction,
        envelope: Envelope,
        signature: Mapping[str, object],
    ) -> str | None:
        """The signer of `{r, s, v}` over an action."""

    async def place(
        self,
        action: OrderAction | CancelAction,
        envelope: Envelope,
        signature: Mapping[str, object],
        *,
        priority: v.Priority,
    ) -> v.Placed:
        """Post exactly these bytes, once. Errors: `venue_unavailable` where nothing was sent."""

    async def order_status(
        self, user: str, cloid: str, *, priority: v.Priority
    ) -> v.OrderSeen | None:
        """The status of an order, None where the venue knows of none; read fresh."""

    async def open_orders(
        self, user: str, dex: str, *, priority: v.Priority
    ) -> tuple[v.OpenOrder, ...]:
        """An account's orders on one dex that may still trade; read fresh."""

    async def fills(
        self, user: str, since: datetime, *, priority: v.Priority
    ) -> tuple[v.VenueFill, ...]:
        """An account's fills from a time on, oldest first, at most 2,000; read fresh."""


class Venues(Protocol):
    """The venue's networks as configured."""

    def get(self, network: v.Network) -> Venue:
        """The venue on one network. Errors: `not_configured`."""

    def unknown_counts(self) -> Mapping[tuple[v.Network, str, str], int]:
        """Counts of unknown venue values, by network, kind and field."""

    def refused(self) -> Mapping[tuple[v.Network, str], int]:
        """Counts of the venue's answers that were refused as a whole, by network and kind."""


class OrderSigner(Protocol):
    """The process that holds keeper keys; it applies its own signing rules (trading 00.10).

    Errors: `not_configured` where it cannot be reached.
    """

    async def keeper_address(self, network: v.Network, wallet: str) -> str:
        """The address of the key that it made for a linked wallet; made at the first question."""

    async def keeper_renewed(self, network: v.Network, wallet: str, spent: str) -> str:
        """The address of a key in place of a spent one, the same when asked twice."""

    async def keeper_signed(
        self,
        network: v.Network,
        wallet: str,
        coin: str,
        action: OrderAction | CancelAction,
        expires_after: int,
        terms: Mapping[str, object],
    ) -> tuple[Envelope, Mapping[str, object]]:
        """A nonce of the key's own and `{r, s, v}` over the action with it.

        Shapes: `terms` are `message`, `chain_id`, `verifying_contract`, `signature` and `targets`.
        Units: `expires_after` ms since 1970. Errors: SigningRefused with the signer's reason.
        """
