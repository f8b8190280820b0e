"""The ordered way out of a mandate: stop, close, settle, withdraw."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field

from domain.facts import Call
from domain.money import Usdc
from domain.reads.progress import leaving
from domain.rules.worth import valuation
from storage.unit_of_work import UnitOfWork
from tools.call.access import seen_mandate
from tools.call.case import Facts, load_case, named_chain
from tools.call.fields import OneMandate
from tools.call.operation import Ask, Gives, Operation, Reply
from tools.call.shapes import ExplainedCall, Simulated
from tools.mandates.tried import by_owner, owners, told, trying, vault_of


class PlanStep(Gives):
    """One step out; a position is unwound by a call that its market's exit names."""

    n: int
    step: Literal["stop", "unwind", "settle", "withdraw"]
    text: str
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
                "call": by_owner(chain, m, vault, "stop"),
            }
        )
    at = valuation(case)
    for key, held in at.positions.items():
        place, value = held.position.place, held.value
        if value > 0:
            cost = Usdc(value).share_up(ask.config.spread_bps)
            steps.append(
                {
                    "step": "unwind",
                    "text": "Close this position: ask unwind-call with the market's exit calldata.",
                    "position": key,
                    "market": place.market,
                    "target": place.address,
                    "value_est": Usdc(value),
                    "exit_cost_est": cost,
                    "call": None,
                    "route": f"GET /wallet/mandates/{m.public_id}/unwind-call",
                }
            )
    if state is None or not state.settled:
        steps.append(
            {
                "step": "settle",
                "text": "Fix the result, once; anyone may send it.",
                "call": by_owner(chain, m, vault, "settle"),
            }
        )
    steps.append(
        {
            "step": "withdraw",
            "text": "Take everything out.",
            "call": by_owner(chain, m, vault, "withdrawAll"),
        }
    )
    for step in steps:
        call = step["call"]
        if call is not None:
            tried = ask.facts.simulation if step["step"] == "stop" else None
            step |= told(chain, call, tried)
    out = leaving(case, at)
    body = {
        "steps": [{"n": n, **s} for n, s in enumerate(steps, start=1)],
        "exit_cost_est": out.exit_cost,
        "leave_now_est": out.after_fee,
        "est": True,
    }
    return Reply(200, body)


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
