"""The `Chain` port over a JSON-RPC node."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils import is_checksum_address, keccak, to_checksum_address

from chain import answers, codec, eip712, signatures
from chain.networks import NETWORKS
from chain.paymaster import Paymaster, inner_calls
from chain.rpc import Rpc, RpcFault
from domain.facts import (
    BlockStamp,
    Call,
    InnerCall,
    Receipt,
    Revert,
    SignerCheck,
    Simulation,
    VaultFunction,
    VaultLog,
    VaultState,
)
from domain.mandates.targets import Target
from domain.mandates.terms import FIELDS
from domain.money import Usdc
from domain.refusals import Refused, refusal

LENS_BATCH: Final = 200
LOOK_BACK: Final = 1_000
TAGS: Final = ("latest", "safe", "finalized", "earliest")
CALL_GAS: Final = hex(30_000_000)
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")
_BALANCE_OF: Final = keccak(text="balanceOf(address)")[:4]
_SINGLE: Final = (
    "stoppedAt",
    "settled",
    "stopReason",
    "agent",
    "spentToday",
    "totalDeposited",
    "totalSpent",
    "totalReturned",
    "feeOwed",
)
_REDEEM: Final = "0x" + keccak(text="redeem(uint256,address,address)")[:4].hex()
_APPROVE: Final = keccak(text="approve(address,uint256)")[:4]


@dataclass(frozen=True, slots=True)
class ChainFacts:
    """What the settings and the network table say of one chain."""

    chain_id: int
    rpc_url: str | None = None
    usdc: str | None = None
    factory: str | None = None
    lens: str | None = None
    explorer: str | None = None
    confirmations: int = 24
    start_block: int = 0
    paymaster_url: str | None = None


class EvmChain:
    """One chain, as `domain.ports.Chain` describes it."""

    def __init__(self, facts: ChainFacts):
        self.facts = facts
        self.rpc = Rpc(facts.rpc_url, facts.chain_id) if facts.rpc_url else None
        self._paymaster = (
            Paymaster(facts.paymaster_url, facts.chain_id) if facts.paymaster_url else None
        )
        self._highest = 0

    # -- what is known without asking
    # ------------------------------------------------------------------------

    @property
    def chain_id(self) -> int:
        """EIP-155 id."""
        return self.facts.chain_id

    @property
    def rpc_set(self) -> bool:
        """True where an RPC address is configured."""
        return self.rpc is not None

    @property
    def sponsors(self) -> bool:
        """True where a paymaster is configured."""
        return self._paymaster is not None

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

    def create_call(
        self, message: Mapping[str, Any], targets: Sequence[Target], signature: str
    ) -> Call:
        """Calldata of the factory's create."""
        calls, probes = eip712.listed(targets)
        args = (_terms(message), calls, probes, signatures.on_chain_form(signature))
        return Call(
            self.chain_id,
            self._configured("the vault factory", self.factory),
            codec.calldata("MandateVaultFactory", "create", args),
        )

    def vault_call(self, vault: str, function: VaultFunction, *args: Any) -> Call:
        """Calldata of a vault function."""
        return Call(self.chain_id, vault, codec.calldata("MandateVault", function, args))

    def approve_call(self, spender: str, amount: Usdc) -> Call:
        """Calldata of USDC approve."""
        data = _APPROVE + encode(["address", "uint256"], [spender, amount.micros])
        return Call(self.chain_id, self._configured("USDC", self.usdc), "0x" + data.hex())

    def action_hash(self, vault: str, target: str, data: str, approve_amount: Usdc) -> str:
        """What names one action, 0x hex."""
        return eip712.action_hash(vault, target, data, approve_amount.micros)

    def approve_action(self, mandate: str, action_hash: str, until: datetime) -> dict[str, Any]:
        """The typed data by which the owner approves one action."""
        factory = self._configured("the vault factory", self.factory)
        return eip712.approve_action(
            self.chain_id, factory, mandate, action_hash, int(until.timestamp())
        )

    def explain_call(self, data: str) -> Mapping[str, Any]:
        """Decode calldata of known functions; never raises."""
        return codec.explain(data)

    def _configured(self, what: str, value: str | None) -> str:
        if value is None:
            raise Refused(refusal("not_configured", what=f"{what} of chain {self.chain_id}"))
        return value

    def node(self) -> Rpc:
        """The node of this chain; `not_configured` without an RPC address."""
        if self.rpc is None:
            raise Refused(
                refusal("not_configured", what=f"an RPC address of chain {self.chain_id}")
            )
        return self.rpc

    # -- what the node says
    # ----------------------------------------------------------------------------------

    async def check_signature(self, digest: str, signature: str, signer: str) -> SignerCheck | None:
        """Say how `signature` proves `signer`, or None when it does not."""
        try:
            raw, hashed = (
                bytes.fromhex(signature.removeprefix("0x")),
                bytes.fromhex(digest.removeprefix("0x")),
            )
        except ValueError:
            return None
        if signatures.recover(hashed, raw) == to_checksum_address(signer):
            return SignerCheck("eoa", None)
        asked = signatures.question(hashed, raw, signer)
        if self.rpc is None or asked is None or not raw:
            return None
        block = await self.latest()
        try:
            answer = await self.rpc.ask(
                "eth_call", {"data": asked.data, "gas": CALL_GAS}, pinned(block)
            )
        except RpcFault as fault:
            if not fault.reverted:
                raise self.rpc.unavailable(f"the signature cannot be checked: {fault}") from None
            return None
        return SignerCheck(asked.kind, block.number) if answer == "0x01" else None

    async def latest(self) -> BlockStamp:
        """Return the newest block."""
        block = await self.block("latest")
        if block is None:
            raise self.node().unavailable("the node has no newest block")
        slack = 2 * self.facts.confirmations
        if slack and block.number + slack < self._highest:
            raise self.node().unavailable(
                f"the node is behind: block {block.number} after {self._highest}"
            )
        self._highest = max(self._highest, block.number)
        return block

    async def block(self, tag: int | str) -> BlockStamp | None:
        """Return a block by number, hash or tag, or None."""
        told = await self.header(tag)
        return None if told is None else told[0]

    async def header(self, tag: int | str) -> tuple[BlockStamp, str] | None:
        """A block and its parent's hash."""
        by_hash = isinstance(tag, str) and len(tag) == 66
        method = "eth_getBlockByHash" if by_hash else "eth_getBlockByNumber"
        told = await self.node().fact(method, hex(tag) if isinstance(tag, int) else tag, False)
        if told is None:
            return None
        try:
            block, parent = answers.stamp(told), answers.block_hash(told["parentHash"])
        except answers.NONSENSE:
            raise self.node().unavailable("a block without number, hash or time") from None
        if tag not in (block.number, block.hash) and tag not in TAGS:
            raise self.node().unavailable("another block than the one asked for")
        return block, parent

    async def eth_call(self, to: str, data: str, block: BlockStamp) -> bytes:
        """Run a view at one block.

        Errors: RpcFault for a revert, and for nothing else.
        """
        try:
            answer = await self.node().ask(
                "eth_call", {"to": to, "data": data, "gas": CALL_GAS}, pinned(block)
            )
            return answers.raw(answer)
        except RpcFault as fault:
            if fault.reverted:
                raise
            raise self.node().unavailable(f"eth_call refused: {fault}") from None
        except answers.NONSENSE:
            raise self.node().unavailable("an eth_call answer that is not hex") from None

    async def vault_states(self, vaults: Sequence[str]) -> Mapping[str, VaultState]:
        """Read many vaults at one block, by the lens where there is one; keys are the addresses as
        given.
        """
        lens = self.facts.lens
        block = await self.latest()
        if lens is None:
            return {v: await self._state_by_fields(v, block) for v in vaults}
        found: dict[str, VaultState] = {}
        for start in range(0, len(vaults), LENS_BATCH):
            batch = vaults[start : start + LENS_BATCH]
            try:
                raw = await self.eth_call(
                    lens, codec.calldata("VaultLens", "read", [tuple(batch)]), block
                )
                _, _, states = codec.outputs("VaultLens", "read", raw)
            except (RpcFault, DecodingError) as error:
                raise self.node().unavailable(
                    f"the lens does not answer ({type(error).__name__})"
                ) from None
            found |= {
                v: answers.vault_state(v, block, s) for v, s in zip(batch, states, strict=True)
            }
        return found

    async def _state_by_fields(self, vault: str, block: BlockStamp) -> VaultState:
        """The same without a lens: a call a field, all at one block."""

        async def view(name: str) -> tuple[Any, ...]:
            return codec.outputs(
                "MandateVault",
                name,
                await self.eth_call(vault, codec.calldata("MandateVault", name, ()), block),
            )

        try:
            if await self.node().ask("eth_getCode", vault, pinned(block)) in ("0x", None):
                return VaultState(vault, block, exists=False)
            cash, positions, floor, answered = await view("worth")
            withdrawable, reason, until = await view("lockStatus")
            one = {n: (await view(n))[0] for n in _SINGLE}
        except (RpcFault, DecodingError) as error:
            raise self.node().unavailable(
                f"the vault does not answer ({type(error).__name__})"
            ) from None
        balance = await self._balance(vault, block)
        told = (
            True,
            one["stoppedAt"] != 0,
            one["settled"],
            withdrawable,
            one["stopReason"],
            reason,
            one["agent"],
            until,
            cash,
            positions,
            floor,
            one["spentToday"],
            one["totalDeposited"],
            one["totalSpent"],
            one["totalReturned"],
            one["feeOwed"],
            balance,
            answered,
        )
        return answers.vault_state(vault, block, told)

    async def _balance(self, holder: str, block: BlockStamp) -> int:
        found = await self._holding(self._configured("USDC", self.usdc), holder, block)
        if found is None:
            raise self.node().unavailable("the USDC contract tells no balance")
        return found

    async def _holding(self, token: str, holder: str, block: BlockStamp) -> int | None:
        """ERC-20 balance in base units; None where the contract tells none, for an empty answer is
        not zero.
        """
        data = "0x" + (_BALANCE_OF + encode(["address"], [holder])).hex()
        try:
            told = await self.eth_call(token, data, block)
        except RpcFault:
            return None
        return int.from_bytes(told[:32], "big") if len(told) >= 32 else None

    async def receipt(self, tx_hash: str) -> Receipt | None:
        """Return the mined transaction, or None when the chain has not seen it; a revert is
        explained.
        """
        rpc = self.node()
        told = await rpc.fact("eth_getTransactionReceipt", tx_hash)
        if told is None:
            return None
        try:
            mined_in = answers.block_hash(told["blockHash"])
            if str(told["transactionHash"]).lower() != tx_hash.lower():
                raise ValueError("another receipt than the one asked for")
            block = await self.block(mined_in)
            if block is None:
                return None  # it was reorganised away between the two questions
            return await self._receipt(told, block)
        except answers.NONSENSE as error:
            raise rpc.unavailable(
                f"a receipt that makes no sense ({type(error).__name__})"
            ) from None

    async def _receipt(self, told: Mapping[str, Any], block: BlockStamp) -> Receipt:
        newest = await self.latest()
        ok = int(told["status"], 16) == 1
        transfers = (
            codec.transfer_log(
                g["address"], answers.topics(g), answers.raw(g["data"]), int(g["logIndex"], 16)
            )
            for g in told["logs"]
        )
        return Receipt(
            tx_hash=str(told["transactionHash"]).lower(),
            ok=ok,
            sender=to_checksum_address(told["from"]),
            to=to_checksum_address(told["to"]) if told.get("to") else None,
            block=block,
            depth=max(0, newest.number - block.number),
            logs=tuple(log for g in told["logs"] if (log := self.vault_log(g, block)) is not None),
            transfers=tuple(t for t in transfers if t is not None),
            revert=None if ok else await self._why_reverted(told, block),
        )

    async def waiting(self, tx_hash: str) -> bool:
        """True for a transaction that the node knows and no block holds yet."""
        told = await self.node().ask("eth_getTransactionByHash", tx_hash)
        return told is not None and told.get("blockNumber") is None

    async def _why_reverted(self, told: Mapping[str, Any], block: BlockStamp) -> Revert | None:
        """Replay the transaction on its parent block: the receipt itself does not keep the reason.

        None where the replay does not fail, or the node no longer keeps the state of that block.
        """
        sent = await self.node().fact("eth_getTransactionByHash", told["transactionHash"])
        if not sent or not sent.get("to"):
            return None
        call = {n: sent[n] for n in ("from", "to", "gas", "value", "input")}
        try:
            await self.node().ask("eth_call", call, hex(max(0, block.number - 1)))
        except RpcFault as fault:
            return _revert(fault) if fault.reverted else None
        return None

    def vault_log(self, raw: Mapping[str, Any], block: BlockStamp) -> VaultLog | None:
        """Decode one JSON-RPC log of a vault or of our factory; None for any other."""
        topics, data = answers.topics(raw), answers.raw(raw["data"])
        address = to_checksum_address(raw["address"])
        of_factory = self.factory is not None and address == self.factory
        told = codec.decode_log(
            "MandateVaultFactory" if of_factory else "MandateVault", topics, data
        )
        if told is None:
            return None
        name, args = told
        mandate = args.get("digest") if of_factory else args.get("mandate")
        tx_hash, index = str(raw["transactionHash"]).lower(), int(raw["logIndex"], 16)
        return VaultLog(name, address, mandate, args, tx_hash, index, block)

    async def simulate(self, call: Call) -> Simulation:
        """Run the call at the newest block without sending it."""
        block = await self.latest()
        asked = {"from": call.sender, "to": call.to, "data": call.data}
        asked = {k: v for k, v in asked.items() if v is not None}
        try:
            await self.node().ask("eth_call", {**asked, "gas": CALL_GAS}, pinned(block))
            gas = self.node().number(await self.node().ask("eth_estimateGas", asked))
        except RpcFault as fault:
            if not fault.reverted:
                raise self.node().unavailable(f"the call cannot be tried: {fault}") from None
            return Simulation(False, _revert(fault), None, block)
        return Simulation(True, None, gas, block)

    async def predict_vault(self, message: Mapping[str, Any], targets: Sequence[Target]) -> str:
        """Ask the factory for the address that `create` gives."""
        calls, probes = eip712.listed(targets)
        data = codec.calldata("MandateVaultFactory", "predict", (_terms(message), calls, probes))
        factory = self._configured("the vault factory", self.factory)
        try:
            raw = await self.eth_call(factory, data, await self.latest())
            return str(to_checksum_address(decode(["address"], raw)[0]))
        except (RpcFault, DecodingError) as error:
            raise self.node().unavailable(
                f"the factory does not answer ({type(error).__name__})"
            ) from None

    async def creation(self, public_id: str, digest: str, by: BlockStamp) -> VaultLog | None:
        """Find the factory's log of the vault of these terms, in `by` or the blocks before it."""
        low = max(self.facts.start_block, by.number - LOOK_BACK, 0)
        named = [
            list(codec.event_topics("MandateVaultFactory")),
            "0x" + keccak(text=public_id).hex(),
        ]
        factory = self._configured("the vault factory", self.factory)
        asked = {
            "address": factory,
            "topics": named,
            "fromBlock": hex(low),
            "toBlock": hex(by.number),
        }
        try:
            for raw in await self.node().ask("eth_getLogs", asked):
                block = await self.block(int(raw["blockNumber"], 16))
                if block is None or answers.block_hash(raw["blockHash"]) != block.hash:
                    continue
                log = self.vault_log(raw, block)
                if log is not None and log.args["digest"] == digest:
                    return log
        except (RpcFault, *answers.NONSENSE) as error:
            raise self.node().unavailable(
                f"the vault's creation cannot be looked for ({type(error).__name__})"
            ) from None
        return None

    async def approvals_on_chain(self) -> bool:
        """Ask the factory whether its vaults keep approvals."""
        factory = self._configured("the vault factory", self.factory)
        data = codec.calldata("MandateVaultFactory", "APPROVALS_ON_CHAIN", ())
        try:
            raw = await self.eth_call(factory, data, await self.latest())
            return bool(codec.outputs("MandateVaultFactory", "APPROVALS_ON_CHAIN", raw)[0])
        except (RpcFault, DecodingError) as error:
            raise self.node().unavailable(
                f"the factory does not answer ({type(error).__name__})"
            ) from None

    async def usdc_balances(self, holders: Sequence[str]) -> Mapping[str, Usdc]:
        """Read USDC balances at the newest block."""
        block = await self.latest()
        return {holder: Usdc(await self._balance(holder, block)) for holder in holders}

    async def exit_data(self, target: Target, holder: str) -> str | None:
        """Calldata that takes a whole ERC-4626 position out, None where `target` is no such exit
        or nothing is held.
        """
        if target.kind != "contract" or target.address is None or target.selector != _REDEEM:
            return None
        shares = await self._holding(target.address, holder, await self.latest())
        if not shares:
            return None
        return _REDEEM + encode(["uint256", "address", "address"], [shares, holder, holder]).hex()

    def inner_calls(self, call_data: str) -> Sequence[InnerCall] | None:
        """What a smart account's calldata does; None where it is of no known form."""
        return inner_calls(call_data)

    async def paymaster_data(
        self,
        method: Literal["pm_getPaymasterStubData", "pm_getPaymasterData"],
        user_op: Mapping[str, Any],
        entry_point: str,
    ) -> dict[str, Any]:
        """The paymaster's fields for a user operation (ERC-7677)."""
        if self._paymaster is None:
            raise Refused(refusal("not_configured", what=f"a paymaster of chain {self.chain_id}"))
        return await self._paymaster.ask(method, user_op, entry_point)

    async def close(self) -> None:
        """Close the connections."""
        for open_ in (self.rpc, self._paymaster):
            if open_:
                await open_.close()


class EvmChains:
    """The configured chains, and addresses in their one form."""

    def __init__(self, facts: Sequence[ChainFacts]):
        self._chains = {f.chain_id: EvmChain(f) for f in facts}
        # A known network answers its pure questions even before an operator sets anything.
        for network in NETWORKS.values():
            self._chains.setdefault(
                network.chain_id,
                EvmChain(
                    ChainFacts(
                        network.chain_id,
                        usdc=network.usdc,
                        explorer=network.explorer,
                        confirmations=network.confirmations,
                    )
                ),
            )

    def get(self, chain_id: int) -> EvmChain:
        """Return the chain; `not_configured` for an id that no setting names."""
        chain = self._chains.get(chain_id)
        if chain is None:
            raise Refused(refusal("not_configured", what=f"chain {chain_id}"))
        return chain

    def ids(self) -> Sequence[int]:
        """Ids of the configured chains."""
        return tuple(self._chains)

    def with_rpc(self) -> Sequence[EvmChain]:
        """The chains that can be read."""
        return tuple(c for c in self._chains.values() if c.rpc_set)

    def address(self, text: str) -> str:
        """Return the EIP-55 form of an address given in any case."""
        if not isinstance(text, str) or not _ADDRESS.fullmatch(text):
            raise Refused(
                refusal(
                    "invalid_address", value=repr(text)[:60], why="it is not 0x and 40 hex digits"
                )
            )
        digits = text[2:]
        if digits not in (digits.lower(), digits.upper()) and not is_checksum_address(text):
            raise Refused(
                refusal("invalid_address", value=repr(text), why="its EIP-55 checksum is wrong")
            )
        return str(to_checksum_address(text))

    async def close(self) -> None:
        """Close every connection."""
        for chain in self._chains.values():
            await chain.close()


def pinned(block: BlockStamp) -> dict[str, str]:
    """The block parameter of a state read (EIP-1898): by hash, so that another node's other block
    cannot answer.
    """
    return {"blockHash": block.hash}


def _revert(fault: RpcFault) -> Revert:
    return (
        codec.decode_revert(fault.data)
        if fault.data
        else Revert("Unknown", {"message": str(fault)}, None)
    )


def _terms(message: Mapping[str, Any]) -> tuple[Any, ...]:
    """The MandateTerms tuple out of a typed-data message, whose integers are decimal strings."""
    return tuple(_typed(kind, message[name]) for name, kind in FIELDS["2"])


def _typed(kind: str, value: Any) -> Any:
    if kind.startswith("uint"):
        return int(value)
    return bytes.fromhex(value[2:]) if kind == "bytes32" else value
