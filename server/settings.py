"""Settings: the environment (WALLET_…) over wallet.toml over defaults; read here alone."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from domain.refusals import Refused
from domain.settings import SWITCHES, Config, Switches, Trading
from domain.trading.builder_fee import MOST_TENTHS_BPS
from domain.trading.modes import allowlist
from domain.trading.venue_values import Network
from domain.wire_fields import JsonObject
from storage.errors import DatabaseTimeouts
from tools.model.rate_limiter import networks
from tools.model.sealing import KeyRing, ephemeral_ring, key_ring
from tools.model.switches import is_on
from venue.addresses import plain_http_is_local

if TYPE_CHECKING:
    from chain.networks import ChainConfig

# Scheme, host, port and path of RFC 3986, with no user, query or fragment.
_PRIVATE_KEY: Final = re.compile(r"[0-9a-fA-F]{64}")
_CURVE_ORDER: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_BASE_URL: Final = re.compile(r"https?://[A-Za-z0-9._~\[\]:-]+(/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?")

# unix(7) has room for 108 with the zero at the end, the BSDs for 104.
_SOCKET_PATH_BYTES: Final = 103


def _usdc(default: str) -> Any:
    """A cap of orders; 0 stops them."""
    return Field(default=Decimal(default), ge=0, le=10**9, decimal_places=6)


class ChainSettings(BaseModel):
    """One chain: `WALLET_CHAINS__<id>__RPC_URL`, `__RPC_URLS`, `__USDC`, `__FACTORY`, `__LENS`,
    `__CONFIRMATIONS`, `__POLL_S`, …

    Shapes: `rpc_urls` are further nodes, with commas between them.
    Units: `confirmations` blocks, `poll_s` seconds, `start_block` the block from which the factory
    can have logs, `head_age_s` seconds after which a newest block stands still, `issue_s` seconds
    without an agreement of the nodes after which reads say so. `public_rpc` is told to anybody,
    for wallets that do not know the network.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    rpc_url: str | None = None
    rpc_urls: str = ""
    usdc: str | None = None
    factory: str | None = None
    lens: str | None = None
    confirmations: int | None = Field(default=None, ge=0, le=10_000)
    poll_s: int = Field(default=2, ge=1, le=3_600)
    start_block: int = Field(default=0, ge=0)
    head_age_s: int = Field(default=120, ge=5, le=86_400)
    issue_s: int = Field(default=300, ge=0, le=86_400)
    explorer: str | None = None
    name: str | None = Field(default=None, max_length=60)
    public_rpc: str | None = None
    paymaster_url: str | None = None

    @field_validator(
        "rpc_url",
        "usdc",
        "factory",
        "lens",
        "explorer",
        "name",
        "public_rpc",
        "paymaster_url",
        mode="before",
    )
    @classmethod
    def _empty_is_unset(cls, value: Any) -> Any:
        return value or None

    @field_validator("rpc_urls")
    @classmethod
    def _are_urls(cls, value: str) -> str:
        urls = [url.strip() for url in value.split(",") if url.strip()]
        if not all(url.startswith(("http://", "https://")) for url in urls):
            raise ValueError("addresses with commas between them; each http:// or https://")
        return ",".join(urls)


def _is_private_key(text: str) -> bool:
    """Whether a text is a private key of secp256k1, in hex."""
    digits = text.removeprefix("0x")
    return _PRIVATE_KEY.fullmatch(digits) is not None and 0 < int(digits, 16) < _CURVE_ORDER


class Settings(BaseSettings):
    """Settings of an operator. `wallet doctor` prints them, secrets masked."""

    model_config = SettingsConfigDict(
        env_prefix="WALLET_",
        env_nested_delimiter="__",
        toml_file="wallet.toml",
        extra="ignore",
        env_ignore_empty=True,
        hide_input_in_errors=True,
    )

    database_url: str = "sqlite:///wallet.sqlite"
    database_wait_ms: int = Field(default=5_000, ge=10, le=60_000)
    database_statement_ms: int = Field(default=15_000, ge=10, le=600_000)
    database_pool: int = Field(default=16, ge=1, le=1_000)
    database_statement_cache: int = Field(default=100, ge=0, le=10_000)
    base_url: str | None = None
    default_chain_id: int = 84532
    auction_chain_id: int = 84532
    chains: dict[int, ChainSettings] = Field(default_factory=dict)
    chain_read_ms: int = Field(default=300, ge=10, le=60_000)
    chain_call_ms: int = Field(default=3_000, ge=10, le=60_000)
    keeper_private_key: SecretStr | None = None
    keeper_private_key_file: Path | None = None
    service_user_key: SecretStr | None = None
    mcp_wait_s: int = Field(default=120, ge=1, le=3_600)
    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = Field(default=None, ge=0, le=65_535)
    log_level: str = "INFO"
    log_format: Literal["text", "json"] = "text"

    door: str = "off"
    approval_gate: str = "on"
    paid_read_enforcement: str = "off"
    stop_line_dry_run: str = "on"
    gas_sponsorship: str = "off"
    live_terminal: str = "off"
    live_door: str = "off"
    venue_mainnet: str = "off"

    spread_bps: int = Field(default=30, ge=0, le=10_000)
    approval_valid_s: int = Field(default=86_400, ge=60)
    pending_approvals_max: int = Field(default=10, ge=1)
    reservation_s: int = Field(default=600, ge=1)
    refusals_per_day: int = Field(default=60, ge=1)
    mark_fresh_s: int = Field(default=900, ge=1)
    claim_ttl_s: int = Field(default=900, ge=1)
    transfer_fails_after_s: int = Field(default=86_400, ge=60)
    ranked_days: int = Field(default=14, ge=0)
    ranked_trades: int = Field(default=10, ge=0)
    ranked_funded: int = Field(default=1, ge=0)
    ranked_capital_usdc: int = Field(default=100, ge=0)
    rate_reads: int = Field(default=3_000, ge=0)
    rate_writes: int = Field(default=600, ge=0)
    rate_anonymous: int = Field(default=300, ge=0)
    rate_challenges: int = Field(default=10, ge=0)
    drafts_per_hour: int = Field(default=60, ge=0)
    agents_per_owner: int = Field(default=50, ge=0)
    store_mb_per_day: int = Field(default=20, ge=0)
    trusted_proxies: str = ""
    connections_per_address: int = Field(default=64, ge=0)
    state_keys: SecretStr | None = None
    state_keys_file: Path | None = None
    webhook_key: SecretStr | None = Field(default=None, min_length=32)
    webhook_key_file: Path | None = None
    webhook_allow_private: str = "off"
    webhooks_per_owner: int = Field(default=5, ge=0, le=50)
    streams_per_caller: int = Field(default=10, ge=0)
    streams_most: int = Field(default=2_000, ge=0)
    keeper_tick_s: int = Field(default=30, ge=1)
    keeper_batch: int = Field(default=20, ge=1)
    keeper_budget_s: int = Field(default=120, ge=1)
    keeper_mark_s: int = Field(default=21_600, ge=0)
    markets_file: Path | None = None
    deposit_rails_file: Path | None = None

    venue_mainnet_url: str = "https://api.hyperliquid.xyz"
    venue_testnet_url: str = "https://api.hyperliquid-testnet.xyz"
    venue_dexes: str = "xyz"
    venue_egress: str = Field(default="shared", pattern=r"^[A-Za-z0-9._:-]{1,64}$")
    venue_timeout_s: int = Field(default=5, ge=1, le=30)
    builder_address: str | None = None
    builder_fee_tenths_bps: int = Field(default=100, ge=1, le=MOST_TENTHS_BPS)
    trade_allowlist: str = ""
    relays_per_minute: int = Field(default=30, ge=0)
    order_cap_per_order_usdc: Decimal = _usdc("100")
    order_cap_per_day_usdc: Decimal = _usdc("300")
    order_cap_per_close_usdc: Decimal = _usdc("1000")
    signed_in_cap_per_order_usdc: Decimal = _usdc("50")
    signed_in_cap_per_day_usdc: Decimal = _usdc("150")
    order_confirm_ttl_s: int = Field(default=120, ge=10, le=600)
    order_max_slippage_bps: int = Field(default=100, ge=0, le=10_000)
    close_max_slippage_bps: int = Field(default=300, ge=0, le=10_000)
    order_max_leverage: int = Field(default=3, ge=1)
    close_needs_allowlist: str = "off"
    throttle_close_reserve: int = Field(default=2, ge=0, le=10)
    paper_latency_ms: int = Field(default=400, ge=0, le=10_000)
    paper_depth_share: Decimal = Field(default=Decimal("0.5"), gt=0, le=1, decimal_places=4)
    keeper_scope: Literal["listed", "all"] = "listed"
    signer_socket: Path | None = None
    signer_keys: Path | None = None
    signer_seal_file: Path | None = None
    signer_peer_uid: int | None = Field(default=None, ge=0)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Environment first, then wallet.toml, then the defaults."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    @field_validator("base_url")
    @classmethod
    def _plain_base(cls, value: str | None) -> str | None:
        if value is None:
            return None
        if not value.startswith(("http://", "https://")):
            raise ValueError("it starts with http:// or https://")
        if not _BASE_URL.fullmatch(value):
            raise ValueError("it is a host in ASCII, a port and a path: links are made from it")
        return value.rstrip("/")

    @field_validator("venue_mainnet_url", "venue_testnet_url")
    @classmethod
    def _safe_venue(cls, value: str) -> str:
        if not plain_http_is_local(value):
            raise ValueError("the venue is asked over https, over plain http only on this machine")
        return value.rstrip("/")

    @field_validator("signer_socket")
    @classmethod
    def _short_enough(cls, value: Path | None) -> Path | None:
        if value is not None and len(os.fsencode(value)) > _SOCKET_PATH_BYTES:
            raise ValueError(f"the path of a socket has at most {_SOCKET_PATH_BYTES} bytes")
        return value

    @field_validator("venue_dexes")
    @classmethod
    def _dexes(cls, value: str) -> str:
        if not re.fullmatch(r"[a-z0-9]{2,4}(,[a-z0-9]{2,4})*|", value.replace(" ", "")):
            raise ValueError("a comma list of dex names of 2 to 4 letters or digits")
        return value.replace(" ", "")

    @field_validator("builder_address")
    @classmethod
    def _builder(cls, value: str | None) -> str | None:
        if not value:
            return None
        try:
            from chain.chains import EvmChains

            return EvmChains.address(value)
        except Refused as refused:
            raise ValueError(refused.refusal.reason) from None

    @field_validator("trade_allowlist")
    @classmethod
    def _allowlist(cls, value: str) -> str:
        allowlist(value)
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, value: str) -> str:
        networks(value)
        return value

    @field_validator("keeper_private_key")
    @classmethod
    def _signs(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not _is_private_key(value.get_secret_value()):
            raise ValueError("a private key is 32 bytes in hex, between 1 and the curve's order")
        return value

    @model_validator(mode="after")
    def _secret_from_file(self) -> Settings:
        if self.keeper_private_key is None and self.keeper_private_key_file is not None:
            key = SecretStr(self.keeper_private_key_file.read_text().strip())
            if not _is_private_key(key.get_secret_value()):
                raise ValueError("WALLET_KEEPER_PRIVATE_KEY_FILE holds no private key")
            self.keeper_private_key = key
        if self.webhook_key is None and self.webhook_key_file is not None:
            self.webhook_key = SecretStr(self.webhook_key_file.read_text().strip())
        return self

    @model_validator(mode="after")
    def _state_keys_from_file(self) -> Settings:
        if self.state_keys is None and self.state_keys_file is not None:
            self.state_keys = SecretStr(self.state_keys_file.read_text())
        if self.state_keys is not None:
            try:
                key_ring(self.state_keys.get_secret_value())
            except ValueError as error:
                raise ValueError(f"WALLET_STATE_KEYS: {error}") from None
        return self

    def state_ring(self) -> KeyRing:
        """The key ring that all processes share, or where none is set one of this process."""
        keys = self.state_keys
        return ephemeral_ring() if keys is None else key_ring(keys.get_secret_value())

    def patience(self) -> DatabaseTimeouts:
        """The database's time limits."""
        return DatabaseTimeouts(
            wait_ms=self.database_wait_ms,
            statement_ms=self.database_statement_ms,
            pool=self.database_pool,
            statement_cache=self.database_statement_cache,
        )

    def switches(self) -> Switches:
        """The defaults of spec 4.5's switches; rows in the database stand above them."""
        return Switches(**{name: is_on(getattr(self, name)) for name in SWITCHES})

    def config(self, address: str | None = None) -> Config:
        """The settings that the rules use; links begin with the base URL, else with `address`."""
        same = {f.name for f in fields(Config)} - {"base_url", "webhook_allow_private"}
        return Config(
            base_url=self.base_url or address or Config().base_url,
            webhook_allow_private=is_on(self.webhook_allow_private),
            markets=tuple(_data(self.markets_file, "markets.toml").get("markets", ())),
            deposit_rails=_data(self.deposit_rails_file, "deposit_rails.toml"),
            trading=self.trading(),
            **self.model_dump(include=same),
        )

    def trading(self) -> Trading:
        """The part of the settings that the trading side uses."""
        same = {f.name for f in fields(Trading)} - {"close_needs_allowlist"}
        return Trading(
            dexes=tuple(d for d in self.venue_dexes.split(",") if d),
            allowlist=allowlist(self.trade_allowlist),
            cap_per_order_micros=_micros(self.order_cap_per_order_usdc),
            cap_per_day_micros=_micros(self.order_cap_per_day_usdc),
            cap_per_close_micros=_micros(self.order_cap_per_close_usdc),
            signed_in_per_order_micros=_micros(self.signed_in_cap_per_order_usdc),
            signed_in_per_day_micros=_micros(self.signed_in_cap_per_day_usdc),
            confirm_ttl_s=self.order_confirm_ttl_s,
            order_slippage_bps=self.order_max_slippage_bps,
            close_slippage_bps=self.close_max_slippage_bps,
            max_leverage=self.order_max_leverage,
            close_needs_allowlist=is_on(self.close_needs_allowlist),
            **self.model_dump(include=same),
        )

    def chain_facts(self) -> list[ChainConfig]:
        """The settings of every configured chain over what is known of its network. Errors:
        `invalid_address`.
        """
        # Most commands ask no chain; and what retries takes a while to load.
        from server.retry_logging import tell_retries

        tell_retries()
        return [self._facts(chain_id, own) for chain_id, own in sorted(self.chains.items())]

    def _facts(self, chain_id: int, own: ChainSettings) -> ChainConfig:
        from chain.chains import EvmChains
        from chain.networks import NETWORKS, ChainConfig

        values = own.model_dump(exclude={"poll_s"}, exclude_none=True)
        for name in ("usdc", "factory", "lens"):
            if name in values:
                values[name] = EvmChains.address(values[name])
        values["rpc_urls"] = tuple(url for url in own.rpc_urls.split(",") if url)
        values |= {"read_ms": self.chain_read_ms, "call_ms": self.chain_call_ms}
        return replace(NETWORKS.get(chain_id) or ChainConfig(chain_id), **values)

    def venue_urls(self) -> Mapping[Network, str]:
        """The venue's URLs, by network."""
        return {"mainnet": self.venue_mainnet_url, "testnet": self.venue_testnet_url}


def _micros(amount: Decimal) -> int:
    return int(amount.scaleb(6))


def _data(override: Path | None, shipped: str) -> JsonObject:
    text = (
        override.read_text() if override else files("server").joinpath("data", shipped).read_text()
    )
    return tomllib.loads(text)
