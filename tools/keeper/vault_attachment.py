"""Vault attachment: links a vault to the mandate whose signed terms created it."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime

from domain.chain_facts import VaultLog
from domain.mandates.lifecycle import LifecycleAction, status_after
from domain.mandates.mandate import OPEN_AGENT, Mandate, Status
from domain.ports import Chain, Chains
from storage.unit_of_work import UnitOfWork
from tools.context.snapshot_loader import signed_digest, signed_vault

log = logging.getLogger("wallet.attach")


def attach_created(uow: UnitOfWork, now: datetime, chain: Chain, created: VaultLog) -> None:
    """Attach the vault that the factory's log tells of, which is deep enough to stand.

    The log names the mandate, and its digest proves it: nobody but the owner signed those terms.
    The address follows from them too, so that no node can name another.
    """
    vault, digest = str(created.args["vault"]), str(created.args["digest"])
    uow.chainlog.vault_is_deep(chain.chain_id, vault)
    mandate = uow.mandates.get(str(created.args["publicId"]), lock=True)
    if (
        mandate is None
        or mandate.chain_id != chain.chain_id
        or signed_digest(chain, mandate) != digest
    ):
        return
    if vault != signed_vault(chain, mandate):
        log.error(
            "%s: %s is not where its vault stands; a node told of it", mandate.public_id, vault
        )
        uow.chainlog.forget_vault(chain.chain_id, vault)
    elif mandate.vault_address is None and mandate.status is Status.SIGNED:
        attach(uow, now, mandate, vault)
    elif mandate.vault_address is None:
        log.warning(
            "%s is %s, and its vault %s was made", mandate.public_id, mandate.status.value, vault
        )


def attach_known(
    uow: UnitOfWork, now: datetime, chains: Chains, mandate: Mandate, digest: str
) -> Mandate:
    """Attach the vault that the reader has seen made of these terms, if it has; what happened in it
    so far is read again.
    """
    where = signed_vault(chains.get(mandate.chain_id), mandate)
    known = None if where is None else uow.chainlog.vault(mandate.chain_id, where)
    if known is None or known.digest != digest or mandate.vault_address is not None:
        return mandate
    uow.chainlog.read_again(mandate.chain_id, known.address, known.block)
    return attach(uow, now, mandate, chains.address(known.address))


def attach(uow: UnitOfWork, now: datetime, mandate: Mandate, vault: str) -> Mandate:
    """The mandate with its vault.

    Errors: `wrong_status`, `conflict`.
    """
    mandate = replace(
        mandate, status=status_after(mandate, LifecycleAction.ATTACH), vault_address=vault
    )
    # Terms that name nobody leave the vault without an agent until the owner sets the one that
    # accepted.
    if mandate.signed is not None and mandate.signed.message.get("agent") == OPEN_AGENT:
        mandate = replace(mandate, paused_at=now)
    uow.mandates.save(mandate)
    return mandate
