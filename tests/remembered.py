"""A set-up that many tests ask for is acted out once; after that, its outcome is put back.

`remembered` wraps a set-up of a `World`. What the outcome depends on makes the key: every byte of the database, the chain's
head and time, the clock, the settings, who has acted so far, and what was asked for. Where all of it is the same, acting
it out again could only come to the same end, but for the random ids; so the database, the blocks and the clock of the
first time are put back instead. Where anything differs, or cannot be compared (PostgreSQL, Anvil, parts that a test
has exchanged), the set-up is acted out. A test that patches what a set-up goes through turns `World.remembers` off.

`RememberingChain` does the same with what the chain runs: a transaction, a call, or the search for its gas, comes to the same
after the same block at the same time.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary

from eth.abc import SignedTransactionAPI
from eth_typing import Address

from chain.chains import EvmChains
from devtools.devchain import DevChain, RpcError
from devtools.devchain.blocks import Block, ExecutedLog, Mined
from storage.sqlite_files import sqlite_path
from storage.store import SqliteStore

if TYPE_CHECKING:
    from tests.world import World

T = TypeVar("T")
# SQLite's header: how often the file was changed, by which version of the library. It says nothing of what is in it.
COUNTERS: Final = ((24, 28), (92, 100))
MOST: Final = 20_000  # answers that a chain remembers


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How the world stood after a set-up, and what the set-up answered, with nothing of the world in it."""

    database: bytes
    blocks: tuple[Block, ...]
    logs: tuple[ExecutedLog, ...]
    offset: int
    at: datetime
    wallets: int
    answer: Any


class RememberingChain(DevChain):
    """The development chain; it runs everything once for each block, time and transaction or call.

    A block's hash stands for all that was before it, and the states that it names stay among the chain's when it is
    cut off.
    """

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._known: dict[tuple[object, ...], bytes | int | RpcError] = {}
        self._done: dict[tuple[bytes, int, bytes], tuple[Mined, bytes]] = {}

    def _executed(
        self, raw: bytes, tx: SignedTransactionAPI, sender: Address, digest: bytes, at: int
    ) -> tuple[Mined, bytes]:
        key = self.head.hash, at, raw
        if key not in self._done:
            if len(self._done) >= MOST:
                self._done.clear()
            self._done[key] = super()._executed(raw, tx, sender, digest, at)
        return self._done[key]

    def call(self, call: dict[str, Any], block: Block | None = None) -> bytes:
        """As the chain answers it."""
        answer = self._once(
            "call", call, block, lambda: super(RememberingChain, self).call(call, block)
        )
        assert isinstance(answer, bytes)
        return answer

    def estimate(self, call: dict[str, Any]) -> int:
        """As the chain answers it."""
        answer = self._once(
            "estimate", call, None, lambda: super(RememberingChain, self).estimate(call)
        )
        assert isinstance(answer, int)
        return answer

    def _once(
        self, name: str, call: dict[str, Any], block: Block | None, run: Callable[[], bytes | int]
    ) -> bytes | int:
        at = block.timestamp if block else max(self.head.timestamp, self.clock())
        key = name, json.dumps(call, sort_keys=True), (block or self.head).hash, block is None, at
        if key not in self._known:
            if len(self._known) >= MOST:
                self._known.clear()
            try:
                self._known[key] = run()
            except RpcError as error:
                self._known[key] = error
        answer = self._known[key]
        if isinstance(answer, RpcError):
            raise RpcError(answer.code, str(answer), answer.data)
        return answer


_outcomes: WeakKeyDictionary[DevChain, dict[str, Outcome]] = WeakKeyDictionary()


def remembered(
    *, packed: Callable[[World, Any], Any], opened: Callable[[World, Any], T]
) -> Callable[[Callable[..., Awaitable[T]]], Callable[..., Awaitable[T]]]:
    """Act a set-up out once for each state that it starts from; `packed` takes the world out of its
    answer, `opened` puts one in."""

    def of(act: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
        @wraps(act)
        async def acted(world: World, **asked: Any) -> T:
            key = _key(world, act.__name__, asked)
            if key is None:
                return await act(world, **asked)
            chain = world.evm.chain
            known = _outcomes.setdefault(chain, {})
            if key not in known:
                height = chain.head.number
                answer = await act(world, **asked)
                known[key] = _outcome(world, height, packed(world, answer))
                return answer
            _put_back(world, known[key])
            return opened(world, known[key].answer)

        return acted

    return of


def _key(world: World, name: str, request: dict[str, Any]) -> str | None:
    """All that the outcome depends on; None where it cannot be compared."""
    deps, chain = world.deps, world.evm.chain
    parts = type(world.store), type(deps.chains), type(chain)
    if (
        not world.remembers
        or parts != (SqliteStore, EvmChains, RememberingChain)
        or deps is not world.whole
        or deps.store is not world.store
    ):
        return None
    state = (
        name, sorted(request.items()), hashlib.blake2b(_bytes(world)).digest(), chain.head.hash, chain.offset,
        chain.next_timestamp, world.clock.at, len(world.wallets), deps.config, deps.defaults, deps.keeper is None,
        world.facts,
    )  # fmt: skip
    return repr(state)


def _bytes(world: World) -> bytes:
    with closing(sqlite3.connect(sqlite_path(world.store.url))) as file:
        content = bytearray(file.serialize())
    for start, end in COUNTERS:
        content[start:end] = bytes(end - start)
    return bytes(content)


def _outcome(world: World, height: int, answer: Any) -> Outcome:
    chain = world.evm.chain
    return Outcome(
        database=_bytes(world),
        blocks=tuple(chain.blocks[height + 1 :]),
        logs=tuple(log for log in chain._logs if log.block > height),
        offset=chain.offset,
        at=world.clock.at,
        wallets=len(world.wallets),
        answer=answer,
    )


def _put_back(world: World, outcome: Outcome) -> None:
    with (
        closing(sqlite3.connect(":memory:")) as kept,
        closing(sqlite3.connect(sqlite_path(world.store.url))) as file,
    ):
        # A database in memory has no write-ahead log; the file keeps its own mode.
        kept.deserialize(outcome.database[:18] + b"\1\1" + outcome.database[20:])
        file.execute("PRAGMA synchronous = OFF")
        kept.backup(file)
    chain = world.evm.chain
    with chain.lock:  # the states that the blocks name are among the chain's still
        for block in outcome.blocks:
            chain.blocks.append(block)
            chain.by_hash[block.hash] = block
            chain.txs.update({mined.hash: (block, mined) for mined in block.txs})
        chain._logs.extend(outcome.logs)
        chain.offset = outcome.offset
    world.clock.at = outcome.at
    while len(world.wallets) < outcome.wallets:
        world.wallet()
