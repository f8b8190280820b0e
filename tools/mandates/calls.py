"""Calldata for owner and agent to sign: pausing, resuming, stopping and leaving."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Literal

from pydantic import Field

from domain.facts import Call, VaultState
from domain.ledger.events import Kind, NewEvent, Reporter
from domain.ledger.payloads import Stopped
from domain.ledger.written import written
from domain.mandates.mandate import Mandate, MandateAttributes, Status
from domain.mandates.states import Action, moved
from domain.money import Usdc
from domain.reads.lock import Lock, lock
from domain.reads.progress import exit_cost, leave_now
from domain.refusals import Refused, refusal
from domain.rules.case import Case, moment
from domain.rules.worth import valuation
from domain.times import timestamp
from storage.unit_of_work import UnitOfWork
from tools.call.access import own_agent_mandate, seen_mandate
from tools.call.case import (
    Facts,
    chain_if_named_here,
    gather_mandate,
    load_case,
    named_chain,
)
from tools.call.fields import OneMandate
from tools.call.operation import Ask, Gives, Operation, Reply
from tools.call.shapes import Simulated
from tools.call.wire import wire


class VaultCallOut(Gives):
    """A transaction for the caller to sign and send."""

    call: Call | None
    message: str
    lock: Lock | None = None
    chain_live: bool | None = None
    simulation: Simulated | None = Field(
        default=None,
        description="what the chain said of an unwind; null where it was not or could not be asked",
    )


class StopOut(Gives):
    """A stop in the record, and the call that stops the vault."""

    mandate: MandateAttributes
    chain_live: bool
    stop_call: Call | None
    message: str


class PlanStep(Gives):
    """One step out; a position is unwound by a call that its market's exit names."""

    n: int
    step: Literal["stop", "unwind", "settle", "withdraw"]
    text: str = Field(description="the service's own words")
    call: Call | None
    position: str | None = None
    market: str | None = None
    target: str | None = None
    value_est: Usdc | None = None
    exit_cost_est: Usdc | None = None
    route: str | None = None


class PlanOut(Gives):
    """Ordered steps out of everything."""

    steps: list[PlanStep]
    exit_cost_est: Usdc | None
    leave_now_est: Usdc | None
    est: Literal[True]


def vault_of(m: Mandate, action: str) -> str:
    """The vault's address.

    Errors: `wrong_status` while there is none.
    """
    if m.vault_address is None:
        raise Refused(refusal("wrong_status", status=m.status.value, action=action))
    return m.vault_address


def _for(m: Mandate, call: Call) -> Call:
    return replace(call, sender=m.owner_address)


def _open(case: Case, action: str) -> None:
    m = case.mandate
    if m.status not in (Status.SIGNED, Status.WORKING) or _over(m, case.chain):
        raise Refused(refusal("wrong_status", status=m.status.value, action=action))


def _over(m: Mandate, vault: VaultState | None) -> bool:
    """True where the vault takes no stop any more; the record decides where the vault was not
    read.
    """
    if vault is not None and vault.exists:
        return vault.stopped or vault.settled
    return m.status is Status.SETTLED


def stop_call(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """Calldata of `stop()`, which also revokes the agent."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    vault = vault_of(m, "stopping its vault")
    if _over(m, ask.facts.vault):
        raise Refused(refusal("mandate_stopped"))
    call = named_chain(ask, m).vault_call(vault, "stop")
    return Reply(
        200,
        {"call": _for(m, call), "message": "Ends the agent's authority for good and revokes it."},
    )


def pause_call(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """Calldata of `revokeAgent()`."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    vault = vault_of(m, "pausing it")
    _open(load_case(uow, ask, m, ask.facts, events=0), "pausing it")
    call = named_chain(ask, m).vault_call(vault, "revokeAgent")
    return Reply(
        200,
        {"call": _for(m, call), "message": "Takes the agent's authority away until you resume."},
    )


def resume_call(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """Calldata of `setAgent(agent)`, only while paused."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    vault = vault_of(m, "resuming it")
    case = load_case(uow, ask, m, ask.facts, events=0)
    _open(case, "resuming it")
    if not case.mandate.paused:
        raise Refused(refusal("not_paused"))
    if m.ended(moment(case)):
        raise Refused(refusal("mandate_ended", ends_at=timestamp(m.ends_at) if m.ends_at else None))
    if m.agent_address is None:
        raise Refused(refusal("mandate_not_accepted"))
    call = named_chain(ask, m).vault_call(vault, "setAgent", m.agent_address)
    return Reply(200, {"call": _for(m, call), "message": "Gives the agent its authority back."})


def withdraw_call(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """Calldata of `withdrawAll()`, or why it is locked and until when."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    vault = vault_of(m, "withdrawing")
    case = load_case(uow, ask, m, ask.facts, events=0)
    state = lock(case)
    if case.chain is not None and case.chain.exists and not case.chain.withdrawable:
        until = case.chain.lock_until
        told = timestamp(state.until) if state.until else None
        raise Refused(
            refusal("withdraw_locked", until=told, retry_at=until, detail={"lock": wire(state)})
        )
    call = named_chain(ask, m).vault_call(vault, "withdrawAll")
    message = (
        "Stops and settles first where that has not happened, "
        "then pays everything but the agent's earned fee."
    )
    return Reply(200, {"call": _for(m, call), "lock": state, "message": message})


def stop(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """Stop in the record: no more calldata; the vault itself stops by the call in the answer."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id, lock=True)
    chain = chain_if_named_here(ask, m)
    if m.status is not Status.STOPPED:
        m = replace(m, status=moved(m, Action.STOP), stopped_at=ask.now)
        uow.mandates.save(m)
        row = NewEvent(
            kind=Kind.STOP,
            reported_by=Reporter.OWNER,
            occurred_at=ask.now,
            chain_id=m.chain_id,
            payload=written(Stopped(reason="owner", record_only=True)),
        )
        uow.ledger.append(m.public_id, row, event_id=ask.ids.short("ev_"), now=ask.now)
    live = m.vault_address is not None and not _over(m, ask.facts.vault)
    call = (
        chain.vault_call(m.vault_address, "stop")
        if live and chain is not None and m.vault_address
        else None
    )
    message = (
        "The vault is still live: send stop_call to revoke the agent on chain too."
        if live
        else "The vault is stopped."
    )
    told = {
        "mandate": m.attributes(),
        "chain_live": live,
        "stop_call": _for(m, call) if call else None,
        "message": message,
    }
    return Reply(200, told)


def forfeit(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """The agent gives its role up: calldata of the vault's `stop()`, which the agent may call
    itself.
    """
    m = own_agent_mandate(uow, ask.caller, ask.asked.public_id)
    vault, state = vault_of(m, "forfeiting it"), ask.facts.vault
    if _over(m, state):
        raise Refused(refusal("mandate_stopped"))
    # A paused vault knows no agent, so its stop() is not open to one.
    if state.paused if state is not None and state.exists else m.paused:
        raise Refused(refusal("mandate_paused"))
    call = replace(named_chain(ask, m).vault_call(vault, "stop"), sender=m.agent_address)
    return Reply(
        200,
        {
            "call": call,
            "message": "Sign and send it: your role ends for good.",
            "chain_live": True,
        },
    )


def close_all_plan(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """Ordered steps for stop-and-close-everything, with what the exit is estimated to cost."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    vault = vault_of(m, "closing everything")
    case = load_case(uow, ask, m, ask.facts, events=0)
    chain = named_chain(ask, m)
    steps: list[dict[str, Any]] = []
    state = case.chain
    if state is None or not state.stopped:
        steps.append(
            {
                "step": "stop",
                "text": "Stop the vault and revoke the agent.",
                "call": _for(m, chain.vault_call(vault, "stop")),
            }
        )
    for key, held in valuation(case).positions.items():
        place, value = held.position.place, held.value
        if value > 0:
            leaving = Usdc(value).share_up(ask.config.spread_bps)
            steps.append(
                {
                    "step": "unwind",
                    "text": "Close this position: ask unwind-call with the market's exit calldata.",
                    "position": key,
                    "market": place.market,
                    "target": place.address,
                    "value_est": Usdc(value),
                    "exit_cost_est": leaving,
                    "call": None,
                    "route": f"GET /wallet/mandates/{m.public_id}/unwind-call",
                }
            )
    if state is None or not state.settled:
        steps.append(
            {
                "step": "settle",
                "text": "Fix the result, once; anyone may send it.",
                "call": _for(m, chain.vault_call(vault, "settle")),
            }
        )
    steps.append(
        {
            "step": "withdraw",
            "text": "Take everything out.",
            "call": _for(m, chain.vault_call(vault, "withdrawAll")),
        }
    )
    told = {
        "steps": [{"n": n, **s} for n, s in enumerate(steps, start=1)],
        "exit_cost_est": exit_cost(case),
        "leave_now_est": leave_now(case),
        "est": True,
    }
    return Reply(200, told)


_READS: Final = ("not_found", "wrong_status", "not_configured")


OPERATIONS: Final = (
    Operation(
        name="mandate_forfeit",
        title="Give up your role",
        summary="Calldata of the vault's stop(), which you may send yourself; final.",
        auth="agent",
        route=("POST", "/wallet/mandates/{public_id}/forfeit"),
        takes=OneMandate,
        gives=VaultCallOut,
        handler=forfeit,
        gather=gather_mandate,
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
        takes=OneMandate,
        gives=StopOut,
        handler=stop,
        gather=gather_mandate,
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
        takes=OneMandate,
        gives=VaultCallOut,
        handler=stop_call,
        gather=gather_mandate,
        refusals=(*_READS, "mandate_stopped"),
    ),
    Operation(
        name="owner_pause_call",
        title="Get the pause call",
        summary="Calldata of revokeAgent().",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/pause-call"),
        takes=OneMandate,
        gives=VaultCallOut,
        handler=pause_call,
        gather=gather_mandate,
        refusals=_READS,
    ),
    Operation(
        name="owner_resume_call",
        title="Get the resume call",
        summary="Calldata of setAgent(agent), only while paused.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/resume-call"),
        takes=OneMandate,
        gives=VaultCallOut,
        handler=resume_call,
        gather=gather_mandate,
        refusals=(*_READS, "not_paused", "mandate_ended", "mandate_not_accepted"),
    ),
    Operation(
        name="owner_withdraw_call",
        title="Get the withdrawal call",
        summary="Calldata of withdrawAll(), or why it is locked and until when.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/withdraw-call"),
        takes=OneMandate,
        gives=VaultCallOut,
        handler=withdraw_call,
        gather=gather_mandate,
        refusals=(*_READS, "withdraw_locked"),
    ),
    Operation(
        name="owner_close_all_plan",
        title="Plan the way out",
        summary="Ordered steps for stop-and-close-everything with exit cost estimates.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/close-all-plan"),
        takes=OneMandate,
        gives=PlanOut,
        handler=close_all_plan,
        gather=gather_mandate,
        refusals=_READS,
    ),
)
