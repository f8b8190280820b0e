"""What an operator does on the database: verify, back up, export, keys, switches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from domain.settings import SWITCHES
from domain.times import timestamp
from server.settings import Settings
from server.wiring import SystemClock, SystemIds
from storage.backup import backup, export
from storage.store import Store, open_store
from storage.verify import verify
from tools.call.credentials import hashed

T = TypeVar("T")


async def _with_store(settings: Settings, work: Callable[[Store], Awaitable[T]]) -> T:
    store = await open_store(settings.database_url)
    try:
        return await work(store)
    finally:
        await store.close()


async def verify_ledgers(settings: Settings) -> dict[str, Any]:
    """Refold and rehash everything."""
    return (await verify(settings.database_url)).as_json()


async def backup_database(settings: Settings, target: Path) -> None:
    """Copy a SQLite database while it is in use."""
    await backup(settings.database_url, target)


async def export_ledgers(settings: Settings, target: Path) -> dict[str, int]:
    """Write the ledgers out with their hashes."""
    return await export(settings.database_url, target)


async def create_house_key(settings: Settings, role: str, prefix: str) -> dict[str, str]:
    """Mint a keeper or admin key; it is shown once."""
    ids, now = SystemIds(), SystemClock().now()
    key_id, key = ids.short("h_"), ids.token(prefix)
    await _with_store(
        settings,
        lambda s: s.write(lambda uow: uow.identities.add_house_key(key_id, role, hashed(key), now)),
    )
    return {"key_id": key_id, "role": role, "key": key}


async def list_house_keys(settings: Settings) -> list[dict[str, Any]]:
    """Every house key without its secret."""
    found = await _with_store(settings, lambda s: s.read(lambda uow: uow.identities.house_keys()))
    return [
        {
            "key_id": k.key_id,
            "role": k.holder,
            "created_at": timestamp(k.created_at),
            "revoked": k.revoked_at is not None,
        }
        for k in found
    ]


async def revoke_house_key(settings: Settings, key_id: str) -> bool:
    """Revoke at once."""
    now = SystemClock().now()
    return await _with_store(
        settings, lambda s: s.write(lambda uow: uow.identities.revoke_house_key(key_id, now))
    )


async def list_switches(settings: Settings) -> dict[str, dict[str, str]]:
    """Every switch, its value, and whether it was set or is the default."""
    rows = await _with_store(settings, lambda s: s.read(lambda uow: uow.switches.all()))
    defaults = settings.switches()
    return {
        n: {
            "value": rows.get(n, "on" if getattr(defaults, n) else "off"),
            "from": "database" if n in rows else "settings",
        }
        for n in SWITCHES
    }


async def set_switch(settings: Settings, name: str, value: str) -> None:
    """Set a switch for every process, from the next request on."""
    now = SystemClock().now()
    await _with_store(
        settings, lambda s: s.write(lambda uow: uow.switches.set(name, value, now, "operator"))
    )
