"""Vault state cache: the last known states, for callers that cannot wait for new ones."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from chain.rpc.deadlines import without_deadline
from domain.chain_facts import VaultState
from domain.refusals import Refused

KEPT: Final = 20_000
AT_ONCE: Final = 200


class VaultStateCache:
    """The newest state of each vault that was read; one reading at a time catches up with those
    that somebody asked for in vain.
    """

    def __init__(self, read: Callable[[Sequence[str]], Awaitable[Mapping[str, VaultState]]]):
        self._read = read
        self._states: OrderedDict[str, VaultState] = OrderedDict()
        self._requested: dict[str, None] = {}
        self._catching_up: asyncio.Task[None] | None = None

    def keep(self, states: Mapping[str, VaultState]) -> None:
        """Keep what enough nodes said; it replaces what was kept, whatever block that named."""
        for vault, state in states.items():
            self._states[vault] = state
            self._states.move_to_end(vault)
        while len(self._states) > KEPT:
            self._states.popitem(last=False)

    def get(self, vault: str) -> VaultState | None:
        """What the vault said last, marked as that; None where it was never read here."""
        entry = self._states.get(vault)
        return None if entry is None else replace(entry, last_known=True)

    def catch_up(self, vault: str) -> None:
        """Read a vault when the chain answers again, without anybody waiting for it."""
        if len(self._requested) < KEPT:
            self._requested[vault] = None
        if self._catching_up is None or self._catching_up.done():
            loop = asyncio.get_running_loop()
            self._catching_up = loop.create_task(self._on(), context=without_deadline())

    async def _on(self) -> None:
        while self._requested:
            some = list(self._requested)[:AT_ONCE]
            # One that fails waits for the next who asks for it.
            self._requested = dict.fromkeys(list(self._requested)[AT_ONCE:])
            with suppress(Refused):
                await self._read(some)

    async def close(self) -> None:
        """Stop catching up."""
        if self._catching_up is not None:
            self._catching_up.cancel()
            await asyncio.gather(self._catching_up, return_exceptions=True)
