"""Vault funding: how much a vault can take, and the calls that deposit it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Final, Literal

from pydantic import Field

from domain.chain_facts import Call, Simulation, VaultState
from domain.mandates.mandate import Mandate, Status
from domain.money import ZERO, Usdc
from domain.ports import Chain
from domain.refusals import Refused, refusal
from domain.wire_fields import described
from storage.unit_of_work import UnitOfWork
from tools.context.access import load_mandate, visible_mandate, wrong_status
from tools.context.snapshot_loader import (
    GatheredFacts,
    chain_or_none,
    gather_facts,
    require_chain,
    simulation_if_readable,
)
from tools.mandates.vault.gas_sponsorship import Capabilities, capabilities
from tools.mandates.vault.simulated_calls import call_parts, ended, require_vault
from tools.model.fields import OneMandate
from tools.model.operation import Caller, Deps, Operation, RequestContext, ResponseModel
from tools.model.shared_models import ExplainedCall, Simulated, simulated

FundStep = Literal["approve", "deposit"]
YOUNG: Final = "The vault is new and the chain may still take it back: wait till it is deep. "


class FundIn(OneMandate):
    """The amount to deposit."""

    amount: Usdc | None = None


class BestWay(ResponseModel):
    """The way that is advised."""

    way: Literal["deposit"]
    text: str = Field(description="the service's own words")
    sync_call: Call
    decoded: ExplainedCall
    simulation: Simulated | None


@dataclass(frozen=True, slots=True)
class FundCall(Call):
    """One of the two calls that put money in, in their order."""

    step: FundStep = "approve"
    decoded: ExplainedCall | None = None
    simulation: Simulated | None = field(
        default=None,
        metadata=described(
            "what the chain said of it; null where it could not be asked, and for a deposit that "
            "waits for its approval"
        ),
    )


class FundOut(ResponseModel):
    """The ways of depositing USDC into the vault; `room` is what may still be deposited.
    `provisional`: the vault's creation is not deep enough in the chain, and may still be
    reorganised away.
    """

    vault_address: str
    provisional: bool
    chain_id: int
    usdc: str
    room: Usdc
    in_wallet: Usdc | None = Field(
        description="USDC in the owner's wallet now; null where it could not be asked"
    )
    best_way: BestWay
    calls: list[FundCall]
    amount: Usdc | None
    capabilities: Capabilities | None = None


def provisional(uow: UnitOfWork, chain: Chain, mandate: Mandate, vault: VaultState | None) -> bool:
    """True while a reorganisation within the confirmations could still take the vault away."""
    known = uow.chainlog.vault(mandate.chain_id, mandate.vault_address or "")
    if known is None or (vault is not None and not vault.exists):
        return True
    aged = vault is not None and vault.block.number - known.block >= chain.confirmations
    return not known.deep and not aged


@dataclass(frozen=True, slots=True, kw_only=True)
class FundFacts(GatheredFacts):
    """Also what each call would do, and what the owner has; empty where it could not be asked."""

    tried: Mapping[str, Simulation | None] = field(default_factory=dict)
    in_wallet: Usdc | None = None


def _pair(chain: Chain, mandate: Mandate, vault: str, amount: Usdc | None) -> dict[FundStep, Call]:
    """The two calls of an amount, in the order in which they are sent; none without one."""
    if amount is None or amount <= ZERO:
        return {}
    sender = mandate.owner_address
    return {
        "approve": replace(chain.approve_call(vault, amount), sender=sender),
        "deposit": replace(chain.vault_call(vault, "deposit", amount), sender=sender),
    }


def _sync(chain: Chain, mandate: Mandate, vault: str) -> Call:
    """The call that books a plain transfer."""
    return replace(chain.vault_call(vault, "sync"), sender=mandate.owner_address)


async def gather_fund(deps: Deps, caller: Caller, request: FundIn) -> FundFacts:
    """Read the vault and the owner's USDC, and try the calls."""
    mandate = await load_mandate(deps, caller, request.public_id)
    chain, vault = chain_or_none(deps, mandate), mandate.vault_address
    known = FundFacts(vault=(await gather_facts(deps, mandate)).now.vault)
    if chain is None or known.vault is None or chain.usdc is None or vault is None:
        return known
    try:
        with chain.short_deadline():
            reserved = (await chain.usdc_balances([mandate.owner_address]))[mandate.owner_address]
    except Refused:
        return known
    sync, pair = _sync(chain, mandate, vault), _pair(chain, mandate, vault, request.amount)
    calls: list[tuple[str, Call]] = [("sync", sync), *pair.items()]
    tried = {name: await simulation_if_readable(chain, call) for name, call in calls}
    return replace(known, in_wallet=reserved, tried=tried)


def fund(uow: UnitOfWork, ctx: RequestContext[FundIn, FundFacts]) -> FundOut:
    """The deposit address, the best way in, and the two calls for an amount."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    chain, vault = require_chain(ctx, mandate), ctx.facts.vault
    address = require_vault(mandate, "funding it")
    closed = vault is not None and (vault.stopped or vault.settled)
    if mandate.status not in (Status.SIGNED, Status.WORKING) or closed:
        raise wrong_status(mandate, "funding it")
    if mandate.ended(max(ctx.now, vault.block.at) if vault is not None else ctx.now):
        raise ended(mandate)
    if chain.usdc is None:
        raise Refused(refusal("not_configured", what=f"USDC on chain {mandate.chain_id}"))
    # A deposit that is mined and not deep enough is in the vault already.
    deposited = Usdc(uow.ledger.state(mandate.public_id).measured.deposits)
    booked = max(deposited, vault.total_deposited if vault is not None else ZERO)
    room = max(ZERO, mandate.budget_usdc - booked)
    amount = ctx.request.amount
    if amount is not None and amount <= ZERO:
        raise Refused(refusal("invalid_number", value=str(amount), why="it is not above 0"))
    if amount is not None and amount > room:
        left = {"budget": str(room)}
        raise Refused(refusal("over_budget", attempted=amount, allowed=room, remaining=left))
    pair, tried = _pair(chain, mandate, address, amount), ctx.facts.tried
    young, sync = provisional(uow, chain, mandate, vault), _sync(chain, mandate, address)
    return FundOut(
        vault_address=address,
        provisional=young,
        chain_id=mandate.chain_id,
        usdc=chain.usdc,
        room=room,
        in_wallet=ctx.facts.in_wallet,
        best_way=BestWay(
            way="deposit",
            text=(YOUNG if young else "") + "Send both calls from the owner's wallet. USDC that "
            "is sent straight to the vault does not count until sync_call books it.",
            sync_call=sync,
            decoded=ExplainedCall.of(chain.explain_call(sync.data)),
            simulation=simulated(tried.get("sync")),
        ),
        calls=[_fund_call(chain, step, call, tried.get(step)) for step, call in pair.items()],
        amount=amount,
        capabilities=capabilities(ctx, chain),
    )


def _fund_call(chain: Chain, step: FundStep, call: Call, tried: Simulation | None) -> FundCall:
    # Before its approval is mined a deposit fails for that alone, which says nothing of it.
    waits = step == "deposit" and tried is not None and not tried.ok
    parts = call_parts(chain, call, None if waits else tried)
    return FundCall(
        **{f.name: getattr(call, f.name) for f in fields(call)},
        step=step,
        decoded=parts["decoded"],
        simulation=parts["simulation"],
    )


OPERATIONS: Final = (
    Operation(
        name="owner_fund",
        title="Fund the vault",
        summary="Vault address, USDC, and the approve and deposit calls for an amount, each "
        "decoded and tried out.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/fund"),
        request_model=FundIn,
        response_model=FundOut,
        handler=fund,
        gather=gather_fund,
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
