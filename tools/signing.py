"""Terms, their signature, the vault they create, and the money that goes in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import Field

from domain.facts import Receipt, SignerCheck
from domain.ledger.events import Kind, NewEvent, Reporter
from domain.mandates.clauses import clauses
from domain.mandates.mandate import OPEN_AGENT, TERMS_GOOD_FOR, Mandate, Signed, Status
from domain.mandates.states import Action, moved
from domain.mandates.terms import frame as fixed_frame
from domain.mandates.terms import message, typed_data
from domain.money import ZERO, Usdc
from domain.ports import Chain
from domain.refusals import Refused, refusal
from domain.rules.exposure import exposure
from domain.times import timestamp
from storage.unit_of_work import UnitOfWork
from tools.access import Facts, OneMandate, TxHash, chain_of, gather_mandate, load_book, named_chain, peek, seen_mandate
from tools.drafts import address_on_file
from tools.ingest import take_receipt
from tools.operation import Ask, Caller, Deps, Gives, Operation, Reply
from tools.sponsorship import capabilities

MAX_FEE_BPS_ON_CHAIN: Final = 3000


class TermsOut(Gives):
    """The typed data to sign."""

    typed_data: dict[str, Any]
    digest: str
    clauses: list[dict[str, Any]]
    terms_version: str
    exposure: dict[str, Any]


class Sign(OneMandate):
    """The owner's signature over the digest."""

    signature: str = Field(pattern=r"^0x([0-9a-fA-F]{2})+$", max_length=16_384, description="0x hex; EOA, ERC-1271 or ERC-6492")


class MandateOnly(Gives):
    """The mandate's attributes."""

    mandate: dict[str, Any]
    terms_status: dict[str, Any] | None = None


class CallOut(Gives):
    """A transaction to sign and send, or why there is none."""

    configured: bool
    call: dict[str, Any] | None = None
    predicted_vault: str | None = None
    simulation: dict[str, Any] | None = None
    message: str | None = None
    capabilities: dict[str, Any] | None = None


class ByTx(OneMandate):
    """A transaction that was sent."""

    tx_hash: TxHash


class FundIn(OneMandate):
    """How much to put in."""

    amount: Usdc | None = None


class FundOut(Gives):
    """How USDC gets into the vault."""

    vault_address: str
    chain_id: int
    usdc: str
    room: str
    best_way: dict[str, Any]
    calls: list[dict[str, Any]]
    amount: str | None
    capabilities: dict[str, Any] | None = None


def terms_of(chain: Chain, m: Mandate) -> tuple[dict[str, Any], str]:
    """(typed data, digest) of a draft whose frame is fixed."""
    if m.frame is None:
        raise ValueError("the frame is not fixed")
    told = message(m, m.frame, chain.targets_hash(m.allowed_targets), chain.guard_hash(m.allowed_targets))
    data = typed_data(told, "2", m.chain_id, chain.factory or OPEN_AGENT)
    return data, chain.digest(data)


def stale(m: Mandate, now: datetime) -> bool:
    """True where the terms were asked for more than 24 hours ago."""
    return m.frame is None or now - datetime.fromtimestamp(m.frame.issued_at, UTC) > TERMS_GOOD_FOR


def read_terms(uow: UnitOfWork, ask: Ask[OneMandate, None]) -> Reply:
    """The typed data; the same until the draft is changed or 24 hours have passed (contract 4)."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id, lock=True)
    chain = named_chain(ask, m)
    if m.signed is not None:
        data = typed_data(m.signed.message, m.signed.version, m.signed.chain_id, m.signed.verifying_contract)
        return Reply(200, _terms_body(uow, ask, m, data, chain.digest(data), m.signed.version))
    moved(m, Action.SIGN)
    on_file = address_on_file(uow, ask, m)
    fresh = replace(m, agent_address=on_file)
    _signable(fresh, chain)
    # Terms name the agent's wallet: another one on file makes them other terms.
    if stale(m, ask.now) or on_file != m.agent_address:
        m = replace(fresh, frame=fixed_frame(fresh, ask.ids.nonce256(), ask.now))
        uow.mandates.save(m)
    data, digest = terms_of(chain, m)
    return Reply(200, _terms_body(uow, ask, m, data, digest, "2"))


def _terms_body(uow: UnitOfWork, ask: Ask[Any, Any], m: Mandate, data: Any, digest: str, version: str) -> dict[str, Any]:
    worst = exposure(load_book(uow, ask, m, events=0))
    return {
        "typed_data": data,
        "digest": digest,
        "clauses": clauses(m, ask.switches),
        "terms_version": version,
        "exposure": worst,
    }


def _signable(m: Mandate, chain: Chain) -> None:
    """What the typed data needs and the draft may lack."""
    faults = []
    if m.agent_id is not None and m.agent_address is None:
        faults.append({"loc": "agent_id", "msg": f"the agent has no address on chain {m.chain_id}: POST its deposit-address"})
    if m.agent_id is None and not m.open_board:
        faults.append({"loc": "agent_id", "msg": "name an agent, or put the mandate on the open board"})
    if chain.factory is not None and m.payout_bps > MAX_FEE_BPS_ON_CHAIN:
        faults.append({"loc": "payout_rule.bps", "msg": f"the vault takes at most {MAX_FEE_BPS_ON_CHAIN}"})
    if faults:
        raise Refused(refusal("invalid_request", detail={"fields": faults}))


@dataclass(frozen=True, slots=True)
class SignFacts:
    """What the signature proved, and over which digest."""

    digest: str
    proof: SignerCheck | None


async def check_sign(deps: Deps, caller: Caller, asked: Sign) -> SignFacts:
    """Check the signature before the transaction."""
    m = await peek(deps, caller, asked.public_id)
    chain = deps.chains.get(m.chain_id)
    if m.frame is None or m.status is not Status.DRAFT:
        return SignFacts("", None)
    _, digest = terms_of(chain, m)
    return SignFacts(digest, await chain.check_signature(digest, asked.signature, m.owner_address))


def sign(uow: UnitOfWork, ask: Ask[Sign, SignFacts]) -> Reply:
    """Store the owner's signature; the draft becomes signed."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id, lock=True)
    chain = named_chain(ask, m)
    same = m.signed is not None and m.signed.signature.lower() == ask.asked.signature.lower()
    if same and m.status is not Status.CANCELLED:
        return Reply(200, {"mandate": m.attributes()})
    if m.status is not Status.DRAFT:
        raise Refused(refusal("mandate_signed", status=m.status.value))
    status = moved(m, Action.SIGN)
    if m.frame is None or stale(m, ask.now):
        raise Refused(refusal("terms_expired"))
    if address_on_file(uow, ask, m) != m.agent_address:
        raise Refused(refusal("conflict", why="The agent's wallet changed since the terms were asked for; ask for them again."))
    _signable(m, chain)
    data, digest = terms_of(chain, m)
    if ask.facts.digest != digest:
        raise Refused(refusal("conflict", why="The terms were changed while the signature was being checked."))
    if ask.facts.proof is None:
        raise Refused(refusal("invalid_signature", signer=m.owner_address, why="it is not this wallet's over these terms"))
    proof = ask.facts.proof
    signed = Signed(
        "2",
        data["message"],
        m.chain_id,
        data["domain"]["verifyingContract"],
        ask.asked.signature.lower(),
        proof.signer_type,
        proof.block,
    )
    ends = datetime.fromtimestamp(m.frame.ends_at, UTC)
    m = replace(m, status=status, signed=signed, signed_at=ask.now, ends_at=ends)
    uow.mandates.save(m)
    row = NewEvent(
        Kind.SIGNED, Reporter.OWNER, ask.now, chain_id=m.chain_id, payload={"digest": digest, "signer_type": proof.signer_type}
    )
    uow.ledger.append(m.public_id, row, event_id=ask.ids.short("ev_"), now=ask.now)
    return Reply(200, {"mandate": m.attributes()})


def _signed(m: Mandate, action: str) -> Signed:
    if m.signed is None:
        raise Refused(refusal("wrong_status", status=m.status.value, action=action))
    return m.signed


async def gather_create(deps: Deps, caller: Caller, asked: OneMandate) -> Facts:
    """Simulate the factory call before the owner signs it, and ask where the vault will be."""
    m = await peek(deps, caller, asked.public_id)
    chain = chain_of(deps, m)
    signed = _signed(m, "creating its vault")
    if chain is None or chain.factory is None or not chain.rpc_set or m.status is not Status.SIGNED:
        return Facts()
    call = replace(chain.create_call(signed.message, m.allowed_targets, signed.signature), sender=m.owner_address)
    try:
        told = await chain.simulate(call)
        where = await chain.predict_vault(signed.message, m.allowed_targets)
    except Refused:
        return Facts()
    revert = {"name": told.revert.name, "args": dict(told.revert.args)} if told.revert else None
    return Facts(more={"predicted": where, "simulation": {"ok": told.ok, "revert": revert, "gas": told.gas}})


def create_call(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """Calldata of the factory call that creates the vault."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    signed = _signed(m, "creating its vault")
    chain = named_chain(ask, m)
    if chain.factory is None:
        return Reply(200, {"configured": False, "message": f"No vault factory is set for chain {m.chain_id}."})
    if m.status is not Status.SIGNED or m.vault_address is not None:
        raise Refused(refusal("wrong_status", status=m.status.value, action="creating its vault"))
    call = replace(chain.create_call(signed.message, m.allowed_targets, signed.signature), sender=m.owner_address)
    more = ask.facts.more or {"predicted": None, "simulation": None}
    told = {"configured": True, "call": call.as_json(), "predicted_vault": more["predicted"], "simulation": more["simulation"]}
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


def attach(uow: UnitOfWork, ask: Ask[ByTx, Facts]) -> Reply:
    """Attach the vault out of the creation's own log."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id, lock=True)
    signed = _signed(m, "attaching a vault")
    chain = named_chain(ask, m)
    receipt = mined(ask.facts.receipt)
    digest = chain.digest(typed_data(signed.message, signed.version, signed.chain_id, signed.verifying_contract))
    made = [g for g in receipt.logs if g.name == "MandateCreated" and g.address == chain.factory and g.args["digest"] == digest]
    if not made:
        raise Refused(refusal("vault_mismatch", why="it did not create this mandate's vault at our factory"))
    vault = str(made[0].args["vault"])
    if m.vault_address is not None:
        if m.vault_address.lower() != vault.lower():
            raise Refused(refusal("vault_mismatch", why="another vault is attached"))
        return Reply(200, {"mandate": m.attributes()})
    m = replace(m, status=moved(m, Action.ATTACH), vault_address=vault)
    # Terms that name nobody leave the vault without an agent until the owner sets the one that accepted.
    if signed.message.get("agent") == OPEN_AGENT:
        m = replace(m, paused_at=ask.now)
    uow.mandates.save(m)
    uow.chainlog.add_vault(m.chain_id, vault, digest, receipt.block.number)
    return Reply(200, {"mandate": take_receipt(uow, ask, chain, m, receipt).attributes()})


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
    deposited = Usdc(uow.ledger.state(m.public_id).deposits)
    room = max(ZERO, m.budget_usdc - max(deposited, vault.total_deposited if vault is not None else ZERO))
    amount = ask.asked.amount
    calls: list[dict[str, Any]] = []
    if amount is not None:
        if amount <= ZERO:
            raise Refused(refusal("invalid_number", value=str(amount), why="it is not above 0"))
        if amount > room:
            raise Refused(refusal("over_budget", attempted=amount, allowed=room, remaining={"budget": str(room)}))
        approve = replace(chain.approve_call(m.vault_address, amount), sender=m.owner_address)
        deposit = replace(chain.vault_call(m.vault_address, "deposit", amount), sender=m.owner_address)
        calls = [{"step": "approve", **approve.as_json()}, {"step": "deposit", **deposit.as_json()}]
    best = {
        "way": "deposit",
        "text": "Send both calls from the owner's wallet. USDC that reaches the vault by a plain transfer is booked by sync().",
        "sync_call": replace(chain.vault_call(m.vault_address, "sync"), sender=m.owner_address).as_json(),
    }
    told = {
        "vault_address": m.vault_address, "chain_id": m.chain_id, "usdc": chain.usdc, "room": str(room),
        "best_way": best, "calls": calls, "amount": None if amount is None else str(amount),
        "capabilities": capabilities(ask, chain),
    }  # fmt: skip
    return Reply(200, told)


OPERATIONS: Final = (
    Operation(
        "owner_terms", "Read the terms to sign", "The EIP-712 typed data, its digest, the clauses and the worst case.",
        "owner", ("GET", "/wallet/mandates/{public_id}/terms"), OneMandate, TermsOut, read_terms, writes=True, idempotent=True,
        refusals=("not_found", "wrong_status", "not_configured", "conflict"),
    ),
    Operation(
        "owner_sign", "Sign the terms", "Store the owner's signature on the terms.",
        "owner", ("POST", "/wallet/mandates/{public_id}/sign"), Sign, MandateOnly, sign, gather=check_sign, writes=True,
        idempotent=True,
        refusals=("not_found", "mandate_signed", "wrong_status", "terms_expired", "invalid_signature", "conflict",
                  "not_configured", "chain_unavailable"),
    ),
    Operation(
        "owner_create_call", "Get the factory call", "Calldata that creates the vault; simulated before you sign it.",
        "owner", ("GET", "/wallet/mandates/{public_id}/create-call"), OneMandate, CallOut, create_call, gather=gather_create,
        refusals=("not_found", "wrong_status", "not_configured"),
    ),
    Operation(
        "owner_vault_attach", "Attach the vault", "Attach the vault from the creation transaction's chain log.",
        "owner", ("POST", "/wallet/mandates/{public_id}/vault"), ByTx, MandateOnly, attach, gather=gather_receipt, writes=True,
        idempotent=True, refusals=("not_found", "wrong_status", "vault_mismatch", "conflict", "not_configured", "chain_unavailable"),
    ),
    Operation(
        "owner_fund", "Fund the vault", "Vault address, USDC, and the approve and deposit calls for an amount.",
        "owner", ("GET", "/wallet/mandates/{public_id}/fund"), FundIn, FundOut, fund,
        gather=gather_mandate,
        refusals=("not_found", "wrong_status", "mandate_ended", "not_configured", "over_budget", "invalid_number"),
    ),
)  # fmt: skip
