"""Fixtures that give a test a database of its own: a SQLite file, or a database on a PostgreSQL that the tests start."""

from __future__ import annotations

import asyncio
import ctypes
import importlib.util
import itertools
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import asyncpg
import pytest

from storage.errors import DatabaseTimeouts
from storage.schema import migrate
from storage.sqlite_files import sqlite_path
from storage.store import Store, open_store
from tests.ports import free_port

# For what no fault of the database is played in: a machine that stands still is none.
PATIENT: Final = DatabaseTimeouts(wait_ms=120_000, statement_ms=120_000)
_START_S: Final = 120
_TRIES: Final = 5
_QUICK: Final = (
    "fsync=off", "full_page_writes=off", "synchronous_commit=off", "shared_buffers=32MB", "max_connections=100",
    "deadlock_timeout=100ms", "unix_socket_directories=", "listen_addresses=127.0.0.1",
)  # fmt: skip
_names = itertools.count()


def _quick_folder() -> Path | None:
    """Memory, where there is plenty of it: a database a test is made many times faster there."""
    memory = Path("/dev/shm")  # noqa: S108 - the folder in it is made by mkdtemp
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > 2**30 else None


# pytest makes `tmp_path` here.
if _folder := _quick_folder():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_folder))


# -- PostgreSQL ----------------------------------------------------------------------------------------------------


def _binaries() -> Path | None:
    """The folder of `initdb` and `postgres`: PATH, the system's packages, the `pgserver` wheel."""
    on_path = shutil.which("initdb")
    if on_path and shutil.which("postgres"):
        return Path(on_path).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if installed:
        return installed[-1].parent
    # Found, not imported: importing it warns where XDG_RUNTIME_DIR is not set.
    wheel = importlib.util.find_spec("pgserver")
    return Path(wheel.origin).parent / "pginstall" / "bin" if wheel and wheel.origin else None


def _as_user() -> dict[str, Any]:
    """PostgreSQL refuses to run as root: there it runs as nobody."""
    return (
        {"user": "nobody", "group": os.stat("/").st_gid, "extra_groups": []}
        if os.geteuid() == 0
        else {}
    )


def _die_with_parent() -> None:
    """A killed test run takes its server along (Linux: PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGINT)


def _reachable(binaries: Path, home: Path) -> Path:
    """The binaries where the other user can read them: a virtual environment may lie in a private folder."""
    with suppress(PermissionError):
        subprocess.run(
            [binaries / "postgres", "--version"],
            capture_output=True,
            cwd="/",
            check=True,
            **_as_user(),
        )
        return binaries
    package = binaries.parents[1]
    # The wheel's libraries lie beside its package and are found by a path relative to the binaries.
    for folder in (package, package.with_name(package.name + ".libs")):
        if folder.is_dir():
            shutil.copytree(folder, home / folder.name, symlinks=True)
    return home / package.name / binaries.relative_to(package)


def _initialised(home: Path, binaries: Path) -> Path:
    data = home / "data"
    data.mkdir()
    if os.geteuid() == 0:
        for path in (home, data):
            shutil.chown(path, user="nobody")
    subprocess.run(
        [binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"],
        check=True, capture_output=True, cwd="/", **_as_user(),
    )  # fmt: skip
    return data


def _started(
    binaries: Path, data: Path, settings: Iterable[str] = _QUICK
) -> tuple[subprocess.Popen[bytes], str]:
    for _ in range(_TRIES):
        port = free_port()
        options = [o for text in (*settings, f"port={port}") for o in ("-c", text)]
        with (data.parent / "server.log").open("wb") as log:
            server = subprocess.Popen(
                [binaries / "postgres", "-D", data, *options],
                stdout=log, stderr=log, cwd="/", preexec_fn=_die_with_parent, **_as_user(),
            )  # fmt: skip
        url = f"postgresql://postgres@127.0.0.1:{port}"
        if _answers(server, url):
            return server, url
    raise RuntimeError(
        "PostgreSQL does not start: "
        + (data.parent / "server.log").read_text(errors="replace")[-2000:]
    )


def _answers(server: subprocess.Popen[bytes], url: str) -> bool:
    until = time.monotonic() + _START_S
    while server.poll() is None and time.monotonic() < until:
        try:
            _run(_sql(url + "/postgres", "SELECT 1"))
        except (OSError, asyncpg.PostgresError):
            time.sleep(0.05)
        else:
            return True
    _stop(server)
    return False


def _stop(server: subprocess.Popen[bytes]) -> None:
    if server.poll() is None:
        server.send_signal(signal.SIGINT)
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


async def _sql(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url, timeout=_START_S)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


def _run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def partitions() -> str:
    """The statements of docs/scaling.md that divide the ledger by mandate. PARTITIONED=1 gives them to
    every database of a run: what is tested of the one schema is so tested of the other.
    """
    page = (Path(__file__).parents[1] / "docs" / "scaling.md").read_text()
    (statements,) = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    return str(statements)


@pytest.fixture(scope="session")
def pg_server() -> Iterator[str]:
    """A PostgreSQL server for this test session, with a migrated template; yields its URL without a database."""
    binaries = _binaries()
    if binaries is None:
        pytest.fail(
            "no PostgreSQL binaries: neither on PATH, nor in /usr/lib/postgresql, nor the pgserver wheel"
        )
    with running_postgres(binaries, _QUICK, _quick_folder()) as url:
        _run(_sql(url + "/postgres", "CREATE DATABASE template_wallet"))
        migrate.upgrade(url + "/template_wallet")
        if "PARTITIONED" in os.environ:
            _run(_sql(url + "/template_wallet", partitions()))
        yield url


@contextmanager
def running_postgres(
    binaries: Path, settings: Iterable[str], folder: Path | None = None
) -> Iterator[str]:
    """A new PostgreSQL server with some settings, in a folder of its own; its URL without a database."""
    home = Path(tempfile.mkdtemp(prefix="wallet-pg-", dir=folder))
    try:
        home.chmod(0o755)
        reachable = _reachable(binaries, home)
        server, url = _started(reachable, _initialised(home, reachable), settings)
        try:
            yield url
        finally:
            _stop(server)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def pg_admin(pg_server: str) -> Iterator[Callable[[str], object]]:
    """Runs a statement beside the databases of the tests, on one connection for the whole session: a new
    one costs the server a quarter of what a database for a test costs it.
    """
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(pg_server + "/postgres", timeout=_START_S))
        try:
            yield lambda statement: runner.run(connection.execute(statement))
        finally:
            runner.run(connection.close())


def _database(server: str, admin: Callable[[str], object], template: str) -> Iterator[str]:
    name = f"t{next(_names)}"
    # Copying files is ten times faster than the default of PostgreSQL 15, which writes every page to its log.
    admin(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
    try:
        yield f"{server}/{name}"
    finally:
        admin(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def pg_url(pg_server: str, pg_admin: Callable[[str], object]) -> Iterator[str]:
    """A fresh migrated database on PostgreSQL."""
    yield from _database(pg_server, pg_admin, "template_wallet")


@pytest.fixture
def empty_pg_url(pg_server: str, pg_admin: Callable[[str], object]) -> Iterator[str]:
    """A fresh database on PostgreSQL without any table."""
    yield from _database(pg_server, pg_admin, "template0")


# -- SQLite --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy from."""
    path = tmp_path_factory.mktemp("sqlite") / "template.sqlite"
    migrate.upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """A fresh migrated SQLite file."""
    path = tmp_path / "wallet.sqlite"
    shutil.copyfile(sqlite_template, path)
    return f"sqlite:///{path}"


# -- either --------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.pg)])
def database_url(request: pytest.FixtureRequest) -> str:
    """A fresh migrated database, once on each kind."""
    return str(request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "pg_url"))


# For a test whose world is on SQLite: what it writes, finds again and takes back is played on both.
engines: Final = pytest.mark.parametrize(
    "either_url", ["sqlite_url", pytest.param("pg_url", marks=pytest.mark.pg)], indirect=True
)


@pytest.fixture
def either_url(request: pytest.FixtureRequest) -> str:
    """A fresh migrated database: SQLite, and PostgreSQL too for a test with `engines`."""
    return str(request.getfixturevalue(getattr(request, "param", "sqlite_url")))


@pytest.fixture(
    params=[
        pytest.param("sqlite", marks=pytest.mark.play),
        pytest.param("postgresql", marks=pytest.mark.pg),
    ]
)
def processes_url(request: pytest.FixtureRequest) -> str:
    """A fresh migrated database for processes that share it: PostgreSQL, as several processes are run;
    in make plays also SQLite, whose writers take turns in one process as in two.
    """
    return str(request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "pg_url"))


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.pg)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without any table, once on each kind."""
    return (
        f"sqlite:///{tmp_path / 'empty.sqlite'}"
        if request.param == "sqlite"
        else str(request.getfixturevalue("empty_pg_url"))
    )


def database_of_development(url: str) -> None:
    """An empty database becomes one of a revision before the first that is shipped."""
    migrate.upgrade(url)
    earlier = "UPDATE alembic_version SET version_num = '0012'"
    if url.startswith("sqlite:///"):
        with closing(sqlite3.connect(sqlite_path(url))) as connection, connection:
            connection.execute(earlier)
    else:
        _run(_sql(url, earlier))


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Store]:
    """An open store on a fresh database, once on each kind."""
    opened = await open_store(database_url, PATIENT)
    try:
        yield opened
    finally:
        await opened.close()
