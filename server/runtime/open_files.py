"""Open files: the limit raised to the system maximum; a shortage is logged once a minute."""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
from collections.abc import Callable, Mapping

from http_shim.seldom import Seldom

log = logging.getLogger("wallet.process")


def raise_file_limit() -> None:
    """Raise the soft limit of open files to the hard one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def say_once_a_minute(loop: asyncio.AbstractEventLoop) -> None:
    """Say once a minute that files are short, in place of a traceback for each connection."""
    loop.set_exception_handler(_Short(loop.time))


class _Short:
    """The event loop's handler of errors outside any request."""

    def __init__(self, now: Callable[[], float]):
        self._seldom = Seldom(now)

    def __call__(self, loop: asyncio.AbstractEventLoop, context: Mapping[str, object]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in (errno.EMFILE, errno.ENFILE):
            loop.default_exception_handler(dict(context))
        elif number := self._seldom.count():
            why = "too many open files: %d connections could not be taken; raise LimitNOFILE"
            log.error(why, number)
