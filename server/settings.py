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
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from domain.settings import SWITCHES, Config, Switches, Trading
from domain.trading.builder_fee import MOST_TENTHS_BPS
from domain.trading.modes import allowlist
from domain.trading.venue_values import Network
from domain.wire_fields import JsonObject
from server.chain_settings import ADDRESS, UrlWithSecret
from server.chain_settings import ChainSettings as ChainSettings
from server.mail_server import mail_server
from server.setting_forms import (
    BASE_URL,
    FOLLOWS,
    LEVEL,
    NO_OTLP,
    SOCKET_PATH_BYTES,
    check_markets,
    has_otlp,
    is_private_key,
    text_of,
)
from storage.errors import DatabaseTimeouts
from tools.model.mail_address import is_email_address
from tools.model.rate_limiter import networks
from tools.model.sealing import KeyRing, ephemeral_ring, key_ring
from tools.model.switches import is_on
from tools.model.web_push import WebPush
from venue.addresses import plain_http_is_local

if TYPE_CHECKING:
    from chain.networks import ChainConfig


def _usdc(default: str) -> Any:
    """A cap of orders; 0 stops them."""
    return Field(default=Decimal(default), ge=0, le=10**9, decimal_places=6)


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

    # Section: The database
    database_url: UrlWithSecret = "sqlite:///wallet.sqlite"
    """`sqlite:///path` or `postgresql://user@host/db`."""
    database_wait_ms: int = Field(default=5_000, ge=10, le=60_000)
    """How long a call waits for a lock or a connection; then `storage_unavailable`, 503."""
    database_statement_ms: int = Field(default=15_000, ge=10, le=600_000)
    """How long PostgreSQL works on a statement; behind pgbouncer put `statement_timeout`,
    `lock_timeout`, `idle_in_transaction_session_timeout`, `plan_cache_mode`, `enable_seqscan` and
    `jit` into its `ignore_startup_parameters`, and `ALTER ROLE … SET` the two for plans
    ([scaling](scaling.md#behind-pgbouncer)).
    """
    database_read_url: Annotated[UrlWithSecret, FOLLOWS] | None = None
    """A standby of the same PostgreSQL, for the Hall and statements ([scaling](scaling.md))."""
    database_read_lag_ms: int = Field(default=5_000, ge=100, le=600_000)
    """How old a read by it may be; while it is further behind, or away, the primary is read."""
    database_pool: int = Field(default=16, ge=1, le=1_000)
    """Connections of a process to PostgreSQL."""
    database_statement_cache: int = Field(default=100, ge=0, le=10_000)
    """Prepared statements of a connection; 0 behind pgbouncer's transaction pooling before 1.21, or
    without `max_prepared_statements` ([scaling](scaling.md)).
    """

    # Section: Addresses and connections
    base_url: str | None = None
    """The public address: host in ASCII, port, path; links are made from it, MCP's Host and Origin
    checks use it; unset, the address that is served.
    """
    trusted_proxies: str = ""
    """Addresses and networks with commas; behind them the last other hop of `X-Forwarded-For` is
    the caller's address. Without it all callers behind a proxy count as one: the log says so once,
    `wallet doctor` finds it, `wallet_forwarded_untrusted_total` counts it. What comes from them and
    is no HTTP is answered 400 and charged to no address; `wallet_malformed_total` counts it, as for
    every sender.
    """
    connections_per_address: int = Field(default=64, ge=0)
    """Connections of one address on which nothing is being answered; of one more the longest idle
    is closed. A trusted proxy has as many as it wants; 0 is no limit.
    """
    streams_per_caller: int = Field(default=10, ge=0)
    """Open streams of one caller."""
    streams_most: int = Field(default=2_000, ge=0)
    """Open streams of one process."""
    metrics_host: str = "127.0.0.1"
    """The address of the listener of `/metrics`."""
    metrics_port: int | None = Field(default=None, ge=0, le=65_535)
    """Where `wallet serve` tells `/metrics` (and `/healthz`, `/readyz`); it is never on the public
    port; unset, nowhere.
    """
    log_level: Annotated[str, LEVEL] = "INFO"
    """How much stands in the log; reads that succeed at once have their line with `DEBUG` only."""
    log_format: Literal["text", "json"] = "text"
    """`json`: one object a line, with `request`, `operation`, `mandate` or `work`; no form holds a
    credential or a secret of these settings.
    """

    traces: str = "off"
    """`on`: each call is a trace of OpenTelemetry ([traces](operating.md#traces); extra `otel`)."""

    # Section: Chains
    default_chain_id: int = 84532
    """Chain of drafts that name none."""
    auction_chain_id: int = 84532
    """Chain of the auction ledger's balances."""
    chains: dict[int, ChainSettings] = Field(default_factory=dict)
    """One entry a chain, below."""
    chain_read_ms: int = Field(default=300, ge=10, le=60_000)
    """How long a read waits for a chain in all; then it answers with what the vault said last, and
    its `age_s`.
    """
    chain_call_ms: int = Field(default=3_000, ge=10, le=60_000)
    """The same of a request that cannot do without the chain; then `chain_unavailable`, 503."""

    # Section: Keys
    keeper_private_key: SecretStr | None = None
    """The house's key; without it the keeper sends nothing, and only an owner records the value by
    which exits are judged (`record-call`).
    """
    keeper_private_key_file: Path | None = None
    """A file with that key."""
    service_user_key: SecretStr | None = None
    """The agent key of `wallet mcp`."""
    state_keys: SecretStr | None = None
    """Secrets of 32 bytes or more with commas or line ends between them, the same in every process:
    the first one seals what a caller carries back (a call that needs an answer first), each of them
    opens it. To change keys without a gap: `old,new` in every process, then `new,old`, then `new`.
    Unset, a process makes one at its start. Needed with PostgreSQL: `wallet serve` says so in its
    log and `wallet doctor` finds it, since a process cannot see whether there will be another.
    """
    state_keys_file: Path | None = None
    """A file with these secrets."""
    webhook_key: SecretStr | None = Field(default=None, min_length=32)
    """The key that signs webhooks and the links in e-mails, the same in every process; without it
    there are none ([webhooks and streams](webhooks.md)).
    """
    webhook_key_file: Path | None = None
    """A file with that key."""
    vapid_private_key: SecretStr | None = None
    """The key under whose name browsers are told by Web Push, the same in every process: what
    `wallet push-key` prints; without it none is told ([notices](webhooks.md)). Changing it ends
    every browser's subscription.
    """
    vapid_private_key_file: Path | None = None
    """A file with that key."""

    # Section: Switches
    door: str = "off"
    """The open start for bots: off, the `mandate_*` tools are hidden. `wallet switch set NAME
    on|off` stands above this setting and the seven below, in every process at once.
    """
    approval_gate: str = "on"
    """Owners are asked above the approval amount; it switches nothing where vaults keep approvals.
    """
    paid_read_enforcement: str = "off"
    """Paid reads take a credit."""
    stop_line_dry_run: str = "on"
    """The keeper says what it would close, and closes nothing."""
    gas_sponsorship: str = "off"
    """The paymaster of a chain may pay for owners' calls."""
    live_terminal: str = "off"
    """People trade live in the terminal; off, every order there is paper."""
    live_door: str = "off"
    """Agents' orders are live; off, every one is paper."""
    venue_mainnet: str = "off"
    """Links and live orders are on the venue's mainnet; off, on its testnet."""

    # Section: Mandates and agents
    spread_bps: int = Field(default=30, ge=0, le=10_000)
    """The share of positions that leaving now is estimated to cost."""
    approval_valid_s: int = Field(default=86_400, ge=60)
    """How long an owner's answer is waited for."""
    pending_approvals_max: int = Field(default=10, ge=1)
    """Actions of one mandate that may wait for their owner."""
    reservation_s: int = Field(default=600, ge=1)
    """How long the amount of calldata that was given out is set aside."""
    refusals_per_day: int = Field(default=60, ge=1)
    """Refused attempts of a mandate that are recorded in a UTC day."""
    mark_fresh_s: int = Field(default=900, ge=1)
    """How old an observation of worth may be for the stop line to act on it."""
    claim_ttl_s: int = Field(default=900, ge=1)
    """How long an agent's report waits for its row of the chain."""
    transfer_fails_after_s: int = Field(default=86_400, ge=60)
    """After how long a reported transfer that no chain shows has failed."""
    ranked_days: int = Field(default=14, ge=0)
    """Days at work before an agent is ranked in the Hall."""
    ranked_trades: int = Field(default=10, ge=0)
    """Measured trades before that."""
    ranked_funded: int = Field(default=1, ge=0)
    """Funded mandates before that."""
    ranked_capital_usdc: int = Field(default=100, ge=0)
    """Capital of others over the ranked days before that."""
    drafts_per_hour: int = Field(default=60, ge=0)
    """Drafts of one owner, over every process; 0 is no limit."""
    agents_per_owner: int = Field(default=50, ge=0)
    """Agents of one owner, over every process; 0 is no limit."""
    store_mb_per_day: int = Field(default=20, ge=0)
    """What one owner, with all its agents, has stored in a UTC day, in MB; ten times as much once a
    vault of theirs is funded; agents leave a quarter of it to their owner; all owners of whom no
    vault was ever funded have 25 times as much together; 0: no limit.
    """
    markets_file: Path | None = None
    """The markets that owners can allow; unset, the shipped list."""
    deposit_rails_file: Path | None = None
    """The ways to bring USDC to a chain; unset, the shipped list."""

    # Section: Rates
    rate_reads: int = Field(default=3_000, ge=0)
    """Calls a minute of a key or session; each process counts for itself, refusals and heavy
    operations weigh more; 0 is off.
    """
    rate_writes: int = Field(default=600, ge=0)
    """Writes a minute of a key or session, which count as reads too; 0 is off."""
    rate_anonymous: int = Field(default=300, ge=0)
    """Calls a minute of a network address without a credential; 0 is off."""
    rate_challenges: int = Field(default=10, ge=0)
    """Sign-in challenges a minute of a wallet from an address, ten times that of the address; 0 is
    off.
    """

    # Section: Webhooks
    webhook_allow_private: str = "off"
    """Webhooks over http and to private addresses; for tests only."""
    webhooks_per_owner: int = Field(default=5, ge=0, le=50)
    """Webhooks that one owner can have."""

    # Section: Browsers and e-mail
    push_contact: str | None = Field(
        default=None, max_length=254, pattern=r"^(https://|mailto:)\S+$"
    )
    """Where push services reach the operator: an https or a mailto address; unset, the public
    address if it is https, else the sender of e-mails.
    """
    smtp_url: SecretStr | None = None
    """The mail server: `smtps://user:password@host:port` (TLS), `starttls://…` (STARTTLS or
    nothing) or `smtp://…` (no TLS, and a password to this machine only); percent-encode what is no
    letter or digit. Without it, `WALLET_MAIL_FROM` and `WALLET_WEBHOOK_KEY` no e-mail is sent.
    """
    smtp_url_file: Path | None = None
    """A file with that address."""
    mail_from: str | None = Field(default=None, max_length=254)
    """The sender of e-mails: one address."""

    # Section: The keeper
    keeper_tick_s: int = Field(default=30, ge=1)
    """How often the keeper looks; a chain that fails is looked at less often, up to every 5
    minutes.
    """
    keeper_batch: int = Field(default=20, ge=1)
    """At how many vaults of a chain it looks at least, and always at so many that all are read
    within half of `WALLET_MARK_FRESH_S`.
    """
    keeper_budget_s: int = Field(default=120, ge=1)
    """How long a round of one chain may take."""
    keeper_mark_s: int = Field(default=21_600, ge=0)
    """How often at most the keeper records on chain what the positions of a working vault gained
    (57,965 gas), in dry run too; a fall of 1% that stood for some blocks is recorded at most every
    five minutes; 0: it records neither, and owners record themselves. Not below gas money for
    twenty transactions ([0030](decisions/0030-when-the-keeper-records-a-worth.md)).
    """

    # Section: MCP on stdio
    mcp_wait_s: int = Field(default=120, ge=1, le=3_600)
    """Of `wallet mcp --url`: how long an answer of the service is waited for; then an error says
    whether the call may have happened.
    """
    agent_gas_most_wei: int = Field(default=5 * 10**16, ge=1)
    """Of `wallet mcp --url` with a key on this machine: the most that the gas of one act may cost,
    in the chain's own coin. The service names the fee; above this nothing is signed.
    """

    # Section: The trading venue
    venue_mainnet_url: str = "https://api.hyperliquid.xyz"
    """The venue's mainnet: https, or plain http on this machine."""
    venue_testnet_url: str = "https://api.hyperliquid-testnet.xyz"
    """Its testnet, in the same way."""
    venue_dexes: str = "xyz"
    """Builder dexes whose indices can be traded; the others are shown as planned."""
    venue_egress: str = Field(default="shared", pattern=r"^[A-Za-z0-9._:-]{1,64}$")
    """Processes with the same word share one request budget (1,200 a minute); give each outgoing
    address its own.
    """
    venue_timeout_s: int = Field(default=5, ge=1, le=30)
    """For one question to the venue, retries included."""
    builder_address: Annotated[str, ADDRESS] | None = None
    """Who earns the builder fee; unset, no order carries one."""
    builder_fee_tenths_bps: int = Field(default=100, ge=1, le=MOST_TENTHS_BPS)
    """The fee, in tenths of a basis point."""
    relays_per_minute: int = Field(default=30, ge=0)
    """Relay requests an address and minute, 0 is off; of the 300 of the venue's weight that relays
    may cost in a minute, one caller leaves 100 to the next.
    """

    # Section: Orders
    trade_allowlist: str = ""
    """Who may trade live: a comma list of wallets or user ids, added to the database at a start; a
    wildcard or a bad item stops the start.
    """
    order_cap_per_order_usdc: Decimal = _usdc("100")
    """The most that one live order may be; below 10 no order is possible."""
    order_cap_per_day_usdc: Decimal = _usdc("300")
    """The most that the live orders of a wallet may be in a day."""
    order_cap_per_close_usdc: Decimal = _usdc("1000")
    """The most that an unverified reduce-only order may be."""
    signed_in_cap_per_order_usdc: Decimal = _usdc("50")
    """Where everybody's own limit of one order starts, and the step of the terminal's."""
    signed_in_cap_per_day_usdc: Decimal = _usdc("150")
    """Where everybody's own limit of a day starts."""
    order_confirm_ttl_s: int = Field(default=120, ge=10, le=600)
    """How long a prepared order stands."""
    order_max_slippage_bps: int = Field(default=100, ge=0, le=10_000)
    """The most that a market order may be worse than the touch."""
    close_max_slippage_bps: int = Field(default=300, ge=0, le=10_000)
    """The most that a close may be worse than the touch."""
    order_max_leverage: int = Field(default=3, ge=1)
    """An account whose own setting is above it opens nothing; the service never changes it."""
    close_needs_allowlist: str = "off"
    """On: even a verified close needs its owner on the list."""
    throttle_close_reserve: int = Field(default=2, ge=0, le=10)
    """Closes a minute that pass however many orders were counted; a live close takes two calls."""
    paper_latency_ms: int = Field(default=400, ge=0, le=10_000)
    """How paper books that are opened from now on fill: by the snapshot so long after acceptance.
    """
    paper_depth_share: Decimal = Field(default=Decimal("0.5"), gt=0, le=1, decimal_places=4)
    """And by this part of each level that it shows."""
    keeper_scope: Literal["listed", "all"] = "listed"
    """How much of a position at the venue the keeper may close: what the mandate's own orders
    opened, or with `all` the whole of it, for accounts that are there for mandates alone.
    """

    # Section: The signer
    signer_socket: Path | None = None
    """The signer's socket, in the service and in the signer; without it there is no keeper key."""
    signer_keys: Path | None = None
    """Of the signer alone: its folder of sealed keys."""
    signer_seal_file: Path | None = None
    """Of the signer alone: the file with their seal."""
    signer_peer_uid: int | None = Field(default=None, ge=0)
    """Of the signer alone: the service's user id, who alone may ask it."""
    hosted_agents: str = "off"
    """In the service and in the signer: the signer holds keys of agents whose owners ask for that
    ([keys of agents](operating.md#keys-of-agents)).
    """

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
        if not BASE_URL.fullmatch(value):
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
        if value is not None and len(os.fsencode(value)) > SOCKET_PATH_BYTES:
            raise ValueError(f"the path of a socket has at most {SOCKET_PATH_BYTES} bytes")
        return value

    @field_validator("venue_dexes")
    @classmethod
    def _dexes(cls, value: str) -> str:
        if not re.fullmatch(r"[a-z0-9]{2,4}(,[a-z0-9]{2,4})*|", value.replace(" ", "")):
            raise ValueError("a comma list of dex names of 2 to 4 letters or digits")
        return value.replace(" ", "")

    @field_validator("trade_allowlist")
    @classmethod
    def _allowlist(cls, value: str) -> str:
        allowlist(value)
        return value

    @field_validator("markets_file")
    @classmethod
    def _are_markets(cls, value: Path | None) -> Path | None:
        if value is not None:
            check_markets(text_of(value))
        return value

    @field_validator("traces")
    @classmethod
    def _can_be_sent(cls, value: str) -> str:
        if is_on(value) and not has_otlp():
            raise ValueError(NO_OTLP)
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, value: str) -> str:
        networks(value)
        return value

    @field_validator("keeper_private_key")
    @classmethod
    def _signs(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not is_private_key(value.get_secret_value()):
            raise ValueError("a private key is 32 bytes in hex, between 1 and the curve's order")
        return value

    @model_validator(mode="before")
    @classmethod
    def _secrets_from_files(cls, values: Mapping[str, object]) -> Mapping[str, object]:
        """A secret is held to the same rules wherever it stands."""
        for name in cls.model_fields:
            path = values.get(f"{name}_file")
            if isinstance(path, str | Path) and path and values.get(name) is None:
                values = {**values, name: text_of(Path(path)).strip()}
        return values

    @model_validator(mode="after")
    def _can_reach(self) -> Settings:
        if self.vapid_private_key is not None:
            try:
                WebPush(self.vapid_private_key.get_secret_value(), None)
            except ValueError:
                why = "WALLET_VAPID_PRIVATE_KEY is no key: `wallet push-key` makes one"
                raise ValueError(why) from None
        if self.smtp_url is not None:
            mail_server(self.smtp_url.get_secret_value())
        if self.mail_from is not None and not is_email_address(self.mail_from):
            raise ValueError("WALLET_MAIL_FROM is one address, such as wallet@example.com")
        return self

    def sends_email(self) -> bool:
        """True where all is set that an e-mail needs."""
        return None not in (self.smtp_url, self.mail_from, self.webhook_key)

    @model_validator(mode="after")
    def _are_state_keys(self) -> Settings:
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
        """The settings of every configured chain over what is known of its network."""
        # Most commands ask no chain; and what retries takes a while to load.
        from server.retry_logging import tell_retries

        tell_retries()
        return [self._facts(chain_id, own) for chain_id, own in sorted(self.chains.items())]

    def _facts(self, chain_id: int, own: ChainSettings) -> ChainConfig:
        from chain.networks import NETWORKS, ChainConfig

        values = own.model_dump(exclude={"poll_s"}, exclude_none=True)
        values["rpc_urls"] = tuple(url for url in own.rpc_urls.split(",") if url)
        values |= {"read_ms": self.chain_read_ms, "call_ms": self.chain_call_ms}
        return replace(NETWORKS.get(chain_id) or ChainConfig(chain_id), **values)

    def venue_urls(self) -> Mapping[Network, str]:
        """The venue's URLs, by network."""
        return {"mainnet": self.venue_mainnet_url, "testnet": self.venue_testnet_url}


def _micros(amount: Decimal) -> int:
    return int(amount.scaleb(6))


def _data(override: Path | None, shipped: str) -> JsonObject:
    text = text_of(override) if override else files("server").joinpath("data", shipped).read_text()
    return tomllib.loads(text)


def unknown_names(settings: Settings) -> list[str]:
    """Names that the environment and the file set, and that are no settings."""
    prefix, known = "WALLET_", {name.upper() for name in type(settings).model_fields}
    named = (name.upper() for name in os.environ if name.upper().startswith(prefix))
    unknown = {n for n in named if n.removeprefix(prefix).partition("__")[0] not in known}
    path = Path("wallet.toml")
    in_file = tomllib.loads(path.read_text()) if path.is_file() else {}
    unknown |= {f"{path}: {name}" for name in in_file if name.upper() not in known}
    return sorted(unknown)
