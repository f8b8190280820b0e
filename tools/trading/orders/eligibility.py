"""Eligibility: whether an agent's orders are accepted, with every reason against."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final, Literal

from pydantic import Field

from domain.refusals import Refusal
from domain.rules.order_rules import venues_of
from domain.rules.rule_table import TARGET
from domain.trading.order_gate import gate, not_ready
from domain.trading.venue_account import usable
from domain.trading.venue_values import VENUE
from storage.unit_of_work import UnitOfWork
from tools.context.access import not_found
from tools.model.operation import Caller, Deps, HandlerResult, Operation, ResponseModel
from tools.trading.fields import NetworkName
from tools.trading.orders.market_state import AccountState, account
from tools.trading.orders.queries import READS, CapOut, caps_of
from tools.trading.orders.request_models import AgentQuery
from tools.trading.orders.response_models import ModeName
from tools.trading.orders.trader_context import TraderContext, load_trader, throttle_key

CheckName = Literal[
    "policy_set", "venue_in_policy", "mandate_working", "owner_wallet_linked", "live_switch",
    "mainnet", "allowlisted", "order_key", "builder_fee", "funded", "throttle",
]  # fmt: skip


class StatusCheck(ResponseModel):
    """One thing that has to hold before a live order goes through."""

    name: CheckName
    ok: bool | None = Field(description="null where the venue does not say, or it is not needed")
    who_fixes: Literal["agent", "owner", "operator", "venue", "nobody"]
    detail: str


class AgentStatusOut(ResponseModel):
    """Whether orders of an agent go through live, and why not. Paper goes through either way."""

    agent_id: str | None
    may_trade: bool
    mode: ModeName
    network: NetworkName
    reasons: list[str] = Field(description="codes of the refusals that a live order would meet")
    checks: list[StatusCheck]
    caps: CapOut
    books: list[str] = Field(description="paper books")


async def status(deps: Deps, caller: Caller, request: AgentQuery) -> HandlerResult[AgentStatusOut]:
    """Whether live orders go through, and every reason why not."""
    agent_id = await _whose(deps, caller, request.agent_id)
    trader = replace(await load_trader(deps, caller, "terminal"), agent_id=agent_id)
    account_state = AccountState()
    if trader.link is not None:
        account_state = await account(deps, trader, None, opens=False, priority="page")
    now = deps.clock.now()

    def read(uow: UnitOfWork) -> AgentStatusOut:
        checks = _checks(uow, deps, trader, account_state, now)
        reasons = _reasons(trader, account_state, checks)
        return AgentStatusOut(
            agent_id=agent_id,
            may_trade=not reasons,
            mode=trader.mode,
            network=trader.network,
            reasons=reasons,
            checks=checks,
            caps=caps_of(uow, trader, now),
            books=list(deps.paper.books(uow, trader.owner_id)) if deps.paper else [],
        )

    return HandlerResult(await deps.store.read(read))


async def _whose(deps: Deps, caller: Caller, name: str | None) -> str | None:
    """The agent that is asked about. Errors: `not_found` for one that is not the caller's."""
    if caller.role == "agent":
        if name not in (None, caller.user_id):
            raise not_found("agent")
        return caller.user_id
    if name is None:
        return None
    agent = await deps.store.read(lambda uow: uow.identities.agent(name))
    if agent is None or agent.owner_id != caller.user_id:
        raise not_found("agent")
    return agent.agent_id


def _checks(
    uow: UnitOfWork, deps: Deps, trader: TraderContext, account_state: AccountState, now: datetime
) -> list[StatusCheck]:
    policy = uow.policies.get(trader.agent_id) if trader.agent_id else None
    left = min(deps.throttle.remaining(throttle_key(trader.link, trader.owner_id), now))
    key = None if account_state.agents is None else usable(trader.key, account_state.agents, now)
    on, named = trader.switches, trader.agent_id is not None
    fee = None if trader.trading.builder_address is None else True
    has_policy = policy is not None if named else None
    has_venue = VENUE in venues_of(policy) if named else None
    rows: dict[CheckName, tuple[bool | None, Literal["owner", "operator", "nobody"], str]] = {
        "policy_set": (has_policy, "owner", "a policy of the agent"),
        "venue_in_policy": (has_venue, "owner", f"the policy's venues name {VENUE}"),
        "mandate_working": (None, "owner", "needed where an order cites a mandate"),
        "owner_wallet_linked": (trader.link is not None, "owner", "a linked wallet"),
        "live_switch": (on.live_terminal, "operator", "the terminal's live switch"),
        "mainnet": (on.venue_mainnet, "operator", "off: live orders go to the testnet"),
        "allowlisted": (trader.allowed, "operator", "the owner or the linked wallet is listed"),
        "order_key": (key, "owner", "a key that the venue names and that is in date"),
        "builder_fee": (fee, "owner", "never required"),
        "funded": (None, "owner", "looked at with each live order, where its product trades"),
        "throttle": (left > 0, "nobody", f"{left} calls left in this process"),
    }
    return [
        StatusCheck(name=name, ok=ok, who_fixes=who, detail=detail)
        for name, (ok, who, detail) in rows.items()
    ]


def _reasons(
    trader: TraderContext, account_state: AccountState, checks: list[StatusCheck]
) -> list[str]:
    """Codes of what a live order would be refused with, in their order."""
    missing = not_ready("link") if trader.link is None else account_state.missing
    attempt = replace(
        trader.gate_input, mode_seen="live", missing=missing, outage_reason=account_state.silent
    )
    verdict = gate(attempt)
    codes = [verdict.kind.code] if isinstance(verdict, Refusal) else []
    lacks = {c.name for c in checks if c.ok is False}
    if not trader.allowed and "wallet_not_allowlisted" not in codes:
        codes.append("wallet_not_allowlisted")
    if missing is not None and "wallet_not_ready" not in codes:
        codes.append("wallet_not_ready")
    if lacks & {"policy_set", "venue_in_policy"}:
        codes.append(TARGET.refusal)
    if "throttle" in lacks:
        codes.insert(0, "wallet_rate_limited")
    return codes


OPERATIONS: Final = (
    Operation(
        name="agent_status",
        title="Read whether orders go through",
        summary="Whether an agent's live orders go through, why not, its caps and paper books.",
        auth="owner_or_agent",
        route=("GET", "/wallet/agent/status"),
        request_model=AgentQuery,
        response_model=AgentStatusOut,
        pass_through=status,
        on_mcp=True,
        open_world=True,
        family="orders",
        refusals=READS,
    ),
)
