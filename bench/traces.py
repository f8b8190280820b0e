"""What traces cost: a report with them on over one with them off, and, off, the places that look
whether there is a trace over the whole of a report."""

from __future__ import annotations

import tempfile
import time
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from pathlib import Path

from bench.paired import paired
from bench.stage import seconds, settled, staged
from domain.spans import current_span, part, spans_in, trace
from server.tracing import OtelTracer
from storage.statement_spans import statement
from tests.collector import collecting
from tools.actions.event_reports import OPERATIONS
from tools.dispatch.run import run
from tools.model.operation import Deps

ROUNDS, CALLS, WORKERS, LOOKS = 13, 200, 16, 20_000
(REPORT,) = (op for op in OPERATIONS if op.name == "mandate_report_event")


def looks_us() -> float:
    """The time that one report spends on looking for a trace that is not there, in microseconds:
    once for the log, the operation, the middleware and each of its transactions.
    """
    started = time.perf_counter()
    for _ in range(LOOKS):
        for _ in range(4):
            current_span()
        with part("", "internal", {}):
            context = copy_context()
        for _ in range(3):
            with statement("", "sqlite", spans_in([context])):
                pass
        context.run(int)
    return (time.perf_counter() - started) / LOOKS * 1e6


async def measure() -> dict[str, tuple[float, str]]:
    """On and off in turns; what is sent is received on this machine, by this process."""
    with tempfile.TemporaryDirectory() as folder, collecting() as collector:
        async with staged(Path(folder)) as stage:
            tracer = OtelTracer(f"http://127.0.0.1:{collector.port}/v1/traces")
            done = 0

            async def report(deps: Deps) -> None:
                nonlocal done
                done += 1
                arguments = {
                    "public_id": f"m_bench{done % 16:05d}",
                    "kind": "note",
                    "payload": {"text": "bench"},
                }
                with trace(deps.tracer, "report"):
                    reply = await run(REPORT, deps, stage.agent, arguments, key=f"t{done}")
                assert not reply.refused, reply.body

            on = replace(stage.deps, tracer=tracer)

            async def reports(deps: Deps) -> float:
                return await seconds(lambda _: report(deps), workers=WORKERS, calls=CALLS)

            with settled():
                turns = {"off": partial(reports, stage.deps), "on": partial(reports, on)}
                costs = await paired(turns, rounds=ROUNDS)
            looks = looks_us()
            await tracer.close()
    report_us = costs.middle("off") * 1e6
    return {
        "traces_on_over_off": (costs.ratio("off", "on"), "ratio of throughput"),
        "traces_off_looks_over_report": (looks / report_us, "ratio of time, at most 0.02"),
    }
