"""What every process does first: the schema."""

from __future__ import annotations

import anyio

from server.settings import Settings
from storage.revision import is_latest, on_postgres


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
