"""Grants: what an owner let an app do in the name of one of their agents (OAuth 2.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias
from urllib.parse import SplitResult, parse_qsl, urlsplit

Scope = Literal["wallet:read", "wallet:act", "wallet:propose"]
Scopes: TypeAlias = tuple[Scope, ...]
Ending = Literal["owner", "app", "key", "replaced", "reused", "expired"]

READ: Final[Scope] = "wallet:read"
SCOPES: Final[Scopes] = (READ, "wallet:act", "wallet:propose")
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
# Schemes of apps on the user's machine that hosts are known to use; others name a domain (RFC 8252
# 7.1), so that no scheme is taken that a browser runs or opens itself.
APP_SCHEMES: Final = frozenset({"cursor", "vscode", "vscode-insiders", "windsurf", "zed"})
# What an answer adds to the address: an app that found one of them twice could take the stranger's.
ANSWERS: Final = frozenset({"code", "state", "iss", "error", "error_description", "error_uri"})
_OWN_SCHEME: Final = re.compile(r"[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+")

ASK_FOR: Final = timedelta(minutes=10)
CODE_FOR: Final = timedelta(seconds=60)
ACCESS_FOR: Final = timedelta(hours=1)
REFRESH_FOR: Final = timedelta(days=30)
LONGEST: Final = timedelta(days=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One consent of an owner: an app, an agent, scopes, and the hashes of what was given for it.

    `client_hash` is of the client id, `client_host` the host that stands behind it (None for an app
    that registered itself and proved none), `client_name` the app's own words. A code waits while
    `code_until` is set and has been used once `used_at` is. `family_hash` is of the part that all
    refresh tokens of the grant share, `refresh_hash` of the one that is good now. `ended_by` says
    what ended it. `held_key` is the number of the agent's key that the signer holds for it.
    """

    grant_id: str
    owner_id: str
    agent_id: str
    client_hash: str
    client_host: str | None
    client_name: str
    redirect_uri: str
    scopes: Scopes
    resource: str
    created_at: datetime
    code_hash: str
    code_challenge: str
    code_until: datetime
    redeemed_at: datetime | None = None
    used_at: datetime | None = None
    family_hash: str | None = None
    refresh_hash: str | None = None
    refresh_until: datetime | None = None
    ended_at: datetime | None = None
    ended_by: Ending | None = None
    held_key: int | None = None

    def lasts(self, now: datetime) -> bool:
        """True while a token of it can be good, or its code can still be redeemed."""
        until = self.code_until if self.redeemed_at is None else self.refresh_until
        return self.ended_at is None and until is not None and now < until

    @property
    def redirect_host(self) -> str:
        """The host that the owner's answer goes to, or the scheme of an app on a machine."""
        return redirect_host(self.redirect_uri)


def widened(scopes: str | None) -> Scopes | None:
    """The scopes of a request, with reading, which all others need; None where one is unknown."""
    requested = {READ, *(scopes or "").split()}
    unknown = requested - set(SCOPES)
    return None if unknown else tuple(s for s in SCOPES if s in requested)


def refresh_until(grant: Grant, now: datetime) -> datetime:
    """The end of a refresh token that is given out now: sliding, to the grant's longest."""
    return min(now + REFRESH_FOR, grant.created_at + LONGEST)


def is_on_this_machine(uri: str) -> bool:
    """True for an address of the user's own machine, which any program there can listen on, or
    whose scheme it can take.
    """
    parts = _split(uri)
    return parts is not None and (
        parts.hostname in LOOPBACK or parts.scheme not in ("http", "https")
    )


def redirect_host(uri: str) -> str:
    """The host of a redirect address, or the scheme where an app on the machine takes it."""
    parts = _split(uri)
    if parts is None:
        return ""
    return parts.hostname or "" if parts.scheme in ("http", "https") else f"{parts.scheme}:"


def redirect_problem(uri: str) -> str | None:
    """The reason why an address takes no answer of an owner; None where it may."""
    parts = _split(uri)
    if parts is None or len(uri) > 500 or not uri.isascii() or not uri.isprintable() or " " in uri:
        return "it is no address of up to 500 characters of ASCII"
    if "\\" in uri or "#" in uri or "@" in parts.netloc:
        return "it has no fragment, backslash or user name"
    query = parse_qsl(parts.query.replace(";", "&"), keep_blank_values=True)
    if ANSWERS & {name.lower() for name, _ in query}:
        return "its query has no parameter of an answer (code, state, iss, error)"
    if parts.scheme in ("http", "https"):
        if not parts.hostname:
            return "it names a host"
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            return "plain http is for this machine alone"
        return None
    if parts.scheme in APP_SCHEMES or _OWN_SCHEME.fullmatch(parts.scheme):
        return None
    return "its scheme is https, http on loopback, or one that an app has registered"


def is_same_redirect(uri: str, registered: str) -> bool:
    """Whether an address is the registered one: compared as text, but for the port of a loopback
    address, which the app chooses (RFC 8252 7.3).
    """
    if uri == registered:
        return True
    one, other = _split(uri), _split(registered)
    if one is None or other is None or one.scheme != "http" or one.hostname not in LOOPBACK:
        return False
    return _without_port(one) == _without_port(other)


def _without_port(parts: SplitResult) -> tuple[str, str | None, str, str, str, bool]:
    has_user = "@" in parts.netloc
    return parts.scheme, parts.hostname, parts.path, parts.query, parts.fragment, has_user


def _split(uri: str) -> SplitResult | None:
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        return None
    return parts
