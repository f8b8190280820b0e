"""The `Chain` port over a JSON-RPC node, and the configured chains."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Final, Literal

from eth_abi import encode
from eth_abi.exceptions import DecodingError
from eth_utils import is_checksum_address, keccak, to_checksum_address

from chain.contracts import abi_codec, signatures
from chain.networks import NETWORKS
from chain.offline_chain import CALL_MS, ChainConfig
from chain.paymaster import Paymaster, inner_calls
from chain.quorum import dissent, majority, quorum_read, until
from chain.reads import receipt_batches, receipts, vault_states
from chain.reads.blocks import CALL_GAS, BlockReader, pinned
from chain.reads.sent_transactions import transactions_to
from chain.reads.vault_state_cache import VaultStateCache
from chain.rpc.deadlines import deadline
from chain.rpc.errors import NodeError
from chain.rpc.node_pool import FAULTS, NodePool
from domain.chain_facts import (
    BlockStamp,
    Call,
    InnerCall,
    Receipt,
    Revert,
    SentTransactions,
    SignerCheck,
    Simulation,
    VaultLog,
    VaultState,
)
from domain.mandates.targets import Target
from domain.money import Usdc
from domain.refusals import Refused, refusal

__all__ = ["ChainConfig", "EvmChain", "EvmChains"]

_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")
_REDEEM: Final = "0x" + keccak(text="redeem(uint256,address,address)")[:4].hex()


class EvmChain(BlockReader):
    """One chain, as `domain.ports.Chain` describes it."""

    def __init__(self, facts: ChainConfig, nodes: NodePool | None = None):
        super().__init__(facts, nodes)
        self._views: tuple[EvmChain, ...] = ()
        self._asks: dict[str, bool] = {}
        self._last = VaultStateCache(lambda vaults: self.vault_states(vaults, agreed=True))
        self._paymaster = (
            Paymaster(facts.paymaster_url, facts.chain_id) if facts.paymaster_url else None
        )

    @property
    def asks_several(self) -> bool:
        """True where more than one node is configured."""
        return self.rpc is not None and len(self.rpc.each) > 1

    @property
    def sponsors(self) -> bool:
        """True where a paymaster is configured."""
        return self._paymaster is not None

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
        request = signatures.question(hashed, raw, signer)
        if self.rpc is None or request is None or not raw:
            return None
        return await quorum_read(
            self,
            "a signature",
            lambda view: view._checked(request),
            alike=lambda check: None if check is None else check.signer_type,
        )

    async def _checked(self, request: signatures.SignerQuery) -> SignerCheck | None:
        """What the newest block says of a signature by code."""
        rpc, block = self.node(), await self.latest()
        try:
            answer = await rpc.ask(
                "eth_call", {"data": request.data, "gas": CALL_GAS}, pinned(block)
            )
        except NodeError as fault:
            if not fault.reverted:
                raise rpc.unavailable(f"the signature cannot be checked: {fault}") from None
            return None
        return SignerCheck(request.kind, block.number) if answer == "0x01" else None

    @property
    def views(self) -> Sequence[EvmChain]:
        """The same chain through each of its nodes alone."""
        nodes = self.node().each
        if len(nodes) == 1:
            return (self,)
        if not self._views:
            alone = replace(self.facts, paymaster_url=None)
            self._views = tuple(EvmChain(alone, NodePool([rpc])) for rpc in nodes)
        return self._views

    async def vault_states(
        self,
        vaults: Sequence[str],
        *,
        agreed: bool = False,
        block: BlockStamp | None = None,
    ) -> Mapping[str, VaultState]:
        """Read many vaults at one block, the newest unless one is named; keys are the addresses as
        given. `agreed`: only what more than half of the configured nodes say.
        """
        if agreed and len(self.views) > 1:
            states = await vault_states.agreed_states(self, vaults, block)
        else:
            states = await vault_states.vault_states(self, vaults, block)
        if block is None and (agreed or not self.asks_several):
            self._last.keep(states)
        return states

    def short_deadline(self) -> AbstractContextManager[None]:
        """Within it the chain is waited for no longer than the setting says, in all."""
        return deadline(self.facts.read_ms)

    def last_known(self, vault: str) -> VaultState | None:
        """What a vault said when it was read last; it is read anew behind the caller's back."""
        self._last.catch_up(vault)
        return self._last.get(vault)

    @property
    def node_problem(self) -> str | None:
        """Why nothing of this chain is believed: its node serves another one, or its nodes have
        not agreed for a while.
        """
        others = [n.serves for n in self.rpc.each] if self.rpc else []
        if not others or any(n in (None, self.chain_id) for n in others):
            return self.rpc.trouble if self.rpc else None
        return f"its node serves chain {others[0]}"

    @property
    def complete(self) -> BlockStamp | None:
        """The block up to which the ledger has what the chain has."""
        return self.rpc.complete if self.rpc else None

    async def block(self, tag: int | str) -> BlockStamp | None:
        """Return a block by number, hash or tag, or None; one by number as more than half of the
        configured nodes name it.
        """
        if isinstance(tag, str) or not self.asks_several:
            return await super().block(tag)
        return await quorum_read(self, f"block {tag}", lambda view: view.block(tag))

    async def receipt(self, tx_hash: str) -> Receipt | None:
        """Return the mined transaction, its revert explained; None where nobody has seen it.

        Errors: `chain_unavailable` too where more than half of the nodes do not say the same of it.
        """
        if not self.asks_several:
            return await receipts.receipt(self, tx_hash)
        by_hash = await self.receipts([tx_hash])
        if tx_hash.lower() not in by_hash:
            raise self.node().unavailable("its nodes do not say the same of a transaction")
        receipt = by_hash[tx_hash.lower()]
        if receipt is None or receipt.ok:
            return receipt
        return replace(receipt, revert=await self._why_reverted(tx_hash))

    async def _why_reverted(self, tx_hash: str) -> Revert | None:
        async def why(view: EvmChain) -> Revert | None:
            receipt = await view.receipt(tx_hash)
            return None if receipt is None else receipt.revert

        try:
            return await quorum_read(self, "a revert", why)
        except Refused:
            return None

    async def receipts(self, tx_hashes: Sequence[str]) -> Mapping[str, Receipt | None]:
        """Many mined transactions in a few requests; one that nobody can read is left out, and one
        of which the nodes do not say the same.
        """
        if self.asks_several:
            return await receipt_batches.agreed_receipts(self, tx_hashes)
        return await receipt_batches.receipts(self, tx_hashes)

    async def is_pending(self, tx_hash: str) -> bool:
        """True for a transaction that the node knows and no block holds yet."""
        return await receipts.is_pending(self, tx_hash)

    async def sent(self, sender: str, to: str, after_block: int) -> SentTransactions:
        """What an account sent to a contract after a block, told by its nonces."""
        head = await (vault_states.agreed_head(self) if self.asks_several else self.latest())
        return await quorum_read(
            self,
            "what an account sent",
            lambda view: transactions_to(view, sender, to, after_block, head),
        )

    async def simulate(self, call: Call) -> Simulation:
        """Run the call at the newest block without sending it, as more than half of the configured
        nodes say that it ends. Its gas is the middle of theirs; where they are more than a quarter
        apart another node is asked.
        """

        def same(statement: Mapping[int, Simulation]) -> list[int]:
            ends = {n: (s.ok, s.revert and s.revert.name) for n, s in statement.items()}
            return majority(len(self.views), ends)

        def gases(statement: Mapping[int, Simulation]) -> list[int]:
            return sorted(statement[n].gas or 0 for n in same(statement))

        def enough(statement: Mapping[int, Simulation]) -> bool:
            estimates = gases(statement)
            return bool(estimates) and estimates[-1] * 4 <= estimates[0] * 5

        statement = await until(self, lambda view: view._simulated(call), enough)
        agreeing = same(statement)
        if not agreeing:
            raise self.node().unavailable("its nodes do not say the same of what a call does")
        dissent(self.node(), "what a call does", agreeing, statement)
        first = statement[agreeing[0]]
        if not first.ok:
            return first
        return replace(first, gas=gases(statement)[len(agreeing) // 2])

    async def _simulated(self, call: Call) -> Simulation:
        block = await self.latest()
        request = {"from": call.sender, "to": call.to, "data": call.data}
        request = {k: v for k, v in request.items() if v is not None}
        try:
            await self.node().ask("eth_call", {**request, "gas": CALL_GAS}, pinned(block))
            gas = self.node().number(await self.node().ask("eth_estimateGas", request))
        except NodeError as fault:
            if not fault.reverted:
                raise self.node().unavailable(f"the call cannot be tried: {fault}") from None
            return Simulation(False, receipts.revert_of(fault), None, block)
        return Simulation(True, None, gas, block)

    async def creation(self, public_id: str, digest: str, by: BlockStamp) -> VaultLog | None:
        """Find the factory's log of the vault of these terms, in `by` or the blocks before it."""
        return await quorum_read(
            self, "a creation", lambda view: receipts.creation(view, public_id, digest, by)
        )

    async def approvals_on_chain(self, factory: str) -> bool:
        """Ask a factory whether its vaults keep approvals, once."""
        if factory not in self._asks:
            self._asks[factory] = await quorum_read(
                self, "a factory", lambda view: view._asks_on_chain(factory)
            )
        return self._asks[factory]

    async def _asks_on_chain(self, factory: str) -> bool:
        data = abi_codec.calldata("MandateVaultFactory", "APPROVALS_ON_CHAIN", ())
        try:
            raw = await self.eth_call(factory, data, await self.latest())
            return bool(abi_codec.outputs("MandateVaultFactory", "APPROVALS_ON_CHAIN", raw)[0])
        except (NodeError, DecodingError) as error:
            raise self.node().unavailable(
                f"the factory does not answer ({type(error).__name__})"
            ) from None

    async def usdc_balances(self, holders: Sequence[str]) -> Mapping[str, Usdc]:
        """Read USDC balances at the newest block that the nodes agree on, as most of them say."""
        several = self.asks_several
        block = await (vault_states.agreed_head(self) if several else self.latest())
        return {holder: await self._agreed_balance(holder, block) for holder in holders}

    async def _agreed_balance(self, holder: str, block: BlockStamp) -> Usdc:
        return Usdc(await quorum_read(self, "a balance", lambda view: view.balance(holder, block)))

    async def exit_data(self, target: Target, holder: str, block: BlockStamp) -> str | None:
        """Calldata that takes a whole ERC-4626 position out as it stands at a block, None where
        `target` is no such exit or nothing is held.
        """
        if target.kind != "contract" or target.address is None or target.selector != _REDEEM:
            return None
        at = target.address
        shares = await quorum_read(self, "a holding", lambda view: view.holding(at, holder, block))
        if not shares:
            return None
        return _REDEEM + encode(["uint256", "address", "address"], [shares, holder, holder]).hex()

    def inner_calls(self, call_data: str) -> Sequence[InnerCall] | None:
        """What a smart account's calldata does; None where it is of no known form."""
        return inner_calls(call_data)

    async def paymaster_data(
        self,
        method: Literal["pm_getPaymasterStubData", "pm_getPaymasterData"],
        user_op: Mapping[str, object],
        entry_point: str,
    ) -> dict[str, object]:
        """The paymaster's fields for a user operation (ERC-7677)."""
        if self._paymaster is None:
            raise Refused(refusal("not_configured", what=f"a paymaster of chain {self.chain_id}"))
        return await self._paymaster.ask(method, user_op, entry_point)

    async def close(self) -> None:
        """Close the connections."""
        await self._last.close()
        for open_ in (self.rpc, self._paymaster):
            if open_:
                await open_.close()


class EvmChains:
    """The configured chains, and addresses in their one form."""

    def __init__(self, facts: Sequence[ChainConfig]):
        self._chains = {f.chain_id: EvmChain(f) for f in facts}
        self._call_ms = max((f.call_ms for f in facts), default=CALL_MS)
        # A known network answers its pure questions even before an operator sets anything.
        for network in NETWORKS.values():
            self._chains.setdefault(
                network.chain_id,
                EvmChain(
                    ChainConfig(
                        network.chain_id,
                        usdc=network.usdc,
                        explorer=network.explorer,
                        confirmations=network.confirmations,
                        name=network.name,
                        public_rpc=network.public_rpc,
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

    def request_deadline(self) -> AbstractContextManager[None]:
        """Within it a request waits for chains no longer than the setting says, in all."""
        return deadline(self._call_ms)

    def node_problem(self) -> Mapping[int, str]:
        """The chains of which nothing is believed, and why."""
        return {c.chain_id: c.node_problem for c in self._chains.values() if c.node_problem}

    def faults(self) -> Mapping[int, Mapping[int, str]]:
        """What is wrong with nodes, by chain and by the node's place in the settings."""
        raw = {c.chain_id: dict(c.node().fault_names()) for c in self.with_rpc()}
        return {chain_id: nodes for chain_id, nodes in raw.items() if nodes}

    def gauges(self) -> Mapping[str, int]:
        """For the metrics: which nodes are left alone, which serve another chain, and how often one
        was given up by those who cannot wait.
        """
        raw: dict[str, int] = {}
        for chain in self.with_rpc():
            left_out = sum(each.left_out for each in {chain, *chain.views})
            raw[f'wallet_chain_logs_left_out_total{{chain="{chain.chain_id}"}}'] = left_out
            for n, rpc in enumerate(chain.node().each, start=1):
                of = f'{{chain="{chain.chain_id}",node="{n}"}}'
                raw[f"wallet_chain_node_open{of}"] = int(rpc.is_open)
                raw[f"wallet_chain_node_given_up_total{of}"] = rpc.given_up
                other = rpc.serves not in (None, chain.chain_id)
                raw[f"wallet_chain_node_serves_another{of}"] = int(other)
                for fault in FAULTS:
                    own = f'{of[:-1]},fault="{fault}"}}'
                    there = fault in chain.node().faults[n - 1]
                    raw[f"wallet_chain_node_fault{own}"] = int(there)
        return raw

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
