"""A process that dies at a given step: at the nth time that it waits for the database, the venue or the signer."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any

from tests.tools.trading.stop_line import Lines
from tools.model.operation import Deps
from tools.trading.stop_line.keeper import StopLineKeeper


class Killed(BaseException):
    """The process is gone; nothing of it catches this."""


@dataclass
class Fate:
    """Counts what is waited for; dies before or after the nth."""

    at: int | None = None
    after: bool = False
    met: int = 0

    async def through(self, call: Any, *args: Any, **more: Any) -> Any:
        self.met += 1
        last = self.met == self.at
        if last and not self.after:
            raise Killed
        answer = await call(*args, **more)
        if last:
            raise Killed
        return answer


class Mortal:
    """An object whose asynchronous methods go through a fate; the others are its own."""

    def __init__(self, inner: Any, fate: Fate, names: set[str] | None = None):
        self._inner, self._fate, self._names = inner, fate, names

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        waits = inspect.iscoroutinefunction(found) if self._names is None else name in self._names
        if not waits:
            return found

        async def call(*args: Any, **more: Any) -> Any:
            return await self._fate.through(found, *args, **more)

        return call


class MortalVenues:
    def __init__(self, inner: Any, fate: Fate):
        self._inner, self._fate = inner, fate

    def get(self, network: Any) -> Any:
        return Mortal(self._inner.get(network), self._fate)

    def unknown_counts(self) -> Any:
        return self._inner.met()

    def refused(self) -> Any:
        return self._inner.refused()


def process(deps: Deps, fate: Fate) -> Deps:
    """What a process of the service works with, and what dies with it."""
    return replace(
        deps,
        store=Mortal(deps.store, fate, {"read", "write"}),  # type: ignore[arg-type]
        venues=MortalVenues(deps.venues, fate),
    )


def mortal(lines: Lines, holder: str, fate: Fate) -> StopLineKeeper:
    """A keeper of a process with a fate of its own."""
    deps = process(lines.desk.deps, fate)
    signer = Mortal(deps.signer, fate, {"keeper_signed"})
    return StopLineKeeper(replace(deps, signer=signer), holder)  # type: ignore[arg-type]
