"""The four figures at the top of a mandate, by its status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from markupsafe import escape

from app.replies import Json
from app.views.components.numbers import NumberView
from app.views.days import DayRowView
from app.words import money
from app.words.text import _
from domain.money import Usdc

SOURCES: Final[Mapping[str, str]] = {
    "chain_mark": _("estimate, marked by the keeper from the chain"),
    "cash": _("measured on chain: all of it is cash"),
    "agent_mark": _("estimate, as the agent marks it"),
    "cost": _("estimate, at what it cost"),
}
FROM_CHAIN: Final = _("read from the chain")


def _tone(value: str | None) -> str:
    micros = money.micros_of(value)
    return "up" if micros > 0 else "down" if micros < 0 else ""


def _agreed(m: Json, p: Json) -> tuple[NumberView, ...]:
    """The figures of the terms, while the vault is not funded."""
    return (
        NumberView(
            label=_("Budget"),
            display=money.exact(m["budget_usdc"]),
            unit=True,
            source=_("the most that you put in"),
        ),
        NumberView(
            label=_("Per action"), display=money.exact(m["per_tx_cap_usdc"]), source=_("clause 2")
        ),
        NumberView(
            label=_("Per day"), display=money.exact(m["daily_cap_usdc"]), source=_("clause 3")
        ),
        NumberView(label=_("Stop line"), display=money.exact(p["floor"]), source=_("clause 4")),
    )


def _sum(rows: Sequence[DayRowView], name: str) -> str:
    amounts = (getattr(r, name) for r in rows)
    return str(Usdc(sum(money.micros_of(a) for a in amounts)))


def _final(read: Json, rows: Sequence[DayRowView]) -> tuple[NumberView, ...]:
    p, fee = read["progress"], read["fees"]["agent_fee"]["paid"]
    put_in, took = _sum(rows, "deposits"), _sum(rows, "withdrawals")
    return (
        NumberView(
            label=_("You put in"), display=money.exact(put_in), unit=True, source=FROM_CHAIN
        ),
        NumberView(label=_("You took out"), display=money.exact(took), source=FROM_CHAIN),
        NumberView(
            label=_("Result, final"),
            display=money.gain(p["realized"]),
            source=_("measured by the vault, after the agent’s share"),
            tone=_tone(p["realized"]),
        ),
        NumberView(
            label=_("Agent’s share"),
            display=money.exact(fee),
            source=_("paid once, at settlement"),
        ),
    )


def _live(p: Json) -> tuple[NumberView, ...]:
    worth, put_in = p["worth_est"], p["committed"]
    result, floor = money.less(worth, put_in), p["floor_now"]
    away = money.less(worth, floor)
    below = away is not None and money.micros_of(away) < 0
    return (
        NumberView(
            label=_("Worth now"),
            display=money.est(worth),
            unit=True,
            source=SOURCES.get(p["worth_source"], _("estimate")),
        ),
        NumberView(
            label=_("Result so far"),
            display=money.gain(result),
            aside=money.share(result, put_in) or "",
            source=escape(_("estimate; on {} put in")).format(money.exact(put_in)),
            tone=_tone(result),
        ),
        NumberView(
            label=_("Stop line"),
            display=money.exact(floor),
            source=escape(_("{} below it") if below else _("{} away")).format(
                money.est(away.lstrip("-") if away else None)
            ),
            tone="down" if below else "",
        ),
        NumberView(
            label=_("If you left now"),
            display=money.est(p["leave_now_est"]),
            source=escape(_("estimate, after exit cost {} and agent’s share {}")).format(
                money.worst(p["exit_cost_est"]), money.worst(p["agent_fee_reserved"])
            ),
        ),
    )


def figures(read: Json, rows: Sequence[DayRowView]) -> tuple[NumberView, ...]:
    """Four figures, each with its source."""
    m, p = read["mandate"], read["progress"]
    if p["status"] == "settled":
        return _final(read, rows)
    if p["status"] in ("draft", "cancelled") or p["cash"] is None:
        return _agreed(m, p)
    return _live(p)
