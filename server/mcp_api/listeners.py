"""Listeners: streams and sessions that hear of resources and tasks once they change."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import TaskGroup

from storage.errors import Unavailable
from storage.unit_of_work import UnitOfWork
from tools.model.operation import Deps

if TYPE_CHECKING:
    from starlette.requests import Request

log = logging.getLogger("wallet.mcp")

WATCH_S: Final = 1
# An approved task that has no answer yet is looked at again.
AGAIN_S: Final = 15
CHECKS_AT_ONCE: Final = 8
MANDATE: Final = "wallet://mandates/"
APPROVAL: Final = "wallet://approvals/"
TASK: Final = "task:"
# Whether a request may still see what is listened to.
MaySee = Callable[["Request | None", str, bool], Awaitable[bool]]


@dataclass(slots=True, eq=False)
class ChangeListener:
    """The changes that one stream or session hears of, with the right of its request; `lost` are
    the names that it may not see any more.
    """

    request: Request | None
    deliver: Callable[[str], Awaitable[None]]
    names: set[str] = field(default_factory=set)
    changed: dict[str, None] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    is_busy: bool = False


class Listeners:
    """Sees changes in the database, whichever process made them, and tells of each who may still
    see it. Every listener is told by a task of its own, so that a slow one holds up no other.
    """

    def __init__(
        self, deps: Deps, listeners: Callable[[], Iterable[ChangeListener]], may_see: MaySee
    ) -> None:
        self.refresh: Callable[[], Awaitable[None]] | None = None
        self._deps, self._listeners, self._may_see = deps, listeners, may_see
        self._seen: dict[str, str] = {}
        self._checks = anyio.CapacityLimiter(CHECKS_AT_ONCE)

    def watched(self) -> set[str]:
        """The names that somebody wants to hear of."""
        return {name for listener in self._listeners() for name in listener.names}

    async def run(self) -> None:
        """Tell of changes, until cancelled."""
        async with anyio.create_task_group() as group:
            while True:
                await anyio.sleep(WATCH_S)
                await self._refreshed()
                watched = self.watched()
                self._seen = {name: v for name, v in self._seen.items() if name in watched}
                if not watched:
                    continue
                try:
                    await self._look(watched, group)
                except Unavailable as error:
                    log.warning("resources: the database: %s", error.why)
                except Exception:
                    log.exception("resources; trying again")

    async def _refreshed(self) -> None:
        """Learn who listens, where other processes may have been asked."""
        try:
            if self.refresh is not None:
                await self.refresh()
        except Unavailable as error:
            log.warning("subscriptions: the database: %s", error.why)
        except Exception:
            log.exception("subscriptions; trying again")

    async def note(self, names: Iterable[str]) -> None:
        """Note how things are now, so that what changes from now on is told."""
        new = [name for name in names if name not in self._seen]
        if new:
            self._seen |= {n: v for n, v in (await self._versions(new)).items() if n in new}

    async def version(self, name: str) -> str:
        """The state of something, as a text."""
        return (await self._versions([name])).get(name, "")

    def learn(self, listener: ChangeListener, versions: Mapping[str, str]) -> None:
        """Let a listener hear of these names and no others. What changed since the version at which
        it subscribed is told, even where this process saw that before it knew of the listener.
        """
        for name in versions.keys() - listener.names - listener.lost:
            listener.names.add(name)
            if self._seen.setdefault(name, versions[name]) != versions[name]:
                listener.changed[name] = None
        listener.names &= versions.keys()

    async def _look(self, names: Iterable[str], group: TaskGroup) -> None:
        changed = set[str]()
        for name, version in (await self._versions(names)).items():
            before, self._seen[name] = self._seen.get(name), version
            if before not in (None, version):
                changed.add(name)
        for listener in list(self._listeners()):
            listener.changed |= dict.fromkeys(sorted(listener.names & changed))
            if listener.changed and not listener.is_busy:
                listener.is_busy = True
                group.start_soon(self._tell, listener)

    async def _tell(self, listener: ChangeListener) -> None:
        try:
            while listener.changed:
                name = next(iter(listener.changed))
                async with self._checks:
                    may_see = await self._may_see(listener.request, name, True)
                del listener.changed[name]
                if may_see:
                    await listener.deliver(name)
                else:
                    listener.names.discard(name)
                    listener.lost.add(name)
        except Unavailable as error:
            log.warning("resources: the database: %s", error.why)
        except Exception:
            log.exception("a listener could not be told of a change")
        finally:
            listener.is_busy = False

    async def _versions(self, names: Iterable[str]) -> Mapping[str, str]:
        ids = {
            kind: [n.removeprefix(kind) for n in names if n.startswith(kind)]
            for kind in (MANDATE, APPROVAL, TASK)
        }
        now = self._deps.clock.now()

        def versions(uow: UnitOfWork) -> Mapping[str, str]:
            mandates = uow.mandates.versions(ids[MANDATE])
            approvals = uow.approvals.versions([*ids[APPROVAL], *ids[TASK]], now)
            answered = uow.approvals.answered_tasks(ids[TASK])
            slot = int(now.timestamp()) // AGAIN_S
            by_name = {f"{MANDATE}{n}": v for n, v in mandates.items()}
            by_name |= {f"{APPROVAL}{n}": v for n, v in approvals.items() if n in ids[APPROVAL]}
            for n in ids[TASK]:
                version, is_answered = approvals.get(n, ""), n in answered
                goes_on = not (version.startswith("pending.") or is_answered)
                by_name[f"{TASK}{n}"] = f"{version}.{is_answered}.{slot if goes_on else ''}"
            return by_name

        return await self._deps.store.read(versions)
