"""What the rules and operations need of the outside world, as the smallest protocols that will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final, Literal, Protocol

from domain.mandate import Target
from domain.money import ZERO, Usdc


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


@dataclass(frozen=True, slots=True)
class BlockStamp:
    """One block; `at` is its timestamp (UTC)."""

    number: int
    hash: str
    at: datetime


@dataclass(frozen=True, slots=True)
class VaultState:
    """What the vault says at one block (VaultLens.read).

    Units: USDC. `positions` is the sum of the signed value probes. `lock_until` is a chain time.
    """

    address: str
    block: BlockStamp
    exists: bool
    agent: str | None = None
    paused: bool = False
    stopped: bool = False
    stop_reason: int = 0
    settled: bool = False
    withdrawable: bool = False
    lock_reason: int = 0
    lock_until: datetime | None = None
    cash: Usdc = ZERO
    positions: Usdc = ZERO
    floor: Usdc = ZERO
    spent_today: Usdc = ZERO
    total_deposited: Usdc = ZERO
    total_spent: Usdc = ZERO
    total_returned: Usdc = ZERO
    fee_owed: Usdc = ZERO
    balance: Usdc = ZERO


@dataclass(frozen=True, slots=True)
class VaultLog:
    """One decoded log of a vault or the factory.

    Shapes: `name` is the event's Solidity name (Deposited, Executed, …, MandateCreated); `args` has its arguments by
    Solidity name, uint256 amounts as int base units, addresses EIP-55, bytes as 0x hex; `mandate` is the digest
    (None for MandateCreated, whose digest is in `args`). `tx_hash` is lower case.
    """

    name: str
    address: str
    mandate: str | None
    args: Mapping[str, Any]
    tx_hash: str
    log_index: int
    block: BlockStamp


@dataclass(frozen=True, slots=True)
class TransferLog:
    """One ERC-20 Transfer log; `amount` in base units of `token`."""

    token: str
    sender: str
    recipient: str
    amount: int
    log_index: int


@dataclass(frozen=True, slots=True)
class Revert:
    """A decoded revert: the Solidity error's name and arguments, and the refusal code it stands for, if any."""

    name: str
    args: Mapping[str, Any]
    code: str | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """A mined transaction."""

    tx_hash: str
    ok: bool
    sender: str
    to: str | None
    block: BlockStamp
    depth: int
    logs: tuple[VaultLog, ...]
    transfers: tuple[TransferLog, ...]
    revert: Revert | None = None


@dataclass(frozen=True, slots=True)
class InnerCall:
    """One call inside a smart account's calldata. Units: `value` wei."""

    to: str
    value: int
    data: str


@dataclass(frozen=True, slots=True)
class Call:
    """A transaction for somebody else to sign: contract 6 names."""

    chain_id: int
    to: str
    data: str
    value: str = "0"
    sender: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Shape `{chain_id, from?, to, data, value}`."""
        named = {"from": self.sender} if self.sender else {}
        return {"chain_id": self.chain_id, **named, "to": self.to, "data": self.data, "value": self.value}


@dataclass(frozen=True, slots=True)
class Simulation:
    """What an eth_call of a `Call` at one block says."""

    ok: bool
    revert: Revert | None
    gas: int | None
    block: BlockStamp


@dataclass(frozen=True, slots=True)
class SignerCheck:
    """How a signature proved good; `block` is where a contract wallet was asked."""

    signer_type: Literal["eoa", "erc1271", "erc6492"]
    block: int | None


VaultFunction = Literal[
    "deposit",
    "sync",
    "execute",
    "unwind",
    "stop",
    "revokeAgent",
    "setAgent",
    "withdrawAll",
    "settle",
    "payAgent",
    "mark",
]


class Chain(Protocol):
    """One chain. The synchronous methods are pure; the others read a block and may raise `chain_unavailable`.

    Without an RPC address the asynchronous methods raise `not_configured`, but `check_signature` still answers for
    an EOA.
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
        self, method: Literal["pm_getPaymasterStubData", "pm_getPaymasterData"], user_op: Mapping[str, Any], entry_point: str
    ) -> dict[str, Any]:
        """The paymaster's fields for a user operation (ERC-7677). Errors: `not_configured`, `chain_unavailable`."""
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

    def digest(self, typed_data: Mapping[str, Any]) -> str:
        """EIP-712 digest of the typed data, 0x hex."""
        ...

    def create_call(self, message: Mapping[str, Any], targets: Sequence[Target], signature: str) -> Call:
        """Calldata of the factory's create; `message` is the signed typed data's message."""
        ...

    def vault_call(self, vault: str, function: VaultFunction, *args: Any) -> Call:
        """Calldata of a vault function; amounts as `Usdc`, addresses and bytes as 0x text."""
        ...

    def approve_call(self, spender: str, amount: Usdc) -> Call:
        """Calldata of USDC approve."""
        ...

    def explain_call(self, data: str) -> Mapping[str, Any]:
        """Decode calldata of known functions: `{selector, function?, args?}`; never raises."""
        ...

    async def check_signature(self, digest: str, signature: str, signer: str) -> SignerCheck | None:
        """Say how `signature` proves `signer`, or None when it does not (EOA, EIP-2098, ERC-1271, ERC-6492)."""
        ...

    async def latest(self) -> BlockStamp:
        """Return the newest block."""
        ...

    async def vault_states(self, vaults: Sequence[str]) -> Mapping[str, VaultState]:
        """Read many vaults at one block; keys are the addresses as given."""
        ...

    async def receipt(self, tx_hash: str) -> Receipt | None:
        """Return the mined transaction, or None when the chain has not seen it; a revert is explained."""
        ...

    async def waiting(self, tx_hash: str) -> bool:
        """True for a transaction that the node knows and no block holds yet."""
        ...

    async def simulate(self, call: Call) -> Simulation:
        """Run the call at the newest block without sending it."""
        ...

    async def predict_vault(self, message: Mapping[str, Any], targets: Sequence[Target]) -> str:
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


@dataclass(frozen=True, slots=True)
class SignInMessage:
    """The facts of an EIP-4361 message."""

    address: str
    chain_id: int
    domain: str
    uri: str
    nonce: str


class SignIn(Protocol):
    """EIP-4361 texts (contract 2)."""

    def message(self, *, address: str, chain_id: int, uri: str, nonce: str, issued: datetime, expires: datetime) -> str:
        """Write the message to sign; its domain is the host of `uri`."""
        ...

    def read(self, text: str) -> SignInMessage | None:
        """Parse a message; None when it is not one."""
        ...

    def digest(self, text: str) -> str:
        """EIP-191 hash that `personal_sign` signs, 0x hex."""
        ...


class HouseKeeper(Protocol):
    """Sends the house's transactions; every method returns the hash of a mined transaction.

    Errors: `not_configured` without a key, `chain_unavailable` when it is not mined in time.
    """

    async def send(self, call: Call) -> Receipt:
        """Sign, send and wait for the receipt; nonces come from one manager, stuck fees are replaced."""
        ...


@dataclass(frozen=True, slots=True)
class Config:
    """Settings the rules use; read once at start in `server.settings`.

    Units: *_bps ten-thousandths, *_s seconds.
    """

    base_url: str = "http://127.0.0.1:8402"
    default_chain_id: int = 84532
    auction_chain_id: int = 84532
    spread_bps: int = 30
    approval_valid_s: int = 86_400
    pending_approvals_max: int = 10
    declined_quiet_s: int = 3_600
    reservation_s: int = 600
    refusals_per_day: int = 60
    mark_fresh_s: int = 900
    transfer_fails_after_s: int = 86_400
    session_s: int = 43_200
    session_longest_s: int = 604_800
    ranked_days: int = 14
    ranked_trades: int = 10
    ranked_funded: int = 1
    markets: tuple[Mapping[str, Any], ...] = ()
    deposit_rails: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Switches:
    """Spec 4.5's switches as they stand at one request."""

    door: bool = False
    approval_gate: bool = True
    paid_read_enforcement: bool = False
    stop_line_dry_run: bool = True
    gas_sponsorship: bool = False


SWITCHES: Final = tuple(f.name for f in fields(Switches))
