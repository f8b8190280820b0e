"""Who keeps the approvals of a mandate: the factory of its terms says it, and no setting."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

from domain.mandates.mandate import OPEN_AGENT, Mandate, Status
from domain.ports import Chain
from domain.refusals import Refused
from storage.unit_of_work import UnitOfWork
from tools.call.case import chain_if_named
from tools.call.operation import Deps


def factory_of(chain: Chain | None, m: Mandate) -> str | None:
    """The factory of the terms: as signed, else the one that is set now."""
    set_now = chain.factory if chain is not None else None
    named = m.signed.verifying_contract if m.signed is not None else set_now
    return None if named == OPEN_AGENT else named


async def approvals_kept(deps: Deps, m: Mandate) -> bool | None:
    """True where the vault asks for the owner's signature above the approval amount; asked once of
    signed terms. None where no factory or no RPC address is set.

    Errors: `chain_unavailable`.
    """
    if m.signed is not None and m.approvals_on_chain is not None:
        return m.approvals_on_chain
    chain = chain_if_named(deps, m)
    factory = factory_of(chain, m)
    if chain is None or factory is None or not chain.rpc_set:
        return m.approvals_on_chain
    return await chain.approvals_on_chain(factory)


async def approvals_kept_if_readable(deps: Deps, m: Mandate) -> bool | None:
    """The same; what is stored, or None, where the chain cannot be asked."""
    chain = chain_if_named(deps, m)
    try:
        with nullcontext() if chain is None else chain.hurried():
            return await approvals_kept(deps, m)
    except Refused:
        return m.approvals_on_chain


async def kept_for_drafts(deps: Deps, chain_id: int | None) -> bool | None:
    """What a draft on this chain shows of it; None where the chain does not say so in time."""
    try:
        chain = deps.chains.get(chain_id or deps.config.default_chain_id)
        if chain.factory is None or not chain.rpc_set:
            return None
        with chain.hurried():
            return await chain.approvals_on_chain(chain.factory)
    except Refused:
        return None


def close_pending(uow: UnitOfWork, m: Mandate) -> None:
    """Nothing waits for the owner of a mandate that was stopped or settled (contract 6)."""
    if m.status in (Status.STOPPED, Status.SETTLED):
        uow.approvals.expire_pending(m.public_id)


def learned(uow: UnitOfWork, m: Mandate, kept: bool | None) -> Mandate:
    """The mandate with what its factory said, stored where that is new."""
    if kept is None or kept == m.approvals_on_chain:
        return m
    m = replace(m, approvals_on_chain=kept)
    uow.mandates.save(m)
    return m
