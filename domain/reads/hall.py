"""Hall reads of an agent: its row, its rank and each of its mandates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Final, Literal

from domain.ledger.state.day_totals import RolledDay
from domain.mandates.mandate import Mandate, Status, StatusName
from domain.money import Usdc
from domain.reads.performance_windows import (
    Total,
    Window,
    Windows,
    average_capital,
    combine_days,
    days_live,
    since_of,
    window,
)
from domain.reads.performance_windows import windows as windows_of
from domain.reads.venue_windows import VenueResults, venue_results
from domain.settings import Config
from domain.times import Timestamp, day_of
from domain.wire_fields import LEFT_OUT, copy_fields, described, wire_name

SORT_LIMIT: Final = 10**15
NO_STAKE: Final = "There is no stake mechanism: an operator puts up nothing here."
CLAIMED: Final = "As the agent reports it; not measured, and no part of any other figure."


@dataclass(frozen=True, slots=True)
class AgentMandate:
    """One mandate of the agent, as the Hall counts it; `worth` is None before the first chain row
    of money. `own`: its owner is the agent's owner.
    """

    mandate: Mandate
    days: tuple[RolledDay, ...]
    worth: int | None
    stop_reason: str | None
    violations: int
    own: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """The agent of a Hall row."""

    agent_id: str
    name: str
    accepts_mandates: bool
    address_ready: bool


Need = Literal["days_live", "trades_measured", "funded_mandates", "foreign_capital_usdc"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRequirement:
    """A condition of the rank, and the agent's value of it (contract 8)."""

    code: Need
    need: int
    have: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfDelegation:
    """The mandates that the agent's own owner gave it; they never rank."""

    mandates: int
    working: int
    net_7d_usdc: Usdc | None
    net_30d_usdc: Usdc | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegators:
    """Other owners that named the agent, and what was measured for all of them; `self` stands
    apart.
    """

    total: int
    working: int
    net_7d_usdc: Usdc | None
    net_30d_usdc: Usdc | None
    self_: SelfDelegation = field(metadata=wire_name("self"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfReported:
    """The agent's claims; no part of any other figure."""

    trades_total: int
    net_30d_usdc: Usdc
    net_since_usdc: Usdc
    fees_usdc: Usdc
    note: str = field(default=CLAIMED, metadata=described("the service's own words"))


@dataclass(frozen=True, slots=True, kw_only=True)
class HallRow:
    """One agent of the Hall (spec 2.15).

    `venue` and `venue_self` stand only where live orders that cite a mandate filled: of other
    owners' mandates, and of its own owner's.
    """

    agent_id: str
    name: str = field(metadata=described("the owner's name for the agent"))
    days_live: int
    trades_total: int
    ranked: bool
    unranked_reason: str | None
    rank_requirements: tuple[RankRequirement, ...]
    accepts_mandates: bool
    address_ready: bool
    as_of: Timestamp
    windows: Windows
    windows_self: Windows
    delegators: Delegators
    mandates_total: int
    floor_stops: int
    self_stops: int
    violations: int
    operator_stake_usdc: Usdc | None = None
    operator_stake_reason: str = NO_STAKE
    self_reported: SelfReported
    venue: tuple[VenueResults, ...] | None = field(default=None, metadata=LEFT_OUT)
    venue_self: tuple[VenueResults, ...] | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class HallMandate(Window):
    """One mandate in the read of one agent: what is measured, and nothing of what its owner
    wrote.
    """

    public_id: str
    status: StatusName
    chain_id: int
    vault_address: str | None
    budget_usdc: Usdc
    signed_at: Timestamp | None
    ends_at: Timestamp | None
    worth_usdc: Usdc | None
    stop_reason: str | None
    violations: int
    self_delegated: bool


# Each condition of the rank: its setting, and the words for an agent that does not meet it.
_CONDITIONS: Final[Mapping[Need, tuple[str, str]]] = {
    "days_live": ("ranked_days", "days live"),
    "trades_measured": ("ranked_trades", "measured trades"),
    "funded_mandates": ("ranked_funded", "funded mandates"),
    "foreign_capital_usdc": ("ranked_capital_usdc", "USDC of other owners' capital"),
}


def hall_row(
    subject: Subject,
    standings: Sequence[AgentMandate],
    totals: Sequence[Total],
    now: datetime,
    config: Config,
) -> HallRow:
    """One row of the Hall.

    Shapes: `totals` are those of the mandates of other owners (`foreign`), which alone rank.
    """
    today, own = day_of(now), [s for s in standings if s.own]
    others = [s for s in standings if not s.own]
    windows, own_windows = (
        windows_of(totals, today),
        windows_of(combine_days(s.days for s in own), today),
    )
    figures = (
        days_live(totals, today),
        sum(t.trades for t in totals),
        sum(s.worth is not None for s in others),
        average_capital(totals, today, config.ranked_days),
    )
    requirements = tuple(
        RankRequirement(code=code, need=getattr(config, setting), have=have)
        for (code, (setting, _)), have in zip(_CONDITIONS.items(), figures, strict=True)
    )
    lacks = [
        f"{r.have} of {r.need} {_CONDITIONS[r.code][1]}" for r in requirements if r.have < r.need
    ]
    return copy_fields(
        HallRow,
        subject,
        days_live=figures[0],
        trades_total=figures[1],
        ranked=not lacks,
        unranked_reason=("Not ranked yet: " + ", ".join(lacks) + ".") if lacks else None,
        rank_requirements=requirements if lacks else (),
        as_of=now,
        windows=windows,
        windows_self=own_windows,
        delegators=Delegators(
            total=len({s.mandate.owner_id for s in others}),
            working=len({s.mandate.owner_id for s in _working(others)}),
            **_nets(windows),
            self_=SelfDelegation(
                mandates=len(own), working=len(_working(own)), **_nets(own_windows)
            ),
        ),
        mandates_total=len(standings),
        floor_stops=sum(s.stop_reason == "floor" for s in standings),
        self_stops=sum(s.stop_reason == "agent" for s in standings),
        violations=sum(s.violations for s in standings),
        self_reported=_self_reported(totals, since_of(today, 30) or ""),
        venue=venue_results((s.days for s in others), today),
        venue_self=venue_results((s.days for s in own), today),
    )


def _nets(windows: Windows) -> dict[str, Usdc | None]:
    return {
        "net_7d_usdc": windows.days_7.net_usdc,
        "net_30d_usdc": windows.days_30.net_usdc,
    }


def _working(standings: Sequence[AgentMandate]) -> list[AgentMandate]:
    return [s for s in standings if s.mandate.status is Status.WORKING]


def foreign(standings: Sequence[AgentMandate]) -> list[Total]:
    """The days of the mandates of other owners, together."""
    return combine_days(s.days for s in standings if not s.own)


def _self_reported(totals: Sequence[Total], since: str) -> SelfReported:
    return SelfReported(
        trades_total=sum(t.claimed_trades for t in totals),
        net_30d_usdc=Usdc(sum(t.claimed_net for t in totals if t.day >= since)),
        net_since_usdc=Usdc(sum(t.claimed_net for t in totals)),
        fees_usdc=Usdc(sum(t.claimed_fees for t in totals)),
    )


def mandate_row(s: AgentMandate) -> HallMandate:
    """One mandate in the read of one agent."""
    measured = window(combine_days([s.days]), None)
    return copy_fields(
        HallMandate,
        s.mandate,
        **{f.name: getattr(measured, f.name) for f in fields(Window)},
        status=s.mandate.status.value,
        worth_usdc=None if s.worth is None else Usdc(s.worth),
        stop_reason=s.stop_reason,
        violations=s.violations,
        self_delegated=s.own,
    )


def facts(
    row: HallRow, totals: Sequence[Total], working: int, now: datetime
) -> dict[str, int | None]:
    """The sort keys of a Hall row; None where unknown."""
    month, since = row.windows.days_30, since_of(day_of(now), 30) or ""
    is_known = month.net_usdc is not None
    return {
        "days_live": row.days_live,
        "trades_total": row.trades_total,
        "net_30d": sum(t.net for t in totals if t.day >= since) if is_known else None,
        "twr_30d": min(SORT_LIMIT, month.twr_bps) if month.twr_bps is not None else None,
        "drawdown_30d": month.max_drawdown_bps,
        "working": working,
    }
