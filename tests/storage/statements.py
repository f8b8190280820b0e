"""What a PostgreSQL server says it was asked: the statements of one database, out of the server's own log."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

_STATEMENT = re.compile(r"LOG:  (?:statement|execute [^:]*): (.*)")


@dataclass
class Log:
    """The log from a moment on."""

    path: Path
    begin: int

    def statements(self) -> list[str]:
        """The first lines of the statements since then, and from here on those after this call."""
        with self.path.open() as log:
            log.seek(self.begin)
            told = log.read()
            self.begin = log.tell()
        return [found[1] for line in told.splitlines() if (found := _STATEMENT.search(line))]


async def logging(url: str) -> Log:
    """Make the server tell every statement on the database of this URL, to those who connect from now on."""
    connection = await asyncpg.connect(url)
    try:
        name = urlsplit(url).path.removeprefix("/")
        await connection.execute(f"ALTER DATABASE {name} SET log_statement = 'all'")
        data = Path(await connection.fetchval("SHOW data_directory"))
    finally:
        await connection.close()
    log = data.parent / "server.log"
    return Log(log, log.stat().st_size)
