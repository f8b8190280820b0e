"""The way out of a mandate, step by step, with what it is estimated to cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.replies import Json, Record
from app.words.status import pill
from app.words.text import _

MESSAGES: Final[Mapping[str, str]] = {
    "stop": _("Stop for good: the agent’s authority ends. Nothing is sold by it."),
    "unwind": _("Close this position: what comes back stays in your vault."),
    "settle": _("The result is fixed, once: by the withdrawal, if not before."),
    "withdraw": _("Withdraw: everything but the agent’s earned share is paid to you."),
}


def _step(step: Json, base: str) -> Record:
    """A step with the page that takes it, None where it takes none of its own."""
    kind, target = step["step"], step.get("target")
    href = base + kind if kind in ("stop", "withdraw") else None
    if kind == "unwind" and target:
        href = f"{base}unwind?target={target}"
    values = {n: step.get(n) for n in ("market", "target", "value_est", "exit_cost_est")}
    return Record(values, message=MESSAGES[kind], href=href)


def view(read: Json, plan: Json) -> Record:
    """`read` of mandate_get, `plan` of owner_close_all_plan."""
    m = read["mandate"]
    return Record(
        mandate=m,
        pill=pill(m, read["progress"]),
        steps=tuple(_step(s, f"/app/mandates/{m['public_id']}/") for s in plan["steps"]),
        plan=plan,
        lock=read["lock"],
    )
