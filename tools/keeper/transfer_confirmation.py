"""Transfer confirmation: settles reported transfers from chain logs."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from domain.agents.transfers import (
    CONFIRMED,
    FAILED,
    REPORTED,
    StoredTransfer,
    TransferOutcome,
    bears_out,
    confirm_unreported,
    gains,
    outcome,
    settle_transfer,
    unreported_deltas,
)
from domain.chain_facts import Receipt, TransferLog
from domain.money import Usdc
from domain.ports import Chain
from domain.refusals import Refused
from storage.unit_of_work import UnitOfWork
from tools.context.notice_outbox import transfer_in
from tools.model.operation import Deps

log = logging.getLogger("wallet.transfers")

USDC: Final = "USDC"
A_ROUND: Final = 50
LATE_A_ROUND: Final = 10
LATE_FOR: Final = timedelta(days=7)
# A report that stays unseen is asked about less and less often: after a tenth of its age.
YOUNG: Final = timedelta(minutes=5)
LONGEST_PAUSE: Final = timedelta(minutes=10)
FOUND_A_DAY: Final = 500
LARGEST: Final = 2**63 - 1
FoundTransfer = tuple[str, TransferLog]


def store_report(uow: UnitOfWork, new: StoredTransfer) -> bool:
    """Add a report, or take a failed one of the same transaction over; False where another
    stands.
    """
    return uow.transfers.add(new) or uow.transfers.take_over(new)


def settle_report(
    uow: UnitOfWork, chain_id: int, tx_hash: str, result: TransferOutcome, now: datetime
) -> StoredTransfer | None:
    """Give a report its outcome, once; None where it has one already. One that failed can still
    be confirmed.

    Where the chain told of the transaction before, against the report (a reorganisation can mine
    it again with other effects), that stands in the agent's books: the report fails.
    """
    known = uow.transfers.get(chain_id, tx_hash)
    if known is None:
        return None
    uow.identities.agent(known.agent_id, lock=True)
    known = uow.transfers.get(chain_id, tx_hash)
    if known is not None and uow.transfers.booked(known.agent_id, chain_id, tx_hash):
        result = TransferOutcome(None)
    late = known is not None and known.status == FAILED and result.actual is not None
    if known is None or not (known.status == REPORTED or late):
        return None
    idle = uow.transfers.balance(known.agent_id, chain_id, known.asset, "idle")
    step = settle_transfer(known, result, idle=idle, now=now)
    uow.transfers.save(step.report)
    uow.transfers.move(known.agent_id, step.deltas, now)
    return step.report


def book(
    uow: UnitOfWork, chain_id: int, tx_hash: str, gained: Mapping[str, int], now: datetime
) -> int:
    """Book the amounts that one USDC transaction moved between proven addresses, for every agent
    that it touched, with or without a report (contract 7); the number of balances that changed.

    Shapes: `gained` as `domain.agents.transfers.gains` gives it.
    """
    known = uow.transfers.get(chain_id, tx_hash)
    # In one order, so that two that book the same agents never wait for each other.
    for agent_id in sorted({*gained, *([known.agent_id] if known else [])}):
        uow.identities.agent(agent_id, lock=True)
    known, done, rest = uow.transfers.get(chain_id, tx_hash), 0, dict(gained)
    if known is not None and _tells_of(known, gained):
        result = TransferOutcome(abs(rest.pop(known.agent_id)))
        done += settle_report(uow, chain_id, tx_hash, result, now) is not None
    elif known is None or known.status == FAILED:
        done += _book_unreported(uow, chain_id, tx_hash, rest, now)
    for agent_id, amount in sorted(rest.items()):
        if not uow.transfers.booked(agent_id, chain_id, tx_hash):
            idle = uow.transfers.balance(agent_id, chain_id, USDC, "idle")
            deltas = unreported_deltas(chain_id, tx_hash, USDC, amount, idle=idle)
            uow.transfers.move(agent_id, deltas, now)
            done += 1
    return done


def _tells_of(known: StoredTransfer, gained: Mapping[str, int]) -> bool:
    return known.asset == USDC and bears_out(known, gained.get(known.agent_id, 0))


def _book_unreported(
    uow: UnitOfWork, chain_id: int, tx_hash: str, rest: dict[str, int], now: datetime
) -> bool:
    """Make what came in, and no report stands for, a confirmed report by `chain` of the agent that
    got the most; it leaves `rest`.
    """
    came = [(amount, agent_id) for agent_id, amount in rest.items() if amount > 0]
    if not came:
        return False
    amount, agent_id = max(came)
    if uow.transfers.booked(agent_id, chain_id, tx_hash):
        return False
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if uow.transfers.found_since(agent_id, today) >= FOUND_A_DAY:
        del rest[agent_id]
        return False
    key = chain_id, tx_hash, agent_id
    new = StoredTransfer(*key, USDC, amount, "in", "chain", CONFIRMED, now, confirmed_at=now)
    if not store_report(uow, new):
        return False
    uow.transfers.move(agent_id, confirm_unreported(new).deltas, now)
    del rest[agent_id]
    transfer_in(uow, agent_id, chain_id, tx_hash, str(Usdc(amount)), now)
    return True


def take_inbound(
    uow: UnitOfWork, chain_id: int, token: str, transfers: Iterable[FoundTransfer], now: datetime
) -> int:
    """Turn unreported USDC transfers into proven addresses into confirmed reports by `chain`; the
    number of balances that changed.

    Shapes: `transfers` has (transaction hash, log) of all transfers of the transactions, deep
    enough. A report that waits is settled by it too. An address that somebody else keeps busy
    fills no more than 500 rows a day.
    """
    logs: dict[str, list[TransferLog]] = {}
    for tx_hash, g in transfers:
        logs.setdefault(tx_hash.lower(), []).append(g)
    done = 0
    for tx_hash, tx_logs in logs.items():
        gained = _gains(uow, chain_id, token, tx_logs)
        if not all(_fits(uow, chain_id, of, amount) for of, amount in gained.items()):
            log.warning("transfer %s: it outgrows what a balance can hold", tx_hash)
            continue
        known = uow.transfers.get(chain_id, tx_hash)
        waits = known is not None and known.status == REPORTED and _tells_of(known, gained)
        if waits or any(amount > 0 for amount in gained.values()):
            done += book(uow, chain_id, tx_hash, gained, now)
    return done


def _gains(
    uow: UnitOfWork, chain_id: int, token: str, logs: Sequence[TransferLog]
) -> dict[str, int]:
    """The amounts that some logs moved, by agent with a proven address."""
    touched = {a for g in logs for a in (g.sender, g.recipient)}
    return gains(logs, token, uow.addresses.holders(chain_id, touched))


def _fits(uow: UnitOfWork, chain_id: int, agent_id: str, amount: int) -> bool:
    return abs(uow.transfers.balance(agent_id, chain_id, USDC, "idle") + amount) <= LARGEST


async def complete_transfers(
    chain: Chain, transfers: Sequence[FoundTransfer]
) -> list[FoundTransfer]:
    """All transfers of the transactions that some were found of: what else one moved counts too.

    Errors: `chain_unavailable`, `not_configured`.
    """
    completed: list[FoundTransfer] = []
    for tx_hash in dict.fromkeys(tx_hash for tx_hash, _ in transfers):
        receipt = await chain.receipt(tx_hash)
        completed += [(tx_hash, g) for g in receipt.transfers] if receipt and receipt.ok else []
    return completed


def pause(age: timedelta) -> timedelta:
    """The time until a report of an age is due again, at the soonest."""
    return max(timedelta(), min((age - YOUNG) / 10, LONGEST_PAUSE))


class TransferConfirmer:
    """Checks reports that wait on each chain, some a round, one owner after the other, so that
    those that stay unseen delay no others; and those that failed in the last week, which a chain
    may confirm late.
    """

    def __init__(self, deps: Deps):
        self._deps = deps

    async def round(self, chain_id: int) -> int:
        """Ask the chain about the next reports and settle those it decides; how many.

        Errors: `chain_unavailable`, `not_configured`.
        """
        deps, since, now = self._deps, self._overdue() - LATE_FOR, self._deps.clock.now()
        due = await deps.store.read(
            lambda uow: (
                *uow.transfers.due(chain_id, REPORTED, None, now, A_ROUND),
                *uow.transfers.due(chain_id, FAILED, since, now, LATE_A_ROUND),
            )
        )
        if due:
            # Before they are asked about: one at which a node fails comes last the next time.
            retries = [(one, self._retry_at(one, now)) for one in due]
            await deps.store.write(lambda uow: uow.transfers.mark_polled(retries))
        chain, done = deps.chains.get(chain_id), 0
        for one in due:
            done += await self._judged(chain, one, await chain.receipt(one.tx_hash))
        return done

    def _retry_at(self, one: StoredTransfer, now: datetime) -> datetime:
        """The time at which a report is due again, at the latest when its own time is over."""
        over = one.reported_at + self._fails_after()
        then = now + pause(now - one.reported_at)
        return over if now < over < then else then

    async def expire(self) -> int:
        """Fail the reports on chains that cannot be asked, once their time is over; how many."""
        chains = self._deps.chains
        request, until = [i for i in chains.ids() if chains.get(i).rpc_set], self._overdue()
        over = await self._deps.store.read(
            lambda uow: uow.transfers.overdue(request, until, A_ROUND)
        )
        return sum([await self._settled(one, TransferOutcome(None), {}) for one in over])

    def _overdue(self) -> datetime:
        """The time until which, inclusive, reports are older than the limit."""
        return self._deps.clock.now() - self._fails_after()

    def _fails_after(self) -> timedelta:
        return timedelta(seconds=self._deps.config.transfer_fails_after_s)

    async def _judged(self, chain: Chain, one: StoredTransfer, receipt: Receipt | None) -> bool:
        gained, token = dict[str, int](), chain.usdc
        if receipt is not None and receipt.ok and token is not None:
            of = partial(_gains, chain_id=one.chain_id, token=token, logs=receipt.transfers)
            gained = await self._deps.store.read(of)
        result = outcome(
            one,
            receipt,
            gained=gained.get(one.agent_id, 0) if one.asset == USDC else 0,
            confirmations=chain.confirmations,
            now=self._deps.clock.now(),
            fails_after=self._fails_after(),
        )
        deep = receipt is not None and receipt.depth >= chain.confirmations
        return await self._settled(one, result, gained if deep else {})

    async def _settled(
        self, one: StoredTransfer, result: TransferOutcome | None, gained: Mapping[str, int]
    ) -> bool:
        """Book what the transaction moved, and give the report its outcome; True where it has one
        now and had none before.
        """
        now = self._deps.clock.now()

        def work(uow: UnitOfWork) -> bool:
            if gained:
                book(uow, one.chain_id, one.tx_hash, gained, now)
            if result is not None and one.status == REPORTED:
                settle_report(uow, one.chain_id, one.tx_hash, result, now)
            after = uow.transfers.get(one.chain_id, one.tx_hash)
            return after is not None and after.status != one.status

        if result is None and not gained:
            return False
        try:
            return await self._deps.store.write(work)
        except Refused as refused:
            # A balance that outgrows the database is the only refusal here; the others of the page
            # must not wait for it.
            log.warning("transfer %s: %s", one.tx_hash, refused.refusal.reason)
            return False
