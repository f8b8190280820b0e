"""Calls for people to sign: each decoded, and tried out before it is handed over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeAlias

from domain.facts import Call, Simulation, VaultFunction
from domain.mandates.mandate import Mandate
from domain.ports import Chain
from domain.refusals import Refused, refusal
from tools.call.access import peek
from tools.call.case import Facts, chain_if_named, gather_mandate, simulation_if_readable
from tools.call.operation import Caller, Deps
from tools.call.shapes import ExplainedCall, simulated

Makes: TypeAlias = Callable[[Chain, Mandate], Call | None]
"""Makes the call of an operation out of what is known without asking; None where there is none."""


def vault_of(m: Mandate, action: str) -> str:
    """The vault's address.

    Errors: `wrong_status` while there is none.
    """
    if m.vault_address is None:
        raise Refused(refusal("wrong_status", status=m.status.value, action=action))
    return m.vault_address


def owners(function: VaultFunction) -> Makes:
    """A call of the vault that takes no argument, for the owner to send."""

    def make(chain: Chain, m: Mandate) -> Call | None:
        vault = m.vault_address
        return None if vault is None else by_owner(chain, m, vault, function)

    return make


def by_owner(chain: Chain, m: Mandate, vault: str, function: VaultFunction, *args: Any) -> Call:
    """A call of the vault for the owner to send."""
    return replace(chain.vault_call(vault, function, *args), sender=m.owner_address)


def trying(make: Makes) -> Callable[[Deps, Caller, Any], Awaitable[Facts]]:
    """What is gathered for a call: the vault, and what the call would do at the newest block."""

    async def gather(deps: Deps, caller: Caller, asked: Any) -> Facts:
        facts = (await gather_mandate(deps, caller, asked)).now
        m = await peek(deps, caller, asked.public_id)
        chain = chain_if_named(deps, m)
        if chain is None or facts.vault is None or not facts.vault.exists:
            return facts
        call = make(chain, m)
        if call is None:
            return facts
        return replace(facts, simulation=await simulation_if_readable(chain, call))

    return gather


def told(chain: Chain, call: Call, simulation: Simulation | None) -> dict[str, Any]:
    """The call, its calldata decoded, and what the chain said of it."""
    decoded = ExplainedCall.of(chain.explain_call(call.data))
    return {"call": call, "decoded": decoded, "simulation": simulated(simulation)}
