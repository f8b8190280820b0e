"""The operator's part of browsers and e-mail: a key that a command makes, a mail server that the doctor greets, and no secret in what is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Sink
from click.testing import CliRunner, Result
from pydantic import ValidationError

from server.cli.main import main
from server.settings import Settings
from server.wiring import mail_client, web_push
from tests.ports import free_port
from tools.model.web_push import new_private_key

SECRET = "nobody-may-see-this"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sqlite_url: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WALLET_DATABASE_URL", sqlite_url)
    for name in ("MAINNET", "TESTNET"):
        monkeypatch.setenv(f"WALLET_VENUE_{name}_URL", "http://127.0.0.1:1")


def wallet(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments])


def finding(subject: str) -> dict[str, str]:
    found = json.loads(wallet("doctor", "--json").stdout)["findings"]
    return next(f for f in found if f["what"] == subject)


def test_a_key_that_the_command_makes_is_one_and_its_contact_is_the_best_that_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = wallet("push-key").stdout.strip()
    monkeypatch.setenv("WALLET_VAPID_PRIVATE_KEY", key)
    assert finding("browsers")["status"] == "warning"  # some push services want a contact
    contacts = []
    for name, value in (
        ("MAIL_FROM", "wallet@example.com"),
        ("BASE_URL", "https://wallet.example"),
        ("PUSH_CONTACT", "mailto:operator@example.com"),
    ):
        monkeypatch.setenv(f"WALLET_{name}", value)
        push = web_push(Settings())
        assert push is not None
        contacts.append(push.contact)
    assert contacts == [
        "mailto:wallet@example.com", "https://wallet.example", "mailto:operator@example.com",
    ]  # fmt: skip
    assert finding("browsers")["status"] == "ok"
    told = wallet("doctor").stdout + wallet("doctor", "--json").stdout
    assert key not in told


def test_keys_and_servers_are_read_from_files_that_nobody_else_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {
        "VAPID_PRIVATE_KEY": new_private_key(),
        "SMTP_URL": f"smtps://u:{SECRET}@mail.example",
    }
    for name, value in values.items():
        path = tmp_path / name.lower()
        path.write_text(value + "\n")
        path.chmod(0o600)
        monkeypatch.setenv(f"WALLET_{name}_FILE", str(path))
    settings = Settings()
    assert web_push(settings) is not None
    assert SECRET not in repr(settings)
    assert finding("secret files")["status"] == "ok"
    path.chmod(0o644)
    assert finding("secret files")["status"] == "warning"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VAPID_PRIVATE_KEY", SECRET), ("VAPID_PRIVATE_KEY", "A" * 43), ("SMTP_URL", f"http://u:{SECRET}@mail.example"),
        ("SMTP_URL", f"smtp://u:{SECRET}@mail.example"), ("MAIL_FROM", "a@example.com\nBcc: v@example.com"), ("PUSH_CONTACT", "javascript:x"),
    ],
)  # fmt: skip
def test_what_cannot_be_stops_the_start_without_its_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"WALLET_{name}", value)
    with pytest.raises(ValidationError) as error:
        Settings()
    assert SECRET not in str(error.value)
    said = wallet("doctor").output
    assert SECRET not in said
    assert name.lower() in said.lower()


def test_the_doctor_greets_the_mail_server_and_says_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert finding("e-mail")["status"] == "warning"
    port = free_port()
    monkeypatch.setenv("WALLET_SMTP_URL", f"smtp://127.0.0.1:{port}")
    assert "WALLET_MAIL_FROM" in finding("e-mail")["effect"]
    monkeypatch.setenv("WALLET_MAIL_FROM", "wallet@example.com")
    monkeypatch.setenv("WALLET_WEBHOOK_KEY", "k" * 32)
    assert mail_client(Settings(), "http://127.0.0.1") is not None
    away = finding("e-mail")
    assert (away["status"], away["state"]) == ("fault", "no mail server")
    server = Controller(Sink(), hostname="127.0.0.1", port=port)
    server.start()
    try:
        assert finding("e-mail")["status"] == "ok"
    finally:
        server.stop()
