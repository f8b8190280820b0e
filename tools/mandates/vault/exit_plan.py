"""Exit plan: the ordered steps out of a mandate: stop, close, settle, withdraw."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from domain.chain_facts import Call, Simulation
from domain.money import Usdc
from domain.ports import Chain
from domain.reads.progress import leaving
from domain.rules.snapshot import MandateSnapshot
from domain.rules.valuation import ValuedPosition, valuation
from storage.unit_of_work import UnitOfWork
from tools.context.access import visible_mandate
from tools.context.snapshot_loader import GatheredFacts, load_snapshot, require_chain
from tools.mandates.vault.simulated_calls import (
    call_parts,
    gather_simulated,
    owner_call,
    owner_call_factory,
    require_vault,
)
from tools.model.fields import OneMandate
from tools.model.operation import Operation, RequestContext, ResponseModel
from tools.model.shared_models import ExplainedCall, Simulated

StepName = Literal["stop", "unwind", "settle", "withdraw"]


class PlanStep(ResponseModel):
    """One step out; a position is unwound by a call that its market's exit names."""

    n: int
    step: StepName
    text: str = Field(description="the service's own words")
    call: Call | None
    decoded: ExplainedCall | None = None
    simulation: Simulated | None = Field(
        default=None, description="of the stop alone: the other calls come after what it changes"
    )
    position: str | None = None
    market: str | None = None
    target: str | None = None
    value_est: Usdc | None = None
    exit_cost_est: Usdc | None = None
    route: str | None = None


class PlanOut(ResponseModel):
    """Ordered steps out of everything."""

    steps: list[PlanStep]
    exit_cost_est: Usdc | None
    leave_now_est: Usdc | None
    est: Literal[True]


def close_all_plan(uow: UnitOfWork, ctx: RequestContext[OneMandate, GatheredFacts]) -> PlanOut:
    """Ordered steps for stop-and-close-everything, with what the exit is estimated to cost."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    require_vault(mandate, "closing everything")
    snapshot = load_snapshot(uow, ctx, mandate, ctx.facts, events=0)
    chain, state, at = require_chain(ctx, mandate), snapshot.chain, valuation(snapshot)
    steps: list[PlanStep] = []
    if state is None or not state.stopped:
        stop = owner_call(chain, mandate, "stop")
        why = "Stop the vault and revoke the agent."
        steps.append(_sent(chain, "stop", why, stop, ctx.facts.simulation))
    steps += [
        _exit(snapshot, key, position)
        for key, position in at.positions.items()
        if position.value > 0
    ]
    if state is None or not state.settled:
        settle = owner_call(chain, mandate, "settle")
        steps.append(_sent(chain, "settle", "Fix the result, once; the keeper may too.", settle))
    withdraw = owner_call(chain, mandate, "withdrawAll")
    steps.append(_sent(chain, "withdraw", "Take everything out.", withdraw))
    out = leaving(snapshot, at)
    return PlanOut(
        steps=[s.model_copy(update={"n": n}) for n, s in enumerate(steps, start=1)],
        exit_cost_est=out.exit_cost,
        leave_now_est=out.after_fee,
        est=True,
    )


def _sent(
    chain: Chain, step: StepName, text: str, call: Call | None, tried: Simulation | None = None
) -> PlanStep:
    """A step that is a transaction of the owner's."""
    return PlanStep(n=0, step=step, text=text, **call_parts(chain, call, tried))


def _exit(snapshot: MandateSnapshot, key: str, valued: ValuedPosition) -> PlanStep:
    """A step that closes one position."""
    target, value = valued.position.target, Usdc(valued.value)
    return PlanStep(
        n=0,
        step="unwind",
        text="Close this position: ask unwind-call with the market's exit calldata.",
        position=key,
        market=target.market,
        target=target.address,
        value_est=value,
        exit_cost_est=value.share_up(snapshot.config.spread_bps),
        call=None,
        route=f"GET /wallet/mandates/{snapshot.mandate.public_id}/unwind-call",
    )


OPERATIONS: Final = (
    Operation(
        name="owner_close_all_plan",
        title="Plan the way out",
        summary="Ordered steps for stop-and-close-everything with exit cost estimates.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/close-all-plan"),
        request_model=OneMandate,
        response_model=PlanOut,
        handler=close_all_plan,
        gather=gather_simulated(owner_call_factory("stop")),
        refusals=("not_found", "wrong_status", "not_configured"),
    ),
)
