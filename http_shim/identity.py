"""From a request's headers to a caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from domain.refusals import Refused, refusal
from storage.unit_of_work import UnitOfWork
from tools.call.credentials import Header, resolve, slide
from tools.call.operation import NOBODY, Caller, Deps

KEY_HEADER: Final = "X-Service-User-Key"
LONGEST: Final = 512


def _only(headers: Mapping[str, str], name: str) -> str | None:
    """A header that may come once; the web frameworks' mappings show the first of several."""
    if hasattr(headers, "getall"):  # aiohttp's
        found = headers.getall(name, [])
    elif hasattr(headers, "getlist"):  # Starlette's
        found = headers.getlist(name)
    else:
        found = [headers[name]] if name in headers else []
    if len(found) > 1:
        raise Refused(refusal("unauthenticated", needs="one credential, not two"))
    return found[0] if found else None


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


async def identify(deps: Deps, headers: Mapping[str, str], *, on_mcp: bool = False) -> Caller:
    """Who calls; looked up on every request, so that a revocation acts at once.

    Errors: `unauthenticated` for a credential that is unknown, revoked or out of date: it never
    acts as nobody.
    """
    found = credential_of(headers)
    return NOBODY if found is None else await known(deps, *found, on_mcp=on_mcp)


def at_address(caller: Caller, peer: str | None) -> Caller:
    """The caller with the network address that the call came from."""
    return Caller("nobody", peer=peer) if caller is NOBODY else replace(caller, peer=peer)


async def known(deps: Deps, header: Header, credential: str, *, on_mcp: bool = False) -> Caller:
    """The caller behind a credential; a session that is half over is prolonged."""
    if not credential or len(credential) > LONGEST:
        raise Refused(refusal("unauthenticated", needs="a credential of ours"))
    now = deps.clock.now()

    def look(uow: UnitOfWork) -> tuple[Caller | None, bool]:
        caller = resolve(uow, header, credential, now, on_mcp=on_mcp)
        if caller is None or caller.role != "owner":
            return caller, False
        live = uow.identities.session(caller.credential or "", now)
        return caller, live is not None and (
            live.expires_at - now
        ).total_seconds() * 2 < deps.config.session_s

    caller, half_over = await deps.store.read(look)
    if caller is None:
        raise Refused(refusal("unauthenticated", needs="a credential that is known and in date"))
    if half_over:
        await deps.store.write(lambda uow: slide(uow, caller.credential or "", now, deps.config))
    return caller
