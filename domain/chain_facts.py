"""Values read from a chain: blocks, vaults, logs, receipts, calls."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal

from domain.money import ZERO, Usdc
from domain.times import Timestamp
from domain.wire_fields import LEFT_OUT, Args, described, wire_name


@dataclass(frozen=True, slots=True)
class BlockStamp:
    """One block; `at` is its timestamp (UTC)."""

    number: int
    hash: str
    at: datetime


@dataclass(frozen=True, slots=True)
class VaultState:
    """State of a vault at one block (VaultLens.read).

    Units: USDC. `positions` is the sum of the signed value probes that answered; `answered` says
    which did, in the order of the terms: where one did not, the worth is unknown, and no less.
    `values` are the probes' own, None where one did not answer; `recorded` is what an exit at this
    block is at least judged against (chain.md).
    `lock_until` is a chain time. `last_known`: the chain did not answer in time just now, and this
    is what it said at a block before.
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
    answered: tuple[bool, ...] = ()
    values: tuple[Usdc | None, ...] = ()
    recorded: Usdc = ZERO
    last_known: bool = False

    @property
    def measured(self) -> bool:
        """True where every probe answered, so that cash + positions is the worth."""
        return all(self.answered)


@dataclass(frozen=True, slots=True)
class PurseFacts:
    """The place of a vault's purse, and the hub that keeps it. Shapes: addresses in lower case."""

    address: str
    hub: str
    vault: str


PURSE_DUST: Final = Usdc(10_000)


@dataclass(frozen=True, slots=True)
class PurseState:
    """A purse at one block; `exists` is false before it was opened. Units: USDC.

    Shapes: bills whose nonce begins with another `epoch` are void; `used` are those of the nonces
    that were asked for under which USDC has taken a payment.
    """

    address: str
    block: BlockStamp
    exists: bool
    balance: Usdc = ZERO
    epoch: int = 0
    used: frozenset[str] = frozenset()

    @property
    def is_filled(self) -> bool:
        """True where more than 0.01 USDC lies in it: less is worth no transaction."""
        return self.balance > PURSE_DUST


@dataclass(frozen=True, slots=True)
class VaultLog:
    """One decoded log of a vault, a vault's purse or the factory.

    Shapes: `name` is the event's Solidity name (Deposited, Executed, …, MandateCreated); `args`
    has its arguments by Solidity name, uint256 amounts as int base units, addresses EIP-55, bytes
    as 0x hex; `mandate` is the digest (None for MandateCreated, whose digest is in `args`).
    `tx_hash` is lower case.
    """

    name: str
    address: str
    mandate: str | None
    args: Args
    tx_hash: str
    log_index: int
    block: BlockStamp


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedCalldata:
    """Calldata as far as its function is known here; no selector where it has none.

    Shapes: `args` as they are shown, integers as decimal text.
    """

    selector: str | None
    function: str | None = None
    args: tuple[object, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedLog:
    """A vault's log that is not deep enough to be a ledger row, as it is shown.

    `args` are the log's arguments by their Solidity names, amounts in base units.
    """

    name: str = field(metadata=described("the contract's own name for the log"))
    address: str
    mandate: str | None
    args: Args
    at: Timestamp | None
    block: int
    tx_hash: str
    confirmed_on_chain: Literal[False] = False


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
    """A decoded revert: the Solidity error's name and arguments, and the refusal code it stands
    for, if any.
    """

    name: str
    args: Args
    code: str | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """A mined transaction.

    `data` is the calldata of one that failed, 0x hex, where the node still knows it. `purse_logs`
    are those of USDC and of hubs, of which the logs of purses are made.
    """

    tx_hash: str
    ok: bool
    sender: str
    to: str | None
    block: BlockStamp
    depth: int
    logs: tuple[VaultLog, ...]
    transfers: tuple[TransferLog, ...]
    revert: Revert | None = None
    data: str | None = None
    purse_logs: tuple[VaultLog, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SentTransactions:
    """Transactions of an account to one contract after a block, oldest first; all with their
    calldata.

    `waits`: a transaction of the account is known and not mined yet. `unknown` says why it cannot
    be told, and then nothing follows from the rest.
    """

    calls: tuple[Receipt, ...] = ()
    waits: bool = False
    unknown: str | None = None
    as_of: BlockStamp | None = None


@dataclass(frozen=True, slots=True)
class InnerCall:
    """One call inside a smart account's calldata. Units: `value` wei."""

    to: str
    value: int
    data: str


@dataclass(frozen=True, slots=True)
class Call:
    """A transaction for another account to sign (contract 6). `value` is in wei; `from` is left
    out where any account may send it.
    """

    chain_id: int
    to: str
    data: str
    value: str = "0"
    sender: str | None = field(default=None, metadata=LEFT_OUT | wire_name("from"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """A transaction before it is signed (EIP-1559). Units: wei, and gas."""

    chain_id: int
    to: str
    data: str
    value: int
    nonce: int
    gas: int
    max_fee: int
    tip: int

    def with_higher_fee(self) -> Transaction:
        """A replacement with fees high enough for nodes to accept it."""
        return replace(self, max_fee=_bumped(self.max_fee), tip=_bumped(self.tip))

    def is_fee_bump_of(self, other: Transaction) -> bool:
        """True where it differs from another by its fees alone, and pays more."""
        return self.max_fee > other.max_fee and self.does_the_same(other)

    def does_the_same(self, other: Transaction) -> bool:
        """True where it differs from another by its fees alone, or in nothing."""
        return replace(self, max_fee=other.max_fee, tip=other.tip) == other


BUMP_PERCENT: Final = 130


def _bumped(price: int) -> int:
    return price * BUMP_PERCENT // 100 + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedTransaction:
    """A signed transaction, and whose signature it carries.

    Shapes: `raw` the bytes that are sent, `tx_hash` lower case, both 0x hex; `sender` EIP-55.
    """

    raw: str
    tx_hash: str
    sender: str
    transaction: Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingFacts:
    """Facts that an account sends by: its next nonce and balance, and the fees now.

    Units: wei.
    """

    nonce: int
    balance: int
    max_fee: int
    tip: int


@dataclass(frozen=True, slots=True)
class Simulation:
    """The result of an eth_call of a `Call` at one block."""

    ok: bool
    revert: Revert | None
    gas: int | None
    block: BlockStamp


@dataclass(frozen=True, slots=True)
class SignerCheck:
    """The way in which a signature proved good; `block` is the one at which a contract wallet was
    asked.
    """

    signer_type: Literal["eoa", "erc1271", "erc6492"]
    block: int | None


VaultFunction = Literal[
    "deposit",
    "sync",
    "execute",
    "executeApproved",
    "unwind",
    "stop",
    "revokeAgent",
    "setAgent",
    "withdrawAll",
    "settle",
    "payAgent",
    "mark",
    "record",
]
