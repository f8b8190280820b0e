"""Several mandates on one chain, and what may befall them: a random life on the real vaults, past the service and through it."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from eth_account import Account
from eth_utils import keccak

from devtools.devchain import RpcError
from devtools.devchain.blocks import from_hex
from domain.money import Usdc
from tests.contracts.harness import decoded, entries, kinds, selector
from tests.contracts.harness import encode as encoded
from tests.figures import model
from tests.figures.desk import Agent, Body, Desk, Mandate, Owner
from tests.figures.model import CLOSED, NO_ANSWER, Row, Terms
from tests.world import CHAIN_ID

GAS = 3_000_000
MARKETS = ("test-market", "other-market")


def _events() -> Mapping[int, Any]:
    return {
        int.from_bytes(keccak(text=f"{e['name']}({','.join(kinds(e['inputs']))})"), "big"): e
        for e in entries("MandateVault", "event").values()
    }


def log_args(entry: Any, topics: Sequence[str], data: str) -> dict[str, Any]:
    """A log by the vault's ABI."""
    rest = iter(decoded([i for i in entry["inputs"] if not i["indexed"]], from_hex(data)))
    marked = iter(topics[1:])
    return {
        i["name"]: decoded([i], from_hex(next(marked)))[0] if i["indexed"] else next(rest)
        for i in entry["inputs"]
    }


@dataclass
class Life:
    """One mandate of the town, and what was seen of it."""

    m: Mandate
    terms: Terms
    probes: tuple[str, ...]  # the market that each names
    chain: list[Row] = field(default_factory=list)
    marks: dict[str, Row] = field(default_factory=dict)
    read_up_to: int = 0

    @property
    def rows(self) -> list[Row]:
        return [*self.chain, *self.marks.values()]


class Town:
    """Owners, agents and mandates, and the moves of a life."""

    def __init__(self, ingest_context: Desk, seed: int):
        self.desk, self.chain = ingest_context, ingest_context.evm.chain
        self.chance = random.Random(seed)  # noqa: S311
        self.keys = dict(self.chain.accounts)
        self.events = _events()
        self.names = {a.lower(): n for n, a in ingest_context.markets.items()}
        self.lives: list[Life] = []
        self.done: list[str] = []
        self.acts: list[tuple[int, Callable[[Life], Awaitable[None] | None]]] = [
            (8, self.buy), (5, self.sell), (2, self.deposit), (3, self.gain), (3, self.lose), (1, self.wreck), (1, self.gift),
            (1, self.gift_of_shares), (1, self.sync), (1, self.pause), (2, self.resume), (1, self.mark), (1, self.stop),
            (1, self.withdraw), (3, self.settle), (2, self.pay), (3, self.unwind), (4, self.report), (1, self.told_early),
        ]  # fmt: skip

    async def settle_in(self, count: int) -> None:
        """Make the mandates: two agents, three owners."""
        d = self.desk
        agents = [await d.agent(), await d.agent()]
        owners = [await d.owner() for _ in range(3)]
        for n in range(count):
            self.lives.append(await self._life(agents[n % 2], owners[n % 3], n))
        self.desk.clock.forward(seconds=30)
        await d.round()

    async def _life(self, agent: Agent, owner: Owner, n: int) -> Life:
        markets = list(MARKETS[: 1 + n % 2]) if n % 3 else [MARKETS[1]]
        floor_bps = self.chance.choice([1_000, 3_000, 9_000])
        m = await self.desk.draft(
            agent, owner=owner, budget_usdc="1000", per_tx_cap_usdc="200", daily_cap_usdc="400", stop_floor_bps=floor_bps,
            markets=markets, horizon_days=self.chance.choice([9, 30]), on_floor=self.chance.choice(["keep", "close"]),
        )  # fmt: skip
        await m.sign()
        await self.desk.ok("POST", f"{m.path}/accept", by=agent)
        terms = Terms(
            1_000 * model.USDC, 200 * model.USDC, 400 * model.USDC,
            1_000 * model.USDC * (10_000 - floor_bps) // 10_000, 1_000,
        )  # fmt: skip
        life = Life(m, terms, self._probes(m.vault))
        self.sent(owner.wallet.address, self.desk.evm.usdc, "TestUSDC", "approve", m.vault, 10**15)
        self.sent(owner.wallet.address, m.vault, "MandateVault", "deposit", self.amount(500) + 50 * model.USDC)  # fmt: skip
        return life

    def _probes(self, vault: str) -> tuple[str, ...]:
        """The markets that the signed probes of a vault value, in their order."""
        found = []
        for target, _ in self.read(vault, "MandateVault", "terms")[2]:
            name = self.names.get(target.lower())
            if name is None:  # a probe that stands for a market
                name = self.names[self.read(target, "ShareValue", "MARKET").lower()]
            found.append(name)
        return tuple(found)

    # -- the chain, past the service

    def data(self, contract: str, function: str, args: Sequence[Any]) -> bytes:
        inputs = kinds(entries(contract, "function")[function]["inputs"])
        return selector(f"{function}({','.join(inputs)})") + encoded(inputs, args)

    def read(self, to: str, contract: str, function: str, *args: Any, block: Any = None) -> Any:
        asked = {"to": to, "data": "0x" + self.data(contract, function, args).hex()}
        told = self.chain.call(asked, block)
        values = decoded(entries(contract, "function")[function]["outputs"], told)
        return values[0] if len(values) == 1 else tuple(values)

    def sent(self, by: str, to: str, contract: str, function: str, *args: Any) -> bool:
        """A mined transaction; whether it went through."""
        return self.call(by, to, self.data(contract, function, args))

    def call(self, by: str, to: str, data: bytes) -> bool:
        self.desk.clock.forward(seconds=2)
        sender, chain = from_hex(by), self.chain
        with chain.lock:
            head = chain.head
            nonce = chain.state_at(head.number, head.timestamp, head.root).get_nonce(sender)
            tx = {
                "type": 2, "chainId": CHAIN_ID, "nonce": nonce, "to": to, "value": 0, "gas": GAS, "data": data,
                "maxFeePerGas": 2_000_000, "maxPriorityFeePerGas": 0,
            }  # fmt: skip
            raw = bytes(Account.sign_transaction(tx, self.keys[sender]).raw_transaction)
            return bool(chain.txs[chain.send_raw(raw)][1].status)

    def live(self, life: Life, block: Any = None) -> dict[str, int] | None:
        """What the probes of a mandate say; None where one does not answer."""
        found: dict[str, int] = {}
        for name in life.probes:
            market = self.desk.markets[name]
            try:
                shares = self.read(market, "TestMarket", "balanceOf", life.m.vault, block=block)
                value = self.read(market, "TestMarket", "convertToAssets", shares, block=block)
            except RpcError:
                return None
            found[name] = found.get(name, 0) + value
        return found

    def look(self, life: Life) -> None:
        """Read the logs of a vault that are new."""
        chain = self.chain
        logs = chain.logs(life.read_up_to + 1, chain.head.number, {life.m.vault.lower()}, [])
        life.read_up_to = chain.head.number
        for g in logs:
            entry = self.events.get(int(g["topics"][0], 16))
            if entry is None:
                continue
            args = log_args(entry, g["topics"], g["data"])
            block = chain.blocks[int(g["blockNumber"], 16)]
            life.chain.append(
                Row(
                    block.number, int(g["logIndex"], 16), block.timestamp, entry["name"], args,
                    self.values(life, args.get("values")), self.names.get(args.get("target", "").lower(), ""),
                    g["transactionHash"],
                )
            )  # fmt: skip

    def values(self, life: Life, told: Sequence[int] | None) -> dict[str, int] | None:
        if told is None or NO_ANSWER in told:
            return None
        found: dict[str, int] = {}
        for name, value in zip(life.probes, told, strict=True):
            found[name] = found.get(name, 0) + value
        return found

    # -- moves

    async def act(self) -> None:
        life = self.chance.choice(self.lives)
        (move,) = self.chance.choices([a for _, a in self.acts], [w for w, _ in self.acts])
        self.done.append(f"{move.__name__} {self.lives.index(life)}")
        waited = move(life)
        if waited is not None:
            await waited

    def amount(self, limit: int) -> int:
        return self.chance.randint(1, limit) * model.USDC // self.chance.choice([1, 1, 7])

    def someone(self) -> str:
        return self.desk.world.wallets[0].address

    def market(self, life: Life) -> str:
        return self.desk.markets[self.chance.choice(life.probes)]

    def execute(self, life: Life, to: str, data: bytes, approved: int) -> None:
        self.sent(life.m.agent.wallet.address, life.m.vault, "MandateVault", "execute", to, data, approved)  # fmt: skip

    def buy(self, life: Life) -> None:
        market, amount = self.market(life), self.amount(200)
        self.execute(life, market, self.data("TestMarket", "deposit", (amount, life.m.vault)), amount + self.chance.choice([0, 0, 5]))  # fmt: skip

    def redeem(self, life: Life) -> tuple[str, bytes]:
        market = self.market(life)
        shares = self.read(market, "TestMarket", "balanceOf", life.m.vault)
        part = shares // self.chance.choice([1, 1, 2, 3])
        return market, self.data("TestMarket", "redeem", (part, life.m.vault, life.m.vault))

    def sell(self, life: Life) -> None:
        self.execute(life, *self.redeem(life), 0)

    def unwind(self, life: Life) -> None:
        by = self.chance.choice([life.m.owner, life.m.agent]).wallet.address
        self.sent(by, life.m.vault, "MandateVault", "unwind", *self.redeem(life))

    def by_owner(self, life: Life, function: str, *args: Any) -> None:
        self.sent(life.m.owner.wallet.address, life.m.vault, "MandateVault", function, *args)

    def deposit(self, life: Life) -> None:
        self.by_owner(life, "deposit", self.amount(300))

    def gift(self, life: Life) -> None:
        self.sent(self.someone(), self.desk.evm.usdc, "TestUSDC", "mint", life.m.vault, self.amount(40))  # fmt: skip

    def gift_of_shares(self, life: Life) -> None:
        me, market, amount = self.someone(), self.market(life), self.amount(40)
        self.sent(me, self.desk.evm.usdc, "TestUSDC", "mint", me, amount)
        self.sent(me, self.desk.evm.usdc, "TestUSDC", "approve", market, amount)
        self.sent(me, market, "TestMarket", "deposit", amount, life.m.vault)

    def sync(self, life: Life) -> None:
        self.by_owner(life, "sync")

    def pause(self, life: Life) -> None:
        self.by_owner(life, "revokeAgent")

    def resume(self, life: Life) -> None:
        self.by_owner(life, "setAgent", life.m.agent.wallet.address)

    def mark(self, life: Life) -> None:
        self.by_owner(life, "mark")

    def stop(self, life: Life) -> None:
        if self.chance.random() < 0.6:
            by = self.chance.choice([life.m.owner, life.m.agent]).wallet.address
            self.sent(by, life.m.vault, "MandateVault", "stop")

    def withdraw(self, life: Life) -> None:
        self.by_owner(life, "withdrawAll")

    def settle(self, life: Life) -> None:
        self.sent(self.someone(), life.m.vault, "MandateVault", "settle")

    def pay(self, life: Life) -> None:
        self.sent(self.someone(), life.m.vault, "MandateVault", "payAgent")

    def moved(self, life: Life, bps: int) -> None:
        market = self.market(life)
        holds = self.read(self.desk.evm.usdc, "TestUSDC", "balanceOf", market) * abs(bps) // 10_000
        if bps > 0:
            self.sent(self.someone(), self.desk.evm.usdc, "TestUSDC", "mint", market, holds)
        elif holds:
            self.sent(self.someone(), market, "TestMarket", "lose", holds)

    def gain(self, life: Life) -> None:
        self.moved(life, self.chance.choice([30, 300, 2_000, 10_000]))

    def lose(self, life: Life) -> None:
        self.moved(life, -self.chance.choice([30, 300, 2_000, 5_000]))

    def wreck(self, life: Life) -> None:
        if self.chance.random() < 0.3:
            self.moved(life, -10_000)

    async def report(self, life: Life) -> None:
        """The agent says something: right, wrong, twice, of nothing, or with a hostile mark."""
        chance = self.chance
        kind = chance.choice(["buy", "sell", "move", "resolve", "note", "fee"])
        body: Body = {"amount_usdc": str(Usdc(chance.randint(0, 300_000_000)))}
        payload: Body = {}
        seen = [r for r in life.chain if r.name == "Executed"]
        if seen and chance.random() < 0.7:
            row = chance.choice(seen)
            body["tx_hash"] = row.tx
            if chance.random() < 0.6:
                kind = "buy" if row.args["spent"] else "sell"
                body["amount_usdc"] = str(Usdc(row.args["spent"] or row.args["returned"]))
        elif chance.random() < 0.3:
            body["tx_hash"] = f"0x{chance.getrandbits(256):064x}"
        if chance.random() < 0.5:
            payload["mark"] = str(Usdc(chance.randint(0, 10**12)))
        if chance.random() < 0.5:
            payload["position"] = {"id": chance.choice(["p", "q"])}
        if chance.random() < 0.5:
            payload["target"] = {"market": chance.choice(MARKETS)}
        status, told = await life.m.reports(kind, **body, payload=payload)
        assert status in (201, 202), (status, told)

    async def told_early(self, life: Life) -> None:
        """The owner names a transaction that the reader has not come to yet."""
        known = {r.tx for r in life.chain}
        self.look(life)
        new = [r for r in life.chain if r.tx not in known and r.name != "Executed"]
        if new:
            tx = self.chance.choice(new).tx
            await self.desk.asked(
                "POST", f"{life.m.path}/vault-tx", {"tx_hash": tx}, by=life.m.owner
            )

    def later(self) -> None:
        """Time goes on, now and then to just before a midnight or a week's end."""
        clock, chance = self.desk.clock, self.chance
        if chance.random() < 0.3:
            days = (6 - clock.at.weekday()) % 7 if chance.random() < 0.4 else 0
            border = (clock.at + timedelta(days=days)).replace(hour=23, minute=59, second=0)
            clock.at = max(clock.at, border)
        else:
            clock.forward(seconds=chance.choice([5, 60, 3_700, 14 * 3_600, 26 * 3_600, 3 * 86_400]))


def mark_row(block: int, at: int, values: Mapping[str, int]) -> Row:
    return Row(block, CLOSED, at, "Mark", values=dict(values))
