"""The most that a hostile agent could still take out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from domain.facts import VaultState
from domain.mandates.mandate import Mandate, Status
from domain.money import BPS, ZERO, Usdc
from domain.rules.caps import daily_cap
from domain.rules.case import Case, moment
from domain.rules.case import today as today_of
from domain.times import Timestamp, day_of, midnight

EXIT_LOSS_BPS: Final = 200  # the vault's MAX_EXIT_LOSS_BPS

FORMULA: Final = (
    "ever = above the floor + what may still be deposited above it + 2% of the floor; "
    "today = min(ever, day cap left + open positions); "
    "before_pause = min(today, cap per action + open positions); "
    "nothing while paused or closed"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """The most that a hostile agent could still take out.

    `before_pause` is one action that lands before a pause, `today` all actions until `until`
    (00:00 UTC), `ever` the mandate's life: never more than what lies above the floor, and the 2%
    that a fair exit below it may cost. The vault counts an action as taken even where its value
    only moved into a listed market, so that what is really lost is at most this.
    """

    before_pause: Usdc
    today: Usdc
    ever: Usdc
    until: Timestamp
    formula: str = FORMULA


def _terms_only(m: Mandate) -> tuple[Usdc, Usdc, Usdc]:
    """Before there is a vault: as if it were fully funded."""
    at_risk = m.budget_usdc - m.floor
    fair_loss = m.floor.share_up(EXIT_LOSS_BPS)
    ever = at_risk + fair_loss
    today = min(m.daily_cap, ever)
    return min(m.per_tx_cap, today), today, ever


def _live(case: Case, chain: VaultState) -> tuple[Usdc, Usdc, Usdc]:
    """From the vault's state and the caps. The agent's policy binds only those who ask the
    service, so it is no cap here.
    """
    m = case.mandate
    above = max(ZERO, chain.cash + chain.positions - chain.floor)
    if m.ended(
        moment(case)
    ):  # nothing leaves the vault any more, but open positions can be unwound badly
        most = min(chain.positions, above + chain.floor.share_up(EXIT_LOSS_BPS))
        return most, most, most
    room = max(ZERO, m.budget_usdc - chain.total_deposited)
    more = room - room.share_down(BPS - m.stop_floor_bps)
    # What sits in positions can be traded away too, down to the floor; below it only fair exits,
    # at 2% at the most.
    ever = above + more + (chain.floor + room - more).share_up(EXIT_LOSS_BPS)
    spent = chain.spent_today if day_of(chain.block.at) == today_of(case) else ZERO
    # Measured outflow is bounded by the day cap; positions already open are not, so they count
    # whole.
    today = min(ever, max(ZERO, daily_cap(case) - spent) + chain.positions)
    once = min(today, m.per_tx_cap + chain.positions)
    return (ZERO, ZERO, ever) if chain.paused else (once, today, ever)


def exposure(case: Case) -> Exposure:
    """What is still at stake. Source: contract 5; chain.md constants."""
    m, chain = case.mandate, case.chain
    # A stop that only the record knows holds nobody back; the vault's own does.
    told = case.measured.stopped is not None or m.vault_address is None
    over = m.status in (Status.SETTLED, Status.CANCELLED) or (m.status is Status.STOPPED and told)
    if over or (chain is not None and (chain.stopped or chain.settled)):
        once = today = ever = ZERO
    elif chain is None or not chain.exists:
        once, today, ever = (ZERO, ZERO, ZERO) if m.ended(moment(case)) else _terms_only(m)
    else:
        once, today, ever = _live(case, chain)
    return Exposure(before_pause=once, today=today, ever=ever, until=midnight(moment(case)))
