"""Settings: environment over file over defaults."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from domain.mandates.markets import from_config
from server.cli.host_checks import examine_names
from server.cli.main import main
from server.settings import Settings, unknown_names
from tests.house.settings_page import EXAMPLES


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


BASES = (
    "wallet.example", "ftp://wallet.example", "http://", "https://bücher.example", "https://a.example\nNonce: x", "https://me@a.example",
    "https://a.example?x", "https://a.example/#x", "https://a .example",
)  # fmt: skip
LISTS = (
    "*", "all", "0x12", "0x" + "g" * 40, "u_abc", f"0x{'1' * 40},", f",0x{'1' * 40}", "u_abcdefgh23,,", "0x" + "1" * 64, "everyone",
)  # fmt: skip
MARKED = "it begins with a byte order mark: save it as UTF-8 without one"
NO_ADDRESS = ("0x12", "me", "0x8C967E73E6B15087C42A10D344CFF4C96D877f1D")
REFUSED = [
    ("CHAINS__84532__RPC_URLS", "127.0.0.1:1", "rpc_urls"),
    *(("BASE_URL", url, "base_url") for url in BASES),
    ("BUILDER_FEE_TENTHS_BPS", "101", "100"),  # abuse 31: above the venue's cap
    *(("TRADE_ALLOWLIST", text, "allowlist") for text in LISTS),
    ("VENUE_MAINNET_URL", "http://venue.example", "https"),
    ("VENUE_TESTNET_URL", "http://venue.example", "https"),
    *(("BUILDER_ADDRESS", address, "address") for address in NO_ADDRESS),
    ("SIGNER_SOCKET", "/" + "a" * 103, "the path of a socket has at most 103 bytes"),
]


@pytest.mark.parametrize(("name", "value", "why"), REFUSED)
def test_abuse_31_a_setting_that_cannot_be_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, why: str
) -> None:
    monkeypatch.setenv(f"WALLET_{name}", value)
    with pytest.raises(ValueError, match=why):
        Settings()


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [
        ("BASE_URL", "http://127.0.0.1:8402/", "http://127.0.0.1:8402"),
        ("BASE_URL", "https://wallet.example/", "https://wallet.example"),
        ("BASE_URL", "http://[::1]:8402/", "http://[::1]:8402"),
        ("BASE_URL", "https://xn--bcher-kva.example/a/b/", "https://xn--bcher-kva.example/a/b"),
        ("BUILDER_FEE_TENTHS_BPS", "100", 100),
        ("VENUE_MAINNET_URL", "http://127.0.0.1:8551", "http://127.0.0.1:8551"),
        ("VENUE_TESTNET_URL", "http://127.0.0.1:8551", "http://127.0.0.1:8551"),
        ("SIGNER_SOCKET", "/" + "a" * 102, Path("/" + "a" * 102)),
    ],
)
def test_a_setting_at_its_bound_is_taken(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, taken: object
) -> None:
    monkeypatch.setenv(f"WALLET_{name}", value)
    assert getattr(Settings(), name.lower()) == taken


def test_an_allowlist_is_trimmed_and_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLET_TRADE_ALLOWLIST", f" 0x{'AB' * 20} , u_abcdefgh23,0x{'ab' * 20}")
    assert Settings().trading().allowlist == ("0x" + "ab" * 20, "u_abcdefgh23")
    monkeypatch.setenv("WALLET_TRADE_ALLOWLIST", "  ")
    assert Settings().trading().allowlist == ()


def test_the_live_switches_are_off_until_somebody_turns_them_on() -> None:
    now = Settings().switches()
    assert (now.live_terminal, now.live_door, now.venue_mainnet) == (False, False, False)


def test_state_keys_come_from_a_setting_or_its_file_and_one_process_makes_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Settings().state_ring()
    assert own.keys != Settings().state_ring().keys
    (tmp_path / "keys").write_text(f"{'n' * 32}\n{'o' * 32}\n")
    monkeypatch.setenv("WALLET_STATE_KEYS_FILE", str(tmp_path / "keys"))
    told = Settings()
    assert told.state_ring().keys == (b"n" * 32, b"o" * 32)
    assert "nnn" not in repr(told)


def _schema() -> Any:
    return _named("wallet")


def _named(name: str) -> Any:
    return json.loads((EXAMPLES.parent / "schemas" / f"{name}.schema.json").read_text())


def test_the_example_of_the_file_is_read_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = (EXAMPLES / "wallet.toml").read_text()
    jsonschema.validate(tomllib.loads(example), _schema())
    for name in ("keeper.key", "webhook.key", "state.keys"):
        (tmp_path / name).write_text("ab" * 32)
    shutil.copy(Path(__file__).parents[2] / "server" / "data" / "markets.toml", tmp_path)
    (tmp_path / "wallet.toml").write_text(example.replace("/etc/wallet", str(tmp_path)))
    told = Settings()
    assert told.model_fields_set >= set(tomllib.loads(example))
    assert unknown_names(told) == []
    assert len(told.chain_facts()[0].nodes) == 3
    assert told.config().markets


@pytest.mark.parametrize(
    "wrong",
    [
        {"spred_bps": 1},
        {"database_pool": 0},
        {"log_format": "xml"},
        {"chains": {"8453": {"rcp": "x"}}},
    ],
)
def test_the_schema_refuses_what_the_settings_refuse_or_ignore(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, _schema())


SHIPPED = Path(__file__).parents[2] / "server" / "data" / "markets.toml"


@pytest.mark.parametrize(
    ("path", "count"), [(EXAMPLES / "markets.toml", 5), (SHIPPED, 4)], ids=["example", "shipped"]
)
def test_a_markets_file_is_read_as_it_stands(
    path: Path, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    jsonschema.validate(tomllib.loads(path.read_text()), _named("markets"))
    monkeypatch.setenv("WALLET_MARKETS_FILE", str(path))
    assert len(from_config(Settings().config().markets)) == count


LENDING = {"id": "a", "name": "A", "kind": "erc4626", "status": "live", "chain_id": 8453, "address": "0x" + "11" * 20}  # fmt: skip
NO_MARKETS: list[tuple[dict[str, Any], str]] = [
    ({"markets": [LENDING | {"adress": "0x"}]}, "no market has adress"),
    ({"markets": [{k: v for k, v in LENDING.items() if k != "address"}]}, "it needs address"),
    ({"markets": [{k: v for k, v in LENDING.items() if k != "name"}]}, "it needs name"),
    ({"markets": [LENDING | {"kind": "aave"}]}, "it needs share_token"),
    ({"markets": [LENDING | {"kind": "venue"}]}, "it needs venue"),
    ({"markets": [LENDING | {"chain_id": "8453"}]}, "chain_id does not have its form"),
    ({"markets": [LENDING | {"hosts": [1]}]}, "hosts does not have its form"),
    ({"markets": [LENDING | {"status": "on"}]}, "unknown kind or status"),
    ({"market": [LENDING]}, "the file has market beside"),
]


@pytest.mark.parametrize(("content", "why"), NO_MARKETS, ids=[why for _, why in NO_MARKETS])
def test_a_markets_file_that_cannot_be_stops_the_start_and_the_schema_refuses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: dict[str, Any], why: str
) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, _named("markets"))
    (kind, rows), *_ = content.items()
    lines = [f"[[{kind}]]\n" + "\n".join(f"{k} = {json.dumps(v)}" for k, v in row.items()) for row in rows]  # fmt: skip
    (tmp_path / "m.toml").write_text("\n".join(lines))
    monkeypatch.setenv("WALLET_MARKETS_FILE", str(tmp_path / "m.toml"))
    done = CliRunner().invoke(main, ["openapi"])
    assert done.exit_code == 1
    assert done.output.startswith("Error: settings: WALLET_MARKETS_FILE: ")
    assert why in done.output
    assert done.output.count("\n") == 1


@pytest.mark.parametrize("text", ["markets = 3", 'markets = ["a"]', "[markets]", "x = = 1"])
def test_a_markets_file_of_another_form_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "m.toml").write_text(text)
    monkeypatch.setenv("WALLET_MARKETS_FILE", str(tmp_path / "m.toml"))
    done = CliRunner().invoke(main, ["openapi"])
    assert (done.exit_code, done.output.count("\n")) == (1, 1), done.output
    assert done.output.startswith("Error: settings: WALLET_MARKETS_FILE: ")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("BASE_URL", "example", "WALLET_BASE_URL: it starts with http:// or https://"),
        ("STATE_KEYS", "short", "WALLET_STATE_KEYS: a key of the ring has 32 bytes or more"),
        ("SMTP_URL", "here", "WALLET_SMTP_URL is smtps://, starttls:// or smtp:// and a host"),
        ("METRICS_PORT", "70000", "WALLET_METRICS_PORT: Input should be less than or equal to 65535"),
        ("MARKETS_FILE", "absent.toml", "absent.toml: No such file or directory"),
        ("LOG_LEVEL", "LOUD", "WALLET_LOG_LEVEL: it is one of DEBUG, INFO, WARNING, ERROR, CRITICAL"),
        ("CHAINS__84532__RPC_URL", "node", "WALLET_CHAINS__84532__RPC_URL: it starts with http:// or https://"),
        ("CHAINS__84532__PAYMASTER_URL", "ftp://p", "WALLET_CHAINS__84532__PAYMASTER_URL: it starts with http:// or https://"),
        ("CHAINS__84532__FACTORY", "0x12", "WALLET_CHAINS__84532__FACTORY: an address is 0x and 40 hex digits, which fit its EIP-55 checksum"),
        ("CHAINS__8453__USDC", NO_ADDRESS[2], "WALLET_CHAINS__8453__USDC: an address is 0x and 40 hex digits, which fit its EIP-55 checksum"),
        ("CHAINS__base__RPC_URL", "http://a", "WALLET_CHAINS__BASE: Input should be a valid integer, unable to parse string as an integer"),
        ("WEBHOOK_KEY_FILE", "short", "WALLET_WEBHOOK_KEY, or what its file holds: Value should have at least 32 items after validation, not 5"),
        ("STATE_KEYS_FILE", "binary", "binary: it holds no text"),
        ("KEEPER_PRIVATE_KEY_FILE", "binary", "binary: it holds no text"),
        ("SMTP_URL_FILE", "binary", "binary: it holds no text"),
        ("MARKETS_FILE", "binary", "binary: it holds no text"),
        ("MARKETS_FILE", "marked", f"marked: {MARKED}"),
        ("STATE_KEYS_FILE", "marked", f"marked: {MARKED}"),
        ("CHAINS", '{"84532": {"rpc_url":', "WALLET_CHAINS is no JSON; set WALLET_CHAINS__<id>__RPC_URL and so on"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_is_named_once_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary").write_bytes(bytes(range(128, 192)))
    (tmp_path / "short").write_text("short")
    (tmp_path / "marked").write_text("k" * 40, "utf-8-sig")
    monkeypatch.setenv(f"WALLET_{name}", value)
    done = CliRunner().invoke(main, ["openapi"])
    assert (done.exit_code, done.output) == (1, f"Error: settings: {said}\n")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("folder", "Is a directory"),
        ("nowhere", "No such file or directory"),
        ("binary", "it holds no text"),
        ("marked", MARKED),
    ],
)
def test_a_settings_file_that_is_none_is_not_taken_for_one_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "wallet.toml"
    match kind:
        case "folder":
            path.mkdir()
        case "nowhere":
            path.symlink_to("away")
        case "binary":
            path.write_bytes(bytes(range(128, 192)))
        case "marked":
            path.write_text('log_level = "INFO"', "utf-8-sig")
    done = CliRunner().invoke(main, ["openapi"])
    assert (done.exit_code, done.output) == (1, f"Error: settings: wallet.toml: {said}\n")


def test_a_word_for_neither_on_nor_off_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLET_STOP_LINE_DRY_RUN", "ture")
    monkeypatch.setenv("WALLET_DOOR", "No")
    found = examine_names(Settings())
    assert (found.status, found.state, found.effect) == (
        "warning",
        "WALLET_STOP_LINE_DRY_RUN",
        "neither on nor off: off",
    )


def test_a_settings_file_that_is_no_toml_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wallet.toml").write_text("x = = 1")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["openapi"])
    assert done.output == "Error: settings: wallet.toml: Invalid value (at line 1, column 5)\n"


def test_a_market_that_is_only_planned_needs_no_address() -> None:
    planned = {"id": "a", "name": "A", "kind": "erc4626", "status": "planned"}
    jsonschema.validate({"markets": [planned]}, _named("markets"))
    assert from_config([planned])[0].address is None
