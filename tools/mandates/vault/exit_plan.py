"""The way out of everything, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field

from domain.chain_facts import Call, PurseState, Simulation
from domain.mandates.market_exits import MarketPosition
from domain.mandates.markets import Market, from_config
from domain.money import Usdc
from domain.ports import Chain
from domain.reads.progress import leaving
from domain.refusals import Refused
from domain.rules.snapshot import MandateSnapshot
from domain.rules.unwind_window import closed
from domain.rules.valuation import Valuation, valuation
from domain.wire_fields import copy_fields
from storage.unit_of_work import UnitOfWork
from tools.context.access import load_mandate, visible_mandate
from tools.context.market_calls import markets_of
from tools.context.snapshot_loader import (
    GatheredFacts,
    chain_or_none,
    load_snapshot,
    require_chain,
)
from tools.mandates.vault.purse_calls import drain_call, is_settled, sweep_call, worth_a_step
from tools.mandates.vault.simulated_calls import (
    call_parts,
    gather_simulated,
    owner_call,
    owner_call_factory,
    purse_if_readable,
    require_vault,
)
from tools.model.fields import OneMandate
from tools.model.operation import HEAVY, Caller, Deps, Operation, RequestContext, ResponseModel
from tools.model.shared_models import ExplainedCall, Simulated

StepName = Literal["stop", "unwind", "drain", "settle", "withdraw", "sweep"]


class PlanStep(ResponseModel):
    """One step out; a position is unwound by a call that its market's exit names. `drain` and
    `sweep` bring back what lies in the purse, whose amount is `value_est`.
    """

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
    name: str | None = Field(default=None, description="the service's own name for the market")
    by_name: bool | None = Field(
        default=None,
        description="of a position: whether unwind-call takes {market, share_bps}; false: only "
        "calldata that you make yourself, or its agent, leaves it",
    )
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts(GatheredFacts):
    """The vault now, what its stop would do, and its positions in the listed markets, by their ids;
    without those that could not be read. `purse` where there is one that could be.
    """

    positions: Mapping[str, MarketPosition]
    purse: PurseState | None


async def gather_plan(deps: Deps, caller: Caller, request: OneMandate) -> PlanFacts:
    """Read the vault and each listed market of the terms: what no probe values is seen too."""
    facts = await gather_simulated(owner_call_factory("stop"))(deps, caller, request)
    mandate = await load_mandate(deps, caller, request.public_id)
    chain, positions = chain_or_none(deps, mandate), dict[str, MarketPosition]()
    for market in markets_of(mandate, from_config(deps.config.markets)):
        if chain is not None and facts.vault:
            where = market.address or "", market.share_token, facts.vault.address
            with suppress(Refused):
                positions[market.id] = await chain.market_position(*where)
    purse = None
    if chain is not None and facts.vault and mandate.has_purse:
        purse = await purse_if_readable(deps, chain, mandate)
    return copy_fields(PlanFacts, facts, positions=positions, purse=purse)


def close_all_plan(uow: UnitOfWork, ctx: RequestContext[OneMandate, PlanFacts]) -> PlanOut:
    """Ordered steps for stop-and-close-everything, with what the exit is estimated to cost."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    require_vault(mandate, "closing everything")
    snapshot = load_snapshot(uow, ctx, mandate, ctx.facts, events=0)
    chain, state, at = require_chain(ctx, mandate), snapshot.chain, valuation(snapshot)
    steps: list[PlanStep] = []
    if state is None or not state.exists or not closed(snapshot):
        stop = owner_call(chain, mandate, "stop")
        why = "Stop the vault and revoke the agent."
        steps.append(_sent(chain, "stop", why, stop, ctx.facts.simulation))
    steps += _exits(snapshot, at, ctx.facts.positions)
    purse = ctx.facts.purse if worth_a_step(ctx.facts.purse) else None
    if purse is not None and not is_settled(snapshot):
        back = drain_call(chain, mandate)
        why = "Take what is in the purse back into the vault: the result counts it then."
        steps.append(_of_purse(_sent(chain, "drain", why, back), purse))
    if state is None or not state.settled:
        settle = owner_call(chain, mandate, "settle")
        steps.append(_sent(chain, "settle", "Fix the result, once; the keeper may too.", settle))
    withdraw = owner_call(chain, mandate, "withdrawAll")
    steps.append(_sent(chain, "withdraw", "Take everything out.", withdraw))
    if purse is not None and is_settled(snapshot):
        why = "Have what is in the purse sent to you."
        steps.append(_of_purse(_sent(chain, "sweep", why, sweep_call(chain, mandate)), purse))
    out = leaving(snapshot, at)
    return PlanOut(
        steps=[s.model_copy(update={"n": n}) for n, s in enumerate(steps, start=1)],
        exit_cost_est=out.exit_cost,
        leave_now_est=out.after_fee,
        est=True,
    )


def _exits(
    snapshot: MandateSnapshot, at: Valuation, positions: Mapping[str, MarketPosition]
) -> Iterator[PlanStep]:
    """The positions by their values, and those that no probe values but the market knows."""
    markets = {m.id: m for m in from_config(snapshot.config.markets)}
    for key, valued in at.positions.items():
        target = valued.position.target
        if valued.value > 0:
            market = markets.get(target.market or "")
            yield _exit(snapshot, key, target.address, market, Usdc(valued.value))
    for key, position in positions.items():
        valued_here = at.positions.get(key)
        if position.shares > 0 and (valued_here is None or valued_here.value <= 0):
            value = position.usdc
            yield _exit(snapshot, key, markets[key].address, markets[key], value)


def _sent(
    chain: Chain, step: StepName, text: str, call: Call | None, tried: Simulation | None = None
) -> PlanStep:
    """A step that is a transaction of the owner's."""
    return PlanStep(n=0, step=step, text=text, **call_parts(chain, call, tried))


def _of_purse(step: PlanStep, purse: PurseState) -> PlanStep:
    return step.model_copy(update={"value_est": purse.balance})


def _exit(
    snapshot: MandateSnapshot,
    key: str,
    address: str | None,
    market: Market | None,
    value: Usdc | None,
) -> PlanStep:
    """A step that closes one position; `market` is the listed one that it stands in."""
    by_name = market is not None and bool(market.exits())
    how = "with its market and share_bps" if by_name else "with the market's exit calldata"
    return PlanStep(
        n=0,
        step="unwind",
        text=f"Close this position: ask unwind-call {how}.",
        position=key,
        market=None if market is None else market.id,
        name=None if market is None else market.name,
        by_name=by_name,
        target=address,
        value_est=value,
        exit_cost_est=None if value is None else value.share_up(snapshot.config.spread_bps),
        call=None,
        route=f"POST /wallet/mandates/{snapshot.mandate.public_id}/unwind-call",
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
        gather=gather_plan,
        weight=HEAVY,
        refusals=("not_found", "wrong_status", "not_configured"),
    ),
)
