"""No operation holds the event loop, however large the record is; and no answer grows with it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest

from storage.repositories.state_cache import StateCache
from storage.schema import migrate
from storage.sqlite_files import sqlite_path
from tests.examples import least
from tests.loop_watch import LoopWatch, watched_loop
from tests.tools.large import (
    AGENT,
    AS_AGENT,
    AS_OWNER,
    AS_STRANGER,
    BIG,
    FEWER_MANDATES,
    FEWER_ROWS,
    MANDATES,
    READS,
    ROWS,
    TX,
    build,
    large_deps,
)
from tests.world import BY_NAME
from tools.catalogue import OPERATIONS
from tools.context.render_cache import KEPT
from tools.dispatch.run import run
from tools.keeper.hall_rollup import refresh
from tools.model.json_schema import takes_schema
from tools.model.operation import ANONYMOUS, Caller, Deps, Operation

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
# 8 ms of Python at the most; make bench measures the time.
STEPS = 200_000
BYTES = 512 * 1024
# What a turn may grow by as the record grows by three: the trees of its indexes are a little higher.
GROWTH, MORE = 1.1, 1_000
# What SQLite alone looks at, a step a row at the most: all of them, counted for the operator; those of
# a week, among which are those that were read late.
LOOKS_AT_ROWS = {"admin_counts admin", "owner_statement_rows owner"}
SIZES = {"small": (FEWER_ROWS, FEWER_MANDATES), "large": (ROWS, MANDATES)}


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A small record and a large one, which one worker builds for all; each has copies of its own."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    urls = []
    for name, (rows, mandates) in SIZES.items():
        built, half = folder / f"{name}.sqlite", folder / f"{name}-half.sqlite"
        with (folder / f"{name}.lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            if not built.exists():
                migrate.upgrade(f"sqlite:///{half}")
                build(f"sqlite:///{half}", rows=rows, mandates=mandates)
                half.rename(built)
        copied = tmp_path_factory.mktemp("large") / f"{name}.sqlite"
        shutil.copyfile(built, copied)
        urls.append(f"sqlite:///{copied}")
    return urls


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopWatch]:
    with watched_loop(monkeypatch) as watching:
        yield watching


@dataclass(frozen=True)
class Look:
    """What one call took: the steps of its longest turn, and its answer."""

    steps: int
    bytes: int
    refused: bool
    what: str

    def __str__(self) -> str:
        return f"{self.steps} steps, {self.bytes} bytes: {self.what}"


async def looked(
    watch: LoopWatch, deps: Deps, op: Operation, caller: Caller, asked: Mapping[str, Any]
) -> Look:
    """One call of a process that has read nothing yet."""
    deps.store._cache = StateCache()  # type: ignore[attr-defined]
    KEPT.forget()
    await watch.forget()
    reply = await run(op, deps, caller, asked)
    await anyio.lowlevel.checkpoint()
    size = len(json.dumps(dict(reply.body), default=str))
    return Look(watch.longest, size, reply.refused, watch.what)


def wrong(small: Look, large: Look, *, rows: int = 0) -> str | None:
    """What is wrong with a call, whose steps and bytes are to be few, and no more of a large record."""
    few = large.steps < STEPS and large.bytes < BYTES
    grown = (
        large.steps > small.steps * GROWTH + MORE + rows
        or large.bytes > small.bytes * GROWTH + MORE
    )
    return None if few and not grown else f"{small} became {large}"


@pytest.mark.parametrize(
    ("name", "caller", "arguments"), READS, ids=lambda v: getattr(v, "role", None)
)
async def test_no_read_holds_the_loop(
    records: list[str], watch: LoopWatch, name: str, caller: Caller, arguments: dict[str, Any]
) -> None:
    looks = []
    for url in records:
        async with large_deps(url) as deps:
            watch.of_store(deps.store)
            # What a process does once (imports, schemas) is done with a mandate of one row, or for
            # somebody who has none.
            if "public_id" in arguments:
                once = caller, arguments | {"public_id": "m_000000"}
            else:
                once = AS_STRANGER if caller is AS_OWNER else caller, arguments
            await run(BY_NAME[name], deps, *once)
            looks.append(await looked(watch, deps, BY_NAME[name], caller, arguments))
    assert not any(look.refused for look in looks)
    assert wrong(*looks) is None


def who_may(op: Operation) -> list[Caller]:
    """Those who call it: both, where two may."""
    known = {"owner": [AS_OWNER], "agent": [AS_AGENT], "owner_or_agent": [AS_OWNER, AS_AGENT]}
    return known.get(op.auth, [ANONYMOUS if op.auth == "open" else Caller(op.auth)])


async def test_no_other_operation_holds_the_loop(
    records: list[str], tmp_path: Path, watch: LoopWatch
) -> None:
    """Whatever it answers: what is refused after a look at the large record is looked at too."""
    mine = {"public_id": BIG, "agent_id": AGENT, "tx_hash": TX}
    one = mine | {"public_id": "m_000000"}
    others = [op for op in OPERATIONS if op.name not in {name for name, _, _ in READS}]
    looks: dict[str, list[Look]] = {}
    for url in records:
        # Its writes are its own: the other tests read the record as it was built.
        copied = tmp_path / Path(sqlite_path(url)).name
        shutil.copyfile(sqlite_path(url), copied)
        async with large_deps(f"sqlite:///{copied}") as deps:
            watch.of_store(deps.store)
            for op, caller in [(o, who) for o in others for who in who_may(o)]:
                takes = takes_schema(op)["properties"]
                asked = least(op) | {n: v for n, v in mine.items() if n in takes}
                await run(op, deps, caller, asked | {n: v for n, v in one.items() if n in takes})
                look = await looked(watch, deps, op, caller, asked)
                looks.setdefault(f"{op.name} {caller.role}", []).append(look)
    found = {
        name: wrong(*both, rows=ROWS - FEWER_ROWS if name in LOOKS_AT_ROWS else 0)
        for name, both in looks.items()
    }
    assert {name: what for name, what in found.items() if what} == {}


async def test_the_keeper_goes_over_many_mandates_without_holding_the_loop(
    tmp_path: Path, watch: LoopWatch
) -> None:
    longest: dict[str, list[int]] = {"refresh": [], "policy": []}
    for mandates in (200, 600):
        url = f"sqlite:///{tmp_path / f'{mandates}.sqlite'}"
        migrate.upgrade(url)
        build(url, rows=256, mandates=mandates)
        async with large_deps(url) as deps:
            watch.of_store(deps.store)
            await watch.forget()
            await refresh(deps, AGENT)
            await anyio.lowlevel.checkpoint()
            longest["refresh"].append(watch.longest)
            row = (await run(BY_NAME["hall_agent"], deps, ANONYMOUS, {"agent_id": AGENT})).body
            assert row["delegators"]["self"]["mandates"] == row["mandates_total"] == mandates + 1
            await watch.forget()
            put = {"agent_id": AGENT, "accepts_mandates": False}
            changed = await run(BY_NAME["owner_agent_policy_put"], deps, AS_OWNER, put)
            await anyio.lowlevel.checkpoint()
            assert changed.status == 200
            longest["policy"].append(watch.longest)
            page = await run(BY_NAME["hall_list"], deps, ANONYMOUS, {})
            (listed,) = page.body["items"]
            assert (listed["accepts_mandates"], listed["mandates_total"]) == (False, mandates + 1)
    assert all(many < STEPS and many <= few * GROWTH + MORE for few, many in longest.values())
