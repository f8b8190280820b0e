"""Approval keeping: whether a vault keeps approvals follows from the factory in its terms."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

from domain.mandates.mandate import OPEN_AGENT, Mandate, Status
from domain.ports import Chain
from domain.refusals import Refused
from storage.unit_of_work import UnitOfWork
from tools.context.snapshot_loader import chain_or_none
from tools.model.operation import Deps


def factory_of(chain: Chain | None, mandate: Mandate) -> str | None:
    """The factory of the terms: as signed, else the one that is set now."""
    set_now = chain.factory if chain is not None else None
    factory = mandate.signed.verifying_contract if mandate.signed is not None else set_now
    return None if factory == OPEN_AGENT else factory


async def vault_keeps_approvals(deps: Deps, mandate: Mandate) -> bool | None:
    """True where the vault asks for the owner's signature above the approval amount; asked once of
    signed terms. None where no factory or no RPC address is set.

    Errors: `chain_unavailable`.
    """
    if mandate.signed is not None and mandate.approvals_on_chain is not None:
        return mandate.approvals_on_chain
    chain = chain_or_none(deps, mandate)
    factory = factory_of(chain, mandate)
    if chain is None or factory is None or not chain.rpc_set:
        return mandate.approvals_on_chain
    return await chain.approvals_on_chain(factory)


async def approval_keeping_if_readable(deps: Deps, mandate: Mandate) -> bool | None:
    """Read `approval_keeping`; the stored value, or None, where the chain cannot be read."""
    chain = chain_or_none(deps, mandate)
    try:
        with nullcontext() if chain is None else chain.short_deadline():
            return await vault_keeps_approvals(deps, mandate)
    except Refused:
        return mandate.approvals_on_chain


async def draft_keeps_approvals(deps: Deps, chain_id: int | None) -> bool | None:
    """Whether vaults on a draft's chain keep approvals; None where the chain does not answer in
    time.
    """
    try:
        chain = deps.chains.get(chain_id or deps.config.default_chain_id)
        if chain.factory is None or not chain.rpc_set:
            return None
        with chain.short_deadline():
            return await chain.approvals_on_chain(chain.factory)
    except Refused:
        return None


def close_pending(uow: UnitOfWork, mandate: Mandate) -> None:
    """Expire the pending approvals of a mandate that was stopped or settled (contract 6)."""
    if mandate.status in (Status.STOPPED, Status.SETTLED):
        uow.approvals.expire_pending(mandate.public_id)


def with_approval_keeping(
    uow: UnitOfWork, mandate: Mandate, vault_keeps_approvals: bool | None
) -> Mandate:
    """The mandate with what its factory said, stored where that is new."""
    if vault_keeps_approvals is None or vault_keeps_approvals == mandate.approvals_on_chain:
        return mandate
    mandate = replace(mandate, approvals_on_chain=vault_keeps_approvals)
    uow.mandates.save(mandate)
    return mandate
