"""An agent's policy, which only its owner writes."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from domain.agents.policy import (
    FIELD_BYTES,
    JSON_FIELDS,
    LOG_BYTES,
    Policy,
    PolicyFields,
    changes,
    log_entries,
    logged_changes,
    size,
)
from domain.money import ZERO, Usdc
from domain.refusals import Refused, invalid, refusal
from domain.times import Timestamp
from storage.unit_of_work import UnitOfWork
from tools.agents.registry import AgentIn, OwnAgent, own_agent
from tools.keeper.hall_rollup import refresh_row
from tools.model.operation import Operation, RequestContext, ResponseModel
from tools.model.shared_models import PolicyChange

Bps = Annotated[int | None, Field(ge=0, le=10_000)]
OwnersJson = Annotated[object, Field(description="the owner's own words, as JSON")]


class PolicyIn(AgentIn):
    """The whole policy; what is left out is unset, and `accepts_mandates` false (spec 4.2). A JSON
    field holds at most 16 KiB.
    """

    assets: object = None
    venues: object = None
    networks: object = None
    stop_conditions: object = None
    per_tx_cap_usdc: Usdc | None = None
    total_cap_usdc: Usdc | None = None
    hold_ratio: object = None
    min_net_bps: int | None = Field(default=None, ge=-1_000_000, le=1_000_000)
    max_cost_bps: Bps = None
    slippage_bps: Bps = None
    credit_budget_daily: int | None = Field(default=None, ge=0, le=10**12)
    auto_vs_approval: dict[str, object] | None = None
    accepts_mandates: bool = False


class PolicyOut(ResponseModel):
    """The policy, whether it was ever saved, and the last 10 changes, newest first."""

    agent_id: str
    exists: bool
    assets: OwnersJson
    venues: OwnersJson
    networks: OwnersJson
    stop_conditions: OwnersJson
    per_tx_cap_usdc: Usdc | None
    total_cap_usdc: Usdc | None
    hold_ratio: OwnersJson
    min_net_bps: int | None
    max_cost_bps: int | None
    slippage_bps: int | None
    credit_budget_daily: int | None
    auto_vs_approval: OwnersJson
    accepts_mandates: bool
    updated_at: Timestamp | None
    policy: PolicyFields = Field(description="the same fields as one value, as a PUT takes them")
    changes: list[PolicyChange]
    changed: bool | None = None


def _policy_body(uow: UnitOfWork, agent_id: str, **more: object) -> PolicyOut:
    policy = uow.policies.get(agent_id)
    raw = (policy or Policy()).as_json()
    own = {
        "agent_id": agent_id,
        "exists": policy is not None,
        "updated_at": policy.updated_at if policy else None,
        "policy": raw,
        "changes": log_entries(uow.policies.changes(agent_id), LOG_BYTES),
    }
    return PolicyOut.model_validate({**raw, **own, **more})


def read_policy(uow: UnitOfWork, ctx: RequestContext[OwnAgent, None]) -> PolicyOut:
    """The policy and its last changes."""
    agent = own_agent(uow, ctx.caller, ctx.request.agent_id)
    return _policy_body(uow, agent.agent_id)


def write_policy(uow: UnitOfWork, ctx: RequestContext[PolicyIn, None]) -> PolicyOut:
    """Replace the whole policy; an unchanged save writes nothing."""
    agent = own_agent(uow, ctx.caller, ctx.request.agent_id, lock=True)
    request = ctx.request
    for name in JSON_FIELDS:
        if size(getattr(request, name)) > FIELD_BYTES:
            raise invalid(name, f"at most {FIELD_BYTES} bytes of JSON")
    for name in ("per_tx_cap_usdc", "total_cap_usdc"):
        value = getattr(request, name)
        if value is not None and value < ZERO:
            raise Refused(refusal("invalid_number", value=str(value), why="it is negative"))
    policy = Policy(**{f: getattr(request, f) for f in PolicyIn.model_fields if f != "agent_id"})
    before = uow.policies.get(agent.agent_id)
    raw = changes(before, policy)
    if raw or before is None:
        uow.policies.put(agent.agent_id, policy, ctx.now)
    if raw:
        uow.policies.log(agent.agent_id, logged_changes(raw), ctx.now)
    refresh_row(uow, agent.agent_id, ctx)
    return _policy_body(uow, agent.agent_id, changed=bool(raw))


OPERATIONS: Final = (
    Operation(
        name="agent_policy",
        title="Read the policy",
        summary="The limits the owner set for the agent, and the last 10 changes.",
        auth="owner_or_agent",
        route=("GET", "/wallet/agents/{agent_id}/policy"),
        request_model=OwnAgent,
        response_model=PolicyOut,
        handler=read_policy,
        on_mcp=True,
        family="agents",
        refusals=("not_found",),
    ),
    Operation(
        name="owner_agent_policy_put",
        title="Write the policy",
        summary="Replace the whole policy; only its owner can.",
        auth="owner",
        route=("PUT", "/wallet/agents/{agent_id}/policy"),
        request_model=PolicyIn,
        response_model=PolicyOut,
        handler=write_policy,
        writes=True,
        idempotent=True,
        family="agents",
        refusals=("not_found", "invalid_number"),
    ),
)
