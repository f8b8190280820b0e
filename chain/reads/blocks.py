"""Block reader: blocks and contract calls at one block, the base of all other reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from eth_abi import encode
from eth_utils import keccak

from chain.networks import USDC, ChainConfig
from chain.offline_chain import OfflineChain
from chain.rpc import decoding
from chain.rpc.client import RpcClient
from chain.rpc.decoding import Header
from chain.rpc.errors import NodeError
from chain.rpc.node_pool import NodePool
from domain.chain_facts import BlockStamp
from domain.refusals import Refused, refusal

TAGS: Final = ("latest", "safe", "finalized", "earliest")
DRIFT: Final = timedelta(seconds=60)
CALL_GAS: Final = hex(30_000_000)
_BALANCE_OF: Final = keccak(text="balanceOf(address)")[:4]


class BlockReader(OfflineChain):
    """A chain with nodes; every read of state names its block."""

    def __init__(self, facts: ChainConfig, nodes: NodePool | None = None):
        super().__init__(facts)
        if nodes is None and facts.nodes:
            nodes = NodePool([RpcClient(url, facts.chain_id) for url in facts.nodes])
        self.rpc = nodes
        self._highest: BlockStamp | None = None

    @property
    def rpc_set(self) -> bool:
        """True where an RPC address is configured."""
        return self.rpc is not None

    def node(self) -> NodePool:
        """The node pool of this chain. Errors: `not_configured` without an RPC address."""
        if self.rpc is None:
            raise Refused(refusal("not_configured", what=f"reading chain {self.chain_id}"))
        return self.rpc

    async def latest(self) -> BlockStamp:
        """Return the newest block."""
        return (await self.newest()).block

    async def newest(self) -> Header:
        """The newest block with its parent's hash. Its time is not checked against the clock here:
        no ledger row is made of it, and a wrong time alone must not stop the keeper.
        """
        header = await self._read_header("latest")
        if header is None:
            raise self.node().unavailable("the node has no newest block")
        block, slack, highest = header.block, 2 * self.facts.confirmations, self._highest
        if highest is None or block.number >= highest.number or block.at > highest.at:
            # What stands in a later time is no older block: one that claimed more was not ours.
            self._highest = block
        elif slack and block.number + slack < highest.number:
            raise self.node().unavailable(
                f"the node is behind: block {block.number} after {highest.number}"
            )
        return header

    def forget_ahead(self, *, now: datetime | None = None, agreed: int | None = None) -> None:
        """Forget a remembered newest block that cannot exist: one from the future, or far above the
        agreed one. Every honest block would look old beside it.
        """
        highest = self._highest
        if highest is None:
            return
        too_late = now is not None and highest.at > now + DRIFT
        if too_late or (
            agreed is not None and highest.number > agreed + 2 * self.facts.confirmations
        ):
            self._highest = None

    async def block(self, tag: int | str) -> BlockStamp | None:
        """Return a block by number, hash or tag, or None."""
        header = await self.header(tag)
        return None if header is None else header.block

    async def header(self, tag: int | str) -> Header | None:
        """A block and its parent's hash. Errors: `chain_unavailable`, also for a wrong hash."""
        header = await self._read_header(tag)
        return None if header is None else await self._proved(header)

    async def blocks(self, *numbers: int) -> tuple[BlockStamp | None, ...]:
        """Blocks by number, in one request; None for each that does not exist."""
        answers = await self.node().facts(
            [("eth_getBlockByNumber", [hex(number), False]) for number in numbers]
        )
        stamps = [
            None if raw is None else self._header(raw, n)
            for n, raw in zip(numbers, answers, strict=True)
        ]
        return tuple([None if raw is None else (await self._proved(raw)).block for raw in stamps])

    async def blocks_of(self, hashes: Sequence[str]) -> dict[str, BlockStamp]:
        """Blocks by hash, in one request, without those that the node does not have. Errors:
        `chain_unavailable`, also for a header that does not hash to its block's name.
        """
        if not hashes:
            return {}
        answers = await self.node().facts(
            [("eth_getBlockByHash", [block_hash, False]) for block_hash in hashes]
        )
        return {
            h: (await self._proved(self._header(raw, h))).block
            for h, raw in zip(hashes, answers, strict=True)
            if raw is not None
        }

    async def _read_header(self, tag: int | str) -> Header | None:
        by_hash = isinstance(tag, str) and len(tag) == 66
        method = "eth_getBlockByHash" if by_hash else "eth_getBlockByNumber"
        raw = await self.node().fact(method, hex(tag) if isinstance(tag, int) else tag, False)
        return None if raw is None else self._header(raw, tag)

    async def headers(
        self, numbers: Iterable[int], *, require_all_fields: bool = False
    ) -> dict[int, Header]:
        """Headers by block number, in one request, lowest first. `require_all_fields`: each must
        hold all fields, so that its hash can be checked.

        Errors: `chain_unavailable` where a block is missing, or does not hash to its name.
        """
        heights = sorted(numbers)
        answers = await self.node().facts(
            [("eth_getBlockByNumber", [hex(number), False]) for number in heights]
        )
        if None in answers:
            raise self.node().unavailable("a block in the middle of the chain is missing")
        return {
            n: await self._proved(self._header(raw, n), require_all_fields=require_all_fields)
            for n, raw in zip(heights, answers, strict=True)
        }

    async def _proved(self, header: Header, *, require_all_fields: bool = False) -> Header:
        if header.proved is False or (require_all_fields and header.proved is None):
            await self.node().prove()  # it may be another chain's by now
            raise self.node().unavailable("a header that does not hash to its block's name")
        return header

    def _header(self, raw: object, tag: int | str) -> Header:
        try:
            header = decoding.header(raw)
        except decoding.NONSENSE:
            raise self.node().unavailable("a block without number, hash or time") from None
        if tag not in (header.block.number, header.block.hash) and tag not in TAGS:
            raise self.node().unavailable("another block than the one asked for")
        return header

    async def eth_call(self, to: str, data: str, block: BlockStamp) -> bytes:
        """Run a view function at one block. Errors: NodeError for a revert, and for nothing else;
        `chain_unavailable` otherwise.
        """
        try:
            answer = await self.node().ask(
                "eth_call", {"to": to, "data": data, "gas": CALL_GAS}, pinned(block)
            )
            return decoding.raw(answer)
        except NodeError as fault:
            if fault.reverted:
                raise
            raise self.node().unavailable(f"eth_call refused: {fault}") from None
        except decoding.NONSENSE:
            raise self.node().unavailable("an eth_call answer that is not hex") from None

    async def balance(self, holder: str, block: BlockStamp) -> int:
        """USDC of a holder in base units. Errors: `chain_unavailable`, `not_configured`."""
        balance = await self.holding(self.configured(USDC, self.usdc), holder, block)
        if balance is None:
            raise self.node().unavailable("the USDC contract tells no balance")
        return balance

    async def holding(self, token: str, holder: str, block: BlockStamp) -> int | None:
        """ERC-20 balance in base units; None for an empty answer, which is not zero."""
        data = "0x" + (_BALANCE_OF + encode(["address"], [holder])).hex()
        try:
            answer = await self.eth_call(token, data, block)
        except NodeError:
            return None
        return int.from_bytes(answer[:32], "big") if len(answer) >= 32 else None


def pinned(block: BlockStamp) -> dict[str, str]:
    """The block parameter of a state read (EIP-1898): by hash, which no other fork can answer."""
    return {"blockHash": block.hash}
