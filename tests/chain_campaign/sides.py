"""A chain as the campaign drives it: transactions, and reorganisations that drop, delay and move
them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Final, Protocol

from eth_account import Account
from eth_utils import to_checksum_address

from devtools.devchain import DevChain, RpcError
from tests.anvil.chains import AnvilChain
from tests.world import CHAIN_ID, Evm

GAS: Final = 1_500_000
FEE: Final = 10**10


@dataclass(frozen=True)
class Sent:
    """A transaction as it was signed."""

    raw: bytes
    sender: str
    hash: str
    to: str = ""


class Side(Protocol):
    """What differs between the chains."""

    def head(self) -> int:
        """The newest block's number."""
        ...

    def nonce(self, sender: str) -> int:
        """The next nonce of an account."""
        ...

    def has(self, address: str) -> bool:
        """True where a contract stands."""
        ...

    def submit(self, raw: bytes) -> None:
        """Mine a transaction; one that is not taken is as if it had never been sent."""
        ...

    def mine(self) -> None:
        """One empty block."""
        ...

    def lose(self, depth: int, chance: random.Random) -> list[Sent]:
        """Replace the newest blocks; gives what was in them and is not in the new ones."""
        ...


def signed(side: Side, key: str, to: str, data: str) -> Sent:
    """Sign a call of a contract."""
    account = Account.from_key(key)
    tx = {
        "chainId": CHAIN_ID, "to": to_checksum_address(to), "data": data, "value": 0, "gas": GAS, "maxFeePerGas": FEE,
        "maxPriorityFeePerGas": 0, "nonce": side.nonce(account.address), "type": 2,
    }  # fmt: skip
    made = account.sign_transaction(tx)
    hashed = "0x" + bytes(made.hash).hex()
    return Sent(bytes(made.raw_transaction), account.address, hashed, to)


def thinned(txs: list[Sent], chance: random.Random) -> tuple[list[Sent], list[Sent]]:
    """(those that stay, those that do not): with one, all later ones of its sender wait."""
    stay, wait, waits = list[Sent](), list[Sent](), set[str]()
    for tx in txs:
        if tx.sender in waits or chance.random() < 0.15:
            waits.add(tx.sender)
            wait.append(tx)
        else:
            stay.append(tx)
    return stay, wait


class DevSide:
    """The development chain."""

    def __init__(self, chain: DevChain):
        self.chain = chain

    def head(self) -> int:
        return self.chain.head.number

    def nonce(self, sender: str) -> int:
        return int(self._state().get_nonce(bytes.fromhex(sender[2:])))

    def has(self, address: str) -> bool:
        return bool(self._state().get_code(bytes.fromhex(address[2:])))

    def _state(self) -> Any:
        head = self.chain.head
        return self.chain.state_at(head.number + 1, head.timestamp, head.root)

    def submit(self, raw: bytes) -> None:
        try:
            self.chain.send_raw(raw)
        except RpcError:
            return

    def mine(self) -> None:
        self.chain.mine()

    def lose(self, depth: int, chance: random.Random) -> list[Sent]:
        fork = self.head() - depth
        txs = [
            Sent(t.raw, to_checksum_address(t.sender), "0x" + t.hash.hex())
            for b in self.chain.blocks[fork + 1 :]
            for t in b.txs
        ]
        # Other hashes from the fork on, then other blocks.
        self.chain.reorg(depth, keep=False)
        self.chain.truncate(fork + chance.randint(0, 1))
        stay, wait = thinned(txs, chance)
        for tx in stay:
            if chance.random() < 0.2:
                self.mine()
            self.submit(tx.raw)
        while self.head() <= fork + depth:
            self.mine()
        return wait


class AnvilSide:
    """Anvil, whose blocks hold several transactions after a reorganisation."""

    def __init__(self, chain: AnvilChain):
        self.chain = chain

    def head(self) -> int:
        return int(self.chain.rpc("eth_blockNumber"), 16)

    def nonce(self, sender: str) -> int:
        return int(self.chain.rpc("eth_getTransactionCount", sender, "latest"), 16)

    def has(self, address: str) -> bool:
        return len(self.chain.rpc("eth_getCode", address, "latest")) > 2

    def submit(self, raw: bytes) -> None:
        try:
            self.chain.rpc("eth_sendRawTransaction", "0x" + raw.hex())
        except RuntimeError:
            return

    def mine(self) -> None:
        self.chain.mine()

    def lose(self, depth: int, chance: random.Random) -> list[Sent]:
        head = self.head()
        txs = [tx for n in range(head - depth + 1, head + 1) for tx in self._block(n)]
        stay, wait = thinned(txs, chance)
        at, placed = 0, list[Any]()
        for tx in stay:
            at = min(depth - 1, at + chance.choice([0, 0, 1]))
            placed.append(["0x" + tx.raw.hex(), at])
        self.chain.rpc("anvil_reorg", depth, placed)
        self.mine()
        return wait

    def _block(self, number: int) -> list[Sent]:
        block = self.chain.rpc("eth_getBlockByNumber", hex(number), True)
        return [
            Sent(
                bytes.fromhex(self.chain.rpc("eth_getRawTransactionByHash", t["hash"])[2:]),
                to_checksum_address(t["from"]),
                t["hash"],
            )
            for t in block["transactions"]
        ]


def side_of(evm: Evm) -> Side:
    """The side of a running chain."""
    chain: Any = evm.chain
    return DevSide(chain) if isinstance(chain, DevChain) else AnvilSide(chain)
