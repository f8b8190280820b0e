"""Measurements as lines: a figure, its unit with the limit in it, and build/bench.json."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path

Found = dict[str, tuple[float, str]]
Measure = Callable[[], Awaitable[Found] | AsyncIterator[Found]]
"""What measures: all at once, or part by part where it takes minutes."""


async def tell(measures: Mapping[str, Measure], names: Sequence[str]) -> None:
    """Run the named measurements, or all; exit 1 where a stated limit is missed. What is measured
    is told and written at once, so that a run that is broken off leaves what it found.
    """
    target = Path("build/bench.json")
    target.parent.mkdir(exist_ok=True)
    found = json.loads(target.read_text()) if target.exists() and names else {}
    missed: list[str] = []
    for name in names or measures:
        async for part in _parts(measures[name]):
            for key, (value, unit) in part.items():
                found[key] = {"value": round(value, 4), "unit": unit}
                ok = within(value, unit)
                missed += [] if ok else [key]
                print(f"{key:<40} {value:>12.3f} {unit}{'' if ok else '  <-- missed'}", flush=True)
            target.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    print(f"wrote {target}")
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


async def _parts(measure: Measure) -> AsyncIterator[Found]:
    told = measure()
    if isinstance(told, AsyncIterator):
        async for part in told:
            yield part
    else:
        yield await told


def within(value: float, unit: str) -> bool:
    """Whether a figure keeps the limit that its unit states; one without a limit always does."""
    told = re.search(r"at (most|least) ([\d.]+)", unit)
    if told is None:
        return True
    return value <= float(told[2]) if told[1] == "most" else value >= float(told[2])
