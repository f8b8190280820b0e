"""Every statement of the hot path names one mandate: what lets the ledger be partitioned, or distributed, by `public_id`."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer

from chain.chains import EvmChains
from chain.contracts.sign_in import SiweSignIn
from domain.settings import Config, Switches
from http_shim.application import build
from server.system import SystemClock, SystemIds
from storage.schema import migrate
from storage.schema.metadata import metadata
from storage.store import open_store
from tests.campaign.cluster import Cluster, clusters
from tests.campaign.house import KEY, MANDATES, fill
from tests.databases import PATIENT, _run, _sql
from tools.catalogue import OPERATIONS
from tools.model.operation import Deps

pytestmark = [pytest.mark.pg, pytest.mark.slow]
# Rows of a mandate, which live where it lives; "mandates" is their root.
OF_A_MANDATE = frozenset(
    t.name for t in metadata.tables.values() if {"public_id", "mandate_id"} & set(t.columns.keys())
)
# What the hot path reads beside them: small and everywhere alike, or found by a key of its own
# (a credential, a claim, a vault's address).
BESIDE = frozenset(
    {
        "agents", "agent_keys", "house_keys", "oauth_tokens", "sessions", "users", "switches", "idempotency", "policies", "chain_staging",
    }
)  # fmt: skip
ENTRY = re.compile(r"^\d{4}-\d\d-\d\d [^\[]*\[\d+\] ", re.MULTILINE)
NAMED = re.compile(r"(?:\bFROM|\bJOIN|\bUPDATE|\bINTO)\s+(?:ONLY\s+)?([a-z_]+)", re.IGNORECASE)
HELD_TO_ONE = re.compile(
    r"\b(?:public|mandate)_id\s*=|\bUSING\s*\(public_id|\(\s*public_id\b|\bpublic_id\s+IN\b"
)
ID = re.compile(r"m_[a-z2-7]{10}")


@pytest.fixture(scope="module")
def telling() -> Iterator[Cluster]:
    """A server that logs every statement with its values."""
    with clusters(1) as (made,):
        made.stop()
        made.options = ("log_statement=all", "log_line_prefix=%m [%p] ")
        made.start()
        _run(_sql(made.url + "/postgres", "CREATE DATABASE wallet"))
        migrate.upgrade(made.url + "/wallet")
        yield made


@asynccontextmanager
async def served(url: str) -> AsyncIterator[TestServer]:
    await fill(url)
    store, chains = await open_store(url, PATIENT), EvmChains([])
    deps = Deps(
        store, chains, SystemClock(), SystemIds(), Config(), SiweSignIn(), Switches(door=True)
    )
    server = TestServer(build(deps, OPERATIONS))
    await server.start_server()
    try:
        yield server
    finally:
        await server.close()
        await chains.close()
        await store.close()


def statements(log: str) -> Iterator[tuple[str, str]]:
    """(statement, its values), as the server wrote them down."""
    entries = [e.partition("  ") for e in ENTRY.split(log)]
    for n, (kind, _, told) in enumerate(entries):
        if kind == "LOG:" and re.match(r"(execute|statement)\b", told):
            values = (
                entries[n + 1][2] if n + 1 < len(entries) and entries[n + 1][0] == "DETAIL:" else ""
            )
            yield told.partition(": ")[2], values


def unbound(statement: str) -> Sequence[str]:
    """Tables of mandates that a statement names more often than it holds them to a mandate."""
    named = [t for t in NAMED.findall(statement) if t in OF_A_MANDATE]
    return named if len(named) > len(HELD_TO_ONE.findall(statement)) else ()


@pytest.mark.anyio
async def test_every_statement_of_the_hot_path_names_one_mandate(telling: Cluster) -> None:
    mandate, log = MANDATES[0], telling.data.parent / "server.log"
    async with served(telling.url + "/wallet") as server, ClientSession() as http:
        # What the process learns once (the door, the catalogue) is not of the hot path.
        headers = {"X-Service-User-Key": KEY}
        async with http.get(server.make_url("/readyz")) as r:
            assert r.status == 200
        before = log.stat().st_size
        for n in range(3):
            body = {"kind": "buy", "amount_usdc": "1", "payload": {"text": "hot"}}
            async with http.post(
                server.make_url(f"/wallet/mandates/{mandate}/events"), json=body, headers=headers | {"Idempotency-Key": f"k{n}"}
            ) as r:  # fmt: skip
                assert r.status in (201, 202), await r.text()
        for part in ("", "/limits", "/events", "/steps", "/reconcile?tx_hash=0x" + "ab" * 32):
            async with http.get(
                server.make_url(f"/wallet/mandates/{mandate}{part}"), headers=headers
            ) as r:
                assert r.status == 200, await r.text()
        told = list(statements(_since(log, before)))
    hot = [(s, v) for s, v in told if NAMED.search(s)]
    assert {"ledger_events", "mandates", "idempotency"} <= {
        t for s, _ in hot for t in NAMED.findall(s)
    }
    assert [s for s, _ in hot if unbound(s)] == []
    assert {i for _, values in hot for i in ID.findall(values)} == {mandate}
    tables = {t for s, _ in hot for t in NAMED.findall(s) if t in metadata.tables}
    assert tables - OF_A_MANDATE <= BESIDE


def _since(log: Path, before: int) -> str:
    return log.read_bytes()[before:].decode(errors="replace")
