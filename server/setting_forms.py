"""Setting forms: what a setting has to look like, and what it needs on this machine."""

from __future__ import annotations

import re
import tomllib
from errno import EILSEQ
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from pydantic import AfterValidator, ValidationInfo

from domain.mandates.markets import from_config

# Scheme, host, port and path of RFC 3986, with no user, query or fragment.
_PRIVATE_KEY: Final = re.compile(r"[0-9a-fA-F]{64}")
_CURVE_ORDER: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
BASE_URL: Final = re.compile(r"https?://[A-Za-z0-9._~\[\]:-]+(/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?")

# unix(7) has room for 108 with the zero at the end, the BSDs for 104.
SOCKET_PATH_BYTES: Final = 103


def is_private_key(text: str) -> bool:
    """Whether a text is a private key of secp256k1, in hex."""
    digits = text.removeprefix("0x")
    return _PRIVATE_KEY.fullmatch(digits) is not None and 0 < int(digits, 16) < _CURVE_ORDER


def _can_follow(value: str, info: ValidationInfo) -> str:
    postgres = ("postgresql://", "postgres://")
    if not (value.startswith(postgres) and info.data.get("database_url", "").startswith(postgres)):
        raise ValueError("a standby follows a PostgreSQL: both start with postgresql://")
    return value


FOLLOWS: Final = AfterValidator(_can_follow)


def _is_level(value: str) -> str:
    if value.upper() not in LEVELS:
        raise ValueError(f"it is one of {', '.join(LEVELS)}")
    return value


LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
LEVEL: Final = AfterValidator(_is_level)


def text_of(path: Path) -> str:
    """The text of a file that a setting names. Errors: OSError, where it holds none too."""
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        # What is no text is not shown: it may be a secret.
        raise OSError(EILSEQ, "it holds no text", str(path)) from None
    if text.startswith("\ufeff"):
        mark = "it begins with a byte order mark: save it as UTF-8 without one"
        raise OSError(EILSEQ, mark, str(path))
    return text


NO_OTLP: Final = "what sends them is missing: pip install 'mandate-wallet[otel]'"


def has_otlp() -> bool:
    """Whether the extra `otel` is installed."""
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


def check_markets(text: str) -> None:
    """Look whether a text is a markets file. Errors: ValueError, with what is wrong."""
    data = tomllib.loads(text)
    if unknown := sorted(data.keys() - {"as_of", "markets"}):
        raise ValueError(f"the file has {', '.join(unknown)} beside its [[markets]]")
    rows = data.get("markets", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("markets are tables: [[markets]]")
    from_config(rows)
