"""Reading the logs of one chain's vaults: history in ranges, the head block by block, reorgs noticed by hash."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from chain import codec
from chain.evm import EvmChain
from chain.rpc import RpcFault
from domain.ports import BlockStamp, VaultLog
from domain.refusals import Refused, refusal

ADDRESSES_PER_CALL: Final = 500
WINDOW: Final = 128
FIRST_CHUNK: Final = 2_000
LARGEST_CHUNK: Final = 10_000
_TOO_MUCH: Final = re.compile(
    r"range|too many|too large|too big|limit|exceed|more than|timeout|timed out|query returned|response size",
    re.IGNORECASE,
)
_ADVICE: Final = re.compile(r"\[0x([0-9a-f]+),\s*0x([0-9a-f]+)\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last block that was read whole: the resume point."""

    block: int
    hash: str | None


@dataclass(frozen=True, slots=True)
class Read:
    """Blocks read: logs in chain order, the header facts to remember, and the next resume point."""

    logs: tuple[VaultLog, ...]
    vaults: tuple[str, ...]
    blocks: tuple[BlockStamp, ...]
    cursor: Cursor
    head: BlockStamp


@dataclass(frozen=True, slots=True)
class Reorged:
    """The block of the resume point is no longer in the chain."""

    head: BlockStamp


class Reader:
    """One reader per chain, whatever the number of vaults.

    `known` is the set of vault addresses the caller has; every event begins with the indexed mandate digest, so that
    above 500 vaults one filter by topic finds all (references: 10,000 vaults in one call).
    """

    def __init__(self, chain: EvmChain, window: int = WINDOW):
        self.chain, self.window, self.chunk = chain, max(window, 2 * chain.facts.confirmations), FIRST_CHUNK

    async def step(self, cursor: Cursor | None, known: Iterable[str]) -> Read | Reorged | None:
        """Read on from the resume point; None when there is nothing new.

        Errors: `chain_unavailable`.
        """
        head = await self.chain.latest()
        if cursor is None:
            cursor = Cursor(max(self.chain.facts.start_block - 1, -1), None)
        if cursor.hash is not None:
            here = await self.chain.block(cursor.block)
            if here is None or here.hash != cursor.hash:
                return Reorged(head)
        if cursor.block >= head.number:
            return None
        vaults = {v.lower() for v in known}
        settled = head.number - self.window
        if cursor.block + 1 < settled:
            return await self._history(cursor, min(cursor.block + self.chunk, settled), head, vaults)
        return await self._next_block(cursor, head, vaults)

    async def still_there(self, blocks: Sequence[tuple[int, str]]) -> Cursor:
        """The newest of the remembered blocks (newest first) that the chain still has."""
        for number, hashed in blocks:
            here = await self.chain.block(number)
            if here is not None and here.hash == hashed:
                return Cursor(number, hashed)
        return Cursor(max(self.chain.facts.start_block - 1, -1), None)

    async def _history(self, cursor: Cursor, high: int, head: BlockStamp, vaults: set[str]) -> Read:
        logs = await self._fetch(vaults, low=cursor.block + 1, high=high)
        end = await self.chain.block(high)
        if end is None:
            raise self._unavailable("a block in the middle of the chain is missing")
        stamps = {end.number: end}
        for raw in logs:
            number = int(raw["blockNumber"], 16)
            if number not in stamps:
                stamp = await self.chain.block(number)
                if stamp is None:
                    raise self._unavailable("a block in the middle of the chain is missing")
                stamps[number] = stamp
        return self._read(logs, stamps, vaults, end, head)

    async def _next_block(self, cursor: Cursor, head: BlockStamp, vaults: set[str]) -> Read | Reorged | None:
        told = await self.chain.header(cursor.block + 1)
        if told is None:
            return None
        stamp, parent = told
        if cursor.hash is not None and parent != cursor.hash:
            return Reorged(head)
        logs = await self._fetch(vaults, block_hash=stamp.hash)
        return self._read(logs, {stamp.number: stamp}, vaults, stamp, head)

    def _read(
        self,
        raws: Sequence[Mapping[str, Any]],
        stamps: Mapping[int, BlockStamp],
        vaults: set[str],
        end: BlockStamp,
        head: BlockStamp,
    ) -> Read:
        logs = []
        for raw in raws:
            stamp = stamps[int(raw["blockNumber"], 16)]
            if str(raw["blockHash"]).lower() != stamp.hash:
                raise self._unavailable("logs of another block than the one asked for")
            log = self.chain.vault_log(raw, stamp)
            if log is not None and (log.name == "MandateCreated" or log.address.lower() in vaults):
                logs.append(log)
        logs.sort(key=lambda g: (g.block.number, g.log_index))
        made = tuple(str(g.args["vault"]) for g in logs if g.name == "MandateCreated")
        return Read(tuple(logs), made, tuple(stamps.values()), Cursor(end.number, end.hash), head)

    async def _fetch(
        self, vaults: set[str], *, low: int = 0, high: int = 0, block_hash: str | None = None
    ) -> list[Mapping[str, Any]]:
        """Logs of the factory and of the vaults; vaults the factory logs name join `vaults` first."""
        factory = self.chain.factory
        if factory is None:
            return []
        created = codec.event_topics("MandateVaultFactory")
        made = await self._logs({"address": factory, "topics": [list(created)]}, low, high, block_hash)
        for raw in made:
            told = codec.decode_log(
                "MandateVaultFactory", [bytes.fromhex(t[2:]) for t in raw["topics"]], bytes.fromhex(raw["data"][2:])
            )
            if told and told[0] == "MandateCreated":
                vaults.add(str(told[1]["vault"]).lower())
        if not vaults:
            return made
        wanted: dict[str, Any] = {"topics": [list(codec.event_topics("MandateVault"))]}
        if len(vaults) <= ADDRESSES_PER_CALL:
            wanted["address"] = sorted(vaults)
        return made + await self._logs(wanted, low, high, block_hash)

    async def _logs(self, wanted: dict[str, Any], low: int, high: int, block_hash: str | None) -> list[Mapping[str, Any]]:
        """eth_getLogs that halves its range, or takes the provider's advice, until it is answered."""
        if block_hash is not None:
            return self._list(await self._asked({**wanted, "blockHash": block_hash}))
        ranges, found = [(low, high)], []
        while ranges:
            first, last = ranges.pop()
            try:
                found += self._list(await self._asked({**wanted, "fromBlock": hex(first), "toBlock": hex(last)}))
                self.chunk = min(self.chunk * 21 // 20 + 1, LARGEST_CHUNK)
            except RpcFault as fault:
                if first == last or not _TOO_MUCH.search(str(fault)):
                    raise self._unavailable(f"eth_getLogs refused: {fault}") from None
                middle = _advised(str(fault), first, last)
                self.chunk = max(1, middle - first + 1)
                ranges += [(middle + 1, last), (first, middle)]
        return found

    async def _asked(self, wanted: dict[str, Any]) -> Any:
        rpc = self.chain.rpc
        if rpc is None:
            raise self._unavailable("no RPC address is configured")
        try:
            return await rpc.ask("eth_getLogs", wanted)
        except RpcFault as fault:
            if "blockHash" in wanted:
                raise self._unavailable(f"eth_getLogs refused: {fault}") from None
            raise

    def _list(self, answer: Any) -> list[Mapping[str, Any]]:
        if not isinstance(answer, list):
            raise self._unavailable("eth_getLogs gave no list")
        return [a for a in answer if not a.get("removed")]

    def _unavailable(self, why: str) -> Exception:
        return Refused(refusal("chain_unavailable", chain_id=self.chain.chain_id, why=why))


def _advised(message: str, first: int, last: int) -> int:
    advice = _ADVICE.search(message)
    if advice and first <= int(advice[2], 16) < last:
        return int(advice[2], 16)
    return (first + last) // 2
