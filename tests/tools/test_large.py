"""No operation holds the event loop, however large the record is; and no answer grows with it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest

from storage.repositories.state_cache import StateCache
from storage.schema import migrate
from storage.sqlite_files import sqlite_path
from tests.examples import least
from tests.loop_watch import LoopWatch, watched_loop
from tests.tools.large import ADDRESS, AGENT, BIG, OWNER, build, large_deps
from tests.world import BY_NAME
from tools.catalogue import OPERATIONS
from tools.context.render_cache import KEPT
from tools.dispatch.run import run
from tools.keeper.hall_rollup import refresh
from tools.model.json_schema import takes_schema
from tools.model.operation import ANONYMOUS, Caller, Deps, Operation

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
HELD_MS = 20
# What holds the loop holds it whenever it is asked; what a host steals from its guest is counted as
# the guest's time, and comes once in thousands of turns.
TRIES = 3
BYTES = 512 * 1024
AS_OWNER = Caller("owner", OWNER, OWNER, ADDRESS)
AS_STRANGER = Caller("owner", "u_stranger", "u_stranger", "0x" + "33" * 20)
AS_AGENT = Caller("agent", AGENT, OWNER, ADDRESS, "Scout", "h")
TX = "0x" + "ab" * 32

# Reads of a record that grows, as each of those who may make them.
READS: list[tuple[str, Caller, dict[str, Any]]] = [
    ("owner_agents", AS_OWNER, {"limit": 200}),
    ("agents_me", AS_AGENT, {}),
    ("agents_me", AS_OWNER, {}),
    ("agent_policy", AS_OWNER, {"agent_id": AGENT}),
    ("agent_balances", AS_OWNER, {"agent_id": AGENT}),
    ("agent_offers", AS_AGENT, {"agent_id": AGENT, "limit": 200}),
    ("agent_activity", AS_AGENT, {"agent_id": AGENT, "limit": 200}),
    ("agent_activity", AS_OWNER, {"agent_id": AGENT, "limit": 200}),
    ("hall_list", ANONYMOUS, {"limit": 200}),
    ("hall_agent", ANONYMOUS, {"agent_id": AGENT}),
    ("hall_proof", ANONYMOUS, {}),
    ("mandate_list", AS_OWNER, {"limit": 200}),
    ("mandate_list", AS_AGENT, {"limit": 200}),
    ("mandate_get", AS_OWNER, {"public_id": BIG}),
    ("mandate_get", AS_AGENT, {"public_id": BIG}),
    ("mandate_limits", AS_OWNER, {"public_id": BIG}),
    ("mandate_limits", AS_AGENT, {"public_id": BIG}),
    ("mandate_events", AS_OWNER, {"public_id": BIG, "limit": 200}),
    ("mandate_steps", AS_OWNER, {"public_id": BIG, "limit": 200}),
    ("mandate_approvals", AS_OWNER, {"public_id": BIG, "limit": 200}),
    ("mandate_series", AS_OWNER, {"public_id": BIG}),
    ("mandate_series", AS_AGENT, {"public_id": BIG}),
    ("owner_approvals", AS_OWNER, {"limit": 200}),
    ("owner_approvals", AS_OWNER, {"limit": 200, "status": "expired"}),
    ("mandate_reconcile", AS_OWNER, {"public_id": BIG, "tx_hash": TX}),
    ("owner_statement", AS_OWNER, {"public_id": BIG, "week": "2026-W45", "limit": 200}),
    ("owner_statement", AS_OWNER, {"public_id": BIG, "week": "2026-W46", "limit": 200}),
    ("owner_statement", AS_OWNER, {"public_id": BIG, "week": "2026-W47", "limit": 200}),
    ("owner_statement_all", AS_OWNER, {"week": "2026-W46", "limit": 200}),
    ("mandate_report_event", AS_AGENT, {"public_id": BIG, "kind": "note"}),
]


@pytest.fixture(scope="module")
def large_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The large record, which one worker builds for all; each has a copy of its own."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    built, half = folder / "large.sqlite", folder / "large-half.sqlite"
    with (folder / "large.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not built.exists():
            migrate.upgrade(f"sqlite:///{half}")
            build(f"sqlite:///{half}")
            half.rename(built)
    copied = tmp_path_factory.mktemp("large") / "large.sqlite"
    shutil.copyfile(built, copied)
    return f"sqlite:///{copied}"


@pytest.fixture
async def deps(large_url: str) -> AsyncIterator[Deps]:
    async with large_deps(large_url) as opened:
        yield opened


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Any:
    with watched_loop(monkeypatch) as watching:
        yield watching


@pytest.mark.parametrize(
    ("name", "caller", "arguments"), READS, ids=lambda v: getattr(v, "role", None)
)
async def test_no_read_holds_the_loop(
    deps: Deps, watch: LoopWatch, name: str, caller: Caller, arguments: dict[str, Any]
) -> None:
    # What a process does once (imports, schemas) is done with a mandate of one row, or for somebody
    # who has none.
    if "public_id" in arguments:
        await run(BY_NAME[name], deps, caller, arguments | {"public_id": "m_000000"})
    else:
        await run(BY_NAME[name], deps, AS_STRANGER if caller is AS_OWNER else caller, arguments)
    for _ in range(TRIES):
        deps.store._cache = StateCache()  # type: ignore[attr-defined]
        KEPT.forget()
        await watch.forget()
        reply = await run(BY_NAME[name], deps, caller, arguments)
        await anyio.lowlevel.checkpoint()
        assert reply.status < 300, reply.body
        assert len(json.dumps(dict(reply.body))) < BYTES
        if watch.longest_ms < HELD_MS:
            return
    raise AssertionError(f"{watch.longest_ms} ms: {watch.what}")


def who_may(op: Operation) -> list[Caller]:
    """Those who call it: both, where two may."""
    known = {"owner": [AS_OWNER], "agent": [AS_AGENT], "owner_or_agent": [AS_OWNER, AS_AGENT]}
    return known.get(op.auth, [ANONYMOUS if op.auth == "open" else Caller(op.auth)])


async def test_no_other_operation_holds_the_loop(
    large_url: str, tmp_path: Path, watch: LoopWatch
) -> None:
    """Whatever it answers: what is refused after a look at the large record is looked at too."""
    mine = {"public_id": BIG, "agent_id": AGENT, "tx_hash": TX}
    small = mine | {"public_id": "m_000000"}
    # Its writes are its own: the other tests read the record as it was built.
    copied = tmp_path / "copied.sqlite"
    shutil.copyfile(sqlite_path(large_url), copied)
    others = [op for op in OPERATIONS if op.name not in {name for name, _, _ in READS}]
    held: dict[str, str] = {}
    async with large_deps(f"sqlite:///{copied}") as deps:
        for op, caller in [(o, who) for o in others for who in who_may(o)]:
            takes = takes_schema(op)["properties"]
            asked = least(op) | {n: v for n, v in mine.items() if n in takes}
            await run(op, deps, caller, asked | {n: v for n, v in small.items() if n in takes})
            for _ in range(TRIES):
                deps.store._cache = StateCache()  # type: ignore[attr-defined]
                KEPT.forget()
                await watch.forget()
                reply = await run(op, deps, caller, asked)
                await anyio.lowlevel.checkpoint()
                assert len(json.dumps(dict(reply.body), default=str)) < BYTES, op.name
                if watch.longest_ms < HELD_MS:
                    break
            else:
                held[f"{op.name} {caller.role}"] = f"{watch.longest_ms} ms: {watch.what}"
    assert held == {}


async def test_the_keeper_goes_over_many_mandates_without_holding_the_loop(
    tmp_path: Path, watch: LoopWatch
) -> None:
    url = f"sqlite:///{tmp_path / 'many.sqlite'}"
    migrate.upgrade(url)
    build(url, rows=1_000, mandates=1_000)
    async with large_deps(url) as deps:
        await watch.forget()
        await refresh(deps, AGENT)
        await anyio.lowlevel.checkpoint()
        assert watch.longest_ms < HELD_MS, watch.what
        row = await run(BY_NAME["hall_agent"], deps, ANONYMOUS, {"agent_id": AGENT})
        assert row.body["delegators"]["self"]["mandates"] == row.body["mandates_total"] == 1_001
        await watch.forget()
        put = {"agent_id": AGENT, "accepts_mandates": False}
        changed = await run(BY_NAME["owner_agent_policy_put"], deps, AS_OWNER, put)
        await anyio.lowlevel.checkpoint()
        assert (changed.status, watch.longest_ms < HELD_MS) == (200, True), watch.what
        page = await run(BY_NAME["hall_list"], deps, ANONYMOUS, {})
        (listed,) = page.body["items"]
        assert (listed["accepts_mandates"], listed["mandates_total"]) == (False, 1_001)
