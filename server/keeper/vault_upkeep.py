"""Vault upkeep of one chain: refresh, mark, stop, close, settle."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from math import ceil
from typing import Final

import anyio

from chain.adapter import EvmChain
from domain.chain_facts import BlockStamp, PurseState, VaultState
from domain.mandates.mandate import Mandate, Status
from domain.mandates.markets import Market, from_config
from domain.money import ZERO, Usdc
from domain.refusals import Refused
from domain.rules.mark_policy import closed
from domain.rules.stop_line import is_below_floor
from server.keeper.audit import Auditing
from server.keeper.settled_purses import SettledPurses
from server.keeper.value_recording import REST_S, SHORT_REST_S, Recording, Rest
from server.keeper.vault_discovery import VaultDiscovery
from server.keeper.vault_resync import VaultResync
from server.settings import Settings
from storage.unit_of_work import UnitOfWork
from tools.context.market_calls import leavable, whole_exits
from tools.dispatch.run import run
from tools.keeper.block_time import newest, with_trusted_time
from tools.keeper.claim_expiry import expire_claims
from tools.keeper.ingest import IngestContext
from tools.keeper.marks import DUST, mark_vaults
from tools.keeper.reconciliation import Mismatch, compare_vaults
from tools.keeper.settlement import AT_THE_FLOOR, drains, due, send_for, window_over
from tools.keeper.settlement import OPERATIONS as SETTLEMENT
from tools.keeper.unexplained import flag_unexplained
from tools.model.operation import Caller, Deps
from tools.model.switches import switches

log = logging.getLogger("wallet.keeping")
CLAIM_S: Final = 60
UNSEEN_SHARE: Final = 4
READING_SHARE: Final = 4
KEEPER: Final = Caller("keeper")
RESTING: Final = "resting"
RECORDS: Final = ("gain", "last gain", "fall")
# Vaults that are read and acted on together, and those of one transaction: others have their turn.
TOGETHER: Final = 400
A_TURN: Final = 40


class VaultUpkeep:
    """The keeper of one chain. It has a budget of time a round, and each mandate one of its own, so
    that neither a chain nor a mandate that hangs or fails holds another.

    What was tried and changed nothing, or what the chain says would revert, is left alone for an
    hour, in every process; and nothing is sent twice by the same figures of a vault.
    """

    def __init__(self, deps: Deps, settings: Settings, holder: str, chain: EvmChain):
        self.deps, self.chain, self._holder = deps, chain, holder
        self._batch, self._budget_s = settings.keeper_batch, settings.keeper_budget_s
        self._tick_s = settings.keeper_tick_s
        self._recording = Recording(deps, chain, settings.keeper_mark_s)
        self._unseen = VaultDiscovery(deps, holder, chain, self._batch)
        self._rereading = VaultResync(deps, chain)
        self._auditing = Auditing(deps, chain)
        self._turns, self._turn = dict[str, int](), count(1)
        self._settled = SettledPurses(deps, chain)
        self.name = f"keeping chain {chain.chain_id}"

    async def round(self, every_s: float = 0) -> None:
        """The vaults that are due, once; those not that any keeper read within `every_s` seconds.
        Errors: `chain_unavailable`; TimeoutError past the budget.
        """
        with anyio.fail_after(self._budget_s):
            await self._look_for_unseen()
            mandates = await self.deps.store.write(partial(self._claimed, every_s))
            for n in range(0, len(mandates), TOGETHER):
                await self._keep(mandates[n : n + TOGETHER])
            await self._settled.round()

    async def _look_for_unseen(self) -> None:
        """Spend a part of the round on vaults without a creation log; known ones wait no longer."""
        with anyio.move_on_after(self._budget_s / UNSEEN_SHARE) as share:
            try:
                await self._unseen.round()
            except Refused as refused:
                log.warning("looking for unseen vaults: %s", refused.refusal.reason)
        if share.cancelled_caught:
            log.warning("looking for unseen vaults took too long")

    def _claimed(self, every_s: float, uow: UnitOfWork) -> list[Mandate]:
        """Take the vaults that were read longest ago: noting that they were read is the claim, so
        that another keeper takes others. As many as it takes to read all of them in half the time
        in which a mark is fresh.
        """
        now, chain_id = self.deps.clock.now(), self.chain.chain_id
        half_s = self.deps.config.mark_fresh_s / 2
        share = uow.mandates.vaults_to_keep(chain_id) * max(self._tick_s, every_s) / half_s
        limit = max(self._batch, ceil(share))
        since = now - timedelta(seconds=every_s)
        mandates = uow.mandates.due_for_refresh(chain_id, limit, now, since)
        uow.mandates.refreshed([m.public_id for m in mandates], now)
        return mandates

    async def _keep(self, mandates: Sequence[Mandate]) -> None:
        """Read, mark, act on and compare some vaults, by as many lens calls as they need."""
        chain = self.chain
        with anyio.fail_after(self._budget_s / 2):
            state_by_vault = await chain.vault_states(
                [m.vault_address for m in mandates if m.vault_address], agreed=True
            )
            purses = await self._purses(mandates)
        low: set[str] = set()
        for some in _chunks(mandates):
            low |= await self.deps.store.write(partial(self._mark, some, state_by_vault))
        now = self.deps.clock.now()
        states = {
            m.public_id: with_trusted_time(chain, s, now)
            for m in mandates
            if (s := state_by_vault.get(m.vault_address or ""))
        }
        filled = await self.deps.store.read(partial(_filled, mandates, purses))
        await self._act(mandates, states, low, filled)
        await self.compare(mandates)
        for some in _chunks(mandates):
            await expire_claims(self.deps, chain, some)
            with_purses = [m for m in some if m.has_purse]
            if with_purses:
                await self.deps.store.write(partial(self._flag_unexplained, with_purses))

    def _flag_unexplained(self, mandates: Sequence[Mandate], uow: UnitOfWork) -> None:
        flag_unexplained(IngestContext.of(uow, self.deps), mandates)

    def _mark(
        self, mandates: Sequence[Mandate], states: Mapping[str, VaultState], uow: UnitOfWork
    ) -> set[str]:
        return mark_vaults(IngestContext.of(uow, self.deps), mandates, states)

    async def _act(
        self,
        mandates: Sequence[Mandate],
        states: Mapping[str, VaultState],
        low: set[str],
        filled: Mapping[str, Usdc],
    ) -> None:
        """Stop what stood below its line on two fresh marks in a row, close what the chain stopped
        there, record what left its record, settle what is closed. In dry run nothing is stopped
        or closed, and it is said what would be; recording goes on, for it can stop nothing.
        """
        dry = await self.deps.store.read(
            lambda uow: switches(uow, self.deps.defaults).stop_line_dry_run
        )
        for mandate in mandates:
            vault = states.get(mandate.public_id)
            if vault is None:
                continue
            in_purse = filled.get(mandate.public_id, ZERO)
            to_settle = due(mandate, vault) or (vault.settled and bool(in_purse))
            to_settle &= not (in_purse and _waits_for_purse(mandate, vault, dry=dry))
            _warn_near_floor(mandate, vault, in_purse)
            # After the close a mark stops nothing: it would only lower the bar of the exits.
            at_line = mandate.public_id in low and not closed(mandate, vault)
            if at_line and (dry or self.deps.keeper is None):
                why = "dry run" if dry else "no keeper key is set"
                log.warning("%s stands below its stop line; %s", mandate.public_id, why)
            if mandate.status is Status.SETTLED and not (self.deps.keeper and to_settle):
                # It is kept for its agent's fee alone, and there is nothing to send for it.
                await self.deps.store.write(partial(self._rest_fee, mandate.public_id))
            # What stops it records the value too.
            waits = not dry and self.deps.keeper is not None and is_below_floor(vault)
            record = None if waits else self._recording.due(mandate, vault)
            if self.deps.keeper is None:
                continue
            if at_line and not dry:
                await self._run_leased("stop line", mandate, self._stop, vault)
            elif _to_close(mandate, vault) and not dry:
                await self._run_leased("close", mandate, self._close, vault)
            elif record is not None:
                await self._run_leased(record, mandate, self._recording.renew, vault)
            if to_settle:
                await self._run_leased("settle", mandate, self._settle)

    async def compare(self, mandates: Sequence[Mandate]) -> None:
        """Hold the vaults' own totals against the sums of their rows, up to where the reader has
        compared them; what differs is read again another way, and by another node.
        """
        chain = self.chain
        cursor = await self.deps.store.read(lambda uow: uow.chainlog.cursor(chain.chain_id))
        if cursor is None or cursor.head is None:
            return
        number = max(0, cursor.deep)
        at = await chain.block(number)
        if at is None or (cursor.block == number and cursor.hash not in (None, at.hash)):
            return  # the reader goes back first
        vaults = [m.vault_address for m in mandates if m.vault_address]
        states = await chain.vault_states(vaults, agreed=True, block=at)
        purses = await self._purses(mandates, at)
        differing: list[Mismatch] = []
        for some in _chunks(mandates):
            differing += await self.deps.store.write(partial(self._compared, some, states, purses))
        # A part of the time, and those first whose turn was longest ago: others are kept too.
        differing.sort(key=lambda one: self._turns.get(one.mandate.public_id, 0))
        with anyio.move_on_after(self._budget_s / READING_SHARE):
            for one in differing:
                self._turns[one.mandate.public_id] = next(self._turn)
                await self._run_leased("read again", one.mandate, partial(self._read_again, one))
        with anyio.move_on_after(self._budget_s / READING_SHARE):
            await self._auditing.round(mandates, states, purses)

    async def _purses(
        self, mandates: Sequence[Mandate], at: BlockStamp | None = None
    ) -> Mapping[str, PurseState]:
        """The mandates' purses at a block, the newest by default, as most nodes give them."""
        ids = [m.public_id for m in mandates if m.has_purse]
        if not ids:
            return {}
        known = await self.deps.store.read(
            lambda uow: [p.address for of in ids for p in uow.chainlog.purses_of(of)]
        )
        return await self.chain.purse_states(known, block=at)

    def _compared(
        self,
        mandates: Sequence[Mandate],
        states: Mapping[str, VaultState],
        purses: Mapping[str, PurseState],
        uow: UnitOfWork,
    ) -> list[Mismatch]:
        now, start_block = self.deps.clock.now(), self.chain.facts.start_block
        return compare_vaults(uow, now, mandates, states, start_block, purses)

    async def _read_again(self, one: Mismatch, _: Mandate) -> Rest:
        await self._rereading.of(one)
        return Rest()

    async def _stop(self, mandate: Mandate) -> Rest:
        """Mark: the chain stops what it finds below the floor; then close, if the terms say so."""
        sent: list[str] = []
        mandate = await send_for(self.deps, self.chain, mandate, "mark", sent)
        vault = await newest(self.deps, self.chain, mandate)
        if _to_close(mandate, vault):
            await self._close(mandate)
        return Rest(0 if vault.stopped else REST_S, bool(sent))

    async def _close(self, mandate: Mandate) -> Rest:
        """Take every position out by the exit of its market; one that refuses holds no other."""
        before, sent = await newest(self.deps, self.chain, mandate), list[str]()
        for market in leavable(mandate, from_config(self.deps.config.markets)):
            try:
                mandate = await self._leave(mandate, market, sent)
            except Refused as refused:
                log.warning("closing %s: %s", mandate.public_id, refused.refusal.reason)
        after = await newest(self.deps, self.chain, mandate)
        return Rest(0 if after.positions < before.positions else REST_S, bool(sent))

    async def _leave(self, mandate: Mandate, market: Market, sent: list[str]) -> Mandate:
        """Send the first exit that the chain lets pass; less than 1 USDC of a position that stays
        costs the house no gas.
        """
        count = len(sent)
        for call in await whole_exits(self.deps, mandate, market):
            exit = call.exit
            value = None if exit is None else exit.value_of_taken(exit.value)
            if exit is not None and exit.held_back and value is not None and value < DUST:
                continue
            mandate = await send_for(
                self.deps, self.chain, mandate, "unwind", sent, call.target, call.data
            )
            if len(sent) > count:
                break
        return mandate

    async def _settle(self, mandate: Mandate) -> Rest:
        request = {"public_id": mandate.public_id}
        reply = await run(SETTLEMENT[0], self.deps, KEEPER, request, transport="house")
        if reply.refused:
            log.warning("settling %s: %s", mandate.public_id, reply.body.get("reason"))
            return Rest(0 if reply.body.get("error") == "chain_unavailable" else REST_S)
        return Rest(REST_S if Usdc.parse(reply.body["fee_owed"]) else 0)

    async def _run_leased(
        self,
        kind: str,
        mandate: Mandate,
        work: Callable[[Mandate], Awaitable[Rest]],
        vault: VaultState | None = None,
    ) -> None:
        """Run a piece of work if no other process has it, and if its transactions were not sent by
        the same figures of `vault` before; `work` says for how long it is left alone then.
        """
        now, key = self.deps.clock.now(), mandate.public_id
        until = now + timedelta(seconds=CLAIM_S)
        figures = None if vault is None else _figures(vault)

        def take(uow: UnitOfWork) -> bool:
            if figures is not None and uow.work.figures(_family(kind), key) == figures:
                return False
            return uow.work.acquire(kind, key, self._holder, now, until)

        if not await self.deps.store.write(take):
            return
        rest = Rest(REST_S)
        try:
            with anyio.fail_after(CLAIM_S):
                rest = await work(mandate)
        except Refused as refused:
            log.warning("%s of %s: %s", kind, key, refused.refusal.reason)
            if refused.code == "chain_unavailable":
                rest = Rest()  # nobody knows yet
        except TimeoutError:
            log.warning("%s of %s took too long", kind, key)
            rest = Rest(SHORT_REST_S)  # nor here
        except Exception:
            log.exception("%s of %s failed", kind, key)
        await self.deps.store.write(partial(self._done, kind, key, now, rest, figures))

    def _done(
        self, kind: str, key: str, now: datetime, rest: Rest, figures: str | None, uow: UnitOfWork
    ) -> None:
        uow.work.release(kind, key, self._holder)
        if rest.s:
            uow.work.acquire(kind, key, RESTING, now, now + timedelta(seconds=rest.s))
        if rest.s and kind == "settle":
            self._rest_fee(key, uow)
        if rest.sent and figures is not None:
            uow.work.note_figures(_family(kind), key, figures)
        if rest.sent and kind == "fall":
            # What comes back of a fall is recorded as soon as it is there.
            uow.work.release("gain", key, RESTING)
            uow.work.release("last gain", key, RESTING)

    def _rest_fee(self, public_id: str, uow: UnitOfWork) -> None:
        """A settled mandate whose agent cannot be paid holds none back that works."""
        uow.work.rest_fee(public_id, self.deps.clock.now() + timedelta(seconds=REST_S))


def _waits_for_purse(mandate: Mandate, vault: VaultState, *, dry: bool) -> bool:
    """True where a settlement would fix a result that lacks what lies in the purse, and its owner
    or agent may still take that back: the keeper does not, and leaves them three days for it.
    """
    return not (vault.settled or drains(mandate, vault, dry=dry) or window_over(mandate, vault))


def _warn_near_floor(mandate: Mandate, vault: VaultState, in_purse: Usdc) -> None:
    """Say where what lies in the purse would keep a working vault off its stop line."""
    near = vault.cash + vault.positions < vault.floor + in_purse
    if in_purse and near and not closed(mandate, vault):
        log.warning(
            "%s nears its stop line with %s in its purse, which its agent can take back",
            mandate.public_id,
            in_purse,
        )


def _filled(
    mandates: Sequence[Mandate], purses: Mapping[str, PurseState], uow: UnitOfWork
) -> dict[str, Usdc]:
    """The balances of the purses of some mandates, by public id; next to nothing is left out."""
    filled: dict[str, Usdc] = {}
    for m in mandates:
        for p in uow.chainlog.purses_of(m.public_id) if m.has_purse else ():
            state = purses.get(p.address)
            if state is not None and state.is_filled:
                filled[m.public_id] = state.balance
    return filled


def _chunks(mandates: Sequence[Mandate]) -> Iterator[Sequence[Mandate]]:
    return (mandates[n : n + A_TURN] for n in range(0, len(mandates), A_TURN))


def _family(kind: str) -> str:
    """Gains and falls are recorded by the same transaction."""
    return "record" if kind in RECORDS else kind


def _figures(vault: VaultState) -> str:
    """The figures that decide whether a transaction is sent."""
    return " ".join(map(str, (vault.cash, vault.positions, vault.floor, vault.recorded)))


def _to_close(mandate: Mandate, vault: VaultState) -> bool:
    """True where the vault was stopped at its floor, the terms say close, and there is anything
    left to take out. A vault with less than 1 USDC in positions costs the house no gas.
    """
    stopped = vault.stopped and vault.stop_reason == AT_THE_FLOOR and not vault.settled
    return stopped and mandate.on_floor == "close" and vault.positions >= DUST
