"""A PostgreSQL cluster that can be killed, stopped in the middle, restarted, copied and promoted. It commits durably."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from tests.databases import (
    _as_user,
    _binaries,
    _die_with_parent,
    _initialised,
    _quick_folder,
    _reachable,
    _run,
    _sql,
)
from tests.ports import free_port
from tests.waiting import STUCK_S

OPTIONS = (
    "shared_buffers=32MB", "max_connections=100", "unix_socket_directories=", "listen_addresses=127.0.0.1",
    "wal_level=replica", "max_wal_senders=4", "hot_standby=on", "fsync=on", "synchronous_commit=on",
)  # fmt: skip


@dataclass
class Cluster:
    """One server and its folder; the port stays the same over restarts."""

    binaries: Path
    data: Path
    port: int
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    frozen: list[int] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Without a database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start, and wait for an answer; a server that recovers is waited for."""
        told = [o for text in (*OPTIONS, *self.options, f"port={self.port}") for o in ("-c", text)]
        until = time.monotonic() + STUCK_S
        while True:
            # One that was killed leaves its file behind; no process of it is left (`kill`).
            (self.data / "postmaster.pid").unlink(missing_ok=True)
            with (self.data.parent / "server.log").open("ab") as log:
                self.process = subprocess.Popen(
                    [self.binaries / "postgres", "-D", self.data, *told],
                    stdout=log, stderr=log, cwd="/", preexec_fn=_die_with_parent, **_as_user(),
                )  # fmt: skip
            while self.process.poll() is None:
                with suppress(OSError, asyncpg.PostgresError, TimeoutError):
                    _run(_sql(self.url + "/postgres", "SELECT 1"))
                    return
                time.sleep(0.05)
            if time.monotonic() > until:
                raise RuntimeError((self.data.parent / "server.log").read_text()[-2_000:])

    def _all(self) -> list[int]:
        """The server and its children, those that we started."""
        assert self.process is not None
        pid = self.process.pid
        children = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                    children.append(int(stat.parent.name))
        return [pid, *children]

    def _send(self, pids: list[int], what: signal.Signals) -> None:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, what)

    def kill(self) -> None:
        """End all of it at once, as a machine does that loses its power."""
        assert self.process is not None
        everything = self._all()
        self._send(everything, signal.SIGKILL)
        self.process.wait()
        while any(Path(f"/proc/{pid}/stat").exists() and not _gone(pid) for pid in everything[1:]):
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop it in order; connections are cut."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(STUCK_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def freeze(self) -> None:
        """Let every process of it stand still."""
        self.frozen = self._all()
        self._send(self.frozen, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let them go on."""
        self._send(self.frozen, signal.SIGCONT)
        self.frozen = []

    def run(self, *command: object) -> None:
        """Run one of PostgreSQL's own programs."""
        program, *rest = command
        subprocess.run(
            [self.binaries / str(program), *map(str, rest)], check=True, capture_output=True, cwd="/", timeout=STUCK_S, **_as_user(),
        )  # fmt: skip


def _gone(pid: int) -> bool:
    """A zombie waits for its parent and does nothing any more."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


def program(name: str) -> Path | None:
    """One of PostgreSQL's programs, beside its server."""
    found = _binaries()
    return found / name if found and (found / name).exists() else None


@contextmanager
def clusters(count: int, *, folder: Path | None = None) -> Iterator[list[Cluster]]:
    """The first is initialised and runs; the others have a folder and a port only."""
    binaries = _binaries()
    if binaries is None:
        raise RuntimeError("no PostgreSQL binaries")
    home = Path(tempfile.mkdtemp(prefix="wallet-campaign-", dir=folder or _quick_folder()))
    home.chmod(0o755)
    made: list[Cluster] = []
    try:
        reachable = _reachable(binaries, home)
        for n in range(count):
            own = home / str(n)
            own.mkdir()
            if os.geteuid() == 0:
                shutil.chown(own, user="nobody")
            data = _initialised(own, reachable) if n == 0 else own / "data"
            made.append(Cluster(reachable, data, free_port()))
        made[0].start()
        yield made
    finally:
        for one in made:
            if one.process is not None and one.process.poll() is None:
                one.thaw()
                one.kill()
        shutil.rmtree(home, ignore_errors=True)
