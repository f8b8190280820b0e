"""The `Chain` port over JSON-RPC nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Literal

from eth_abi.exceptions import DecodingError
from eth_utils import to_checksum_address

from chain.contracts import abi_codec, signatures
from chain.networks import ChainConfig
from chain.paymaster import Paymaster, inner_calls
from chain.quorum import majority, note_dissent, query_until, quorum_read
from chain.reads import positions, purse_states, receipts, sending, token_domain, vault_states
from chain.reads.blocks import CALL_GAS, BlockReader, pinned
from chain.reads.sent_transactions import transaction_of_nonce, transactions_to
from chain.reads.vault_state_cache import VaultStateCache
from chain.rpc.deadlines import deadline
from chain.rpc.errors import NodeError
from chain.rpc.node_pool import FAULTS, NodePool
from domain.chain_facts import (
    BlockStamp,
    Call,
    PurseState,
    Receipt,
    SendingFacts,
    SentTransactions,
    SignedTransaction,
    SignerCheck,
    Simulation,
    VaultLog,
    VaultState,
)
from domain.mandates.market_exits import MarketPosition
from domain.mandates.purses import TokenDomain
from domain.money import LIMIT_MICROS, Usdc
from domain.refusals import Refused, refusal

__all__ = ["ChainConfig", "EvmChain"]


class EvmChain(BlockReader):
    """The `domain.ports.Chain` port for one chain."""

    def __init__(self, facts: ChainConfig, nodes: NodePool | None = None):
        super().__init__(facts, nodes)
        self._views: tuple[EvmChain, ...] = ()
        self._approvals_on_chain: dict[str, bool] = {}
        self._token: TokenDomain | None = None
        self._state_cache = VaultStateCache(lambda vaults: self.vault_states(vaults, agreed=True))
        self._paymaster = (
            Paymaster(facts.paymaster_url, facts.chain_id) if facts.paymaster_url else None
        )

    @property
    def asks_several(self) -> bool:
        """True where more than one node is configured."""
        return self.rpc is not None and len(self.rpc.clients) > 1

    @property
    def sponsors(self) -> bool:
        """True where a paymaster is configured."""
        return self._paymaster is not None

    async def check_signature(self, digest: str, signature: str, signer: str) -> SignerCheck | None:
        """Check that `signature` proves `signer`; None where it does not."""
        try:
            raw, digest_bytes = (
                bytes.fromhex(signature.removeprefix("0x")),
                bytes.fromhex(digest.removeprefix("0x")),
            )
        except ValueError:
            return None
        if signatures.recover(digest_bytes, raw) == to_checksum_address(signer):
            return SignerCheck("eoa", None)
        request = signatures.question(digest_bytes, raw, signer)
        if self.rpc is None or request is None or not raw:
            return None
        return await quorum_read(
            self,
            "a signature",
            lambda view: view._check_by_code(request),
            compared=lambda check: None if check is None else check.signer_type,
        )

    async def _check_by_code(self, request: signatures.SignerQuery) -> SignerCheck | None:
        """Run the signer contract's check (ERC-1271 or ERC-6492) at the newest block."""
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
        """One view of the chain for each of its nodes."""
        nodes = self.node().clients
        if len(nodes) == 1:
            return (self,)
        if not self._views:
            facts = replace(self.facts, paymaster_url=None)
            self._views = tuple(EvmChain(facts, NodePool([rpc])) for rpc in nodes)
        return self._views

    async def vault_states(
        self,
        vaults: Sequence[str],
        *,
        agreed: bool = False,
        block: BlockStamp | None = None,
    ) -> Mapping[str, VaultState]:
        """Read many vaults at one block, the newest unless one is given; keys are the addresses as
        given. `agreed` returns only states that more than half of the configured nodes give.
        """
        if agreed and len(self.views) > 1:
            states = await vault_states.agreed_states(self, vaults, block)
        else:
            states = await vault_states.vault_states(self, vaults, block)
        if block is None and (agreed or not self.asks_several):
            self._state_cache.keep(states)
        return states

    async def purse_states(
        self,
        purses: Sequence[str],
        *,
        block: BlockStamp | None = None,
        nonces: Sequence[str] = (),
    ) -> Mapping[str, PurseState]:
        """Read many purses at one block, the newest unless one is given, by address in lower case,
        and which of some nonces are used; one on which more than half of the nodes do not agree is
        left out.

        Errors: `chain_unavailable` where there is none on which they agree.
        """
        if not purses:
            return {}
        if self.asks_several:
            return await purse_states.agreed_states(self, purses, block, nonces)
        at = block if block is not None else await self.latest()
        return await purse_states.purse_states(self, purses, at, nonces)

    def short_deadline(self) -> AbstractContextManager[None]:
        """Context in which all reads of the chain together wait no longer than `read_ms`."""
        return deadline(self.facts.read_ms)

    def last_known(self, vault: str) -> VaultState | None:
        """The vault state of the last successful read; a new read starts in the background."""
        self._state_cache.catch_up(vault)
        return self._state_cache.get(vault)

    @property
    def node_problem(self) -> str | None:
        """The reason why no answer of this chain is used: its node serves another chain, or its
        nodes have not agreed for a while. None otherwise.
        """
        served_chains = [n.serves for n in self.rpc.clients] if self.rpc else []
        if not served_chains or any(n in (None, self.chain_id) for n in served_chains):
            return self.rpc.trouble if self.rpc else None
        return f"its node serves chain {served_chains[0]}"

    @property
    def complete(self) -> BlockStamp | None:
        """The block up to which the ledger is complete."""
        return self.rpc.complete if self.rpc else None

    async def block(self, tag: int | str) -> BlockStamp | None:
        """Return a block by number, hash or tag, or None; one by number as a majority names it."""
        if isinstance(tag, str) or not self.asks_several:
            return await super().block(tag)
        return await quorum_read(self, f"block {tag}", lambda view: view.block(tag))

    async def receipt(self, tx_hash: str) -> Receipt | None:
        """Return the mined transaction with its revert decoded; None where no node has it. Errors:
        `chain_unavailable` also where no majority of the nodes gives the same receipt.
        """
        by_hash = await self.receipts([tx_hash])
        if tx_hash.lower() not in by_hash:
            several = "its nodes do not say the same of a transaction"
            reason = several if self.asks_several else "a receipt that makes no sense"
            raise self.node().unavailable(reason)
        receipt = by_hash[tx_hash.lower()]
        if receipt is None or receipt.ok or receipt.data is None:
            return receipt
        try:
            revert = await quorum_read(
                self, "a revert", lambda view: receipts.revert_reason(view, receipt)
            )
        except Refused:
            if not self.asks_several:
                raise
            revert = None
        return replace(receipt, revert=revert)

    async def receipts(self, tx_hashes: Sequence[str]) -> Mapping[str, Receipt | None]:
        """Read many mined transactions at once, without those on which the nodes differ."""
        if self.asks_several:
            return await receipts.agreed_receipts(self, tx_hashes)
        return await receipts.receipts(self, tx_hashes)

    async def is_pending(self, tx_hash: str) -> bool:
        """True for a transaction that the node knows and no block holds yet."""
        return await receipts.is_pending(self, tx_hash)

    async def sent(self, sender: str, to: str, after_block: int) -> SentTransactions:
        """Transactions of `sender` to `to` after a block, derived from the account's nonces."""
        head = await (vault_states.agreed_head(self) if self.asks_several else self.latest())
        return await quorum_read(
            self,
            "what an account sent",
            lambda view: transactions_to(view, sender, to, after_block, head),
        )

    async def simulate(self, call: Call) -> Simulation:
        """Run the call at the newest block without sending it, and return the outcome of more than
        half of the configured nodes. The gas is the median of theirs; where estimates differ by
        more than a quarter another node is asked.
        """

        def agreeing_places(answers: Mapping[int, Simulation]) -> list[int]:
            ends = {n: (s.ok, s.revert and s.revert.name) for n, s in answers.items()}
            return majority(len(self.views), ends)

        def gases(answers: Mapping[int, Simulation]) -> list[int]:
            return sorted(answers[n].gas or 0 for n in agreeing_places(answers))

        def enough(answers: Mapping[int, Simulation]) -> bool:
            estimates = gases(answers)
            return bool(estimates) and estimates[-1] * 4 <= estimates[0] * 5

        answers = await query_until(self, lambda view: view._simulated(call), enough)
        agreeing = agreeing_places(answers)
        if not agreeing:
            raise self.node().unavailable("its nodes do not say the same of what a call does")
        note_dissent(self.node(), "what a call does", agreeing, answers)
        first = answers[agreeing[0]]
        if not first.ok:
            return first
        return replace(first, gas=gases(answers)[len(agreeing) // 2])

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

    async def transaction_of_nonce(self, sender: str, nonce: int) -> str | None:
        """The hash of the account's transaction with a nonce, once enough blocks follow it."""
        head = await (vault_states.agreed_head(self) if self.asks_several else self.latest())
        newest = head.number - self.confirmations
        return await quorum_read(
            self,
            "a nonce's transaction",
            lambda view: transaction_of_nonce(view, sender, nonce, newest),
        )

    async def sending_facts(self, address: str) -> SendingFacts:
        """Facts that an account sends by: its next nonce, its balance, the fees."""
        return await sending.sending_facts(self, address)

    async def broadcast(self, signed: SignedTransaction) -> None:
        """Hand signed bytes to every node. Errors: `chain_unavailable` where none accepts them."""
        await sending.broadcast(self, signed.raw)

    async def creation(self, public_id: str, digest: str, by: BlockStamp) -> VaultLog | None:
        """Find the factory's log of the vault of these terms, in `by` or the blocks before it."""
        return await quorum_read(
            self, "a creation", lambda view: receipts.creation(view, public_id, digest, by)
        )

    async def approvals_on_chain(self, factory: str) -> bool:
        """True where the factory's vaults store approvals on chain; read once per factory."""
        if factory not in self._approvals_on_chain:
            self._approvals_on_chain[factory] = await quorum_read(
                self, "a factory", lambda view: view._read_approvals_on_chain(factory)
            )
        return self._approvals_on_chain[factory]

    async def _read_approvals_on_chain(self, factory: str) -> bool:
        data = abi_codec.calldata("MandateVaultFactory", "APPROVALS_ON_CHAIN", ())
        try:
            raw = await self.eth_call(factory, data, await self.latest())
            return bool(abi_codec.outputs("MandateVaultFactory", "APPROVALS_ON_CHAIN", raw)[0])
        except (NodeError, DecodingError) as error:
            raise self.node().unavailable(
                f"the factory does not answer ({type(error).__name__})"
            ) from None

    async def usdc_balances(self, holders: Sequence[str]) -> Mapping[str, Usdc]:
        """Read USDC balances at the newest agreed block, as a majority of the nodes gives them."""
        block = await self._agreed_block()
        return {holder: await self._agreed_balance(holder, block) for holder in holders}

    async def _agreed_block(self) -> BlockStamp:
        return await (vault_states.agreed_head(self) if self.asks_several else self.latest())

    async def _agreed_balance(self, holder: str, block: BlockStamp) -> Usdc:
        return Usdc(await quorum_read(self, "a balance", lambda view: view.balance(holder, block)))

    async def market_position(
        self, market: str, share_token: str | None, holder: str
    ) -> MarketPosition:
        """Read a holder's position in an ERC-4626 market; with `share_token` in an Aave pool."""
        block = await self._agreed_block()
        if share_token is None:
            return await quorum_read(
                self,
                "a position",
                lambda view: positions.share_position(view, market, holder, block),
            )
        return await quorum_read(
            self,
            "a position",
            lambda view: positions.pool_position(view, share_token, holder, block),
        )

    async def token_domain(self) -> TokenDomain:
        """The name and version under which USDC takes signatures; they never change."""
        if self._token is None:
            block = await self._agreed_block()
            self._token = await quorum_read(
                self, "the token", lambda view: token_domain.token_domain(view, block)
            )
        return self._token

    async def returned(self, call: Call) -> Usdc | None:
        """The amount that a market's exit answers; None where it answers none that can be."""
        micros = await quorum_read(
            self, "what a call answers", lambda view: positions.answered(view, call)
        )
        return None if micros is None or micros > LIMIT_MICROS else Usdc(micros)

    inner_calls = staticmethod(inner_calls)

    async def paymaster_data(
        self,
        method: Literal["pm_getPaymasterStubData", "pm_getPaymasterData"],
        user_op: Mapping[str, object],
        entry_point: str,
    ) -> dict[str, object]:
        """Ask the paymaster for its fields of a user operation (ERC-7677)."""
        if self._paymaster is None:
            raise Refused(
                refusal("not_configured", what=f"gas sponsorship on chain {self.chain_id}")
            )
        return await self._paymaster.ask(method, user_op, entry_point)

    async def close(self) -> None:
        """Close the connections."""
        await self._state_cache.close()
        for connection in (self.rpc, self._paymaster):
            if connection:
                await connection.close()

    def gauges(self) -> Mapping[str, int]:
        """Metrics of the nodes: open breakers, wrong chains, timeouts, faults, logs left out."""
        if self.rpc is None:
            return {}
        left_out = sum(reader.left_out for reader in {self, *self.views})
        values = {f'wallet_chain_logs_left_out_total{{chain="{self.chain_id}"}}': left_out}
        for n, (client, faults) in enumerate(zip(self.rpc.clients, self.rpc.faults, strict=True)):
            labels = f'chain="{self.chain_id}",node="{n + 1}"'
            serves_another = client.serves not in (None, self.chain_id)
            values |= {
                f"wallet_chain_node_open{{{labels}}}": int(client.is_open),
                f"wallet_chain_node_given_up_total{{{labels}}}": client.given_up,
                f"wallet_chain_node_serves_another{{{labels}}}": int(serves_another),
            } | {
                f'wallet_chain_node_fault{{{labels},fault="{fault}"}}': int(fault in faults)
                for fault in FAULTS
            }
        return values
