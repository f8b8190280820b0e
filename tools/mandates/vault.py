"""The vault that signed terms create."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from domain.facts import Call, Receipt, Simulation, VaultLog
from domain.mandates.mandate import Mandate, Signed, Status
from domain.next_steps import OWNER_OR_AGENT, NextStep
from domain.ports import Chain
from domain.refusals import Refused, refusal
from domain.rules.reverts import reverts
from storage.unit_of_work import UnitOfWork
from tools.call.access import peek, seen_mandate
from tools.call.case import (
    Facts,
    chain_if_named,
    named_chain,
    signed_digest,
    signed_vault,
    simulation_if_readable,
)
from tools.call.fields import OneMandate, TxHash
from tools.call.operation import Ask, Caller, Deps, Gives, Operation, Reply
from tools.call.shapes import ExplainedCall, Simulated
from tools.keeper.attach import attach
from tools.keeper.intake import take_receipt
from tools.mandates.sponsorship import Capabilities, capabilities
from tools.mandates.terms import MandateOnly, signed_terms
from tools.mandates.tried import told


class CallOut(Gives):
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
    """Where the vault will stand, and what the factory call would do; None where it was not
    asked, or the chain gave no answer.
    """

    predicted: str | None = None
    simulation: Simulation | None = None


async def gather_create(deps: Deps, caller: Caller, asked: OneMandate) -> CreatePreview:
    """Simulate the factory call before the owner signs it, and ask where the vault will be."""
    m = await peek(deps, caller, asked.public_id)
    chain = chain_if_named(deps, m)
    signed = signed_terms(m, "creating its vault")
    if chain is None or chain.factory is None or not chain.rpc_set or m.status is not Status.SIGNED:
        return CreatePreview()
    call = replace(
        chain.create_call(signed.message, m.allowed_targets, signed.signature),
        sender=m.owner_address,
    )
    return await _preview_if_readable(chain, call, m, signed)


async def _preview_if_readable(
    chain: Chain, call: Call, m: Mandate, signed: Signed
) -> CreatePreview:
    tried, where = await simulation_if_readable(chain, call), None
    with suppress(Refused), chain.hurried():
        where = await chain.predict_vault(signed.message, m.allowed_targets)
    return CreatePreview(predicted=where, simulation=tried)


def create_call(uow: UnitOfWork, ask: Ask[OneMandate, CreatePreview]) -> Reply:
    """Calldata of the factory call that creates the vault."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    signed = signed_terms(m, "creating its vault")
    chain = named_chain(ask, m)
    if chain.factory is None:
        return Reply(
            200,
            {"configured": False, "message": f"No vault factory is set for chain {m.chain_id}."},
        )
    if m.status is not Status.SIGNED or m.vault_address is not None:
        raise Refused(refusal("wrong_status", status=m.status.value, action="creating its vault"))
    tried = ask.facts.simulation
    # Terms that are younger than the newest block can be created from the next one on: the try
    # says nothing of them.
    young = tried is not None and tried.block.at.timestamp() < int(signed.message["issuedAt"])
    if tried is not None and not tried.ok and not young:
        raise Refused(reverts(tried.revert, next_steps=(_READ_IT,)))
    call = replace(
        chain.create_call(signed.message, m.allowed_targets, signed.signature),
        sender=m.owner_address,
    )
    body = {
        "configured": True,
        "predicted_vault": ask.facts.predicted,
        "capabilities": capabilities(ask, chain),
    }
    return Reply(200, body | told(chain, call, tried))


async def gather_receipt(deps: Deps, caller: Caller, asked: Any) -> Facts:
    """Read the receipt of a transaction."""
    m = await peek(deps, caller, asked.public_id)
    return Facts(receipt=await deps.chains.get(m.chain_id).receipt(asked.tx_hash.lower()))


def mined(tx_hash: str, receipt: Receipt | None) -> Receipt:
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


async def gather_creation(deps: Deps, caller: Caller, asked: ByTx) -> Creation:
    """Read the receipt; where somebody else's transaction made the vault, look for it."""
    m = await peek(deps, caller, asked.public_id)
    chain = deps.chains.get(m.chain_id)
    receipt, digest = await chain.receipt(asked.tx_hash.lower()), signed_digest(chain, m)
    if receipt is None or not receipt.ok or digest is None:
        return Creation(receipt=receipt)
    own = (g for g in receipt.logs if g.name == "MandateCreated" and g.address == chain.factory)
    made = next((g for g in own if g.args["digest"] == digest), None)
    if made is None and chain.factory is not None:
        made = await chain.creation(m.public_id, digest, receipt.block)
    return Creation(receipt=receipt, made=made)


def look(uow: UnitOfWork, ask: Ask[ByTx, Creation]) -> Reply:
    """Attach the vault now, where the chain has it; the reader attaches it too, in time."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id, lock=True)
    signed_terms(m, "attaching a vault")
    chain = named_chain(ask, m)
    receipt, made = mined(ask.asked.tx_hash, ask.facts.receipt), ask.facts.made
    if made is None or made.args["digest"] != signed_digest(chain, m):
        raise Refused(
            refusal("vault_mismatch", why="it did not create this mandate's vault at our factory")
        )
    vault, block = str(made.args["vault"]), made.block.number
    if vault != signed_vault(chain, m):
        raise Refused(
            refusal("vault_mismatch", why="it is not where the vault of its terms stands")
        )
    if m.vault_address is not None:
        if m.vault_address.lower() != vault.lower():
            raise Refused(refusal("vault_mismatch", why="another vault is attached"))
        return Reply(200, {"mandate": m.attributes()})
    m = attach(uow, ask.now, m, vault)
    uow.chainlog.add_vault(m.chain_id, vault, str(made.args["digest"]), block)
    if receipt.depth + receipt.block.number - block >= chain.confirmations:
        uow.chainlog.vault_is_deep(m.chain_id, vault)
    read = uow.chainlog.cursor(m.chain_id)
    if read is not None and block <= read.block:
        uow.chainlog.read_again(m.chain_id, vault, block)
    return Reply(200, {"mandate": take_receipt(uow, ask, chain, m, receipt).attributes()})


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
        takes=OneMandate,
        gives=CallOut,
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
        takes=ByTx,
        gives=MandateOnly,
        handler=look,
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
