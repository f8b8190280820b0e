"""The builder fee: its rate, the owners' approvals, and their status at the venue."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal, TypeAlias

from pydantic import Field

from domain.refusals import Refused, invalid, refusal
from domain.trading.builder_fee import (
    EXAMPLE,
    REVOKE_NOTE,
    BuilderFeeRecord,
    fee_of,
    rate_text,
    tenths_of,
)
from domain.trading.modes import live_network
from domain.trading.venue_account import Link
from domain.trading.venue_values import CachedValue, Network, Priority
from storage.unit_of_work import UnitOfWork
from tools.model.fields import Address, Nothing
from tools.model.operation import (
    Caller,
    Deps,
    ExternalEffect,
    HandlerResult,
    Operation,
    RequestContext,
    RequestModel,
    ResponseModel,
)
from tools.model.switches import switches
from tools.trading.fields import (
    KEYED,
    LOOK_AT_LINK,
    ChainId,
    MaybeMoment,
    NetworkName,
    Nonce,
    SignatureIn,
    TimestampText,
    VenueTypedData,
    live_side,
    not_the_wallets,
    own_link,
    own_write,
    signed_in,
    venue_of,
)

CHECK_S: Final = 60
CHAIN: Final = "0xa4b1"
_Started: TypeAlias = "tuple[FeeApprovalIn, Link, BuilderFeeRecord]"


class CostExample(ResponseModel):
    """The fee on a round notional. Units: USDC, 6 decimals."""

    notional: str
    fee: str


class ConfigOut(ResponseModel):
    """The fee, and what to sign to approve it; nulls where no builder is set."""

    configured: bool
    builder: str | None
    fee_pct: str | None = Field(description="of an opening order's notional")
    fee_tenths_bps: int | None = Field(description="tenths of a basis point")
    max_fee_rate: str | None = Field(description="the rate to approve at the venue")
    applies_to: Literal["perps"]
    network: NetworkName
    typed_data: VenueTypedData | None = Field(
        description="approveBuilderFee without its nonce; its domain may name the wallet's chain"
    )
    cost_example: CostExample | None
    revoke_note: str
    as_of: TimestampText


class FeeApprovalIn(RequestModel):
    """The approval that an owner made at the venue."""

    wallet: Address
    max_fee_rate: str = Field(max_length=16, description="percent string", examples=["0.1%"])
    nonce: Nonce | None = None
    signature: SignatureIn | None = Field(
        default=None, description="checked where it is given, never passed on"
    )
    signature_chain_id: ChainId | None = None


class RecordOut(ResponseModel):
    """It is recorded; `verified` only where the venue confirms it."""

    recorded: bool
    verified: bool
    approved_tenths_bps: int | None
    required_tenths_bps: int
    checked_at: MaybeMoment
    network: NetworkName


class BuilderFeeStatusOut(ResponseModel):
    """Whether the fee is approved for the linked wallet, by the venue's word alone."""

    wallet: str | None
    approved: bool
    approved_tenths_bps: int | None
    required_tenths_bps: int
    source: Literal["venue", "record"]
    checked_at: MaybeMoment
    stale: bool
    network: NetworkName


class CountOut(ResponseModel):
    """The number of wallets that approved the configured builder."""

    recorded: int
    verified: int
    revoked: int
    network: NetworkName
    as_of: TimestampText


async def config(deps: Deps, caller: Caller, request: Nothing) -> HandlerResult[ConfigOut]:
    """Say what the fee is."""
    network = live_network(await deps.store.read(lambda uow: switches(uow, deps.defaults)))
    builder, tenths = deps.config.trading.builder_address, None
    rate = typed_data = example = None
    if builder is not None:
        tenths = deps.config.trading.builder_fee_tenths_bps
        rate = rate_text(tenths)
        typed_data = venue_of(deps, network).builder_typed_data(builder, rate, CHAIN)
        example = CostExample(notional=str(EXAMPLE), fee=str(fee_of(EXAMPLE, tenths)))
    return HandlerResult(
        ConfigOut(
            configured=builder is not None,
            builder=builder,
            fee_pct=rate,
            fee_tenths_bps=tenths,
            max_fee_rate=rate,
            applies_to="perps",
            network=network,
            typed_data=None if typed_data is None else VenueTypedData.model_validate(typed_data),
            cost_example=example,
            revoke_note=REVOKE_NOTE,
            as_of=deps.clock.now(),
        )
    )


async def approved_now(
    deps: Deps, link: Link, builder: str, *, max_age_s: int, priority: Priority
) -> CachedValue[int] | None:
    """A wallet's approval by the venue's answer; None where it gives none and none is stored."""
    try:
        return await venue_of(deps, link.network).max_builder_fee(
            link.wallet, builder, max_age_s=max_age_s, priority=priority
        )
    except Refused:
        return None


def may_record(uow: UnitOfWork, ctx: RequestContext[FeeApprovalIn, None]) -> _Started:
    """Check the request before the venue is asked. Errors: `not_linked`, `not_configured`."""
    request, builder = ctx.request, ctx.config.trading.builder_address
    if builder is None:
        raise Refused(refusal("not_configured", what="builder fees"))
    link, wallet = own_link(uow, ctx), ctx.chains.address(request.wallet)
    if wallet != link.wallet:
        raise Refused(refusal("not_linked", why=f"{wallet} is not the linked wallet"))
    if tenths_of(request.max_fee_rate) is None:
        raise invalid("max_fee_rate", "a percent string like 0.1%, in steps of 0.001%")
    if request.signature is not None and request.nonce is None:
        raise invalid("nonce", "the nonce that was signed")
    row = BuilderFeeRecord(
        user_id=signed_in(ctx.caller),
        network=link.network,
        wallet=wallet,
        builder=builder,
        max_fee_rate=request.max_fee_rate,
        recorded_at=ctx.now,
    )
    return request, link, row


async def ask_venue(deps: Deps, caller: Caller, started: _Started) -> CachedValue[int] | None:
    """Check the signature, where one is given, and ask the venue. Errors: `invalid_signature`."""
    request, link, row = started
    if request.signature is not None and request.nonce is not None:
        chain, signature = request.signature_chain_id or CHAIN, request.signature.model_dump()
        signer = venue_of(deps, row.network).builder_signer(
            row.builder, row.max_fee_rate, request.nonce, chain, signature
        )
        if signer != row.wallet:
            raise not_the_wallets(row.wallet)
    return await approved_now(deps, link, row.builder, max_age_s=0, priority="order")


def record_fee(
    uow: UnitOfWork,
    ctx: RequestContext[FeeApprovalIn, None],
    started: _Started,
    cached: CachedValue[int] | None,
) -> HandlerResult[RecordOut]:
    """Write the record down; it is verified only where the venue said so just now."""
    row, required = started[2], ctx.config.trading.builder_fee_tenths_bps
    row = replace(row, recorded_at=ctx.now)
    if cached is not None and not cached.stale:
        row = row.confirmed(cached.value, cached.as_of)
    uow.builder_fees.put(row)
    return HandlerResult(
        RecordOut(
            recorded=True,
            verified=row.approved_tenths_bps is not None and row.approved_tenths_bps >= required,
            approved_tenths_bps=row.approved_tenths_bps,
            required_tenths_bps=required,
            checked_at=row.checked_at,
            network=row.network,
        )
    )


async def status_of(deps: Deps, link: Link | None, network: Network) -> BuilderFeeStatusOut:
    """Whether a linked wallet approved the fee: the venue's answer, else its last stored one."""
    required = deps.config.trading.builder_fee_tenths_bps
    builder, approved, at, stale = deps.config.trading.builder_address, None, None, False
    if link is not None and builder is not None:
        cached = await approved_now(deps, link, builder, max_age_s=CHECK_S, priority="page")
        row = await deps.store.read(lambda uow: uow.builder_fees.get(network, link.wallet, builder))
        stale = cached is None or cached.stale
        if cached is not None:
            approved, at = cached.value, cached.as_of
            # What is new is kept: approvals are given and taken back outside of this service.
            known = row is not None and (row.approved_tenths_bps == approved and row.checked_at)
            if row is not None and not stale and not known:
                newer = row.confirmed(cached.value, cached.as_of)
                await deps.store.write(lambda uow: uow.builder_fees.put(newer))
        elif row is not None:
            approved, at = row.approved_tenths_bps, row.checked_at
    return BuilderFeeStatusOut(
        wallet=link.wallet if link else None,
        approved=approved is not None and approved >= required,
        approved_tenths_bps=approved,
        required_tenths_bps=required,
        source="record" if approved is None else "venue",
        checked_at=at,
        stale=stale,
        network=network,
    )


async def status(
    deps: Deps, caller: Caller, request: Nothing
) -> HandlerResult[BuilderFeeStatusOut]:
    """Say whether the fee is approved for the caller's linked wallet."""
    _, network, link, _ = await live_side(deps, caller)
    return HandlerResult(await status_of(deps, link, network))


def count(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> HandlerResult[CountOut]:
    """Count approvals of the configured builder on the live network."""
    network, trading = live_network(ctx.switches), ctx.config.trading
    recorded, verified, revoked = (0, 0, 0)
    if trading.builder_address is not None:
        recorded, verified, revoked = uow.builder_fees.counts(
            network, trading.builder_address, trading.builder_fee_tenths_bps
        )
    return HandlerResult(
        CountOut(
            recorded=recorded,
            verified=verified,
            revoked=revoked,
            network=network,
            as_of=ctx.now,
        )
    )


OPERATIONS: Final = (
    Operation(
        name="builder_fee_config",
        title="Read the builder fee",
        summary="The builder's address, the fee of 0.1% at the most, and what to sign for it.",
        auth="open",
        route=("GET", "/wallet/builder-fee/config"),
        request_model=Nothing,
        response_model=ConfigOut,
        pass_through=config,
        family="own account",
        refusals=("not_configured",),
    ),
    Operation(
        name="builder_fee_record",
        title="Record a builder fee approval",
        summary="Tell that you approved the builder fee at the venue; the venue is asked.",
        auth="owner",
        route=("POST", "/wallet/builder-fee/record"),
        request_model=FeeApprovalIn,
        response_model=RecordOut,
        effect=ExternalEffect(
            begin=may_record, act=ask_venue, finish=record_fee, reconcile=(LOOK_AT_LINK,)
        ),
        writes=True,
        idempotent=True,
        family="own account",
        open_world=True,
        idempotency=own_write("/wallet/builder-fee/record"),
        refusals=(
            "invalid_address",
            "not_linked",
            "invalid_signature",
            "not_configured",
            *KEYED,
            "outcome_unknown",
        ),
    ),
    Operation(
        name="builder_fee_status",
        title="Read your builder fee approval",
        summary="Whether the venue says that your linked wallet approved the builder fee.",
        auth="owner",
        route=("GET", "/wallet/builder-fee/status"),
        request_model=Nothing,
        response_model=BuilderFeeStatusOut,
        pass_through=status,
        family="own account",
        open_world=True,
    ),
    Operation(
        name="builder_fee_count",
        title="Count builder fee approvals",
        summary="How many wallets recorded, hold and took back an approval.",
        auth="admin",
        route=("GET", "/wallet/builder-fee/admin/count"),
        request_model=Nothing,
        response_model=CountOut,
        handler=count,
        family="own account",
    ),
)
