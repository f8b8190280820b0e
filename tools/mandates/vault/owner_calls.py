"""Calldata for owner and agent to sign: pausing, resuming, stopping, recording, withdrawing."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pydantic import Field

from domain.chain_facts import Call, VaultState
from domain.ledger.events.event import LedgerKind, NewEvent, Reporter
from domain.ledger.events.payload_codec import written
from domain.ledger.events.payloads import Stopped
from domain.mandates.lifecycle import LifecycleAction, status_after
from domain.mandates.mandate import Mandate, MandateAttributes, Status
from domain.ports import Chain
from domain.reads.withdrawal_lock import Lock, lock
from domain.refusals import Refused, refusal
from domain.rules.snapshot import MandateSnapshot, moment
from domain.rules.withdrawal_payout import Pays, pays
from domain.times import timestamp
from storage.unit_of_work import UnitOfWork
from tools.context.access import agent_mandate, visible_mandate
from tools.context.approval_keeping import close_pending
from tools.context.snapshot_loader import (
    GatheredFacts,
    chain_if_named_here,
    load_snapshot,
    require_chain,
)
from tools.mandates.vault.simulated_calls import (
    call_body,
    gather_simulated,
    owner_call,
    owner_call_factory,
    vault_of,
)
from tools.model.fields import OneMandate
from tools.model.operation import Operation, OperationResult, RequestContext, ResponseModel
from tools.model.serialization import wire
from tools.model.shared_models import ExplainedCall, Simulated


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


def _open(snapshot: MandateSnapshot, action: str) -> None:
    mandate = snapshot.mandate
    if mandate.status not in (Status.SIGNED, Status.WORKING) or _over(mandate, snapshot.chain):
        raise Refused(refusal("wrong_status", status=mandate.status.value, action=action))


def _over(mandate: Mandate, vault: VaultState | None) -> bool:
    """True where the vault takes no stop any more; the record decides where the vault was not
    read.
    """
    if vault is not None and vault.exists:
        return vault.stopped or vault.settled
    return mandate.status is Status.SETTLED


def stop_call(uow: UnitOfWork, ctx: RequestContext[OneMandate, GatheredFacts]) -> OperationResult:
    """Calldata of `stop()`, which also revokes the agent."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    vault = vault_of(mandate, "stopping its vault")
    if _over(mandate, ctx.facts.vault):
        raise Refused(refusal("mandate_stopped"))
    chain = require_chain(ctx, mandate)
    call = call_body(chain, owner_call(chain, mandate, vault, "stop"), ctx.facts.simulation)
    message = "Ends the agent's authority for good and revokes it."
    return OperationResult(200, call | {"message": message})


def pause_call(uow: UnitOfWork, ctx: RequestContext[OneMandate, GatheredFacts]) -> OperationResult:
    """Calldata of `revokeAgent()`."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    vault = vault_of(mandate, "pausing it")
    _open(load_snapshot(uow, ctx, mandate, ctx.facts, events=0), "pausing it")
    chain = require_chain(ctx, mandate)
    call = call_body(chain, owner_call(chain, mandate, vault, "revokeAgent"), ctx.facts.simulation)
    return OperationResult(
        200, call | {"message": "Takes the agent's authority away until you resume."}
    )


def resume_call(uow: UnitOfWork, ctx: RequestContext[OneMandate, GatheredFacts]) -> OperationResult:
    """Calldata of `setAgent(agent)`, only while paused."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    vault = vault_of(mandate, "resuming it")
    snapshot = load_snapshot(uow, ctx, mandate, ctx.facts, events=0)
    _open(snapshot, "resuming it")
    if not snapshot.mandate.paused:
        raise Refused(refusal("not_paused"))
    if mandate.ended(moment(snapshot)):
        raise Refused(
            refusal(
                "mandate_ended", ends_at=timestamp(mandate.ends_at) if mandate.ends_at else None
            )
        )
    if mandate.agent_address is None:
        raise Refused(refusal("mandate_not_accepted"))
    chain = require_chain(ctx, mandate)
    call = owner_call(chain, mandate, vault, "setAgent", mandate.agent_address)
    message = "Gives the agent its authority back."
    return OperationResult(200, call_body(chain, call, ctx.facts.simulation) | {"message": message})


def record_call(uow: UnitOfWork, ctx: RequestContext[OneMandate, GatheredFacts]) -> OperationResult:
    """Calldata of `record()`, until the vault is settled."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    vault, state = vault_of(mandate, "recording its value"), ctx.facts.vault
    if mandate.status is Status.SETTLED or (state is not None and state.settled):
        action = "recording its value"
        raise Refused(refusal("wrong_status", status=mandate.status.value, action=action))
    chain = require_chain(ctx, mandate)
    call = call_body(chain, owner_call(chain, mandate, vault, "record"), ctx.facts.simulation)
    message = (
        "Records the value of the open positions as it is now: fair exits are judged by it. "
        "It stops nothing and moves no money."
    )
    return OperationResult(200, call | {"message": message})


def withdraw_call(
    uow: UnitOfWork, ctx: RequestContext[OneMandate, GatheredFacts]
) -> OperationResult:
    """Calldata of `withdrawAll()`, or why it is locked and until when."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    vault = vault_of(mandate, "withdrawing")
    snapshot = load_snapshot(uow, ctx, mandate, ctx.facts, events=0)
    state = lock(snapshot)
    if snapshot.chain is not None and snapshot.chain.exists and not snapshot.chain.withdrawable:
        until = snapshot.chain.lock_until
        until_text = timestamp(state.until) if state.until else None
        raise Refused(
            refusal(
                "withdraw_locked", until=until_text, retry_at=until, detail={"lock": wire(state)}
            )
        )
    chain = require_chain(ctx, mandate)
    call = call_body(chain, owner_call(chain, mandate, vault, "withdrawAll"), ctx.facts.simulation)
    message = (
        "Stops and settles first where that has not happened, "
        "then pays everything but the agent's earned fee."
    )
    more = {"lock": state, "pays": pays(mandate, snapshot.chain), "message": message}
    return OperationResult(200, call | more)


def stop(uow: UnitOfWork, ctx: RequestContext[OneMandate, GatheredFacts]) -> OperationResult:
    """Stop in the record: no more calldata; the vault itself stops by the call in the answer."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id, lock=True)
    chain = chain_if_named_here(ctx, mandate)
    if mandate.status is not Status.STOPPED:
        mandate = replace(
            mandate, status=status_after(mandate, LifecycleAction.STOP), stopped_at=ctx.now
        )
        uow.mandates.save(mandate)
        close_pending(uow, mandate)
        row = NewEvent(
            kind=LedgerKind.STOP,
            reported_by=Reporter.OWNER,
            occurred_at=ctx.now,
            chain_id=mandate.chain_id,
            payload=written(Stopped(reason="owner", record_only=True)),
        )
        uow.ledger.append(mandate.public_id, row, event_id=ctx.ids.short("ev_"), now=ctx.now)
    live = mandate.vault_address is not None and not _over(mandate, ctx.facts.vault)
    created = _STOP(chain, mandate) if live and chain is not None else None
    stop_body = (
        {"call": None, "decoded": None, "simulation": None}
        if created is None or chain is None
        else call_body(chain, created, ctx.facts.simulation)
    )
    message = (
        "The vault is still live: send stop_call to revoke the agent on chain too."
        if live
        else "The vault is stopped."
    )
    body = {"mandate": mandate.attributes(), "chain_live": live, "message": message}
    return OperationResult(200, body | {"stop_call": stop_body.pop("call")} | stop_body)


def forfeit(uow: UnitOfWork, ctx: RequestContext[OneMandate, GatheredFacts]) -> OperationResult:
    """The agent gives its role up: calldata of the vault's `stop()`, which the agent may call
    itself.
    """
    mandate = agent_mandate(uow, ctx.caller, ctx.request.public_id)
    vault, state = vault_of(mandate, "forfeiting it"), ctx.facts.vault
    if _over(mandate, state):
        raise Refused(refusal("mandate_stopped"))
    # A paused vault knows no agent, so its stop() is not open to one.
    if state.paused if state is not None and state.exists else mandate.paused:
        raise Refused(refusal("mandate_paused"))
    chain = require_chain(ctx, mandate)
    call = replace(chain.vault_call(vault, "stop"), sender=mandate.agent_address)
    more = {"message": "Sign and send it: your role ends for good.", "chain_live": True}
    return OperationResult(200, call_body(chain, call, ctx.facts.simulation) | more)


def _forfeiting(chain: Chain, mandate: Mandate) -> Call | None:
    call = _STOP(chain, mandate)
    return None if call is None else replace(call, sender=mandate.agent_address)


def _resuming(chain: Chain, mandate: Mandate) -> Call | None:
    if mandate.vault_address is None or mandate.agent_address is None:
        return None
    return owner_call(chain, mandate, mandate.vault_address, "setAgent", mandate.agent_address)


_STOP: Final = owner_call_factory("stop")


_READS: Final = ("not_found", "wrong_status", "not_configured")


OPERATIONS: Final = (
    Operation(
        name="mandate_forfeit",
        title="Give up your role",
        summary="Calldata of the vault's stop(), which you may send yourself; final.",
        auth="agent",
        route=("POST", "/wallet/mandates/{public_id}/forfeit"),
        request_model=OneMandate,
        response_model=VaultCallOut,
        handler=forfeit,
        gather=gather_simulated(_forfeiting),
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
    Operation(
        name="owner_stop_call",
        title="Get the stop call",
        summary="Calldata of the vault's stop(), which also revokes the agent.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/stop-call"),
        request_model=OneMandate,
        response_model=VaultCallOut,
        handler=stop_call,
        gather=gather_simulated(_STOP),
        refusals=(*_READS, "mandate_stopped"),
    ),
    Operation(
        name="owner_pause_call",
        title="Get the pause call",
        summary="Calldata of revokeAgent().",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/pause-call"),
        request_model=OneMandate,
        response_model=VaultCallOut,
        handler=pause_call,
        gather=gather_simulated(owner_call_factory("revokeAgent")),
        refusals=_READS,
    ),
    Operation(
        name="owner_resume_call",
        title="Get the resume call",
        summary="Calldata of setAgent(agent), only while paused.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/resume-call"),
        request_model=OneMandate,
        response_model=VaultCallOut,
        handler=resume_call,
        gather=gather_simulated(_resuming),
        refusals=(*_READS, "not_paused", "mandate_ended", "mandate_not_accepted"),
    ),
    Operation(
        name="owner_record_call",
        title="Get the call that records the value",
        summary="Calldata of record(), by which the vault judges exits anew; it stops nothing.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/record-call"),
        request_model=OneMandate,
        response_model=VaultCallOut,
        handler=record_call,
        gather=gather_simulated(owner_call_factory("record")),
        refusals=_READS,
    ),
    Operation(
        name="owner_withdraw_call",
        title="Get the withdrawal call",
        summary="Calldata of withdrawAll(), or why it is locked and until when.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/withdraw-call"),
        request_model=OneMandate,
        response_model=WithdrawOut,
        handler=withdraw_call,
        gather=gather_simulated(owner_call_factory("withdrawAll")),
        refusals=(*_READS, "withdraw_locked"),
    ),
)
