"""Vault creation: the call that creates the vault of signed terms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from domain.chain_facts import Call, Receipt, Simulation, VaultLog
from domain.mandates.mandate import Status
from domain.next_steps import OWNER_OR_AGENT, NextStep
from domain.refusals import Refused, refusal
from domain.rules.revert_refusals import reverts
from storage.unit_of_work import UnitOfWork
from tools.context.access import load_mandate, visible_mandate
from tools.context.snapshot_loader import (
    GatheredFacts,
    chain_or_none,
    require_chain,
    signed_digest,
    signed_vault,
    simulation_if_readable,
)
from tools.keeper.ingest import ingest_receipt
from tools.keeper.vault_attachment import attach
from tools.mandates.drafting.terms import MandateOnly, signed_terms
from tools.mandates.vault.gas_sponsorship import Capabilities, capabilities
from tools.mandates.vault.simulated_calls import call_body
from tools.model.fields import OneMandate, TxHash
from tools.model.operation import (
    Caller,
    Deps,
    Operation,
    OperationResult,
    RequestContext,
    ResponseModel,
)
from tools.model.shared_models import ExplainedCall, Simulated


class CallOut(ResponseModel):
    """A transaction to sign and send, or why there is none."""

    configured: bool
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
    if (
        chain is None
        or chain.factory is None
        or not chain.rpc_set
        or mandate.status is not Status.SIGNED
    ):
        return CreatePreview()
    call = replace(
        chain.create_call(signed.message, mandate.allowed_targets, signed.signature),
        sender=mandate.owner_address,
    )
    return CreatePreview(
        predicted=signed_vault(chain, mandate),
        simulation=await simulation_if_readable(chain, call),
    )


def create_call(uow: UnitOfWork, ctx: RequestContext[OneMandate, CreatePreview]) -> OperationResult:
    """Calldata of the factory call that creates the vault."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    signed = signed_terms(mandate, "creating its vault")
    chain = require_chain(ctx, mandate)
    if chain.factory is None:
        return OperationResult(
            200,
            {
                "configured": False,
                "message": f"No vault factory is set for chain {mandate.chain_id}.",
            },
        )
    if mandate.status is not Status.SIGNED or mandate.vault_address is not None:
        raise Refused(
            refusal("wrong_status", status=mandate.status.value, action="creating its vault")
        )
    tried = ctx.facts.simulation
    # Terms that are younger than the newest block can be created from the next one on: the try
    # says nothing of them.
    young = tried is not None and tried.block.at.timestamp() < int(signed.message["issuedAt"])
    if tried is not None and not tried.ok and not young:
        raise Refused(reverts(tried.revert, next_steps=(_READ_IT,)))
    call = replace(
        chain.create_call(signed.message, mandate.allowed_targets, signed.signature),
        sender=mandate.owner_address,
    )
    body = {
        "configured": True,
        "predicted_vault": ctx.facts.predicted,
        "capabilities": capabilities(ctx, chain),
    }
    return OperationResult(200, body | call_body(chain, call, tried))


async def gather_receipt(deps: Deps, caller: Caller, request: Any) -> GatheredFacts:
    """Read the receipt of a transaction."""
    mandate = await load_mandate(deps, caller, request.public_id)
    return GatheredFacts(
        receipt=await deps.chains.get(mandate.chain_id).receipt(request.tx_hash.lower())
    )


def require_mined(tx_hash: str, receipt: Receipt | None) -> Receipt:
    """A successful receipt.

    Errors: `tx_pending` where no block holds it, `vault_mismatch` for one that failed.
    """
    if receipt is None:
        raise Refused(refusal("tx_pending", tx_hash=tx_hash.lower()))
    if not receipt.ok:
        raise Refused(refusal("vault_mismatch", why="it failed"))
    return receipt


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


def attach_now(uow: UnitOfWork, ctx: RequestContext[ByTx, Creation]) -> OperationResult:
    """Attach the vault now, where the chain has it; the reader attaches it too, in time."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id, lock=True)
    signed_terms(mandate, "attaching a vault")
    chain = require_chain(ctx, mandate)
    receipt, created = require_mined(ctx.request.tx_hash, ctx.facts.receipt), ctx.facts.made
    if created is None or created.args["digest"] != signed_digest(chain, mandate):
        raise Refused(
            refusal("vault_mismatch", why="it did not create this mandate's vault at our factory")
        )
    vault, block = str(created.args["vault"]), created.block.number
    if vault != signed_vault(chain, mandate):
        raise Refused(
            refusal("vault_mismatch", why="it is not where the vault of its terms stands")
        )
    if mandate.vault_address is not None:
        if mandate.vault_address.lower() != vault.lower():
            raise Refused(refusal("vault_mismatch", why="another vault is attached"))
        return OperationResult(200, {"mandate": mandate.attributes()})
    mandate = attach(uow, ctx.now, mandate, vault)
    uow.chainlog.add_vault(mandate.chain_id, vault, str(created.args["digest"]), block)
    if receipt.depth + receipt.block.number - block >= chain.confirmations:
        uow.chainlog.vault_is_deep(mandate.chain_id, vault)
    read = uow.chainlog.cursor(mandate.chain_id)
    if read is not None and block <= read.block:
        uow.chainlog.read_again(mandate.chain_id, vault, block)
    return OperationResult(
        200, {"mandate": ingest_receipt(uow, ctx, chain, mandate, receipt).attributes()}
    )


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
