"""Next steps after a refusal, and the role that can take each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Role = Literal["nobody", "owner", "agent", "keeper", "admin"]
EVERYBODY: Final[frozenset[Role]] = frozenset({"nobody", "owner", "agent", "keeper", "admin"})
OWNER: Final[frozenset[Role]] = frozenset({"owner"})
AGENT: Final[frozenset[Role]] = frozenset({"agent"})
OWNER_OR_AGENT: Final[frozenset[Role]] = frozenset({"owner", "agent"})
KEEPER: Final[frozenset[Role]] = frozenset({"keeper"})
OPERATOR: Final[frozenset[Role]] = frozenset({"admin"})

# The party to relay a step to, and the pause before asking again makes sense.
_RELAY: Final[Mapping[Role, tuple[str, str]]] = {
    "owner": ("the owner", "10 minutes"),
    "agent": ("the agent", "1 minute"),
    "keeper": ("the operator", "10 minutes"),
    "admin": ("the operator", "10 minutes"),
}


@dataclass(frozen=True, slots=True)
class NextStep:
    """A next step: a sentence, its tool and route where there are any, and the roles `by` which it
    can be taken.

    `waits`: the step is to wait until `retry_at`. `needs_rest`: it leads nowhere where nothing
    remains.
    """

    text: str
    tool: str | None = None
    route: str | None = None
    by: frozenset[Role] = EVERYBODY
    waits: bool = False
    needs_rest: bool = False

    def as_json(self) -> dict[str, str]:
        """Shape `{text, tool, route}`; the two names are left out where there is none."""
        name = {"tool": self.tool, "route": self.route}
        return {"text": self.text} | {k: v for k, v in name.items() if v}


WAIT: Final = NextStep("Wait until retry_at, then ask again", waits=True)
WAIT_A_MINUTE: Final = NextStep("Wait a minute, then ask again")
INDEX: Final = NextStep("Read the index of this service", None, "GET /")
SKILL: Final = NextStep("Read how an agent starts, acts and recovers", None, "GET /wallet/skill.md")


def steps_for(role: Role, steps: Iterable[NextStep], *, timed: bool) -> list[NextStep]:
    """The steps as `role` can take them; never empty.

    A step of exactly one other role becomes "tell them, and ask again later"; a step of several
    other roles is left out. `timed`: the refusal says until when to wait (`retry_at`).
    """
    return [s for step in steps if (s := _as(role, step, timed))] or [INDEX, SKILL]


def _as(role: Role, step: NextStep, timed: bool) -> NextStep | None:
    if step.waits and not timed:
        return WAIT_A_MINUTE
    if role in step.by:
        return step
    # An anonymous caller has no owner or agent to relay to.
    if len(step.by) > 1 or (role == "nobody" and step.by != OPERATOR):
        return None
    return _relay_step(step, timed)


def _relay_step(step: NextStep, timed: bool) -> NextStep:
    (role,) = step.by
    person, pause = _RELAY[role]
    until = "after retry_at" if timed else f"in {pause}"
    return NextStep(f"Tell {person}: {step.text[0].lower()}{step.text[1:]}. Ask again {until}")
