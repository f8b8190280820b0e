"""Who sends an MCP request: found and counted once, before its body is read, for all that is done
for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers
from starlette.types import Scope

from domain.refusals import Refused
from http_shim.identity import has_credential, identify, origin_of
from storage.faults import Unavailable
from tools.call.charges import charge_stranger
from tools.call.operation import NOBODY, Caller, Deps

STATE: Final = "wallet.asker"


@dataclass(frozen=True, slots=True)
class Asker:
    """Who it is and where from; `paid` is what the request has cost a stranger already. `trouble`
    is why nobody can be named: a tool tells it as its refusal, as it tells every other.
    """

    address: str | None
    caller: Caller = NOBODY
    trouble: Refused | Unavailable | None = None
    paid: int = 0

    def named(self) -> Caller:
        """Who calls. Errors: `unauthenticated`, `rate_limited`, `Unavailable`."""
        if self.trouble is not None:
            raise self.trouble
        return self.caller

    @property
    def limited(self) -> Refused | None:
        """The refusal, where there was one request too many."""
        trouble = self.trouble
        return trouble if isinstance(trouble, Refused) and trouble.code == "rate_limited" else None


async def asker_of(deps: Deps, scope: Scope) -> Asker:
    """Who sends a request; each looks its credential up, so that a revocation acts at once."""
    state = scope.setdefault("state", {})
    if STATE not in state:
        state[STATE] = await _found(deps, scope)
    found: Asker = state[STATE]
    return found


async def _found(deps: Deps, scope: Scope) -> Asker:
    headers, client = Headers(scope=scope), scope.get("client")
    address = origin_of(deps, client[0] if client else None, headers)
    try:
        if has_credential(headers):
            return Asker(address, await identify(deps, headers, on_mcp=True, address=address))
        charge_stranger(deps, address, cost=1)
    except (Refused, Unavailable) as trouble:
        return Asker(address, trouble=trouble)
    return Asker(address, paid=1)
