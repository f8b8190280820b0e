"""Offline chain: settings, hashes and calldata, without a call to any node."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Final

from eth_abi import encode
from eth_utils import keccak

from chain.contracts import abi_codec, eip712, purse, signatures, transactions
from chain.contracts.purse_logs import paired
from chain.contracts.vault_address import vault_address
from chain.networks import PAYMENTS, USDC, VAULTS, ChainConfig
from chain.rpc import decoding
from domain.chain_facts import (
    BlockStamp,
    Call,
    PurseFacts,
    Receipt,
    TransferLog,
    VaultFunction,
    VaultLog,
)
from domain.mandates.actions import Action, selector_of
from domain.mandates.purses import BillTerms, PurseFunction, PurseTerms, TokenDomain
from domain.mandates.targets import Target
from domain.mandates.terms import FIELDS
from domain.money import LIMIT_MICROS, ZERO, Usdc
from domain.refusals import Refused, refusal

logger = logging.getLogger("wallet.chain")
MAX_REPORTED: Final = 1_000
# What a vault's log tells of money, by the names of its arguments; no probe is among them.
_SUMS: Final = (
    "amount", "spent", "returned", "approved", "cash", "floor", "gain", "agentFee", "totalSpent",
    "totalReturned",
)  # fmt: skip
_PUT: Final = ("amount", "toOwner", "fundedToday")  # the same of a hub's log
_APPROVE: Final = keccak(text="approve(address,uint256)")[:4]


class OfflineChain:
    """The pure half of `domain.ports.Chain`: hashes, calldata and decoding without a node."""

    def __init__(self, facts: ChainConfig):
        self.facts = facts
        self.chain_id, self.name = facts.chain_id, facts.name or f"chain {facts.chain_id}"
        self.usdc, self.factory = facts.usdc, facts.factory
        self.plain_hub = facts.purse_hub
        self.explorer, self.public_rpc = facts.explorer, facts.public_rpc
        self.confirmations = facts.confirmations
        self.left_out = 0
        self._reported = set[str]()

    targets_hash = staticmethod(eip712.targets_hash)
    guard_hash = staticmethod(eip712.guard_hash)
    digest = staticmethod(eip712.digest)
    vault_address = staticmethod(vault_address)
    on_chain_form = staticmethod(signatures.on_chain_form)
    key_of_signature = staticmethod(signatures.key_of_signature)
    function_call = staticmethod(abi_codec.function_call)
    signed_transaction = staticmethod(transactions.read_signed)
    explain_call = staticmethod(abi_codec.decode_calldata)
    purse_address = staticmethod(purse.purse_address)
    bill_nonce = staticmethod(purse.bill_nonce)
    bill_action = staticmethod(purse.bill_action)
    bill_words = staticmethod(purse.bill_words)
    bill_signature = staticmethod(purse.bill_signature)

    def create_call(
        self, message: Mapping[str, str], targets: Sequence[Target], signature: str
    ) -> Call:
        """Calldata of the factory's create."""
        calls, probes = eip712.listed(targets)
        args = (terms(message), calls, probes, signatures.on_chain_form(signature))
        return Call(
            self.chain_id,
            self.configured(VAULTS, self.factory),
            abi_codec.calldata("MandateVaultFactory", "create", args),
        )

    def vault_call(self, vault: str, function: VaultFunction, *args: abi_codec.AbiValue) -> Call:
        """Calldata of a vault function."""
        return Call(self.chain_id, vault, abi_codec.calldata("MandateVault", function, args))

    def approve_call(self, spender: str, amount: Usdc) -> Call:
        """Calldata of USDC approve."""
        data = _APPROVE + encode(["address", "uint256"], [spender, amount.micros])
        return Call(self.chain_id, self.configured(USDC, self.usdc), "0x" + data.hex())

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
        """Decode the action from calldata of the vault's execute calls; None for other calldata."""
        call = self.execution(data)
        return None if call is None else self.action(vault, *call)

    def execution(self, data: str) -> tuple[str, str, Usdc] | None:
        """(target, data, approve amount) of the vault's execute calls; None for other calldata."""
        return abi_codec.execution(data)

    def approve_action(
        self, factory: str, mandate: str, action_hash: str, until: int
    ) -> dict[str, object]:
        """Typed data that the owner signs to approve one action."""
        return eip712.approve_action(self.chain_id, factory, mandate, action_hash, until)

    def purse_hub(self, terms: PurseTerms) -> str:
        """The hub whose address commits to a purse's limits. Errors: `not_configured`."""
        if terms.is_plain:
            return self.configured(PAYMENTS, self.plain_hub)
        deployer = self.configured(PAYMENTS, self.facts.purse_deployer)
        return purse.hub_address(deployer, self.configured(VAULTS, self.factory), terms)

    def hub_call(self, terms: PurseTerms) -> Call:
        """The call that makes the hub of a purse's limits, whoever sends it."""
        deployer = self.configured(PAYMENTS, self.facts.purse_deployer)
        data = abi_codec.calldata("PurseHubDeployer", "deploy", (purse.policy(terms),))
        return Call(self.chain_id, deployer, data)

    def bill_typed_data(self, payer: str, token: TokenDomain, bill: BillTerms) -> dict[str, object]:
        """The typed data of a bill that the agent signs."""
        usdc = self.configured(USDC, self.usdc)
        return purse.bill_typed_data(self.chain_id, usdc, token, payer, bill)

    def token_separator(self, token: TokenDomain) -> str:
        """The EIP-712 domain separator of USDC under this name and version, 0x hex."""
        return purse.token_separator(self.chain_id, self.configured(USDC, self.usdc), token)

    def purse_call(self, function: PurseFunction, amount: Usdc = ZERO) -> str:
        """Calldata of a hub's `fund(uint256)` or `drain()`."""
        if function == "fund":
            return abi_codec.function_call("fund(uint256)", [amount])
        return abi_codec.function_call("drain()", [])

    def sweep_call(self, hub: str, vault: str) -> Call:
        """Calldata by which anybody sends the owner what lies in the purse of a settled vault."""
        return Call(self.chain_id, hub, abi_codec.calldata("PurseHub", "sweep", (vault,)))

    def void_call(self, purse: str) -> Call:
        """Calldata of a purse's `void()`, which its owner or agent sends."""
        return Call(self.chain_id, purse, abi_codec.calldata("Purse", "void", ()))

    def purse_logs(
        self, receipt: Receipt, purses: Mapping[str, PurseFacts]
    ) -> tuple[VaultLog, ...]:
        """The logs of some purses in a transaction; `purses` by address in lower case."""
        return tuple(paired(receipt.purse_logs, purses))

    def configured(self, subject: str, value: str | None) -> str:
        """Require a setting; `subject` what it is for, with a place for the chain's number.

        Errors: `not_configured` where it is unset.
        """
        if value is None:
            raise Refused(refusal("not_configured", what=subject.format(self.chain_id)))
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

    def purse_log(self, log: decoding.Log, block: BlockStamp) -> VaultLog | None:
        """One log of USDC or of a hub of purses as it stands, before the logs of purses are made of
        them (`chain.contracts.purse_logs`); None for any other.
        """
        address, name, args = abi_codec.checksummed(log.address), "", dict[str, object]()
        if address != self.usdc:
            name, args = abi_codec.decode_log("PurseHub", log.topics, log.data) or ("", args)
            if name not in abi_codec.HUB_EVENTS:
                return None
        elif used := abi_codec.authorization_used(log.topics):
            name, args = "AuthorizationUsed", dict(zip(("purse", "nonce"), used, strict=True))
        elif moved := self.transfer(log):
            name = "Transfer"
            args = {"from": moved.sender, "to": moved.recipient, "amount": moved.amount}
        if not name or any(isinstance(v := args.get(n), int) and v > LIMIT_MICROS for n in _PUT):
            return None
        mandate = args.get("mandate")
        told_by = mandate if isinstance(mandate, str) else None
        return VaultLog(name, address, told_by, args, log.tx_hash, log.index, block)

    def transfer(self, log: decoding.Log) -> TransferLog | None:
        """Decode one ERC-20 transfer; None for any other log."""
        decoded = abi_codec.transfer_log(log.address, log.topics, log.data, log.index)
        if decoded is not None and decoded.amount > LIMIT_MICROS:
            if decoded.token == self.usdc:
                self._leave_out(decoded.token, "Transfer")
            return None
        return decoded

    def _leave_out(self, address: str, name: str) -> None:
        """Count a log whose amount exceeds all USDC: no column could hold a sum of it."""
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
