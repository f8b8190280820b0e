"""No message holds what a setting was given, and nobody else reads what is written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from server.cli.doctor import examine
from server.cli.main import main
from server.settings import Settings
from storage.integrity.backup import backup, export
from storage.schema import migrate
from storage.store import open_store
from tests.world import START as NOW

MARK = "Mark3dSecr3t"
REFUSED = {
    "WALLET_WEBHOOK_KEY": MARK,
    "WALLET_STATE_KEYS": MARK,
    "WALLET_KEEPER_PRIVATE_KEY": MARK,
    "WALLET_CHAINS__84532__RPC_URLS": f"ws://host/v2/{MARK}",
    "WALLET_CHAINS": json.dumps({"84532": {"rpc_urlx": f"http://host/v2/{MARK}"}}),
    "WALLET_BASE_URL": f"https://u:{MARK}@host/",
    "WALLET_TRUSTED_PROXIES": f"10.0.0.1, {MARK}",
    "WALLET_TRADE_ALLOWLIST": MARK,
    "WALLET_BUILDER_ADDRESS": f"0x{MARK}",
    "WALLET_VENUE_DEXES": MARK,
    "WALLET_SPREAD_BPS": MARK,
    "WALLET_LOG_FORMAT": MARK,
    "WALLET_KEEPER_TICK_S": MARK,
    "WALLET_CHAINS__84532__CONFIRMATIONS": MARK,
    "WALLET_CHAINS__84532": MARK,
    "WALLET_CHAINS__" + "not-a-number__RPC_URL": f"http://{MARK}",
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("command", [["doctor"], ["serve"], ["db", "upgrade"]], ids=lambda c: c[0])
def test_a_setting_that_is_refused_is_named_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(name, REFUSED[name])
    told = CliRunner().invoke(main, command)
    shown = (
        told.output + (told.stderr if told.stderr_bytes is not None else "") + repr(told.exception)
    )
    assert told.exit_code != 0
    assert MARK.lower() not in shown.lower()
    assert "settings" in shown
    assert name.split("__")[0].removeprefix("WALLET_") in shown.upper()


@pytest.mark.parametrize("key", ["", "0x12", "00" * 32, "ff" * 32, "0x" + "11" * 32 + "\n2"])
def test_a_file_that_holds_no_private_key_is_named_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "key").write_text(key)
    monkeypatch.setenv("WALLET_KEEPER_PRIVATE_KEY_FILE", str(tmp_path / "key"))
    told = CliRunner().invoke(main, ["serve"])
    assert told.exit_code == 1
    assert "WALLET_KEEPER_PRIVATE_KEY, or what its file holds: a private key is" in told.output
    assert len(told.output.splitlines()) == 1
    (tmp_path / "key").write_text("0x" + "11" * 32 + "\n")
    assert Settings().keeper_private_key is not None


def test_a_file_of_settings_that_cannot_be_read_is_named_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wallet.toml").write_text(f"webhook_key = {MARK}\n")
    told = CliRunner().invoke(main, ["doctor"])
    assert told.exit_code != 0
    assert MARK not in told.output + repr(told.exception)


@pytest.mark.parametrize(
    "url",
    [
        f"https://u:{MARK}@host/mcp",
        f"https://{MARK}@host/mcp",
        f"http://127.0.0.1/mcp?key={MARK}",
        f"https://host/mcp#{MARK}",
    ],
)
def test_no_credential_is_taken_in_an_address_on_a_command_line(url: str) -> None:
    told = CliRunner().invoke(main, ["mcp", "--url", url])
    assert told.exit_code == 2
    assert MARK not in told.output
    assert "WALLET_SERVICE_USER_KEY" in told.output


def modes(folder: Path) -> dict[str, int]:
    return {p.name: p.stat().st_mode & 0o777 for p in folder.iterdir() if p.is_file()}


@pytest.mark.anyio
async def test_what_is_written_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        url = f"sqlite:///{tmp_path / 'wallet.sqlite'}"
        migrate.upgrade(url)
        store = await open_store(url)
        await store.write(lambda uow: uow.switches.set("door", "on", NOW, "test"))
        await backup(url, tmp_path / "backup.sqlite")
        await export(url, tmp_path / "export.jsonl")
        found = modes(tmp_path)
        await store.close()
    finally:
        os.umask(before)
    assert {"wallet.sqlite", "wallet.sqlite-wal", "backup.sqlite", "export.jsonl"} <= found.keys()
    assert set(found.values()) == {0o600}, found


@pytest.mark.anyio
async def test_doctor_finds_a_database_that_others_can_read(tmp_path: Path) -> None:
    path = tmp_path / "wallet.sqlite"
    migrate.upgrade(f"sqlite:///{path}")
    settings: Any = Settings(database_url=f"sqlite:///{path}")
    assert (await examine(settings))[0].effect == ""
    path.chmod(0o644)
    say, _, named = (await examine(settings))[0].effect.partition("chmod 600 ")
    first, *journal = named.split()
    assert (say, first) == ("others can read it: ", str(path))
    # SQLite keeps them while a connection is open, with the mode of the file.
    assert set(journal) <= {f"{path}-wal", f"{path}-shm"}


@pytest.mark.anyio
async def test_doctor_shows_nothing_of_a_password_in_an_address() -> None:
    url = f"postgresql://me:{MARK}@x@127.0.0.1:1/wallet?password={MARK}"
    (database, *_) = await examine(Settings(database_url=url))
    assert MARK not in str(database)
    assert "127.0.0.1:1/wallet" in database.state
