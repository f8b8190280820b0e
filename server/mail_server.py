"""The mail server of an operator, as its setting names it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

Scheme = Literal["smtp", "smtps", "starttls"]
_PORTS: Final = {"smtp": 25, "smtps": 465, "starttls": 587}
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """The server that takes e-mails, as `WALLET_SMTP_URL` names it."""

    scheme: Scheme
    host: str
    port: int
    username: str | None = None
    password: str | None = field(default=None, repr=False)


def mail_server(url: str) -> MailServer:
    """The mail server of a setting. Errors: ValueError, without the address in its text."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("WALLET_SMTP_URL is no address of a mail server") from None
    scheme = next((s for s in ("smtp", "smtps", "starttls") if s == parts.scheme), None)
    if scheme is None or not parts.hostname or parts.path.strip("/") or parts.query:
        raise ValueError("WALLET_SMTP_URL is smtps://, starttls:// or smtp:// and a host")
    if scheme == "smtp" and parts.password is not None and parts.hostname not in _LOOPBACK:
        raise ValueError("WALLET_SMTP_URL: a password goes over TLS, smtps:// or starttls://")
    return MailServer(
        scheme="smtps" if scheme == "smtps" else "starttls" if scheme == "starttls" else "smtp",
        host=parts.hostname,
        port=_PORTS[scheme] if port is None else port,
        username=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
    )
