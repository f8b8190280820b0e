"""Calldata for owner and agent to sign: pausing, resuming, stopping, recording, unwinding,
withdrawing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

from pydantic import Field

from domain.chain_facts import Call, PurseState, Simulation, VaultState
from domain.ledger.events.event import LedgerKind, Reporter
from domain.ledger.events.payloads import Stopped
from domain.mandates.actions import selector_of
from domain.mandates.lifecycle import LifecycleAction, status_after
from domain.mandates.mandate import Mandate, MandateAttributes, Status
from domain.money import Usdc
from domain.next_steps import OWNER_OR_AGENT, NextStep
from domain.ports import Chain
from domain.reads.withdrawal_lock import Lock, lock
from domain.refusals import Refused, refusal
from domain.rules.mark_policy import refuses
from domain.rules.revert_refusals import reverts
from domain.rules.snapshot import MandateSnapshot, moment
from domain.rules.target_rules import unlisted
from domain.rules.unwind_window import agent_barred, closed
from domain.rules.withdrawal_payout import Pays, pays
from storage.unit_of_work import UnitOfWork
from tools.context.access import (
    agent_mandate,
    check_forfeit,
    is_over,
    load_mandate,
    visible_mandate,
    wrong_status,
)
from tools.context.approval_keeping import close_pending
from tools.context.ledger_rows import append_row
from tools.context.market_calls import (
    BY_NAME_REFUSALS,
    CallIn,
    ContractCall,
    ExitOut,
    first_that_passes,
    requested_calls,
    with_answer,
)
from tools.context.snapshot_loader import (
    GatheredFacts,
    chain_or_none,
    gather_facts,
    load_snapshot,
    require_chain,
    simulation_if_readable,
    vault_if_readable,
)
from tools.mandates.vault.simulated_calls import (
    Makes,
    call_parts,
    ended,
    gather_simulated,
    owner_call,
    owner_call_factory,
    purse_if_readable,
    require_vault,
)
from tools.model.fields import OneMandate
from tools.model.operation import HEAVY, Caller, Deps, Operation, RequestContext, ResponseModel
from tools.model.serialization import wire
from tools.model.shared_models import ExplainedCall, Simulated

CallContext: TypeAlias = RequestContext[OneMandate, GatheredFacts]
_STOP: Final = owner_call_factory("stop")
_PAUSE: Final = owner_call_factory("revokeAgent")
_RECORD: Final = owner_call_factory("record")
_WITHDRAW: Final = owner_call_factory("withdrawAll")


def _resume(chain: Chain, mandate: Mandate) -> Call | None:
    agent = mandate.agent_address
    return None if agent is None else owner_call(chain, mandate, "setAgent", agent)


def _forfeit(chain: Chain, mandate: Mandate) -> Call | None:
    call = _STOP(chain, mandate)
    return None if call is None else replace(call, sender=mandate.agent_address)


class VaultCallOut(ResponseModel):
    """A transaction for the caller to sign and send."""

    call: Call | None
    message: str
    lock: Lock | None = None
    chain_live: bool | None = None
    decoded: ExplainedCall | None = Field(
        default=None, description="what the calldata says, to be compared with what is signed"
    )
    simulation: Simulated | None = Field(
        default=None, description="what the chain said of it; null where it could not be asked"
    )


class WithdrawOut(VaultCallOut):
    """The withdrawal, and what it pays."""

    pays: Pays | None = Field(
        description="where the vault's USDC goes if this is mined next; null where the vault "
        "could not be read"
    )


class StopOut(ResponseModel):
    """A stop in the record, and the call that stops the vault."""

    mandate: MandateAttributes
    chain_live: bool
    stop_call: Call | None
    decoded: ExplainedCall | None = Field(description="what the calldata of stop_call says")
    simulation: Simulated | None = Field(description="what the chain said of stop_call")
    message: str


class UnwindOut(VaultCallOut):
    """The call that closes a position."""

    exit: ExitOut | None = Field(default=None, description="of a market that is left by its name")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnwindFacts(GatheredFacts):
    """The vault now, and the call with what it would do; `judged` is the same as one whose exits
    the vault holds to a fair value would be answered.
    """

    unwind: ContractCall
    judged: Simulation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VoidFacts(GatheredFacts):
    """The purse too, where it could be read."""

    state: PurseState | None = None


def _require_not_over(mandate: Mandate, vault: VaultState | None) -> None:
    if is_over(mandate, vault):
        raise Refused(refusal("mandate_stopped"))


def _open(uow: UnitOfWork, ctx: CallContext, mandate: Mandate, action: str) -> MandateSnapshot:
    """The snapshot of a mandate that is open.

    Errors: `wrong_status`.
    """
    snapshot = load_snapshot(uow, ctx, mandate, ctx.facts, events=0)
    now = snapshot.mandate
    if now.status not in (Status.SIGNED, Status.WORKING) or is_over(now, snapshot.chain):
        raise wrong_status(now, action)
    return snapshot


def _mandate(uow: UnitOfWork, ctx: CallContext, action: str) -> Mandate:
    """The mandate, which has a vault."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    require_vault(mandate, action)
    return mandate


def _answer(ctx: CallContext, mandate: Mandate, makes: Makes, message: str) -> VaultCallOut:
    chain = require_chain(ctx, mandate)
    parts = call_parts(chain, makes(chain, mandate), ctx.facts.simulation)
    return VaultCallOut(**parts, message=message)


def stop_call(uow: UnitOfWork, ctx: CallContext) -> VaultCallOut:
    """Calldata of `stop()`, which also revokes the agent."""
    mandate = _mandate(uow, ctx, "stopping its vault")
    _require_not_over(mandate, ctx.facts.vault)
    return _answer(ctx, mandate, _STOP, "Ends the agent's authority for good and revokes it.")


def pause_call(uow: UnitOfWork, ctx: CallContext) -> VaultCallOut:
    """Calldata of `revokeAgent()`."""
    mandate = _mandate(uow, ctx, "pausing it")
    _open(uow, ctx, mandate, "pausing it")
    return _answer(ctx, mandate, _PAUSE, "Takes the agent's authority away until you resume.")


def resume_call(uow: UnitOfWork, ctx: CallContext) -> VaultCallOut:
    """Calldata of `setAgent(agent)`, only while paused."""
    mandate = _mandate(uow, ctx, "resuming it")
    snapshot = _open(uow, ctx, mandate, "resuming it")
    if not snapshot.mandate.paused:
        raise Refused(refusal("not_paused"))
    if mandate.ended(moment(snapshot)):
        raise ended(mandate)
    if mandate.agent_address is None:
        raise Refused(refusal("mandate_not_accepted"))
    return _answer(ctx, mandate, _resume, "Gives the agent its authority back.")


def record_call(uow: UnitOfWork, ctx: CallContext) -> VaultCallOut:
    """Calldata of `record()`, until the vault is settled."""
    mandate, vault = _mandate(uow, ctx, "recording its value"), ctx.facts.vault
    if mandate.status is Status.SETTLED or (vault is not None and vault.settled):
        raise wrong_status(mandate, "recording its value")
    message = (
        "Records the value of the open positions as it is now: fair exits are judged by it. "
        "It stops nothing and moves no money."
    )
    return _answer(ctx, mandate, _RECORD, message)


def withdraw_call(uow: UnitOfWork, ctx: CallContext) -> WithdrawOut:
    """Calldata of `withdrawAll()`, or why it is locked and until when."""
    mandate = _mandate(uow, ctx, "withdrawing")
    snapshot = load_snapshot(uow, ctx, mandate, ctx.facts, events=0)
    state, vault = lock(snapshot), snapshot.chain
    if vault is not None and vault.exists and not vault.withdrawable:
        until, detail = state.until, {"lock": wire(state)}
        retry_at = vault.lock_until
        raise Refused(refusal("withdraw_locked", until=until, retry_at=retry_at, detail=detail))
    chain = require_chain(ctx, mandate)
    return WithdrawOut(
        **call_parts(chain, _WITHDRAW(chain, mandate), ctx.facts.simulation),
        lock=state,
        pays=pays(mandate, vault),
        message="Stops and settles first where that has not happened, "
        "then pays everything but the agent's earned fee.",
    )


def stop(uow: UnitOfWork, ctx: CallContext) -> StopOut:
    """Stop in the record: no more calldata; the vault itself stops by the call in the answer."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id, lock=True)
    chain = chain_or_none(ctx, mandate)
    if mandate.status is not Status.STOPPED:
        status = status_after(mandate, LifecycleAction.STOP)
        mandate = replace(mandate, status=status, stopped_at=ctx.now)
        uow.mandates.save(mandate)
        close_pending(uow, mandate)
        payload = Stopped(reason="owner", record_only=True)
        append_row(uow, ctx, mandate, LedgerKind.STOP, Reporter.OWNER, payload)
    live = mandate.vault_address is not None and not is_over(mandate, ctx.facts.vault)
    created = _STOP(chain, mandate) if live and chain is not None else None
    parts = call_parts(chain, created, ctx.facts.simulation)
    return StopOut(
        mandate=mandate.attributes(),
        chain_live=live,
        stop_call=parts["call"],
        decoded=parts["decoded"],
        simulation=parts["simulation"],
        message="The vault is still live: send stop_call to revoke the agent on chain too."
        if live
        else "The vault is stopped.",
    )


def forfeit(uow: UnitOfWork, ctx: CallContext) -> VaultCallOut:
    """The agent gives its role up: calldata of the vault's `stop()`, which the agent may call
    itself.
    """
    mandate, state = agent_mandate(uow, ctx.caller, ctx.request.public_id), ctx.facts.vault
    check_forfeit(mandate, state)
    answer = _answer(ctx, mandate, _forfeit, "Sign and send it: your role ends for good.")
    return answer.model_copy(update={"chain_live": True})


async def gather_void(deps: Deps, caller: Caller, request: OneMandate) -> VoidFacts:
    """Read vault and purse, and simulate the call."""
    mandate = await load_mandate(deps, caller, request.public_id)
    facts, chain = await gather_facts(deps, mandate), chain_or_none(deps, mandate)
    if chain is None or facts.now.vault is None:
        return VoidFacts(vault=facts.now.vault)
    state = await purse_if_readable(deps, chain, mandate)
    if state is None:
        return VoidFacts(vault=facts.now.vault)
    tried = await simulation_if_readable(chain, _void(chain, mandate, state.address))
    return VoidFacts(vault=facts.now.vault, state=state, simulation=tried)


def _void(chain: Chain, mandate: Mandate, purse: str) -> Call:
    return replace(chain.void_call(purse), sender=mandate.owner_address)


def void_call(uow: UnitOfWork, ctx: RequestContext[OneMandate, VoidFacts]) -> VaultCallOut:
    """Calldata of the purse's `void()`, while something can be paid out of it."""
    action = "making its open payments void"
    mandate = _mandate(uow, ctx, action)
    snapshot, facts = _open(uow, ctx, mandate, action), ctx.facts
    if mandate.ended(moment(snapshot)):
        raise ended(mandate)
    if snapshot.purse is None or (facts.state is not None and not facts.state.exists):
        raise wrong_status(mandate, f"{action} before anything was put into its purse")
    chain = require_chain(ctx, mandate)
    call = _void(chain, mandate, snapshot.purse.address)
    parts = call_parts(chain, call, facts.simulation)
    message = "Makes every signed payment void that is not paid yet; the agent can sign new ones."
    return VaultCallOut(**parts, message=message)


async def gather_unwind(deps: Deps, caller: Caller, request: CallIn) -> UnwindFacts:
    """Read the vault and simulate the call as the caller would send it."""
    mandate = await load_mandate(deps, caller, request.public_id)
    calls = await requested_calls(deps, mandate, request)
    chain = chain_or_none(deps, mandate)
    vault = await vault_if_readable(chain, mandate)
    sender = _unwinder(mandate, caller)
    if chain is None or vault is None or not vault.exists or sender is None:
        return UnwindFacts(vault=vault, unwind=calls[0])

    async def simulate(call: ContractCall, by: str = sender) -> Simulation | None:
        made = chain.vault_call(vault.address, "unwind", call.target, call.data)
        return await simulation_if_readable(chain, replace(made, sender=by))

    unwind, tried = await first_that_passes(calls, simulate)
    judged = None
    if unwind.exit is not None and tried is not None and tried.ok:
        unwind = await with_answer(chain, mandate, unwind)
        judge = deps.keeper.address if deps.keeper is not None else mandate.agent_address
        if caller.role == "owner" and judge is not None:
            judged = await simulate(unwind, judge)
    return UnwindFacts(vault=vault, simulation=tried, unwind=unwind, judged=judged)


def _unwinder(mandate: Mandate, caller: Caller) -> str | None:
    return mandate.owner_address if caller.role == "owner" else mandate.agent_address


def unwind_call(uow: UnitOfWork, ctx: RequestContext[CallIn, UnwindFacts]) -> UnwindOut:
    """Calldata of `unwind(target, data)` on a closed mandate; the caller signs."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    target, data = ctx.facts.unwind.target, ctx.facts.unwind.data
    vault = require_vault(mandate, "unwinding")
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
    message = "Closes a position; no USDC may leave the vault in it."
    return UnwindOut(**parts, message=message, exit=_exit_shown(ctx, snapshot))


def _exit_shown(
    ctx: RequestContext[CallIn, UnwindFacts], snapshot: MandateSnapshot
) -> ExitOut | None:
    """The exit by name; where the vault judges exits, what it measured of this one. An agent's is
    judged in the trial itself.
    """
    exit, judged = ctx.facts.unwind.exit, ctx.facts.judged
    if exit is None:
        return None
    if ctx.caller.role != "owner":
        return exit.shown(snapshot, fair=True if ctx.facts.simulation is not None else None)
    if judged is None or (judged.revert is not None and judged.revert.name != "UnfairExit"):
        return exit.shown(snapshot)
    if judged.revert is None:
        return exit.shown(snapshot, fair=True if judged.ok else None)
    measured = Usdc(int(judged.revert.args["returned"]))
    return exit.shown(snapshot, measured=measured, fair=False)


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


_READS: Final = ("not_found", "wrong_status", "not_configured")
_call: Final = partial(
    Operation, auth="owner", request_model=OneMandate, response_model=VaultCallOut, refusals=_READS
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
        request_model=CallIn,
        response_model=UnwindOut,
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
            "chain_unavailable",
            *BY_NAME_REFUSALS,
        ),
    ),
    Operation(
        name="mandate_forfeit",
        title="Give up your role",
        summary="Calldata of the vault's stop(), which you may send yourself; final. mandate_act "
        'with kind "forfeit" does it in one call.',
        auth="agent",
        route=("POST", "/wallet/mandates/{public_id}/forfeit"),
        request_model=OneMandate,
        response_model=VaultCallOut,
        handler=forfeit,
        gather=gather_simulated(_forfeit),
        on_mcp=True,
        destructive=True,
        idempotent=True,
        refusals=(*_READS, "mandate_stopped", "mandate_paused"),
    ),
    Operation(
        name="owner_stop",
        title="Stop in the record",
        summary="Stop the mandate in the record; the answer holds the call that stops the vault.",
        auth="owner",
        route=("POST", "/wallet/mandates/{public_id}/stop"),
        request_model=OneMandate,
        response_model=StopOut,
        handler=stop,
        gather=gather_simulated(_STOP),
        writes=True,
        destructive=True,
        idempotent=True,
        refusals=("not_found", "wrong_status", "conflict"),
    ),
    _call(
        name="owner_stop_call",
        title="Get the stop call",
        summary="Calldata of the vault's stop(), which also revokes the agent.",
        route=("GET", "/wallet/mandates/{public_id}/stop-call"),
        handler=stop_call,
        gather=gather_simulated(_STOP),
        refusals=(*_READS, "mandate_stopped"),
    ),
    _call(
        name="owner_pause_call",
        title="Get the pause call",
        summary="Calldata of revokeAgent().",
        route=("GET", "/wallet/mandates/{public_id}/pause-call"),
        handler=pause_call,
        gather=gather_simulated(_PAUSE),
    ),
    _call(
        name="owner_resume_call",
        title="Get the resume call",
        summary="Calldata of setAgent(agent), only while paused.",
        route=("GET", "/wallet/mandates/{public_id}/resume-call"),
        handler=resume_call,
        gather=gather_simulated(_resume),
        refusals=(*_READS, "not_paused", "mandate_ended", "mandate_not_accepted"),
    ),
    _call(
        name="owner_void_call",
        title="Get the call that makes open payments void",
        summary="Calldata of the purse's void(): what the agent signed and nobody paid yet is "
        "void; the agent can sign new payments.",
        route=("GET", "/wallet/mandates/{public_id}/void-call"),
        handler=void_call,
        gather=gather_void,
        refusals=(*_READS, "mandate_ended"),
    ),
    _call(
        name="owner_record_call",
        title="Get the call that records the value",
        summary="Calldata of record(), by which the vault judges exits anew; it stops nothing.",
        route=("GET", "/wallet/mandates/{public_id}/record-call"),
        handler=record_call,
        gather=gather_simulated(_RECORD),
    ),
    _call(
        name="owner_withdraw_call",
        title="Get the withdrawal call",
        summary="Calldata of withdrawAll(), or why it is locked and until when.",
        route=("GET", "/wallet/mandates/{public_id}/withdraw-call"),
        response_model=WithdrawOut,
        handler=withdraw_call,
        gather=gather_simulated(_WITHDRAW),
        refusals=(*_READS, "withdraw_locked"),
    ),
)
