"""Log reader: history in ranges, the head block by block; reorgs are detected by block hash."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from chain.adapter import EvmChain
from chain.contracts import abi_codec
from chain.contracts.purse_logs import paired, token_filters
from chain.rpc import decoding
from chain.rpc.decoding import Header, Log
from chain.rpc.errors import NodeError
from domain.chain_facts import BlockStamp, PurseFacts, VaultLog
from domain.refusals import Refused

ADDRESSES_PER_CALL: Final = 500
WINDOW: Final = 128
FIRST_CHUNK: Final = 2_000
LARGEST_CHUNK: Final = 10_000
BLOCKS_AT_ONCE: Final = 50
_ADVICE: Final = re.compile(r"\[0x([0-9a-f]+),\s*0x([0-9a-f]+)\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Watched:
    """The vaults and purses that are read. Shapes: addresses in lower case; `purses` by theirs."""

    vaults: frozenset[str] = frozenset()
    purses: Mapping[str, PurseFacts] = field(default_factory=dict)

    @classmethod
    def of(cls, vaults: Iterable[str], purses: Iterable[PurseFacts] = ()) -> Watched:
        """Vaults in any case, and purses."""
        return cls(frozenset(v.lower() for v in vaults), {p.address: p for p in purses})

    @property
    def addresses(self) -> list[str]:
        """The contracts whose logs begin with a mandate: the vaults, and the hubs of the purses."""
        return sorted(self.vaults | {p.hub for p in self.purses.values()})

    def topics(self) -> dict[str, object]:
        """The filter of their events."""
        hub = abi_codec.hub_topics() if self.purses else ()
        return {"topics": [[*abi_codec.event_topics("MandateVault"), *hub]]}

    def all_topics(self) -> dict[str, object]:
        """The same, with the factory's."""
        hub = abi_codec.hub_topics() if self.purses else ()
        own = (
            *abi_codec.event_topics("MandateVaultFactory"),
            *abi_codec.event_topics("MandateVault"),
        )
        return {"topics": [[*own, *hub]]}

    def with_vaults(self, vaults: Iterable[str]) -> Watched:
        """The same with more vaults."""
        return replace(self, vaults=self.vaults.union(vaults))


NOBODY: Final = Watched()


@dataclass(frozen=True, slots=True)
class ReadCursor:
    """The resume point: the last block that was read completely."""

    block: int
    hash: str | None


Todo = Literal["wait", "rewind", "next block", "history"]


def next_read(cursor: ReadCursor, head: BlockStamp, *, window: int) -> Todo:
    """Decide the next read from the cursor: history in ranges below the window, block by block
    inside it.

    A cursor above the newest agreed block names no block of the agreed chain, however high it was.
    """
    if cursor.block > head.number:
        return "rewind"
    if cursor.block == head.number:
        return "wait" if cursor.hash in (None, head.hash) else "rewind"
    return "history" if cursor.block + 1 < head.number - window else "next block"


@dataclass(frozen=True, slots=True)
class BlockRange:
    """One read: logs in chain order, stamps to remember, the cursors before and after it."""

    logs: tuple[VaultLog, ...]
    blocks: tuple[BlockStamp, ...]
    since: ReadCursor
    cursor: ReadCursor
    head: BlockStamp

    def split_at(self, limit: int) -> tuple[BlockRange, BlockRange | None]:
        """Split into the first blocks with at most `limit` logs, and the rest."""
        if len(self.logs) <= limit:
            return self, None
        number = self.logs[limit].block.number  # of the first log that does not fit in
        before_limit = [g.block for g in self.logs[:limit] if g.block.number < number]
        end = before_limit[-1] if before_limit else self.logs[0].block
        boundary = ReadCursor(end.number, end.hash)
        if end.number == self.cursor.block:
            return self, None
        return self._cut(self.since, boundary), self._cut(boundary, self.cursor)

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
    """The cursor's block is no longer in the chain."""

    head: BlockStamp


class LogReader:
    """Reader of one chain's logs, whatever the number of vaults.

    Every event begins with the indexed mandate digest, so that above 500 vaults one filter by topic
    replaces the filter by address (references: 10,000 vaults in one call).
    """

    def __init__(self, chain: EvmChain, window: int = WINDOW):
        self.chain, self.chunk = chain, FIRST_CHUNK
        self.window = max(window, 2 * chain.confirmations)
        self._require_all_fields = False
        self._by_node = dict[EvmChain, LogReader]()
        self._recent = dict[int, BlockStamp]()

    def through(self, node: EvmChain) -> LogReader:
        """The reader of the same chain through one node, with that node's own range width."""
        if node is self.chain:
            return self
        if node not in self._by_node:
            self._by_node[node] = LogReader(node, self.window)
        return self._by_node[node]

    def remember(self, read_range: BlockRange) -> None:
        """Store the stamps of the newest blocks, for later `stamp` calls."""
        low = read_range.head.number - self.window
        blocks = self._recent | {b.number: b for b in read_range.blocks}
        self._recent = {n: b for n, b in blocks.items() if n > low}

    def stamp(self, number: int) -> BlockStamp | None:
        """The stamp of a recently read block; None where it is not remembered."""
        return self._recent.get(number)

    def forget(self) -> None:
        """Drop the remembered blocks: the chain may no longer have them."""
        self._recent = {}

    def narrow(self) -> None:
        """Halve the ranges, after a step that ran out of time."""
        for reader in (self, *self._by_node.values()):
            reader.chunk = max(1, reader.chunk // 2)

    async def step(
        self, cursor: ReadCursor | None, watched: Watched, head: Header | None = None
    ) -> BlockRange | ReorgDetected | None:
        """Read on from the cursor up to `head`, the node's newest block by default; None when there
        is nothing new. Errors: `chain_unavailable`.
        """
        newest = await self.chain.newest() if head is None else head
        self._require_all_fields = newest.proved is True
        if cursor is None:
            cursor = ReadCursor(max(self.chain.facts.start_block - 1, -1), None)
        with readable(self.chain):
            return await self._step(cursor, watched, newest.block)

    async def _step(
        self, cursor: ReadCursor, watched: Watched, head: BlockStamp
    ) -> BlockRange | ReorgDetected | None:
        outcome: BlockRange | ReorgDetected | None = None
        match next_read(cursor, head, window=self.window):
            case "rewind":
                outcome = ReorgDetected(head)
            case "next block":
                outcome = await self._next_blocks(cursor, head, watched)
            case "history":
                high = min(cursor.block + self.chunk, head.number - self.window)
                outcome = await self._history(cursor, high, head, watched)
        if isinstance(outcome, ReorgDetected):
            await self.chain.node().prove()  # that the node still serves this chain
        return outcome

    async def logs_of(self, watched: Watched, low: int, high: int) -> list[VaultLog]:
        """Logs of the given vaults and purses in the blocks from `low` to `high`, both inclusive,
        in chain order. Errors: `chain_unavailable`.
        """
        request = watched.topics() | {"address": watched.addresses}
        with readable(self.chain):
            raws = await self._logs(request, low, high)
            raws += await self._purse_logs(watched, low, high)
            stamps = await self._stamps({raw.block for raw in raws})
            logs = [*self._decoded(raws, stamps), *self._of_purses(raws, stamps, watched)]
        return sorted(logs, key=lambda g: (g.block.number, g.log_index))

    async def logs_in_range(
        self, watched: Watched, low: int, high: int
    ) -> tuple[BlockStamp, tuple[VaultLog, ...]]:
        """(last block, logs in chain order) of the blocks from `low` to `high`, both inclusive: the
        same logs that `step` would return. Errors: `chain_unavailable`.
        """
        with readable(self.chain):
            if high - low < BLOCKS_AT_ONCE:
                raws = await self._ranged_logs(low, high, watched)
            else:
                raws = await self._past_logs(watched, low, high)
            read = await self._stamped(raws, watched, ReadCursor(low - 1, None), high)
        return read.head, read.logs

    async def filtered_logs(
        self, log_filter: Mapping[str, object], low: int, high: int, *, any_refusal: bool = False
    ) -> list[Log]:
        """Logs of a filter in the blocks from `low` to `high`, both inclusive, as the node tells
        them. `any_refusal`: a range is halved whatever the node says. Errors: `chain_unavailable`.
        """
        with readable(self.chain):
            return await self._logs(log_filter, low, high, any_refusal=any_refusal)

    async def all_logs(self, low: int, high: int) -> tuple[VaultLog, ...]:
        """Every log with our event topics in the blocks from `low` to `high`, both inclusive, from
        any contract. Errors: `chain_unavailable`.
        """
        with readable(self.chain):
            raws = await self._ranged_logs(low, high, NOBODY)
            stamps = await self._stamps({raw.block for raw in raws})
            return tuple(self._decoded(raws, stamps))

    async def _ranged_logs(self, low: int, high: int, watched: Watched) -> list[Log]:
        if self.chain.factory is None:
            return []
        logs = await self._logs(watched.all_topics(), low, high, watched)
        return logs + await self._purse_logs(watched, low, high)

    async def _purse_logs(self, watched: Watched, low: int, high: int) -> list[Log]:
        """Logs of USDC about the purses in a range."""
        if not watched.purses or self.chain.usdc is None:
            return []
        filters = token_filters(self.chain.usdc, watched.purses)
        return [g for of in filters for g in await self._logs(of, low, high)]

    async def _history(
        self, cursor: ReadCursor, high: int, head: BlockStamp, watched: Watched
    ) -> BlockRange | ReorgDetected:
        if cursor.hash is not None:
            block = await self.chain.block(cursor.block)
            if block is None or block.hash != cursor.hash:
                return ReorgDetected(head)
        logs = await self._past_logs(watched, cursor.block + 1, high)
        return await self._stamped(logs, watched, cursor, high, head)

    async def _stamped(
        self,
        raws: Sequence[Log],
        watched: Watched,
        since: ReadCursor,
        high: int,
        head: BlockStamp | None = None,
    ) -> BlockRange:
        """Build the range of the blocks behind `since` up to `high`, whose stamp is the head where
        there is no other.
        """
        stamps = await self._stamps({high, *(log.block for log in raws)})
        if any(not since.block < number <= high for number in stamps):
            raise self._unavailable("logs of other blocks than those asked for")
        end = stamps[high]
        return self._read(raws, stamps, watched, since, end, end if head is None else head)

    async def _stamps(self, numbers: Iterable[int]) -> dict[int, BlockStamp]:
        """Stamps of these blocks, lowest first."""
        headers = await self.chain.headers(numbers, require_all_fields=self._require_all_fields)
        return {n: h.block for n, h in headers.items()}

    async def _next_blocks(
        self, cursor: ReadCursor, head: BlockStamp, watched: Watched
    ) -> BlockRange | ReorgDetected:
        """Read the next blocks, each the child of the one before.

        The headers are read first: where a reorganisation comes between them and the logs, the next
        step meets another parent and reads the missed blocks then.
        """
        high = min(cursor.block + BLOCKS_AT_ONCE, head.number)
        headers = await self.chain.headers(
            range(cursor.block + 1, high + 1), require_all_fields=self._require_all_fields
        )
        parent_hash = cursor.hash
        for header in headers.values():
            if parent_hash is not None and header.parent != parent_hash:
                if header.block.number == cursor.block + 1:
                    return ReorgDetected(head)
                raise self._unavailable("the chain was reorganised while it was read")
            parent_hash = header.block.hash
        stamps = {n: h.block for n, h in headers.items()}
        confirmed_height = head.number - self.chain.confirmations
        logs = await self._run_logs(
            [s for n, s in stamps.items() if n <= confirmed_height], watched
        )
        logs += await self._block_logs(
            [s.hash for n, s in stamps.items() if n > confirmed_height], watched
        )
        return self._read(logs, stamps, watched, cursor, stamps[high], head)

    def _read(
        self,
        raws: Sequence[Log],
        stamps: Mapping[int, BlockStamp],
        watched: Watched,
        since: ReadCursor,
        end: BlockStamp,
        head: BlockStamp,
    ) -> BlockRange:
        logs = sorted(self._decoded(raws, stamps), key=lambda g: (g.block.number, g.log_index))
        created = (str(g.args["vault"]) for g in logs if g.name == "MandateCreated")
        vault_addresses = watched.vaults.union(v.lower() for v in created)
        read = [
            g for g in logs if g.name == "MandateCreated" or g.address.lower() in vault_addresses
        ]
        if watched.purses:
            read += self._of_purses(raws, stamps, watched)
            read.sort(key=lambda g: (g.block.number, g.log_index))
        return BlockRange(
            tuple(read), tuple(stamps.values()), since, ReadCursor(end.number, end.hash), head
        )

    def _decoded(self, raws: Sequence[Log], stamps: Mapping[int, BlockStamp]) -> Iterator[VaultLog]:
        for raw in raws:
            stamp = stamps[raw.block]
            if raw.block_hash != stamp.hash:
                raise self._unavailable("logs of another block than the one asked for")
            log = self.chain.vault_log(raw, stamp)
            if log is not None:
                yield log

    def _of_purses(
        self, raws: Sequence[Log], stamps: Mapping[int, BlockStamp], watched: Watched
    ) -> list[VaultLog]:
        """The logs of the purses, out of raw ones whose blocks were compared."""
        logs = (self.chain.purse_log(raw, stamps[raw.block]) for raw in raws)
        return paired([g for g in logs if g is not None], watched.purses)

    async def _run_logs(self, stamps: Sequence[BlockStamp], watched: Watched) -> list[Log]:
        """Logs with our topics of consecutive blocks, few enough to need no address filter."""
        if len(stamps) < 2 or self.chain.factory is None:
            return await self._block_logs([s.hash for s in stamps], watched)
        return await self._ranged_logs(stamps[0].number, stamps[-1].number, watched)

    async def _block_logs(self, hashes: Sequence[str], watched: Watched) -> list[Log]:
        """Logs with our topics, and of USDC about the purses, requested by block hash: another
        fork's block cannot answer.
        """
        if self.chain.factory is None:
            return []
        filters = [watched.all_topics()]
        if watched.purses and self.chain.usdc is not None:
            filters += token_filters(self.chain.usdc, watched.purses)
        request = [("eth_getLogs", [{**of, "blockHash": h}]) for h in hashes for of in filters]
        try:
            lists = await self.chain.node().ask_all(request)
        except NodeError as fault:
            if not fault.too_much:
                raise self._unavailable(f"eth_getLogs refused: {fault}") from None
            return [
                g for h in hashes for g in await self._logs_by_address({"blockHash": h}, watched)
            ]
        return [g for answer in lists for g in self._list(answer)]

    async def _logs_by_address(self, at: Mapping[str, str], watched: Watched) -> list[Log]:
        """Logs of our own addresses in a block that strangers filled with logs of our topics."""
        node = self.chain.node()
        log_filter = _of("MandateVaultFactory") | {"address": self.chain.factory, **at}
        creations = self._list(await node.fact("eth_getLogs", log_filter))
        watched = watched.with_vaults(_created_vaults(creations))
        for n in range(0, len(watched.addresses), ADDRESSES_PER_CALL):
            batch = {"address": watched.addresses[n : n + ADDRESSES_PER_CALL], **at}
            creations += self._list(await node.fact("eth_getLogs", watched.topics() | batch))
        if "blockHash" in at and watched.purses and self.chain.usdc is not None:
            for of in token_filters(self.chain.usdc, watched.purses):
                creations += self._list(await node.fact("eth_getLogs", of | dict(at)))
        return creations

    async def _past_logs(self, watched: Watched, low: int, high: int) -> list[Log]:
        """Logs of the factory, the vaults and the purses in a range, including vaults created in
        it.
        """
        factory = self.chain.factory
        if factory is None:
            return []
        log_filter = _of("MandateVaultFactory") | {"address": factory}
        logs = await self._logs(log_filter, low, high)
        watched = watched.with_vaults(_created_vaults(logs))
        addresses = watched.addresses
        if not addresses:
            return logs
        logs += await self._purse_logs(watched, low, high)
        if len(addresses) > ADDRESSES_PER_CALL:
            return logs + await self._logs(watched.topics(), low, high, watched)
        return logs + await self._logs(watched.topics() | {"address": addresses}, low, high)

    async def _logs(
        self,
        log_filter: Mapping[str, object],
        low: int,
        high: int,
        watched: Watched | None = None,
        *,
        any_refusal: bool = False,
    ) -> list[Log]:
        """Call eth_getLogs, and halve the range, or take the provider's advice, until it is
        answered. `watched` is given where the filter names no address: a single block that is still
        too large is then read by these.
        """
        ranges, logs = [(low, high)], list[Log]()
        while ranges:
            first, last = ranges.pop()
            try:
                request = {**log_filter, "fromBlock": hex(first), "toBlock": hex(last)}
                logs += self._list(await self.chain.node().ask("eth_getLogs", request))
                self.chunk = min(self.chunk * 21 // 20 + 1, LARGEST_CHUNK)
            except NodeError as fault:
                if first == last and fault.too_much and watched is not None:
                    logs += await self._logs_by_address(
                        {"fromBlock": hex(first), "toBlock": hex(last)}, watched
                    )
                    continue
                if first == last or not (any_refusal or fault.too_much):
                    raise self._unavailable(f"eth_getLogs refused: {fault}") from None
                middle = _advised(str(fault), first, last)
                self.chunk = max(1, middle - first + 1)
                ranges += [(middle + 1, last), (first, middle)]
        return logs

    def _list(self, answer: object) -> list[Log]:
        if not isinstance(answer, list):
            raise self._unavailable("eth_getLogs gave no list")
        return decoding.logs(answer)

    def _unavailable(self, reason: str) -> Refused:
        return self.chain.node().unavailable(reason)


@contextmanager
def readable(chain: EvmChain) -> Iterator[None]:
    """Context of reading logs. Errors: `chain_unavailable` for what makes no sense."""
    try:
        yield
    except decoding.NONSENSE as error:
        reason = f"a log that makes no sense ({type(error).__name__})"
        raise chain.node().unavailable(reason) from None


def _of(contract: str) -> dict[str, object]:
    return {"topics": [list(abi_codec.event_topics(contract))]}


def _created_vaults(logs: Iterable[Log]) -> set[str]:
    """Vault addresses in the factory's creation logs."""
    decoded = (abi_codec.decode_log("MandateVaultFactory", g.topics, g.data) for g in logs)
    return {
        str(event[1]["vault"]).lower()
        for event in decoded
        if event and event[0] == "MandateCreated"
    }


def _advised(message: str, first: int, last: int) -> int:
    advice = _ADVICE.search(message)
    if advice and first <= int(advice[2], 16) < last:
        return int(advice[2], 16)
    return (first + last) // 2
