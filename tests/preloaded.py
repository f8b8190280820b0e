"""`python -m server …` forked off a process that has loaded the product once: a start without a second of imports. So
are the agents of tests that start a script of theirs again and again.

What a test starts with `subprocess`, by itself or through asyncio or the MCP SDK, stays what it was: a process of its own
and a child of the test's, with its own arguments, environment, folder, standard streams, signals and exit status. Only
its interpreter and its modules are there before. Where a start is told anything else (another tree of the product, options
of the interpreter, `preexec_fn`, other open files), and with GENUINE_STARTS=1, it is an `exec` as ever.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import runpy
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
_LENGTH: Final = struct.Struct("!I")
_PR_SET_CHILD_SUBREAPER: Final = 36
# Of subprocess's `_fork_exec`: what follows the standard streams and the pipe for errors of `exec`, where nothing is
# asked for: signals restored, no group or user of its own, no `preexec_fn`; a session of its own may be.
_PLAIN: Final = (True, -1, None, None, None, -1, None)
# Variables that an interpreter, the linker or a library reads before the product's first line.
_EARLY: Final = ("PYTHON", "LD_", "MALLOC_", "OTEL_", "OPENSSL_")
_PRODUCT: Final = (
    "app.screens", "server.application", "server.cli.main", "server.cli.maintenance", "server.lazy.lazy_mcp",
    "server.mcp_api.http_app", "server.mcp_api.local_signer", "server.mcp_api.proxy", "server.runtime.keeper_process",
    "server.runtime.serve", "server.runtime.stdio", "server.signer.daemon", "server.wiring", "tools.catalogue",
    "aiosqlite", "asyncpg",
)  # fmt: skip
_AGENTS: Final = ("aiohttp", "eth_abi", "eth_account", "requests", "web3")
_SCRIPTS: Final = {str(ROOT / "docs/examples/agent.py"), str(ROOT / "tests/conform/careless.py")}


# -- the process that has loaded it -------------------------------------------------------------------------------


def _received(sock: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    first, files, _, _ = socket.recv_fds(sock, _LENGTH.size, 3)
    if not first:
        return None
    whole = bytearray()
    while len(whole) < _LENGTH.unpack(first)[0]:
        whole += sock.recv(65_536)
    return json.loads(whole), files


def _twice_forked(sock: socket.socket) -> dict[str, Any]:
    """Fork for each one who asks; returns in the new process only, with what it was told.

    The process between ends at once, so that the new one becomes a child of the test's process, which
    reaps the orphans of its descendants (`prctl(2)`, PR_SET_CHILD_SUBREAPER).
    """
    while True:
        asked = _received(sock)
        if asked is None:
            os._exit(0)
        told, files = asked
        read, write = os.pipe()
        if (between := os.fork()) == 0:
            if (pid := os.fork()) != 0:
                os.write(write, _LENGTH.pack(pid))
                os._exit(0)
            for number, file in enumerate(files):
                os.dup2(file, number)
            for file in (*files, read, write):
                if file > 2:
                    os.close(file)
            sock.close()
            return told
        os.close(write)
        os.waitpid(between, 0)
        sock.sendall(os.read(read, _LENGTH.size))
        for file in (*files, read):
            os.close(file)


def _serve(number: int, loaded: Sequence[str]) -> list[str]:
    """Load modules and fork on request; in each process that was forked, what it is to run."""
    import gc
    import importlib

    gc.disable()
    for name in loaded:
        importlib.import_module(name)
    gc.freeze()
    gc.enable()
    # A terminal's is for the test's process.
    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)
    told = _twice_forked(socket.socket(fileno=number))
    signal.signal(signal.SIGINT, interrupted)
    if told["alone"]:
        os.setsid()
    os.environ.clear()
    os.environ.update(told["env"])
    time.tzset()
    os.chdir(told["cwd"])
    return list(told["arguments"])


# -- the test's process -------------------------------------------------------------------------------------------


@dataclass
class _Server:
    """The process that forks, and the socket on which it is asked to."""

    sock: socket.socket
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def forked(self, told: dict[str, Any], files: Sequence[int]) -> int:
        whole = json.dumps(told).encode()
        with self.one_at_a_time:
            socket.send_fds(self.sock, [_LENGTH.pack(len(whole))], files)
            self.sock.sendall(whole)
            (pid,) = _LENGTH.unpack(self.sock.recv(_LENGTH.size))
        return int(pid)


@cache
def _server(loaded: tuple[str, ...]) -> _Server:
    """Started when it is first asked for; it ends when its socket is closed, as this process does."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no reaper of orphans")
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-m", "tests.preloaded", str(theirs.fileno()), *loaded]
        env = {"PATH": os.defpath, "PYTHONPATH": str(ROOT)}
        # Its standard streams are pipes, as those of most that come of it.
        process = subprocess.Popen(
            command, env=env, cwd=ROOT, pass_fds=[theirs.fileno()], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )  # fmt: skip
    atexit.register(_ended, ours, process)
    return _Server(ours)


def _ended(sock: socket.socket, process: subprocess.Popen[bytes]) -> None:
    sock.close()
    with process:
        process.wait()


def _loaded(command: Sequence[Any]) -> tuple[str, ...] | None:
    """What is loaded before such a command is run; None for one that is no matter of this file."""
    if command[0] != sys.executable:
        return None
    if list(command[1:3]) == ["-m", "server"]:
        return _PRODUCT
    return _AGENTS if command[1:] and str(command[1]) in _SCRIPTS else None


def _forked(told: Sequence[Any]) -> int | None:
    """The process that `_fork_exec` was asked for, or None where it has to start that itself."""
    arguments, _, _, kept, cwd, variables = told[:6]
    p2cread, _, _, c2pwrite, _, errwrite, _, failed, restored, alone = told[6:16]
    loaded = _loaded(arguments)
    if loaded is None or (restored, *told[16:22]) != _PLAIN:
        return None
    if list(kept) != [failed] or not os.path.isdir(cwd := os.fspath(cwd or os.getcwd())):
        return None
    env = dict(os.environ)
    if variables is not None:
        env = dict(os.fsdecode(v).split("=", 1) for v in variables)
    early = {k: v for k, v in env.items() if k.startswith(_EARLY)}
    if early.items() - {("PYTHONPATH", str(ROOT)), ("PYTHONDONTWRITEBYTECODE", "1")}:
        return None
    # Where none is given it is the test's own.
    streams = [max(n, own) for own, n in enumerate((p2cread, c2pwrite, errwrite))]
    asked = {
        "arguments": list(map(str, arguments[1:])),
        "cwd": cwd,
        "env": env,
        "alone": bool(alone),
    }
    return _server(loaded).forked(asked, streams)


def pytest_configure() -> None:
    """From here on `subprocess` starts the product from the process that has loaded it."""
    genuine: Callable[..., int] | None = getattr(subprocess, "_fork_exec", None)
    if genuine is None or sys.platform != "linux" or os.environ.get("GENUINE_STARTS"):
        return

    def fork_exec(*told: Any) -> int:
        pid = _forked(told)
        return genuine(*told) if pid is None else pid

    subprocess._fork_exec = fork_exec  # type: ignore[attr-defined]


if __name__ == "__main__":
    asked = _serve(int(sys.argv[1]), sys.argv[2:])
    if asked[0] == "-m":
        sys.path[0], sys.argv[:] = os.getcwd(), asked[1:]
        runpy.run_module(asked[1], run_name="__main__", alter_sys=True)
    else:
        sys.path[0], sys.argv[:] = str(Path(asked[0]).parent), asked
        runpy.run_path(asked[0], run_name="__main__")
