"""What a serving process has loaded once it can serve, looked at in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

from tests.waiting import STUCK_S

CODE = """
import sys
import app.screens, server.application, server.cli.main, server.lazy.lazy_mcp, server.mcp_api.http_app
import server.runtime.keeper_process, server.runtime.serve, server.runtime.stdio, server.wiring, tools.catalogue
from server.settings import Settings
from server.tracing import tracer_of
assert tracer_of(Settings()) is None
print(*sys.modules)
"""


@cache
def by_serving() -> frozenset[str]:
    """The names of all modules of a process that serves HTTP and MCP, keeps, and traces nothing."""
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True, timeout=STUCK_S
    )
    return frozenset(done.stdout.split())
