"""Apps that ask to connect: by a document that they publish, or by a registration that is nothing
but its own sealed text, so that a stranger who registers fills no table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import orjson

from domain.agents.grants import is_same_redirect, redirect_problem
from domain.refusals import Refused
from domain.text import NAME_MAX, composed, text_problem
from tools.context.credentials import hashed
from tools.model.operation import Deps
from tools.model.sealing import KeyRing, SealBroken
from tools.model.url_policy import check_webhook_url

REGISTERED: Final = "dc_"
CLIENT_ID_MAX: Final = 4_000
REDIRECTS_MAX: Final = 10
REDIRECTS_LENGTH: Final = 2_000
_PURPOSE: Final = "oauth client"


@dataclass(frozen=True, slots=True)
class App:
    """An app that asks: `host` is the one that stands behind its id, None where it proved none;
    `name` is its own word. Where only a token is asked for, its addresses are not looked up.
    """

    client_id: str
    host: str | None = None
    name: str = ""
    redirect_uris: tuple[str, ...] = ()

    @property
    def client_hash(self) -> str:
        """The form in which a grant names it."""
        return hashed(self.client_id)

    def takes(self, redirect_uri: str) -> bool:
        """True for an address that it has registered."""
        return any(is_same_redirect(redirect_uri, known) for known in self.redirect_uris)


class NotRegistered(Exception):
    """A registration that is not taken: an error code of RFC 7591, and a sentence."""

    def __init__(self, code: str, text: str):
        super().__init__(text)
        self.code, self.text = code, text


async def app_of(deps: Deps, client_id: str, asker: str, *, fresh: bool = False) -> App | None:
    """The app behind a client id, with its addresses; None for one that is not known, or whose
    document cannot be read now for this asker (an address, or a user's id). `fresh`: as it is
    published at this moment.
    """
    known = known_app(deps, client_id)
    if known is None or known.host is None:
        return known
    if deps.documents is None:
        return None
    body = await deps.documents.read(client_id, deps.clock.now(), asker, fresh=fresh)
    return None if body is None else _published(known, body)


def known_app(deps: Deps, client_id: str) -> App | None:
    """The app behind a client id, without a look at its document; None where it cannot be one."""
    if len(client_id) > CLIENT_ID_MAX:
        return None
    if client_id.startswith(REGISTERED):
        return _registered(deps.sealing, client_id)
    private = deps.config.webhook_allow_private
    try:
        check_webhook_url(client_id, base_url=deps.config.base_url, private=private)
    except Refused:
        return None
    parts = urlsplit(client_id)
    segments = parts.path.split("/")
    if parts.path in ("", "/") or "." in segments or ".." in segments or parts.hostname is None:
        return None
    return App(client_id, parts.hostname)


def _published(app: App, body: bytes) -> App | None:
    """The app as its document describes it; None where that is not its own."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(document, dict) or document.get("client_id") != app.client_id:
        return None
    listed = document.get("redirect_uris")
    uris = listed[:REDIRECTS_MAX] if isinstance(listed, list) else []
    fit = tuple(u for u in uris if isinstance(u, str) and redirect_problem(u) is None)
    name = _name(document.get("client_name")) or app.host or ""
    return App(app.client_id, app.host, name, fit) if fit else None


def register(sealing: KeyRing, metadata: Mapping[str, object]) -> App:
    """The app of a registration; its id is the registration itself, sealed.

    Errors: `NotRegistered`.
    """
    listed = metadata.get("redirect_uris")
    uris = listed if isinstance(listed, list) else []
    if not 1 <= len(uris) <= REDIRECTS_MAX or not all(isinstance(u, str) for u in uris):
        text = f"redirect_uris holds 1 to {REDIRECTS_MAX} addresses."
        raise NotRegistered("invalid_redirect_uri", text)
    for problem in map(redirect_problem, uris):
        if problem is not None:
            raise NotRegistered("invalid_redirect_uri", f"An address is not taken: {problem}.")
    if sum(map(len, uris)) > REDIRECTS_LENGTH:
        raise NotRegistered("invalid_redirect_uri", "The addresses are too long together.")
    if metadata.get("token_endpoint_auth_method", "none") != "none":
        text = "token_endpoint_auth_method is none: an app here has no secret."
        raise NotRegistered("invalid_client_metadata", text)
    name = _name(metadata.get("client_name"))
    if name is None and "client_name" in metadata:
        text = f"client_name has 1 to {NAME_MAX} characters, none of them invisible."
        raise NotRegistered("invalid_client_metadata", text)
    plain = json.dumps([name or "", *uris], separators=(",", ":")).encode()
    return App(REGISTERED + sealing.seal(_PURPOSE, plain), None, name or "", tuple(uris))


def _registered(sealing: KeyRing, client_id: str) -> App | None:
    try:
        plain = sealing.open(_PURPOSE, client_id.removeprefix(REGISTERED))
    except SealBroken:
        return None
    name, *uris = orjson.loads(plain)
    return App(client_id, None, name, tuple(uris))


def _name(value: object) -> str | None:
    """The name that an app gives itself; None where it cannot be shown as one."""
    if not isinstance(value, str):
        return None
    name = composed(value).strip()
    return name if 1 <= len(name) <= NAME_MAX and text_problem(name, lines=False) is None else None
