"""Measurements as lines: a figure, its unit with the limit in it, and build/bench.json."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

Found = dict[str, tuple[float, str]]


async def tell(
    measures: Mapping[str, Callable[[], Awaitable[Found]]], names: Sequence[str]
) -> None:
    """Run the named measurements, or all; exit 1 where a stated limit is missed."""
    found: dict[str, dict[str, object]] = {}
    missed: list[str] = []
    for name in names or measures:
        for key, (value, unit) in (await measures[name]()).items():
            found[key] = {"value": round(value, 4), "unit": unit}
            ok = within(value, unit)
            missed += [] if ok else [key]
            print(f"{key:<40} {value:>12.3f} {unit}{'' if ok else '  <-- missed'}", flush=True)
    target = Path("build/bench.json")
    target.parent.mkdir(exist_ok=True)
    known = json.loads(target.read_text()) if target.exists() and names else {}
    target.write_text(json.dumps(known | found, indent=1, sort_keys=True) + "\n")
    print(f"wrote {target}")
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


def within(value: float, unit: str) -> bool:
    """Whether a figure keeps the limit that its unit states; one without a limit always does."""
    told = re.search(r"at (most|least) ([\d.]+)", unit)
    if told is None:
        return True
    return value <= float(told[2]) if told[1] == "most" else value >= float(told[2])
