"""A mandate's life as a game: whoever moves next, the books balance and every read answers."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import timedelta
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from domain.ledger.events.event import NewEvent
from domain.money import ZERO, Usdc, total
from domain.reads.iso_weeks import week_of
from domain.reads.statement import figures
from domain.rules.action_checks import action_checks, remaining
from domain.rules.rule import ActionRequest
from domain.rules.violations import violations, with_violation
from storage.repositories.state_codec import LEDGER
from tests.domain.material import (
    CALL,
    MARKET,
    START,
    Ledger,
    deposit,
    executed,
    gone,
    mandate,
    mandate_read,
    refold,
    row,
    usdc,
)

CENTS = st.integers(1, 6_000).map(lambda n: f"{n // 100}.{n % 100:02d}")
KEYS = st.sampled_from(["p", "q", None])


class Life(RuleBasedStateMachine):
    """The model keeps what the chain did in three sums; everything else the domain must know by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.made = Ledger()
        self.m = mandate(approval_above_usdc=usdc(30))
        self.cash = self.spent = 0
        self.txs = 0
        self.untold: list[tuple[str, str]] = []
        self.unseen: list[tuple[str, str]] = []
        self.flags = 0

    def add(self, new: NewEvent) -> None:
        case = self.made.case(self.m, now=max(self.made.at, START))
        same = tuple(e for e in self.made.events if new.tx_hash and e.tx_hash == new.tx_hash)
        broken = violations(case, new, same)
        self.made.add(replace(new, payload=with_violation(new, broken)))
        self.flags += bool(broken)

    def tx(self) -> str:
        self.txs += 1
        return f"0x{self.txs:x}"

    def about(self, key: str | None) -> dict[str, Any]:
        return {"position": {"id": key}} if key else {"target": {"address": MARKET}}

    @rule(amount=CENTS)
    def the_owner_deposits(self, amount: str) -> None:
        self.add(deposit(amount, at=self.made.at))
        self.cash += usdc(amount).micros

    @rule(amount=CENTS, out=st.booleans())
    def the_vault_executes(self, amount: str, out: bool) -> None:
        tx = self.tx()
        self.add(executed(amount if out else 0, 0 if out else amount, tx=tx, at=self.made.at))
        self._measured(amount, out)
        self.untold.append((tx, "buy" if out else "sell"))

    def _measured(self, amount: str, out: bool) -> None:
        self.cash += usdc(amount).micros * (-1 if out else 1)
        self.spent += usdc(amount).micros if out else 0

    @precondition(lambda self: self.untold)
    @rule(amount=CENTS, key=KEYS, ends=st.booleans())
    def the_agent_reports_what_the_chain_told(
        self, amount: str, key: str | None, ends: bool
    ) -> None:
        tx, kind = self.untold.pop(0)
        self.add(
            row("resolve" if ends else kind, amount, tx=tx, at=self.made.at, **self.about(key))
        )

    @rule(amount=CENTS, key=KEYS, kind=st.sampled_from(["buy", "sell"]))
    def the_agent_reports_before_the_chain(self, amount: str, key: str | None, kind: str) -> None:
        tx = self.tx()
        self.add(row(kind, amount, tx=tx, at=self.made.at, **self.about(key)))
        self.unseen.append((tx, kind))

    @precondition(lambda self: self.unseen)
    @rule(amount=CENTS)
    def the_chain_confirms_a_report(self, amount: str) -> None:
        tx, kind = self.unseen.pop(0)
        out = kind == "buy"
        self.add(executed(amount if out else 0, 0 if out else amount, tx=tx, at=self.made.at))
        self._measured(amount, out)

    @rule(
        amount=CENTS,
        key=KEYS,
        kind=st.sampled_from(["buy", "sell", "move", "resolve", "fee", "note"]),
    )
    def the_agent_claims(self, amount: str, key: str | None, kind: str) -> None:
        self.add(row(kind, amount, at=self.made.at, mark=amount, **self.about(key)))

    @rule(amount=CENTS)
    def the_keeper_marks(self, amount: str) -> None:
        told = {"cash": str(Usdc(max(0, self.cash))), "positions": amount, "floor": "0"}
        self.add(row("note", None, "keeper", at=self.made.at, marked=told, marks={"p": amount}))

    @precondition(lambda self: any("executed" in e.payload for e in self.made.events))
    @rule(data=st.data())
    def a_reorganisation_takes_a_call_away(self, data: st.DataObject) -> None:
        gone_already = {
            e.payload["reverses"]["seq"] for e in self.made.events if "reverses" in e.payload
        }
        there = [
            e for e in self.made.events if "executed" in e.payload and e.seq not in gone_already
        ]
        if not there:
            return
        lost = data.draw(st.sampled_from(there))
        self.add(gone(lost))
        told = lost.payload["executed"]
        self.cash += usdc(told["spent"]).micros - usdc(told["received"]).micros
        self.spent -= usdc(told["spent"]).micros
        self.untold = [t for t in self.untold if t[0] != lost.tx_hash]

    @rule(hours=st.integers(1, 30))
    def time_passes(self, hours: int) -> None:
        self.made.at += timedelta(hours=hours)

    @invariant()
    def cash_is_what_the_chain_did(self) -> None:
        assert (self.made.state.measured.cash or 0) == self.cash
        assert self.made.state.measured.spent == self.spent

    @invariant()
    def a_checkpoint_changes_nothing(self) -> None:
        kept = LEDGER.codec.load(json.loads(json.dumps(LEDGER.codec.dump(self.made.state))))
        assert kept == self.made.state
        assert mandate_read(replace(self.made.case(self.m), state=kept)) == mandate_read(
            self.made.case(self.m)
        )

    @invariant()
    def what_remains_passes_its_own_checks_and_no_more_does(self) -> None:
        case = self.made.case(self.m, now=max(self.made.at, START))
        left = remaining(case)
        assert ZERO <= left.value <= self.m.per_tx_cap
        if left.value:
            numbers = {
                c.code: c.ok for c in action_checks(case, ActionRequest(MARKET, CALL, left.value))
            }
            # What no vault was asked about is unknown, and refuses nothing.
            assert False not in {ok for code, ok in numbers.items() if code != "approval_missing"}
            more = action_checks(case, ActionRequest(MARKET, CALL, left.value + Usdc(1)))
            assert any(not c.ok and c.refusal for c in more)

    @invariant()
    def every_flagged_row_is_known(self) -> None:
        assert sum(1 for e in self.made.events if e.violation_codes) == self.flags

    def teardown(self) -> None:
        """The whole life refolds to the same state, and its weeks sum up to it."""
        events = self.made.events
        assert refold(events) == self.made.state
        states, period = [refold([])], week_of(START)
        while period.start <= self.made.at:
            states.append(
                refold([e for e in events if e.created_at < period.end], all_events=events)
            )
            period = week_of(period.end)
        weeks = [figures(a, b) for a, b in itertools.pairwise(states)]
        life = figures(states[0], self.made.state)
        for path in ("flows.deposits", "flows.withdrawals", "result.realized"):
            assert total(map(attrgetter(path), weeks)) == attrgetter(path)(life)
        estimated = [week.result.estimated for week in weeks]
        assert None in estimated or total(e for e in estimated if e) == life.result.estimated


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestLife.pytestmark = pytest.mark.slow
