"""What a process logs: lines that say which request and mandate they are about, and no secret."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from aiohttp import ClientSession
from pydantic import SecretStr

from http_shim import application
from server.runtime.logs import RedactingFormatter, secrets_of
from server.settings import ChainSettings, Settings
from tests.ports import free_port
from tests.server.test_process import WALLET, environment
from tests.surfaces.small import ALICE, small
from tests.waiting import STUCK_S, Heard

AGENT, SESSION, HOUSE = "ak_" + "a" * 43, "ws_" + "b" * 43, "dk_" + "c" * 43
KEEPER, HOOKS, NODE = "0x" + "5e" * 32, "w" * 40, "n0dek3yn0dek3y"
MANDATE = "m_aaaaaaaaaa"
FAILING = """
import logging, sys
from server.runtime.logs import prepare_logging
from server.settings import Settings
from storage.errors import Unavailable
prepare_logging(Settings(log_format=sys.argv[1]))
for error in (Unavailable("its disk is full"), RuntimeError("of ours")):
    try:
        raise error
    except Exception:
        logging.getLogger("wallet").exception("%s failed", "rolling the Hall up")
"""
SECRETS = (AGENT, SESSION, HOUSE, KEEPER, KEEPER[2:], HOOKS, NODE, "hunter2hunter2")


async def called(base: str) -> None:
    """Calls that carry every secret to where it belongs, and to where it does not."""
    async with ClientSession() as http:
        for headers in (
            {"X-Service-User-Key": AGENT},
            {"Authorization": f"Bearer {SESSION}"},
            {"Authorization": f"Bearer {HOUSE}"},
        ):
            async with http.get(
                f"{base}/wallet/mandates/{MANDATE}", headers=headers | {"X-Request-Id": "req-1"}
            ) as r:
                assert r.status == 401
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "mandate_get"},
        }
        for url, json_body in (
            (f"{base}/wallet/mandates/{MANDATE}/draft?password=hunter2hunter2", None),
            (f"{base}/wallet/auth/session", {"message": SESSION, "signature": KEEPER}),
            (f"{base}/{AGENT}", {"private_key": KEEPER}),
            (f"{base}/mcp", body | {"params": {"name": AGENT, "arguments": {"seed": KEEPER}}}),
        ):
            async with http.post(url, json=json_body, headers={"X-Service-User-Key": AGENT}) as r:
                assert r.status < 500, await r.text()
        async with http.get(f"{base}/readyz") as r:
            assert r.status == 200


@pytest.mark.slow
@pytest.mark.anyio
async def test_json_lines_name_request_and_mandate_and_hold_no_secret_even_at_debug(
    sqlite_url: str, tmp_path: Path
) -> None:
    port = free_port()
    more = {
        "WALLET_LOG_LEVEL": "DEBUG", "WALLET_LOG_FORMAT": "json", "WALLET_KEEPER_PRIVATE_KEY": KEEPER, "WALLET_WEBHOOK_KEY": HOOKS,
        "WALLET_SERVICE_USER_KEY": AGENT, "WALLET_CHAINS__8453__RPC_URL": f"http://127.0.0.1:9/v2/{NODE}",
        "WALLET_CHAINS__8453__FACTORY": "0x" + "11" * 20,
    }  # fmt: skip
    out = tmp_path / "out"
    with out.open("wb") as stdout:
        process = subprocess.Popen(
            [*WALLET, "serve", "--port", str(port)], env=environment(tmp_path, **more), cwd=tmp_path,
            stdout=stdout, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    heard = Heard(process)
    try:
        await anyio.to_thread.run_sync(heard.until, "serving on")
        await called(f"http://127.0.0.1:{port}")
        await anyio.to_thread.run_sync(heard.until, '"reading chain 8453"')
        process.terminate()
        process.wait(STUCK_S)
    finally:
        process.kill()
        process.wait()
    text = heard.whole()
    assert out.read_text() == ""
    assert [s for s in SECRETS if s in text] == []
    said = [line for line in text.splitlines() if "serving on" not in line]
    lines: list[dict[str, Any]] = [json.loads(line) for line in said]
    assert all(line.keys() >= {"time", "level", "logger", "event"} for line in lines)
    (*told,) = (line for line in lines if line.get("request") == "req-1")
    assert told
    assert {line["mandate"] for line in told} == {MANDATE}
    # What is refused to somebody unknown is counted, and has no line of its own.
    assert [line for line in told if "status" in line] == []
    assert any(line.get("work") == "reading chain 8453" for line in lines)


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_trouble_of_the_database_is_a_line_and_any_other_has_its_trace(
    form: Literal["text", "json"],
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAILING, form], capture_output=True, text=True, check=True
    )
    first, *rest = done.stderr.splitlines()
    assert "rolling the Hall up failed: the database: its disk is full" in first
    assert "rolling the Hall up failed" in rest[0]
    assert "RuntimeError: of ours" in "".join(rest)
    assert done.stderr.count("Traceback") == 1


def test_secrets_of_settings_and_credentials_are_taken_out_of_any_line() -> None:
    settings = Settings(
        keeper_private_key=SecretStr(KEEPER),
        database_url="postgresql://wallet:hunter2hunter2@db/wallet",
        chains={1: ChainSettings(rpc_url=f"https://node.example/v3/{NODE}?token=t0kent0ken")},
    )
    hiding = RedactingFormatter(logging.Formatter("%(message)s"), secrets_of(settings))
    said = " ".join(
        (
            AGENT,
            f"Bearer {SESSION}",
            f"bearer opaque-{NODE}",
            KEEPER[2:],
            f"/{NODE}/",
            "t0kent0ken",
        ),
    )
    record = logging.LogRecord("a", logging.INFO, "", 0, said + " hunter2hunter2", None, None)
    shown = hiding.format(record)
    assert [s for s in (*SECRETS, "t0kent0ken", "opaque") if s in shown] == []
    kept = "0x" + "ab" * 32
    record = logging.LogRecord("a", logging.INFO, "", 0, f"tx {kept} of {MANDATE}", None, None)
    assert hiding.format(record) == f"tx {kept} of {MANDATE}"


@pytest.mark.anyio
async def test_probes_write_one_line_a_minute(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "wallet.http")
    async with small(sqlite_url) as s, ClientSession() as http:
        for path in ("/healthz", "/readyz") * 5:
            async with http.get(s.base + path) as r:
                assert r.status == 200
    assert [r.getMessage() for r in caplog.records if r.name == "wallet.http"] == [
        "1 probes of health since this was last said, the last answered 200"
    ]


@pytest.mark.anyio
async def test_reads_that_succeed_soon_have_a_line_at_debug_alone(
    sqlite_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = []
    async with small(sqlite_url) as s, ClientSession() as http:
        for slow_s, status in ((1.0, 200), (0.0, 200), (1.0, 404)):
            caplog.clear()
            caplog.set_level(logging.DEBUG, "wallet.http")
            monkeypatch.setattr(application, "SLOW_S", slow_s)
            path = "/openapi.json" if status == 200 else "/nowhere"
            async with http.get(s.base + path, headers={"X-Service-User-Key": ALICE}) as r:
                assert r.status == status
            levels += [r.levelname for r in caplog.records if r.name == "wallet.http"]
    assert levels == ["DEBUG", "INFO", "INFO"]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://wallet@db/wallet?sslmode=require&password=hunter2%2Bhunter2",
        "postgresql://wallet:hunter2%2Bhunter2@db/wallet",
    ],
)
def test_the_password_of_a_database_is_taken_out_wherever_its_address_has_it(url: str) -> None:
    secrets = secrets_of(Settings(database_url=url))
    assert {"hunter2%2Bhunter2", "hunter2+hunter2"} <= set(secrets)
