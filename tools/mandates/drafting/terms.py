"""Terms and their signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, Literal

from pydantic import Field

from domain.chain_facts import SignerCheck
from domain.ledger.events.event import LedgerKind, Reporter
from domain.ledger.events.payloads import TermsSigned
from domain.mandates.clauses import Clause
from domain.mandates.lifecycle import LifecycleAction, status_after
from domain.mandates.mandate import (
    MAX_PAYOUT_BPS,
    OPEN_AGENT,
    TERMS_GOOD_FOR,
    Mandate,
    MandateAttributes,
    SignedTerms,
    Status,
)
from domain.mandates.terms import TermsStatus, Version, message, typed_data
from domain.mandates.terms import frame as fixed_frame
from domain.ports import Chain
from domain.refusals import Refused, invalid, refusal
from domain.rules.exposure import Exposure, exposure
from storage.unit_of_work import UnitOfWork
from tools.context.access import load_mandate, visible_mandate, wrong_status
from tools.context.approval_keeping import (
    approval_keeping_if_readable,
    vault_keeps_approvals,
    with_approval_keeping,
)
from tools.context.ledger_rows import append_row
from tools.context.snapshot_loader import load_snapshot, require_chain, signed_purse
from tools.keeper.vault_attachment import attach_known
from tools.mandates.drafting.draft_fields import address_on_file, clauses_now
from tools.model.fields import OneMandate, Signature
from tools.model.operation import AnyContext, Caller, Deps, Operation, RequestContext, ResponseModel
from tools.model.shared_models import TypedField


class TypedDomain(ResponseModel):
    """The EIP-712 domain."""

    name: Literal["MandateVault"]
    version: Version
    chain_id: int = Field(alias="chainId")
    verifying_contract: str = Field(alias="verifyingContract")


class TypedData(ResponseModel):
    """EIP-712 typed data, as a wallet takes it."""

    types: dict[str, list[TypedField]]
    primary_type: Literal["MandateTerms"] = Field(alias="primaryType")
    domain: TypedDomain
    message: dict[str, str | int] = Field(
        description="the fields of MandateTerms; integers as decimal text, amounts in base units"
    )


class TermsOut(ResponseModel):
    """The typed data to sign."""

    typed_data: TypedData
    digest: str
    clauses: list[Clause]
    terms_version: Version
    exposure: Exposure


class SignTermsIn(OneMandate):
    """The owner's signature over the digest."""

    signature: Signature = Field(description="0x hex; EOA, ERC-1271 or ERC-6492")


class MandateOnly(ResponseModel):
    """The mandate's attributes."""

    mandate: MandateAttributes
    terms_status: TermsStatus | None = None


def terms_of(chain: Chain, mandate: Mandate) -> tuple[Mapping[str, str], dict[str, object], str]:
    """(message, typed data, digest) of a draft whose frame is fixed."""
    if mandate.frame is None:
        raise ValueError("the frame is not fixed")
    raw = message(
        mandate,
        mandate.frame,
        chain.targets_hash(mandate.allowed_targets),
        chain.guard_hash(mandate.allowed_targets),
    )
    data = typed_data(raw, "2", mandate.chain_id, chain.factory or OPEN_AGENT)
    return raw, data, chain.digest(data)


def stale(mandate: Mandate, now: datetime) -> bool:
    """True where the terms were asked for more than 24 hours ago."""
    return (
        mandate.frame is None
        or now - datetime.fromtimestamp(mandate.frame.issued_at, UTC) > TERMS_GOOD_FOR
    )


async def gather_terms(deps: Deps, caller: Caller, request: OneMandate) -> bool | None:
    """Read from the chain whether the factory's vaults keep approvals: an approval amount is not
    signed while that is unknown.
    """
    mandate = await load_mandate(deps, caller, request.public_id)
    return await _vault_keeps_approvals(deps, mandate)


async def _vault_keeps_approvals(deps: Deps, mandate: Mandate) -> bool | None:
    if mandate.approval_above_usdc is None or mandate.status is not Status.DRAFT:
        return await approval_keeping_if_readable(deps, mandate)
    return await vault_keeps_approvals(deps, mandate)


def read_terms(uow: UnitOfWork, ctx: RequestContext[OneMandate, bool | None]) -> TermsOut:
    """The typed data; the same until the draft is changed or 24 hours have passed (contract 4)."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id, lock=True)
    mandate = with_approval_keeping(uow, mandate, ctx.facts)
    chain = require_chain(ctx, mandate)
    if mandate.signed is not None:
        signed = mandate.signed
        data = typed_data(
            signed.message, signed.version, signed.chain_id, signed.verifying_contract
        )
        return _show_terms(uow, ctx, mandate, data, chain.digest(data), signed.version)
    status_after(mandate, LifecycleAction.SIGN)
    _clear(mandate)
    on_file = address_on_file(uow, ctx, mandate.agent_id, mandate.chain_id)
    fresh = replace(mandate, agent_address=on_file)
    _signable(fresh, chain, ctx.caller.chain_id)
    # Terms name the agent's wallet: another one on file makes them other terms.
    if stale(mandate, ctx.now) or on_file != mandate.agent_address:
        mandate = replace(fresh, frame=fixed_frame(fresh, ctx.ids.nonce256(), ctx.now))
        uow.mandates.save(mandate)
    _, data, digest = terms_of(chain, mandate)
    return _show_terms(uow, ctx, mandate, data, digest, "2")


def _show_terms(
    uow: UnitOfWork,
    ctx: AnyContext,
    mandate: Mandate,
    data: Mapping[str, object],
    digest: str,
    version: Version,
) -> TermsOut:
    return TermsOut(
        typed_data=TypedData.model_validate(data),
        digest=digest,
        clauses=clauses_now(uow, ctx, mandate),
        terms_version=version,
        exposure=exposure(load_snapshot(uow, ctx, mandate, events=0)),
    )


def _clear(mandate: Mandate) -> None:
    """Refuse terms that a note left open until their owner says in typed fields what is meant."""
    if mandate.needs_review:
        raise Refused(refusal("draft_unclear"))


def _signable(mandate: Mandate, chain: Chain, own_chain: int | None) -> None:
    """Check the fields that the typed data needs and the draft may lack; `own_chain` is the chain
    where the owner's signature counts, None for everywhere.
    """
    faults: list[tuple[str, str]] = []
    if own_chain not in (None, mandate.chain_id):
        why = f"you sign by a contract on chain {own_chain}, whose word counts there alone"
        faults.append(("chain_id", why))
    if mandate.agent_id is not None and mandate.agent_address is None:
        why = f"the agent has no address on chain {mandate.chain_id}: POST its deposit-address"
        faults.append(("agent_id", why))
    if mandate.agent_id is None and not mandate.open_board:
        faults.append(("agent_id", "name an agent, or put the mandate on the open board"))
    if chain.factory is not None and mandate.payout_bps > MAX_PAYOUT_BPS:
        faults.append(("payout_rule.bps", f"the vault takes at most {MAX_PAYOUT_BPS // 100}%"))
    if faults:
        raise invalid(*faults[0], *faults[1:])


@dataclass(frozen=True, slots=True)
class SignFacts:
    """The signer that the signature proved, and the digest it covers."""

    digest: str
    proof: SignerCheck | None
    vault_keeps_approvals: bool | None = None


async def check_sign(deps: Deps, caller: Caller, request: SignTermsIn) -> SignFacts:
    """Check the signature before the transaction."""
    mandate = await load_mandate(deps, caller, request.public_id)
    chain = deps.chains.get(mandate.chain_id)
    if mandate.frame is None or mandate.status is not Status.DRAFT:
        return SignFacts("", None)
    *_, digest = terms_of(chain, mandate)
    proof = await chain.check_signature(digest, request.signature, mandate.owner_address)
    return SignFacts(digest, proof, await _vault_keeps_approvals(deps, mandate))


def sign(uow: UnitOfWork, ctx: RequestContext[SignTermsIn, SignFacts]) -> MandateOnly:
    """Store the owner's signature; the draft becomes signed."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id, lock=True)
    chain = require_chain(ctx, mandate)
    signature, signed = ctx.request.signature.lower(), mandate.signed
    same = signed is not None and signed.signature.lower() == signature
    if same and mandate.status is not Status.CANCELLED:
        return MandateOnly(mandate=mandate.attributes())
    if mandate.status is not Status.DRAFT:
        raise Refused(refusal("mandate_signed", status=mandate.status.value))
    status = status_after(mandate, LifecycleAction.SIGN)
    _clear(mandate)
    if mandate.frame is None or stale(mandate, ctx.now):
        raise Refused(refusal("terms_expired"))
    on_file = address_on_file(uow, ctx, mandate.agent_id, mandate.chain_id)
    if on_file != mandate.agent_address:
        why = "The agent's wallet changed since the terms were asked for; ask for them again."
        raise Refused(refusal("conflict", why=why))
    _signable(mandate, chain, ctx.caller.chain_id)
    values, _, digest = terms_of(chain, mandate)
    if ctx.facts.digest != digest:
        why = "The terms were changed while the signature was being checked."
        raise Refused(refusal("conflict", why=why))
    proof = ctx.facts.proof
    if proof is None:
        why = "it is not this wallet's over these terms"
        raise Refused(refusal("invalid_signature", signer=mandate.owner_address, why=why))
    mandate = replace(
        mandate,
        status=status,
        signed=SignedTerms(
            "2",
            values,
            mandate.chain_id,
            chain.factory or OPEN_AGENT,
            signature,
            proof.signer_type,
            proof.block,
        ),
        signed_at=ctx.now,
        ends_at=datetime.fromtimestamp(mandate.frame.ends_at, UTC),
        approvals_on_chain=ctx.facts.vault_keeps_approvals,
    )
    uow.mandates.save(mandate)
    purse = signed_purse(chain, mandate)
    if purse is not None:
        uow.chainlog.add_purse(mandate.chain_id, mandate.public_id, purse)
    payload = TermsSigned(digest=digest, signer_type=proof.signer_type)
    append_row(uow, ctx, mandate, LedgerKind.SIGNED, Reporter.OWNER, payload)
    # Somebody who was given the signature may have made the vault already.
    mandate = attach_known(uow, ctx.now, ctx.chains, mandate, digest)
    return MandateOnly(mandate=mandate.attributes())


def signed_terms(mandate: Mandate, action: str) -> SignedTerms:
    """The signature on file.

    Errors: `wrong_status` before it is signed.
    """
    if mandate.signed is None:
        raise wrong_status(mandate, action)
    return mandate.signed


OPERATIONS: Final = (
    Operation(
        name="owner_terms",
        title="Read the terms to sign",
        summary="The EIP-712 typed data, its digest, the clauses and the worst case.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/terms"),
        request_model=OneMandate,
        response_model=TermsOut,
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
        request_model=SignTermsIn,
        response_model=MandateOnly,
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
