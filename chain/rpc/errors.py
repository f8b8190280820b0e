"""Node errors: a revert, a request too large, or a transient fault to retry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeAlias

# What a node sent: any value of JSON, of whatever form.
Json: TypeAlias = Any

_TRANSIENT: Final = (408, 425, 429, 500, 502, 503, 504)
_BUSY_CODES: Final = (-32005, -32097, 429)
_BUSY: Final = re.compile(
    r"rate limit|too many requests|request limit|request rate|capacity|^limit exceeded",
    re.IGNORECASE,
)
# Behind one address there may be several nodes, one of which has not seen the block that another
# just named.
_NOT_YET: Final = re.compile(
    r"header not found|unknown block|block not found|header for hash not found", re.IGNORECASE
)
_TOO_MUCH: Final = re.compile(
    r"range|too large|too big|exceed|more than|timeout|timed out|"
    r"query returned|response size|results|HTTP 4",
    re.IGNORECASE,
)
_REVERTED: Final = re.compile(
    r"revert|out of gas|gas required exceeds|invalid opcode|invalid jump|"
    r"stack (under|over)flow|vm exec|vm exception|EVM error",
    re.IGNORECASE,
)


class NodeError(Exception):
    """A JSON-RPC error that the node returned; `data` is a revert's return data."""

    def __init__(self, code: int, message: str, data: bytes | None):
        super().__init__(message)
        self.code, self.data = code, data

    @property
    def reverted(self) -> bool:
        """True where the EVM ran the call and it failed; other errors say nothing of the call."""
        return self.code == 3 or bool(self.data) or _REVERTED.search(str(self)) is not None

    @property
    def too_much(self) -> bool:
        """True where a smaller request may be answered."""
        return _TOO_MUCH.search(str(self)) is not None


class TransientNodeError(Exception):
    """A transient fault; `after_s` is the pause that the node asks for."""

    def __init__(self, reason: str, after_s: int | None = None):
        super().__init__(reason)
        self.reason, self.after_s = reason, after_s


class BlockNotYetSeen(TransientNodeError):
    """The node does not have the named block yet; the node is healthy."""


class NodeUnusable(Exception):
    """A permanent fault of a node, which a retry does not mend; `reason` describes it."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


def error_of_http(status: int, headers: Mapping[str, str]) -> Exception:
    """Map an HTTP status other than 200 to an error."""
    if status in _TRANSIENT:
        return TransientNodeError(f"HTTP {status}", retry_after(headers))
    if status in (400, 413):  # how some providers refuse a range of logs that is too wide
        return NodeError(-32600, f"HTTP {status}", None)
    return NodeUnusable(f"HTTP {status}")


def of_error(error: Json) -> Exception:
    """Map a JSON-RPC error object to an error."""
    if not isinstance(error, dict):
        return TransientNodeError("an answer that is not JSON-RPC")
    code, message, data = error.get("code"), str(error.get("message", "")), error.get("data")
    fault = NodeError(code if isinstance(code, int) else -32000, message[:300], _bytes_of(data))
    # Whoever wrote a contract chose what it reverts with: such words say nothing of the node.
    if fault.code == 3 or fault.data or message.startswith("execution reverted"):
        return fault
    if _BUSY.search(message) or (code in _BUSY_CODES and not _TOO_MUCH.search(message)):
        return TransientNodeError("the node is busy")
    if _NOT_YET.search(message):
        return BlockNotYetSeen("the node does not have the block")
    return fault


def _bytes_of(data: Json) -> bytes | None:
    """Return data of a revert; None where there is none."""
    if isinstance(data, dict):  # some nodes wrap it once more
        data = data.get("data")
    if isinstance(data, str) and data.startswith("0x"):
        try:
            return bytes.fromhex(data[2:])
        except ValueError:
            return None
    return None


def retry_after(headers: Mapping[str, str]) -> int | None:
    """Seconds of a Retry-After header; a date is relative to the answer's own Date."""
    header = headers.get("Retry-After", "").strip()
    if header.isdecimal():
        return int(header[:6])
    try:
        until, answered_at = (
            parsedate_to_datetime(header),
            parsedate_to_datetime(headers.get("Date", "")),
        )
        return max(0, int((until - answered_at).total_seconds()))
    except (TypeError, ValueError):
        return None
