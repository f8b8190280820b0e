"""Ports for servers that have to know theirs before they start.

A port below the range from which the kernel gives ports to whoever asks for any (`ip(7)`,
`ip_local_port_range`): a number out of that range can be taken by any connection of another test between
the question and the server's start. Each worker of a run has numbers of its own.
"""

from __future__ import annotations

import itertools
import os
import re
import secrets
import socket
from pathlib import Path
from typing import Final

_FIRST: Final = 12_000
_WORKERS: Final = 16
_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")


def _own() -> range:
    ends = int(_RANGE.read_text().split()[0]) if _RANGE.exists() else 32_768
    each = (ends - _FIRST) // _WORKERS
    number = re.search(r"\d+$", os.environ.get("PYTEST_XDIST_WORKER", ""))
    start = _FIRST + (int(number[0]) if number else _WORKERS - 1) % _WORKERS * each
    return range(start, start + each)


_NUMBERS: Final = _own()
_turns: Final = itertools.count(secrets.randbelow(len(_NUMBERS)))


def free_port() -> int:
    """A port on which nobody listens, never the same twice in a row. Errors: RuntimeError where
    none is left.
    """
    for turn in itertools.islice(_turns, len(_NUMBERS)):
        port = _NUMBERS[turn % len(_NUMBERS)]
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no port is free")
