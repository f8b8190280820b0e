"""Random lives of a mandate against the real vault: whatever is told of it in whatever order, the
ledger comes to what the vault says.

A history is played on the real EVM, with a reorganisation; then it is told several times: by the
reader and by receipts that run ahead of it, with the agent's reports right, wrong, late, doubled,
missing and contradicting in between. `LIVES` and `LIVES_SEED` choose how many lives, and from which
seed on; a life that fails names the seed that plays it again.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from chain.adapter import ChainConfig, EvmChain
from chain.chains import EvmChains
from chain.contracts.sign_in import SiweSignIn
from domain.chain_facts import Receipt
from domain.ledger.events.event_kinds import HOUSE
from domain.ledger.state.ledger_state import EMPTY, apply
from domain.ledger.state.measured import MeasuredBook
from domain.mandates.mandate import Mandate, Status
from domain.mandates.purses import PurseTerms
from domain.mandates.targets import Target
from domain.money import ZERO, Usdc
from domain.reads.statement import figures
from domain.rules.caps import day_used
from domain.rules.snapshot import MandateSnapshot, today
from domain.rules.valuation import agent_fee_reserved, cash, valued, worth
from domain.settings import Config, Switches
from domain.times import day_of
from storage.integrity.ledger_check import verify
from storage.store import Store, open_store
from storage.unit_of_work import UnitOfWork
from tests.lives.chain_side import Block, History, Stage
from tests.world import CountedIds
from tools.actions.event_reports import EventIn, report_event
from tools.keeper.claim_expiry import OpenClaim, close_claim, outcome_of
from tools.keeper.ingest import IngestContext, ingest_logs, ingest_transaction, reverse_blocks
from tools.keeper.marks import mark_vaults
from tools.model.operation import Caller, RequestContext

pytestmark = pytest.mark.anyio

SEED = int(os.environ.get("LIVES_SEED", "1"))
TELLINGS = 10
AGENT = Caller("agent", "u_agent", "u_owner", None, "Scout", "hash")


@dataclass
class Tally:
    """What a run came to: moves played, those after which every figure was compared with the
    vault's, and reorganisations.
    """

    lives: int = 0
    steps: int = 0
    compared: int = 0
    reorganised: int = 0
    payments: int = 0

    def __str__(self) -> str:
        return (
            f"{self.lives} lives, {self.steps} steps, {self.compared} of them compared with the "
            f"vault, {self.reorganised} reorganisations, {self.payments} payments, 0 wrong"
        )


class Life:
    """One telling of a history, in one transaction."""

    def __init__(self, uow: UnitOfWork, history: History, stage: Stage, seed: int, tally: Tally):
        self.tally = tally
        self.uow, self.h, self.chance = uow, history, random.Random(seed)  # noqa: S311
        self.id, self.chain_id, self.ids = f"m_{seed}", 1_000_000 + seed, CountedIds()
        self.chain = EvmChain(ChainConfig(self.chain_id))
        self.config, self.switches = Config(), Switches(stop_line_dry_run=False)
        self.now = history.trunk[0].stamp.at - timedelta(seconds=30)
        self.at = -1  # the index of the newest block that was read
        self.high = 0  # the highest block that any row came from
        self.branch = list(history.trunk + history.lost)
        market, vault = stage.world.market.address, history.vault
        uow.mandates.add(self.mandate(market, vault, stage))
        self.has_purse = stage.facts is not None
        if stage.facts is not None:
            uow.chainlog.add_purse(self.chain_id, self.id, stage.facts)

    def mandate(self, market: str, vault: str, stage: Stage) -> Mandate:
        probe = "0x" + stage.world.probes()[0][1].hex()
        target = Target(
            "contract",
            address=market,
            selector="0x6e553f65",
            self_args=(1,),
            probe=probe,
            market="test-market",
        )
        back = Target(
            "contract",
            address=market,
            selector="0xba087652",
            self_args=(1, 2),
            market="test-market",
        )
        hub = None if stage.hub is None else PurseTerms(hub=stage.hub.address)
        paid = () if hub is None else (Target("x402", purse=hub),)
        return Mandate(
            public_id=self.id, owner_id="u_owner", owner_address=stage.world.owner, agent_id="u_agent",
            agent_address=stage.world.agent, budget_usdc=Usdc(1_000_000_000), per_tx_cap_usdc=Usdc(200_000_000),
            daily_cap_usdc=Usdc(500_000_000), horizon_days=30, stop_floor_bps=2_000, payout_bps=1_000, chain_id=self.chain_id,
            status=Status.SIGNED, created_at=self.now, signed_at=self.now, accepted_at=self.now,
            ends_at=self.now + timedelta(days=400), vault_address=vault,
            allowed_targets=(Target("vault"), target, back, *paid),
        )  # fmt: skip

    # -- moves

    def play(self) -> None:
        self.tally.lives += 1
        turns_back = bool(self.h.lost) and self.chance.random() < 0.7
        switch = len(self.h.trunk) + self.chance.randint(0, len(self.h.lost)) if turns_back else -1
        if not turns_back:
            self.branch = list(self.h.chain)
        while self.at + 1 < len(self.branch) or switch >= 0:
            if 0 <= switch <= self.at + 1:
                self.turn_back()
                switch = -1
                continue
            move = self.chance.choice([self.read, self.read, self.receipt, self.report, self.mark])
            move()
            self.check()
        for move in (self.report, self.claims, self.mark):
            move()
            self.check()
        assert self.whole
        self.tally.payments += self.uow.ledger.state(self.id).measured.purse.payments
        self.law()

    @property
    def whole(self) -> bool:
        """True where the ledger holds the rows up to the newest block that was read and none
        above.
        """
        return self.at >= 0 and self.branch[self.at].stamp.number >= self.high

    def turn_back(self) -> None:
        """The chain was reorganised: the reader goes back to the fork."""
        self.tally.reorganised += 1
        self.branch = list(self.h.chain)
        self.at = min(self.at, len(self.h.trunk) - 1)

    def desk(self) -> IngestContext:
        return IngestContext(self.uow, self.now, self.ids, self.config, self.switches)

    def read(self) -> None:
        """The reader takes in the next blocks, as its step does."""
        new = self.branch[self.at + 1 : self.at + 1 + self.chance.randint(1, 3)]
        if not new:
            return
        self.later(new[-1])
        logs = [g for b in new for g in b.logs]
        blocks = range(new[0].stamp.number, new[-1].stamp.number + 1)
        named = {e.tx_hash or "" for _, e in self.uow.ledger.chain_rows_in(self.chain_id, 0, 10**9)}
        sure = named | {g.tx_hash for g in logs}
        reverse_blocks(self.desk(), self.chain_id, blocks, logs, sure)
        ingest_logs(self.desk(), self.chain, logs, sure)
        self.at += len(new)
        self.high = max([self.high, *(b.stamp.number for b in new if b.logs)])

    def receipt(self) -> None:
        """Somebody names a transaction that the reader has not come to yet."""
        coming = [b for b in self.branch[self.at + 1 : self.at + 8] if b.logs]
        if not coming:
            return
        block = self.chance.choice(coming)
        self.later(block)
        m = self.uow.mandates.get(self.id)
        assert m is not None
        assert block.tx is not None
        ingest_transaction(self.desk(), m, block.tx, block.own_logs)
        self.high = max(self.high, block.stamp.number)

    def report(self) -> None:
        """The agent says something: right, late, twice, wrong, or of nothing at all."""
        calls = [g for b in self.branch for g in b.logs if g.name in ("Executed", "Unwound")]
        kind = self.chance.choice(["buy", "sell", "move", "resolve", "note", "fee"])
        amount, tx = Usdc(self.chance.randint(0, 300_000_000)), None
        if calls and self.chance.random() < 0.7:
            log = self.chance.choice(calls)
            tx = log.tx_hash
            spent, back = log.args.get("spent", 0), log.args["returned"]
            if self.chance.random() < 0.6:
                kind, amount = ("buy", Usdc(spent)) if spent else ("sell", Usdc(back))
        elif self.chance.random() < 0.5:
            tx = f"0x{self.chance.getrandbits(256):064x}"
        payload: dict[str, Any] = {}
        if self.chance.random() < 0.4:
            payload["mark"] = str(Usdc(self.chance.randint(0, 10**12)))
        if self.chance.random() < 0.5:
            payload["position"] = {"id": self.chance.choice(["p", "q"])}
        if self.chance.random() < 0.5:
            payload["target"] = {"market": "test-market"}
        asked = EventIn(
            public_id=self.id, kind=kind, amount_usdc=amount, tx_hash=tx, payload=payload
        )  # type: ignore[arg-type]  # one of the words
        ask: RequestContext[Any, Any] = RequestContext(
            AGENT, asked, None, self.now, self.ids, EvmChains([]), self.config, self.switches, SiweSignIn()
        )  # fmt: skip
        before = self.uow.ledger.state(self.id).measured
        report_event(self.uow, ask)
        assert self.uow.ledger.state(self.id).measured == before

    def mark(self) -> None:
        """The house reads the vault where the reader stands, and marks it."""
        m = self.uow.mandates.get(self.id)
        if m is None or self.at < 0:
            return
        vault = self.branch[self.at].vault
        mark_vaults(self.desk(), [m], {m.vault_address or "": vault})
        mark = self.uow.ledger.state(self.id).measured.mark
        if self.whole and mark is not None and mark.block == vault.block.number:
            assert worth(self.case(None)) == vault.cash + vault.positions + vault.fee_owed

    def claims(self) -> None:
        """The keeper ends what no chain row will answer."""
        m = self.uow.mandates.get(self.id)
        assert m is not None
        mined = {b.tx: b for b in self.branch if b.tx}
        pending = dict(self.uow.ledger.state(self.id).claimed.pending)
        for event_id, claim in pending.items():
            one, block = (
                OpenClaim(mandate=m, event_id=event_id, claim=claim),
                mined.get(claim.tx_hash),
            )
            receipt = block and Receipt(
                claim.tx_hash, True, "", None, block.stamp, 99, block.logs, ()
            )
            close_claim(self.desk(), one, outcome_of(one, receipt, 0) or "not_found")
        assert not self.uow.ledger.state(self.id).claimed.pending

    def later(self, block: Block) -> None:
        """Time goes on to a block, and perhaps a good deal further: rows may be read late."""
        self.now = max(self.now, block.stamp.at) + timedelta(
            seconds=self.chance.choice([0, 1, 60, 40_000])
        )

    # -- what must hold

    def case(self, vault: Any) -> MandateSnapshot:
        m = self.uow.mandates.get(self.id)
        assert m is not None
        state = self.uow.ledger.state(self.id)
        return MandateSnapshot(m, state, self.now, self.config, self.switches, chain=vault)

    def check(self) -> None:
        """Where the ledger holds the rows up to one block and none above, it says what the vault
        says.
        """
        self.tally.steps += 1
        if not self.whole:
            return
        self.tally.compared += 1
        block = self.branch[self.at]
        vault, case = block.vault, self.case(block.vault)
        m, told = case.mandate, case.measured
        if told.rows == 0:
            assert vault.total_deposited == ZERO
            return
        held = vault.cash + vault.fee_owed
        assert cash(case) == held
        at = valued(case.state, vault)
        assert worth(case) == held + vault.positions
        assert at.positions_est == vault.positions.micros
        assert sum(p.value for p in at.positions.values()) == vault.positions.micros
        assert (told.deposits, told.spent, told.received) == (
            vault.total_deposited.micros, vault.total_spent.micros, vault.total_returned.micros
        )  # fmt: skip
        day = told.days.get(day_of(block.stamp.at))
        assert (day.spent if day else 0) == vault.spent_today.micros
        if day_of(block.stamp.at) == today(case):
            assert day_used(case) >= vault.spent_today
        assert m.paused is block.paused
        assert (m.stopped_at is not None, m.settled_at is not None) == (
            vault.stopped, vault.settled
        )  # fmt: skip
        self.check_purse(block, told)
        gain = vault.total_returned + vault.positions - vault.total_spent
        settles = vault.fee_owed if vault.settled else max(ZERO, gain).share_down(1_000)
        assert agent_fee_reserved(case) == settles

    def check_purse(self, block: Block, told: MeasuredBook) -> None:
        """The purse holds what its rows leave in it, and what they paid is what its payees got; what
        left the vault is in a market, paid, or in the purse.
        """
        purse, state = told.purse, self.uow.ledger.state(self.id)
        assert (purse.inside, purse.paid, purse.epoch) == (block.in_purse, block.paid, block.epoch)
        assert purse.agrees
        assert sum(p.amount for p in purse.newest.values()) == purse.paid
        spent = figures(EMPTY, state).spent
        assert spent.total == spent.payments + spent.in_purse + spent.others
        assert spent.payments.micros == block.paid
        assert state.fee_tools - state.claimed.fee_tools == block.paid

    def law(self) -> None:
        """The measured book is that of the house's rows alone, and no clean call is flagged."""
        alone = EMPTY
        for event in reversed(self.uow.ledger.newest(self.id, 10_000)):
            if event.reported_by in HOUSE:
                alone = apply(alone, event)
                assert not event.violation_codes, event
        assert alone.measured == self.uow.ledger.state(self.id).measured


async def _play(store: Store, stage: Stage, lives: int, seed: int) -> Tally:
    tally = Tally()
    for n in range(-(-lives // TELLINGS)):
        history = stage.history(seed + n, length=12)
        for telling in range(TELLINGS):
            life = (seed + n) * 1_000 + telling

            def work(uow: UnitOfWork, of: int = life) -> None:
                Life(uow, history, stage, of, tally).play()  # noqa: B023  # it is played at once

            try:
                await store.write(work)
            except BaseException:
                print(f"LIVES=1 LIVES_SEED={seed + n}: telling {telling}")
                raise
    return tally


@pytest.mark.play  # lives with payments are these and more
@pytest.mark.slow
async def test_a_few_lives_come_to_what_the_vault_says(sqlite_url: str) -> None:
    store = await open_store(sqlite_url)
    tally = await _play(store, Stage(), 60, SEED)
    assert tally.lives == 60
    assert tally.reorganised > 0
    assert tally.compared > tally.lives
    assert (await verify(store)).ok
    await store.close()


@pytest.mark.slow
async def test_a_few_lives_with_payments_come_to_what_vault_and_purse_say(sqlite_url: str) -> None:
    store = await open_store(sqlite_url)
    tally = await _play(store, Stage(purse=True), 60, SEED)
    assert tally.lives == 60
    assert tally.reorganised > 0
    assert tally.payments > tally.lives / 2
    assert (await verify(store)).ok
    await store.close()


@pytest.mark.campaign
@pytest.mark.parametrize("purse", [False, True], ids=["vault", "purse"])
async def test_thousands_of_lives_come_to_what_the_vault_says(sqlite_url: str, purse: bool) -> None:
    lives, stage = int(os.environ.get("LIVES", "4000")), Stage(purse=purse)
    print(f"LIVES={lives} LIVES_SEED={SEED}")
    store = await open_store(sqlite_url)
    print(await _play(store, stage, lives, SEED))
    assert (await verify(store)).ok
    await store.close()
