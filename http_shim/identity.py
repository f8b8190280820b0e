"""Identity of a request: the caller and the request id, from its headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from domain.ports import Ids
from domain.refusals import Refused, invalid, refusal
from tools.context.credentials import Header, hashed
from tools.dispatch.rate_charging import WRONG_CREDENTIAL, charge_stranger, counted_address
from tools.model.operation import ANONYMOUS, Caller, Deps
from tools.sign_in import caller_of_credential

KEY_HEADER: Final = "X-Service-User-Key"
REQUEST_ID_FORM: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


def request_id(request: str, ids: Ids) -> str:
    """The id of a request: the one that it came with where that has the form, else a new one."""
    return request if REQUEST_ID_FORM.fullmatch(request) else ids.short("r_")


def _all(headers: Mapping[str, str], name: str) -> list[str]:
    """Every value of a header; the web frameworks' mappings show the first of several."""
    if hasattr(headers, "getall"):  # aiohttp's
        return list(headers.getall(name, []))
    if hasattr(headers, "getlist"):  # Starlette's
        return list(headers.getlist(name))
    return [headers[name]] if name in headers else []


def _only(headers: Mapping[str, str], name: str) -> str | None:
    """A header that may come once."""
    if name not in headers:
        return None
    values = _all(headers, name)
    if len(values) > 1:
        raise Refused(refusal("unauthenticated", needs="one credential, not two"))
    return values[0]


def credential_of(headers: Mapping[str, str]) -> tuple[Header, str] | None:
    """(where it came from, the credential), None without one.

    Errors: `unauthenticated` for two at once, or a scheme other than Bearer.
    """
    key, authorization = _only(headers, KEY_HEADER), _only(headers, "Authorization")
    if key is not None and authorization is not None:
        raise Refused(refusal("unauthenticated", needs="one credential, not two"))
    if key is not None:
        return "agent_key", key.strip()
    if authorization is None:
        return None
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Refused(refusal("unauthenticated", needs="Authorization: Bearer"))
    return "bearer", token.strip()


def has_credential(headers: Mapping[str, str]) -> bool:
    """True where a request brings something that may be a credential."""
    return KEY_HEADER in headers or "Authorization" in headers


def idempotency_key(headers: Mapping[str, str]) -> str | None:
    """The key of a repeatable write. Errors: `invalid_request` for two of them."""
    values = _all(headers, "Idempotency-Key")
    if len(values) > 1:
        raise invalid("idempotency_key", "given twice")
    return values[0] if values else None


async def identify(
    deps: Deps,
    headers: Mapping[str, str],
    *,
    on_mcp: bool = False,
    address: str | None = None,
    presumes: bool = False,
) -> Caller:
    """The caller of a request; looked up on every request, so that a revocation acts at once.
    `address` is charged for credentials that are none. `presumes`: the call looks a key up itself.

    Errors: `unauthenticated` for a credential that is unknown, revoked or out of date: it never
    acts as nobody; `rate_limited` after too many of those.
    """
    try:
        credential = credential_of(headers)
        if credential is None:
            return ANONYMOUS
        if presumes and credential[0] == "agent_key":
            before = deps.credential_cache.of(hashed(credential[1]))
            if before is not None:
                return before
        return await caller_of_credential(deps, *credential, on_mcp=on_mcp)
    except Refused:
        charge_stranger(deps, address, cost=WRONG_CREDENTIAL)
        raise


def origin_of(deps: Deps, peer: str | None, headers: Mapping[str, str]) -> str | None:
    """The network address that a request counts for (contract 1)."""
    return counted_address(deps, peer, _all(headers, "X-Forwarded-For"))
