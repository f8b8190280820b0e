"""Offline chain: settings, hashes and calldata, without a call to any node."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from eth_abi import encode
from eth_utils import keccak

from chain.contracts import abi_codec, eip712, signatures, vault_address
from chain.rpc import decoding
from domain.chain_facts import (
    BlockStamp,
    Call,
    DecodedCalldata,
    TransferLog,
    VaultFunction,
    VaultLog,
)
from domain.mandates.actions import Action, selector_of
from domain.mandates.targets import Target
from domain.mandates.terms import FIELDS
from domain.money import LIMIT_MICROS, Usdc
from domain.refusals import Refused, refusal

logger = logging.getLogger("wallet.chain")
READ_MS: Final = 300
CALL_MS: Final = 3_000
HEAD_AGE_S: Final = 120
ISSUE_S: Final = 300
LEFT_OUT_SAID: Final = 1_000
# What a vault's log tells of money, by the names of its arguments; no probe is among them.
_SUMS: Final = (
    "amount", "spent", "returned", "approved", "cash", "floor", "gain", "agentFee", "totalSpent",
    "totalReturned",
)  # fmt: skip
_APPROVE: Final = keccak(text="approve(address,uint256)")[:4]


@dataclass(frozen=True, slots=True)
class ChainConfig:
    """What the settings and the network table say of one chain.

    Shapes: `rpc_urls` are further nodes, asked where `rpc_url` does not answer, and where several
    must agree. `public_rpc` is one that may be told to anybody, which `rpc_url` may not.
    Units: `read_ms` milliseconds that a read waits for the chain in all, `call_ms` those of a
    request that cannot do without it, `head_age_s` seconds after which a newest block stands still
    (where there are confirmations), `issue_s` seconds without an agreement of the nodes after which
    reads say so.
    """

    chain_id: int
    rpc_url: str | None = None
    usdc: str | None = None
    factory: str | None = None
    lens: str | None = None
    explorer: str | None = None
    confirmations: int = 24
    start_block: int = 0
    paymaster_url: str | None = None
    rpc_urls: tuple[str, ...] = ()
    name: str | None = None
    public_rpc: str | None = None
    read_ms: int = READ_MS
    call_ms: int = CALL_MS
    head_age_s: int = HEAD_AGE_S
    issue_s: int = ISSUE_S

    @property
    def nodes(self) -> tuple[str, ...]:
        """Addresses of all nodes, each once, in the order in which they are asked."""
        first = () if self.rpc_url is None else (self.rpc_url,)
        return tuple(dict.fromkeys((*first, *self.rpc_urls)))


class OfflineChain:
    """One chain as far as nobody has to be asked: the pure half of `domain.ports.Chain`."""

    def __init__(self, facts: ChainConfig):
        self.facts = facts
        self.left_out = 0
        self._said = set[str]()

    @property
    def chain_id(self) -> int:
        """EIP-155 id."""
        return self.facts.chain_id

    @property
    def name(self) -> str:
        """What people call the network."""
        return self.facts.name or f"chain {self.chain_id}"

    @property
    def public_rpc(self) -> str | None:
        """An RPC address that may be told to anybody."""
        return self.facts.public_rpc

    @property
    def usdc(self) -> str | None:
        """Address of USDC, EIP-55."""
        return self.facts.usdc

    @property
    def factory(self) -> str | None:
        """Address of the vault factory, None while unset."""
        return self.facts.factory

    @property
    def confirmations(self) -> int:
        """How many blocks deep a log is before it enters the ledger."""
        return self.facts.confirmations

    @property
    def explorer(self) -> str | None:
        """Base address of a block explorer."""
        return self.facts.explorer

    def targets_hash(self, targets: Sequence[Target]) -> str:
        """keccak256(abi.encode(calls, probes)) of the contract entries, 0x hex."""
        return eip712.targets_hash(targets)

    def guard_hash(self, targets: Sequence[Target]) -> str:
        """keccak256 of the canonical JSON of the guard's entries, 0x hex."""
        return eip712.guard_hash(targets)

    def digest(self, typed_data: Mapping[str, Any]) -> str:
        """EIP-712 digest of the typed data, 0x hex."""
        return eip712.digest(typed_data)

    def vault_address(
        self, factory: str, message: Mapping[str, str], targets: Sequence[Target], digest: str
    ) -> str:
        """Where the factory puts the vault of signed terms of version 2; no node is asked."""
        return vault_address.vault_address(factory, message, targets, digest)

    def create_call(
        self, message: Mapping[str, str], targets: Sequence[Target], signature: str
    ) -> Call:
        """Calldata of the factory's create."""
        calls, probes = eip712.listed(targets)
        args = (terms(message), calls, probes, signatures.on_chain_form(signature))
        return Call(
            self.chain_id,
            self.configured("the vault factory", self.factory),
            abi_codec.calldata("MandateVaultFactory", "create", args),
        )

    def vault_call(self, vault: str, function: VaultFunction, *args: Any) -> Call:
        """Calldata of a vault function."""
        return Call(self.chain_id, vault, abi_codec.calldata("MandateVault", function, args))

    def approve_call(self, spender: str, amount: Usdc) -> Call:
        """Calldata of USDC approve."""
        data = _APPROVE + encode(["address", "uint256"], [spender, amount.micros])
        return Call(self.chain_id, self.configured("USDC", self.usdc), "0x" + data.hex())

    def action_hash(self, vault: str, target: str, data: str, approve_amount: Usdc) -> str:
        """What names one action, 0x hex."""
        return eip712.action_hash(vault, target, data, approve_amount.micros)

    def action(self, vault: str, target: str, data: str, approve_amount: Usdc) -> Action:
        """The action that this very call is, with its hashes."""
        return Action(
            action_hash=self.action_hash(vault, target, data, approve_amount),
            target=target.lower(),
            selector=selector_of(data),
            data_hash="0x" + keccak(hexstr=data).hex(),
            amount=approve_amount,
        )

    def action_called(self, vault: str, data: str) -> Action | None:
        """The action that calldata of the vault's execute or executeApproved is."""
        call = abi_codec.execution(data)
        return None if call is None else self.action(vault, *call)

    def approve_action(
        self, factory: str, mandate: str, action_hash: str, until: int
    ) -> dict[str, Any]:
        """The typed data by which the owner approves one action."""
        return eip712.approve_action(self.chain_id, factory, mandate, action_hash, until)

    def on_chain_form(self, signature: str) -> str:
        """An EOA's signature as our contracts take it."""
        return signatures.on_chain_form(signature)

    def explain_call(self, data: str) -> DecodedCalldata:
        """Decode calldata of known functions; never raises."""
        return abi_codec.decode_calldata(data)

    def configured(self, subject: str, value: str | None) -> str:
        """A setting that the caller cannot do without. Errors: `not_configured`."""
        if value is None:
            raise Refused(refusal("not_configured", what=f"{subject} of chain {self.chain_id}"))
        return value

    def vault_log(self, log: decoding.Log, block: BlockStamp) -> VaultLog | None:
        """Decode one log of a vault or of our factory; None for any other."""
        address = abi_codec.checksummed(log.address)
        of_factory = self.factory is not None and address == self.factory
        decoded = abi_codec.decode_log(
            "MandateVaultFactory" if of_factory else "MandateVault", log.topics, log.data
        )
        if decoded is None:
            return None
        name, args = decoded
        if any(isinstance(v := args.get(n), int) and v > LIMIT_MICROS for n in _SUMS):
            self._leave_out(address, name)
            return None
        mandate = args.get("digest") if of_factory else args.get("mandate")
        return VaultLog(name, address, mandate, args, log.tx_hash, log.index, block)

    def transfer(self, log: decoding.Log) -> TransferLog | None:
        """Decode one ERC-20 transfer; None for any other log."""
        decoded = abi_codec.transfer_log(log.address, log.topics, log.data, log.index)
        if decoded is not None and decoded.amount > LIMIT_MICROS:
            if decoded.token == self.usdc:
                self._leave_out(decoded.token, "Transfer")
            return None
        return decoded

    def _leave_out(self, address: str, name: str) -> None:
        """Count a log that tells of more than all USDC there is: no sum could hold it."""
        self.left_out += 1
        if address not in self._said and len(self._said) < LEFT_OUT_SAID:
            self._said.add(address)
            logger.warning(
                "chain %s: %s of %s is left out: too large", self.chain_id, name, address
            )


def terms(message: Mapping[str, str]) -> tuple[object, ...]:
    """The MandateTerms tuple out of a typed-data message, whose integers are decimal strings."""
    return tuple(_typed(kind, message[name]) for name, kind in FIELDS["2"])


def _typed(kind: str, value: str) -> object:
    if kind.startswith("uint"):
        return int(value)
    return bytes.fromhex(value[2:]) if kind == "bytes32" else value
