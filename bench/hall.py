"""A Hall page over 10,000 agents with 1,000,000 ledger rows behind them, over one over 100 agents."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from bench.stage import NOW, Stage, listed, median, note, staged
from storage.repositories.hall import HallAgent
from storage.repositories.identities import Agent
from storage.sqlite_files import sqlite_path
from tools.catalogue import OPERATIONS
from tools.dispatch.run import run
from tools.keeper.hall_rollup import refresh
from tools.model.operation import ANONYMOUS

SMALL, LARGE, READS = 100, 10_000, 60
# Agents: a page of so many is whole, whatever their figures; a longer one ends by its bytes.
PAGE = 25
ROWS_AN_AGENT = 100
HALL = next(op for op in OPERATIONS if op.name in ("hall_list", "hall"))


async def fill(stage: Stage, agents: int) -> None:
    """Give the Hall a row for each agent, shaped as a refreshed one, and each agent a ledger of its own."""
    await refresh(stage.deps, "u_bench")
    shape = await stage.store.read(lambda uow: uow.hall.get("u_bench"))
    assert shape is not None
    for start in range(0, agents, 500):

        def batch(uow, start=start) -> None:  # type: ignore[no-untyped-def]
            for n in range(start, start + 500 if start + 500 < agents else agents):
                agent_id = f"u_a{n:06d}"
                uow.identities.add_agent(Agent(agent_id, "u_owner", f"Agent {n}", None, NOW))
                uow.hall.put(other(shape, agent_id, n))

        await stage.store.write(batch)
    copy_rows(stage, agents)


def other(shape: HallAgent, agent_id: str, n: int) -> HallAgent:
    """A row like the shape, with facts of its own."""
    facts = {
        k: (n * 7_919) % 997 if v is not None or k in ("days_live", "trades_total") else None
        for k, v in shape.facts.items()
    }
    return replace(
        shape,
        agent_id=agent_id,
        facts=facts,
        body={**shape.body, "agent_id": agent_id, "name": f"Agent {n}"},
    )


def copy_rows(stage: Stage, agents: int) -> None:
    """A ledger of many rows an agent, straight into the table: a page must not depend on them."""
    connection = sqlite3.connect(sqlite_path(stage.store.url))
    first = connection.execute("SELECT * FROM ledger_events LIMIT 1")
    names, row = [d[0] for d in first.description], first.fetchone()
    places = {n: names.index(n) for n in ("public_id", "seq", "event_id", "row_hash", "tx_hash")}

    def rows():  # type: ignore[no-untyped-def]
        for agent in range(agents):
            for seq in range(1, ROWS_AN_AGENT + 1):
                told = list(row)
                told[places["public_id"]], told[places["seq"]] = f"m_x{agent:08d}", seq
                told[places["event_id"]], told[places["row_hash"]], told[places["tx_hash"]] = (
                    f"ev_{agent}_{seq}",
                    f"{agent}.{seq}",
                    None,
                )
                yield told

    marks = ",".join("?" * len(names))
    with connection:
        connection.executemany(f"INSERT INTO ledger_events VALUES ({marks})", rows())
    connection.close()


async def page(stage: Stage) -> float:
    """Seconds of one page."""
    started = time.perf_counter()
    reply = await run(HALL, stage.deps, ANONYMOUS, {"limit": PAGE})
    assert reply.status == 200, reply.body
    assert len(listed(reply, "items")) == PAGE
    return time.perf_counter() - started


async def measure() -> dict[str, tuple[float, str]]:
    """Both databases open at once, read in turns."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        async with staged(Path(one)) as small, staged(Path(two)) as large:
            for stage, agents in ((small, SMALL), (large, LARGE)):
                await stage.store.write(
                    lambda uow: uow.ledger.append(
                        "m_bench00000", note(1), event_id="ev_seed", now=NOW
                    )
                )
                await fill(stage, agents)
            times: dict[int, list[float]] = {SMALL: [], LARGE: []}
            for _ in range(READS):
                times[SMALL].append(await page(small))
                times[LARGE].append(await page(large))
    few, many = median(times[SMALL]), median(times[LARGE])
    return {
        "hall_10k_over_100": (many / few, "ratio of time, at most 3"),
        "hall_page_ms": (
            many * 1_000,
            "ms a page of 25, at 10,000 agents and 1,000,000 ledger rows",
        ),
    }
