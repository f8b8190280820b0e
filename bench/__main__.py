"""`python -m bench [NAME…]`: run the measurements, print the ratios, write build/bench.json; exit 1
where a stated limit is missed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping

from bench import (
    beside_twin,
    hall,
    held,
    keeper,
    ledger,
    mcp_cost,
    mcp_start,
    notes,
    orders,
    pages,
    pg_statements,
    reader,
    reports,
    serve_start,
    stream,
    traces,
    venue,
)
from bench.lines import Measure, tell

MEASURES: Mapping[str, Measure] = {
    "reports": reports.measure,
    "reads": ledger.measure,
    "pages": pages.measure,
    "pg": pg_statements.measure,
    "twin": beside_twin.measure,
    "hall": hall.measure,
    "held": held.measure,
    "mcp": mcp_cost.measure,
    "mcp_start": mcp_start.measure,
    "serve_start": serve_start.measure,
    "reader": reader.measure,
    "notes": notes.measure,
    "venue": venue.measure,
    "keeper": keeper.measure,
    "orders": orders.measure,
    "stream": stream.measure,
    "traces": traces.measure,
}


asyncio.run(tell(MEASURES, sys.argv[1:]))
