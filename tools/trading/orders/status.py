"""Whether an agent's orders go through, and every reason why not."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final, Literal

from pydantic import Field

from domain.refusals import Refusal
from domain.rules.ordering import venues_of
from domain.trading.gate import Missing, gate
from domain.trading.own import usable
from domain.trading.venue import VENUE
from storage.unit_of_work import UnitOfWork
from tools.call.access import not_found
from tools.call.operation import Caller, Deps, Gives, Operation, Reply
from tools.call.wire import wire
from tools.trading.fields import NetworkName
from tools.trading.orders.market import Account, account
from tools.trading.orders.reads import READS, CapOut, caps_of
from tools.trading.orders.shapes import ModeName
from tools.trading.orders.standing import Standing, standing, throttle_key
from tools.trading.orders.takes import AgentQuery


class StatusCheck(Gives):
    """One thing that has to hold before a live order goes through."""

    name: Literal[
        "policy_set", "venue_in_policy", "mandate_working", "owner_wallet_linked", "live_switch",
        "mainnet", "allowlisted", "order_key", "builder_fee", "funded", "throttle",
    ]  # fmt: skip
    ok: bool | None = Field(description="null where the venue does not say, or it is not needed")
    who_fixes: Literal["agent", "owner", "operator", "venue", "nobody"]
    detail: str


class AgentStatusOut(Gives):
    """Whether orders of an agent go through live, and why not. Paper goes through either way."""

    agent_id: str | None
    may_trade: bool
    mode: ModeName
    network: NetworkName
    reasons: list[str] = Field(description="codes of the refusals that a live order would meet")
    checks: list[StatusCheck]
    caps: CapOut
    books: list[str] = Field(description="paper books")


async def status(deps: Deps, caller: Caller, asked: AgentQuery) -> Reply:
    """Whether live orders go through, and every reason why not."""
    agent_id = await _whose(deps, caller, asked.agent_id)
    stand = replace(await standing(deps, caller, "terminal"), agent_id=agent_id)
    held = Account()
    if stand.link is not None:
        held = await account(deps, stand, None, opens=False, lane="page")
    now = deps.clock.now()

    def read(uow: UnitOfWork) -> tuple[dict[str, object], list[str], list[dict[str, object]]]:
        caps = caps_of(uow, stand, now)
        books = list(deps.paper.books(uow, stand.owner_id)) if deps.paper else []
        return caps, books, _checks(uow, deps, stand, held, now)

    caps, books, checks = await deps.store.read(read)
    reasons = _reasons(stand, held, checks)
    body = {
        "agent_id": agent_id,
        "may_trade": not reasons,
        "mode": stand.mode,
        "network": stand.network,
        "reasons": reasons,
        "checks": checks,
        "caps": caps,
        "books": books,
    }
    return Reply(200, wire(body))


async def _whose(deps: Deps, caller: Caller, named: str | None) -> str | None:
    """The agent that is asked about. Errors: `not_found` for one that is not the caller's."""
    if caller.role == "agent":
        if named not in (None, caller.user_id):
            raise not_found("agent")
        return caller.user_id
    if named is None:
        return None
    agent = await deps.store.read(lambda uow: uow.identities.agent(named))
    if agent is None or agent.owner_id != caller.user_id:
        raise not_found("agent")
    return agent.agent_id


def _checks(
    uow: UnitOfWork, deps: Deps, stand: Standing, held: Account, now: datetime
) -> list[dict[str, object]]:
    policy = uow.policies.get(stand.agent_id) if stand.agent_id else None
    left = min(deps.throttle.left(throttle_key(stand), now))
    key = None if held.agents is None else usable(stand.key, held.agents, now)
    on = stand.switches
    builder = stand.trading.builder_address
    asked = stand.agent_id is not None
    rows: list[tuple[str, bool | None, str, str]] = [
        ("policy_set", policy is not None if asked else None, "owner", "a policy of the agent"),
        (
            "venue_in_policy",
            VENUE in venues_of(policy) if asked else None,
            "owner",
            f"the policy's venues name {VENUE}",
        ),
        ("mandate_working", None, "owner", "needed where an order cites a mandate"),
        ("owner_wallet_linked", stand.link is not None, "owner", "a linked wallet"),
        ("live_switch", on.live_terminal, "operator", "the terminal's live switch"),
        ("mainnet", on.venue_mainnet, "operator", "off: live orders go to the testnet"),
        ("allowlisted", stand.allowed, "operator", "the owner or the linked wallet is listed"),
        ("order_key", key, "owner", "a key that the venue names and that is in date"),
        ("builder_fee", None if builder is None else True, "owner", "never required"),
        ("funded", None, "owner", "looked at with each live order, where its product trades"),
        ("throttle", left > 0, "nobody", f"{left} calls left in this process"),
    ]
    return [dict(zip(("name", "ok", "who_fixes", "detail"), row, strict=True)) for row in rows]


def _reasons(stand: Standing, held: Account, checks: list[dict[str, object]]) -> list[str]:
    """Codes of what a live order would be refused with, in their order."""
    missing = Missing(step="link") if stand.link is None else held.missing
    attempt = stand.attempt(mode_seen="live", missing=missing, silent=held.silent)
    verdict = gate(attempt)
    found = [verdict.kind.code] if isinstance(verdict, Refusal) else []
    lacks = {c["name"] for c in checks if c["ok"] is False}
    if not stand.allowed and "wallet_not_allowlisted" not in found:
        found.append("wallet_not_allowlisted")
    if missing is not None and "wallet_not_ready" not in found:
        found.append("wallet_not_ready")
    if lacks & {"policy_set", "venue_in_policy"}:
        found.append("target_not_allowed")
    if "throttle" in lacks:
        found.insert(0, "wallet_rate_limited")
    return found


OPERATIONS: Final = (
    Operation(
        name="agent_status",
        title="Read whether orders go through",
        summary="Whether an agent's live orders go through, why not, its caps and paper books.",
        auth="owner_or_agent",
        route=("GET", "/wallet/agent/status"),
        takes=AgentQuery,
        gives=AgentStatusOut,
        passes=status,
        on_mcp=True,
        open_world=True,
        family="orders",
        refusals=READS,
    ),
)
