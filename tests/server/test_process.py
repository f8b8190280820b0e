"""Whole processes: the demo, the server under SIGTERM, the command line."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from aiohttp import ClientSession
from click.testing import CliRunner
from mcp import Client
from mcp.client.sse import sse_client

from server.cli.main import main
from storage.schema import migrate
from tests.fetched import python_of
from tests.ports import free_port
from tests.waiting import PATIENTLY, STUCK_S, Heard, terminated

WALLET = [sys.executable, "-m", "server"]
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Of a process whose database lies in a folder, where the fixture `sqlite_url` puts one."""
    return PATIENTLY | {
        "PATH": os.defpath, "WALLET_DATABASE_URL": f"sqlite:///{folder / 'wallet.sqlite'}", "WALLET_DOOR": "on",
        "WALLET_LOG_LEVEL": "WARNING", "WALLET_RATE_CHALLENGES": "0", "WALLET_RATE_ANONYMOUS": "0", "PYTHONPATH": str(Path(__file__).parents[2]),
    } | more  # fmt: skip


def wallet(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    how: Any = {"env": environment(folder), "cwd": folder, "timeout": STUCK_S, "check": False}
    return subprocess.run([*WALLET, *arguments], capture_output=True, text=True, **how)


@pytest.fixture
def served(sqlite_url: str, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    port = free_port()
    process = subprocess.Popen(
        [*WALLET, "serve", "--port", str(port)], env=environment(tmp_path, WALLET_BASE_URL=f"http://127.0.0.1:{port}"),
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    heard = Heard(process)
    try:
        heard.until("serving on")
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
        heard.whole()


@pytest.mark.slow
@pytest.mark.anyio
async def test_sigterm_drains_live_clients_and_exits_0(
    served: tuple[subprocess.Popen[str], str],
) -> None:
    process, base = served
    answered: list[int] = []
    async with ClientSession() as http, anyio.create_task_group() as group:

        async def sse() -> None:
            try:
                async with Client(
                    sse_client(base + "/sse", timeout=STUCK_S), mode="legacy"
                ) as client:
                    await client.list_tools()
                    connected.set()
                    await anyio.sleep_forever()
            except Exception:  # noqa: S110 - the server closes the stream; that is what is tested
                pass

        async def posts() -> None:
            body = {"address": "0x" + "11" * 20, "chain_id": 84532}
            for _ in range(200):
                try:
                    async with http.post(base + "/wallet/auth/challenge", json=body) as r:
                        answered.append(r.status)
                except OSError:
                    return  # no new connection is taken

        connected = anyio.Event()
        group.start_soon(sse)
        with anyio.fail_after(STUCK_S):
            await connected.wait()
        group.start_soon(posts)
        with anyio.fail_after(STUCK_S):
            while not answered:
                await anyio.sleep(0.01)
        code, took = await terminated(process)
        group.cancel_scope.cancel()
    assert code == 0
    assert took < 2
    assert answered
    assert set(answered) == {200}


@pytest.mark.slow
@pytest.mark.anyio
async def test_long_calldata_fits_a_body_and_no_request_line(
    served: tuple[subprocess.Popen[str], str],
) -> None:
    _, base = served
    asked = {"target": "0x" + "11" * 20, "data": "0x" + "ab" * 30_000}
    async with ClientSession() as http:
        for name in ("execute-call", "unwind-call"):
            url = base + "/wallet/mandates/m_aaaaaaaaaa/" + name
            async with http.get(url, params=asked) as r:
                assert (r.status, (await r.json())["error"]) == (400, "invalid_request")
            async with http.post(url, json=asked) as r:
                assert (r.status, (await r.json())["error"]) == (401, "unauthenticated")


def test_the_command_line_prints_the_openapi_document() -> None:
    done = CliRunner().invoke(main, ["openapi"])
    assert json.loads(done.stdout)["openapi"] == "3.1.0"


@pytest.mark.slow
def test_doctor_finds_a_database_that_is_not_migrated(tmp_path: Path) -> None:
    before = wallet(tmp_path, "doctor")
    assert (before.returncode, "wallet db upgrade" in before.stdout) == (1, True)
    migrate.upgrade(environment(tmp_path)["WALLET_DATABASE_URL"])
    after = wallet(tmp_path, "doctor")
    assert after.returncode == 0, after.stdout


def test_switches_and_keys_are_managed_from_the_command_line(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALLET_DATABASE_URL", sqlite_url)

    def told(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == code, done.output
        return done.stdout

    told("switch", "set", "door", "off")
    assert json.loads(told("switch", "list"))["door"] == {"value": "off", "from": "database"}
    made = json.loads(told("keys", "create", "--role", "keeper"))
    assert made["key"].startswith("kk_")
    keys = told("keys", "list")
    assert made["key_id"] in keys
    assert made["key"] not in keys
    told("keys", "revoke", made["key_id"])
    told("keys", "revoke", made["key_id"], code=1)
    assert json.loads(told("db", "verify"))["ok"] is True


@pytest.mark.slow
def test_what_cannot_be_backed_up_is_said_without_a_traceback(
    sqlite_url: str, tmp_path: Path
) -> None:
    copy = str(tmp_path / "copy.sqlite")
    assert wallet(tmp_path, "db", "backup", copy).returncode == 0
    again = wallet(tmp_path, "db", "backup", copy)
    assert again.returncode == 1
    assert "there already" in again.stderr
    nowhere = wallet(tmp_path, "db", "backup", str(Path(copy) / "under" / "a-file.sqlite"))
    assert nowhere.returncode == 1
    assert "Traceback" not in again.stderr + nowhere.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", [["serve"], ["demo", "--serve"]], ids=["serve", "demo"])
def test_a_port_that_somebody_has_is_said_before_anything_is_begun(
    tmp_path: Path, command: list[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        done = wallet(tmp_path, *command, "--port", str(port))
    assert done.stderr == f"Error: port {port} of 127.0.0.1: Address already in use\n"
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize(
    "command",
    [["serve", "--port"], ["keeper", "--metrics-port"], ["devnet", "--port"]],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("port", ["-1", "65536", "99999"])
def test_a_port_that_there_is_not_is_refused_by_each_command(command: list[str], port: str) -> None:
    done = CliRunner().invoke(main, [*command, port])
    assert (done.exit_code, "is not in the range 0<=x<=65535" in done.output) == (2, True)


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder in which a socket's path is short enough for every system (`unix(7)`)."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.play  # the demo's fourteen chapters, and a service that is paid
@pytest.mark.slow
@pytest.mark.anyio
async def test_the_demo_plays_every_chapter_is_worked_against_and_leaves_nothing_behind(
    tmp_path: Path, short_path: Path
) -> None:
    errors = tmp_path / "errors"
    seller = (
        f"{await anyio.to_thread.run_sync(python_of, 'x402')} {EXAMPLES / 'paid_api' / 'seller.py'}"
    )
    with errors.open("wb") as stderr:
        process = await anyio.open_process(
            [*WALLET, "demo", "--serve", "--seller", seller],
            env=environment(tmp_path, TMPDIR=str(short_path)), cwd=tmp_path, stderr=stderr,
        )  # fmt: skip
    assert process.stdout is not None
    told = ""
    while "/wallet/agents/me" not in told:
        try:
            with anyio.fail_after(STUCK_S):  # for the next step of the story
                told += (await process.stdout.receive()).decode()
        except anyio.EndOfStream:
            pytest.fail(f"{told}\n{errors.read_text()}")
    assert "Every step held" in told
    assert all(f"== {n}." in told for n in range(1, 15))
    base = told[told.rindex("http://127.0.0.1") :].partition("/wallet/agents/me")[0]
    key = told.split("X-Service-User-Key: ")[-1].partition('"')[0]
    async with (
        ClientSession() as http,
        http.get(base + "/wallet/agents/me", headers={"X-Service-User-Key": key}) as r,
    ):
        assert (r.status, (await r.json())["name"]) == (200, "Scout")
    env = {
        "PATH": os.defpath, "WALLET_BASE": base, "WALLET_KEY": key, "AGENT_PRIVATE_KEY": "0x" + "01" * 32,
        "RPC_URL": told.split("at http", 1)[1].split()[0].join(["http", ""]),
    }  # fmt: skip
    agent = [sys.executable, str(EXAMPLES / "agent.py"), "0x" + "11" * 20, "1"]
    done = await anyio.run_process(agent, env=env, check=False)
    # It finds the mandate that is left at work, whose terms do not name this market.
    assert (done.returncode, b"target_not_allowed" in done.stderr) == (1, True), done.stderr
    process.terminate()
    with anyio.fail_after(STUCK_S):
        assert await process.wait() == 0
    await process.aclose()
    assert list(short_path.iterdir()) == []


@pytest.mark.slow
def test_mcp_on_stdio_lists_its_tools_without_loading_what_only_a_call_needs(
    sqlite_url: str,
    tmp_path: Path,
) -> None:
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    with (tmp_path / "imports").open("w+") as imports:
        # A client hangs up when it was answered; an answer under way is not waited for.
        with subprocess.Popen(
            [sys.executable, "-X", "importtime", "-m", "server", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=imports,
            env=environment(tmp_path),
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for message in (hello, ready, asked):
                process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            told = {}
            while 2 not in told:
                answer = json.loads(process.stdout.readline())
                told[answer["id"]] = answer["result"]
        imports.seek(0)
        loaded = {line.rpartition("|")[2].strip() for line in imports}
    assert "mandate_get" in {tool["name"] for tool in told[2]["tools"]}
    assert "mcp.server.stdio" in loaded
    late = {"web3", "eth_account", "eth_abi", "aiohttp", "alembic", "sqlalchemy", "asyncpg"}
    assert not loaded & (late | {"tools.catalogue", "http_shim.application"})
