"""Calls for people to sign: decoded, and simulated before they are returned."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeAlias

from domain.chain_facts import Call, Simulation, VaultFunction
from domain.mandates.mandate import Mandate
from domain.ports import Chain
from domain.refusals import Refused, refusal
from tools.context.access import load_mandate
from tools.context.snapshot_loader import (
    GatheredFacts,
    chain_or_none,
    gather_mandate,
    simulation_if_readable,
)
from tools.model.operation import Caller, Deps
from tools.model.shared_models import ExplainedCall, simulated

Makes: TypeAlias = Callable[[Chain, Mandate], Call | None]
"""Makes the call of an operation out of what is known without asking; None where there is none."""


def vault_of(mandate: Mandate, action: str) -> str:
    """The vault's address.

    Errors: `wrong_status` while there is none.
    """
    if mandate.vault_address is None:
        raise Refused(refusal("wrong_status", status=mandate.status.value, action=action))
    return mandate.vault_address


def owner_call_factory(function: VaultFunction) -> Makes:
    """A call of the vault that takes no argument, for the owner to send."""

    def make(chain: Chain, mandate: Mandate) -> Call | None:
        vault = mandate.vault_address
        return None if vault is None else owner_call(chain, mandate, vault, function)

    return make


def owner_call(
    chain: Chain, mandate: Mandate, vault: str, function: VaultFunction, *args: Any
) -> Call:
    """A call of the vault for the owner to send."""
    return replace(chain.vault_call(vault, function, *args), sender=mandate.owner_address)


def gather_simulated(make: Makes) -> Callable[[Deps, Caller, Any], Awaitable[GatheredFacts]]:
    """Read the vault, and simulate the call at the newest block."""

    async def gather(deps: Deps, caller: Caller, request: Any) -> GatheredFacts:
        facts = (await gather_mandate(deps, caller, request)).now
        mandate = await load_mandate(deps, caller, request.public_id)
        chain = chain_or_none(deps, mandate)
        if chain is None or facts.vault is None or not facts.vault.exists:
            return facts
        call = make(chain, mandate)
        if call is None:
            return facts
        return replace(facts, simulation=await simulation_if_readable(chain, call))

    return gather


def call_body(chain: Chain, call: Call, simulation: Simulation | None) -> dict[str, Any]:
    """The call, its calldata decoded, and what the chain said of it."""
    decoded = ExplainedCall.of(chain.explain_call(call.data))
    return {"call": call, "decoded": decoded, "simulation": simulated(simulation)}
