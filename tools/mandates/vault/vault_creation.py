"""Vault creation: the call that creates the vault of signed terms, and the transactions on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from pydantic import Field

from domain.chain_facts import Call, Receipt, Simulation, StagedLog, VaultLog
from domain.ledger.events.chain_events import LOG_OF
from domain.mandates.mandate import Mandate, SignedTerms, Status
from domain.mandates.purse_entries import purse_of
from domain.mandates.purses import PurseTerms
from domain.next_steps import OWNER_OR_AGENT, NextStep
from domain.ports import Chain
from domain.refusals import Refused, refusal
from domain.rules.revert_refusals import reverts
from domain.rules.status_derivation import apply_newest_block
from storage.unit_of_work import UnitOfWork
from tools.context.access import load_mandate, visible_mandate, wrong_status
from tools.context.snapshot_loader import (
    chain_or_none,
    require_chain,
    signed_digest,
    signed_vault,
    simulation_if_readable,
    staged_logs,
)
from tools.keeper.ingest import ingest_receipt, purse_logs
from tools.keeper.vault_attachment import attach
from tools.mandates.drafting.terms import MandateOnly, signed_terms
from tools.mandates.vault.gas_sponsorship import Capabilities, capabilities
from tools.mandates.vault.simulated_calls import call_parts, require_vault
from tools.model.fields import OneMandate, TxHash
from tools.model.operation import Caller, Deps, Operation, RequestContext, ResponseModel
from tools.model.shared_models import ExplainedCall, Simulated

TxKind = Literal[
    "stop", "pause", "resume", "record", "withdraw", "unwind", "deposit", "void", "sweep"
]


class CallOut(ResponseModel):
    """A transaction to sign and send, or why there is none."""

    configured: bool
    first: Call | None = Field(
        default=None,
        description="to be sent before `call`, once: it makes the contract that holds the limits "
        "of the purse",
    )
    call: Call | None = None
    decoded: ExplainedCall | None = None
    predicted_vault: str | None = None
    simulation: Simulated | None = None
    message: str | None = None
    capabilities: Capabilities | None = None


class ByTx(OneMandate):
    """A transaction that was sent."""

    tx_hash: TxHash


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePreview:
    """The vault's address, which follows from its terms alone, and the simulated factory call; None
    where it was not requested, or the chain gave no answer.
    """

    predicted: str | None = None
    simulation: Simulation | None = None


async def gather_create(deps: Deps, caller: Caller, request: OneMandate) -> CreatePreview:
    """Simulate the factory call before the owner signs it, and compute where the vault will be."""
    mandate = await load_mandate(deps, caller, request.public_id)
    chain = chain_or_none(deps, mandate)
    signed = signed_terms(mandate, "creating its vault")
    if chain is None or chain.factory is None or not chain.rpc_set:
        return CreatePreview()
    if mandate.status is not Status.SIGNED:
        return CreatePreview()
    return CreatePreview(
        predicted=signed_vault(chain, mandate),
        simulation=await simulation_if_readable(chain, _factory_call(chain, mandate, signed)),
    )


def _factory_call(chain: Chain, mandate: Mandate, signed: SignedTerms) -> Call:
    call = chain.create_call(signed.message, mandate.allowed_targets, signed.signature)
    return replace(call, sender=mandate.owner_address)


def create_call(uow: UnitOfWork, ctx: RequestContext[OneMandate, CreatePreview]) -> CallOut:
    """Calldata of the factory call that creates the vault."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    signed = signed_terms(mandate, "creating its vault")
    chain = require_chain(ctx, mandate)
    if chain.factory is None:
        message = f"No vault factory is set for chain {mandate.chain_id}."
        return CallOut(configured=False, message=message)
    if mandate.status is not Status.SIGNED or mandate.vault_address is not None:
        raise wrong_status(mandate, "creating its vault")
    tried = ctx.facts.simulation
    # Terms that are younger than the newest block can be created from the next one on: the try
    # says nothing of them.
    young = tried is not None and tried.block.at.timestamp() < int(signed.message["issuedAt"])
    hub = _missing_hub(mandate, tried)
    if tried is not None and not tried.ok and not young and hub is None:
        raise Refused(reverts(tried.revert, next_steps=(_READ_IT,)))
    return CallOut(
        configured=True,
        first=None if hub is None else replace(chain.hub_call(hub), sender=mandate.owner_address),
        predicted_vault=ctx.facts.predicted,
        capabilities=capabilities(ctx, chain),
        **call_parts(chain, _factory_call(chain, mandate, signed), tried),
    )


def _missing_hub(mandate: Mandate, tried: Simulation | None) -> PurseTerms | None:
    """The purse whose hub nobody has deployed yet: the factory refuses a target without code."""
    purse, revert = purse_of(mandate.allowed_targets), tried.revert if tried else None
    if purse is None or purse.is_plain or revert is None or revert.name != "BadTarget":
        return None
    return purse if str(revert.args.get("target")).lower() == purse.hub.lower() else None


async def gather_receipt(deps: Deps, caller: Caller, request: ByTx) -> Receipt | None:
    """Read the receipt of a transaction."""
    mandate = await load_mandate(deps, caller, request.public_id)
    return await deps.chains.get(mandate.chain_id).receipt(request.tx_hash.lower())


def require_mined(tx_hash: str, receipt: Receipt | None) -> Receipt:
    """A successful receipt.

    Errors: `tx_pending` where no block holds it, `vault_mismatch` for one that failed.
    """
    if receipt is None:
        raise Refused(refusal("tx_pending", tx_hash=tx_hash.lower()))
    if not receipt.ok:
        raise _mismatch("it failed")
    return receipt


def _mismatch(why: str) -> Refused:
    return Refused(refusal("vault_mismatch", why=why))


@dataclass(frozen=True, slots=True, kw_only=True)
class Creation:
    """The transaction that was named, and the factory's log of the vault of these terms."""

    receipt: Receipt | None = None
    made: VaultLog | None = None


async def gather_creation(deps: Deps, caller: Caller, request: ByTx) -> Creation:
    """Read the receipt; where another transaction made the vault, look for it."""
    mandate = await load_mandate(deps, caller, request.public_id)
    chain = deps.chains.get(mandate.chain_id)
    receipt, digest = await chain.receipt(request.tx_hash.lower()), signed_digest(chain, mandate)
    if receipt is None or not receipt.ok or digest is None:
        return Creation(receipt=receipt)
    own = (g for g in receipt.logs if g.name == "MandateCreated" and g.address == chain.factory)
    created = next((g for g in own if g.args["digest"] == digest), None)
    if created is None and chain.factory is not None:
        created = await chain.creation(mandate.public_id, digest, receipt.block)
    return Creation(receipt=receipt, made=created)


def attach_now(uow: UnitOfWork, ctx: RequestContext[ByTx, Creation]) -> MandateOnly:
    """Attach the vault now, where the chain has it; the reader attaches it too, in time."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id, lock=True)
    signed_terms(mandate, "attaching a vault")
    chain = require_chain(ctx, mandate)
    receipt, created = require_mined(ctx.request.tx_hash, ctx.facts.receipt), ctx.facts.made
    if created is None or created.args["digest"] != signed_digest(chain, mandate):
        raise _mismatch("it did not create this mandate's vault at our factory")
    vault, block = str(created.args["vault"]), created.block.number
    if vault != signed_vault(chain, mandate):
        raise _mismatch("it is not where the vault of its terms stands")
    if mandate.vault_address is not None:
        if mandate.vault_address.lower() != vault.lower():
            raise _mismatch("another vault is attached")
        return MandateOnly(mandate=mandate.attributes())
    mandate = attach(uow, ctx.now, mandate, vault)
    uow.chainlog.add_vault(mandate.chain_id, vault, str(created.args["digest"]), block)
    if receipt.depth + receipt.block.number - block >= chain.confirmations:
        uow.chainlog.vault_is_deep(mandate.chain_id, vault)
    read = uow.chainlog.cursor(mandate.chain_id)
    if read is not None and block <= read.block:
        uow.chainlog.read_again(mandate.chain_id, vault, block)
    mandate = ingest_receipt(uow, ctx, chain, mandate, receipt)
    return MandateOnly(mandate=mandate.attributes())


class VaultTx(ByTx):
    """A transaction on the vault, and what it is meant to have done."""

    kind: TxKind | None = None


class VaultTxOut(MandateOnly):
    """The mandate; `recorded` is false while the transaction is too young, till then the reads
    show it as provisional.
    """

    recorded: bool
    depth: int
    confirmations: int


def vault_tx(uow: UnitOfWork, ctx: RequestContext[VaultTx, Receipt | None]) -> VaultTxOut:
    """Record a transaction on the vault; only a successful receipt changes anything."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id, lock=True)
    vault = require_vault(mandate, "recording a vault transaction")
    receipt = require_mined(ctx.request.tx_hash, ctx.facts)
    chain = require_chain(ctx, mandate)
    names = {log.name for log in receipt.logs if log.address.lower() == vault.lower()}
    names |= {log.name for log in purse_logs(uow, chain, mandate, receipt)}
    if not names:
        raise _mismatch("none of its logs is of this vault or its purse")
    if ctx.request.kind is not None and LOG_OF[ctx.request.kind] not in names:
        raise _mismatch(f"it is no {ctx.request.kind}")
    mandate = ingest_receipt(uow, ctx, chain, mandate, receipt)
    deep = receipt.depth >= chain.confirmations
    shown = mandate if deep else _after_receipt(uow, mandate, receipt)
    return VaultTxOut(
        mandate=shown.attributes(),
        recorded=deep,
        depth=receipt.depth,
        confirmations=chain.confirmations,
    )


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


_READ_IT: Final = NextStep(
    "Read the mandate", "mandate_get", "GET /wallet/mandates/{public_id}", OWNER_OR_AGENT
)


OPERATIONS: Final = (
    Operation(
        name="owner_create_call",
        title="Get the factory call",
        summary="Calldata that creates the vault; simulated before you sign it, and refused where "
        "it would revert.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/create-call"),
        request_model=OneMandate,
        response_model=CallOut,
        handler=create_call,
        gather=gather_create,
        refusals=("not_found", "wrong_status", "not_configured", "would_revert"),
    ),
    Operation(
        name="owner_vault_attach",
        title="Attach the vault",
        summary="Look for the vault now, and attach it from the factory's own log.",
        auth="owner",
        route=("POST", "/wallet/mandates/{public_id}/vault"),
        request_model=ByTx,
        response_model=MandateOnly,
        handler=attach_now,
        gather=gather_creation,
        writes=True,
        idempotent=True,
        refusals=(
            "not_found",
            "wrong_status",
            "tx_pending",
            "vault_mismatch",
            "conflict",
            "not_configured",
            "chain_unavailable",
        ),
    ),
)


TRANSACTIONS: Final = (
    Operation(
        name="owner_vault_tx",
        title="Record a vault transaction",
        summary="Record a stop, pause, resume, record, withdraw, unwind, deposit or void "
        "transaction.",
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
