"""The Hall: agents by what was measured of them, and one agent's record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.replies import Json
from app.views.components.policy_log import ChangeView, changes
from app.words import money
from app.words.text import _

SORTS: Final = (
    ("days_live", _("Days live")),
    ("trades_total", _("Measured actions")),
    ("net_30d", _("30 days, USDC")),
    ("twr_30d", _("30 days, return")),
    ("drawdown_30d", _("Deepest fall")),
    ("working", _("Working now")),
)
WINDOWS: Final = (
    ("7d", _("7 days")),
    ("30d", _("30 days")),
    ("90d", _("90 days")),
    ("since", _("Since the start")),
)
NEEDS: Final[Mapping[str, str]] = {
    "days_live": _("days live"),
    "trades_measured": _("measured actions"),
    "funded_mandates": _("funded mandates"),
    "foreign_capital_usdc": _("USDC of other people"),
}
STATUS: Final[Mapping[str, str]] = {
    "signed": _("signed"),
    "working": _("working"),
    "stopped": _("stopped"),
    "settled": _("settled"),
    "cancelled": _("cancelled"),
    "draft": _("draft"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowView:
    """The measured figures of a window; None where no money was in a vault."""

    name: str
    net: str | None
    returned: str | None
    fall: str | None
    trades: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HallAgentView:
    """A row."""

    agent_id: str
    name: str
    days_live: int
    trades: int
    month: WindowView
    ranked: bool
    unranked: str
    accepts: bool
    working: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HallView:
    """A page of the Hall, sorted by one fact."""

    sort: str
    accepting: bool
    agents: tuple[HallAgentView, ...]
    older: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HallMandateView:
    """A mandate that the agent works or worked under."""

    status: str
    budget: str
    worth: str | None
    net: str | None
    trades: int
    violations: int
    signed_at: str | None
    own: bool
    stop: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsView:
    """The agent's self-reported figures."""

    trades: int
    month: str
    since: str
    fees: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperResultView:
    """The result of one paper book: an estimate, apart from everything measured."""

    book: str
    started_at: str | None
    days: int
    net: str | None
    returned: str | None
    fall: str | None
    trades: int
    gaps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRecordView:
    """One agent's record."""

    agent: HallAgentView
    as_of: str
    address_ready: bool
    windows: tuple[WindowView, ...]
    windows_self: tuple[WindowView, ...]
    needs: tuple[tuple[str, int, int], ...]
    delegators: int
    mandates_total: int
    floor_stops: int
    self_stops: int
    violations: int
    claims: ClaimsView
    mandates: tuple[HallMandateView, ...]
    changes: tuple[ChangeView, ...]
    stake: str
    paper_opened: int
    paper: tuple[PaperResultView, ...]


def _window(name: str, raw: Json) -> WindowView:
    return WindowView(
        name=name,
        net=raw["net_usdc"],
        returned=money.percent(raw["twr_bps"]),
        fall=money.percent(raw["max_drawdown_bps"]),
        trades=raw["trades"],
    )


def _agent(row: Json) -> HallAgentView:
    return HallAgentView(
        agent_id=row["agent_id"],
        name=row["name"],
        days_live=row["days_live"],
        trades=row["trades_total"],
        month=_window("", row["windows"]["30d"]),
        ranked=row["ranked"],
        unranked=row["unranked_reason"] or "",
        accepts=row["accepts_mandates"],
        working=row["delegators"]["working"],
    )


def view(page: Json, sort: str, *, accepting: bool) -> HallView:
    """`page` of hall_list."""
    return HallView(
        sort=sort,
        accepting=accepting,
        agents=tuple(_agent(row) for row in page["items"]),
        older=page["next_cursor"],
    )


def _under(m: Json) -> HallMandateView:
    return HallMandateView(
        status=STATUS.get(m["status"], m["status"]),
        budget=m["budget_usdc"],
        worth=m["worth_usdc"],
        net=m["net_usdc"],
        trades=m["trades"],
        violations=m["violations"],
        signed_at=m["signed_at"],
        own=m["self_delegated"],
        stop=m["stop_reason"] or "",
    )


def _paper(raw: Json) -> PaperResultView:
    return PaperResultView(
        book=raw["book"],
        started_at=raw["started_at"],
        days=raw["days"],
        net=raw["net_usdc"],
        returned=money.percent(raw["twr_bps"]),
        fall=money.percent(raw["max_drawdown_bps"]),
        trades=raw["trades"],
        gaps=raw["gaps"],
    )


def agent_view(raw: Json) -> AgentRecordView:
    """`raw` of hall_agent."""
    claims, apart = raw["self_reported"], raw["windows_self"]
    self_windows = tuple(_window(name, apart[key]) for key, name in WINDOWS)
    needs = (
        (NEEDS.get(r["code"], r["code"]), r["have"], r["need"]) for r in raw["rank_requirements"]
    )
    return AgentRecordView(
        agent=_agent(raw),
        as_of=raw["as_of"],
        address_ready=raw["address_ready"],
        windows=tuple(_window(name, raw["windows"][key]) for key, name in WINDOWS),
        windows_self=self_windows if raw["delegators"]["self"]["mandates"] else (),
        needs=tuple(needs),
        delegators=raw["delegators"]["total"],
        mandates_total=raw["mandates_total"],
        floor_stops=raw["floor_stops"],
        self_stops=raw["self_stops"],
        violations=raw["violations"],
        claims=ClaimsView(
            trades=claims["trades_total"],
            month=claims["net_30d_usdc"],
            since=claims["net_since_usdc"],
            fees=claims["fees_usdc"],
        ),
        mandates=tuple(_under(m) for m in raw["mandates"]),
        changes=changes(raw["policy_changes"]),
        stake=raw["operator_stake_reason"],
        paper_opened=raw["paper"]["books_opened"],
        paper=tuple(_paper(b) for b in raw["paper"]["books"]),
    )
