"""Calldata for the owner to sign that brings back what lies in a purse: into the closed vault
before its settlement, to the owner after it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

from pydantic import Field

from domain.chain_facts import Call, PurseState
from domain.mandates.mandate import Mandate, Status
from domain.money import ZERO, Usdc
from domain.ports import Chain
from domain.rules.snapshot import MandateSnapshot
from domain.rules.unwind_window import closed
from storage.unit_of_work import UnitOfWork
from tools.context.access import load_mandate, visible_mandate, wrong_status
from tools.context.snapshot_loader import (
    GatheredFacts,
    chain_or_none,
    gather_facts,
    load_snapshot,
    require_chain,
    simulation_if_readable,
)
from tools.mandates.vault.owner_calls import VaultCallOut
from tools.mandates.vault.simulated_calls import (
    Makes,
    call_parts,
    owner_call,
    purse_if_readable,
    require_vault,
)
from tools.model.fields import OneMandate
from tools.model.operation import HEAVY, Caller, Deps, Operation, RequestContext

PurseContext: TypeAlias = RequestContext[OneMandate, "PurseCallFacts"]


class PurseCallOut(VaultCallOut):
    """The call that empties the purse, and what lies in it."""

    in_purse: Usdc | None = Field(
        description="what lies in the purse at the newest block; null where it could not be read"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PurseCallFacts(GatheredFacts):
    """The purse too, where it could be read."""

    state: PurseState | None = None


def drain_call(chain: Chain, mandate: Mandate) -> Call | None:
    """The call by which the owner takes what lies in the purse back into a closed vault."""
    if mandate.purse is None:
        return None
    return owner_call(chain, mandate, "unwind", mandate.purse.hub, chain.purse_call("drain"))


def sweep_call(chain: Chain, mandate: Mandate) -> Call | None:
    """The call that sends the owner what lies in the purse of a settled vault."""
    if mandate.purse is None or mandate.vault_address is None:
        return None
    call = chain.sweep_call(mandate.purse.hub, mandate.vault_address)
    return replace(call, sender=mandate.owner_address)


def _gather(makes: Makes) -> Callable[[Deps, Caller, OneMandate], Awaitable[PurseCallFacts]]:
    """Read vault and purse, and simulate the call."""

    async def gather(deps: Deps, caller: Caller, request: OneMandate) -> PurseCallFacts:
        mandate = await load_mandate(deps, caller, request.public_id)
        facts, chain = (await gather_facts(deps, mandate)).now, chain_or_none(deps, mandate)
        if chain is None or facts.vault is None or not facts.vault.exists:
            return PurseCallFacts(vault=facts.vault)
        state, call = await purse_if_readable(deps, chain, mandate), makes(chain, mandate)
        tried = None if call is None else await simulation_if_readable(chain, call)
        return PurseCallFacts(vault=facts.vault, state=state, simulation=tried)

    return gather


def _snapshot(uow: UnitOfWork, ctx: PurseContext, action: str) -> MandateSnapshot:
    """The mandate with a purse. Errors: `wrong_status`."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    require_vault(mandate, action)
    if mandate.purse is None:
        raise wrong_status(mandate, f"{action} (its terms have none)")
    return load_snapshot(uow, ctx, mandate, ctx.facts, events=0)


def is_settled(snapshot: MandateSnapshot) -> bool:
    """True where the result is fixed: by the vault's state, or by the record."""
    vault = snapshot.chain
    return snapshot.mandate.status is Status.SETTLED or bool(vault and vault.settled)


def _answer(ctx: PurseContext, mandate: Mandate, makes: Makes, message: str) -> PurseCallOut:
    chain, state = require_chain(ctx, mandate), ctx.facts.state
    parts = call_parts(chain, makes(chain, mandate), ctx.facts.simulation)
    inside = None if state is None else state.balance
    return PurseCallOut(**parts, message=message, in_purse=inside)


def take_back(uow: UnitOfWork, ctx: PurseContext) -> PurseCallOut:
    """Calldata of `unwind(hub, drain())` on a closed vault that is not settled."""
    action = "taking back what is in its purse"
    snapshot = _snapshot(uow, ctx, action)
    if not closed(snapshot):
        why = f"{action} before its vault is closed (until then only its agent can)"
        raise wrong_status(snapshot.mandate, why)
    if is_settled(snapshot):
        raise wrong_status(snapshot.mandate, f"{action} into the vault (now sweep it to the owner)")
    message = "Takes what is in the purse back into the vault; what others sent there goes to you."
    return _answer(ctx, snapshot.mandate, drain_call, message)


def sweep(uow: UnitOfWork, ctx: PurseContext) -> PurseCallOut:
    """Calldata of the hub's `sweep(vault)` after the settlement."""
    action = "sweeping its purse"
    snapshot = _snapshot(uow, ctx, action)
    if not is_settled(snapshot):
        raise wrong_status(snapshot.mandate, f"{action} before its vault is settled")
    message = "Sends you all that is in the purse of the settled vault; anybody may send it."
    return _answer(ctx, snapshot.mandate, sweep_call, message)


def worth_a_step(state: PurseState | None) -> bool:
    """True where anything lies in a purse."""
    return state is not None and state.balance > ZERO


_call: Final = partial(
    Operation,
    auth="owner",
    request_model=OneMandate,
    response_model=PurseCallOut,
    weight=HEAVY,
    refusals=("not_found", "wrong_status", "not_configured"),
)
OPERATIONS: Final = (
    _call(
        name="owner_drain_call",
        title="Get the call that empties the purse into the vault",
        summary="Calldata of unwind(hub, drain()) on a closed vault before its settlement: what "
        "is in the purse counts in the result again.",
        route=("GET", "/wallet/mandates/{public_id}/drain-call"),
        handler=take_back,
        gather=_gather(drain_call),
    ),
    _call(
        name="owner_sweep_call",
        title="Get the call that empties the purse to you",
        summary="Calldata of the hub's sweep(vault) after the settlement: what is in the purse "
        "goes to the owner.",
        route=("GET", "/wallet/mandates/{public_id}/sweep-call"),
        handler=sweep,
        gather=_gather(sweep_call),
    ),
)
