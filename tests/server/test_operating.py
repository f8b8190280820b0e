"""The files for operators: dashboard and alert rules name what a running service shows, and are well-formed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from aiohttp import ClientSession
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import prometheus
from grafana_foundation_sdk.models.dashboard import Dashboard
from pydantic import SecretStr

from devtools.devvenue import DevVenue, VenueFault, serve
from domain.trading.venue_account import milliseconds
from http_shim.http_server import bound
from server.runtime.keeper_process import keep
from server.runtime.serve import serve_until
from server.settings import ChainSettings, Settings
from tests.ports import free_port
from tests.waiting import STUCK_S
from tests.world import CHAIN_ID, Clock, Evm, own_evm

evm = own_evm

FOLDER = Path(__file__).parents[2] / "docs" / "operating"
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text())
RULES = [
    r for g in yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"] for r in g["rules"]
]
NAME = re.compile(r"\b(?:wallet|process)_[a-z_]+[a-z]\b(?=[{\[)\s,]|$)")


def expressions() -> Iterator[str]:
    """Every query of the dashboard and the rules."""
    for panel in DASHBOARD["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))
    yield from (v["query"] for v in DASHBOARD["templating"]["list"] if v["type"] == "query")
    yield from (rule["expr"] for rule in RULES)


@asynccontextmanager
async def serving(settings: Settings) -> AsyncIterator[str]:
    """A whole process's work, here."""
    stop, ready, told = anyio.Event(), anyio.Event(), []

    def serving_on(address: str) -> None:
        told.append(address)
        ready.set()

    async def run() -> None:
        with bound("127.0.0.1", 0) as sock:
            await serve_until(settings, sock, stop, keeper=True, ready=serving_on)

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        with anyio.fail_after(STUCK_S):
            await ready.wait()
        yield told[0]
        stop.set()


@pytest.mark.slow
@pytest.mark.anyio
async def test_every_metric_of_dashboard_and_rules_is_shown_by_a_running_service(
    sqlite_url: str, evm: Evm
) -> None:
    clock = Clock()
    venue = DevVenue(lambda: milliseconds(clock.now()), mainnet=True)
    venue.faults.add(VenueFault(effect="unknown_field", kind="meta", times=1))
    site, venue_url = await serve(venue)
    port = free_port()
    settings = Settings(
        database_url=sqlite_url,
        metrics_port=port,
        venue_mainnet_url=venue_url,
        webhook_key=SecretStr("k" * 40),
        keeper_tick_s=1,
        chains={
            CHAIN_ID: ChainSettings(rpc_url=evm.url, factory=evm.factory, usdc=evm.usdc, poll_s=1)
        },
    )
    # A replica's are shown where one is named (tests/storage/test_read_replica.py).
    others = {"wallet_build_info", "wallet_replica_reads_total"}
    wanted = {name for query in expressions() for name in NAME.findall(query)} - others
    assert len(wanted) > 20
    async with serving(settings) as base, ClientSession() as http:
        async with http.get(base + "/wallet/info/meta") as r:
            assert r.status == 200
        missing = wanted
        with anyio.fail_after(STUCK_S):
            while missing:  # rounds of work come by and by
                async with http.get(base + "/wallet/mandates") as r:
                    assert r.status == 401
                async with http.get(f"http://127.0.0.1:{port}/metrics") as r:
                    shown = set(re.findall(r"^([a-z_]+)[{ ]", await r.text(), re.MULTILINE))
                if missing == (missing := wanted - shown):
                    await anyio.sleep(0.2)
    await site.cleanup()


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_keeper_tells_its_health_and_figures_too(sqlite_url: str) -> None:
    port = free_port()
    settings = Settings(database_url=sqlite_url, keeper_tick_s=1)
    async with anyio.create_task_group() as group, ClientSession() as http:
        group.start_soon(lambda: keep(settings, once=False, metrics_port=port))
        text = ""
        with anyio.fail_after(STUCK_S):
            while 'work="rolling the Hall up"' not in text:
                try:
                    async with http.get(f"http://127.0.0.1:{port}/metrics") as r:
                        text = await r.text()
                except OSError:
                    await anyio.sleep(0.1)
        async with http.get(f"http://127.0.0.1:{port}/wallet/markets") as r:
            assert r.status == 404
        group.cancel_scope.cancel()
    assert 'wallet_work_succeeded_timestamp_seconds{work="rolling the Hall up"}' in text


def test_grafanas_own_models_know_every_field_of_the_dashboard() -> None:
    register_default_plugins()
    read = Dashboard.from_json(DASHBOARD)
    assert kept(DASHBOARD, json.loads(JSONEncoder().encode(read)))
    panels: list[Any] = [p for p in read.panels or [] if getattr(p, "targets", None)]
    assert all(isinstance(t, prometheus.Dataquery) for p in panels for t in p.targets)
    ids = [p["id"] for p in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))


def kept(raw: Any, back: Any) -> bool:
    """Whether everything that was told came back."""
    if isinstance(raw, dict):
        return all(name in back and kept(raw[name], back[name]) for name in raw)
    if isinstance(raw, list):
        return len(raw) == len(back) and all(map(kept, raw, back))
    return bool(raw == back)


def test_every_alert_says_what_to_do_and_has_a_case() -> None:
    cases = (FOLDER / "alerts_test.yml").read_text()
    for rule in RULES:
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"].keys() == {"summary", "action"}
        assert re.search(rf"alertname: {rule['alert']}\n\s+exp_alerts: \[{{", cases), rule["alert"]


def test_every_alert_has_its_runbook_and_no_runbook_is_of_another() -> None:
    _, *sections = (FOLDER / "runbooks.md").read_text().split("\n## ")
    named = [s.partition("\n")[0] for s in sections]
    assert named == [*(rule["alert"] for rule in RULES), "Traces do not arrive"]
    for section in sections:
        parts = ("- **Callers see**", "- **Look at**", "- **Do**")
        assert [section.count(part) for part in parts] == [1, 1, 1], section


@pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool: Debian's package prometheus"
)
def test_prometheus_takes_the_rules_and_they_fire_when_they_should() -> None:
    for command in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]):
        done = subprocess.run(
            ["promtool", *command], cwd=FOLDER, capture_output=True, text=True, timeout=STUCK_S, check=False
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
