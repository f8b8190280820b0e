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
MAX_REPORTED: Final = 1_000
# What a vault's log tells of money, by the names of its arguments; no probe is among them.
_SUMS: Final = (
    "amount", "spent", "returned", "approved", "cash", "floor", "gain", "agentFee", "totalSpent",
    "totalReturned",
)  # fmt: skip
_APPROVE: Final = keccak(text="approve(address,uint256)")[:4]


@dataclass(frozen=True, slots=True)
class ChainConfig:
    """The configuration of one chain, from the settings and the network table.

    Shapes: `rpc_urls` are further nodes, asked where `rpc_url` does not answer, and where several
    must agree. `public_rpc` is an address that may be published, which `rpc_url` may not.
    Units: `read_ms` and `call_ms` milliseconds: the total wait for the chain of a read that can be
    answered without it, and of a request that cannot. `head_age_s` seconds after which a newest
    block stands still (where there are confirmations), `issue_s` seconds without an agreement of
    the nodes after which reads report it.
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
    """The pure half of `domain.ports.Chain`: hashes, calldata and decoding without a node."""

    def __init__(self, facts: ChainConfig):
        self.facts = facts
        self.left_out = 0
        self._reported = set[str]()

    @property
    def chain_id(self) -> int:
        """EIP-155 id."""
        return self.facts.chain_id

    @property
    def name(self) -> str:
        """The network's name for people."""
        return self.facts.name or f"chain {self.chain_id}"

    @property
    def public_rpc(self) -> str | None:
        """The RPC address that may be published."""
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
        """Blocks that must follow a log before it enters the ledger."""
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
        """Address of the vault of signed terms of version 2, EIP-55, computed without a node."""
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
        """Hash that identifies one action, 0x hex."""
        return eip712.action_hash(vault, target, data, approve_amount.micros)

    def action(self, vault: str, target: str, data: str, approve_amount: Usdc) -> Action:
        """Build the `Action` of a call, with its hashes."""
        return Action(
            action_hash=self.action_hash(vault, target, data, approve_amount),
            target=target.lower(),
            selector=selector_of(data),
            data_hash="0x" + keccak(hexstr=data).hex(),
            amount=approve_amount,
        )

    def action_called(self, vault: str, data: str) -> Action | None:
        """Decode the action from calldata of the vault's execute or executeApproved; None for other
        calldata.
        """
        call = abi_codec.execution(data)
        return None if call is None else self.action(vault, *call)

    def approve_action(
        self, factory: str, mandate: str, action_hash: str, until: int
    ) -> dict[str, Any]:
        """Typed data that the owner signs to approve one action."""
        return eip712.approve_action(self.chain_id, factory, mandate, action_hash, until)

    def on_chain_form(self, signature: str) -> str:
        """Convert an EOA's signature to the 65-byte form that our contracts accept."""
        return signatures.on_chain_form(signature)

    def explain_call(self, data: str) -> DecodedCalldata:
        """Decode calldata of known functions; never raises."""
        return abi_codec.decode_calldata(data)

    def configured(self, subject: str, value: str | None) -> str:
        """Require a setting. Errors: `not_configured` where it is unset."""
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
        """Count a log whose amount exceeds the whole USDC supply limit: no column could hold a sum
        of it.
        """
        self.left_out += 1
        if address not in self._reported and len(self._reported) < MAX_REPORTED:
            self._reported.add(address)
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
