"""`python -m bench`: run every measurement, print the ratios, write build/bench.json."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from bench import hall, ledger, mcp_cost, reader, reports

MEASURES = {
    "reports": reports.measure,
    "reads": ledger.measure,
    "hall": hall.measure,
    "mcp": mcp_cost.measure,
    "reader": reader.measure,
}


async def main() -> None:
    wanted = sys.argv[1:] or list(MEASURES)
    found: dict[str, dict[str, object]] = {}
    for name in wanted:
        for key, (value, unit) in (await MEASURES[name]()).items():
            found[key] = {"value": round(value, 4), "unit": unit}
            print(f"{key:<40} {value:>12.3f} {unit}", flush=True)
    target = Path("build/bench.json")
    target.parent.mkdir(exist_ok=True)
    known = json.loads(target.read_text()) if target.exists() and sys.argv[1:] else {}
    target.write_text(json.dumps(known | found, indent=1, sort_keys=True) + "\n")
    print(f"wrote {target}")


asyncio.run(main())
