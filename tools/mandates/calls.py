"""Calldata for owner and agent to sign: pausing, resuming, stopping, recording, withdrawing."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pydantic import Field

from domain.facts import Call, VaultState
from domain.ledger.events import Kind, NewEvent, Reporter
from domain.ledger.payloads import Stopped
from domain.ledger.written import written
from domain.mandates.mandate import Mandate, MandateAttributes, Status
from domain.mandates.states import Action, moved
from domain.ports import Chain
from domain.reads.lock import Lock, lock
from domain.refusals import Refused, refusal
from domain.rules.case import Case, moment
from domain.rules.leaving import Pays, pays
from domain.times import timestamp
from storage.unit_of_work import UnitOfWork
from tools.call.access import own_agent_mandate, seen_mandate
from tools.call.approving import close_pending
from tools.call.case import Facts, chain_if_named_here, load_case, named_chain
from tools.call.fields import OneMandate
from tools.call.operation import Ask, Gives, Operation, Reply
from tools.call.shapes import ExplainedCall, Simulated
from tools.call.wire import wire
from tools.mandates.tried import by_owner, owners, told, trying, vault_of


class VaultCallOut(Gives):
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


class StopOut(Gives):
    """A stop in the record, and the call that stops the vault."""

    mandate: MandateAttributes
    chain_live: bool
    stop_call: Call | None
    decoded: ExplainedCall | None = Field(description="what the calldata of stop_call says")
    simulation: Simulated | None = Field(description="what the chain said of stop_call")
    message: str


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
    chain = named_chain(ask, m)
    call = told(chain, by_owner(chain, m, vault, "stop"), ask.facts.simulation)
    message = "Ends the agent's authority for good and revokes it."
    return Reply(200, call | {"message": message})


def pause_call(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """Calldata of `revokeAgent()`."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    vault = vault_of(m, "pausing it")
    _open(load_case(uow, ask, m, ask.facts, events=0), "pausing it")
    chain = named_chain(ask, m)
    call = told(chain, by_owner(chain, m, vault, "revokeAgent"), ask.facts.simulation)
    return Reply(200, call | {"message": "Takes the agent's authority away until you resume."})


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
    chain = named_chain(ask, m)
    call = by_owner(chain, m, vault, "setAgent", m.agent_address)
    message = "Gives the agent its authority back."
    return Reply(200, told(chain, call, ask.facts.simulation) | {"message": message})


def record_call(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """Calldata of `record()`, until the vault is settled."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    vault, state = vault_of(m, "recording its value"), ask.facts.vault
    if m.status is Status.SETTLED or (state is not None and state.settled):
        action = "recording its value"
        raise Refused(refusal("wrong_status", status=m.status.value, action=action))
    chain = named_chain(ask, m)
    call = told(chain, by_owner(chain, m, vault, "record"), ask.facts.simulation)
    message = (
        "Records the value of the open positions as it is now: fair exits are judged by it. "
        "It stops nothing and moves no money."
    )
    return Reply(200, call | {"message": message})


def withdraw_call(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """Calldata of `withdrawAll()`, or why it is locked and until when."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    vault = vault_of(m, "withdrawing")
    case = load_case(uow, ask, m, ask.facts, events=0)
    state = lock(case)
    if case.chain is not None and case.chain.exists and not case.chain.withdrawable:
        until = case.chain.lock_until
        named = timestamp(state.until) if state.until else None
        raise Refused(
            refusal("withdraw_locked", until=named, retry_at=until, detail={"lock": wire(state)})
        )
    chain = named_chain(ask, m)
    call = told(chain, by_owner(chain, m, vault, "withdrawAll"), ask.facts.simulation)
    message = (
        "Stops and settles first where that has not happened, "
        "then pays everything but the agent's earned fee."
    )
    more = {"lock": state, "pays": pays(m, case.chain), "message": message}
    return Reply(200, call | more)


def stop(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Reply:
    """Stop in the record: no more calldata; the vault itself stops by the call in the answer."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id, lock=True)
    chain = chain_if_named_here(ask, m)
    if m.status is not Status.STOPPED:
        m = replace(m, status=moved(m, Action.STOP), stopped_at=ask.now)
        uow.mandates.save(m)
        close_pending(uow, m)
        row = NewEvent(
            kind=Kind.STOP,
            reported_by=Reporter.OWNER,
            occurred_at=ask.now,
            chain_id=m.chain_id,
            payload=written(Stopped(reason="owner", record_only=True)),
        )
        uow.ledger.append(m.public_id, row, event_id=ask.ids.short("ev_"), now=ask.now)
    live = m.vault_address is not None and not _over(m, ask.facts.vault)
    made = _STOP(chain, m) if live and chain is not None else None
    shown = (
        {"call": None, "decoded": None, "simulation": None}
        if made is None or chain is None
        else told(chain, made, ask.facts.simulation)
    )
    message = (
        "The vault is still live: send stop_call to revoke the agent on chain too."
        if live
        else "The vault is stopped."
    )
    body = {"mandate": m.attributes(), "chain_live": live, "message": message}
    return Reply(200, body | {"stop_call": shown.pop("call")} | shown)


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
    chain = named_chain(ask, m)
    call = replace(chain.vault_call(vault, "stop"), sender=m.agent_address)
    more = {"message": "Sign and send it: your role ends for good.", "chain_live": True}
    return Reply(200, told(chain, call, ask.facts.simulation) | more)


def _forfeiting(chain: Chain, m: Mandate) -> Call | None:
    call = _STOP(chain, m)
    return None if call is None else replace(call, sender=m.agent_address)


def _resuming(chain: Chain, m: Mandate) -> Call | None:
    if m.vault_address is None or m.agent_address is None:
        return None
    return by_owner(chain, m, m.vault_address, "setAgent", m.agent_address)


_STOP: Final = owners("stop")


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
        gather=trying(_forfeiting),
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
        gather=trying(_STOP),
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
        gather=trying(_STOP),
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
        gather=trying(owners("revokeAgent")),
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
        gather=trying(_resuming),
        refusals=(*_READS, "not_paused", "mandate_ended", "mandate_not_accepted"),
    ),
    Operation(
        name="owner_record_call",
        title="Get the call that records the value",
        summary="Calldata of record(), by which the vault judges exits anew; it stops nothing.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/record-call"),
        takes=OneMandate,
        gives=VaultCallOut,
        handler=record_call,
        gather=trying(owners("record")),
        refusals=_READS,
    ),
    Operation(
        name="owner_withdraw_call",
        title="Get the withdrawal call",
        summary="Calldata of withdrawAll(), or why it is locked and until when.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/withdraw-call"),
        takes=OneMandate,
        gives=WithdrawOut,
        handler=withdraw_call,
        gather=trying(owners("withdrawAll")),
        refusals=(*_READS, "withdraw_locked"),
    ),
)
