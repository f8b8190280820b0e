"""Traces: one call is one trace, from the request to its statements and its questions to a node, as a collector gets it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
from aiohttp import ClientSession, TCPConnector

from devtools.devvenue import DevVenue, serve
from domain.refusals import Refused
from domain.spans import trace
from domain.trading.venue_account import milliseconds
from server.settings import Settings
from server.tracing import OtelTracer
from tests.collector import Collector, Seen, collecting
from tests.ports import free_port
from tests.server.test_process import WALLET, environment
from tests.surfaces.small import modern
from tests.waiting import PATIENTLY, STUCK_S, Heard, terminated
from tests.world import CHAIN_ID, Clock, Evm, Mandated, World, a_world, working
from tools.context.credentials import hashed
from venue.budget import Budget, InMemory
from venue.client import Client

# No process migrates its database: it is there before it starts.
pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.usefixtures("sqlite_url")]
ROOT = Path(__file__).parents[2]
REMOTE = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT = {"traceparent": f"00-{REMOTE}-b7ad6b7169203331-01"}
EVENTS = "POST /wallet/mandates/{public_id}/events"
CALLDATA = "GET /wallet/mandates/{public_id}/execute-call"
SECRET_NODE = "n0desecret"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as running:
        yield running


@asynccontextmanager
async def traced(
    url: str, evm: Evm, collector: Collector, **more: str
) -> AsyncIterator[tuple[Mandated, str, dict[str, str], Heard]]:
    """A process that traces, a mandate at work, its agent's credential."""
    async with a_world(url, evm) as world:
        evm.clock.at = max(evm.clock.at, datetime.now(UTC))
        mandate = await working(world)
        port, chain = free_port(), f"WALLET_CHAINS__{CHAIN_ID}__"
        env = PATIENTLY | collector.settings | {
            "PATH": os.defpath, "PYTHONPATH": str(ROOT), "WALLET_DATABASE_URL": url, "WALLET_DOOR": "on", "WALLET_LOG_FORMAT": "json",
            "WALLET_BASE_URL": f"http://127.0.0.1:{port}", "WALLET_DEFAULT_CHAIN_ID": str(CHAIN_ID),
            f"{chain}RPC_URL": f"{evm.url}/?key={SECRET_NODE}",
            f"{chain}USDC": evm.usdc, f"{chain}FACTORY": evm.factory, f"{chain}LENS": evm.lens, f"{chain}CONFIRMATIONS": "0",
        } | more  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", "server", "serve", "--no-keeper", "--port", str(port)],
            env=env, cwd=ROOT, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        heard = Heard(process)
        try:
            await anyio.to_thread.run_sync(heard.until, "serving on")
            with heard.shown_on_failure():
                yield mandate, f"http://127.0.0.1:{port}", await _key(world, mandate), heard
            process.terminate()
            assert await anyio.to_thread.run_sync(process.wait, STUCK_S) == 0
        finally:
            process.kill()
            process.wait()


async def _key(world: World, mandate: Mandated) -> dict[str, str]:
    key, agent = world.deps.ids.token("ak_"), mandate.agent.user_id or ""
    name, at = world.deps.ids.short("k_"), world.clock.now()
    await world.store.write(lambda uow: uow.identities.add_key(name, agent, hashed(key), at))
    return {"X-Service-User-Key": key}


def _below(collector: Collector, root: Seen) -> list[Seen]:
    """All spans of a trace below one, each reached by its parent."""
    found, new = [], [root]
    while new:
        new = [s for parent in new for s in collector.children(parent)]
        found += new
    assert {s.trace for s in found} <= {root.trace}
    assert {s.id for s in collector.spans if s.trace == root.trace} == {
        s.id for s in [root, *found]
    }
    return found


async def test_a_call_is_one_trace_from_the_request_to_statements_and_nodes(
    database_url: str, evm: Evm, collector: Collector
) -> None:
    async with (
        traced(database_url, evm, collector) as (mandate, base, key, heard),
        ClientSession() as http,
    ):
        path = f"{base}/wallet/mandates/{mandate.id}"
        text, amount = "nobody else reads this", "7.654321"
        note = {"kind": "note", "payload": {"text": text}}
        async with http.post(path + "/events", json=note, headers=key) as r:
            assert r.status == 201, await r.text()
        query = {
            "target": evm.market,
            "data": mandate.world.deposit_data(mandate.vault, amount),
            "approve_amount": amount,
        }
        async with http.get(path + "/execute-call", params=query, headers=key) as r:
            assert r.status == 200, await r.text()
            request_id = r.headers["X-Request-Id"]
        read = modern("tools/call", name="mandate_get", arguments={"public_id": mandate.id})
        read["headers"] |= key
        async with http.post(base + "/mcp", **read) as r:
            assert r.status == 200, await r.text()
        wrote, asked = collector.until(EVENTS), collector.until(CALLDATA)
        by_mcp = collector.until("POST /mcp")

    system = database_url.partition(":")[0]
    assert collector.service["service.name"] == "wallet"
    for root, operation in ((wrote, "mandate_report_event"), (asked, "mandate_execute_call")):
        below = _below(collector, root)
        assert (root.kind, root.parent, root.failed) == ("server", "", False)
        (of,) = [s for s in collector.children(root) if s.name == operation]
        assert (of.kind, of.attributes["wallet.outcome"]) == ("internal", "ok")
        assert of.attributes["wallet.mandate"] == mandate.id
        sql = [s for s in below if "db.system.name" in s.attributes]
        assert {s.attributes["db.system.name"] for s in sql} == {system}
        assert {s.kind for s in sql} == {"client"}
        assert [s for s in sql if s.parent == of.id and s.attributes["db.query.text"]]
    assert asked.attributes["wallet.request_id"] == request_id
    assert asked.attributes["http.response.status_code"] == 200
    rpc = [s for s in _below(collector, asked) if "rpc.system.name" in s.attributes]
    assert {s.attributes["server.address"] for s in rpc} == {"127.0.0.1"}
    assert any("eth_call" in str(s.attributes["rpc.method"]) for s in rpc)
    # What was written is written in the caller's trace, whichever calls it was committed with.
    verbs = {
        s.attributes["db.operation.name"] for s in _below(collector, wrote) if s.kind == "client"
    }
    assert "COMMIT" in verbs or {"WITH", "SELECT"} <= verbs
    lines = [json.loads(line) for line in heard.whole().splitlines() if line.startswith("{")]
    assert {line["trace_id"] for line in lines if line.get("request") and EVENTS.split(" ")[1] in line["event"]} == {wrote.trace}  # fmt: skip

    (tool,) = [s for s in _below(collector, by_mcp) if s.name == "mandate_get"]
    assert tool.attributes["wallet.surface"] == "mcp"
    assert [s for s in collector.children(tool) if "db.system.name" in s.attributes]

    sent = b"".join(collector.raw)
    secrets = (key["X-Service-User-Key"], SECRET_NODE, text, amount, "7654321", mandate.vault, mandate.vault[2:].lower(), evm.market[2:].lower())  # fmt: skip
    assert [s for s in secrets if s.encode() in sent or s.encode() in sent.lower()] == []
    values = [str(v) for s in collector.spans for v in s.attributes.values()]
    assert [v for v in values if re.search(r"0x[0-9a-fA-F]{40}", v)] == []


async def test_what_the_venue_is_asked_is_below_the_call_and_what_it_is_told_is_a_span(
    tmp_path: Path, collector: Collector
) -> None:
    now = datetime.now(UTC)
    site, venue = await serve(DevVenue(lambda: milliseconds(now), mainnet=True))
    named = {f"WALLET_VENUE_{n}_URL": venue for n in ("MAINNET", "TESTNET")}
    async with _plain(tmp_path, collector, **named) as (base, _):
        async with ClientSession() as http:
            for _ in range(2):
                async with http.get(base + "/wallet/info/meta") as r:
                    assert r.status == 200, await r.text()
        root = collector.until("GET /wallet/info/meta")
    (asked,) = [s for s in _below(collector, root) if s.name == "info meta"]
    assert (asked.kind, asked.failed) == ("client", False)
    assert asked.attributes == {
        "http.request.method": "POST", "server.address": "127.0.0.1", "url.template": "/info", "http.response.status_code": 200,
    }  # fmt: skip

    # What an action says is in no span; one that was not answered is told by its error.
    tracer = OtelTracer(f"http://127.0.0.1:{collector.port}/v1/traces")
    client = Client(venue, Budget(Clock(), InMemory(), "x"))
    action = {"type": "order", "secret": "n0body reads this"}
    with trace(tracer, "acts"):
        await client.post(action, 1, {"r": "0x1", "s": "0x2", "v": 27}, priority="order")
        await client.close()  # and with it the connection that was kept
        await site.cleanup()
        with pytest.raises(Refused):
            await client.post(action, 2, {"r": "0x1", "s": "0x2", "v": 27}, priority="order")
    await client.close()
    await tracer.close()
    acts = [s for s in _below(collector, collector.until("acts")) if s.name == "exchange"]
    assert [s.failed for s in acts] == [False, True]
    assert acts[0].attributes["http.response.status_code"] == 422  # it is no order
    assert "error.type" in acts[1].attributes
    assert b"n0body" not in b"".join(collector.raw)


async def test_the_word_of_a_proxy_of_ours_is_taken_and_a_strangers_is_linked_to(
    tmp_path: Path, collector: Collector
) -> None:
    paths = {"127.0.0.1": "/wallet/markets", "127.0.0.2": "/wallet/chains"}
    async with _plain(tmp_path, collector, WALLET_TRUSTED_PROXIES="127.0.0.1") as (base, _):
        for address, path in paths.items():
            async with (
                ClientSession(connector=TCPConnector(local_addr=(address, 0))) as http,
                http.get(base + path, headers=TRACEPARENT) as r,
            ):
                assert r.status == 200
        ours, strangers = (collector.until(f"GET {path}") for path in paths.values())
    assert (ours.trace, ours.parent, ours.links) == (REMOTE, "b7ad6b7169203331", [])
    assert (strangers.parent, strangers.links) == ("", [REMOTE])
    assert strangers.trace != REMOTE


@asynccontextmanager
async def _plain(
    folder: Path, collector: Collector, **more: str
) -> AsyncIterator[tuple[str, subprocess.Popen[str]]]:
    port = free_port()
    env = environment(folder, **(collector.settings | more))
    process = subprocess.Popen(
        [*WALLET, "serve", "--no-keeper", "--port", str(port)], env=env, cwd=folder, stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    heard = Heard(process)
    try:
        await anyio.to_thread.run_sync(heard.until, "serving on")
        with heard.shown_on_failure():
            yield f"http://127.0.0.1:{port}", process
    finally:
        process.kill()
        process.wait()


async def test_a_collector_that_is_silent_delays_no_call_and_costs_spans_beyond_the_queue(
    tmp_path: Path, collector: Collector
) -> None:
    collector.answer.clear()
    calls, queue = 120, 64
    more = {"OTEL_BSP_MAX_QUEUE_SIZE": str(queue), "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "16"}
    async with _plain(tmp_path, collector, **more) as (base, process):
        async with ClientSession() as http:
            # The collector says nothing until all of them are answered.
            for _ in range(calls):
                async with http.get(base + "/wallet/markets") as r:
                    assert r.status == 200
        collector.answer.set()
        code, _ = await terminated(process)
    assert code == 0
    # What was on its way, and what the queue held; the last ones go when the process ends.
    assert 0 < len(collector.spans) <= queue + 2 * 16 < calls


async def test_what_is_queued_is_sent_when_the_process_ends(
    tmp_path: Path, collector: Collector
) -> None:
    async with _plain(tmp_path, collector, OTEL_BSP_SCHEDULE_DELAY="3600000") as (base, process):
        async with ClientSession() as http, http.get(base + "/wallet/markets") as r:
            assert r.status == 200
        assert collector.spans == []
        code, _ = await terminated(process)
    assert code == 0
    assert collector.until("GET /wallet/markets").failed is False


async def test_a_collector_that_is_away_fails_no_call_and_no_end(
    tmp_path: Path, collector: Collector
) -> None:
    away = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}"}
    async with _plain(tmp_path, collector, **away) as (base, process):
        async with ClientSession() as http:
            for _ in range(5):
                async with http.get(base + "/wallet/markets") as r:
                    assert r.status == 200
        code, _ = await terminated(process)
    assert code == 0


def test_traces_without_the_extra_are_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    with pytest.raises(ValueError, match=r"pip install 'mandate-wallet\[otel\]'"):
        Settings(traces="on")
    assert Settings(traces="off").traces == "off"
