"""The vault that signed terms create, and the money that goes in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from pydantic import Field

from domain.facts import Call, Receipt, Simulation, VaultLog, VaultState
from domain.mandates.mandate import Mandate, Signed, Status
from domain.money import ZERO, Usdc
from domain.next_steps import OWNER_OR_AGENT, NextStep
from domain.ports import Chain
from domain.refusals import Refused, refusal
from domain.rules.reverts import reverts
from domain.times import timestamp
from storage.unit_of_work import UnitOfWork
from tools.call.access import peek, seen_mandate
from tools.call.case import (
    Facts,
    chain_if_named,
    gather_mandate,
    named_chain,
    signed_digest,
)
from tools.call.fields import OneMandate, TxHash
from tools.call.operation import Ask, Caller, Deps, Gives, Operation, Reply
from tools.call.shapes import Simulated, simulated
from tools.keeper.attach import attach
from tools.keeper.intake import take_receipt
from tools.mandates.sponsorship import Capabilities, capabilities
from tools.mandates.terms import MandateOnly, signed_terms

YOUNG: Final = "The vault is new and the chain may still take it back: wait till it is deep. "


class CallOut(Gives):
    """A transaction to sign and send, or why there is none."""

    configured: bool
    call: Call | None = None
    predicted_vault: str | None = None
    simulation: Simulated | None = None
    message: str | None = None
    capabilities: Capabilities | None = None


class ByTx(OneMandate):
    """A transaction that was sent."""

    tx_hash: TxHash


class FundIn(OneMandate):
    """How much to put in."""

    amount: Usdc | None = None


class BestWay(Gives):
    """The way that is advised."""

    way: Literal["deposit"]
    text: str = Field(description="the service's own words")
    sync_call: Call


@dataclass(frozen=True, slots=True)
class FundCall(Call):
    """One of the two calls that put money in, in their order."""

    step: Literal["approve", "deposit"] = "approve"


class FundOut(Gives):
    """How USDC gets into the vault; `room` is what may still be deposited. `provisional`: the
    vault's creation is not deep enough in the chain, and may still be reorganised away.
    """

    vault_address: str
    provisional: bool
    chain_id: int
    usdc: str
    room: Usdc
    best_way: BestWay
    calls: list[FundCall]
    amount: Usdc | None
    capabilities: Capabilities | None = None


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
    try:
        told = await chain.simulate(call)
        where = await chain.predict_vault(signed.message, m.allowed_targets)
    except Refused:
        return CreatePreview()
    return CreatePreview(predicted=where, simulation=told)


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
    told = {
        "configured": True,
        "call": call,
        "predicted_vault": ask.facts.predicted,
        "simulation": simulated(ask.facts.simulation),
    }
    told["capabilities"] = capabilities(ask, chain)
    return Reply(200, told)


async def gather_receipt(deps: Deps, caller: Caller, asked: Any) -> Facts:
    """Read the receipt of a transaction."""
    m = await peek(deps, caller, asked.public_id)
    return Facts(receipt=await deps.chains.get(m.chain_id).receipt(asked.tx_hash.lower()))


def mined(receipt: Receipt | None) -> Receipt:
    """A successful receipt.

    Errors: `vault_mismatch` for a transaction that is unknown or failed.
    """
    if receipt is None:
        raise Refused(refusal("vault_mismatch", why="the chain has not seen it yet"))
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
    receipt, made = mined(ask.facts.receipt), ask.facts.made
    if made is None or made.args["digest"] != signed_digest(chain, m):
        raise Refused(
            refusal("vault_mismatch", why="it did not create this mandate's vault at our factory")
        )
    vault, block = str(made.args["vault"]), made.block.number
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


def provisional(uow: UnitOfWork, chain: Chain, m: Mandate, vault: VaultState | None) -> bool:
    """True while a reorganisation within the confirmations could still take the vault away."""
    known = uow.chainlog.vault(m.chain_id, m.vault_address or "")
    if known is None or (vault is not None and not vault.exists):
        return True
    aged = vault is not None and vault.block.number - known.block >= chain.confirmations
    return not known.deep and not aged


def _fund_call(step: Literal["approve", "deposit"], c: Call) -> FundCall:
    return FundCall(c.chain_id, c.to, c.data, c.value, c.sender, step=step)


def fund(uow: UnitOfWork, ask: Ask[FundIn, Facts]) -> Reply:
    """Where the money goes, the best way in, and the two calls for an amount."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    chain, vault = named_chain(ask, m), ask.facts.vault
    closed = vault is not None and (vault.stopped or vault.settled)
    if m.vault_address is None or m.status not in (Status.SIGNED, Status.WORKING) or closed:
        raise Refused(refusal("wrong_status", status=m.status.value, action="funding it"))
    if m.ended(max(ask.now, vault.block.at) if vault is not None else ask.now):
        raise Refused(refusal("mandate_ended", ends_at=timestamp(m.ends_at) if m.ends_at else None))
    if chain.usdc is None:
        raise Refused(refusal("not_configured", what=f"USDC of chain {m.chain_id}"))
    # A deposit that is mined and not deep enough is in the vault already.
    deposited = Usdc(uow.ledger.state(m.public_id).measured.deposits)
    room = max(
        ZERO, m.budget_usdc - max(deposited, vault.total_deposited if vault is not None else ZERO)
    )
    amount = ask.asked.amount
    calls: list[FundCall] = []
    if amount is not None:
        if amount <= ZERO:
            raise Refused(refusal("invalid_number", value=str(amount), why="it is not above 0"))
        if amount > room:
            raise Refused(
                refusal(
                    "over_budget", attempted=amount, allowed=room, remaining={"budget": str(room)}
                )
            )
        approve = replace(chain.approve_call(m.vault_address, amount), sender=m.owner_address)
        deposit = replace(
            chain.vault_call(m.vault_address, "deposit", amount), sender=m.owner_address
        )
        calls = [_fund_call("approve", approve), _fund_call("deposit", deposit)]
    young = provisional(uow, chain, m, vault)
    best = {
        "way": "deposit",
        "text": (YOUNG if young else "") + "Send both calls from the owner's wallet. USDC that "
        "reaches the vault by a plain transfer is booked by sync().",
        "sync_call": replace(chain.vault_call(m.vault_address, "sync"), sender=m.owner_address),
    }
    told = {
        "vault_address": m.vault_address,
        "provisional": young,
        "chain_id": m.chain_id,
        "usdc": chain.usdc,
        "room": room,
        "best_way": best,
        "calls": calls,
        "amount": amount,
        "capabilities": capabilities(ask, chain),
    }
    return Reply(200, told)


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
            "vault_mismatch",
            "conflict",
            "not_configured",
            "chain_unavailable",
        ),
    ),
    Operation(
        name="owner_fund",
        title="Fund the vault",
        summary="Vault address, USDC, and the approve and deposit calls for an amount.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/fund"),
        takes=FundIn,
        gives=FundOut,
        handler=fund,
        gather=gather_mandate,
        refusals=(
            "not_found",
            "wrong_status",
            "mandate_ended",
            "not_configured",
            "over_budget",
            "invalid_number",
        ),
    ),
)
