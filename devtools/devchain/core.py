"""The chain itself: one transaction per block, state in memory, history that can be cut and mined
anew.
"""

from __future__ import annotations

import json
import sys
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from eth.abc import ComputationAPI, SignedTransactionAPI
from eth.exceptions import VMError
from eth.vm.execution_context import ExecutionContext
from eth.vm.forks.prague import PragueVM
from eth.vm.spoof import SpoofTransaction
from eth_account.hdaccount import key_from_seed, seed_from_mnemonic
from eth_keys import keys
from eth_typing import Address, BlockNumber, Hash32
from eth_utils import ValidationError, keccak, to_checksum_address

from devtools.devchain.blocks import (
    BASE_FEE,
    GAS_LIMIT,
    Block,
    ExecutedLog,
    Mined,
    RpcError,
    from_hex,
    log_json,
    to_hex,
)
from devtools.devchain.journal import read_journal
from devtools.devchain.quick import QuickState
from devtools.devchain.state import EMPTY_ROOT, no_accounts

# py-evm raises the limit of this process to 100,000 when it is imported, and from 50,000 on a
# deeply nested JSON text overflows the C stack of json.loads. 1,024 calls deep, the most there is,
# need less than 5,000 frames.
sys.setrecursionlimit(10_000)

MNEMONIC: Final = "test test test test test test test test test test test junk"
_ZERO_ADDRESS: Final = Address(b"\0" * 20)
_Builder = PragueVM.get_transaction_builder()


class DevChain:
    """A chain for demos and tests.

    Units: `now` gives unix seconds. Ten accounts of the well-known test mnemonic hold 10,000 ETH
    each.
    Errors: ValueError where `journal` is not one of this chain id.
    Source: execution by py-evm under the Prague rules; gas and logs equal Anvil's.
    """

    def __init__(self, now: Callable[[], int], chain_id: int = 31337, journal: Path | None = None):
        self.chain_id, self.lock, self._now = chain_id, threading.RLock(), now
        seed = seed_from_mnemonic(MNEMONIC, "")
        self.keys = [bytes(key_from_seed(seed, f"m/44'/60'/0'/0/{i}")) for i in range(10)]
        self.accounts = {keys.PrivateKey(k).public_key.to_canonical_address(): k for k in self.keys}
        self._salt, self.offset = 0, 0
        self._states = no_accounts()
        self.blocks: list[Block] = []
        self.txs: dict[bytes, tuple[Block, Mined]] = {}
        self.by_hash: dict[bytes, Block] = {}
        self._logs: list[ExecutedLog] = []
        self.next_timestamp: int | None = None
        self._snapshots: list[tuple[Block, int]] = []
        self._beyond: dict[str, int] = {}
        self._journal: TextIO | None = None
        entries = read_journal(journal, chain_id) if journal is not None else []
        self._genesis(entries[0]["genesis"] if entries else now())
        for entry in entries[1:]:
            self._replay(entry)
        if entries:  # time goes on where it stood, even if the journal was ahead of the clock
            self.offset = max(0, self.head.timestamp - now())
        if journal is not None:
            self._journal = journal.open("a")
            if not entries:
                self._write({"genesis": self.head.timestamp, "chain_id": chain_id})

    def _genesis(self, at: int) -> None:
        state = self.state_at(0, at, EMPTY_ROOT)
        for account in self.accounts:
            state.set_balance(account, 10_000 * 10**18)
        state.persist()
        first = Block(0, at, b"\0" * 32, state.state_root, ())
        self.blocks, self.by_hash = [first], {first.hash: first}

    def _replay(self, entry: dict[str, Any]) -> None:
        """Do once more what one line of the journal says."""
        if "raw" in entry:
            self.send_raw(from_hex(entry["raw"]), entry["at"])
        elif "cut" in entry:
            self._salt = entry["salt"]
            self.truncate(entry["cut"])
        else:
            self.mine(entry["at"])

    def close(self) -> None:
        """Close the journal."""
        if self._journal:
            self._journal.close()
            self._journal = None

    # -- state

    def state_at(self, number: int, timestamp: int, root: bytes) -> Any:
        """Open the state `root` as block `number` would see it."""
        hashes = tuple(Hash32(b.hash) for b in reversed(self.blocks[-256:])) if number else ()
        context = ExecutionContext(
            _ZERO_ADDRESS,
            timestamp,
            BlockNumber(number),
            0,
            Hash32(b"\0" * 32),
            GAS_LIMIT,
            hashes,
            self.chain_id,
            BASE_FEE,
            0,
        )
        return QuickState(self._states, context, Hash32(root))

    @property
    def head(self) -> Block:
        """The newest block."""
        return self.blocks[-1]

    def clock(self) -> int:
        """The time a block mined now would carry at least."""
        return self._now() + self.offset

    def _timestamp(self) -> int:
        if self.next_timestamp is not None:
            at, self.next_timestamp = self.next_timestamp, None
            self.offset = at - self._now()
            return max(at, self.head.timestamp)
        return max(self.clock(), self.head.timestamp + 1)

    # -- mining

    def _append(self, txs: Sequence[Mined], at: int, root: bytes) -> Block:
        number = self.head.number + 1
        block = Block(number, at, self.head.hash, root, tuple(txs), self._salt)
        self.blocks.append(block)
        self.by_hash[block.hash] = block
        index = 0
        for position, mined in enumerate(txs):
            self.txs[mined.hash] = (block, mined)
            for address, topics, data in mined.logs:
                self._logs.append(
                    ExecutedLog(
                        number, log_json(block, mined, position, index, address, topics, data)
                    )
                )
                index += 1
        return block

    def _write(self, entry: dict[str, Any]) -> None:
        if self._journal:
            self._journal.write(json.dumps(entry) + "\n")
            self._journal.flush()

    def mine(self, at: int | None = None) -> Block:
        """Mine an empty block, at `at` or at the chain's time."""
        with self.lock:
            at = self._timestamp() if at is None else at
            block = self._append((), at, self.head.root)
            self._write({"at": at})
            return block

    def send_raw(self, raw: bytes, at: int | None = None) -> bytes:
        """Mine one signed transaction; returns its hash.

        Errors: RpcError for an undecodable, known, unfunded or wrongly numbered transaction. A
        revert is mined.
        """
        with self.lock:
            tx, sender, digest = self._decoded(raw)
            self._acceptable(tx, sender)
            at = self._timestamp() if at is None else at
            mined, root = self._executed(raw, tx, sender, digest, at)
            self._append((mined,), at, root)
            self._write({"raw": to_hex(raw), "at": at})
            return digest

    def _executed(
        self, raw: bytes, tx: SignedTransactionAPI, sender: Address, digest: bytes, at: int
    ) -> tuple[Mined, bytes]:
        """Run a transaction in the block after the head; (what it came to, the state's root)."""
        state = self.state_at(self.head.number + 1, at, self.head.root)
        try:
            done = state.apply_transaction(tx)
        except (ValidationError, VMError) as error:
            raise RpcError(-32003, str(error)) from None
        state.persist()
        used, logs = _gas_used(done, tx.gas), list(done.get_log_entries())
        mined = Mined(digest, raw, tx, sender, int(done.is_success), used, logs)
        if tx.to == b"":
            mined.contract = done.msg.storage_address
        return mined, state.state_root

    def _decoded(self, raw: bytes) -> tuple[SignedTransactionAPI, Address, bytes]:
        try:
            tx = _Builder.decode(raw)
            sender = tx.sender
        except Exception as error:  # py-evm lets rlp's, eth-keys' and its own errors through here
            raise RpcError(-32000, f"transaction not understood: {type(error).__name__}") from None
        digest = keccak(raw)
        if digest in self.txs:
            raise RpcError(-32000, "already known")
        if tx.chain_id not in (None, self.chain_id):
            raise RpcError(-32000, "invalid chain id for signer")
        return tx, sender, digest

    def _acceptable(self, tx: SignedTransactionAPI, sender: Address) -> None:
        state = self.state_at(self.head.number + 1, self.head.timestamp, self.head.root)
        nonce = state.get_nonce(sender)
        if tx.nonce != nonce:
            low = "low" if tx.nonce < nonce else "high"
            raise RpcError(-32003, f"nonce too {low}: have {tx.nonce}, want {nonce}")
        if tx.gas > GAS_LIMIT:
            raise RpcError(-32003, "exceeds block gas limit")
        try:
            tx.validate()
            state.validate_transaction(tx)
        except (ValidationError, VMError) as error:
            raise RpcError(-32003, str(error)) from None

    # -- calls

    def _computed(self, call: dict[str, Any], block: Block | None) -> tuple[ComputationAPI, int]:
        base = block or self.head
        at = block.timestamp if block else max(base.timestamp, self.clock())
        state = self.state_at(base.number + (0 if block else 1), at, base.root)
        sender = Address(from_hex(call.get("from") or to_hex(_ZERO_ADDRESS)))
        gas = min(int(call["gas"], 16) if call.get("gas") else GAS_LIMIT, GAS_LIMIT)
        tx = _Builder.create_unsigned_transaction(
            nonce=state.get_nonce(sender),
            gas_price=0,
            gas=gas,
            to=Address(from_hex(call["to"])) if call.get("to") else Address(b""),
            value=int(call.get("value", "0x0"), 16),
            data=from_hex(call.get("input") or call.get("data") or "0x"),
        )
        # A call pays no gas, as on other nodes, whatever the base fee is.
        state.execution_context._base_fee_per_gas = 0
        try:
            return state.apply_transaction(SpoofTransaction(tx, from_=sender)), gas
        except (ValidationError, VMError) as error:
            raise RpcError(-32000, str(error)) from None

    def call(self, call: dict[str, Any], block: Block | None = None) -> bytes:
        """Run a call without mining it.

        Errors: RpcError 3 with the revert's data.
        """
        done, _ = self._computed(call, block)
        _raise_revert(done)
        return done.output

    def estimate(self, call: dict[str, Any]) -> int:
        """Search the least gas that suffices; gas checks and the 63/64 rule make "used" too
        little.

        At most a 64th, or 1,000, above the least. What the 63/64 rule holds back is little, so the
        search steps up from what was used, each step wider, and halves the last one. It begins
        with what the last call of this function needed beyond what it used.
        """
        done, gas = self._computed({**call, "gas": None}, None)
        _raise_revert(done)
        used = low = gas - done.get_gas_remaining()
        function = str(call.get("input") or call.get("data") or "")[:10]
        high = min(used + self._beyond.get(function, 0), gas)
        if self._suffices(call, high):
            less = high - max(1_000, high // 65)  # as far below as the tolerance of less permits
            if less > used:
                low, high = (low, less) if self._suffices(call, less) else (less, high)
        else:
            low, step = high, _close(high)
            while (high := min(low + step, gas)) < gas and not self._suffices(call, high):
                low, step = high, min(step * 8, high)
        while high - low > _close(low):
            middle = (low + high) // 2
            low, high = (low, middle) if self._suffices(call, middle) else (middle, high)
        self._beyond[function] = high - used
        return high

    def _suffices(self, call: dict[str, Any], gas: int) -> bool:
        try:
            return not self._computed({**call, "gas": hex(gas)}, None)[0].is_error
        except RpcError:
            return False

    # -- history

    def logs(
        self, low: int, high: int, addresses: set[str] | None, topics: Sequence[set[str] | None]
    ) -> list[dict[str, Any]]:
        """Logs of blocks low..high, both inclusive; addresses and topics in lower case."""
        start = bisect_left(self._logs, low, key=lambda log: log.block)
        logs = []
        for log in self._logs[start:]:
            if log.block > high:
                break
            if addresses is not None and log.json["address"].lower() not in addresses:
                continue
            own = log.json["topics"]
            if len(own) >= len(topics) and all(
                w is None or own[i] in w for i, w in enumerate(topics)
            ):
                logs.append(log.json)
        return logs

    def created(self) -> list[str]:
        """Contracts that transactions created, EIP-55, oldest first."""
        return [
            to_checksum_address(t.contract)
            for b in self.blocks
            for t in b.txs
            if t.contract and t.status
        ]

    def truncate(self, number: int) -> None:
        """Forget every block above `number`."""
        with self.lock:
            for block in self.blocks[number + 1 :]:
                del self.by_hash[block.hash]
                for mined in block.txs:
                    self.txs.pop(mined.hash, None)
            del self.blocks[number + 1 :]
            while self._logs and self._logs[-1].block > number:
                self._logs.pop()
            self._write({"cut": number, "salt": self._salt})

    def reorg(self, depth: int, drop: Iterable[bytes] = (), *, keep: bool = True) -> None:
        """Replace the last `depth` blocks; their transactions come back unless `drop` names them
        or `keep` is off.

        Errors: ValueError for a depth below 1 or one that reaches the first block.
        """
        dropped = set(drop)
        with self.lock:
            if not 0 < depth <= self.head.number:
                raise ValueError(
                    f"no reorganisation of {depth} blocks at height {self.head.number}"
                )
            old = self.blocks[-depth:]
            self._salt += 1
            self.truncate(self.head.number - depth)
            for block in old:
                again = [t for t in block.txs if keep and t.hash not in dropped]
                try:
                    if not again:
                        self.mine(block.timestamp)
                    else:
                        self.send_raw(again[0].raw, block.timestamp)
                except RpcError:  # its nonce waits for a dropped one
                    self.mine(block.timestamp)

    def snapshot(self) -> int:
        """Remember this block and time; returns the number to go back to."""
        with self.lock:
            self._snapshots.append((self.head, self.offset))
            return len(self._snapshots) - 1

    def revert(self, number: int) -> bool:
        """Go back to a snapshot, which is then forgotten, as are the later ones.

        False for an unknown one, and for one whose block was reorganised away.
        """
        with self.lock:
            if (
                not 0 <= number < len(self._snapshots)
                or self._snapshots[number][0].hash not in self.by_hash
            ):
                return False
            block, self.offset = self._snapshots[number]
            del self._snapshots[number:]
            self.next_timestamp = None
            self.truncate(block.number)
            return True


def _gas_used(done: ComputationAPI, limit: int) -> int:
    used = limit - done.get_gas_remaining()
    return used - min(done.get_gas_refund(), used // 5)


def _close(gas: int) -> int:
    """The tolerance of an estimate above the least gas."""
    return max(1_000, gas // 64)


def _raise_revert(done: ComputationAPI) -> None:
    if not done.is_error:
        return
    out, message = done.output, "execution reverted"
    if out[:4] == b"\x08\xc3\x79\xa0":  # Error(string)
        size = int.from_bytes(out[36:68], "big")
        message += ": " + out[68 : 68 + size].decode(errors="replace")
    elif not out:
        message += f" ({type(done.error).__name__})"
    raise RpcError(3, message, to_hex(out))
