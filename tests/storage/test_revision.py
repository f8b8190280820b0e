"""A file is known to be up to date without the migration tools."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest
from alembic.script import ScriptDirectory

from storage.errors import Unavailable
from storage.schema import migrate, revision


def test_the_newest_revision_is_the_migrations_own() -> None:
    folder = Path(migrate.__file__).parents[1] / "migrations"
    assert revision.latest() == ScriptDirectory(str(folder)).get_current_head()


def test_only_a_file_at_that_revision_is_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    assert revision.on_sqlite(str(path)) is None
    path.write_bytes(b"")
    assert revision.on_sqlite(str(path)) is None
    path.unlink()
    assert not revision.is_newer("0001")
    assert revision.is_before_first("0001")
    migrate.upgrade(f"sqlite:///{path}")
    assert revision.on_sqlite(str(path)) == revision.latest()
    assert not revision.is_newer(revision.latest())
    assert not revision.is_before_first(revision.latest())
    assert revision.is_newer("9999")
    assert revision.is_newer("head")
    own = revision.latest()[:4]
    assert not revision.is_newer(f"9999_{own}")
    assert revision.is_enough(f"9999_{own}")
    assert revision.is_newer("9999_9998")
    assert not revision.is_enough("9999_9998")
    assert not revision.is_enough("0001")
    assert not revision.is_enough(None)


@pytest.mark.pg
@pytest.mark.anyio
async def test_a_server_tells_what_revision_it_is_at(
    pg_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert await revision.on_postgres(pg_url) == revision.latest()
    beside = await asyncpg.connect(pg_url)
    try:
        await beside.execute("CREATE ROLE stranger LOGIN")
        at = pg_url.partition("@")[2]
        with pytest.raises(Unavailable, match="its user lacks the rights for that"):
            await revision.on_postgres(f"postgresql://stranger@{at}")
        with pytest.raises(Unavailable, match="its address has an option that it does not know"):
            await revision.on_postgres(f"{pg_url}?sslmod=require")
        monkeypatch.setenv("HOME", str(tmp_path))  # where the certificate would be
        with pytest.raises(Unavailable, match="a file that it names is not there"):
            await revision.on_postgres(f"{pg_url}?sslmode=verify-full")
        await beside.execute("DELETE FROM alembic_version")
        with pytest.raises(Unavailable, match="only a part of this service's"):
            await revision.on_postgres(pg_url)
        await beside.execute("DROP TABLE alembic_version")
        with pytest.raises(Unavailable, match="only a part of this service's"):
            await revision.on_postgres(pg_url)
        await beside.execute("CREATE TABLE alembic_version (other TEXT)")
        with pytest.raises(Unavailable, match="only a part of this service's"):
            await revision.on_postgres(pg_url)
    finally:
        await beside.execute("DROP ROLE IF EXISTS stranger")
        await beside.close()


@pytest.mark.slow
def test_what_speaks_mcp_on_stdio_loads_no_chain_no_migration_and_no_web_server() -> None:
    heavy = (
        "web3",
        "eth_account",
        "eth",
        "alembic",
        "sqlalchemy",
        "aiohttp",
        "asyncpg",
        "siwe",
        "lark",
    )
    code = f"import sys, server.cli.main, server.runtime.stdio; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_a_server_on_sqlite_loads_no_driver_of_postgresql() -> None:
    code = "import sys, server.runtime.serve, server.application; print('asyncpg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
