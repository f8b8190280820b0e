"""Calls for people to sign: decoded, and simulated before they are returned."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias, TypedDict

from domain.chain_facts import Call, PurseState, Simulation, VaultFunction
from domain.mandates.mandate import Mandate
from domain.money import Usdc
from domain.ports import Chain
from domain.refusals import Refused, refusal
from tools.context.access import load_mandate, wrong_status
from tools.context.snapshot_loader import (
    GatheredFacts,
    chain_or_none,
    gather_facts,
    simulation_if_readable,
)
from tools.model.fields import OneMandate
from tools.model.operation import Caller, Deps
from tools.model.shared_models import ExplainedCall, Simulated, simulated

Makes: TypeAlias = Callable[[Chain, Mandate], Call | None]
"""Makes the call of an operation out of what is known without asking; None where there is none."""


class CallParts(TypedDict):
    """The fields of an answer that hands a call out."""

    call: Call | None
    decoded: ExplainedCall | None
    simulation: Simulated | None


def call_parts(chain: Chain | None, call: Call | None, simulation: Simulation | None) -> CallParts:
    """The call, its calldata decoded, and what the chain said of it; nothing where there is no
    call.
    """
    if chain is None or call is None:
        return CallParts(call=None, decoded=None, simulation=None)
    decoded = ExplainedCall.of(chain.explain_call(call.data))
    return CallParts(call=call, decoded=decoded, simulation=simulated(simulation))


def require_vault(mandate: Mandate, action: str) -> str:
    """The vault's address.

    Errors: `wrong_status` while there is none.
    """
    if mandate.vault_address is None:
        raise wrong_status(mandate, action)
    return mandate.vault_address


def ended(mandate: Mandate) -> Refused:
    """The refusal of what a mandate takes until its end alone."""
    return Refused(refusal("mandate_ended", ends_at=mandate.ends_at))


def owner_call(
    chain: Chain, mandate: Mandate, function: VaultFunction, *args: str | Usdc
) -> Call | None:
    """A call of the vault for the owner to send; None where there is no vault."""
    if mandate.vault_address is None:
        return None
    call = chain.vault_call(mandate.vault_address, function, *args)
    return replace(call, sender=mandate.owner_address)


def owner_call_factory(function: VaultFunction) -> Makes:
    """A call of the vault that takes no argument, for the owner to send."""
    return partial(owner_call, function=function)


async def purse_if_readable(deps: Deps, chain: Chain, mandate: Mandate) -> PurseState | None:
    """The mandate's purse at the newest block; None where there is none, or no answer."""
    purses = await deps.store.read(lambda uow: uow.chainlog.purses_of(mandate.public_id))
    if not purses:
        return None
    place = deps.chains.address(purses[0].address)
    try:
        with chain.short_deadline():
            return (await chain.purse_states([place])).get(place.lower())
    except Refused:
        return None


def gather_simulated(make: Makes) -> Callable[[Deps, Caller, OneMandate], Awaitable[GatheredFacts]]:
    """Read the vault, and simulate the call at the newest block."""

    async def gather(deps: Deps, caller: Caller, request: OneMandate) -> GatheredFacts:
        mandate = await load_mandate(deps, caller, request.public_id)
        facts, chain = (await gather_facts(deps, mandate)).now, chain_or_none(deps, mandate)
        if chain is None or facts.vault is None or not facts.vault.exists:
            return facts
        call = make(chain, mandate)
        if call is None:
            return facts
        return replace(facts, simulation=await simulation_if_readable(chain, call))

    return gather
