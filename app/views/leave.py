"""The way out of a mandate, step by step, with what it is estimated to cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.replies import Json
from app.words.status import Pill, pill
from app.words.text import _
from app.words.untrusted_text import AgentName, agent_of

MESSAGES: Final[Mapping[str, str]] = {
    "stop": _("Stop for good: the agent’s authority ends. Nothing is sold by it."),
    "unwind": _("Close this position: what comes back stays in your vault."),
    "settle": _("The result is fixed, once: by the withdrawal, if not before."),
    "withdraw": _("Withdraw: everything but the agent’s earned share is paid to you."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitStepView:
    """One step; `href` is the page that takes it, None where it takes none of its own."""

    n: int
    message: str
    href: str | None
    market: str | None
    target: str | None
    worth: str | None
    cost: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveView:
    """The page; `locked` is what holds the withdrawal back, `until` the latest end of it."""

    public_id: str
    agent: AgentName | None
    pill: Pill
    steps: tuple[ExitStepView, ...]
    cost: str | None
    gives: str | None
    locked: bool
    until: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnwindChoiceView:
    """The choice of an exit call, before there is a call to show. `is_repeat`: an earlier one has
    ended, and this one starts over.
    """

    public_id: str
    target: str
    is_repeat: bool


def view(read: Json, plan: Json) -> LeaveView:
    """`read` of mandate_get, `plan` of owner_close_all_plan."""
    m, lock = read["mandate"], read["lock"]
    base = f"/app/mandates/{m['public_id']}/"
    hrefs = {"stop": base + "stop", "withdraw": base + "withdraw"}
    steps = []
    for step in plan["steps"]:
        href = hrefs.get(step["step"])
        if step["step"] == "unwind" and step.get("target"):
            href = f"{base}unwind?target={step['target']}"
        created = ExitStepView(
            n=step["n"],
            message=MESSAGES[step["step"]],
            href=href,
            market=step.get("market"),
            target=step.get("target"),
            worth=step.get("value_est"),
            cost=step.get("exit_cost_est"),
        )
        steps.append(created)
    return LeaveView(
        public_id=m["public_id"],
        agent=agent_of(m),
        pill=pill(m, read["progress"]),
        steps=tuple(steps),
        cost=plan["exit_cost_est"],
        gives=plan["leave_now_est"],
        locked=lock["withdrawable"] is False,
        until=lock["until"],
    )
