"""Servers for this machine alone: which names lead here, and serving from a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from aiohttp import web

LOOPBACK_NAMES: Final = ("127.0.0.1", "::1", "localhost")


def is_of_this_machine(url: str) -> bool:
    """Whether a URL, or `//host:port`, names this machine."""
    try:
        return urlsplit(url).hostname in LOOPBACK_NAMES
    except ValueError:
        return False


@contextmanager
def served_in_thread(
    serve: Callable[[], Coroutine[Any, Any, tuple[web.AppRunner, str]]],
) -> Iterator[str]:
    """Serve from a thread of its own while the block runs; yields the base address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True, name="devtools-server")
    thread.start()
    try:
        runner, address = asyncio.run_coroutine_threadsafe(serve(), loop).result(10)
        try:
            yield address
        finally:
            asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
