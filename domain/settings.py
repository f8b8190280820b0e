"""Settings that the rules use, and the switches as read for one request."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Final, Literal

from domain.wire_fields import JsonObject

# How much of an account's position the keeper may close: what the mandate's own orders opened, or
# all of it, where the account is there for mandates alone.
KeeperScope = Literal["listed", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trading:
    """Settings of the trading side.

    Units: `builder_fee_tenths_bps` tenths of a basis point; `relays_per_minute` requests an
    address, 0 is off.
    `builder_address` is EIP-55; without it no order carries a builder. `*_micros` millionths of a
    USDC; `result_s` is the time that the venue has to report the outcome of an order.
    """

    dexes: tuple[str, ...] = ("xyz",)
    builder_address: str | None = None
    builder_fee_tenths_bps: int = 100
    allowlist: tuple[str, ...] = ()
    relays_per_minute: int = 30
    verify_pause_s: int = 2
    cap_per_order_micros: int = 100_000_000
    cap_per_day_micros: int = 300_000_000
    cap_per_close_micros: int = 1_000_000_000
    signed_in_per_order_micros: int = 50_000_000
    signed_in_per_day_micros: int = 150_000_000
    confirm_ttl_s: int = 120
    order_slippage_bps: int = 100
    close_slippage_bps: int = 300
    max_leverage: int = 3
    close_needs_allowlist: bool = False
    throttle_close_reserve: int = 2
    result_s: int = 5
    paper_latency_ms: int = 400
    paper_depth_share: Decimal = Decimal("0.5")
    keeper_scope: KeeperScope = "listed"


@dataclass(frozen=True, slots=True)
class Config:
    """Settings the rules use; read once at start in `server.settings`.

    Units: *_bps ten-thousandths, *_s seconds.
    """

    base_url: str = "http://127.0.0.1:8402"
    default_chain_id: int = 84532
    auction_chain_id: int = 84532
    spread_bps: int = 30
    approval_valid_s: int = 86_400
    pending_approvals_max: int = 10
    declined_quiet_s: int = 3_600
    reservation_s: int = 600
    refusals_per_day: int = 60
    mark_fresh_s: int = 900
    claim_ttl_s: int = 900
    transfer_fails_after_s: int = 86_400
    # Calls a minute; 0 is no limit. What `server.settings` gives is contract 1's.
    rate_reads: int = 0
    rate_writes: int = 0
    rate_anonymous: int = 0
    rate_challenges: int = 0
    drafts_per_hour: int = 0
    agents_per_owner: int = 0
    store_mb_per_day: int = 0
    trusted_proxies: str = ""
    connections_per_address: int = 0
    webhook_allow_private: bool = False
    webhooks_per_owner: int = 5
    streams_per_caller: int = 10
    streams_most: int = 2_000
    session_s: int = 43_200
    session_longest_s: int = 604_800
    ranked_days: int = 14
    ranked_trades: int = 10
    ranked_funded: int = 1
    ranked_capital_usdc: int = 100
    markets: tuple[JsonObject, ...] = ()
    deposit_rails: JsonObject = field(default_factory=dict)
    trading: Trading = field(default_factory=Trading)


@dataclass(frozen=True, slots=True)
class Switches:
    """Spec 4.5's switches as they stand at one request."""

    door: bool = False
    approval_gate: bool = True
    paid_read_enforcement: bool = False
    stop_line_dry_run: bool = True
    gas_sponsorship: bool = False
    live_terminal: bool = False
    live_door: bool = False
    venue_mainnet: bool = False


SWITCHES: Final = tuple(f.name for f in fields(Switches))
