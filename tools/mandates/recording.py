"""Recording what a transaction did to a vault."""

from __future__ import annotations

from typing import Final, Literal

from domain.facts import Receipt, StagedLog
from domain.ledger.chain_events import LOG_OF
from domain.mandates.mandate import Mandate
from domain.refusals import Refused, refusal
from domain.rules.standing import as_read
from storage.unit_of_work import UnitOfWork
from tools.call.access import seen_mandate
from tools.call.case import Facts, coming, named_chain
from tools.call.operation import Ask, Operation, Reply
from tools.keeper.intake import take_receipt
from tools.mandates.terms import MandateOnly
from tools.mandates.tried import vault_of
from tools.mandates.vault import ByTx, gather_receipt, mined


class VaultTx(ByTx):
    """A transaction on the vault, and what it is meant to have done."""

    kind: Literal["stop", "pause", "resume", "record", "withdraw", "unwind", "deposit"] | None = (
        None
    )


def vault_tx(uow: UnitOfWork, ask: Ask[VaultTx, Facts]) -> Reply:
    """Record a transaction on the vault; only a successful receipt changes anything."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id, lock=True)
    vault = vault_of(m, "recording a vault transaction")
    receipt = mined(ask.asked.tx_hash, ask.facts.receipt)
    names = {log.name for log in receipt.logs if log.address.lower() == vault.lower()}
    if not names:
        raise Refused(refusal("vault_mismatch", why="none of its logs is of this vault"))
    if ask.asked.kind is not None and LOG_OF[ask.asked.kind] not in names:
        raise Refused(refusal("vault_mismatch", why=f"it is no {ask.asked.kind}"))
    chain = named_chain(ask, m)
    m = take_receipt(uow, ask, chain, m, receipt)
    deep = receipt.depth >= chain.confirmations
    told = {
        "mandate": (m if deep else _as_of(uow, m, receipt)).attributes(),
        "recorded": deep,
        "depth": receipt.depth,
        "confirmations": chain.confirmations,
    }
    return Reply(200, told)


def _as_of(uow: UnitOfWork, m: Mandate, receipt: Receipt) -> Mandate:
    """The mandate as a transaction that is too young to be recorded leaves it."""
    known = coming(uow, m)
    young = [
        StagedLog(
            name=g.name,
            address=g.address,
            mandate=g.mandate,
            args=g.args,
            at=g.block.at,
            block=g.block.number,
            tx_hash=g.tx_hash,
        )
        for g in receipt.logs
        if g.address.lower() == (m.vault_address or "").lower()
        and all(k.tx_hash != g.tx_hash for k in known)
    ]
    return as_read(m, None, sorted((*known, *young), key=lambda g: g.block))


class VaultTxOut(MandateOnly):
    """The mandate; `recorded` is false while the transaction is too young, till then the reads
    show it as provisional.
    """

    recorded: bool
    depth: int
    confirmations: int


OPERATIONS: Final = (
    Operation(
        name="owner_vault_tx",
        title="Record a vault transaction",
        summary="Record a stop, pause, resume, record, withdraw, unwind or deposit transaction.",
        auth="owner",
        route=("POST", "/wallet/mandates/{public_id}/vault-tx"),
        takes=VaultTx,
        gives=VaultTxOut,
        handler=vault_tx,
        gather=gather_receipt,
        writes=True,
        idempotent=True,
        refusals=(
            "not_found",
            "wrong_status",
            "not_configured",
            "tx_pending",
            "vault_mismatch",
            "chain_unavailable",
            "conflict",
        ),
    ),
)
