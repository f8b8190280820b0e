"""Settings: environment over file over defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.settings import Settings
from server.wiring import chain_facts


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_environment_stands_above_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wallet.toml").write_text('spread_bps = 50\ndatabase_url = "sqlite:///a"\n')
    monkeypatch.setenv("WALLET_SPREAD_BPS", "70")
    told = Settings()
    assert (told.spread_bps, told.database_url) == (70, "sqlite:///a")


def test_a_chain_is_set_by_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLET_CHAINS__84532__RPC_URL", "http://127.0.0.1:1")
    facts = chain_facts(Settings())[0]
    assert (facts.chain_id, facts.confirmations) == (84532, 24)
    assert facts.usdc == "0x036CbD53842c5426634e7929541eC2318f3dCF7e"


@pytest.mark.parametrize(
    ("text", "on"),
    [("1", True), ("TRUE", True), ("yes", True), ("on", True), ("0", False), ("enabled", False)],
)
def test_only_four_words_switch_something_on(
    monkeypatch: pytest.MonkeyPatch, text: str, on: bool
) -> None:
    monkeypatch.setenv("WALLET_DOOR", text)
    assert Settings().switches().door is on


def test_a_secret_comes_from_the_file_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text("0xabc\n")
    monkeypatch.setenv("WALLET_KEEPER_PRIVATE_KEY_FILE", str(tmp_path / "key"))
    told = Settings()
    assert told.keeper_private_key is not None
    assert told.keeper_private_key.get_secret_value() == "0xabc"
    assert "0xabc" not in repr(told)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8402",
        "https://wallet.example",
        "http://[::1]:8402",
        "https://xn--bcher-kva.example/under/a/path",
    ],
)
def test_a_base_url_is_one_that_links_and_sign_in_texts_can_be_made_from(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("WALLET_BASE_URL", url + "/")
    assert Settings().base_url == url


@pytest.mark.parametrize(
    "url", ["wallet.example", "ftp://wallet.example", "http://", "https://bücher.example", "https://a.example\nNonce: x", "https://me@a.example",
            "https://a.example?x", "https://a.example/#x", "https://a .example"]
)  # fmt: skip
def test_another_base_url_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("WALLET_BASE_URL", url)
    with pytest.raises(ValueError, match="base_url"):
        Settings()
