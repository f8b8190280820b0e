"""The builder fee: its rate, the owners' approvals, and their status at the venue."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from pydantic import Field

from domain.refusals import Refused, invalid, refusal
from domain.settings import Trading
from domain.times import timestamp
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
    Operation,
    OperationResult,
    RequestContext,
    RequestModel,
    ResponseModel,
)
from tools.model.switches import switches
from tools.trading.fields import (
    LOOK_AT_LINK,
    ChainId,
    MaybeMoment,
    NetworkName,
    Nonce,
    SignatureIn,
    TimestampText,
    VenueTypedData,
    live_side,
    own_link,
    own_write,
    signed_in,
    venue_of,
)

CHECK_S: Final = 60
CHAIN: Final = "0xa4b1"


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


async def config(deps: Deps, caller: Caller, request: Nothing) -> OperationResult:
    """Say what the fee is."""
    network = live_network(await deps.store.read(lambda uow: switches(uow, deps.defaults)))
    trading, body = deps.config.trading, _unset(deps, network)
    if trading.builder_address is not None:
        tenths = trading.builder_fee_tenths_bps
        rate = rate_text(tenths)
        venue = venue_of(deps, network)
        body |= {
            "configured": True,
            "builder": trading.builder_address,
            "fee_pct": rate,
            "fee_tenths_bps": tenths,
            "max_fee_rate": rate,
            "typed_data": dict(venue.builder_typed_data(trading.builder_address, rate, CHAIN)),
            "cost_example": {"notional": str(EXAMPLE), "fee": str(fee_of(EXAMPLE, tenths))},
        }
    return OperationResult(200, body)


def _unset(deps: Deps, network: Network) -> dict[str, Any]:
    nothing = dict.fromkeys(
        ("builder", "fee_pct", "fee_tenths_bps", "max_fee_rate", "typed_data", "cost_example")
    )
    return {
        "configured": False,
        **nothing,
        "applies_to": "perps",
        "network": network,
        "revoke_note": REVOKE_NOTE,
        "as_of": timestamp(deps.clock.now()),
    }


def _builder(trading: Trading) -> str:
    if trading.builder_address is None:
        raise Refused(refusal("not_configured", what="a builder"))
    return trading.builder_address


async def approved_now(
    deps: Deps, link: Link, builder: str, *, max_age_s: int, priority: Priority
) -> CachedValue[int] | None:
    """A wallet's approval by the venue's answer; None where it gives none and none is stored."""
    try:
        venue = venue_of(deps, link.network)
        return await venue.max_builder_fee(
            link.wallet, builder, max_age_s=max_age_s, priority=priority
        )
    except Refused:
        return None


@dataclass(frozen=True, slots=True)
class _FeeRecording:
    """A record that may be made: whose, of which wallet, for which builder."""

    request: FeeApprovalIn
    link: Link
    builder: str


def may_record(uow: UnitOfWork, ctx: RequestContext[FeeApprovalIn, None]) -> _FeeRecording:
    """Check the request before the venue is asked about it. Errors: `not_linked` for another than
    the linked wallet, `not_configured`.
    """
    request, builder = ctx.request, _builder(ctx.config.trading)
    link, wallet = own_link(uow, ctx), ctx.chains.address(request.wallet)
    if wallet != link.wallet:
        raise Refused(refusal("not_linked", why=f"{wallet} is not the linked wallet"))
    if tenths_of(request.max_fee_rate) is None:
        raise invalid("max_fee_rate", "a percent string like 0.1%, in steps of 0.001%")
    return _FeeRecording(request, link, builder)


async def ask_venue(deps: Deps, caller: Caller, started: _FeeRecording) -> CachedValue[int] | None:
    """Check the signature, where one is given, and ask the venue. Errors: `invalid_signature`."""
    _check_signature(deps, started.link, started.builder, started.request)
    return await approved_now(deps, started.link, started.builder, max_age_s=0, priority="order")


def record_fee(
    uow: UnitOfWork,
    ctx: RequestContext[FeeApprovalIn, None],
    started: _FeeRecording,
    cached: CachedValue[int] | None,
) -> OperationResult:
    """Write the record down; it is verified only where the venue said so just now."""
    fresh = cached if cached is not None and not cached.stale else None
    row = BuilderFeeRecord(
        user_id=signed_in(ctx.caller),
        network=started.link.network,
        wallet=started.link.wallet,
        builder=started.builder,
        max_fee_rate=started.request.max_fee_rate,
        recorded_at=ctx.now,
        approved_tenths_bps=fresh.value if fresh else None,
        ever_approved=fresh is not None and fresh.value > 0,
        checked_at=fresh.as_of if fresh else None,
    )
    uow.builder_fees.put(row)
    required = ctx.config.trading.builder_fee_tenths_bps
    body = {
        "recorded": True,
        "verified": row.approved_tenths_bps is not None and row.approved_tenths_bps >= required,
        "approved_tenths_bps": row.approved_tenths_bps,
        "required_tenths_bps": required,
        "checked_at": timestamp(row.checked_at) if row.checked_at else None,
        "network": row.network,
    }
    return OperationResult(200, body)


def _check_signature(deps: Deps, link: Link, builder: str, request: FeeApprovalIn) -> None:
    if request.signature is None:
        return
    if request.nonce is None:
        raise invalid("nonce", "the nonce that was signed")
    chain = request.signature_chain_id or CHAIN
    signer = venue_of(deps, link.network).builder_signer(
        builder, request.max_fee_rate, request.nonce, chain, request.signature.model_dump()
    )
    if signer != link.wallet:
        why = "it is not the linked wallet's over this approval"
        raise Refused(refusal("invalid_signature", signer=link.wallet, why=why))


def no_status(network: Network, required: int) -> dict[str, Any]:
    """The status while no wallet is linked or no builder is set."""
    return {
        "wallet": None,
        "approved": False,
        "approved_tenths_bps": None,
        "required_tenths_bps": required,
        "source": "record",
        "checked_at": None,
        "stale": False,
        "network": network,
    }


async def status_of(deps: Deps, link: Link | None, network: Network) -> dict[str, Any]:
    """Whether a linked wallet approved the fee: the venue's answer, else its last one that is on
    record."""
    trading = deps.config.trading
    body = no_status(network, trading.builder_fee_tenths_bps)
    if link is None:
        return body
    builder = trading.builder_address
    if builder is None:
        return body | {"wallet": link.wallet}
    cached = await approved_now(deps, link, builder, max_age_s=CHECK_S, priority="page")
    row = await deps.store.read(lambda uow: uow.builder_fees.get(network, link.wallet, builder))
    approved, at, stale = None, None, True
    if cached is not None:
        approved, at, stale = cached.value, cached.as_of, cached.stale
        if row is not None and not cached.stale:
            await _note(deps, row, cached)
    elif row is not None:
        approved, at = row.approved_tenths_bps, row.checked_at
    return body | {
        "wallet": link.wallet,
        "approved": approved is not None and approved >= trading.builder_fee_tenths_bps,
        "approved_tenths_bps": approved,
        "source": "record" if approved is None else "venue",
        "checked_at": timestamp(at) if at else None,
        "stale": stale,
    }


async def _note(deps: Deps, row: BuilderFeeRecord, cached: CachedValue[int]) -> None:
    """Keep what the venue said, where it is new: approvals are given and taken back outside of this
    service."""
    if row.approved_tenths_bps == cached.value and row.checked_at is not None:
        return
    newer = replace(
        row,
        approved_tenths_bps=cached.value,
        ever_approved=row.ever_approved or cached.value > 0,
        checked_at=cached.as_of,
    )
    await deps.store.write(lambda uow: uow.builder_fees.put(newer))


async def status(deps: Deps, caller: Caller, request: Nothing) -> OperationResult:
    """Say whether the fee is approved for the caller's linked wallet."""
    _, network, link, _ = await live_side(deps, caller)
    return OperationResult(200, await status_of(deps, link, network))


def count(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> OperationResult:
    """Count approvals of the configured builder on the live network."""
    network, trading = live_network(ctx.switches), ctx.config.trading
    recorded, verified, revoked = (0, 0, 0)
    if trading.builder_address is not None:
        recorded, verified, revoked = uow.builder_fees.counts(
            network, trading.builder_address, trading.builder_fee_tenths_bps
        )
    body = {
        "recorded": recorded,
        "verified": verified,
        "revoked": revoked,
        "network": network,
        "as_of": timestamp(ctx.now),
    }
    return OperationResult(200, body)


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
            "secret_not_accepted",
            "idempotency_key_reused",
            "idempotency_in_flight",
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
