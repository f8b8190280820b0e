"""The ordered way out of a mandate: stop, close, settle, withdraw."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from domain.facts import Call, Simulation
from domain.money import Usdc
from domain.ports import Chain
from domain.reads.progress import leaving
from domain.rules.case import Case
from domain.rules.worth import Holding, valuation
from storage.unit_of_work import UnitOfWork
from tools.call.access import seen_mandate
from tools.call.case import Facts, load_case, named_chain
from tools.call.fields import OneMandate
from tools.call.operation import Answer, Ask, Gives, Operation
from tools.call.shapes import ExplainedCall, Simulated
from tools.mandates.tried import by_owner, owners, told, trying, vault_of

StepName = Literal["stop", "unwind", "settle", "withdraw"]


class PlanStep(Gives):
    """One step out; a position is unwound by a call that its market's exit names."""

    n: int
    step: StepName
    text: str = Field(description="the service's own words")
    call: Call | None
    decoded: ExplainedCall | None = None
    simulation: Simulated | None = Field(
        default=None,
        description="of the stop alone: the other calls come after what it changes",
    )
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


def close_all_plan(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Answer:
    """Ordered steps for stop-and-close-everything, with what the exit is estimated to cost."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    vault = vault_of(m, "closing everything")
    case = load_case(uow, ask, m, ask.facts, events=0)
    chain, state, at = named_chain(ask, m), case.chain, valuation(case)
    steps: list[PlanStep] = []
    if state is None or not state.stopped:
        stop = by_owner(chain, m, vault, "stop")
        why = "Stop the vault and revoke the agent."
        steps.append(_sent(chain, "stop", why, stop, ask.facts.simulation))
    steps += [_exit(case, key, held) for key, held in at.positions.items() if held.value > 0]
    if state is None or not state.settled:
        settle = by_owner(chain, m, vault, "settle")
        steps.append(_sent(chain, "settle", "Fix the result, once; the keeper may too.", settle))
    withdraw = by_owner(chain, m, vault, "withdrawAll")
    steps.append(_sent(chain, "withdraw", "Take everything out.", withdraw))
    out = leaving(case, at)
    return Answer(
        PlanOut(
            steps=[s.model_copy(update={"n": n}) for n, s in enumerate(steps, start=1)],
            exit_cost_est=out.exit_cost,
            leave_now_est=out.after_fee,
            est=True,
        )
    )


def _sent(
    chain: Chain, step: StepName, text: str, call: Call, tried: Simulation | None = None
) -> PlanStep:
    """A step that is a transaction of the owner's."""
    return PlanStep(n=0, step=step, text=text, **told(chain, call, tried))


def _exit(case: Case, key: str, held: Holding) -> PlanStep:
    """A step that closes one position."""
    place, value = held.position.place, Usdc(held.value)
    return PlanStep(
        n=0,
        step="unwind",
        text="Close this position: ask unwind-call with the market's exit calldata.",
        position=key,
        market=place.market,
        target=place.address,
        value_est=value,
        exit_cost_est=value.share_up(case.config.spread_bps),
        call=None,
        route=f"GET /wallet/mandates/{case.mandate.public_id}/unwind-call",
    )


OPERATIONS: Final = (
    Operation(
        name="owner_close_all_plan",
        title="Plan the way out",
        summary="Ordered steps for stop-and-close-everything with exit cost estimates.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/close-all-plan"),
        takes=OneMandate,
        gives=PlanOut,
        handler=close_all_plan,
        gather=trying(owners("stop")),
        refusals=("not_found", "wrong_status", "not_configured"),
    ),
)
