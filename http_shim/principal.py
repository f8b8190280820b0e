"""Request principal: identified and counted once, before the path is routed and the body
read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from domain.refusals import Refused
from http_shim.identity import credential_of, has_credential, identify, origin_of
from storage.errors import Unavailable
from tools.context.credentials import hashed
from tools.dispatch.rate_charging import READS, charge_owner, charge_request
from tools.model.operation import ANONYMOUS, Caller, Deps
from tools.sign_in import caller_of_credential

# Beyond so much of a body nobody who asked too often is answered as by a tool.
TOLD_MAX: Final = 8 * 1024
# Where it stands in an ASGI scope's state, and the headers as they were read.
STATE: Final = "wallet.asker"
HEADERS: Final = "wallet.headers"


@dataclass(frozen=True, slots=True)
class RequestPrincipal:
    """The caller of a request and its address; `prepaid_cost` is what the request has cost
    already. `trouble` is why no caller can be named: a tool answers it as its refusal. It is never
    raised itself: the frames that it came through would hold the request, and the request's body,
    until the collector comes.
    """

    address: str | None
    caller: Caller = ANONYMOUS
    trouble: Refused | Unavailable | None = None
    prepaid_cost: int = 0

    def require_caller(self) -> Caller:
        """The caller. Errors: `unauthenticated`, `rate_limited`, `Unavailable`."""
        if self.trouble is not None:
            raise _anew(self.trouble)
        return self.caller

    @property
    def limited(self) -> Refused | None:
        """The refusal, where there was one request too many; a new one each time."""
        problem = self.trouble
        if isinstance(problem, Refused) and problem.code == "rate_limited":
            return Refused(problem.refusal)
        return None


def _anew(problem: Refused | Unavailable) -> Refused | Unavailable:
    """A copy of the refusal without its traceback."""
    if isinstance(problem, Refused):
        return Refused(problem.refusal)
    return Unavailable(problem.why, unknown=problem.unknown)


async def asker_of(
    deps: Deps,
    headers: Mapping[str, str],
    peer: str | None,
    *,
    on_mcp: bool = False,
    presumes: bool = False,
    cookie: str | None = None,
    cost: int = 1,
) -> RequestPrincipal:
    """The principal of a request. A credential that was good a moment ago pays `cost` reads before
    it is looked up, and an address for one that is none; `cookie` is a session's token where that
    came in one. `presumes`: the call looks a key up itself.
    """
    address = origin_of(deps, peer, headers)
    digest = _digest(headers, cookie)
    try:
        prepaid_cost = digest is not None and deps.rates.knows(READS, digest)
        if prepaid_cost:
            await charge_request(deps, digest, address, cost=cost)
        if cookie and not has_credential(headers):
            caller = ANONYMOUS if prepaid_cost else await _visitor(deps, cookie)
        else:
            caller = await identify(
                deps, headers, on_mcp=on_mcp, address=address, presumes=presumes
            )
        if not prepaid_cost:
            await charge_request(deps, caller.credential, address, cost=cost)
        await charge_owner(deps, caller, cost=cost)
    except (Refused, Unavailable) as trouble:
        return RequestPrincipal(address, trouble=_anew(trouble))
    return RequestPrincipal(address, caller, prepaid_cost=1)


def _digest(headers: Mapping[str, str], cookie: str | None) -> str | None:
    """By what the credential that came along is known; None where there is none, or too many."""
    try:
        sent = credential_of(headers)
    except Refused:
        return None
    credential = cookie if sent is None else sent[1]
    return hashed(credential) if credential else None


async def _visitor(deps: Deps, token: str) -> Caller:
    """The session behind a cookie; ANONYMOUS where there is none, which its page finds and charges
    again.
    """
    try:
        return await caller_of_credential(deps, "bearer", token)
    except Refused:
        return ANONYMOUS
