"""E-mail addresses: the form that every mail server takes."""

from __future__ import annotations

import re
from typing import Final

LOCAL_MAX: Final = 64
ADDRESS_MAX: Final = 254
# The dot-atom of RFC 5321 at a host that has a dot, in ASCII: no quote, no space, no line end.
_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ADDRESS: Final = re.compile(rf"{_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})+")


def is_email_address(text: str) -> bool:
    """True for one address, and nothing around it."""
    # An encoded word (RFC 2047) is read by mail programs as the address that it spells.
    if len(text) > ADDRESS_MAX or len(text.partition("@")[0]) > LOCAL_MAX or "=?" in text:
        return False
    return _ADDRESS.fullmatch(text) is not None
