"""SDK log filter: keeps the content of requests out of the MCP library's own log lines."""

from __future__ import annotations

import logging
from typing import Final

from pydantic import ValidationError


class _NoBodies(logging.Filter):
    """Takes what a caller sent out of the SDK's own log lines."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let the line pass without the error that quotes its input."""
        if record.exc_info and isinstance(record.exc_info[1], (ValidationError, ValueError)):
            record.exc_info, record.exc_text = None, None
        return True


_QUOTING: Final = (
    "mcp.client.streamable_http",
    "mcp.server.sse",
    "mcp.server.stdio",
    "mcp.server.streamable_http",
)


def install_log_filter() -> None:
    """Keep the SDK from logging what callers send: at DEBUG it writes each message, a refused
    secret too, at INFO lines of every session, and at WARNING one for each caller of whom it thinks
    ill, who has been answered and counted by then. Asked for less, it says less.
    """
    level = max(logging.ERROR, logging.getLogger().level)
    for name in ("mcp", "sse_starlette"):
        logging.getLogger(name).setLevel(level)
    for name in _QUOTING:
        logger = logging.getLogger(name)
        if not any(isinstance(f, _NoBodies) for f in logger.filters):
            logger.addFilter(_NoBodies())
