"""What every process does first: the schema."""

from __future__ import annotations

import anyio

from server.settings import Settings
from storage.revision import is_latest


async def up_to_date(settings: Settings) -> None:
    """Bring a SQLite file up to date, and an empty PostgreSQL; one that holds data is upgraded by
    its operator.
    """
    url = settings.database_url
    on_file = url.startswith("sqlite:///")
    if on_file and is_latest(url.removeprefix("sqlite:///")):
        return
    # The migration tools take long to load.
    from storage import migrate

    if on_file or await anyio.to_thread.run_sync(migrate.current, url) is None:
        await anyio.to_thread.run_sync(migrate.upgrade, url)
