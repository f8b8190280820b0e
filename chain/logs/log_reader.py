"""Reading the logs of one chain's vaults: history in ranges, the head block by block, reorgs
noticed by hash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from chain.adapter import EvmChain
from chain.contracts import abi_codec
from chain.rpc import decoding
from chain.rpc.decoding import Header, Log
from chain.rpc.errors import NodeError
from domain.chain_facts import BlockStamp, VaultLog
from domain.refusals import Refused, refusal

ADDRESSES_PER_CALL: Final = 500
WINDOW: Final = 128
FIRST_CHUNK: Final = 2_000
LARGEST_CHUNK: Final = 10_000
BLOCKS_AT_ONCE: Final = 50
_OURS: Final[Mapping[str, object]] = {
    "topics": [
        [*abi_codec.event_topics("MandateVaultFactory"), *abi_codec.event_topics("MandateVault")]
    ]
}
_ADVICE: Final = re.compile(r"\[0x([0-9a-f]+),\s*0x([0-9a-f]+)\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReadCursor:
    """The last block that was read whole: the resume point."""

    block: int
    hash: str | None


Todo = Literal["wait", "rewind", "next block", "history"]


def next_read(cursor: ReadCursor, head: BlockStamp, *, window: int) -> Todo:
    """What to do next from the resume point alone: history in ranges below the window, block by
    block inside it.

    A resume point above the newest block that most nodes have is no block of theirs, however high
    it was.
    """
    if cursor.block > head.number:
        return "rewind"
    if cursor.block == head.number:
        return "wait" if cursor.hash in (None, head.hash) else "rewind"
    return "history" if cursor.block + 1 < head.number - window else "next block"


@dataclass(frozen=True, slots=True)
class BlockRange:
    """Blocks read: logs in chain order, the header facts to remember, the resume point that they
    were read from, and the next one.
    """

    logs: tuple[VaultLog, ...]
    blocks: tuple[BlockStamp, ...]
    since: ReadCursor
    cursor: ReadCursor
    head: BlockStamp

    def parted(self, limit: int) -> tuple[BlockRange, BlockRange | None]:
        """The first blocks, with so many logs at most, and what is left; no block is divided."""
        if len(self.logs) <= limit:
            return self, None
        number = self.logs[limit].block.number  # of the first log that does not fit in
        fits = [g.block for g in self.logs[:limit] if g.block.number < number]
        end = fits[-1] if fits else self.logs[0].block
        here = ReadCursor(end.number, end.hash)
        if end.number == self.cursor.block:
            return self, None
        return self._cut(self.since, here), self._cut(here, self.cursor)

    def _cut(self, since: ReadCursor, cursor: ReadCursor) -> BlockRange:
        blocks = range(since.block + 1, cursor.block + 1)
        return BlockRange(
            tuple([g for g in self.logs if g.block.number in blocks]),
            tuple([b for b in self.blocks if b.number in blocks]),
            since,
            cursor,
            self.head,
        )


@dataclass(frozen=True, slots=True)
class ReorgDetected:
    """The block of the resume point is no longer in the chain."""

    head: BlockStamp


class LogReader:
    """One reader per chain, whatever the number of vaults.

    `known` is the set of vault addresses the caller has; every event begins with the indexed
    mandate digest, so that above 500 vaults one filter by topic finds all (references: 10,000
    vaults in one call).
    """

    def __init__(self, chain: EvmChain, window: int = WINDOW):
        self.chain, self.window, self.chunk = (
            chain,
            max(window, 2 * chain.facts.confirmations),
            FIRST_CHUNK,
        )
        self._whole = False
        self._by_node = dict[EvmChain, LogReader]()
        self._recent = dict[int, BlockStamp]()

    def through(self, node: EvmChain) -> LogReader:
        """The same by one node alone, with ranges as wide as that one answers."""
        if node is self.chain:
            return self
        if node not in self._by_node:
            self._by_node[node] = LogReader(node, self.window)
        return self._by_node[node]

    def remember(self, read_range: BlockRange) -> None:
        """Keep the newest blocks of what was read, for who asks of their times."""
        low = read_range.head.number - self.window
        both = {**self._recent, **{b.number: b for b in read_range.blocks}}
        self._recent = {n: b for n, b in both.items() if n > low}

    def stamp(self, number: int) -> BlockStamp | None:
        """A block that was read not long ago."""
        return self._recent.get(number)

    def forget(self) -> None:
        """What was read may not be the chain's any more."""
        self._recent = {}

    def narrow(self) -> None:
        """Halve the ranges: there is no time for what lies in them."""
        for reader in (self, *self._by_node.values()):
            reader.chunk = max(1, reader.chunk // 2)

    async def step(
        self, cursor: ReadCursor | None, known: Iterable[str], head: Header | None = None
    ) -> BlockRange | ReorgDetected | None:
        """Read on from the resume point up to `head`, the node's newest block unless it is given;
        None when there is nothing new.

        Errors: `chain_unavailable`.
        """
        newest = await self.chain.newest() if head is None else head
        self._whole = newest.proved is True
        if cursor is None:
            cursor = ReadCursor(max(self.chain.facts.start_block - 1, -1), None)
        try:
            return await self._step(cursor, {v.lower() for v in known}, newest.block)
        except decoding.NONSENSE as error:
            raise self._unavailable(f"a log that makes no sense ({type(error).__name__})") from None

    async def _step(
        self, cursor: ReadCursor, vaults: set[str], head: BlockStamp
    ) -> BlockRange | ReorgDetected | None:
        todo = next_read(cursor, head, window=self.window)
        outcome: BlockRange | ReorgDetected | None = (
            ReorgDetected(head) if todo == "rewind" else None
        )
        if todo == "next block":
            outcome = await self._next_blocks(cursor, head, vaults)
        elif todo == "history":
            high = min(cursor.block + self.chunk, head.number - self.window)
            outcome = await self._history(cursor, high, head, vaults)
        return await self._sure(outcome) if isinstance(outcome, ReorgDetected) else outcome

    async def _sure(self, reorg: ReorgDetected) -> ReorgDetected:
        """Nothing is taken back on the word of a node that serves another chain by now."""
        await self.chain.node().prove()
        return reorg

    async def logs_of(self, vaults: Iterable[str], low: int, high: int) -> list[VaultLog]:
        """The logs of some vaults in some blocks, both inclusive, in chain order.

        Errors: `chain_unavailable`.
        """
        request = _of("MandateVault") | {"address": sorted(vaults)}
        try:
            raws = await self._logs(request, low, high)
            stamps = await self._stamps({raw.block for raw in raws})
            logs = list(self._decoded(raws, stamps))
        except decoding.NONSENSE as error:
            raise self._unavailable(f"a log that makes no sense ({type(error).__name__})") from None
        return sorted(logs, key=lambda g: (g.block.number, g.log_index))

    async def told_in(
        self, known: Iterable[str], low: int, high: int
    ) -> tuple[BlockStamp, tuple[VaultLog, ...]]:
        """The last of some blocks, both inclusive, and the logs that the reader would bring of
        them, in chain order.

        Errors: `chain_unavailable`.
        """
        vaults = {v.lower() for v in known}
        try:
            if high - low < BLOCKS_AT_ONCE:
                raws = await self._all_logs(low, high, vaults)
            else:
                raws = await self._past_logs(vaults, low, high)
            stamps = await self._stamps({high, *(raw.block for raw in raws)})
            if any(not low <= number <= high for number in stamps):
                raise self._unavailable("logs of other blocks than those asked for")
            head = stamps[high]
            read = self._read(raws, stamps, vaults, ReadCursor(low - 1, None), head, head)
        except decoding.NONSENSE as error:
            raise self._unavailable(f"a log that makes no sense ({type(error).__name__})") from None
        return head, read.logs

    async def all_of(self, low: int, high: int) -> tuple[VaultLog, ...]:
        """Every log with the topics of ours in some blocks, both inclusive, by whomever.

        Errors: `chain_unavailable`.
        """
        try:
            raws = await self._all_logs(low, high, set())
            stamps = await self._stamps({raw.block for raw in raws})
            return tuple(self._decoded(raws, stamps))
        except decoding.NONSENSE as error:
            raise self._unavailable(f"a log that makes no sense ({type(error).__name__})") from None

    async def _all_logs(self, low: int, high: int, vaults: set[str]) -> list[Log]:
        return [] if self.chain.factory is None else await self._logs(_OURS, low, high, vaults)

    async def _history(
        self, cursor: ReadCursor, high: int, head: BlockStamp, vaults: set[str]
    ) -> BlockRange | ReorgDetected:
        if cursor.hash is not None:
            here = await self.chain.block(cursor.block)
            if here is None or here.hash != cursor.hash:
                return ReorgDetected(head)
        logs = await self._past_logs(vaults, cursor.block + 1, high)
        stamps = await self._stamps({high, *(log.block for log in logs)})
        if any(not cursor.block < number <= high for number in stamps):
            raise self._unavailable("logs of other blocks than those asked for")
        return self._read(logs, stamps, vaults, cursor, stamps[high], head)

    async def _stamps(self, numbers: Iterable[int]) -> dict[int, BlockStamp]:
        """Headers of these blocks, lowest first."""
        headers = await self.chain.headers(numbers, whole=self._whole)
        return {n: h.block for n, h in headers.items()}

    async def _next_blocks(
        self, cursor: ReadCursor, head: BlockStamp, vaults: set[str]
    ) -> BlockRange | ReorgDetected:
        """The next blocks, each the child of the one before.

        The headers come first: where a reorganisation comes between them and the logs, the next
        step finds another parent, and what was missed is read then.
        """
        high = min(cursor.block + BLOCKS_AT_ONCE, head.number)
        headers = await self.chain.headers(range(cursor.block + 1, high + 1), whole=self._whole)
        before = cursor.hash
        for header in headers.values():
            if before is not None and header.parent != before:
                if header.block.number == cursor.block + 1:
                    return ReorgDetected(head)
                raise self._unavailable("the chain was reorganised while it was read")
            before = header.block.hash
        stamps = {n: h.block for n, h in headers.items()}
        deep = head.number - self.chain.confirmations
        logs = await self._run_logs([s for n, s in stamps.items() if n <= deep], vaults)
        logs += await self._block_logs([s.hash for n, s in stamps.items() if n > deep], vaults)
        return self._read(logs, stamps, vaults, cursor, stamps[high], head)

    def _read(
        self,
        raws: Sequence[Log],
        stamps: Mapping[int, BlockStamp],
        vaults: set[str],
        since: ReadCursor,
        end: BlockStamp,
        head: BlockStamp,
    ) -> BlockRange:
        logs = sorted(self._decoded(raws, stamps), key=lambda g: (g.block.number, g.log_index))
        created = (str(g.args["vault"]) for g in logs if g.name == "MandateCreated")
        ours = vaults.union(v.lower() for v in created)
        ours_only = tuple(
            g for g in logs if g.name == "MandateCreated" or g.address.lower() in ours
        )
        return BlockRange(
            ours_only, tuple(stamps.values()), since, ReadCursor(end.number, end.hash), head
        )

    def _decoded(self, raws: Sequence[Log], stamps: Mapping[int, BlockStamp]) -> Iterator[VaultLog]:
        for raw in raws:
            stamp = stamps[raw.block]
            if raw.block_hash != stamp.hash:
                raise self._unavailable("logs of another block than the one asked for")
            log = self.chain.vault_log(raw, stamp)
            if log is not None:
                yield log

    async def _run_logs(self, stamps: Sequence[BlockStamp], vaults: set[str]) -> list[Log]:
        """Every log that could be ours of blocks one after another; few, so that no addresses need
        to be named.
        """
        if len(stamps) < 2 or self.chain.factory is None:
            return await self._block_logs([s.hash for s in stamps], vaults)
        return await self._all_logs(stamps[0].number, stamps[-1].number, vaults)

    async def _block_logs(self, hashes: Sequence[str], vaults: set[str]) -> list[Log]:
        """Every log that could be ours, by the hash of its block: another block cannot answer."""
        if self.chain.factory is None:
            return []
        request = [("eth_getLogs", [{**_OURS, "blockHash": h}]) for h in hashes]
        try:
            lists = await self.chain.node().ask_all(request)
        except NodeError as fault:
            if not fault.too_much:
                raise self._unavailable(f"eth_getLogs refused: {fault}") from None
            return [g for h in hashes for g in await self._crowded({"blockHash": h}, vaults)]
        return [g for answer in lists for g in self._list(answer)]

    async def _crowded(self, at: Mapping[str, str], vaults: set[str]) -> list[Log]:
        """Our logs of one block in which there are more with our topics than the node tells at
        once: strangers may leave as many as they pay for. They are asked for by their addresses.
        """
        node = self.chain.node()
        log_filter = _of("MandateVaultFactory") | {"address": self.chain.factory, **at}
        creations = self._list(await node.fact("eth_getLogs", log_filter))
        name = sorted(vaults.union(_created_vaults(creations)))
        for n in range(0, len(name), ADDRESSES_PER_CALL):
            some = {"address": name[n : n + ADDRESSES_PER_CALL], **at}
            creations += self._list(await node.fact("eth_getLogs", _of("MandateVault") | some))
        return creations

    async def _past_logs(self, vaults: set[str], low: int, high: int) -> list[Log]:
        """Logs of the factory and of the vaults, those included whose making is among them."""
        factory = self.chain.factory
        if factory is None:
            return []
        log_filter = _of("MandateVaultFactory") | {"address": factory}
        logs = await self._logs(log_filter, low, high)
        vaults |= _created_vaults(logs)
        if not vaults:
            return logs
        if len(vaults) > ADDRESSES_PER_CALL:
            return logs + await self._logs(_of("MandateVault"), low, high, vaults)
        name = _of("MandateVault") | {"address": sorted(vaults)}
        return logs + await self._logs(name, low, high)

    async def _logs(
        self, log_filter: Mapping[str, object], low: int, high: int, vaults: set[str] | None = None
    ) -> list[Log]:
        """eth_getLogs that halves its range, or takes the provider's advice, until it is
        answered; `vaults` where no address is named: a single block that is still too much is asked
        for these.
        """
        ranges, logs = [(low, high)], list[Log]()
        while ranges:
            first, last = ranges.pop()
            try:
                request = {**log_filter, "fromBlock": hex(first), "toBlock": hex(last)}
                logs += self._list(await self.chain.node().ask("eth_getLogs", request))
                self.chunk = min(self.chunk * 21 // 20 + 1, LARGEST_CHUNK)
            except NodeError as fault:
                if first == last and fault.too_much and vaults is not None:
                    logs += await self._crowded(
                        {"fromBlock": hex(first), "toBlock": hex(last)}, vaults
                    )
                    continue
                if first == last or not fault.too_much:
                    raise self._unavailable(f"eth_getLogs refused: {fault}") from None
                middle = _advised(str(fault), first, last)
                self.chunk = max(1, middle - first + 1)
                ranges += [(middle + 1, last), (first, middle)]
        return logs

    def _list(self, answer: object) -> list[Log]:
        if not isinstance(answer, list):
            raise self._unavailable("eth_getLogs gave no list")
        return decoding.logs(answer)

    def _unavailable(self, reason: str) -> Exception:
        return Refused(refusal("chain_unavailable", chain_id=self.chain.chain_id, why=reason))


def _of(contract: str) -> dict[str, object]:
    return {"topics": [list(abi_codec.event_topics(contract))]}


def _created_vaults(logs: Iterable[Log]) -> set[str]:
    """The vaults whose making is among some logs of the factory."""
    decoded = (abi_codec.decode_log("MandateVaultFactory", g.topics, g.data) for g in logs)
    return {str(one[1]["vault"]).lower() for one in decoded if one and one[0] == "MandateCreated"}


def _advised(message: str, first: int, last: int) -> int:
    advice = _ADVICE.search(message)
    if advice and first <= int(advice[2], 16) < last:
        return int(advice[2], 16)
    return (first + last) // 2
