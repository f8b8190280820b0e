"""Credential cache: agents by the keys that this process looked up. A call with reads takes
the cached agent and verifies the key by the same statement; nothing is answered before
that has been confirmed.
"""

from __future__ import annotations

from domain.refusals import Refused, refusal
from storage.prefetch.read_set import ReadSet
from storage.unit_of_work import UnitOfWork
from tools.context.credentials import agent_of
from tools.model.operation import Caller, Deps


class StaleCredential(Exception):
    """A key is no longer whose it was."""


def verify_cached_credential(uow: UnitOfWork, caller: Caller) -> None:
    """Look up whom a call presumes. Errors: `StaleCredential`."""
    if agent_of(uow, caller.credential or "") != caller:
        raise StaleCredential


async def refresh_credential(deps: Deps, caller: Caller) -> Caller:
    """Look up the present holder of a key. Errors: `unauthenticated` where there is none."""
    digest = caller.credential or ""
    store = await deps.store.prefetch(ReadSet(now=deps.clock.now(), credential=digest))
    agent = await store.read(lambda uow: agent_of(uow, digest))
    if agent is None:
        deps.credential_cache.forget(caller)
        raise Refused(refusal("unauthenticated", needs="a credential that is known and in date"))
    deps.credential_cache.keep(agent)
    return agent
