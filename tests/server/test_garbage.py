"""Memory that strangers made a process take goes back to the system, and a start is not looked through."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# Blocks as a connection reads them, each with a small one behind it that stays.
PLAY = """
from server.runtime.gc_tuning import release_large_blocks
from pathlib import Path
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
if {gives}: release_large_blocks()
bytearray(300_000)
before, small = resident(), []
large = []
for _ in range(400):
    large.append(bytearray(b"x") * 250_000)
    small.append([bytearray(b"x") * 2_000])
del large
print(resident() - before)
"""


def left(gives: bool) -> int:
    done = subprocess.run(
        [sys.executable, "-c", PLAY.format(gives=gives)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another heap")
def test_large_blocks_go_back_though_small_ones_stay() -> None:
    assert left(gives=False) > 50_000_000
    assert left(gives=True) < 10_000_000


def test_the_command_line_is_loaded_without_looking_for_garbage() -> None:
    code = (
        "import gc; from server.runtime.gc_tuning import loading\n"
        "runs = []; gc.callbacks.append(lambda phase, _: runs.append(phase))\n"
        "with loading():\n import server.cli.main\n seen = len(runs)\n"
        "print(seen, gc.isenabled(), gc.get_freeze_count() > 10_000)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "True", "True"]
