"""Retry logging: one log line for each retry, with or without optional libraries installed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import stamina
from stamina.instrumentation import RetryDetails, set_on_retry_hooks

log = logging.getLogger("wallet.retry")


def tell_retries() -> None:
    """Tell them by the standard library's logging: by default the line would go to stdout, which
    belongs to what a command prints, and to MCP on stdio.
    """
    set_on_retry_hooks([_log_retry])


def _log_retry(details: RetryDetails) -> None:
    """The kind of fault alone: its text may quote an address that holds a key."""
    kind, wait_s = type(details.caused_by).__name__.lstrip("_"), details.wait_for
    log.info("try %d failed (%s), again in %.2f s", details.retry_num, kind, wait_s)


@contextmanager
def without_retries() -> Iterator[None]:
    """Switch retries off inside the context: a check reports the first fault at once."""
    before = stamina.is_active()
    stamina.set_active(False)
    try:
        yield
    finally:
        stamina.set_active(before)
