"""Vault transactions: records the effect of a mined transaction on a vault."""

from __future__ import annotations

from typing import Final, Literal

from domain.chain_facts import Receipt, StagedLog
from domain.ledger.events.chain_events import LOG_OF
from domain.mandates.mandate import Mandate
from domain.refusals import Refused, refusal
from domain.rules.status_derivation import apply_newest_block
from storage.unit_of_work import UnitOfWork
from tools.context.access import visible_mandate
from tools.context.snapshot_loader import GatheredFacts, require_chain, staged_logs
from tools.keeper.ingest import ingest_receipt
from tools.mandates.drafting.terms import MandateOnly
from tools.mandates.vault.simulated_calls import vault_of
from tools.mandates.vault.vault_creation import ByTx, gather_receipt, require_mined
from tools.model.operation import Operation, OperationResult, RequestContext


class VaultTx(ByTx):
    """A transaction on the vault, and what it is meant to have done."""

    kind: Literal["stop", "pause", "resume", "record", "withdraw", "unwind", "deposit"] | None = (
        None
    )


def vault_tx(uow: UnitOfWork, ctx: RequestContext[VaultTx, GatheredFacts]) -> OperationResult:
    """Record a transaction on the vault; only a successful receipt changes anything."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id, lock=True)
    vault = vault_of(mandate, "recording a vault transaction")
    receipt = require_mined(ctx.request.tx_hash, ctx.facts.receipt)
    names = {log.name for log in receipt.logs if log.address.lower() == vault.lower()}
    if not names:
        raise Refused(refusal("vault_mismatch", why="none of its logs is of this vault"))
    if ctx.request.kind is not None and LOG_OF[ctx.request.kind] not in names:
        raise Refused(refusal("vault_mismatch", why=f"it is no {ctx.request.kind}"))
    chain = require_chain(ctx, mandate)
    mandate = ingest_receipt(uow, ctx, chain, mandate, receipt)
    deep = receipt.depth >= chain.confirmations
    raw = {
        "mandate": (mandate if deep else _after_receipt(uow, mandate, receipt)).attributes(),
        "recorded": deep,
        "depth": receipt.depth,
        "confirmations": chain.confirmations,
    }
    return OperationResult(200, raw)


def _after_receipt(uow: UnitOfWork, mandate: Mandate, receipt: Receipt) -> Mandate:
    """The mandate as a transaction that is too young to be recorded leaves it."""
    known = staged_logs(uow, mandate)
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
        if g.address.lower() == (mandate.vault_address or "").lower()
        and all(k.tx_hash != g.tx_hash for k in known)
    ]
    return apply_newest_block(mandate, None, sorted((*known, *young), key=lambda g: g.block))


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
        request_model=VaultTx,
        response_model=VaultTxOut,
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
