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

MAX_VAULTS: Final = 20_000
BATCH: Final = 200


class VaultStateCache:
    """The newest state read of each vault; one task rereads those whose read failed a caller."""

    def __init__(self, read: Callable[[Sequence[str]], Awaitable[Mapping[str, VaultState]]]):
        self._read = read
        self._states: OrderedDict[str, VaultState] = OrderedDict()
        self._requested: dict[str, None] = {}
        self._catching_up: asyncio.Task[None] | None = None

    def keep(self, states: Mapping[str, VaultState]) -> None:
        """Store agreed states; each replaces the stored one, whatever its block."""
        for vault, state in states.items():
            self._states[vault] = state
            self._states.move_to_end(vault)
        while len(self._states) > MAX_VAULTS:
            self._states.popitem(last=False)

    def get(self, vault: str) -> VaultState | None:
        """The last known state, marked as such; None where this process has not read the vault."""
        entry = self._states.get(vault)
        return None if entry is None else replace(entry, last_known=True)

    def catch_up(self, vault: str) -> None:
        """Queue a background read of the vault."""
        if len(self._requested) < MAX_VAULTS:
            self._requested[vault] = None
        if self._catching_up is None or self._catching_up.done():
            loop = asyncio.get_running_loop()
            self._catching_up = loop.create_task(self._read_requested(), context=without_deadline())

    async def _read_requested(self) -> None:
        while self._requested:
            batch = list(self._requested)[:BATCH]
            # One that fails waits for the next who asks for it.
            self._requested = dict.fromkeys(list(self._requested)[BATCH:])
            with suppress(Refused):
                await self._read(batch)

    async def close(self) -> None:
        """Cancel the background reads."""
        if self._catching_up is not None:
            self._catching_up.cancel()
            await asyncio.gather(self._catching_up, return_exceptions=True)
