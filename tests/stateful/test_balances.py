"""Balances as a game: whoever reports, settles or bids next, every state is the sum of its deltas and idle is never overdrawn."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from chain.chains import EvmChains
from domain.agents.transfers import TransferOutcome
from domain.chain_facts import TransferLog
from domain.ports import SignInVerifier
from domain.settings import Config
from server.system import SystemIds
from storage.integrity.ledger_check import verify
from storage.repositories.identities import Agent
from storage.store import open_store
from tests.databases import PATIENT
from tests.storage.material import summed
from tools.catalogue import OPERATIONS
from tools.dispatch.run import run
from tools.keeper.transfer_confirmation import settle_report, take_inbound
from tools.model.operation import Caller, Deps, OperationResult

CHAIN, USDC, OWNER = 84532, "0x" + "cc" * 20, Caller("owner", "u_owner", "u_owner")
AGENTS_IDS = ("u_one", "u_two")
ADDRESS = {"u_one": "0x" + "01" * 20, "u_two": "0x" + "02" * 20}
BY_NAME = {op.name: op for op in OPERATIONS}
WHO = st.sampled_from(AGENTS_IDS)
TX = st.integers(0, 11).map(lambda n: f"0x{n:064x}")
MICROS = st.integers(1, 9_000_000)
KEY = st.sampled_from(["a", "b"])
EVENTS, SEQS = st.sampled_from(["placed", "closed", "delivered"]), st.integers(0, 2)
STATES = ("idle", "in_transit", "reserved", "delivered")


ASSET = {"chain_id": CHAIN, "asset": "USDC"}


def reported(
    who: str, amount: int, direction: str, status: str, over: bool = False
) -> dict[str, Any]:
    """A report as the model knows it."""
    return {"who": who, "amount": amount, "direction": direction, "status": status, "over": over}


def text(micros: int) -> str:
    return f"{micros // 1_000_000}.{micros % 1_000_000:06d}"


class Clock:
    """A clock that moves with every call."""

    def __init__(self) -> None:
        self.at = datetime(2026, 11, 20, tzinfo=UTC)

    def now(self) -> datetime:
        self.at += timedelta(seconds=1)
        return self.at


class Balances(RuleBasedStateMachine):
    """The model keeps four numbers an agent; the service keeps rows, and must come to the same."""

    template: ClassVar[Path]

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=self.template.parent))
        shutil.copyfile(self.template, self.folder / "w.sqlite")
        self.loop = asyncio.Runner()
        self.store = self.loop.run(open_store(f"sqlite:///{self.folder / 'w.sqlite'}", PATIENT))
        self.clock = Clock()
        self.deps = Deps(
            self.store, EvmChains([]), self.clock, SystemIds(), Config(), cast(SignInVerifier, None)
        )
        self.held = {(a, s): 0 for a in AGENTS_IDS for s in STATES}
        self.reports: dict[str, dict[str, Any]] = {}
        self.answers: dict[tuple[str, str], tuple[dict[str, Any], OperationResult]] = {}
        self.overdraft: dict[str, bool] = dict.fromkeys(AGENTS_IDS, False)
        self.overdrawn: set[str] = set()
        self.claimed: set[tuple[str, str]] = set()
        self.booked: set[tuple[str, str]] = set()
        self.bids: dict[tuple[str, str, int], int] = {}
        for agent_id in AGENTS_IDS:
            agent = Agent(agent_id, "u_owner", "Scout", None, self.clock.at)
            self.write(lambda uow, a=agent: uow.identities.add_agent(a))
            self.write(
                lambda uow, a=agent_id: uow.addresses.prove(a, CHAIN, ADDRESS[a], self.clock.at)
            )

    def teardown(self) -> None:
        assert self.loop.run(verify(self.store)).ok
        self.loop.run(self.store.close())
        self.loop.close()
        shutil.rmtree(self.folder)

    def write(self, work: Any) -> Any:
        return self.loop.run(self.store.write(work))

    def read(self, work: Any) -> Any:
        return self.loop.run(self.store.read(work))

    def call(
        self, name: str, caller: Caller, key: str | None = None, /, **arguments: Any
    ) -> OperationResult:
        return self.loop.run(run(BY_NAME[name], self.deps, caller, arguments, key=key))

    def add(self, who: str, **amounts: int) -> None:
        for state, amount in amounts.items():
            self.held[who, state] += amount

    # -- reports -----------------------------------------------------------------------------------------------

    def report(self, who: str, tx: str, micros: int, direction: str, key: str | None) -> None:
        body = {"amount": text(micros), "tx_hash": tx, "direction": direction} | ASSET
        reply = self.call("transfer_report", Caller("agent", who, "u_owner"), key, **body)
        first = self.answers.get((who, key)) if key else None
        if first is not None:
            if first[0] == body:
                assert reply.body == first[1].body
            else:
                assert reply.body["error"] == "idempotency_key_reused"
            return
        idle = self.held[who, "idle"]
        if self.stands(who, tx) or (who, tx) in self.claimed | self.booked:
            assert (reply.status, reply.body["error"]) == (409, "duplicate_transfer")
            return
        if direction == "out" and micros > idle and not self.overdraft[who]:
            assert (reply.status, reply.body["error"]) == (409, "insufficient_idle")
            return
        assert reply.status == 201, reply.body
        over = direction == "out" and micros > idle
        assert (reply.body["override_reason"] is not None) == over
        if over:
            self.overdrawn.add(who)
        if key:
            self.answers[who, key] = (body, reply)
        self.reports[tx] = reported(who, micros, direction, "reported", over)
        self.claimed.add((who, tx))
        self.add(who, in_transit=micros, idle=-micros if direction == "out" else 0)

    def stands(self, who: str, tx: str) -> bool:
        """A failed claim of another agent does not stand in the way."""
        known = self.reports.get(tx)
        return known is not None and (known["status"] != "failed" or known["who"] == who)

    @rule(who=WHO, tx=TX, micros=MICROS, key=st.none() | KEY)
    def an_agent_reports_what_came(self, who: str, tx: str, micros: int, key: str | None) -> None:
        self.report(who, tx, micros, "in", key)

    @rule(who=WHO, tx=TX, micros=MICROS, key=st.none() | KEY)
    def an_agent_reports_what_went(self, who: str, tx: str, micros: int, key: str | None) -> None:
        self.report(who, tx, micros, "out", key)

    @rule(who=WHO, tx=TX, amount=st.sampled_from(["0", "-1", "NaN", "1.0000001", "1e3"]))
    def an_amount_that_is_none_changes_nothing(self, who: str, tx: str, amount: str) -> None:
        body = {"amount": amount, "tx_hash": tx, "direction": "in"} | ASSET
        reply = self.call("transfer_report", Caller("agent", who, "u_owner"), **body)
        assert reply.body["error"] == "invalid_number"

    @rule(who=WHO, allow=st.booleans())
    def the_owner_allows_or_forbids_an_overdraft(self, who: str, allow: bool) -> None:
        policy = {"agent_id": who, "auto_vs_approval": {"allow_overdraft": allow}}
        assert self.call("owner_agent_policy_put", OWNER, **policy).status == 200
        self.overdraft[who] = allow

    # -- the chain ---------------------------------------------------------------------------------------------

    def settle(self, tx: str, actual: int | None) -> None:
        outcome = TransferOutcome(actual)
        told = self.write(lambda uow: settle_report(uow, CHAIN, tx, outcome, self.clock.now()))
        known = self.reports.get(tx)
        if known is not None and (known["who"], tx) in self.booked:
            actual = None  # what the chain told of it before stands
        late = known is not None and known["status"] == "failed" and actual is not None
        if known is None or not (known["status"] == "reported" or late):
            assert told is None
            return
        known["status"] = "failed" if actual is None else "confirmed"
        assert told.status == known["status"]
        self.settled(tx, actual, late=late)

    def settled(self, tx: str, actual: int | None, *, late: bool = False) -> None:
        """What an outcome does to the balances of whoever reported it."""
        known = self.reports[tx]
        who, out = known["who"], known["direction"] == "out"
        if actual is None:
            self.add(who, in_transit=-known["amount"], idle=known["amount"] if out else 0)
            return
        waited = 0 if late else known["amount"]
        change = waited - actual if out else actual
        if not known["over"]:
            change = self.within(who, change)
        self.booked.add((who, tx))
        self.add(who, in_transit=-waited, idle=change)

    def within(self, who: str, change: int) -> int:
        """Idle is taken no further than to zero."""
        return change if change >= 0 else -min(-change, max(0, self.held[who, "idle"]))

    @precondition(lambda self: self.reports)
    @rule(data=st.data())
    def the_chain_confirms_what_was_said(self, data: st.DataObject) -> None:
        tx = data.draw(st.sampled_from(sorted(self.reports)))
        self.settle(tx, self.reports[tx]["amount"])

    @rule(tx=TX, micros=MICROS)
    def the_chain_confirms_another_amount(self, tx: str, micros: int) -> None:
        self.settle(tx, micros)

    @rule(tx=TX)
    def a_transfer_fails(self, tx: str) -> None:
        self.settle(tx, None)

    @rule(who=WHO, tx=TX, micros=MICROS, sender=st.sampled_from(["stranger", *AGENTS_IDS]))
    def the_chain_finds_a_transfer(self, who: str, tx: str, micros: int, sender: str) -> None:
        gained = {who: micros}
        if sender in AGENTS_IDS:
            gained[sender] = gained.get(sender, 0) - micros
        gained = {a: g for a, g in gained.items() if g}
        log = TransferLog(USDC, ADDRESS.get(sender, "0x" + "99" * 20), ADDRESS[who], micros, 0)
        logs = [(tx, log)]
        added = self.write(lambda uow: take_inbound(uow, CHAIN, USDC, logs, self.clock.now()))
        known = self.reports.get(tx)
        told = gained.get(known["who"], 0) if known else 0
        bears_out = known and (told > 0 if known["direction"] == "in" else told < 0)
        late = 0
        if known and bears_out and known["status"] == "reported":
            amount = abs(gained.pop(known["who"]))
            actual = None if (known["who"], tx) in self.booked else amount
            known["status"] = "failed" if actual is None else "confirmed"
            self.settled(tx, actual)
            late = 1
        elif known and bears_out:
            # What the chain told of it before stands.
            late = int(known["status"] == "failed" and (known["who"], tx) not in self.booked)
            amount = gained.pop(known["who"])
            if late:
                change = amount if known["over"] else self.within(known["who"], amount)
                known["status"] = "confirmed"
                self.booked.add((known["who"], tx))
                self.add(known["who"], idle=change)
        first = not bears_out and gained.get(who, 0) > 0 and (who, tx) not in self.booked
        if first and (known is None or (known["status"] == "failed" and known["who"] != who)):
            self.reports[tx] = reported(who, micros, "in", "confirmed")
        new = {a for a in gained if (a, tx) not in self.booked} if gained else set()
        assert added == len(new) + late
        for a in new:
            self.booked.add((a, tx))
            self.add(a, idle=self.within(a, gained[a]))

    # -- the auction -------------------------------------------------------------------------------------------

    @rule(who=WHO, bid=st.sampled_from(["b", "b1"]), event=EVENTS, micros=MICROS, seq=SEQS)
    def the_keeper_books_a_bid(self, who: str, bid: str, event: str, micros: int, seq: int) -> None:
        body = {"agent_id": who, "bid_id": bid, "event": event, "amount": text(micros), "seq": seq}
        reply = self.call("keeper_auction_event", Caller("keeper"), **body)
        known = self.bids.get((who, f"{bid}:{event}", seq))
        if known is not None:
            assert reply.status == (200 if known == micros else 409)
            return
        placed, closed = (
            sum(v for (w, b, _), v in self.bids.items() if (w, b) == (who, f"{bid}:{e}"))
            for e in ("placed", "closed")
        )
        if event == "closed" and micros > placed - closed:
            assert (reply.status, reply.body["error"]) == (409, "conflict")
            return
        assert reply.status == 201
        self.bids[who, f"{bid}:{event}", seq] = micros
        state = "delivered" if event == "delivered" else "reserved"
        self.add(who, **{state: -micros if event == "closed" else micros})

    # -- what must hold ----------------------------------------------------------------------------------------

    @invariant()
    def balances_are_the_models_and_the_sums_of_their_deltas(self) -> None:
        for who in AGENTS_IDS:
            kept, sums = self.read(lambda uow, w=who: (uow.transfers.balances(w), summed(uow, w)))
            assert kept == sums
            found = {state: amount for _, _, state, amount in kept}
            assert {s: found.get(s, 0) for s in STATES} == {s: self.held[who, s] for s in STATES}

    @invariant()
    def nothing_is_below_zero_but_idle_under_an_override(self) -> None:
        for (who, state), amount in self.held.items():
            assert amount >= 0 or (state == "idle" and who in self.overdrawn)

    @invariant()
    def there_is_one_report_a_transaction_and_its_outcome_stays(self) -> None:
        query = "SELECT tx_hash, agent_id, status FROM transfer_reports"
        rows = self.read(lambda uow: uow.sql.rows(query))
        kept = sorted((r["tx_hash"], r["agent_id"], r["status"]) for r in rows)
        assert kept == sorted((tx, r["who"], r["status"]) for tx, r in self.reports.items())


@pytest.fixture(autouse=True)
def template(sqlite_template: Path) -> None:
    Balances.template = sqlite_template


@pytest.mark.parametrize(
    ("examples", "steps"),
    [
        pytest.param(25, 40, marks=pytest.mark.slow, id="some"),
        pytest.param(150, 80, marks=pytest.mark.campaign, id="many"),
    ],
)
def test_no_order_of_reports_outcomes_and_bids_breaks_a_balance(examples: int, steps: int) -> None:
    told = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Balances, settings=told)


# Who is paid by whom in the transaction that u_two reports: when the chain tells of it first, and
# when a reorganisation has mined it again, as the report said.
@pytest.mark.parametrize(
    ("direction", "first", "later"),
    [
        ("in", ("u_one", "u_two"), ("u_two", "stranger")),
        ("out", ("u_two", "stranger"), ("u_one", "u_two")),
    ],
)
def test_what_the_chain_told_first_stands_when_it_bears_a_failed_report_out_later(
    direction: str, first: tuple[str, str], later: tuple[str, str]
) -> None:
    game, before, tx = Balances(), f"0x{1:064x}", f"0x{2:064x}"
    try:
        game.the_chain_finds_a_transfer(who="u_two", tx=before, micros=5, sender="stranger")
        game.report("u_two", tx, 1, direction, None)
        for who, sender in (first, later):
            game.the_chain_finds_a_transfer(who=who, tx=tx, micros=1, sender=sender)
            game.settle(tx, 1)  # the report's own round
            assert game.reports[tx]["status"] == "failed"
            game.balances_are_the_models_and_the_sums_of_their_deltas()
            game.there_is_one_report_a_transaction_and_its_outcome_stays()
    finally:
        game.teardown()
