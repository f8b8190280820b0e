"""Chain sync: reads one chain into the ledger, and reverses rows after a reorganisation."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, TypeVar

from chain.adapter import EvmChain
from chain.agreed_view import UNAVAILABLE, AgreedView, agreed_view
from chain.logs.log_reader import BlockRange, LogReader, ReadCursor, ReorgDetected, Watched
from chain.quorum import node_problem_of, quorum_read
from chain.rpc.decoding import Header
from domain.chain_facts import BlockStamp, VaultLog
from domain.refusals import Refused
from server.keeper.log_evidence import ChainEvidence, left_by
from server.keeper.staged_logs import log_of, staged
from storage.errors import Unavailable
from storage.repositories.chain_index import ChainCursor as KeptCursor
from storage.unit_of_work import UnitOfWork
from tools.keeper.ingest import (
    IngestContext,
    ReorgSuspected,
    detach_vault,
    ingest_logs,
    reverse_blocks,
)
from tools.keeper.marks import take_back_marks
from tools.model.operation import Deps

log = logging.getLogger("wallet.reading")
T = TypeVar("T")
STEPS_A_ROUND: Final = 200
# Logs that become rows in one transaction: it holds the ledgers that it adds to, and ends long
# before a statement's time is over. Where the database is slower than that, fewer and fewer.
LOGS_AT_ONCE: Final = 100
FEWER: Final = 5


class ChainSync:
    """One chain's reading; the resume point moves in the transaction that stores what was read, and
    `deep` in those that make rows of it, a part at a time.
    """

    def __init__(self, deps: Deps, reader: LogReader, logs_at_once: int = LOGS_AT_ONCE):
        self.deps, self.reader, self.chain = deps, reader, reader.chain
        self._most = logs_at_once
        self._left: BlockRange | None = None  # of what was read, not stored yet
        self._agreed: BlockRange | None = None  # of what most nodes tell, no rows yet

    async def on(self) -> None:
        """Read on until there is nothing new."""
        for _ in range(STEPS_A_ROUND):
            if not await self.step():
                return

    async def step(self) -> bool:
        """One step; False where there was nothing to do. Errors: `chain_unavailable`."""
        if self._left is not None:
            await self._store_on(self._left)
            return True
        nodes, now = self.chain.node(), self.deps.clock.now()
        try:
            moved = await self._step(await agreed_view(self.chain, now))
        except Refused as refused:
            if refused.code == UNAVAILABLE:
                patience = timedelta(seconds=self.chain.facts.issue_s)
                nodes.disagree(node_problem_of(refused), now, patience)
            raise
        nodes.agree()
        return moved

    async def _step(self, at: AgreedView) -> bool:
        chain_id = self.chain.chain_id
        cursor, watched, to_reread = await self.deps.store.read(
            lambda uow: (
                uow.chainlog.cursor(chain_id),
                Watched.of(uow.chainlog.vaults(chain_id), uow.chainlog.watched_purses(chain_id)),
                uow.chainlog.to_read_again(chain_id),
            )
        )
        if cursor is not None and self._deepest(cursor) > cursor.deep:
            if self._alone:
                await self._run_in_parts(self._deepen)
                return True
            if self._agreed is None or self._agreed.since.block != cursor.deep:
                self._agreed = await self._read_by_quorum(cursor, watched)
            known = await self._known_hash(cursor, self._agreed.cursor.block)
            if known not in (None, self._agreed.cursor.hash):
                return await self._rewind(at)
            self._agreed = await self._run_in_parts(partial(self._make_deep, self._agreed))
            return True
        result = await at.step(partial(self._step_by_node, at, cursor, watched))
        if isinstance(result, ReorgDetected):
            return await self._rewind(at)
        if result is not None:
            self.reader.remember(result)
            await self._store_on(result)
        elif cursor is not None and to_reread:
            await self._reread(cursor, dict(to_reread), watched)
        elif cursor is not None and cursor.deep >= 0:
            await self._note_complete(cursor.deep)
        return result is not None

    async def _step_by_node(
        self,
        at: AgreedView,
        stored_cursor: KeptCursor | None,
        watched: Watched,
        node: EvmChain,
        head: Header,
    ) -> BlockRange | ReorgDetected | None:
        """A step by one node; what becomes deep by it ends in a block that most name."""
        cursor = ReadCursor(stored_cursor.block, stored_cursor.hash) if stored_cursor else None
        result = await self.reader.through(node).step(cursor, watched, head)
        if isinstance(result, ReorgDetected):
            several = len(self.chain.views) > 1
            if several and cursor is not None and await at.stands(cursor.block, cursor.hash):
                raise node.node().unavailable("the node lost a block that the others have")
        elif result is not None:
            high = min(result.head.number - self.chain.confirmations, result.cursor.block)
            known = next((b for b in result.blocks if b.number == high), None)
            if high > (stored_cursor.deep if stored_cursor is not None else result.since.block):
                await at.confirm(node, high, known, result.cursor.block)
        return result

    async def _read_by_quorum(self, cursor: KeptCursor, watched: Watched) -> BlockRange:
        """The blocks that are deep enough and no rows yet, as more than half of the configured
        nodes tell them: what one by itself told waits, and makes no row.

        Errors: `chain_unavailable` where they do not tell the same.
        """
        low, high = cursor.deep + 1, self._deepest(cursor)
        end, logs = await quorum_read(
            self.chain,
            "the logs of some blocks",
            lambda view: self.reader.through(view).logs_in_range(watched, low, high),
        )
        return BlockRange(logs, (), ReadCursor(cursor.deep, None), ReadCursor(high, end.hash), end)

    async def _known_hash(self, cursor: KeptCursor, block: int) -> str | None:
        """The hash of a block as it was read."""
        if block == cursor.block:
            return cursor.hash
        chain_id = self.chain.chain_id
        return await self.deps.store.read(lambda uow: uow.chainlog.block_hash(chain_id, block))

    @property
    def _alone(self) -> bool:
        """True where one node is configured: its word counts."""
        return len(self.chain.views) == 1

    async def _note_complete(self, deep: int) -> None:
        """Keep up to which block the ledger is complete, for reads to say."""
        nodes = self.chain.node()
        if nodes.complete is not None and nodes.complete.number == deep:
            return
        nodes.complete = self.reader.stamp(deep) or await self.chain.block(deep)

    def _deepest(self, cursor: KeptCursor) -> int:
        """The block up to which what was read is as deep as it must be."""
        head = cursor.block if cursor.head is None else cursor.head
        return min(head - self.chain.confirmations, cursor.block)

    async def _store_on(self, block_range: BlockRange) -> None:
        """Store the next part of what was read. Where that fails, it is read again."""
        self._left = None
        self._left = await self._run_in_parts(partial(self._store, block_range))

    async def _run_in_parts(
        self, work: Callable[[int, ChainEvidence, datetime, UnitOfWork], T]
    ) -> T:
        """Do a piece of work with so many logs at most, and with fewer where time is short."""
        while True:
            try:
                return await self._surely(partial(work, self._most))
            except Unavailable as unavailable:
                if self._most == 1:
                    self.reader.narrow()
                    raise
                log.warning(
                    "%s logs of chain %s: %s", self._most, self.chain.chain_id, unavailable.why
                )
                self._most = max(1, self._most // FEWER)

    async def _surely(self, work: Callable[[ChainEvidence, datetime, UnitOfWork], T]) -> T:
        """Do a piece of work in one transaction; what it doubts is asked of the chain first."""
        request = ChainEvidence()
        while True:
            now = self.deps.clock.now()
            try:
                return await self.deps.store.write(partial(work, request, now))
            except ReorgSuspected as doubt:
                open_ = doubt.transactions - request.transactions.keys()
                vaults = doubt.vaults - request.vaults.keys()
                blocks = doubt.blocks - request.blocks.keys()
                if not open_ and not vaults and not blocks:
                    raise
                for tx_hash in sorted(open_):
                    request.transactions[tx_hash] = await self._logs_of(tx_hash)
                if vaults:
                    request.vaults |= await self._are_there(vaults)
                for number in blocks:
                    here = await self.chain.block(number)
                    request.blocks[number] = None if here is None else here.hash

    async def _are_there(self, vaults: Collection[str]) -> dict[str, bool]:
        """Whether vaults are there, by what most of the nodes say."""
        states = await self.chain.vault_states(sorted(vaults), agreed=True)
        if any(v not in states for v in vaults):
            raise self.chain.node().unavailable("a vault does not answer")
        return {v: states[v].exists for v in vaults}

    async def _logs_of(self, tx_hash: str) -> tuple[VaultLog, ...]:
        """The logs of a transaction by a majority of the configured nodes; none is reversed on the
        word of one among several. Errors: `chain_unavailable` where no answer is that of enough
        nodes.
        """
        purses = await self.deps.store.read(lambda uow: uow.chainlog.purses(self.chain.chain_id))
        known = {p.address: p for p in purses}
        return await quorum_read(
            self.chain, "a transaction", lambda view: left_by(view, tx_hash, known)
        )

    async def _rewind(self, at: AgreedView) -> bool:
        """Go back to the newest remembered block that most nodes have; what is above it is compared
        when it is read again. False where that is the one that was read last.
        """
        chain_id = self.chain.chain_id
        remembered, cursor = await self.deps.store.read(
            lambda uow: (uow.chainlog.blocks(chain_id), uow.chainlog.cursor(chain_id))
        )
        back = ReadCursor(max(self.chain.facts.start_block - 1, -1), None)
        for number, hashed in remembered:
            if await at.stands(number, hashed):
                back = ReadCursor(number, hashed)
                break
        if cursor is None or (cursor.block, cursor.hash) == (back.block, back.hash):
            return False
        now = self.deps.clock.now()

        def work(uow: UnitOfWork) -> None:
            was = uow.chainlog.cursor(chain_id)
            deep = min(was.deep if was else back.block, back.block)
            uow.chainlog.forget_above(chain_id, back.block)
            uow.chainlog.set_cursor(chain_id, back.block, back.hash, at.number, deep, now)

        log.warning("chain %s was reorganised above block %s", chain_id, back.block)
        self.reader.forget()
        self._agreed = self.chain.node().complete = None
        await self.deps.store.write(work)
        return True

    def _store(
        self,
        block_range: BlockRange,
        limit: int,
        request: ChainEvidence,
        now: datetime,
        uow: UnitOfWork,
    ) -> BlockRange | None:
        """Store a part of what was read; what is left of it."""
        chain_id, chainlog = self.chain.chain_id, uow.chainlog
        cursor = chainlog.cursor(chain_id, lock=True)
        if cursor is not None and (cursor.block, cursor.hash) != (
            block_range.since.block,
            block_range.since.hash,
        ):
            return None  # another process read on, or went back
        block_range, left = block_range.split_at(limit)
        read = range(block_range.since.block + 1, block_range.cursor.block + 1)
        self._unmade(uow, now, read, block_range.logs, request)
        blocks = [(b.number, b.hash) for b in block_range.blocks]
        chainlog.remember_blocks(chain_id, blocks, block_range.head.number - self.reader.window)
        deep = cursor.deep if cursor is not None else block_range.since.block
        here = KeptCursor(
            block_range.cursor.block, block_range.cursor.hash, block_range.head.number, deep, now
        )
        high = max(self._deepest(here), deep) if self._alone else deep
        deep_logs = [g for g in block_range.logs if g.block.number <= high]
        if deep_logs and chainlog.is_staged(chain_id, high):
            deep_logs = []
        chainlog.stage(chain_id, map(staged, block_range.logs[len(deep_logs) :]))
        if not deep_logs:
            high, deep_logs = self._staged(here, high, limit, uow)
        self._take_deep(here, high, deep_logs, request, now, uow)
        return left

    def _deepen(self, limit: int, request: ChainEvidence, now: datetime, uow: UnitOfWork) -> None:
        cursor = uow.chainlog.cursor(self.chain.chain_id, lock=True)
        if cursor is not None and self._deepest(cursor) > cursor.deep:
            high, logs = self._staged(cursor, self._deepest(cursor), limit, uow)
            self._take_deep(cursor, high, logs, request, now, uow)

    def _staged(
        self, here: KeptCursor, high: int, limit: int, uow: UnitOfWork
    ) -> tuple[int, list[VaultLog]]:
        """Up to which block the next logs that waited are taken, and these."""
        chain_id = self.chain.chain_id
        high = max(uow.chainlog.staged_up_to(chain_id, high, limit), here.deep)
        return high, [log_of(s) for s in uow.chainlog.take_staged(chain_id, high)]

    def _make_deep(
        self,
        block_range: BlockRange,
        limit: int,
        request: ChainEvidence,
        now: datetime,
        uow: UnitOfWork,
    ) -> BlockRange | None:
        """Make rows of the next part of what most nodes tell; what is left of it. What waited there
        by the word of one is dropped.
        """
        chain_id, chainlog = self.chain.chain_id, uow.chainlog
        cursor = chainlog.cursor(chain_id, lock=True)
        if (
            cursor is None
            or cursor.deep != block_range.since.block
            or cursor.block < block_range.cursor.block
        ):
            return None  # another process read on, or went back
        block_range, left = block_range.split_at(limit)
        high = block_range.cursor.block
        staged_logs = tuple([log_of(s) for s in chainlog.take_staged(chain_id, high)])
        if staged_logs != block_range.logs:
            log.warning("chain %s: what waited is not what most nodes tell", chain_id)
        self._unmade(uow, now, range(cursor.deep + 1, high + 1), block_range.logs, request)
        self._take_deep(cursor, high, block_range.logs, request, now, uow)
        return left

    def _take_deep(
        self,
        here: KeptCursor,
        high: int,
        raw_logs: Sequence[VaultLog],
        request: ChainEvidence,
        now: datetime,
        uow: UnitOfWork,
    ) -> None:
        """Make rows of the logs up to a block, and keep how far that came."""
        chain_id, chainlog = self.chain.chain_id, uow.chainlog
        logs = request.proven_logs(raw_logs, high)
        ctx, sure = IngestContext.of(uow, self.deps, now), request.transactions.keys()
        blocks = range(here.deep + 1, high + 1)
        reverse_blocks(ctx, chain_id, blocks, logs, sure)
        take_back_marks(ctx, chain_id, blocks, request.blocks)
        ingest_logs(ctx, self.chain, logs, sure)
        chainlog.set_cursor(chain_id, here.block, here.hash, here.head, high, now)

    def _unmade(
        self,
        uow: UnitOfWork,
        now: datetime,
        blocks: range,
        logs: Sequence[VaultLog],
        request: ChainEvidence,
    ) -> None:
        """Keep the vaults made in the blocks just read, and let go of those that were not."""
        chain_id, created = self.chain.chain_id, dict[str, VaultLog]()
        for g in logs:
            if g.name == "MandateCreated":
                created[str(g.args["vault"]).lower()] = g
        for address, g in created.items():
            uow.chainlog.add_vault(chain_id, address, str(g.args["digest"]), g.block.number)
        there = uow.chainlog.vaults_in(chain_id, blocks.start, blocks.stop - 1)
        doubt = [v for v in there if v.address not in created]
        mandate_by_vault = {
            v.address: uow.mandates.by_vault(chain_id, v.address, lock=True) for v in doubt
        }
        unknown = {
            a for a, m in mandate_by_vault.items() if m is not None and a not in request.vaults
        }
        if unknown:
            raise ReorgSuspected(vaults=unknown)
        for address, mandate in mandate_by_vault.items():
            if mandate is not None and request.vaults[address]:
                uow.chainlog.move_vault(chain_id, address, blocks.stop)
                continue
            uow.chainlog.forget_vault(chain_id, address)
            if mandate is not None:
                log.warning("the vault of %s was reorganised away", mandate.public_id)
                detach_vault(IngestContext.of(uow, self.deps, now), mandate)

    async def _reread(
        self, cursor: KeptCursor, vaults: Mapping[str, int], watched: Watched
    ) -> None:
        """Read the logs of some vaults and their purses once more, up to where the ledger was
        compared.
        """
        low, high = min(vaults.values()), cursor.block
        some = Watched.of(vaults, [p for p in watched.purses.values() if p.vault in vaults])

        async def by_one(view: EvmChain) -> tuple[BlockStamp | None, list[VaultLog]]:
            logs = await self.reader.through(view).logs_of(some, low, high)
            return None if self._alone else await view.block(high), logs

        logs = list[VaultLog]()
        if low <= high:
            _, logs = await quorum_read(self.chain, "the logs of a vault", by_one)
        await self._surely(partial(self._store_reread, cursor, vaults, logs))

    def _store_reread(
        self,
        cursor: KeptCursor,
        vaults: Mapping[str, int],
        logs: Sequence[VaultLog],
        request: ChainEvidence,
        now: datetime,
        uow: UnitOfWork,
    ) -> None:
        chain_id = self.chain.chain_id
        if uow.chainlog.cursor(chain_id) != cursor:
            return  # the reader moved: what was read may not be what it stands on
        shallow = [staged(g) for g in logs if g.block.number > cursor.deep]
        uow.chainlog.stage(chain_id, shallow)
        deep = [g for g in logs if g.block.number <= cursor.deep]
        known = request.proven_logs(deep, cursor.deep)
        ctx = IngestContext.of(uow, self.deps, now)
        ingest_logs(ctx, self.chain, known, request.transactions.keys())
        for address in vaults:
            uow.chainlog.read_again(chain_id, address, None)
