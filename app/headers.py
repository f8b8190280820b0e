"""The headers of every screen, word for word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'; manifest-src 'self'; worker-src 'self'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
# `no-referrer` would make a form say `Origin: null`, and no write could be told from a forged one.
PAGE: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": (
        "camera=(), microphone=(), geolocation=(), payment=(), usb=(), hid=(), serial=()"
    ),
    "Cache-Control": "no-store",
    "Vary": "Cookie",
}
STATIC: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "public, max-age=31536000, immutable",
    "Vary": "Accept-Encoding",
}


def asking(origins: Sequence[str], *, registers: bool = False) -> Mapping[str, str]:
    """The headers of a page whose script asks other origins too: the venue's, and no more.
    `registers`: its script hands the browser the address of the worker of notices, under a policy
    of that name.
    """
    wider = " ".join(("connect-src 'self'", *origins))
    policy = POLICY.replace("connect-src 'self'", wider)
    if registers:
        policy = policy.replace("trusted-types 'none'", "trusted-types notices")
    return {**PAGE, "Content-Security-Policy": policy}
