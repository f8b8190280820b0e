"""Venue checks of `wallet doctor`: clock, networks, dexes, the builder, approved keys,
the signer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from domain.ports import Clock, Venue
from domain.refusals import Refused
from domain.settings import Switches
from domain.trading.modes import MARKET_NETWORK, live_network
from domain.trading.venue_account import KEY_ENDS_SOON
from domain.trading.venue_values import NETWORKS, Network
from server.cli.output import DoctorFinding
from server.runtime.schema_upgrade import NotUpgraded, upgraded
from server.settings import Settings
from server.signer.client import SignerClient
from server.system import SystemClock
from server.venues import venues
from storage.store import open_store
from storage.unit_of_work import UnitOfWork
from tools.model.switches import switches
from tools.trading.stop_line.gauges import gauges_of
from venue.budget import InMemory

# The venue takes nonces of two days back to one day ahead; well before that the clock is told.
SKEW_AT_MOST: Final = timedelta(seconds=30)
BUILDER_NEEDS_USDC: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """The stored configuration: switches, who may trade live, links and keys of live accounts."""

    switches: Switches
    allowed: int
    links: int
    keys: int
    ending: int
    unnamed: int
    stuck: int
    lease_s: int


async def examine_venue(settings: Settings, clock: Clock | None = None) -> list[DoctorFinding]:
    """Ask the venue on both networks, and look at what stands with it."""
    time = clock or SystemClock()
    networks = venues(settings, time, InMemory())
    stored, why = await _read(settings, time)
    now_on = stored.switches if stored else settings.switches()
    live = live_network(now_on)
    try:
        request = [
            *(_network(networks.get(n), time, settings, live=n == live) for n in NETWORKS),
            _builder(networks.get(live), settings),
        ]
        findings = [finding for answers in await asyncio.gather(*request) for finding in answers]
    finally:
        await networks.close()
    return [
        *findings,
        _live_trading(settings, now_on, stored),
        await _signer(settings),
        _keys(live, stored, why),
        _stop_line(settings, now_on, stored, why),
    ]


async def _read(settings: Settings, clock: Clock) -> tuple[_Stored | None, str]:
    """The stored state, or None and the reason for which it cannot be read."""

    def work(uow: UnitOfWork) -> _Stored:
        now_on = switches(uow, settings.switches())
        now = clock.now()
        links, keys, ending, unnamed = uow.venue.counts(
            live_network(now_on), now, now + KEY_ENDS_SOON
        )
        raw = gauges_of(uow, now)
        return _Stored(
            switches=now_on,
            allowed=len(uow.allowlist.all()),
            links=links,
            keys=keys,
            ending=ending,
            unnamed=unnamed,
            stuck=raw["wallet_keeper_blocked"],
            lease_s=raw["wallet_keeper_lease_seconds"],
        )

    try:
        await upgraded(settings)
        store = await open_store(settings.database_url, settings.patience())
    except NotUpgraded as error:
        return None, str(error)
    except Exception:
        return None, "the database cannot be opened; run `wallet db upgrade`"
    try:
        return await store.read(work), ""
    except Exception as error:
        return None, f"cannot be read ({type(error).__name__})"
    finally:
        await store.close()


async def _network(
    venue: Venue, clock: Clock, settings: Settings, *, live: bool
) -> list[DoctorFinding]:
    name = f"venue {venue.network}"
    uses = [
        *(["relays, indices and paper prices"] if venue.network == MARKET_NETWORK else []),
        *(["links and live orders"] if live else []),
    ]
    if not uses:
        return [DoctorFinding(name, True, "not used while venue_mainnet is as it is")]
    try:
        venue_time = await venue.time()
    except Refused as refused:
        # An address that nobody set is no fault of this setting; what it switches off is told.
        chosen = f"venue_{venue.network}_url" in settings.model_fields_set
        effect = f"no {' and no '.join(uses)}"
        return [DoctorFinding(name, not chosen, refused.refusal.reason, effect, warns=True)]
    skew = abs(venue_time - clock.now())
    state = f"for {' and '.join(uses)}; its clock differs by {skew.total_seconds():.1f} s"
    if skew > SKEW_AT_MOST:
        return [
            DoctorFinding(name, False, state, "its nonces may be refused: set this machine's clock")
        ]
    return [DoctorFinding(name, True, state), *await _dexes(venue, settings)]


async def _dexes(venue: Venue, settings: Settings) -> list[DoctorFinding]:
    if venue.network != MARKET_NETWORK:
        return []
    allowed = settings.trading().dexes
    if not allowed:
        return [DoctorFinding("venue dexes", True, "none is set", "no index can be traded")]
    try:
        there = (await venue.dexes()).value
    except Refused as refused:
        return [DoctorFinding("venue dexes", True, refused.refusal.reason, "no index is shown")]
    missing = [d for d in allowed if d not in there]
    if missing:
        why = f"the venue has no {', '.join(missing)}"
        return [DoctorFinding("venue dexes", False, why, "their indices are not shown")]
    return [DoctorFinding("venue dexes", True, ", ".join(allowed))]


async def _builder(venue: Venue, settings: Settings) -> list[DoctorFinding]:
    address = settings.builder_address
    if address is None:
        return [DoctorFinding("builder", True, "not set", "no order carries a builder fee")]
    try:
        mode = (await venue.abstraction(address, priority="house")).value
        account = (await venue.account(address, "", priority="house", max_age_s=0)).value
    except Refused as refused:
        return [DoctorFinding("builder", False, f"{address}: {refused.refusal.reason}")]
    state = f"{address}: {account.account_value} USDC, mode {mode}"
    if account.account_value < BUILDER_NEEDS_USDC or mode not in ("disabled", "default"):
        need = f"the venue credits nothing below {BUILDER_NEEDS_USDC} USDC or outside standard mode"
        return [DoctorFinding("builder", False, state, need)]
    return [DoctorFinding("builder", True, state)]


def _live_trading(settings: Settings, now: Switches, stored: _Stored | None) -> DoctorFinding:
    listed = stored.allowed if stored else len(settings.trading().allowlist)
    terminal = "on" if now.live_terminal else "off"
    door = "on" if now.live_door else "off"
    effect = "" if listed and (now.live_terminal or now.live_door) else "every order is paper"
    if now.live_door and not now.venue_mainnet:
        effect = "the door stays paper until venue_mainnet is on"
    where = "" if stored else " of the settings"
    state = f"terminal {terminal}, door {door}, {listed} on the allowlist{where}"
    return DoctorFinding("live trading", True, state, effect)


async def _signer(settings: Settings) -> DoctorFinding:
    if settings.signer_socket is None:
        return DoctorFinding("signer", True, "not set", "no keeper key: the stop line only warns")
    try:
        await SignerClient(settings.signer_socket).ask({"do": "address", "network": "none"})
    except Refused:
        return DoctorFinding(
            "signer", False, f"{settings.signer_socket}: no answer", "no keeper key"
        )
    except Exception:  # it answered, and refused as it should
        return DoctorFinding("signer", True, f"answers at {settings.signer_socket}")
    return DoctorFinding(
        "signer", False, f"{settings.signer_socket}: no signer of ours", "no keeper key"
    )


def _keys(live: Network, stored: _Stored | None, reason: str) -> DoctorFinding:
    """Approved keys on record, how many end within a week, and how many the venue names no more."""
    if stored is None:
        return DoctorFinding("order keys", False, reason)
    state = f"{stored.links} wallets linked on {live}, {stored.keys} keys approved"
    effects = [
        *([f"{stored.ending} end within 7 days"] if stored.ending else []),
        *([f"{stored.unnamed} are not named by the venue"] if stored.unnamed else []),
    ]
    return DoctorFinding("order keys", True, state, ", ".join(effects))


def _stop_line(
    settings: Settings, now: Switches, stored: _Stored | None, reason: str
) -> DoctorFinding:
    """Whether the keeper closes at the venue, who leads, and what it cannot close."""
    name = "stop line at the venue"
    if stored is None:
        return DoctorFinding(name, False, reason)
    leads = f"a process leads for {stored.lease_s} s" if stored.lease_s else "no process leads now"
    state = f"scope {settings.keeper_scope}, {leads}"
    if stored.stuck:
        text = f"{stored.stuck} mandates stand at their line and nothing can be closed"
        return DoctorFinding(name, False, state, text)
    if now.stop_line_dry_run:
        return DoctorFinding(
            name, True, state, "dry run: it says what it would close, and does nothing"
        )
    unsigned = "" if settings.signer_socket else "no signer is set: it only warns"
    return DoctorFinding(name, True, state, unsigned)
