"""Maintenance commands of an operator: verify, back up, restore, export, keys, switches."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

import click

from domain.trading.venue_values import Network
from server.runtime.schema_upgrade import ensure_schema, upgrade_due, upgraded
from server.setting_forms import text_of
from server.settings import Settings
from server.system import SystemClock, SystemIds
from storage.errors import Unavailable
from storage.integrity.backup import backup, export, restored, write_heads
from storage.integrity.ledger_check import NoHeads, anchors, verify
from storage.read_replica import replica_state
from storage.store import Store, open_store
from storage.unit_of_work import UnitOfWork
from tools import operator
from tools.model.serialization import wire
from tools.trading.account import allowlist as trade_allowlist

T = TypeVar("T")
log = logging.getLogger("wallet.storage")


@asynccontextmanager
async def _store(settings: Settings) -> AsyncIterator[Store]:
    await upgraded(settings)
    store = await open_store(settings.database_url, settings.patience())
    try:
        yield store
    finally:
        await store.close()


async def read(settings: Settings, work: Callable[[UnitOfWork], T]) -> T:
    """Run one read of a database that is up to date. Errors: `NotUpgraded`."""
    async with _store(settings) as store:
        return await store.read(work)


async def write(settings: Settings, work: Callable[[UnitOfWork], T]) -> T:
    """Run one write of a database that is up to date. Errors: `NotUpgraded`."""
    async with _store(settings) as store:
        return await store.write(work)


async def verify_ledgers(settings: Settings, heads: Path | None = None) -> dict[str, object]:
    """Refold and rehash everything, and hold it against anchored heads. Errors: ClickException for
    a file of heads that is none.
    """
    await upgraded(settings)
    try:
        against = anchors(text_of(heads).splitlines()) if heads else None
    except NoHeads as error:
        raise click.ClickException(f"{heads}: {error}") from None
    return (await verify(settings.database_url, against)).as_json()


async def anchor_ledgers(settings: Settings, target: Path) -> dict[str, object]:
    """Write the heads of all ledgers."""
    await upgraded(settings)
    return await write_heads(settings.database_url, target)


async def backup_database(settings: Settings, target: Path) -> None:
    """Copy a SQLite database in use; one of an earlier version too, as before an upgrade."""
    await upgraded(settings, older=True)
    await backup(settings.database_url, target)


async def restore_database(settings: Settings, source: Path) -> None:
    """Make the database out of a backup, at this version's schema. It does not hold what was sent
    since, so that acts which no chain holds to once wait for the operator: real orders are off and
    the stop line is dry, by rows that stand above the settings. Errors: `NoBackup`, `NotUpgraded`.
    """
    if source.is_file():
        await upgrade_due(settings.model_copy(update={"database_url": f"sqlite:///{source}"}))
    async with restored(source, settings.database_url) as copy_url:
        at_copy = settings.model_copy(update={"database_url": copy_url})
        await ensure_schema(at_copy)
        for name, value in HELD_BACK.items():
            await set_switch(at_copy, name, value)


HELD_BACK: Final = {"live_terminal": "off", "live_door": "off", "stop_line_dry_run": "on"}


async def export_ledgers(settings: Settings, target: Path) -> dict[str, int]:
    """Write the ledgers out with their hashes; read by the standby where one is named and near."""
    await upgraded(settings)
    return await export(await _read_from(settings), target)


async def _read_from(settings: Settings) -> str:
    """The database for a long read that may be a moment old."""
    own, standby = settings.database_url, settings.database_read_url
    if standby is None:
        return own
    try:
        state = await replica_state(
            own, standby, settings.patience(), settings.database_read_lag_ms
        )
    except Unavailable as error:
        log.warning("the read replica: %s; the primary is read", error.why)
        return own
    if not state.is_near:
        log.warning("the read replica is not near; the primary is read")
    return standby if state.is_near else own


async def create_house_key(settings: Settings, role: operator.Role) -> dict[str, str]:
    """Mint a keeper or admin key; it is shown once."""
    ids, now = SystemIds(), SystemClock().now()
    key = await write(settings, lambda uow: operator.mint_key(uow, ids, role, now))
    return key.model_dump()


async def end_link(settings: Settings, wallet: str, network: Network, reason: str) -> bool:
    """End the link of a wallet, and every key under it; its owner can then link it again, or
    another person can. False where there is none.
    """
    now = SystemClock().now()

    def work(uow: UnitOfWork) -> bool:
        link = uow.venue.link_to(wallet, network)
        return link is not None and uow.venue.end_link(link.link_id, reason, now)

    return await write(settings, work)


async def list_house_keys(settings: Settings) -> list[dict[str, object]]:
    """Every house key without its secret."""
    keys = await read(settings, operator.house_keys)
    return [key.model_dump(mode="json") for key in keys]


async def revoke_house_key(settings: Settings, key_id: str) -> bool:
    """Revoke at once."""
    now = SystemClock().now()
    return await write(settings, lambda uow: uow.identities.revoke_house_key(key_id, now))


async def list_switches(settings: Settings) -> dict[str, dict[str, str]]:
    """Every switch, its value, and whether it was set or is the default."""
    defaults = settings.switches()
    rows = await read(settings, lambda uow: operator.switches_now(uow, defaults))
    return {s.name: {"value": s.value, "from": s.source} for s in rows}


async def count(settings: Settings) -> dict[str, object]:
    """Count the stored records."""
    now = SystemClock().now()
    counts = await read(settings, lambda uow: operator.count_records(uow, now))
    return counts.model_dump()


async def set_switch(settings: Settings, name: str, value: str) -> None:
    """Set a switch for every process, from the next request on."""
    now, defaults = SystemClock().now(), settings.switches()

    def work(uow: UnitOfWork) -> None:
        operator.set_switch(uow, defaults, name, value, now=now, by="operator")

    await write(settings, work)


async def set_allowed(settings: Settings, item: str, reason: str, *, allowed: bool) -> bool:
    """Add a person to the allowlist or remove one; False where it is so. Errors: ValueError."""
    now = SystemClock().now()

    def work(uow: UnitOfWork) -> bool:
        return trade_allowlist.put(
            uow, item, allowed=allowed, now=now, by="operator", reason=reason
        )

    return await write(settings, work)


async def list_allowed(settings: Settings) -> list[str]:
    """List the people who may trade live."""
    return sorted(await read(settings, lambda uow: uow.allowlist.all()))


async def limit_log(settings: Settings, newest: int) -> list[dict[str, object]]:
    """The newest changes of who may trade live, and of how much."""

    page = await read(settings, lambda uow: uow.limit_log.page(None, newest))
    return [wire(change) for _, change in page]
