"""Calldata that closes positions on a closed mandate, for its owner and its agent."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from domain.mandates.actions import selector_of
from domain.mandates.mandate import Mandate, Status
from domain.next_steps import OWNER_OR_AGENT, NextStep
from domain.refusals import Refused
from domain.rules.mark_policy import refuses
from domain.rules.revert_refusals import reverts
from domain.rules.target_rules import unlisted
from domain.rules.unwind_window import agent_barred, closed
from storage.unit_of_work import UnitOfWork
from tools.context.access import load_mandate, visible_mandate, wrong_status
from tools.context.snapshot_loader import (
    GatheredFacts,
    chain_or_none,
    load_snapshot,
    require_chain,
    simulation_if_readable,
    vault_if_readable,
)
from tools.mandates.vault.owner_calls import VaultCallOut
from tools.mandates.vault.simulated_calls import call_parts, require_vault
from tools.model.fields import Address, HexData, OneMandate
from tools.model.operation import HEAVY, Caller, Deps, Operation, RequestContext


class Unwind(OneMandate):
    """A call on a closed mandate."""

    target: Address
    data: HexData


async def gather_unwind(deps: Deps, caller: Caller, request: Unwind) -> GatheredFacts:
    """Read the vault and simulate the call as the caller would send it."""
    target = deps.chains.address(request.target)
    mandate = await load_mandate(deps, caller, request.public_id)
    chain = chain_or_none(deps, mandate)
    vault = await vault_if_readable(chain, mandate)
    sender, tried = _unwinder(mandate, caller), None
    if chain is not None and vault is not None and vault.exists and sender is not None:
        call = chain.vault_call(vault.address, "unwind", target, request.data)
        tried = await simulation_if_readable(chain, replace(call, sender=sender))
    return GatheredFacts(vault=vault, simulation=tried)


def _unwinder(mandate: Mandate, caller: Caller) -> str | None:
    return mandate.owner_address if caller.role == "owner" else mandate.agent_address


def unwind_call(uow: UnitOfWork, ctx: RequestContext[Unwind, GatheredFacts]) -> VaultCallOut:
    """Calldata of `unwind(target, data)` on a closed mandate; the caller signs."""
    mandate, data = visible_mandate(uow, ctx.caller, ctx.request.public_id), ctx.request.data
    vault = require_vault(mandate, "unwinding")
    target = ctx.chains.address(ctx.request.target)
    snapshot = load_snapshot(uow, ctx, mandate, ctx.facts, events=0)
    if not closed(snapshot):
        raise wrong_status(mandate, "unwinding before its vault is closed")
    owner = ctx.caller.role == "owner"
    barred = None if owner else agent_barred(snapshot)
    if barred is not None:
        raise Refused(barred)
    settled = mandate.status is Status.SETTLED or bool(snapshot.chain and snapshot.chain.settled)
    mismatch = mandate.mismatch_of(target, data)
    if mismatch is not None and not (settled and owner):
        check = unlisted(mismatch, target, selector_of(data), step=_OTHER_ARGUMENT)
        raise Refused(check.refuse("target_not_allowed", snapshot))
    tried = ctx.facts.simulation
    if tried is not None and not tried.ok:
        stale = None if owner else refuses(snapshot.chain, tried.revert)
        raise Refused(reverts(tried.revert, next_steps=(_OTHER_EXIT,), stale=stale))
    chain = require_chain(ctx, mandate)
    call = chain.vault_call(vault, "unwind", target, data)
    parts = call_parts(chain, replace(call, sender=_unwinder(mandate, ctx.caller)), tried)
    return VaultCallOut(**parts, message="Closes a position; no USDC may leave the vault in it.")


_OTHER_ARGUMENT: Final = NextStep(
    "Put the vault's own address where the reason says, and ask again",
    "mandate_unwind_call",
    "GET /wallet/mandates/{public_id}/unwind-call",
    OWNER_OR_AGENT,
)
_OTHER_EXIT: Final = NextStep(
    "Ask again with the exit call of the position's market, as detail.revert mends it",
    "mandate_unwind_call",
    "GET /wallet/mandates/{public_id}/unwind-call",
    OWNER_OR_AGENT,
)


OPERATIONS: Final = (
    Operation(
        name="mandate_unwind_call",
        title="Get calldata to unwind",
        summary="Calldata of unwind(target, data) on a closed mandate; you sign it. What would "
        "revert is refused. Its agent may "
        "unwind for three days after the close, fairly, unless it was paused before or the stop "
        "line closed a mandate that keeps its positions.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates/{public_id}/unwind-call"),
        long=True,
        request_model=Unwind,
        response_model=VaultCallOut,
        handler=unwind_call,
        gather=gather_unwind,
        on_mcp=True,
        weight=HEAVY,
        refusals=(
            "not_found",
            "wrong_status",
            "not_configured",
            "invalid_address",
            "target_not_allowed",
            "mandate_stopped",
            "mandate_paused",
            "would_revert",
        ),
    ),
)
