"""Settings: environment over file over defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.settings import Settings


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
    facts = Settings().chain_facts()[0]
    assert (facts.chain_id, facts.confirmations) == (84532, 24)
    assert facts.usdc == "0x036CbD53842c5426634e7929541eC2318f3dCF7e"


def test_a_chain_may_have_several_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLET_CHAINS__84532__RPC_URL", "http://127.0.0.1:1")
    monkeypatch.setenv(
        "WALLET_CHAINS__84532__RPC_URLS", "http://127.0.0.1:2, http://127.0.0.1:1,http://[::1]:3"
    )
    assert Settings().chain_facts()[0].nodes == (
        "http://127.0.0.1:1",
        "http://127.0.0.1:2",
        "http://[::1]:3",
    )


def test_a_node_that_is_no_address_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLET_CHAINS__84532__RPC_URLS", "127.0.0.1:1")
    with pytest.raises(ValueError, match="rpc_urls"):
        Settings()


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
    key = "0x" + "ab" * 32
    (tmp_path / "key").write_text(key + "\n")
    monkeypatch.setenv("WALLET_KEEPER_PRIVATE_KEY_FILE", str(tmp_path / "key"))
    told = Settings()
    assert told.keeper_private_key is not None
    assert told.keeper_private_key.get_secret_value() == key
    assert key not in repr(told)


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


def test_abuse_31_a_builder_fee_above_the_venues_cap_stops_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WALLET_BUILDER_FEE_TENTHS_BPS", "100")
    assert Settings().trading().builder_fee_tenths_bps == 100
    monkeypatch.setenv("WALLET_BUILDER_FEE_TENTHS_BPS", "101")
    with pytest.raises(ValueError, match="100"):
        Settings()


@pytest.mark.parametrize(
    "text",
    ["*", "all", "0x12", "0x" + "g" * 40, "u_abc", f"0x{'1' * 40},", f",0x{'1' * 40}", "u_abcdefgh23,,", "0x" + "1" * 64, "everyone"],
)  # fmt: skip
def test_an_allowlist_with_a_wildcard_or_a_bad_item_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("WALLET_TRADE_ALLOWLIST", text)
    with pytest.raises(ValueError, match="allowlist"):
        Settings()


def test_an_allowlist_is_trimmed_and_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLET_TRADE_ALLOWLIST", f" 0x{'AB' * 20} , u_abcdefgh23,0x{'ab' * 20}")
    assert Settings().trading().allowlist == ("0x" + "ab" * 20, "u_abcdefgh23")
    monkeypatch.setenv("WALLET_TRADE_ALLOWLIST", "  ")
    assert Settings().trading().allowlist == ()


@pytest.mark.parametrize("name", ["WALLET_VENUE_MAINNET_URL", "WALLET_VENUE_TESTNET_URL"])
def test_the_venue_is_asked_over_plain_http_only_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:8551")
    Settings()
    monkeypatch.setenv(name, "http://venue.example")
    with pytest.raises(ValueError, match="https"):
        Settings()


@pytest.mark.parametrize("address", ["0x12", "me", "0x8C967E73E6B15087C42A10D344CFF4C96D877f1D"])
def test_a_builder_that_is_no_address_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("WALLET_BUILDER_ADDRESS", address)
    with pytest.raises(ValueError, match="address"):
        Settings()


def test_the_live_switches_are_off_until_somebody_turns_them_on() -> None:
    now = Settings().switches()
    assert (now.live_terminal, now.live_door, now.venue_mainnet) == (False, False, False)


def test_a_socket_whose_path_no_system_takes_stops_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WALLET_SIGNER_SOCKET", "/" + "a" * 102)
    assert Settings().signer_socket == Path("/" + "a" * 102)
    monkeypatch.setenv("WALLET_SIGNER_SOCKET", "/" + "a" * 103)
    with pytest.raises(ValueError, match="the path of a socket has at most 103 bytes"):
        Settings()
