"""Calldata that closes positions on a closed mandate, for its owner and its agent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from domain.facts import Simulation
from domain.mandates.actions import selector_of
from domain.mandates.mandate import Mandate, Status
from domain.next_steps import OWNER_OR_AGENT, NextStep
from domain.refusals import Refused, refusal
from domain.rules.listed import not_allowed
from domain.rules.recorded import refuses
from domain.rules.reverts import reverts
from domain.rules.unwinding import agent_barred, closed
from storage.unit_of_work import UnitOfWork
from tools.call.access import peek, seen_mandate
from tools.call.case import (
    Facts,
    chain_if_named,
    load_case,
    named_chain,
    simulation_if_readable,
    vault_if_readable,
)
from tools.call.fields import Address, HexData, OneMandate
from tools.call.operation import HEAVY, Ask, Caller, Deps, Operation, Reply
from tools.mandates.calls import VaultCallOut
from tools.mandates.tried import told, vault_of


class Unwind(OneMandate):
    """A call on a closed mandate."""

    target: Address
    data: HexData


@dataclass(frozen=True, slots=True, kw_only=True)
class UnwindFacts:
    """The vault now, and what the call would do."""

    facts: Facts
    simulation: Simulation | None


async def gather_unwind(deps: Deps, caller: Caller, asked: Unwind) -> UnwindFacts:
    """Read the vault and simulate the call as the caller would send it."""
    target = deps.chains.address(asked.target)
    m = await peek(deps, caller, asked.public_id)
    chain = chain_if_named(deps, m)
    vault = await vault_if_readable(chain, m)
    sender, tried = _unwinder(m, caller), None
    if chain is not None and vault is not None and vault.exists and sender is not None:
        call = chain.vault_call(vault.address, "unwind", target, asked.data)
        tried = await simulation_if_readable(chain, replace(call, sender=sender))
    return UnwindFacts(facts=Facts(vault=vault), simulation=tried)


def _unwinder(m: Mandate, caller: Caller) -> str | None:
    return m.owner_address if caller.role == "owner" else m.agent_address


def unwind_call(uow: UnitOfWork, ask: Ask[Unwind, UnwindFacts]) -> Reply:
    """Calldata of `unwind(target, data)` on a closed mandate; the caller signs."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    vault = vault_of(m, "unwinding")
    target = ask.chains.address(ask.asked.target)
    case = load_case(uow, ask, m, ask.facts.facts, events=0)
    if not closed(case):
        action = "unwinding before its vault is closed"
        raise Refused(refusal("wrong_status", status=m.status.value, action=action))
    owner = ask.caller.role == "owner"
    barred = None if owner else agent_barred(case)
    if barred is not None:
        raise Refused(barred)
    settled = m.status is Status.SETTLED or bool(case.chain and case.chain.settled)
    selector = selector_of(ask.asked.data)
    found = m.misses(target, ask.asked.data)
    if found is not None and not (settled and owner):
        raise Refused(not_allowed(found, target, selector, step=_OTHER_ARGUMENT))
    tried = ask.facts.simulation
    if tried is not None and not tried.ok:
        stale = None if owner else refuses(case.chain, tried.revert)
        raise Refused(reverts(tried.revert, next_steps=(_OTHER_EXIT,), stale=stale))
    chain = named_chain(ask, m)
    call = replace(
        chain.vault_call(vault, "unwind", target, ask.asked.data),
        sender=_unwinder(m, ask.caller),
    )
    message = "Closes a position; no USDC may leave the vault in it."
    return Reply(200, told(chain, call, tried) | {"message": message})


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
        takes=Unwind,
        gives=VaultCallOut,
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
