"""What every process does first: the schema; what every command does: it looks at it."""

from __future__ import annotations

import anyio

from server.settings import Settings
from storage.revision import is_latest, latest, on_postgres, revision


class NotUpgraded(Exception):
    """The database is not at this version's schema; the text says what to do."""


async def upgraded(settings: Settings, *, older: bool = False) -> None:
    """Look whether the database is at this version's schema, or at any where an `older` one does,
    and write nothing.

    Errors: `NotUpgraded`.
    """
    at = await revision(settings.database_url)
    if at == latest() or (older and at is not None):
        return
    where = settings.database_url.partition("@")[2] or settings.database_url
    state = "missing or empty" if at is None else f"at revision {at}, and {latest()} is needed"
    raise NotUpgraded(f"The database {where} is {state}: run `wallet db upgrade` first.")


async def up_to_date(settings: Settings) -> None:
    """Bring a SQLite file up to date, and an empty PostgreSQL; one that holds data is upgraded by
    its operator.
    """
    url = settings.database_url
    if url.startswith("sqlite:///"):
        if is_latest(url.removeprefix("sqlite:///")):
            return
    elif await on_postgres(url) is not None:
        return
    # The migration tools take long to load.
    from storage import migrate

    await anyio.to_thread.run_sync(migrate.upgrade, url)
