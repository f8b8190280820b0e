"""Faults on purpose: which request fails, how often, and in what way."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal

from pydantic import ConfigDict, StrictInt

from devtools.devvenue.refusals import Malformed

FaultKind = Literal[
    "hang",  # no answer until the fault is lifted; nothing is executed
    "status",  # an HTTP status with an empty body; nothing is executed
    "lost",  # executed, then the connection is cut
    "executed_status",  # executed, then an HTTP status
    "executed_hang",  # executed, then no answer
    "malformed",  # a figure of the answer is replaced
    "frozen",  # each question is answered as it was the first time
    "unknown_field",  # the answer gains a field nobody knows
    "not_json",  # a body that is no JSON
    "truncated",  # half of a JSON body
    "huge",  # a body of three megabytes
]
HUGE: Final = 3 * 2**20


@dataclass(slots=True, kw_only=True)
class VenueFault:
    """One fault. `path` is where in the answer, for `malformed`: keys and list places."""

    __pydantic_config__: ClassVar = ConfigDict(arbitrary_types_allowed=True)

    effect: FaultKind
    route: str | None = None
    kind: str | None = None
    times: StrictInt | None = None
    status: StrictInt = 500
    path: tuple[str | int, ...] = ()
    value: object = "NaN"
    lifted: asyncio.Event = field(default_factory=asyncio.Event)
    first: dict[str, object] = field(default_factory=dict)

    def fits(self, route: str, kind: str) -> bool:
        """Whether a request is meant."""
        return self.route in (None, route) and self.kind in (None, kind)


@dataclass(slots=True)
class Faults:
    """The faults that are set, oldest first."""

    rows: list[VenueFault] = field(default_factory=list)
    holding: list[VenueFault] = field(default_factory=list)

    def add(self, fault: VenueFault) -> VenueFault:
        """Set one more."""
        self.rows.append(fault)
        return fault

    def clear(self) -> None:
        """Lift all; what hangs is let go."""
        for fault in [*self.rows, *self.holding]:
            fault.lifted.set()
        self.rows.clear()
        self.holding.clear()

    def take(self, route: str, kind: str) -> VenueFault | None:
        """The fault of a request, counted down."""
        for fault in self.rows:
            if fault.fits(route, kind):
                if fault.times is not None:
                    fault.times -= 1
                    if fault.times <= 0:
                        self.rows.remove(fault)
                if "hang" in fault.effect:
                    self.holding.append(fault)
                return fault
        return None


def spoiled(answer: object, fault: VenueFault, request: object = None) -> object:
    """An answer with the change that a fault asks for; the answer itself stays whole."""
    if fault.effect == "frozen":
        return fault.first.setdefault(str(request), answer)
    if fault.effect == "unknown_field":
        return _with_unknown(answer)
    return _replaced(answer, fault.path, fault.value) if fault.effect == "malformed" else answer


def _with_unknown(answer: object) -> object:
    if isinstance(answer, dict):
        return {k: _with_unknown(v) for k, v in answer.items()} | {"unheardOf": {"new": "1.0"}}
    return [_with_unknown(item) for item in answer] if isinstance(answer, list) else answer


def _replaced(answer: Any, path: tuple[str | int, ...], value: object) -> object:
    """A copy with one place changed. Errors: `Malformed` where the place is not there."""
    if not path:
        return value
    key, rest = path[0], path[1:]
    try:
        if isinstance(answer, dict):
            return answer | {key: _replaced(answer[key], rest, value)}
        changed = list(answer)
        changed[int(key)] = _replaced(changed[int(key)], rest, value)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise Malformed from error
    return changed
