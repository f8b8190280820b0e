"""What rules and operations need of the outside world, as the smallest protocols that will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

from domain.facts import (
    BlockStamp,
    Call,
    InnerCall,
    Receipt,
    Sent,
    SignerCheck,
    Simulation,
    VaultFunction,
    VaultLog,
    VaultState,
)
from domain.mandates.actions import Actions
from domain.mandates.approvals import Approves
from domain.mandates.targets import Target
from domain.money import Usdc
from domain.trading.venue import (
    Abstraction,
    AgentApproval,
    ApprovedAgent,
    Book,
    DexAccount,
    Held,
    Lane,
    Network,
    Perp,
    Relay,
    SpotBalance,
    Told,
    UserRole,
)
from domain.wire import JsonObject


class Clock(Protocol):
    """Time, asked once per request."""

    def now(self) -> datetime:
        """Return the present as an aware UTC datetime."""
        ...


class Ids(Protocol):
    """Randomness from a CSPRNG (contract 1: prefix and 10 characters of a-z2-7)."""

    def short(self, prefix: str) -> str:
        """Return `prefix` and 10 random base32 characters, for example `m_abcdefgh23`."""
        ...

    def token(self, prefix: str) -> str:
        """Return `prefix` and 43 base64url characters (256 bits)."""
        ...

    def nonce256(self) -> int:
        """Return a random 256-bit integer."""
        ...


class Chain(Actions, Approves, Protocol):
    """One chain. Methods that are not async are pure; the others may raise `chain_unavailable`.

    Without an RPC address the asynchronous methods raise `not_configured`, but `check_signature`
    still answers for an EOA.
    """

    @property
    def chain_id(self) -> int:
        """EIP-155 id."""
        ...

    @property
    def rpc_set(self) -> bool:
        """True where an RPC address is configured."""
        ...

    @property
    def sponsors(self) -> bool:
        """True where a paymaster is configured."""
        ...

    @property
    def usdc(self) -> str | None:
        """Address of USDC, EIP-55."""
        ...

    def inner_calls(self, call_data: str) -> Sequence[InnerCall] | None:
        """What a smart account's calldata does; None where it is of no known form."""
        ...

    async def paymaster_data(
        self,
        method: Literal["pm_getPaymasterStubData", "pm_getPaymasterData"],
        user_op: JsonObject,
        entry_point: str,
    ) -> JsonObject:
        """The paymaster's fields (ERC-7677). Errors: `not_configured`, `chain_unavailable`."""
        ...

    @property
    def factory(self) -> str | None:
        """Address of the vault factory, None while unset."""
        ...

    @property
    def confirmations(self) -> int:
        """How many blocks deep a log is before it enters the ledger."""
        ...

    @property
    def explorer(self) -> str | None:
        """Base address of a block explorer."""
        ...

    def targets_hash(self, targets: Sequence[Target]) -> str:
        """keccak256(abi.encode(calls, probes)) of the contract entries, 0x hex."""
        ...

    def guard_hash(self, targets: Sequence[Target]) -> str:
        """keccak256 of the canonical JSON of the entries that are not contract entries, 0x hex."""
        ...

    def digest(self, typed_data: JsonObject) -> str:
        """EIP-712 digest of the typed data, 0x hex."""
        ...

    def create_call(
        self, message: Mapping[str, str], targets: Sequence[Target], signature: str
    ) -> Call:
        """Calldata of the factory's create; `message` is the signed typed data's message."""
        ...

    async def creation(self, public_id: str, digest: str, by: BlockStamp) -> VaultLog | None:
        """The factory's log of the vault of these terms, in `by` or in the blocks before it."""
        ...

    def vault_call(self, vault: str, function: VaultFunction, *args: Any) -> Call:
        """Calldata of a vault function; amounts as `Usdc`, addresses and bytes as 0x text."""
        ...

    def approve_call(self, spender: str, amount: Usdc) -> Call:
        """Calldata of USDC approve."""
        ...

    def explain_call(self, data: str) -> JsonObject:
        """Decode calldata of known functions: `{selector, function?, args?}`; never raises."""
        ...

    async def check_signature(self, digest: str, signature: str, signer: str) -> SignerCheck | None:
        """Say how `signature` proves `signer` (EOA, EIP-2098, ERC-1271, ERC-6492), if it does."""
        ...

    async def latest(self) -> BlockStamp:
        """Return the newest block."""
        ...

    async def vault_states(
        self, vaults: Sequence[str], *, agreed: bool = False
    ) -> Mapping[str, VaultState]:
        """Read many vaults at one block; `agreed`: only what most configured nodes say alike."""
        ...

    async def block(self, number: int) -> BlockStamp | None:
        """A block's number, hash and time; None where the chain has none of that number."""
        ...

    async def receipt(self, tx_hash: str) -> Receipt | None:
        """Return the mined transaction, its revert explained; None where nobody has seen it."""
        ...

    async def waiting(self, tx_hash: str) -> bool:
        """True for a transaction that the node knows and no block holds yet."""
        ...

    async def sent(self, sender: str, to: str, after_block: int) -> Sent:
        """What an account sent to a contract after a block, failed calls too."""
        ...

    async def simulate(self, call: Call) -> Simulation:
        """Run the call at the newest block without sending it."""
        ...

    async def predict_vault(self, message: Mapping[str, str], targets: Sequence[Target]) -> str:
        """Ask the factory for the address that `create` gives."""
        ...

    async def usdc_balances(self, holders: Sequence[str]) -> Mapping[str, Usdc]:
        """Read USDC balances at the newest block."""
        ...


class Chains(Protocol):
    """The configured chains."""

    def get(self, chain_id: int) -> Chain:
        """Return the chain; `not_configured` for an id that no setting names."""
        ...

    def ids(self) -> Sequence[int]:
        """Ids of the configured chains."""
        ...

    def address(self, text: str) -> str:
        """Return the EIP-55 form of an address given in any case.

        Errors: `invalid_address`, for a wrong EIP-55 checksum in mixed case too (contract 1).
        """
        ...


class SignIn(Protocol):
    """EIP-4361 texts (contract 2)."""

    def message(
        self,
        *,
        address: str,
        chain_id: int,
        uri: str,
        nonce: str,
        issued: datetime,
        expires: datetime,
    ) -> str:
        """Write the message to sign; its domain is the host of `uri`."""
        ...

    def nonce(self, text: str) -> str | None:
        """Find the nonce that anybody's text names, in time linear in it; None where there is none.

        Nothing else of such a text is read: whether it is ours is told by comparing it with the one
        that was issued.
        """
        ...

    def digest(self, text: str) -> str:
        """EIP-191 hash that `personal_sign` signs, 0x hex."""
        ...


class HouseKeeper(Protocol):
    """Sends the house's transactions; every method returns the hash of a mined transaction.

    Errors: `not_configured`, `would_revert` (nothing sent), `chain_unavailable` (not mined yet).
    """

    @property
    def address(self) -> str:
        """EIP-55 address of the key."""
        ...

    async def send(self, call: Call) -> Receipt:
        """Sign, send and wait for the receipt; nonces come from one manager, stuck fees are
        replaced.
        """
        ...


class Venue(Protocol):
    """The perpetuals venue on one network, read within its weight budget.

    Every read may raise `venue_unavailable`; one whose answer is held gives it as stale instead,
    unless it says that it reads fresh. The synchronous methods are pure.
    """

    @property
    def network(self) -> Network:
        """Which of the venue's networks this is; their data never mix."""
        ...

    async def relay(self, call: Relay, good_for_s: int) -> Held[Any]:
        """An allowed read for strangers, cut to the known fields; figures stay the venue's own
        strings."""
        ...

    async def dexes(self) -> Held[Mapping[str, int]]:
        """Builder dexes by name with their index; the first dex is "" and 0."""
        ...

    async def perps(
        self, dex: str, *, lane: Lane = "house", good_for_s: int = 20
    ) -> Held[tuple[Perp, ...]]:
        """A dex's perpetuals with their figures. Errors: `not_found` for an unknown dex."""
        ...

    async def categories(self) -> Held[Mapping[str, str]]:
        """Coin to category, for coins of builder dexes."""
        ...

    async def display_names(self) -> Held[Mapping[str, str]]:
        """Coin to its name for people, where the venue gives one."""
        ...

    async def at_open_interest_cap(self, dex: str) -> Held[frozenset[str]]:
        """Coins of a dex that take no more open interest."""
        ...

    async def token_names(self) -> Held[Mapping[int, str]]:
        """Token index to name."""
        ...

    async def book(self, coin: str, *, lane: Lane, good_for_s: int) -> Held[Book | None]:
        """The book of a coin, None where the venue has no such market; read fresh, never stale."""
        ...

    async def max_builder_fee(self, user: str, builder: str, *, good_for_s: int) -> Held[int]:
        """What a user approved for a builder, in tenths of a basis point."""
        ...

    async def agents(
        self, user: str, *, good_for_s: int, fresh: bool = False
    ) -> Held[tuple[ApprovedAgent, ...]]:
        """A user's named agents."""
        ...

    async def role(self, address: str) -> UserRole:
        """What an address is at the venue, read fresh."""
        ...

    async def abstraction(self, user: str) -> Held[Abstraction]:
        """How the account holds its margin."""
        ...

    async def account(
        self, user: str, dex: str, *, lane: Lane, good_for_s: int, fresh: bool = False
    ) -> Held[DexAccount]:
        """A user's account on one dex."""
        ...

    async def balances(self, user: str, *, good_for_s: int) -> Held[tuple[SpotBalance, ...]]:
        """A user's spot balances."""
        ...

    async def time(self) -> datetime:
        """The venue's own clock, read fresh."""
        ...

    def agent_typed_data(self, approval: AgentApproval) -> JsonObject:
        """What a wallet signs to approve an agent (EIP-712)."""
        ...

    def agent_signer(self, approval: AgentApproval, signature: JsonObject) -> str | None:
        """EIP-55 address behind `{r, s, v}` over an approval. Errors: `invalid_signature`."""
        ...

    def builder_typed_data(self, builder: str, max_fee_rate: str, chain: str) -> JsonObject:
        """What a wallet signs to approve a builder, its message without the nonce."""
        ...

    def builder_signer(
        self, builder: str, max_fee_rate: str, nonce: int, chain: str, signature: JsonObject
    ) -> str | None:
        """EIP-55 address behind `{r, s, v}` over a builder's. Errors: `invalid_signature`."""
        ...

    def text_signer(self, text: str, signature: str) -> str | None:
        """EIP-55 address behind 65 bytes over a text (EIP-191). Errors: `invalid_signature`."""
        ...

    async def approve_agent(
        self, approval: AgentApproval, signature: JsonObject, signer: str
    ) -> Told:
        """Post exactly this approval; the signer is recovered again before it is sent.

        Errors: `venue_unavailable` where nothing was sent; `invalid_signature` where it is not the
        signer's.
        """
        ...


class Venues(Protocol):
    """The venue's networks as configured."""

    def get(self, network: Network) -> Venue:
        """Return the venue. Errors: `not_configured`."""
        ...

    def met(self) -> Mapping[tuple[Network, str, str], int]:
        """How often the venue said what is not known here, by network, kind and what."""
        ...


class OrderSigner(Protocol):
    """The process that holds keeper keys; it decides by itself what it signs (trading 00.10).

    Errors: `not_configured` where it cannot be reached.
    """

    async def keeper_address(self, network: Network, wallet: str) -> str:
        """The address of the key that it made for a linked wallet; made at the first question."""
        ...
