"""Terms and their signature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal

from pydantic import Field

from domain.facts import SignerCheck
from domain.ledger import payloads
from domain.ledger.events import Kind, NewEvent, Reporter
from domain.ledger.written import written
from domain.mandates.clauses import Clause, clauses
from domain.mandates.mandate import (
    MAX_PAYOUT_BPS,
    OPEN_AGENT,
    TERMS_GOOD_FOR,
    Mandate,
    MandateAttributes,
    Signed,
    Status,
)
from domain.mandates.states import Action, moved
from domain.mandates.terms import TermsStatus, Version, message, typed_data
from domain.mandates.terms import frame as fixed_frame
from domain.ports import Chain
from domain.refusals import Refused, invalid, refusal
from domain.rules.exposure import Exposure, exposure
from storage.unit_of_work import UnitOfWork
from tools.call.access import peek, seen_mandate
from tools.call.approving import approvals_kept, approvals_kept_if_readable, learned
from tools.call.case import keeper_key, load_case, named_chain
from tools.call.fields import OneMandate, Signature
from tools.call.operation import Ask, Caller, Deps, Gives, Operation, Reply
from tools.keeper.attach import attach_known
from tools.mandates.typed_fields import address_on_file


class TypedField(Gives):
    """A field of an EIP-712 type."""

    name: str = Field(description="the service's own name for it")
    type: str


class TypedDomain(Gives):
    """The EIP-712 domain."""

    name: Literal["MandateVault"]
    version: Version
    chain_id: int = Field(alias="chainId")
    verifying_contract: str = Field(alias="verifyingContract")


class TypedData(Gives):
    """EIP-712 typed data, as a wallet takes it."""

    types: dict[str, list[TypedField]]
    primary_type: Literal["MandateTerms"] = Field(alias="primaryType")
    domain: TypedDomain
    message: dict[str, str | int] = Field(
        description="the fields of MandateTerms; integers as decimal text, amounts in base units"
    )


class TermsOut(Gives):
    """The typed data to sign."""

    typed_data: TypedData
    digest: str
    clauses: list[Clause]
    terms_version: Version
    exposure: Exposure


class Sign(OneMandate):
    """The owner's signature over the digest."""

    signature: Signature = Field(description="0x hex; EOA, ERC-1271 or ERC-6492")


class MandateOnly(Gives):
    """The mandate's attributes."""

    mandate: MandateAttributes
    terms_status: TermsStatus | None = None


def terms_of(chain: Chain, m: Mandate) -> tuple[dict[str, Any], str]:
    """(typed data, digest) of a draft whose frame is fixed."""
    if m.frame is None:
        raise ValueError("the frame is not fixed")
    told = message(
        m, m.frame, chain.targets_hash(m.allowed_targets), chain.guard_hash(m.allowed_targets)
    )
    data = typed_data(told, "2", m.chain_id, chain.factory or OPEN_AGENT)
    return data, chain.digest(data)


def stale(m: Mandate, now: datetime) -> bool:
    """True where the terms were asked for more than 24 hours ago."""
    return m.frame is None or now - datetime.fromtimestamp(m.frame.issued_at, UTC) > TERMS_GOOD_FOR


async def gather_terms(deps: Deps, caller: Caller, asked: OneMandate) -> bool | None:
    """Who keeps approvals: nobody signs an approval amount of which that is not known."""
    m = await peek(deps, caller, asked.public_id)
    return await _kept(deps, m)


async def _kept(deps: Deps, m: Mandate) -> bool | None:
    if m.approval_above_usdc is None or m.status is not Status.DRAFT:
        return await approvals_kept_if_readable(deps, m)
    return await approvals_kept(deps, m)


def read_terms(uow: UnitOfWork, ask: Ask[OneMandate, bool | None]) -> Reply:
    """The typed data; the same until the draft is changed or 24 hours have passed (contract 4)."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id, lock=True)
    m = learned(uow, m, ask.facts)
    chain = named_chain(ask, m)
    if m.signed is not None:
        data = typed_data(
            m.signed.message, m.signed.version, m.signed.chain_id, m.signed.verifying_contract
        )
        return Reply(200, _terms_body(uow, ask, m, data, chain.digest(data), m.signed.version))
    moved(m, Action.SIGN)
    _clear(m)
    on_file = address_on_file(uow, ask, m)
    fresh = replace(m, agent_address=on_file)
    _signable(fresh, chain, ask.caller.chain_id)
    # Terms name the agent's wallet: another one on file makes them other terms.
    if stale(m, ask.now) or on_file != m.agent_address:
        m = replace(fresh, frame=fixed_frame(fresh, ask.ids.nonce256(), ask.now))
        uow.mandates.save(m)
    data, digest = terms_of(chain, m)
    return Reply(200, _terms_body(uow, ask, m, data, digest, "2"))


def _terms_body(
    uow: UnitOfWork, ask: Ask[Any, Any], m: Mandate, data: Any, digest: str, version: str
) -> dict[str, Any]:
    worst = exposure(load_case(uow, ask, m, events=0))
    return {
        "typed_data": data,
        "digest": digest,
        "clauses": clauses(m, ask.switches, keeper_key=keeper_key(uow, ask, m)),
        "terms_version": version,
        "exposure": worst,
    }


def _clear(m: Mandate) -> None:
    """Refuse terms that a note left open until their owner says in typed fields what is meant."""
    if m.needs_review:
        raise Refused(refusal("draft_unclear"))


def _signable(m: Mandate, chain: Chain, own_chain: int | None) -> None:
    """What the typed data needs and the draft may lack; `own_chain` is where the owner's word
    counts, None for everywhere.
    """
    faults: list[tuple[str, str]] = []
    if own_chain not in (None, m.chain_id):
        faults.append(
            (
                "chain_id",
                f"you sign by a contract on chain {own_chain}, whose word counts there alone",
            )
        )
    if m.agent_id is not None and m.agent_address is None:
        faults.append(
            (
                "agent_id",
                f"the agent has no address on chain {m.chain_id}: POST its deposit-address",
            )
        )
    if m.agent_id is None and not m.open_board:
        faults.append(("agent_id", "name an agent, or put the mandate on the open board"))
    if chain.factory is not None and m.payout_bps > MAX_PAYOUT_BPS:
        faults.append(("payout_rule.bps", f"the vault takes at most {MAX_PAYOUT_BPS}"))
    if faults:
        raise invalid(*faults[0], *faults[1:])


@dataclass(frozen=True, slots=True)
class SignFacts:
    """What the signature proved, and over which digest."""

    digest: str
    proof: SignerCheck | None
    kept: bool | None = None


async def check_sign(deps: Deps, caller: Caller, asked: Sign) -> SignFacts:
    """Check the signature before the transaction."""
    m = await peek(deps, caller, asked.public_id)
    chain = deps.chains.get(m.chain_id)
    if m.frame is None or m.status is not Status.DRAFT:
        return SignFacts("", None)
    _, digest = terms_of(chain, m)
    proof = await chain.check_signature(digest, asked.signature, m.owner_address)
    return SignFacts(digest, proof, await _kept(deps, m))


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
    _clear(m)
    if m.frame is None or stale(m, ask.now):
        raise Refused(refusal("terms_expired"))
    if address_on_file(uow, ask, m) != m.agent_address:
        raise Refused(
            refusal(
                "conflict",
                why="The agent's wallet changed since the terms were asked for; ask for them "
                "again.",
            )
        )
    _signable(m, chain, ask.caller.chain_id)
    data, digest = terms_of(chain, m)
    if ask.facts.digest != digest:
        why = "The terms were changed while the signature was being checked."
        raise Refused(refusal("conflict", why=why))
    proof = ask.facts.proof
    if proof is None:
        why = "it is not this wallet's over these terms"
        raise Refused(refusal("invalid_signature", signer=m.owner_address, why=why))
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
    m = replace(
        m,
        status=status,
        signed=signed,
        signed_at=ask.now,
        ends_at=ends,
        approvals_on_chain=ask.facts.kept,
    )
    uow.mandates.save(m)
    row = NewEvent(
        kind=Kind.SIGNED,
        reported_by=Reporter.OWNER,
        occurred_at=ask.now,
        chain_id=m.chain_id,
        payload=written(payloads.Signed(digest=digest, signer_type=proof.signer_type)),
    )
    uow.ledger.append(m.public_id, row, event_id=ask.ids.short("ev_"), now=ask.now)
    # Somebody who was given the signature may have made the vault already.
    m = attach_known(uow, ask.now, ask.chains, m, digest)
    return Reply(200, {"mandate": m.attributes()})


def signed_terms(m: Mandate, action: str) -> Signed:
    """The signature on file.

    Errors: `wrong_status` before it is signed.
    """
    if m.signed is None:
        raise Refused(refusal("wrong_status", status=m.status.value, action=action))
    return m.signed


OPERATIONS: Final = (
    Operation(
        name="owner_terms",
        title="Read the terms to sign",
        summary="The EIP-712 typed data, its digest, the clauses and the worst case.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/terms"),
        takes=OneMandate,
        gives=TermsOut,
        handler=read_terms,
        gather=gather_terms,
        writes=True,
        idempotent=True,
        refusals=(
            "not_found",
            "wrong_status",
            "not_configured",
            "conflict",
            "draft_unclear",
            "chain_unavailable",
        ),
    ),
    Operation(
        name="owner_sign",
        title="Sign the terms",
        summary="Store the owner's signature on the terms.",
        auth="owner",
        route=("POST", "/wallet/mandates/{public_id}/sign"),
        takes=Sign,
        gives=MandateOnly,
        handler=sign,
        gather=check_sign,
        writes=True,
        idempotent=True,
        refusals=(
            "not_found",
            "mandate_signed",
            "wrong_status",
            "draft_unclear",
            "terms_expired",
            "invalid_signature",
            "conflict",
            "not_configured",
            "chain_unavailable",
        ),
    ),
)
