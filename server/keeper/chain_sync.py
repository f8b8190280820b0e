"""Reading one chain into the ledger: what the reader brings, what a reorganisation takes back, and
what has to be read again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, TypeVar

from chain.adapter import EvmChain
from chain.agreed_view import UNAVAILABLE, Ground, ground
from chain.logs.log_reader import BlockRange, LogReader, ReadCursor, ReorgDetected
from chain.quorum import quorum_read, why_of
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
from tools.model.switches import switches

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
        """One step; False where there was nothing to do.

        Errors: `chain_unavailable`.
        """
        if self._left is not None:
            await self._store_on(self._left)
            return True
        nodes, now = self.chain.node(), self.deps.clock.now()
        try:
            moved = await self._step(await ground(self.chain, now))
        except Refused as refused:
            if refused.code == UNAVAILABLE:
                patience = timedelta(seconds=self.chain.facts.issue_s)
                nodes.disagree(why_of(refused), now, patience)
            raise
        nodes.agree()
        return moved

    async def _step(self, at: Ground) -> bool:
        chain_id = self.chain.chain_id
        kept, vaults, again = await self.deps.store.read(
            lambda uow: (
                uow.chainlog.cursor(chain_id),
                uow.chainlog.vaults(chain_id),
                uow.chainlog.to_read_again(chain_id),
            )
        )
        if kept is not None and self._deepest(kept) > kept.deep:
            if self._alone:
                await self._in_parts(self._deepen)
                return True
            if self._agreed is None or self._agreed.since.block != kept.deep:
                self._agreed = await self._told_by_most(kept, vaults)
            known = await self._known(kept, self._agreed.cursor.block)
            if known not in (None, self._agreed.cursor.hash):
                return await self._rewind(at)
            self._agreed = await self._in_parts(partial(self._make_deep, self._agreed))
            return True
        told = await at.step(partial(self._by_one, at, kept, vaults))
        if isinstance(told, ReorgDetected):
            return await self._rewind(at)
        if told is not None:
            self.reader.remember(told)
            await self._store_on(told)
        elif kept is not None and again:
            await self._again(kept, dict(again))
        elif kept is not None and kept.deep >= 0:
            await self._note_complete(kept.deep)
        return told is not None

    async def _by_one(
        self,
        at: Ground,
        kept: KeptCursor | None,
        vaults: Collection[str],
        node: EvmChain,
        head: Header,
    ) -> BlockRange | ReorgDetected | None:
        """A step by one node. What becomes deep by it ends in a block that most nodes name.

        Errors: `chain_unavailable` for a node on another fork too.
        """
        cursor = ReadCursor(kept.block, kept.hash) if kept else None
        told = await self.reader.through(node).step(cursor, vaults, head)
        if isinstance(told, ReorgDetected):
            several = len(self.chain.views) > 1
            if several and cursor is not None and await at.stands(cursor.block, cursor.hash):
                raise node.node().unavailable("the node lost a block that the others have")
        elif told is not None:
            high = min(told.head.number - self.chain.confirmations, told.cursor.block)
            known = next((b for b in told.blocks if b.number == high), None)
            if high > (kept.deep if kept is not None else told.since.block):
                await at.confirm(node, high, known, told.cursor.block)
        return told

    async def _told_by_most(self, kept: KeptCursor, vaults: Collection[str]) -> BlockRange:
        """The blocks that are deep enough and no rows yet, as more than half of the configured
        nodes tell them: what one by itself told waits, and makes no row.

        Errors: `chain_unavailable` where they do not tell the same.
        """
        low, high = kept.deep + 1, self._deepest(kept)
        end, logs = await quorum_read(
            self.chain,
            "the logs of some blocks",
            lambda view: self.reader.through(view).told_in(vaults, low, high),
        )
        return BlockRange(logs, (), ReadCursor(kept.deep, None), ReadCursor(high, end.hash), end)

    async def _known(self, kept: KeptCursor, block: int) -> str | None:
        """The hash of a block as it was read."""
        if block == kept.block:
            return kept.hash
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

    def _deepest(self, kept: KeptCursor) -> int:
        """The block up to which what was read is as deep as it must be."""
        head = kept.block if kept.head is None else kept.head
        return min(head - self.chain.confirmations, kept.block)

    async def _store_on(self, told: BlockRange) -> None:
        """Store the next part of what was read. Where that fails, it is read again."""
        self._left = None
        self._left = await self._in_parts(partial(self._store, told))

    async def _in_parts(self, work: Callable[[int, ChainEvidence, datetime, UnitOfWork], T]) -> T:
        """Do a piece of work with so many logs at most; with fewer where the database has not the
        time for them: the same again would never end.
        """
        while True:
            try:
                return await self._surely(partial(work, self._most))
            except Unavailable as trouble:
                if self._most == 1:
                    self.reader.narrow()
                    raise
                log.warning("%s logs of chain %s: %s", self._most, self.chain.chain_id, trouble.why)
                self._most = max(1, self._most // FEWER)

    async def _surely(self, work: Callable[[ChainEvidence, datetime, UnitOfWork], T]) -> T:
        """Do a piece of work in one transaction; where it is not sure what the chain has, the chain
        is asked, and it begins again.
        """
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
        """What more than half of the configured nodes say alike that a transaction left; nothing is
        taken back on the word of one among several.

        Errors: `chain_unavailable` where no answer is that of enough nodes.
        """
        return await quorum_read(self.chain, "a transaction", lambda view: left_by(view, tx_hash))

    async def _rewind(self, at: Ground) -> bool:
        """Go back to the newest remembered block that most nodes have; what is above it is compared
        when it is read again. False where that is the one that was read last.
        """
        chain_id = self.chain.chain_id
        remembered, kept = await self.deps.store.read(
            lambda uow: (uow.chainlog.blocks(chain_id), uow.chainlog.cursor(chain_id))
        )
        back = ReadCursor(max(self.chain.facts.start_block - 1, -1), None)
        for number, hashed in remembered:
            if await at.stands(number, hashed):
                back = ReadCursor(number, hashed)
                break
        if kept is None or (kept.block, kept.hash) == (back.block, back.hash):
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
        self, told: BlockRange, limit: int, request: ChainEvidence, now: datetime, uow: UnitOfWork
    ) -> BlockRange | None:
        """Store a part of what was read; what is left of it."""
        chain_id, chainlog = self.chain.chain_id, uow.chainlog
        kept = chainlog.cursor(chain_id, lock=True)
        if kept is not None and (kept.block, kept.hash) != (told.since.block, told.since.hash):
            return None  # another process read on, or went back
        told, left = told.parted(limit)
        read = range(told.since.block + 1, told.cursor.block + 1)
        self._unmade(uow, now, read, told.logs, request)
        blocks = [(b.number, b.hash) for b in told.blocks]
        chainlog.remember_blocks(chain_id, blocks, told.head.number - self.reader.window)
        deep = kept.deep if kept is not None else told.since.block
        here = KeptCursor(told.cursor.block, told.cursor.hash, told.head.number, deep, now)
        high = max(self._deepest(here), deep) if self._alone else deep
        found = [g for g in told.logs if g.block.number <= high]
        if found and chainlog.is_staged(chain_id, high):
            found = []
        chainlog.stage(chain_id, map(staged, told.logs[len(found) :]))
        if not found:
            high, found = self._staged(here, high, limit, uow)
        self._take_deep(here, high, found, request, now, uow)
        return left

    def _deepen(self, limit: int, request: ChainEvidence, now: datetime, uow: UnitOfWork) -> None:
        kept = uow.chainlog.cursor(self.chain.chain_id, lock=True)
        if kept is not None and self._deepest(kept) > kept.deep:
            high, found = self._staged(kept, self._deepest(kept), limit, uow)
            self._take_deep(kept, high, found, request, now, uow)

    def _staged(
        self, here: KeptCursor, high: int, limit: int, uow: UnitOfWork
    ) -> tuple[int, list[VaultLog]]:
        """Up to which block the next logs that waited are taken, and these."""
        chain_id = self.chain.chain_id
        high = max(uow.chainlog.staged_up_to(chain_id, high, limit), here.deep)
        return high, [log_of(s) for s in uow.chainlog.take_staged(chain_id, high)]

    def _make_deep(
        self, told: BlockRange, limit: int, request: ChainEvidence, now: datetime, uow: UnitOfWork
    ) -> BlockRange | None:
        """Make rows of the next part of what most nodes tell; what is left of it. What waited there
        by the word of one is dropped.
        """
        chain_id, chainlog = self.chain.chain_id, uow.chainlog
        kept = chainlog.cursor(chain_id, lock=True)
        if kept is None or kept.deep != told.since.block or kept.block < told.cursor.block:
            return None  # another process read on, or went back
        told, left = told.parted(limit)
        high = told.cursor.block
        waited = tuple([log_of(s) for s in chainlog.take_staged(chain_id, high)])
        if waited != told.logs:
            log.warning("chain %s: what waited is not what most nodes tell", chain_id)
        self._unmade(uow, now, range(kept.deep + 1, high + 1), told.logs, request)
        self._take_deep(kept, high, told.logs, request, now, uow)
        return left

    def _take_deep(
        self,
        here: KeptCursor,
        high: int,
        found: Sequence[VaultLog],
        request: ChainEvidence,
        now: datetime,
        uow: UnitOfWork,
    ) -> None:
        """Make rows of the logs up to a block, and keep how far that came."""
        chain_id, chainlog = self.chain.chain_id, uow.chainlog
        logs = request.told(found, high)
        ingest_context, sure = self._desk(uow, now), request.transactions.keys()
        blocks = range(here.deep + 1, high + 1)
        reverse_blocks(uow, ingest_context, chain_id, blocks, logs, sure)
        take_back_marks(uow, ingest_context, chain_id, blocks, request.blocks)
        ingest_logs(uow, ingest_context, self.chain, logs, sure)
        chainlog.set_cursor(chain_id, here.block, here.hash, here.head, high, now)

    def _unmade(
        self,
        uow: UnitOfWork,
        now: datetime,
        blocks: range,
        logs: Sequence[VaultLog],
        request: ChainEvidence,
    ) -> None:
        """Keep the vaults that were made in the blocks just read, and let go of those that were
        not.
        """
        chain_id, created = self.chain.chain_id, dict[str, VaultLog]()
        for g in logs:
            if g.name == "MandateCreated":
                created[str(g.args["vault"]).lower()] = g
        for address, g in created.items():
            uow.chainlog.add_vault(chain_id, address, str(g.args["digest"]), g.block.number)
        there = uow.chainlog.vaults_in(chain_id, blocks.start, blocks.stop - 1)
        doubt = [v for v in there if v.address not in created]
        held = {v.address: uow.mandates.by_vault(chain_id, v.address, lock=True) for v in doubt}
        unknown = {a for a, m in held.items() if m is not None and a not in request.vaults}
        if unknown:
            raise ReorgSuspected(vaults=unknown)
        for address, mandate in held.items():
            if mandate is not None and request.vaults[address]:
                uow.chainlog.move_vault(chain_id, address, blocks.stop)
                continue
            uow.chainlog.forget_vault(chain_id, address)
            if mandate is not None:
                log.warning("the vault of %s was reorganised away", mandate.public_id)
                detach_vault(uow, self._desk(uow, now), mandate)

    async def _again(self, kept: KeptCursor, vaults: Mapping[str, int]) -> None:
        """Read the logs of some vaults once more, up to where the ledger was compared."""
        low, high = min(vaults.values()), kept.block

        async def by_one(view: EvmChain) -> tuple[BlockStamp | None, list[VaultLog]]:
            logs = await self.reader.through(view).logs_of(vaults, low, high)
            return None if self._alone else await view.block(high), logs

        logs = list[VaultLog]()
        if low <= high:
            _, logs = await quorum_read(self.chain, "the logs of a vault", by_one)
        await self._surely(partial(self._told_again, kept, vaults, logs))

    def _told_again(
        self,
        kept: KeptCursor,
        vaults: Mapping[str, int],
        logs: Sequence[VaultLog],
        request: ChainEvidence,
        now: datetime,
        uow: UnitOfWork,
    ) -> None:
        chain_id = self.chain.chain_id
        if uow.chainlog.cursor(chain_id) != kept:
            return  # the reader moved: what was read may not be what it stands on
        shallow = [staged(g) for g in logs if g.block.number > kept.deep]
        uow.chainlog.stage(chain_id, shallow)
        deep = [g for g in logs if g.block.number <= kept.deep]
        known = request.told(deep, kept.deep)
        ingest_logs(uow, self._desk(uow, now), self.chain, known, request.transactions.keys())
        for address in vaults:
            uow.chainlog.read_again(chain_id, address, None)

    def _desk(self, uow: UnitOfWork, now: datetime) -> IngestContext:
        return IngestContext(
            now, self.deps.ids, self.deps.config, switches(uow, self.deps.defaults)
        )
