"""The form of a rule: its names and sentences, and how it is asked before and judged after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto

from domain.ledger.events.event import Event, NewEvent
from domain.ledger.events.payloads import NOWHERE, AgentStatement, CallTarget, Executed
from domain.mandates.actions import selector_of
from domain.mandates.mandate import ClauseKey
from domain.money import ZERO, Usdc
from domain.next_steps import NextStep
from domain.refusal_kinds.kind import WhoFixes
from domain.refusals import Refusal, refusal
from domain.rules.retry_times import earliest_possible
from domain.rules.snapshot import MandateSnapshot
from domain.trading.modes import Mode


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """The action an agent asks calldata for: `data` to `target`; `reserved` is what an own live
    reservation already counts, `action_hash` what identifies it (None while there is no vault).
    """

    target: str
    data: str
    amount: Usdc
    reserved: Usdc = ZERO
    action_hash: str | None = None

    @property
    def selector(self) -> str:
        """The function that it calls."""
        return selector_of(self.data)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderCheck:
    """An order that cites a mandate. `own` is the amount it counts against the day already."""

    product: str
    mode: Mode
    amount: Usdc
    reduce_only: bool
    own: Usdc = ZERO


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """Whether a rule holds for what is asked, and the numbers; the rest is its refusal's.

    `words` fill its sentence beside the numbers; `fits` says of a later snapshot whether waiting
    alone has made room, where `retry_at` is not known at once.
    """

    ok: bool
    detail: Mapping[str, object] = field(default_factory=dict)
    words: Mapping[str, object] = field(default_factory=dict)
    fits: Callable[[MandateSnapshot], bool] | None = None
    retry_at: datetime | None = None
    remaining: Mapping[str, object] | None = None
    next: tuple[NextStep, ...] = ()
    who_fixes: WhoFixes | None = None

    def refuse(
        self, code: str, snapshot: MandateSnapshot, detail: Mapping[str, object] | None = None
    ) -> Refusal:
        """The refusal of what does not pass."""
        return refusal(
            code,
            {**self.detail, **self.words},
            remaining=self.remaining,
            retry_at=earliest_possible(snapshot, self.fits) if self.fits else self.retry_at,
            detail=detail,
            next=self.next,
            who_fixes=self.who_fixes,
        )


@dataclass(frozen=True, slots=True)
class Before:
    """The check of a requested action, at its `place` among the checks: the first that fails with
    a refusal is the refusal.

    `bar`: its place among what bars every action; None for what hangs on the action.
    `needs_vault`: the record can show that it fails, only the vault that it holds.
    `names_remaining`: its refusal names the largest action that is possible instead.
    `waits`: what fails waits for the owner and is not refused.
    """

    place: int
    check: Callable[[MandateSnapshot, ActionRequest], RuleCheck]
    bar: int | None = None
    needs_vault: bool = False
    names_remaining: bool = False
    waits: bool = False


class Row(Enum):
    """The forms of a row, as it is judged."""

    FACT = auto()  # by chain or house, of no action
    STATEMENT = auto()  # by the agent, of no action
    REPEAT = auto()  # by the agent, of a transaction that it has reported before
    CLAIM = auto()  # by the agent, of an action that no chain row has
    EXECUTED = auto()  # an execution of the vault: the chain's row, or the agent's of the same


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """A row as it is judged, and the mandate as it stood before it; with the chain's figures and
    time where a chain row has it.

    Units: `spent` left the vault or is claimed to have; `requested_amount` is the larger of it and
    the approved amount. `called` is None without a chain row, `twin` the chain's row of a pair.
    """

    snapshot: MandateSnapshot
    event: NewEvent
    at: datetime
    spent: Usdc
    requested_amount: Usdc
    called: Executed | None = None
    twin: Event | None = None

    @property
    def target(self) -> CallTarget:
        """The target that the agent names."""
        statement = self.event.content.body
        return statement.target if isinstance(statement, AgentStatement) else NOWHERE

    def vault_enforces(self, by: str) -> bool:
        """True where the vault let it pass by its own limit; it knows no policy."""
        return self.called is not None and by == "mandate"


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a broken rule: what was allowed, used before, and attempted, and whose limit
    it is.
    """

    allowed: object = None
    used: object = None
    attempted: object = None
    bound_by: str = "mandate"


@dataclass(frozen=True, slots=True)
class After:
    """The judgement of a stored row, at its `place` among the judgements; None where the rule
    holds.
    """

    place: int
    rows: frozenset[Row]
    judge: Callable[[JudgedRow], Numbers | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class MandateRule:
    """One rule of a mandate: `code` flags a row that broke it, `refused_as` is the code of its
    refusal where that has another.

    `text` is published; `broken`, `holds` and `fails` tell the owner of a broken one, and of an
    action that waits; `quiet`: a working mandate needs no line about it.
    `order` checks an order at the venue, in the places of `before`.
    """

    code: str
    clause: ClauseKey
    text: str
    broken: str
    holds: str = ""
    fails: str = ""
    quiet: bool = False
    refused_as: str = ""
    before: Before | None = None
    order: Callable[[MandateSnapshot, OrderCheck], RuleCheck] | None = None
    after: tuple[After, ...] = ()

    @property
    def refusal(self) -> str:
        """The code of its check and of its refusal."""
        return self.refused_as or self.code
