"""What tests fetch once and keep under build/: safe for workers that want it at the same time."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[1]
# A registry that answers slowly is none of the tests' matters.
_FETCHING_S: Final = 1_200


@contextmanager
def kept(name: str) -> Iterator[Path]:
    """A folder that nobody else fills meanwhile."""
    folder = _ROOT / "build" / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{name}").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield folder


def pip(*arguments: str | Path, cwd: Path | None = None) -> None:
    """Run this environment's pip. Errors: CalledProcessError."""
    command = [sys.executable, "-m", "pip", *map(str, arguments)]
    subprocess.run(command, cwd=cwd, check=True, timeout=_FETCHING_S)


def python_of(name: str) -> str:
    """A Python of its own with what `locks/<name>.txt` names, made once.

    It has no pip: this one installs into it, and leaves compiling to who imports.
    """
    lock = _ROOT / "locks" / f"{name}.txt"
    with kept(name) as folder:
        python, stamp = folder / "bin" / "python", folder / ".locked"
        if not stamp.exists() or stamp.stat().st_mtime < lock.stat().st_mtime:
            venv.create(folder, clear=True)
            pip("--python", python, "install", "-q", "--no-compile", "--require-hashes", "-r", lock)
            stamp.touch()
    return str(python)
