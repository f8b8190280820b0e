"""The authorization server: OAuth 2.1's rules by Authlib, over the grants of one transaction.

It is loaded by the first request that needs it. An app here is a public client that proves itself
by PKCE; the owner's answer stands in `tools.agents.connections`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from authlib.oauth2.rfc6749 import (
    AuthorizationCodeMixin,
    AuthorizationServer,
    ClientMixin,
    OAuth2Payload,
    OAuth2Request,
    TokenMixin,
)
from authlib.oauth2.rfc6749.errors import (
    InvalidClientError,
    InvalidRequestError,
    OAuth2Error,
)
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, RefreshTokenGrant
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge

from domain.agents.grants import (
    ACCESS_FOR,
    SCOPES,
    Ending,
    Grant,
    Scopes,
    refresh_until,
    widened,
)
from domain.ports import Ids
from storage.unit_of_work import UnitOfWork
from tools.agents.app_clients import App
from tools.agents.connections import ASK_MAX, Ask, sealed, with_parameters
from tools.context.credentials import hashed
from tools.model.operation import Deps

Pairs = Sequence[tuple[str, str]]
# "rt_" and the first part of a refresh token, which all of one grant have in common.
FAMILY: Final = 25
STATE_MAX: Final = 600
# What apps ask for that is no scope of ours, and what every grant here has.
OFFLINE: Final = "offline_access"
NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}
# The service's own sentence of each error: what was sent never becomes a part of one.
TEXTS: Final[Mapping[str, str]] = {
    "invalid_request": "A parameter is missing, comes twice, or has no form that is taken here.",
    "invalid_client": "This client id is not known here, or not any more. Register again.",
    "invalid_grant": "The code or token is not good (any more), or belongs to another request.",
    "unauthorized_client": "The app may not use this grant type.",
    "unsupported_grant_type": "grant_type is authorization_code or refresh_token.",
    "unsupported_response_type": "response_type is code.",
    "unsupported_token_type": "token_type_hint is access_token or refresh_token.",
    "invalid_scope": "The scopes here are " + " ".join(SCOPES) + ".",
    "invalid_target": "resource is the MCP address of this service.",
    "insecure_transport": "This service has to be reached over https.",
}


class InvalidTarget(OAuth2Error):  # type: ignore[misc]  # Authlib has no types
    """A request for another resource (RFC 8707)."""

    error = "invalid_target"


@dataclass(frozen=True, slots=True)
class Shown:
    """An error that the person is shown, because it is not known where to send it."""

    error: str


@dataclass(frozen=True, slots=True)
class SentBack:
    """The place where the browser goes on: to the app, with an error, or to the page of consent."""

    location: str


@dataclass(frozen=True, slots=True)
class EndpointAnswer:
    """An answer to an app: status and JSON body; `ended_of` is the agent whose grant it ended."""

    status: int
    body: Mapping[str, object]
    ended_of: str | None = None


class _Client(ClientMixin):  # type: ignore[misc]
    def __init__(self, app: App):
        self.app = app

    def get_client_id(self) -> str:
        return self.app.client_id

    def get_default_redirect_uri(self) -> None:
        return None

    def get_allowed_scope(self, scope: str | None) -> str | None:
        scopes = widened(scope)
        return None if scopes is None else " ".join(scopes)

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return self.app.takes(redirect_uri)

    def check_client_secret(self, client_secret: str) -> bool:
        return False

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "none"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in ("authorization_code", "refresh_token")


class _Code(AuthorizationCodeMixin):  # type: ignore[misc]
    code_challenge_method = "S256"

    def __init__(self, grant: Grant):
        self.grant, self.code_challenge = grant, grant.code_challenge

    def get_redirect_uri(self) -> str:
        return self.grant.redirect_uri

    def get_scope(self) -> str:
        return " ".join(self.grant.scopes)


class _Token(TokenMixin):  # type: ignore[misc]
    def __init__(self, grant: Grant):
        self.grant = grant

    def check_client(self, client: _Client) -> bool:
        return bool(client.app.client_hash == self.grant.client_hash)

    def get_scope(self) -> str:
        return " ".join(self.grant.scopes)


class _Payload(OAuth2Payload):  # type: ignore[misc]
    """The parameters of a request, without the scope that every grant has anyway."""

    def __init__(self, pairs: Pairs):
        self._all: defaultdict[str, list[str]] = defaultdict(list)
        for name, value in pairs:
            scopes = " ".join(s for s in value.split() if s != OFFLINE)
            self._all[name].append(scopes if name == "scope" else value)
        self._first = {name: values[0] for name, values in self._all.items()}

    @property
    def data(self) -> dict[str, str]:
        return self._first

    @property
    def datalist(self) -> defaultdict[str, list[str]]:
        return self._all


class _Request(OAuth2Request):  # type: ignore[misc]
    def __init__(self, method: str, uri: str, pairs: Pairs):
        super().__init__(method, uri)
        self.payload = _Payload(pairs)

    @property
    def args(self) -> dict[str, str]:
        return self.payload.data

    @property
    def form(self) -> dict[str, str]:
        return self.payload.data


class _S256(CodeChallenge):  # type: ignore[misc]
    """PKCE by S256 alone; Authlib's own takes `plain`, and a request without any."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ("S256",)
    DEFAULT_CODE_CHALLENGE_METHOD = "S256"

    def validate_code_challenge(self, grant: Any, redirect_uri: str) -> None:
        data = grant.request.payload.data
        if data.get("code_challenge_method") != "S256" or len(data.get("code_challenge", "")) != 43:
            raise InvalidRequestError()
        super().validate_code_challenge(grant, redirect_uri)


class _CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS = ("none",)

    def validate_authorization_request(self) -> str:
        uri: str = super().validate_authorization_request()
        try:
            self.server.check_target(self.request)
        except OAuth2Error as error:
            error.redirect_uri = uri
            raise
        return uri

    def query_authorization_code(self, code: str, client: _Client) -> _Code | None:
        grant = self.server.redeemable(code, client.app)
        return None if grant is None else _Code(grant)

    def validate_token_request(self) -> None:
        super().validate_token_request()
        self.server.check_target(self.request, self.request.authorization_code.grant)

    def authenticate_user(self, code: _Code) -> str:
        return code.grant.agent_id

    def delete_authorization_code(self, code: _Code) -> None:
        """`save_token` has marked it as redeemed: a second use has to be known as one."""


class _RefreshGrant(RefreshTokenGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS = ("none",)
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, token: str) -> _Token | None:
        grant = self.server.refreshable(token)
        return None if grant is None else _Token(grant)

    def validate_token_request(self) -> None:
        super().validate_token_request()
        self.server.check_target(self.request, self.request.refresh_token.grant)

    def authenticate_user(self, token: _Token) -> str:
        return token.grant.agent_id

    def revoke_old_credential(self, token: _Token) -> None:
        """`save_token` has put the new one in its place."""


class _Revocation(RevocationEndpoint):  # type: ignore[misc]
    CLIENT_AUTH_METHODS = ("none",)
    SUPPORTED_TOKEN_TYPES = ("access_token", "refresh_token")

    def query_token(self, token: str, hint: str | None) -> _Token | None:
        grant = self.server.grant_of(token)
        return None if grant is None else _Token(grant)

    def revoke_token(self, token: _Token, request: _Request) -> None:
        self.server.end(token.grant, "app")


class _Server(AuthorizationServer):  # type: ignore[misc]
    """Authlib's server over one transaction; `find` knows the apps."""

    uow: UnitOfWork
    ended_of: str | None = None

    def __init__(self, base_url: str, now: datetime, ids: Ids, find: Callable[[str], App | None]):
        super().__init__([*SCOPES])
        self.base_url, self.now, self._ids, self._find = base_url, now, ids, find
        self.register_grant(_CodeGrant, [_S256(required=True)])
        self.register_grant(_RefreshGrant)
        self.register_endpoint(_Revocation)

    # -- what Authlib asks of its server

    def query_client(self, client_id: str) -> _Client | None:
        app = self._find(client_id)
        return None if app is None else _Client(app)

    def create_oauth2_request(self, request: _Request) -> _Request:
        return request

    def handle_response(self, status: int, body: object, headers: object) -> EndpointAnswer:
        return EndpointAnswer(status, body if isinstance(body, dict) else {})

    def handle_error_response(self, request: _Request, error: OAuth2Error) -> EndpointAnswer:
        return failed(error)

    def send_signal(self, name: str, *args: object, **kwargs: object) -> None:
        """Ignore it: no part listens."""

    def generate_token(self, *, scope: str, **_: object) -> dict[str, object]:
        scopes = widened(scope)
        return {
            "access_token": self._ids.token("at_"),
            "token_type": "Bearer",
            "expires_in": int(ACCESS_FOR.total_seconds()),
            "scope": scope if scopes is None else " ".join(scopes),
        }

    def save_token(self, token: dict[str, object], request: _Request) -> None:
        """Store the tokens by their hashes: a new access token, and a new refresh token in the
        place of the old one.
        """
        old, code = request.refresh_token, request.authorization_code
        grant: Grant = old.grant if old is not None else code.grant
        fresh = self._ids.token("rt_")
        if old is not None:
            fresh = request.form["refresh_token"][:FAMILY] + fresh[FAMILY:]
        token["refresh_token"] = fresh
        scopes: Scopes = widened(str(token["scope"])) or grant.scopes
        grant = replace(
            grant,
            redeemed_at=grant.redeemed_at or self.now,
            used_at=self.now,
            family_hash=hashed(fresh[:FAMILY]),
            refresh_hash=hashed(fresh),
            refresh_until=refresh_until(grant, self.now),
        )
        self.uow.grants.save(grant)
        until = min(self.now + ACCESS_FOR, refresh_until(grant, self.now))
        self.uow.grants.add_token(grant, hashed(str(token["access_token"])), scopes, until)

    # -- what its grants ask of it

    def check_target(self, request: _Request, grant: Grant | None = None) -> None:
        """Errors: `InvalidTarget` for a resource that is not ours, or not the grant's."""
        allowed = resources(self.base_url) if grant is None else (grant.resource,)
        targets = request.payload.datalist.get("resource", [])
        if len(targets) > 1 or any(one not in allowed for one in targets):
            raise InvalidTarget()

    def redeemable(self, code: str, app: App) -> Grant | None:
        """The grant that waits for this code. One that comes twice ends what it was given for."""
        grant = self.uow.grants.by_code(hashed(code))
        if grant is None or grant.client_hash != app.client_hash:
            return None
        if grant.redeemed_at is not None:
            self.end(grant, "reused")
            return None
        return grant if grant.lasts(self.now) else None

    def refreshable(self, token: str) -> Grant | None:
        """The grant of a refresh token. One that was rotated out ends the whole grant: either it or
        the newer one is in the hands of somebody else.
        """
        grant = self.uow.grants.by_family(hashed(token[:FAMILY]))
        if grant is None or not grant.lasts(self.now):
            return None
        if grant.refresh_hash != hashed(token):
            self.end(grant, "reused")
            return None
        return grant

    def end(self, grant: Grant, by: Ending) -> None:
        """End a grant with its tokens."""
        self.uow.grants.end(grant.grant_id, self.now, by)
        self.ended_of = grant.agent_id

    def grant_of(self, token: str) -> Grant | None:
        """The grant of an access or a refresh token."""
        if token.startswith("rt_"):
            return self.uow.grants.by_family(hashed(token[:FAMILY]))
        return self.uow.grants.by_access_token(hashed(token))


def resources(base_url: str) -> tuple[str, str]:
    """The resources that a token can be for; the first where none is named. An app that was given
    the address for keys asks for that one.
    """
    return f"{base_url}/mcp/connect", f"{base_url}/mcp"


def authorize(deps: Deps, app: App | None, pairs: Pairs) -> Shown | SentBack:
    """Check a request to connect: nothing of it is stored, the ask is sealed into the
    link to the page of consent.
    """
    base, now = deps.config.base_url, deps.clock.now()
    if not _legible(pairs, but="state"):
        return Shown("invalid_request")
    try:
        request = _Request("GET", f"{base}/oauth/authorize", pairs)
        server = _Server(base, now, deps.ids, lambda _: app)
        grant = server.get_consent_grant(request, None)
    except OAuth2Error as error:
        return (
            _sent_back(error, request.payload.state, base)
            if error.redirect_uri
            else Shown(_code(error))
        )
    data, client = request.payload.data, grant.client.app
    ask = Ask(
        client_hash=client.client_hash,
        document=None if client.host is None else client.client_id,
        client_name=client.name,
        redirect_uri=data["redirect_uri"],
        state=data.get("state"),
        code_challenge=data["code_challenge"],
        scopes=widened(grant.request.scope) or (),
        resource=data.get("resource", resources(base)[0]),
    )
    link = sealed(deps.sealing, ask, now)
    if len(link) > ASK_MAX:
        too_long = InvalidRequestError(redirect_uri=ask.redirect_uri)
        return _sent_back(too_long, None, base)
    return SentBack(f"/app/connect/{link}")


def issue(
    deps: Deps, uow: UnitOfWork, find: Callable[[str], App | None], pairs: Pairs
) -> EndpointAnswer:
    """The answer of the token endpoint, whose transaction is kept whatever it says: a token that
    comes twice ends its grant.
    """

    def answer(server: _Server, request: _Request) -> EndpointAnswer:
        result: EndpointAnswer = server.create_token_response(request)
        return result

    return _answer(deps, uow, find, pairs, "/oauth/token", answer)


def revoke(
    deps: Deps, uow: UnitOfWork, find: Callable[[str], App | None], pairs: Pairs
) -> EndpointAnswer:
    """The answer of the revocation endpoint; either token ends the whole grant."""

    def answer(server: _Server, request: _Request) -> EndpointAnswer:
        result: EndpointAnswer = server.create_endpoint_response("revocation", request)
        return result

    return _answer(deps, uow, find, pairs, "/oauth/revoke", answer)


def _answer(
    deps: Deps,
    uow: UnitOfWork,
    find: Callable[[str], App | None],
    pairs: Pairs,
    path: str,
    answer: Callable[[_Server, _Request], EndpointAnswer],
) -> EndpointAnswer:
    names = [name for name, _ in pairs if name != "resource"]
    if not _legible(pairs) or len(names) != len(set(names)):
        return failed(InvalidRequestError())
    if any(name == "client_secret" for name in names):
        return failed(InvalidClientError())
    try:
        request = _Request("POST", deps.config.base_url + path, pairs)
    except OAuth2Error as error:
        return failed(error)
    server = _Server(deps.config.base_url, deps.clock.now(), deps.ids, find)
    server.uow = uow
    answered = answer(server, request)
    return replace(answered, ended_of=server.ended_of)


def failed(error: OAuth2Error) -> EndpointAnswer:
    """An error as an app is told it."""
    code = _code(error)
    status = 401 if code == "invalid_client" else 400
    return EndpointAnswer(status, {"error": code, "error_description": TEXTS[code]})


def _code(error: OAuth2Error) -> str:
    return error.error if error.error in TEXTS else "invalid_request"


def _sent_back(error: OAuth2Error, state: str | None, base_url: str) -> SentBack:
    code = _code(error)
    sent = {"error": code, "error_description": TEXTS[code], "state": state, "iss": base_url}
    return SentBack(with_parameters(error.redirect_uri, sent))


def _legible(pairs: Pairs, *, but: str = "") -> bool:
    """True where every value is of the characters that OAuth has for it: Authlib writes some of
    them into its own texts, which take no others.
    """
    return all(
        value.isascii()
        and value.isprintable()
        and len(value) <= (STATE_MAX if name == but else 4_000)
        and (name == but or not {'"', "\\"} & set(value))
        for name, value in pairs
    )
