"""Storage allowance: bytes that an owner stores in a day, refused above a limit.

A process adds up what it wrote, and writes the sum down now and then: a row for each write would
have all of an owner's writes wait for one another. So a process that ends forgets `STEP` bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, TypeVar

from domain.refusals import Refused, refusal
from domain.times import day_of
from storage.prefetch.read_set import ReadSet
from storage.unit_of_work import UnitOfWork
from tools.model.operation import Caller, Deps, Operation
from tools.model.stored_bytes import OwnerDay

T = TypeVar("T")
STEP: Final = 65_536
MB: Final = 1_000_000
# Once a vault of theirs is funded an owner has ten times as much; agents leave a quarter of it to
# their owner, who may have to undo what they do.
FUNDED_TIMES: Final = 10
AGENTS_QUARTERS: Final = 3
# All owners of whom no vault was ever funded have so many allowances together: wallets are free.
# Each may have what is left of three quarters of it; the last quarter is for who had little.
TOGETHER: Final = ""
TOGETHER_TIMES: Final = 25
LITTLE: Final = 65_536


async def admit(deps: Deps, op: Operation, caller: Caller) -> None:
    """Let a write through. What ends or removes something is always let through.

    Errors: `rate_limited` until midnight UTC above the allowance.
    """
    owner_id, allowance_mb = caller.owner_id, deps.config.store_mb_per_day
    if owner_id is None or not allowance_mb or op.destructive:
        return
    now = deps.clock.now()
    day = await _day(deps, owner_id, now)
    limit = _limit_of(allowance_mb, day, caller)
    if day.written + day.since >= limit:
        day = await _looked_up(deps, owner_id, now)  # a vault may have been funded since
        limit = _limit_of(allowance_mb, day, caller)
    if day.written + day.since >= limit:
        why = f"More than {limit / MB:g} MB would be stored today for one owner"
        why += ", all agents together." if caller.role == "agent" else "."
        raise _full(why, now)
    if not day.funded:
        await _admit_beside_all(deps, owner_id, allowance_mb, day, now)


async def _admit_beside_all(
    deps: Deps, owner_id: str, allowance_mb: int, day: OwnerDay, now: datetime
) -> None:
    """Let a write of an owner through of whom no vault was funded yet, beside all others of whom
    none was. Errors: `rate_limited`.
    """
    every = await _day(deps, TOGETHER, now)
    if _is_within(allowance_mb, day, every):
        return
    every = await _looked_up(deps, TOGETHER, now)
    day = await _looked_up(deps, owner_id, now)
    if not day.funded and not _is_within(allowance_mb, day, every):
        raise _full("Too much was stored today for owners of whom no vault was funded yet.", now)


def _is_within(allowance_mb: int, day: OwnerDay, every: OwnerDay) -> bool:
    """Whether an owner's day has room within the total allowance of the day."""
    limit, mine = allowance_mb * MB * TOGETHER_TIMES, day.written + day.since
    left = limit - every.written - every.since
    return mine < left - limit // 4 or (mine < LITTLE and left > 0)


def _full(reason: str, now: datetime) -> Refused:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return Refused(refusal("rate_limited", why=reason, retry_at=midnight))


async def _day(deps: Deps, owner_id: str, now: datetime) -> OwnerDay:
    """An owner's day as this process knows it."""
    day = deps.stored.days.get(owner_id)
    if day is None or day.day != day_of(now):
        day = await _looked_up(deps, owner_id, now)
    return day


def _limit_of(allowance_mb: int, day: OwnerDay, caller: Caller) -> int:
    limit = allowance_mb * MB * (FUNDED_TIMES if day.funded else 1)
    return limit * AGENTS_QUARTERS // 4 if caller.role == "agent" else limit


async def _looked_up(deps: Deps, owner_id: str, now: datetime) -> OwnerDay:
    name = day_of(now)
    written, funded = await deps.store.read(
        lambda uow: (uow.stored.of(owner_id, name), uow.stored.funded(owner_id))
    )
    known = deps.stored.days.get(owner_id)
    since = known.since if known is not None and known.day == name else 0
    return deps.stored.keep(owner_id, OwnerDay(name, written, funded, since))


async def written(
    deps: Deps, caller: Caller, work: Callable[[UnitOfWork], T], read_set: ReadSet | None = None
) -> T:
    """Run a handler that writes, and count what it stored for the owner behind the caller."""
    count = 0

    def counted(uow: UnitOfWork) -> T:
        nonlocal count
        counting, sql = uow.counting()
        answer = work(counting)
        count = sql.bytes
        return answer

    if caller.owner_id is None or not deps.config.store_mb_per_day:
        return await deps.store.write(work, read_set)
    answer = await deps.store.write(counted, read_set)
    await _add(deps, caller.owner_id, count)
    return answer


async def _add(deps: Deps, owner_id: str, count: int) -> None:
    day = await _day(deps, owner_id, deps.clock.now())
    if owner_id != TOGETHER and not day.funded:
        await _add(deps, TOGETHER, count)
    day.since += count
    if day.since < STEP:
        return
    sum_, day.since = day.since, 0
    day.written += sum_
    name = day.day
    day.written = await deps.store.write(lambda uow: uow.stored.add(owner_id, name, sum_))
