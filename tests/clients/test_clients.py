"""Other people's clients play one story against the running service and all see the same."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from tests import npm
from tests.fetched import python_of
from tests.surfaces.conftest import Service, service  # noqa: F401 - fixtures
from tests.waiting import STUCK_S
from tools.model.toolsets import TOOLSETS

pytestmark = [pytest.mark.anyio, pytest.mark.node, pytest.mark.slow]
HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
WITHOUT_NODE = pytest.mark.skipif(bool(npm.missing()), reason=npm.missing() or "can run")
INSPECTOR: Final = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"


def steps(service: Service, name: str) -> list[dict[str, Any]]:  # noqa: F811
    """Who am I, what may I do, act over the cap, report with a key twice, reuse the key, ask for nothing there."""
    m, world = service.mandate, service.world
    data = world.deposit_data(m.vault, "101")
    spend = {"public_id": m.id, "target": world.evm.market, "data": data, "approve_amount": "101"}
    told = {"public_id": m.id, "kind": "note", "payload": {"text": "hello"}}
    note = told | {"idempotency_key": f"key-{name}"}
    calls = [
        ("agents_me", {}),
        ("mandate_execute_call", {"dry_run": True, **spend}),
        ("mandate_execute_call", spend),
        ("mandate_report_event", note),
        ("mandate_report_event", note),
        ("mandate_report_event", note | {"kind": "buy", "amount_usdc": "1"}),
        ("mandate_get", {"public_id": "m_aaaaaaaaaa"}),
    ]
    return [{"tool": tool, "arguments": arguments} for tool, arguments in calls]


async def played(command: list[str], story: dict[str, Any]) -> list[dict[str, Any]]:
    """What each of the story's ways was answered."""
    with anyio.fail_after(STUCK_S):
        # The interpreter itself: a version manager's `python3` is a shell script in front of it.
        env = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        done = await anyio.run_process(
            command, input=json.dumps(story).encode(), check=False, cwd=npm.FOLDER, env=env
        )
    assert done.returncode == 0, done.stderr.decode()[-3_000:]
    return list(json.loads(done.stdout))


def seen(told: dict[str, Any]) -> list[Any]:
    """The answers without what differs from run to run."""
    for answer in told["answers"]:
        assert answer["body"] == answer["text"]
    first, dry, over, one, two, reused, absent = told["answers"]
    assert one["body"] == two["body"]
    assert [a["isError"] for a in told["answers"]] == [False, False, True, False, False, True, True]
    refusals = [a["body"]["refusal"]["error"] for a in (over, reused, absent)]
    assert refusals == ["over_per_tx_cap", "idempotency_key_reused", "not_found"]
    kept = {k: one["body"]["event"][k] for k in ("kind", "reported_by", "payload")}
    alike = [a["body"] for a in (first, dry, over, reused, absent)]
    return [sorted(told["tools"]), kept, one["body"]["remaining"], *alike]


async def clients_command(client: str) -> list[str]:
    if client == "typescript":
        await anyio.to_thread.run_sync(npm.install)
        return npm.node("../story.mjs")
    python = await anyio.to_thread.run_sync(python_of, "mcp1")  # the last 1.x SDK
    return [python, str(HERE / "story_mcp1.py")]


@pytest.mark.parametrize("client", ["python-1.x", pytest.param("typescript", marks=WITHOUT_NODE)])
async def test_every_client_sees_the_same_story(service: Service, client: str) -> None:  # noqa: F811
    """What curl sees, over each of a client's two transports."""
    assert shutil.which("curl")
    (plain,) = await played(
        ["bash", str(HERE / "story_curl.sh")],
        {"key": service.key, "url": service.base + "/mcp", "steps": steps(service, "plain")},
    )
    assert set(plain["tools"]) == TOOLSETS["core"]
    ways = [
        {"transport": name, "url": service.base + path, "steps": steps(service, name)}
        for name, path in (("http", "/mcp"), ("sse", "/sse"))
    ]
    told = await played(await clients_command(client), {"key": service.key, "ways": ways})
    assert [seen(one) for one in told] == [seen(plain)] * 2


@WITHOUT_NODE
@pytest.mark.parametrize("way", ["modern", "legacy", "sse"])
async def test_the_inspector_finds_nothing_in_the_tool_list(service: Service, way: str) -> None:  # noqa: F811
    await anyio.to_thread.run_sync(npm.install)
    where = (
        ["--server-url", service.base + "/sse", "--transport", "sse"]
        if way == "sse"
        else ["--server-url", service.base + "/mcp"]
    )
    era = ["--protocol-era", way] if way != "sse" else []
    command = npm.node(
        INSPECTOR, "--cli", *where, *era, "--header", f"X-Service-User-Key: {service.key}", "--method", "tools/list", "--strict",
        "--format", "json", "-q",
    )  # fmt: skip
    with anyio.fail_after(STUCK_S):
        done = await anyio.run_process(command, check=False, cwd=npm.FOLDER)
    assert done.returncode == 0, done.stdout.decode()[-2_000:] + done.stderr.decode()[-2_000:]
    assert b"mandate_execute_call" in done.stdout


@WITHOUT_NODE
async def test_the_inspector_verifies_the_skill(service: Service) -> None:  # noqa: F811
    await anyio.to_thread.run_sync(npm.install)
    command = npm.node(
        INSPECTOR, "--cli", "--server-url", service.base + "/mcp", "--protocol-era", "modern", "--method", "skills/list", "--verify",
        "--require-digests", "-q",
    )  # fmt: skip
    with anyio.fail_after(STUCK_S):
        done = await anyio.run_process(command, check=False, cwd=npm.FOLDER)
    assert done.returncode == 0, done.stdout.decode()[-2_000:] + done.stderr.decode()[-2_000:]
