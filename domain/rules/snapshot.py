"""The mandate snapshot: all input of a derivation, gathered once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Literal

from domain.agents.policy import Policy
from domain.chain_facts import BlockStamp, PurseFacts, StagedLog, VaultState
from domain.ledger.events.event import Event
from domain.ledger.fast_copy import fast_replace
from domain.ledger.state.ledger_state import LedgerState
from domain.ledger.state.measured import MeasuredBook
from domain.mandates.approvals import Approval, Reservation
from domain.mandates.bills import Bill
from domain.mandates.mandate import Mandate, Status
from domain.mandates.terms import TermsStatus
from domain.money import ZERO, Usdc
from domain.settings import Config, Switches
from domain.times import day_of

ShownStatus = Literal["draft", "signed", "working", "stopped", "settled", "cancelled", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdersToday:
    """The amounts of a mandate's venue orders that count against this UTC day: open orders at their
    limit price, and trades. `filled` is the part of the live ones that are done.
    """

    live: Usdc = ZERO
    filled: Usdc = ZERO
    paper: Usdc = ZERO


@dataclass(frozen=True, slots=True)
class MandateSnapshot:
    """One mandate and everything known of it at `now`.

    Shapes: `state` are its books; `events` are the newest rows, newest first; `chain` is the
    vault at one block, None where it was not read; `provisional` are chain logs that are not deep
    enough to be ledger rows. `policy` is the agent's, None where unset. `marks` are the venue's
    mark prices by network and product, where they were asked for and told.
    `wrong_chain`: the mandate's node serves another chain, or its nodes do not agree, so that
    nothing newer of it is believed. `complete` is the block up to which the ledger has what the
    chain has, None where that is not known here.
    `keeper_key`: the owner approved a key that closes at the venue. `purse` is where the signed
    terms have theirs, `open_bills` those that may still be paid out of it, `payments` the rows of
    the newest, newest first, where they were asked for.
    """

    mandate: Mandate
    state: LedgerState
    now: datetime
    config: Config
    switches: Switches
    events: tuple[Event, ...] = ()
    chain: VaultState | None = None
    approvals: tuple[Approval, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    policy: Policy | None = None
    provisional: tuple[StagedLog, ...] = ()
    terms_status: TermsStatus | None = None
    first_events: tuple[Event, ...] = field(default=())
    keeper_key: bool = False
    orders: OrdersToday = OrdersToday()
    marks: Mapping[str, Mapping[str, Decimal]] = field(default_factory=dict)
    wrong_chain: bool = False
    complete: BlockStamp | None = None
    purse: PurseFacts | None = None
    open_bills: tuple[Bill, ...] = ()
    payments: tuple[Event, ...] = ()

    def with_state(self, state: LedgerState) -> MandateSnapshot:
        """The snapshot with a newer ledger state; every report needs it, and `replace` is slow."""
        return fast_replace(self, state=state)

    @property
    def unread(self) -> bool:
        """True where there is a vault that was not read at the newest block."""
        read = self.chain is not None and not self.chain.last_known
        return self.mandate.vault_address is not None and not read

    @property
    def measured(self) -> MeasuredBook:
        """The measured book."""
        return self.state.measured


def moment(snapshot: MandateSnapshot) -> datetime:
    """The time that decides: the newest block's where it is ahead of the clock (contract 3)."""
    now, chain = snapshot.now, snapshot.chain
    return now if chain is None else max(now, chain.block.at)


def today(snapshot: MandateSnapshot) -> str:
    """The UTC calendar day now."""
    return day_of(moment(snapshot))


def display_status(snapshot: MandateSnapshot) -> ShownStatus:
    """The status, and `ended` past the end of a mandate that is not settled (contract 3)."""
    mandate = snapshot.mandate
    live = mandate.status in (Status.SIGNED, Status.WORKING)
    return "ended" if live and mandate.ended(snapshot.now) else mandate.status.value
