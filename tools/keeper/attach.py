"""A vault belongs to the mandate whose signed terms it was made of, whoever had it made."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime

from domain.facts import VaultLog
from domain.mandates.mandate import OPEN_AGENT, Mandate, Status
from domain.mandates.states import Action, moved
from domain.ports import Chain, Chains
from storage.unit_of_work import UnitOfWork
from tools.call.case import signed_digest, signed_vault

log = logging.getLogger("wallet.attach")


def attach_created(uow: UnitOfWork, now: datetime, chain: Chain, made: VaultLog) -> None:
    """Attach the vault that the factory's log tells of, which is deep enough to stand.

    The log names the mandate, and its digest proves it: nobody but the owner signed those terms.
    The address follows from them too, so that no node can name another.
    """
    vault, digest = str(made.args["vault"]), str(made.args["digest"])
    uow.chainlog.vault_is_deep(chain.chain_id, vault)
    m = uow.mandates.get(str(made.args["publicId"]), lock=True)
    if m is None or m.chain_id != chain.chain_id or signed_digest(chain, m) != digest:
        return
    if vault != signed_vault(chain, m):
        log.error("%s: %s is not where its vault stands; a node told of it", m.public_id, vault)
        uow.chainlog.forget_vault(chain.chain_id, vault)
    elif m.vault_address is None and m.status is Status.SIGNED:
        attach(uow, now, m, vault)
    elif m.vault_address is None:
        log.warning("%s is %s, and its vault %s was made", m.public_id, m.status.value, vault)


def attach_known(
    uow: UnitOfWork, now: datetime, chains: Chains, m: Mandate, digest: str
) -> Mandate:
    """Attach the vault that the reader has seen made of these terms, if it has; what happened in it
    so far is read again.
    """
    where = signed_vault(chains.get(m.chain_id), m)
    known = None if where is None else uow.chainlog.vault(m.chain_id, where)
    if known is None or known.digest != digest or m.vault_address is not None:
        return m
    uow.chainlog.read_again(m.chain_id, known.address, known.block)
    return attach(uow, now, m, chains.address(known.address))


def attach(uow: UnitOfWork, now: datetime, m: Mandate, vault: str) -> Mandate:
    """The mandate with its vault.

    Errors: `wrong_status`, `conflict`.
    """
    m = replace(m, status=moved(m, Action.ATTACH), vault_address=vault)
    # Terms that name nobody leave the vault without an agent until the owner sets the one that
    # accepted.
    if m.signed is not None and m.signed.message.get("agent") == OPEN_AGENT:
        m = replace(m, paused_at=now)
    uow.mandates.save(m)
    return m
