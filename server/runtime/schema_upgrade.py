"""Schema upgrade by every process at its start, and the schema check of every command."""

from __future__ import annotations

import anyio

from server.settings import Settings
from storage.errors import Unavailable
from storage.schema.revision import (
    database_name,
    is_before_first,
    is_enough,
    is_newer,
    latest,
    revision,
)


class NotUpgraded(Exception):
    """The database is not there, or not at this version's schema; the text says what to do."""


async def _revision(settings: Settings) -> str | None:
    """The schema's revision. Errors: `NotUpgraded`, for a newer version's too."""
    where = database_name(settings.database_url)
    try:
        at = await revision(settings.database_url)
    except Unavailable as error:
        raise NotUpgraded(f"The database {where} is not usable: {error.why}.") from None
    except ValueError as error:
        raise NotUpgraded(f"WALLET_DATABASE_URL: {error}.") from None
    if at is not None and is_newer(at):
        raise NotUpgraded(
            f"The database {where} is at revision {at}, and this version knows none behind "
            f"{latest()}: run the version that upgraded it."
        )
    return at


def _refuse_development(settings: Settings, at: str | None) -> None:
    """Refuse what no upgrade leads on from. Errors: `NotUpgraded`."""
    if at is not None and is_before_first(at):
        where = database_name(settings.database_url)
        raise NotUpgraded(
            f"The database {where} is at revision {at}, of a development version from which no "
            f"upgrade leads to {latest()}: begin with an empty one."
        )


async def upgraded(settings: Settings, *, older: bool = False) -> None:
    """Look whether the database is at this version's schema, or at any where an `older` one does,
    and write nothing. Errors: `NotUpgraded`.
    """
    at = await _revision(settings)
    if is_enough(at) or (older and at is not None):
        return
    _refuse_development(settings, at)
    state = "missing or empty" if at is None else f"at revision {at}, and {latest()} is needed"
    where = database_name(settings.database_url)
    raise NotUpgraded(f"The database {where} is {state}: run `wallet db upgrade` first.")


async def ensure_schema(settings: Settings) -> None:
    """Bring a SQLite file up to date, and an empty PostgreSQL; one that holds data is upgraded by
    its operator. Errors: `NotUpgraded`.
    """
    url, at = settings.database_url, await _revision(settings)
    if is_enough(at):
        return
    _refuse_development(settings, at)
    if at is not None and not url.startswith("sqlite:///"):
        await upgraded(settings)
    await _migrate(url)


async def _migrate(url: str) -> None:
    """Run the missing revisions, all or none. Errors: `NotUpgraded`."""
    # The migration tools take long to load.
    from storage.schema import migrate

    try:
        await anyio.to_thread.run_sync(migrate.upgrade, url)
    except Unavailable as error:
        raise NotUpgraded(
            f"The database {database_name(url)} was not upgraded: {error.why}. "
            "It is as it was; run it again."
        ) from None


async def upgrade_due(settings: Settings) -> tuple[bool, str]:
    """Whether an upgrade is due, and the sentence that says so; nothing is written. Errors:
    `NotUpgraded` where none leads to this version.
    """
    at, where = await _revision(settings), database_name(settings.database_url)
    _refuse_development(settings, at)
    if is_enough(at):
        state = (
            "as this version needs it" if at == latest() else "a later one that this version knows"
        )
        return False, f"The database {where} is at revision {at}, {state}."
    state = "missing or empty" if at is None else f"at revision {at}, and {latest()} is needed"
    return True, f"The database {where} is {state}: `wallet db upgrade` brings it there."


async def upgrade_database(settings: Settings) -> None:
    """Bring any database to this version's schema. Errors: `NotUpgraded`."""
    is_due, _ = await upgrade_due(settings)
    if is_due:
        await _migrate(settings.database_url)
