"""What happens to a vault on the real EVM: a random life, and what a reorganisation leaves of it."""

from __future__ import annotations

import contextlib
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from chain.contracts import abi_codec
from chain.contracts.purse_logs import paired
from chain.networks import ChainConfig
from chain.offline_chain import OfflineChain
from chain.rpc.decoding import SILENT, Log
from devtools.devchain import RpcError
from domain.chain_facts import BlockStamp, PurseFacts, VaultLog, VaultState
from domain.money import Usdc
from tests.contracts.harness import START, USD, Contract, Refusal, World, selector

HOUR = 3_600


@dataclass(frozen=True)
class Block:
    """One block: what it holds of the vault and of its purse, and both after it.

    Units: `in_purse` is the purse's balance, `paid` what the payees have got, micro-USDC.
    """

    stamp: BlockStamp
    tx: str | None
    logs: tuple[VaultLog, ...]
    vault: VaultState
    paused: bool
    in_purse: int = 0
    paid: int = 0
    epoch: int = 0

    @property
    def own_logs(self) -> tuple[VaultLog, ...]:
        """Those of the vault alone, as a receipt brings them."""
        return tuple(g for g in self.logs if g.address == self.vault.address)


@dataclass(frozen=True)
class History:
    """The blocks since the vault's creation: those all branches share, the branch that is read
    first, and the one that stays.
    """

    vault: str
    trunk: tuple[Block, ...]
    lost: tuple[Block, ...]
    kept: tuple[Block, ...]

    @property
    def chain(self) -> tuple[Block, ...]:
        """The chain as it is in the end."""
        return self.trunk + self.kept


class Stage:
    """One deployed EVM; every history begins at the same block of it. With `purse` the agent pays
    bills too.
    """

    def __init__(self, *, purse: bool = False) -> None:
        self.world = World()
        calls, probes = self.world.calls()[:2], self.world.probes()[:1]
        self.hub = self.world.hub() if purse else None
        if self.hub is not None:
            calls += [(self.hub.address, selector(s), 0) for s in ("fund(uint256)", "drain()")]
        self.vault = self.world.create(self.world.terms(calls, probes), calls, probes)
        self.first = self.world.evm.chain.head.number
        self.payees = self.world.evm.people[7:9]
        self.purse = None if self.hub is None else self._predicted(self.hub)
        self.reader = OfflineChain(ChainConfig(31337, usdc=self.world.usdc.address))
        pays = [
            self.fund,
            self.fund,
            self.bill,
            self.bill,
            self.bill,
            self.drain,
            self.void,
            self.gift,
            self.sweep,
        ]
        self.actions = (2 * pays if purse else []) + [
            self.invest, self.invest, self.invest, self.redeem, self.redeem, self.deposit, self.deposit, self.gain, self.lose,
            self.donate, self.sync, self.pause, self.resume, self.resume, self.later, self.later, self.mark, self.stop,
            self.withdraw, self.settle, self.pay, self.unwind, self.unwind,
        ]  # fmt: skip

    def _predicted(self, hub: Contract) -> Contract:
        """Where the purse will be: it is made once, and what made it is taken back."""
        self.world.deposit(self.vault, USD)
        self.world.act(self.vault, hub, "fund", 1, approve=1)
        purse = self.world.purse(hub, self.vault)
        self.world.evm.chain.truncate(self.first)
        return purse

    @property
    def facts(self) -> PurseFacts | None:
        """The purse as the reader knows it."""
        if self.purse is None or self.hub is None:
            return None
        addresses = (self.purse.address, self.hub.address, self.vault.address)
        return PurseFacts(*(a.lower() for a in addresses))

    def history(self, seed: int, length: int) -> History:
        """Play a life; the same seed gives the same one."""
        w, chain = self.world, self.world.evm.chain
        chain.truncate(self.first)
        w.evm.time = START + HOUR
        self.chance = random.Random(seed)  # noqa: S311
        self.seen: dict[bytes, Block] = {}
        self.deposit()
        for _ in range(0 if self.purse is None else 3):
            with contextlib.suppress(Refusal):  # it may be more than was deposited
                self.fund()
        self.play(length)
        depth = self.chance.randint(0, min(6, chain.head.number - self.first - 1))
        fork = chain.head.number - depth
        trunk, lost = self.blocks(self.first + 1, fork), self.blocks(fork + 1, chain.head.number)
        if depth:
            self.reorganise(fork)
            self.play(self.chance.randint(0, 3))
            while chain.head.number <= fork + depth:
                chain.mine(w.evm.time)
                self.read()
        return History(self.vault.address, trunk, lost, self.blocks(fork + 1, chain.head.number))

    def reorganise(self, fork: int) -> None:
        """Take blocks away; their transactions come back, but some of them, and perhaps later."""
        chain = self.world.evm.chain
        old = chain.blocks[fork + 1 :]
        chain.truncate(fork)
        if self.chance.random() < 0.5:
            chain.mine(old[0].timestamp)
            self.read()
        for block in old:
            for mined in block.txs:
                if self.chance.random() < 0.7:
                    try:
                        chain.send_raw(mined.raw, max(block.timestamp, chain.head.timestamp))
                    except RpcError:
                        continue
                    self.read()
        self.world.evm.time = max(self.world.evm.time, chain.head.timestamp)

    def play(self, length: int) -> None:
        for _ in range(length):
            with contextlib.suppress(Refusal):  # it is then as if it had never been sent
                self.chance.choice(self.actions)()

    # -- what may be done

    def amount(self, limit: int) -> int:
        return self.chance.randint(1, limit) * USD // self.chance.choice([1, 1, 7])

    def sent(self, by: str, function: str, *args: Any) -> None:
        self.vault.send(by, function, *args)
        self.read()

    def invest(self) -> None:
        self.world.invest(self.vault, self.amount(200))
        self.read()

    def shares(self) -> int:
        held = int(self.world.market.read("balanceOf", self.vault.address))
        return max(1, held // self.chance.choice([1, 2, 3]))

    def redeem(self) -> None:
        self.world.redeem(self.vault, self.shares())
        self.read()

    def unwind(self) -> None:
        by = self.chance.choice([self.world.owner, self.world.agent, self.world.keeper])
        to = self.vault.address
        self.world.unwind(self.vault, by, self.world.market, "redeem", self.shares(), to, to)
        self.read()

    def deposit(self) -> None:
        amount = self.amount(400)
        self.world.usdc.send(self.world.owner, "approve", self.vault.address, amount)
        self.read()
        self.sent(self.world.owner, "deposit", amount)

    def gain(self) -> None:
        self.mint(self.world.market)

    def donate(self) -> None:
        self.mint(self.vault)

    def mint(self, to: Contract) -> None:
        self.world.usdc.send(self.world.evm.people[9], "mint", to.address, self.amount(40))
        self.read()

    def lose(self) -> None:
        held = self.world.balance(self.world.market)
        self.world.market.send(self.world.stranger, "lose", held // 10)
        self.read()

    def sync(self) -> None:
        self.sent(self.world.owner, "sync")

    def pause(self) -> None:
        self.sent(self.world.owner, "revokeAgent")

    def resume(self) -> None:
        self.sent(self.world.owner, "setAgent", self.world.agent)

    def stop(self) -> None:
        if self.chance.random() < 0.4:
            self.sent(self.chance.choice([self.world.owner, self.world.agent]), "stop")

    def withdraw(self) -> None:
        if self.chance.random() < 0.5:
            self.sent(self.world.owner, "withdrawAll")

    def settle(self) -> None:
        self.sent(self.world.stranger, "settle")

    def pay(self) -> None:
        self.sent(self.world.stranger, "payAgent")

    def mark(self) -> None:
        self.sent(self.world.keeper, "mark")

    def later(self) -> None:
        self.world.evm.time += self.chance.choice([60, HOUR, 14 * HOUR, 30 * HOUR])

    # -- the purse

    def fund(self) -> None:
        amount = self.amount(60)
        self.world.act(self.vault, self.hub, "fund", amount, approve=amount)
        self.read()

    def drain(self) -> None:
        if self.chance.random() < 0.5:
            self.world.act(self.vault, self.hub, "drain")
        else:
            by = self.chance.choice([self.world.owner, self.world.agent, self.world.keeper])
            self.world.unwind(self.vault, by, self.hub, "drain")
        self.read()

    def bill(self) -> None:
        """A bill of the agent, settled by a stranger; sometimes twice, which reverts."""
        if not self._is_open():
            return
        to, n = self.chance.choice(self.payees), self.chance.getrandbits(200)
        bill = self.world.bill(self.purse, to, self.amount(20), n)
        for _ in range(self.chance.choice([1, 1, 2])):
            self.world.settle_bill(self.purse, bill)
            self.read()

    def void(self) -> None:
        if self._is_open() and self.chance.random() < 0.5:
            self.purse.send(self.chance.choice([self.world.owner, self.world.agent]), "void")
            self.read()

    def gift(self) -> None:
        self.mint(self.purse)

    def sweep(self) -> None:
        self.hub.send(self.world.stranger, "sweep", self.vault.address)
        self.read()

    def _is_open(self) -> bool:
        return bool(self.world.evm.code(self.purse.address))

    # -- what is seen of it

    def blocks(self, low: int, high: int) -> tuple[Block, ...]:
        chain = self.world.evm.chain
        return tuple(self.seen[chain.blocks[n].hash] for n in range(low, high + 1))

    def read(self) -> None:
        """Look at the newest block, and at those below it that were not looked at."""
        chain = self.world.evm.chain
        head, now = chain.head, self.world.evm.time
        self.world.evm.time = head.timestamp  # the day is that of the block
        vault, paused = self.state(), bool(self.vault.read("paused"))
        self.world.evm.time = now
        for block in reversed(chain.blocks[self.first + 1 :]):
            if block.hash in self.seen:
                return
            at = datetime.fromtimestamp(block.timestamp, UTC)
            stamp = BlockStamp(block.number, "0x" + block.hash.hex(), at)
            txs = [t for t in block.txs if t.status]
            tx = "0x" + txs[0].hash.hex() if txs else None
            logs = tuple(self.logs(txs[0].logs, tx, stamp)) if txs and tx else ()
            assert block is head or not logs, "two blocks of the vault between two looks"
            self.seen[block.hash] = Block(
                stamp, tx, logs, self.at(vault, stamp), paused, *self.in_purse()
            )

    def in_purse(self) -> tuple[int, int, int]:
        """(its balance, what its payees have got, its epoch)."""
        if self.purse is None:
            return 0, 0, 0
        paid = sum(self.world.balance(payee) for payee in self.payees)
        epoch = self.purse.read("epoch") if self._is_open() else 0
        return self.world.balance(self.purse), paid, epoch

    def purse_logs(self, raws: Any, tx: str, stamp: BlockStamp) -> list[VaultLog]:
        """The logs of the purse, as the reader makes them."""
        if self.facts is None:
            return []
        logs = [
            Log(
                address="0x" + address.hex(), topics=tuple(t.to_bytes(32, "big") for t in topics),
                data=data, block=stamp.number, block_hash=stamp.hash, tx_hash=tx, index=index,
            )
            for index, (address, topics, data) in enumerate(raws)
        ]  # fmt: skip
        read = [g for raw in logs if (g := self.reader.purse_log(raw, stamp)) is not None]
        return paired(read, {self.facts.address: self.facts})

    def logs(self, raws: Any, tx: str, stamp: BlockStamp) -> list[VaultLog]:
        found = self.purse_logs(raws, tx, stamp)
        for index, (address, topics, data) in enumerate(raws):
            if address != bytes.fromhex(self.vault.address[2:]):
                continue
            told = abi_codec.decode_log(
                "MandateVault", [t.to_bytes(32, "big") for t in topics], data
            )
            assert told is not None
            name, args = told
            digest = args["mandate"]
            found.append(VaultLog(name, self.vault.address, digest, args, tx, index, stamp))
        return sorted(found, key=lambda g: g.log_index)

    def state(self) -> dict[str, Any]:
        told = self.world.lens.read("readOne", self.vault.address)
        names = (
            "ok", "stopped", "settled", "withdrawable", "stop_reason", "lock_reason", "agent", "until", "cash", "positions", "floor",
            "spent_today", "total_deposited", "total_spent", "total_returned", "fee_owed", "balance", "answered",
            "recorded", "values",
        )  # fmt: skip
        return dict(zip(names, told, strict=True))

    def at(self, told: dict[str, Any], stamp: BlockStamp) -> VaultState:
        money = (
            "cash", "positions", "floor", "spent_today", "total_deposited", "total_spent", "total_returned", "fee_owed", "balance",
            "recorded",
        )  # fmt: skip
        flags: dict[str, Any] = {n: bool(told[n]) for n in ("stopped", "settled", "withdrawable")}
        sums: dict[str, Any] = {n: Usdc(told[n]) for n in money}
        return VaultState(
            self.vault.address, stamp, True, **flags, **sums, answered=tuple(told["answered"]),
            values=tuple(None if v == SILENT else Usdc(v) for v in told["values"]),
        )  # fmt: skip
