"""Held keys: what is over here is put away in the signer."""

from __future__ import annotations

import logging
from functools import partial
from typing import Final

from domain.agents.sent_calls import HostedKey
from domain.ports import AgentSigner
from domain.refusals import Refused, SigningRefused, refusal
from storage.unit_of_work import UnitOfWork
from tools.model.operation import Deps

IN_A_ROUND: Final = 100
log = logging.getLogger("wallet.held_keys")


async def end_keys_that_are_over(deps: Deps, agent_id: str | None = None) -> None:
    """Let the signer put away the keys whose end is due, of one agent or of all: those that their
    owner ended, and those whose last grant is over. What it cannot be told now is due again.

    Errors: `not_configured` where the signer is away, `signer_refused`.
    """
    now, signer, problem = deps.clock.now(), deps.agent_signer, None
    keys = await deps.store.read(lambda uow: uow.hosted_keys.to_end(now, agent_id, IN_A_ROUND))
    for key in keys:
        if signer is None:
            raise Refused(refusal("not_configured", what="keys of agents that it holds"))
        if await deps.store.write(partial(_ended, deps, key)):
            try:
                await _put_away(deps, signer, key)
            except SigningRefused as refused:
                problem = Refused(refusal("signer_refused", why=str(refused)))
    if problem is not None:
        raise problem


async def try_to_end_keys(deps: Deps, agent_id: str | None) -> None:
    """The same where the caller's answer does not depend on it: the keeper goes on trying."""
    try:
        await end_keys_that_are_over(deps, agent_id)
    except Refused as refused:
        log.warning("a key is put away later: %s", refused.refusal.reason)


def _ended(deps: Deps, key: HostedKey, uow: UnitOfWork) -> bool:
    """Write the end down; False where the key was kept for another grant since."""
    uow.identities.agent(key.agent_id, lock=True)
    now = deps.clock.now()
    stored = uow.hosted_keys.get(key.agent_id, now)
    if stored is None or stored.number != key.number or stored.ended_at is None:
        return False
    end_key(uow, deps, stored)
    return True


def end_key(uow: UnitOfWork, deps: Deps, key: HostedKey) -> None:
    """Store an ended key. Terms that are signed from now on do not name its address, unless a
    vault that works does.
    """
    uow.hosted_keys.put(key)
    for chain_id in deps.chains.ids():
        if not uow.mandates.live_vault_naming(key.agent_id, chain_id):
            uow.addresses.forget(key.agent_id, chain_id, key.address)


async def _put_away(deps: Deps, signer: AgentSigner, key: HostedKey) -> None:
    await signer.agent_key_end(key.name)
    now = deps.clock.now()
    await deps.store.write(lambda uow: uow.hosted_keys.put_away(key, now))
