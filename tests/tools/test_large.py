"""No operation holds the event loop, however large the record is; and no answer grows with it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio.lowlevel
import pytest

from chain.evm import ChainFacts, EvmChains
from chain.sign_in import SiweSignIn
from domain.settings import Config, Switches
from server.wiring import SystemIds
from storage import migrate
from storage.store import open_store
from tests.loop_watch import LoopWatch, watched_loop
from tests.tools.large import ADDRESS, AGENT, BIG, NOW, OWNER, build
from tests.world import BY_NAME, CHAIN_ID, Clock
from tools.call.operation import NOBODY, Caller, Deps
from tools.call.run import run

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
HELD_MS = 20
BYTES = 512 * 1024
AS_OWNER = Caller("owner", OWNER, OWNER, ADDRESS)
AS_AGENT = Caller("agent", AGENT, OWNER, ADDRESS, "Scout", "h")
TX = "0x" + "ab" * 32

# Reads of a record that grows, as each of those who may make them. Not here: hall_agent,
# whose work grows with the number of an agent's mandates.
READS: list[tuple[str, Caller, dict[str, Any]]] = [
    ("owner_agents", AS_OWNER, {"limit": 200}),
    ("agents_me", AS_AGENT, {}),
    ("agents_me", AS_OWNER, {}),
    ("agent_policy", AS_OWNER, {"agent_id": AGENT}),
    ("agent_balances", AS_OWNER, {"agent_id": AGENT}),
    ("agent_offers", AS_AGENT, {"agent_id": AGENT, "limit": 200}),
    ("agent_activity", AS_AGENT, {"agent_id": AGENT, "limit": 200}),
    ("agent_activity", AS_OWNER, {"agent_id": AGENT, "limit": 200}),
    ("hall_list", NOBODY, {"limit": 200}),
    ("hall_proof", NOBODY, {}),
    ("mandate_list", AS_OWNER, {"limit": 200}),
    ("mandate_list", AS_AGENT, {"limit": 200}),
    ("mandate_get", AS_OWNER, {"public_id": BIG}),
    ("mandate_get", AS_AGENT, {"public_id": BIG}),
    ("mandate_events", AS_OWNER, {"public_id": BIG, "limit": 200}),
    ("mandate_steps", AS_OWNER, {"public_id": BIG, "limit": 200}),
    ("mandate_approvals", AS_OWNER, {"public_id": BIG, "limit": 200}),
    ("mandate_reconcile", AS_OWNER, {"public_id": BIG, "tx_hash": TX}),
    ("owner_statement", AS_OWNER, {"public_id": BIG, "week": "2026-W45", "limit": 200}),
    ("owner_statement", AS_OWNER, {"public_id": BIG, "week": "2026-W46", "limit": 200}),
    ("owner_statement", AS_OWNER, {"public_id": BIG, "week": "2026-W47", "limit": 200}),
    ("owner_statement_all", AS_OWNER, {"week": "2026-W46", "limit": 200}),
    ("mandate_report_event", AS_AGENT, {"public_id": BIG, "kind": "note"}),
]


@pytest.fixture(scope="module")
def large_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('large') / 'large.sqlite'}"
    migrate.upgrade(url)
    build(url)
    return url


@pytest.fixture
async def deps(large_url: str) -> AsyncIterator[Deps]:
    store, chains = await open_store(large_url), EvmChains([ChainFacts(CHAIN_ID)])
    try:
        yield Deps(store, chains, Clock(NOW), SystemIds(), Config(), SiweSignIn(), Switches())
    finally:
        await chains.close()
        await store.close()


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
    # What a process does once (imports, schemas) is done with a mandate of one row.
    small = {"public_id": "m_000000"} if "public_id" in arguments else {}
    await run(BY_NAME[name], deps, caller, arguments | small)
    await anyio.lowlevel.checkpoint()
    watch.forget()
    reply = await run(BY_NAME[name], deps, caller, arguments)
    await anyio.lowlevel.checkpoint()
    assert reply.status < 300, reply.body
    assert len(json.dumps(dict(reply.body))) < BYTES
    assert watch.longest_ms < HELD_MS, watch.what
