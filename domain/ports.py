"""Ports: the protocols through which rules and operations reach the outside world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Literal, Protocol

from domain.agents.key_rules import AgentCall, PurseBill
from domain.chain_facts import (
    BlockStamp,
    Call,
    DecodedCalldata,
    InnerCall,
    PurseFacts,
    PurseState,
    Receipt,
    SendingFacts,
    SentTransactions,
    SignedTransaction,
    SignerCheck,
    Simulation,
    VaultFunction,
    VaultLog,
    VaultState,
)
from domain.mandates.actions import Actions
from domain.mandates.approvals import ApprovalChain
from domain.mandates.mandate import SignedTerms
from domain.mandates.market_exits import MarketPosition
from domain.mandates.purses import PurseChain, PurseTerms, TokenDomain
from domain.mandates.targets import Target
from domain.money import Usdc
from domain.trading.venue_port import OrderSigner as OrderSigner
from domain.trading.venue_port import Venue as Venue
from domain.trading.venue_port import Venues as Venues
from domain.wire_fields import JsonObject


class Clock(Protocol):
    """Time, asked once per request."""

    def now(self) -> datetime:
        """Return the present as an aware UTC datetime."""


class Ids(Protocol):
    """Randomness from a CSPRNG (contract 1: prefix and 10 characters of a-z2-7)."""

    def short(self, prefix: str) -> str:
        """Return `prefix` and 10 random base32 characters, for example `m_abcdefgh23`."""

    def token(self, prefix: str) -> str:
        """Return `prefix` and 43 base64url characters (256 bits)."""

    def nonce256(self) -> int:
        """Return a random 256-bit integer."""


class Chain(Actions, ApprovalChain, PurseChain, Protocol):
    """One chain. Methods that are not async are pure; the others may raise `chain_unavailable`.

    Without an RPC address the asynchronous methods raise `not_configured`, but `check_signature`
    still answers for an EOA.
    """

    @property
    def chain_id(self) -> int:
        """EIP-155 id."""

    @property
    def name(self) -> str:
        """Display name of the network."""

    @property
    def public_rpc(self) -> str | None:
        """A public RPC address; the configured one may hold a key."""

    @property
    def rpc_set(self) -> bool:
        """True where an RPC address is configured."""

    @property
    def asks_several(self) -> bool:
        """True where several nodes are configured, so that a quorum read has several answers."""

    @property
    def sponsors(self) -> bool:
        """True where a paymaster is configured."""

    @property
    def usdc(self) -> str | None:
        """Address of USDC, EIP-55."""

    def inner_calls(self, call_data: str) -> Sequence[InnerCall] | None:
        """The calls inside a smart account's calldata; None for an unknown form."""

    async def paymaster_data(
        self,
        method: Literal["pm_getPaymasterStubData", "pm_getPaymasterData"],
        user_op: JsonObject,
        entry_point: str,
    ) -> JsonObject:
        """The paymaster's fields (ERC-7677). Errors: `not_configured`, `chain_unavailable`."""

    @property
    def factory(self) -> str | None:
        """Address of the vault factory, None while unset."""

    @property
    def confirmations(self) -> int:
        """The depth in blocks at which a log enters the ledger."""

    @property
    def explorer(self) -> str | None:
        """Base address of a block explorer."""

    def targets_hash(self, targets: Sequence[Target]) -> str:
        """keccak256(abi.encode(calls, probes)) of the contract entries, 0x hex."""

    def guard_hash(self, targets: Sequence[Target]) -> str:
        """keccak256 of the canonical JSON of the entries that are not contract entries, 0x hex."""

    def digest(self, typed_data: JsonObject) -> str:
        """EIP-712 digest of the typed data, 0x hex."""

    def vault_address(
        self, factory: str, message: Mapping[str, str], targets: Sequence[Target], digest: str
    ) -> str:
        """The address at which a factory creates the vault of signed terms of version 2, EIP-55."""

    def create_call(
        self, message: Mapping[str, str], targets: Sequence[Target], signature: str
    ) -> Call:
        """Calldata of the factory's create; `message` is the signed typed data's message."""

    async def creation(self, public_id: str, digest: str, by: BlockStamp) -> VaultLog | None:
        """The factory's log of the vault of these terms, in `by` or in the blocks before it."""

    def vault_call(self, vault: str, function: VaultFunction, *args: Any) -> Call:
        """Calldata of a vault function; amounts as `Usdc`, addresses and bytes as 0x text."""

    def hub_call(self, purse: PurseTerms) -> Call:
        """The call that makes the hub of a purse's limits, whoever sends it."""

    def sweep_call(self, hub: str, vault: str) -> Call:
        """Calldata by which anybody sends the owner what lies in the purse of a settled vault."""

    def void_call(self, purse: str) -> Call:
        """Calldata of a purse's `void()`, which its owner or agent sends."""

    def purse_logs(
        self, receipt: Receipt, purses: Mapping[str, PurseFacts]
    ) -> tuple[VaultLog, ...]:
        """The logs of some purses in a transaction; `purses` by address in lower case."""

    def approve_call(self, spender: str, amount: Usdc) -> Call:
        """Calldata of USDC approve."""

    def function_call(self, function: str, args: Sequence[Usdc | str | int]) -> str:
        """Calldata of a function by its signature, such as `deposit(uint256,address)`."""

    def signed_transaction(self, raw: str) -> SignedTransaction | None:
        """The call in signed bytes (EIP-1559) with its sender; None for anything else."""

    def execution(self, data: str) -> tuple[str, str, Usdc] | None:
        """(target, data, approve amount) of the vault's execute calls; None for other calldata."""

    def explain_call(self, data: str) -> DecodedCalldata:
        """Decode calldata of known functions; never raises."""

    async def check_signature(self, digest: str, signature: str, signer: str) -> SignerCheck | None:
        """Say how `signature` proves `signer` (EOA, EIP-2098, ERC-1271, ERC-6492), if it does."""

    async def latest(self) -> BlockStamp:
        """Return the newest block."""

    async def vault_states(
        self, vaults: Sequence[str], *, agreed: bool = False
    ) -> Mapping[str, VaultState]:
        """Read many vaults at one block; `agreed`: only states on which most nodes agree."""

    async def purse_states(
        self,
        purses: Sequence[str],
        *,
        block: BlockStamp | None = None,
        nonces: Sequence[str] = (),
    ) -> Mapping[str, PurseState]:
        """Read many purses at one block, the newest by default, by address in lower case, and which
        of some nonces are used; only states on which most nodes agree.
        """

    async def block(self, number: int) -> BlockStamp | None:
        """A block's number, hash and time; None where the chain has none of that number."""

    async def receipt(self, tx_hash: str) -> Receipt | None:
        """Return the mined transaction, its revert decoded; None where no node has it."""

    async def receipts(self, tx_hashes: Sequence[str]) -> Mapping[str, Receipt | None]:
        """Receipts by lower-case hash, without reverts' reasons; a malformed one is left out."""

    async def is_pending(self, tx_hash: str) -> bool:
        """True for a transaction that the node knows and no block holds yet."""

    async def sent(self, sender: str, to: str, after_block: int) -> SentTransactions:
        """The transactions of an account to a contract after a block, failed ones too."""

    async def transaction_of_nonce(self, sender: str, nonce: int) -> str | None:
        """The hash of the account's transaction with a nonce, once enough blocks follow it; None
        before that, and where the nodes no longer tell.
        """

    async def sending_facts(self, address: str) -> SendingFacts:
        """Facts that an account sends by: its next nonce, its balance, the fees."""

    async def broadcast(self, signed: SignedTransaction) -> None:
        """Hand signed bytes to every node. Errors: `chain_unavailable` where none accepts them."""

    async def simulate(self, call: Call) -> Simulation:
        """Run the call at the newest block without sending it."""

    async def usdc_balances(self, holders: Sequence[str]) -> Mapping[str, Usdc]:
        """Read USDC balances at the newest block."""

    async def market_position(
        self, market: str, share_token: str | None, holder: str
    ) -> MarketPosition:
        """Read a holder's position in an ERC-4626 market; with `share_token` in an Aave pool."""

    async def token_domain(self) -> TokenDomain:
        """The name and version under which USDC takes signatures (EIP-712)."""

    async def returned(self, call: Call) -> Usdc | None:
        """The amount that a market's exit answers, tried at the newest block; None where it answers
        none. The market's own word: only its vault measures what came.
        """

    def short_deadline(self) -> AbstractContextManager[None]:
        """Within it the chain is waited for by the setting of reads, then `chain_unavailable`."""

    def last_known(self, vault: str) -> VaultState | None:
        """The vault's state when it was last read, marked `last_known`; None before."""

    @property
    def node_problem(self) -> str | None:
        """The reason for which this chain is not read; None where there is none."""

    @property
    def complete(self) -> BlockStamp | None:
        """The block up to which the ledger is complete; None before the reader came to rest."""


class Chains(Protocol):
    """The configured chains."""

    def get(self, chain_id: int) -> Chain:
        """Return the chain; `not_configured` for an id that no setting names."""

    def ids(self) -> Sequence[int]:
        """Ids of the configured chains."""

    def request_deadline(self) -> AbstractContextManager[None]:
        """Within it a request waits for chains no longer than the setting says, in all."""

    def node_problem(self) -> Mapping[int, str]:
        """The chains of which nothing is believed, and why."""

    def faults(self) -> Mapping[int, Mapping[int, str]]:
        """Faults of nodes, by chain and by the node's place in the settings, from 1 on."""

    def address(self, text: str) -> str:
        """The EIP-55 form of an address in any case. Errors: `invalid_address` (contract 1)."""


class SignInVerifier(Protocol):
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

    def nonce(self, text: str) -> str | None:
        """Find the nonce in a text from outside, in time linear in it; None where there is none.
        Nothing else of the text is read: whether it was issued here is decided by comparing it with
        the one that was.
        """

    def digest(self, text: str) -> str:
        """EIP-191 hash that `personal_sign` signs, 0x hex."""


class HouseKeeper(Protocol):
    """Sends the house's transactions; every method returns the hash of a mined transaction.

    Errors: `not_configured`, `would_revert` (nothing sent), `chain_unavailable` (not mined yet).
    """

    @property
    def address(self) -> str:
        """EIP-55 address of the key."""

    async def affords(self, chain_id: int) -> bool:
        """True where the key's gas money lasts for a good many transactions more."""

    async def send(self, call: Call) -> Receipt:
        """Sign, send and wait for the receipt; one manager of nonces, stuck fees are replaced."""


class AgentSigner(Protocol):
    """Agents' keys that the service holds, in a process of their own, which decides by itself what
    it signs (`domain.agents.key_rules`).

    Errors: `not_configured` where it is away, SigningRefused with its reason.
    """

    async def agent_address(self, key: str) -> str:
        """EIP-55 address of the key of a name (`HostedKey.name`); it is made at the first call,
        and never again once it has ended.
        """

    async def agent_key_end(self, key: str) -> None:
        """No transaction is signed with the key from now on."""

    async def agent_signed(
        self, key: str, terms: SignedTerms, targets: Sequence[Target], call: AgentCall
    ) -> str:
        """The signed bytes of a call of the vault of these terms, 0x hex."""

    async def agent_signed_bill(
        self, key: str, terms: SignedTerms, targets: Sequence[Target], bill: PurseBill
    ) -> str:
        """The signature over a bill of the purse of the vault of these terms, 0x hex."""
