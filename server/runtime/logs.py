"""Logging of a process: its destination, its format, and the secrets that no line contains."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, MutableMapping
from copy import copy
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import orjson

from server.settings import Settings
from storage.errors import Unavailable
from tools.model.telemetry import current_log_context

if TYPE_CHECKING:
    from structlog.typing import Processor

TEXT: Final = "%(asctime)s %(levelname)s %(name)s %(message)s"
HIDDEN: Final = "***"
# What a line may say beside its text; nothing else that a library hangs on a record is shown.
FIELDS: Final = ("method", "route", "status", "ms")
# Our own credentials by their form, and whatever travels as one.
_CREDENTIALS: Final = (
    r"\b(?:ak|kk|dk|ws)_[A-Za-z0-9_-]{43}",
    r"\bwhsec_[A-Za-z0-9+/=_-]{16,}",
    r"(?i:(?<=bearer ))[^\s\"',;]{8,}",
)
# What stands in each of them, in small letters.
_MARKS: Final = ("ak_", "kk_", "dk_", "ws_", "whsec_", "bearer ")
LEAST_SECRET: Final = 8


def prepare_logging(settings: Settings) -> None:
    """Log to stderr; stdout belongs to what a command prints, and to MCP on stdio."""
    inner = _as_json() if settings.log_format == "json" else _AsText(TEXT)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter(inner, secrets_of(settings)))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler])
    # A line names neither its thread nor its process: they are not asked for at every request.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False


class RedactingFormatter(logging.Formatter):
    """A formatter whose lines hold no secret, known by its form or by the settings' values."""

    def __init__(self, inner: logging.Formatter, secrets: Iterable[str] = ()):
        super().__init__()
        known = sorted(set(secrets), key=len, reverse=True)
        self._inner = inner
        self._marks = (*_MARKS, *(secret.lower() for secret in known))
        self._never = re.compile("|".join([*map(re.escape, known), *_CREDENTIALS]))

    def format(self, record: logging.LogRecord) -> str:
        """The line, whole; of the database's trouble a sentence, as where it went wrong in our code
        says nothing of it.
        """
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, Unavailable):
            record = copy(record)
            record.msg, record.args = f"{record.getMessage()}: the database: {error.why}", None
            record.exc_info = record.exc_text = None
        line = self._inner.format(record)
        small = line.lower()
        # Nearly every line has none of them, and the search for all of them looks at each letter.
        for mark in self._marks:
            if mark in small:
                return self._never.sub(HIDDEN, line)
        return line


class _AsText(logging.Formatter):
    """A line for people; what it is about stands behind it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, with names of request, operation, mandate where there are any."""
        record.message = record.getMessage()
        names = "".join(f" {name}={value}" for name, value in current_log_context().items())
        line = super().format(record)
        first, end, rest = line.partition("\n")
        return f"{first}{names}{end}{rest}"


def secrets_of(settings: Settings) -> list[str]:
    """The settings' own secrets: keys, passwords, and node addresses behind their host."""
    keys = (settings.keeper_private_key, settings.service_user_key, settings.webhook_key)
    secrets = [key.get_secret_value() for key in keys if key is not None]
    secrets += [key.removeprefix("0x") for key in secrets]
    for chain in settings.chains.values():
        for url in (chain.rpc_url, chain.paymaster_url, *chain.rpc_urls.split(",")):
            secrets += _behind_host(url or "")
    for url in (settings.database_url, settings.database_read_url or ""):
        secrets += _of_database(url)
    return [secret for secret in secrets if len(secret) >= LEAST_SECRET]


def _of_database(url: str) -> list[str]:
    """The secret parts of a database's address; all before its last @ may be a password."""
    before, _, _ = url.partition("://")[2].rpartition("@")
    passwords = [before.partition(":")[2], *re.findall(r"password=([^&#]*)", url)]
    return passwords + [unquote(one) for one in passwords]


def _behind_host(url: str) -> list[str]:
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    values = [value for _, value in parse_qsl(parts.query)]
    return [parts.path + query, parts.path.rpartition("/")[2], *values, parts.password or ""]


def _as_json() -> logging.Formatter:
    """One JSON object a line: time, level, logger, event, and what it is about."""
    # It takes long to load, and only processes that were asked for it need it.
    import structlog
    from structlog.stdlib import ExtraAdder, ProcessorFormatter, add_log_level, add_logger_name

    before: list[Processor] = [
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        add_log_level,
        add_logger_name,
        ExtraAdder(allow=FIELDS),
        _add_context,
    ]
    return ProcessorFormatter(
        foreign_pre_chain=before,
        processors=[
            ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=_line),
        ],
    )


def _add_context(
    _: object, __: str, event: MutableMapping[str, object]
) -> MutableMapping[str, object]:
    event.update(current_log_context())
    return event


def _line(event: object, **_: object) -> str:
    return orjson.dumps(event, default=repr).decode()
