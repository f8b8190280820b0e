"""Exposure: the most that a hostile agent could still take out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from domain.chain_facts import VaultState
from domain.mandates.mandate import Mandate, Status
from domain.money import BPS, ZERO, Usdc
from domain.rules.caps import daily_cap
from domain.rules.snapshot import MandateSnapshot, moment
from domain.rules.snapshot import today as today_of
from domain.rules.unwind_window import agent_barred, closed
from domain.rules.valuation import positions_est
from domain.times import Timestamp, day_of, midnight
from domain.wire_fields import LEFT_OUT, wire_name

EXIT_LOSS_BPS: Final = 200  # the vault's MAX_EXIT_LOSS_BPS

FORMULA: Final = (
    "ever = above the floor + what may still be deposited above it + 2% of the floor; "
    "today = min(ever, day cap left + open positions); "
    "before_pause = today, since one transaction can hold many actions; "
    "what lies in the purse counts with today and ever; "
    "after the close 2% of open positions while the agent may unwind; nothing while paused"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """The most that a hostile agent could still take out.

    `before_pause` is what one transaction can take before a pause lands: the cap per action bounds
    each action, and an agent that is a contract takes as many of them in it as the day allows.
    `today` is all actions until `until` (00:00 UTC), `ever` the mandate's life: never more than
    what lies above the floor, and the 2% that a fair exit below it may cost. The vault counts an
    action as taken even where its value only moved into a listed market, so that what is really
    lost is at most this. `float`, where the terms have a purse, is the most that lies in it at
    once, all of which the agent can pay to itself before a pause; it is part of the day's amount.
    """

    before_pause: Usdc
    today: Usdc
    ever: Usdc
    until: Timestamp
    float_: Usdc | None = field(default=None, metadata=LEFT_OUT | wire_name("float"))
    formula: str = FORMULA


def _terms_only(mandate: Mandate) -> tuple[Usdc, Usdc, Usdc]:
    """Before there is a vault: as if it were fully funded."""
    at_risk = mandate.budget_usdc - mandate.floor
    fair_loss = mandate.floor.share_up(EXIT_LOSS_BPS)
    ever = at_risk + fair_loss
    today = min(mandate.daily_cap, ever)
    return today, today, ever


def _live(snapshot: MandateSnapshot, chain: VaultState) -> tuple[Usdc, Usdc, Usdc]:
    """From the vault's state and caps; the policy, binding only calls by the service, is no cap."""
    mandate = snapshot.mandate
    positions = _position_value(snapshot)
    above = max(ZERO, chain.cash + positions - chain.floor)
    room = max(ZERO, mandate.budget_usdc - chain.total_deposited)
    depositable_above = room - room.share_down(BPS - mandate.stop_floor_bps)
    # What sits in positions can be traded away too, down to the floor; below it only fair exits,
    # at 2% at the most.
    ever = (
        above + depositable_above + (chain.floor + room - depositable_above).share_up(EXIT_LOSS_BPS)
    )
    spent = chain.spent_today if day_of(chain.block.at) == today_of(snapshot) else ZERO
    # Measured outflow is bounded by the day cap; positions already open are not, so they count
    # whole.
    today = min(ever, max(ZERO, daily_cap(snapshot) - spent) + positions)
    if chain.paused:
        return ZERO, ZERO, ever
    in_purse = Usdc(max(0, snapshot.measured.purse.inside))
    return today + in_purse, today + in_purse, ever + in_purse


def _position_value(snapshot: MandateSnapshot) -> Usdc:
    """Value of the positions: measured, else at least the last known one."""
    chain, estimate = snapshot.chain, max(ZERO, positions_est(snapshot) or ZERO)
    if chain is None or not chain.exists:
        return estimate
    return chain.positions if chain.measured else max(chain.positions, estimate)


def _closing(snapshot: MandateSnapshot) -> tuple[Usdc, Usdc, Usdc]:
    """After the close nothing leaves the vault but the agent's fair exits, while it may unwind."""
    if agent_barred(snapshot) is not None:
        return ZERO, ZERO, ZERO
    limit = _position_value(snapshot).share_up(EXIT_LOSS_BPS)
    return limit, limit, limit


def exposure(snapshot: MandateSnapshot) -> Exposure:
    """The amounts at stake before a pause, today and for life (contract 5; chain.md constants)."""
    mandate, chain = snapshot.mandate, snapshot.chain
    read = chain is not None and chain.exists
    # A stop that only the record has does not bind the agent; the vault's own does.
    is_stop_binding = snapshot.measured.stopped is not None or mandate.vault_address is None
    if mandate.status in (Status.SETTLED, Status.CANCELLED):
        before_pause = today = ever = ZERO
    elif (
        closed(snapshot)
        if read
        else mandate.ended(moment(snapshot))
        or (mandate.status is Status.STOPPED and is_stop_binding)
    ):
        before_pause, today, ever = _closing(snapshot)
    elif chain is not None and read:
        before_pause, today, ever = _live(snapshot, chain)
    else:
        before_pause, today, ever = _terms_only(mandate)
    return Exposure(
        before_pause=before_pause,
        today=today,
        ever=ever,
        until=midnight(moment(snapshot)),
        float_=None if mandate.purse is None else mandate.purse.float_limit(mandate.daily_cap),
    )
