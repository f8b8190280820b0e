"""`python -m bench [NAME…]`: run the measurements, print the ratios, write build/bench.json; exit 1
where a stated limit is missed."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path

from bench import (
    beside_twin,
    hall,
    keeper,
    ledger,
    mcp_cost,
    mcp_start,
    orders,
    reader,
    reports,
    serve_start,
    stream,
    venue,
)

MEASURES = {
    "reports": reports.measure,
    "reads": ledger.measure,
    "twin": beside_twin.measure,
    "hall": hall.measure,
    "mcp": mcp_cost.measure,
    "mcp_start": mcp_start.measure,
    "serve_start": serve_start.measure,
    "reader": reader.measure,
    "venue": venue.measure,
    "keeper": keeper.measure,
    "orders": orders.measure,
    "stream": stream.measure,
}


async def main() -> None:
    wanted = sys.argv[1:] or list(MEASURES)
    found: dict[str, dict[str, object]] = {}
    missed: list[str] = []
    for name in wanted:
        for key, (value, unit) in (await MEASURES[name]()).items():
            found[key] = {"value": round(value, 4), "unit": unit}
            ok = within(value, unit)
            missed += [] if ok else [key]
            print(f"{key:<40} {value:>12.3f} {unit}{'' if ok else '  <-- missed'}", flush=True)
    target = Path("build/bench.json")
    target.parent.mkdir(exist_ok=True)
    known = json.loads(target.read_text()) if target.exists() and sys.argv[1:] else {}
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


asyncio.run(main())
