"""Agents: registration, keys, policy, balances, deposit address, offers."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from domain.agents.policy import Policy, changes
from domain.agents.transfers import STATES, units
from domain.money import ZERO, Usdc
from domain.refusals import Refused, refusal
from domain.rules.exposure import exposure
from domain.times import timestamp
from storage.identities import Agent, agent_after
from storage.mandates import after as mandate_after
from storage.unit_of_work import UnitOfWork
from tools.access import Address, Cursor, Limit, load_book, not_found
from tools.approvals import Page
from tools.hall import refresh_row
from tools.operation import Ask, Caller, Gives, Operation, Reply, Takes
from tools.signin import hashed

AgentId = Annotated[str, Field(max_length=64, description="the agent's id (agents_me shows yours)")]
Bps = Annotated[int | None, Field(ge=0, le=10_000)]


class Nothing(Takes):
    """No input."""


class OneAgent(Takes):
    """An operation on one agent."""

    agent_id: AgentId


class Register(Takes):
    """A new agent."""

    name: str = Field(min_length=1, max_length=80)
    address: Address | None = None


class Registered(Gives):
    """The agent; its key is shown once."""

    agent_id: str
    name: str
    key: str
    key_id: str
    address: str | None


class ListIn(Takes):
    """A page of agents."""

    limit: Limit = 50
    cursor: Cursor = None


class NewKey(Gives):
    """A key; it is shown once."""

    key_id: str
    key: str
    created_at: str


class OneKey(OneAgent):
    """One key of an agent."""

    key_id: str = Field(max_length=64)


class Revoked(Gives):
    """The key no longer works."""

    key_id: str
    revoked_at: str


class Me(Gives):
    """Who calls."""

    agent_id: str | None
    name: str | None
    owner: dict[str, Any] | None
    address: str | None
    agents: list[dict[str, Any]] | None
    policy: dict[str, Any] | None
    mandates: list[dict[str, Any]]


class PolicyIn(OneAgent):
    """The whole policy; what is left out is unset, and `accepts_mandates` false (spec 4.2)."""

    assets: Any = None
    venues: Any = None
    networks: Any = None
    stop_conditions: Any = None
    per_tx_cap_usdc: Usdc | None = None
    total_cap_usdc: Usdc | None = None
    hold_ratio: Any = None
    min_net_bps: int | None = Field(default=None, ge=-1_000_000, le=1_000_000)
    max_cost_bps: Bps = None
    slippage_bps: Bps = None
    credit_budget_daily: int | None = Field(default=None, ge=0, le=10**12)
    auto_vs_approval: dict[str, Any] | None = None
    accepts_mandates: bool = False


class PolicyOut(Gives):
    """The policy, whether it was ever saved, and the last 10 changes, newest first."""

    agent_id: str
    exists: bool
    assets: Any = None
    venues: Any = None
    networks: Any = None
    stop_conditions: Any = None
    per_tx_cap_usdc: str | None = None
    total_cap_usdc: str | None = None
    hold_ratio: Any = None
    min_net_bps: int | None = None
    max_cost_bps: int | None = None
    slippage_bps: int | None = None
    credit_budget_daily: int | None = None
    auto_vs_approval: dict[str, Any] | None = None
    accepts_mandates: bool
    updated_at: str | None
    policy: dict[str, Any] = Field(description="the same fields as one value, as a PUT takes them")
    changes: list[dict[str, Any]]
    changed: bool | None = None


class BalancesOut(Gives):
    """Four states per chain and asset."""

    agent_id: str
    balances: list[dict[str, Any]]


class DepositIn(OneAgent):
    """Set an address, or read the one on file."""

    chain_id: int = Field(ge=1, le=2**53)
    address: Address | None = None


class DepositOut(Gives):
    """The agent's wallet on file; the service holds no custody."""

    agent_id: str
    chain_id: int
    address: str


class OffersIn(OneAgent):
    """A page of offers."""

    limit: Limit = 50
    cursor: Cursor = None


def own_agent(uow: UnitOfWork, caller: Caller, agent_id: str, *, lock: bool = False) -> Agent:
    """The agent, if the caller is it or owns it.

    Errors: `not_found`.
    """
    agent = uow.identities.agent(agent_id, lock=lock)
    mine = agent is not None and (
        (caller.role == "agent" and caller.user_id == agent.agent_id)
        or (caller.role == "owner" and caller.user_id == agent.owner_id)
    )
    if agent is None or not mine:
        raise not_found("agent")
    return agent


def wallet_of(ask: Ask[Any, Any], text: str) -> str:
    """An address that can sign: not the zero address, and none of the contracts that the service works with.

    Errors: `invalid_address`.
    """
    address = ask.chains.address(text)
    chains = [ask.chains.get(i) for i in ask.chains.ids()]
    taken = {a.lower() for c in chains for a in (c.usdc, c.factory) if a}
    if int(address, 16) == 0 or address.lower() in taken:
        raise Refused(refusal("invalid_address", value=address, why="nobody can sign with it"))
    return address


def register(uow: UnitOfWork, ask: Ask[Register, None]) -> Reply:
    """Register an agent and mint its first key."""
    name = ask.asked.name.strip()
    if not name:
        raise Refused(refusal("invalid_request", detail={"fields": [{"loc": "name", "msg": "not empty"}]}))
    address = wallet_of(ask, ask.asked.address) if ask.asked.address is not None else None
    agent = Agent(ask.ids.short("u_"), ask.caller.user_id or "", name, address, ask.now)
    uow.identities.add_agent(agent)
    key_id, key = ask.ids.short("k_"), ask.ids.token("ak_")
    uow.identities.add_key(key_id, agent.agent_id, hashed(key), ask.now)
    refresh_row(uow, agent.agent_id, ask)
    told = {"agent_id": agent.agent_id, "name": name, "key": key, "key_id": key_id, "address": address}
    return Reply(201, told)


def _row(uow: UnitOfWork, agent: Agent) -> dict[str, Any]:
    policy = uow.policies.get(agent.agent_id)
    return {
        "agent_id": agent.agent_id,
        "name": agent.name,
        "address": agent.address,
        "created_at": timestamp(agent.created_at),
        "accepts_mandates": bool(policy and policy.accepts_mandates),
        "keys": [
            {
                "key_id": k.key_id,
                "created_at": timestamp(k.created_at),
                "revoked_at": timestamp(k.revoked_at) if k.revoked_at else None,
            }
            for k in uow.identities.keys_of(agent.agent_id)
        ],
    }


def list_agents(uow: UnitOfWork, ask: Ask[ListIn, None]) -> Reply:
    """Your agents, newest first, with their keys but not their secrets."""
    most = ask.asked.limit
    found = uow.identities.agents_of(ask.caller.user_id or "", after=ask.asked.cursor, limit=most + 1)
    rows = [_row(uow, a) for a in found[:most]]
    return Reply(200, {"items": rows, "next_cursor": agent_after(found[most - 1]) if len(found) > most else None})


def add_key(uow: UnitOfWork, ask: Ask[OneAgent, None]) -> Reply:
    """Mint another key; two live ones at most, so that one can be rotated without a gap."""
    agent = own_agent(uow, ask.caller, ask.asked.agent_id)
    key_id, key = ask.ids.short("k_"), ask.ids.token("ak_")
    uow.identities.add_key(key_id, agent.agent_id, hashed(key), ask.now)
    return Reply(201, {"key_id": key_id, "key": key, "created_at": timestamp(ask.now)})


def revoke_key(uow: UnitOfWork, ask: Ask[OneKey, None]) -> Reply:
    """Revoke a key at once."""
    agent = own_agent(uow, ask.caller, ask.asked.agent_id)
    if not uow.identities.revoke_key(agent.agent_id, ask.asked.key_id, ask.now):
        raise not_found("live key")
    return Reply(200, {"key_id": ask.asked.key_id, "revoked_at": timestamp(ask.now)})


def me(uow: UnitOfWork, ask: Ask[Nothing, None]) -> Reply:
    """The caller's identity, policy state and mandates."""
    caller = ask.caller
    if caller.role == "owner":
        agents = uow.identities.agents_of(caller.user_id or "", after=None, limit=50)
        mandates = uow.mandates.of_owner(caller.user_id or "", after=None, limit=50)
        told: dict[str, Any] = {
            "agent_id": None, "name": None, "owner": {"address": caller.address}, "address": caller.address,
            "agents": [_row(uow, a) for a in agents], "policy": None,
        }  # fmt: skip
    else:
        owner = uow.identities.user(caller.owner_id or "")
        policy = uow.policies.get(caller.user_id or "")
        mandates = uow.mandates.of_agent(caller.user_id or "", after=None, limit=50)
        told = {
            "agent_id": caller.user_id, "name": caller.name, "owner": {"address": owner.address} if owner else None,
            "address": caller.address, "agents": None,
            "policy": {"exists": policy is not None, "accepts_mandates": bool(policy and policy.accepts_mandates)},
        }  # fmt: skip
    short = [
        {
            "public_id": m.public_id,
            "status": m.status.value,
            "budget_usdc": str(m.budget_usdc),
            "accepted": m.accepted_at is not None,
        }
        for m in mandates
    ]
    return Reply(200, told | {"mandates": short})


def _policy_body(uow: UnitOfWork, agent_id: str, **more: Any) -> dict[str, Any]:
    policy = uow.policies.get(agent_id)
    log = [{"changed_at": timestamp(at), "changes": dict(c)} for at, c in uow.policies.changes(agent_id)]
    updated = policy.updated_at if policy else None
    told = (policy or Policy()).as_json()
    return {
        "agent_id": agent_id,
        "exists": policy is not None,
        **told,
        "updated_at": timestamp(updated) if updated else None,
        "policy": told,
        "changes": log,
        **more,
    }


def read_policy(uow: UnitOfWork, ask: Ask[OneAgent, None]) -> Reply:
    """The policy and its last changes."""
    agent = own_agent(uow, ask.caller, ask.asked.agent_id)
    return Reply(200, _policy_body(uow, agent.agent_id))


def write_policy(uow: UnitOfWork, ask: Ask[PolicyIn, None]) -> Reply:
    """Replace the whole policy; an unchanged save writes nothing."""
    agent = own_agent(uow, ask.caller, ask.asked.agent_id, lock=True)
    asked = ask.asked
    for name in ("per_tx_cap_usdc", "total_cap_usdc"):
        value = getattr(asked, name)
        if value is not None and value < ZERO:
            raise Refused(refusal("invalid_number", value=str(value), why="it is negative"))
    policy = Policy(**{f: getattr(asked, f) for f in PolicyIn.model_fields if f != "agent_id"})
    before = uow.policies.get(agent.agent_id)
    told = changes(before, policy)
    if told or before is None:
        uow.policies.put(agent.agent_id, policy, ask.now)
    if told:
        uow.policies.log(agent.agent_id, told, ask.now)
    refresh_row(uow, agent.agent_id, ask)
    return Reply(200, _policy_body(uow, agent.agent_id, changed=bool(told)))


def balances(uow: UnitOfWork, ask: Ask[OneAgent, None]) -> Reply:
    """Four states per chain and asset; what was never moved is 0."""
    agent = own_agent(uow, ask.caller, ask.asked.agent_id)
    rows: dict[tuple[int, str], dict[str, str]] = {}
    for chain_id, asset, state, amount in uow.transfers.balances(agent.agent_id):
        rows.setdefault((chain_id, asset), dict.fromkeys(STATES, units(0)))[state] = units(amount)
    told = [{"chain_id": c, "asset": a, **states} for (c, a), states in sorted(rows.items())]
    return Reply(200, {"agent_id": agent.agent_id, "balances": told})


def deposit_address(uow: UnitOfWork, ask: Ask[DepositIn, None]) -> Reply:
    """Read or set the agent's wallet on file for a chain."""
    agent = own_agent(uow, ask.caller, ask.asked.agent_id)
    chain_id, given = ask.asked.chain_id, ask.asked.address
    on_file = uow.transfers.deposit_address(agent.agent_id, chain_id) or (agent.address or "").lower() or None
    if given is None:
        if on_file is None:
            raise not_found("deposit address")
        return Reply(200, {"agent_id": agent.agent_id, "chain_id": chain_id, "address": on_file})
    address = wallet_of(ask, given).lower()
    if on_file is not None and on_file != address and uow.mandates.live_vault_naming(agent.agent_id, chain_id):
        raise Refused(refusal("conflict", why="A live vault names the address on file; stop it first."))
    uow.transfers.set_deposit_address(agent.agent_id, chain_id, address, ask.now)
    refresh_row(uow, agent.agent_id, ask)
    return Reply(200, {"agent_id": agent.agent_id, "chain_id": chain_id, "address": address})


def offers(uow: UnitOfWork, ask: Ask[OffersIn, None]) -> Reply:
    """Mandates waiting for this agent to accept."""
    agent = own_agent(uow, ask.caller, ask.asked.agent_id)
    most = ask.asked.limit
    found = uow.mandates.offers(agent.agent_id, after=ask.asked.cursor, limit=most + 1)
    rows = [{"mandate": m.attributes(), "exposure": _worst(uow, ask, m)} for m in found[:most]]
    return Reply(200, {"items": rows, "next_cursor": mandate_after(found[most - 1]) if len(found) > most else None})


def _worst(uow: UnitOfWork, ask: Ask[Any, Any], m: Any) -> dict[str, Any]:
    return exposure(load_book(uow, ask, m, events=0))


_SEEN: Final = ("not_found",)
OPERATIONS: Final = (
    Operation(
        "owner_agent_register", "Register an agent", "Register an agent; its key is shown once.",
        "owner", ("POST", "/wallet/agents"), Register, Registered, register, writes=True, guards_secrets=True, family="agents",
        statuses={201: "The agent and its key"}, refusals=("invalid_address",),
    ),
    Operation(
        "owner_agents", "List your agents", "Your agents with their keys, newest first.",
        "owner", ("GET", "/wallet/agents"), ListIn, Page, list_agents, family="agents",
    ),
    Operation(
        "owner_agent_key_add", "Add a key", "Mint a key; two can live, so that one is rotated without a gap.",
        "owner", ("POST", "/wallet/agents/{agent_id}/keys"), OneAgent, NewKey, add_key, writes=True, guards_secrets=True,
        family="agents", statuses={201: "The key, shown once"}, refusals=("not_found", "conflict"),
    ),
    Operation(
        "owner_agent_key_revoke", "Revoke a key", "The key stops working at once.",
        "owner", ("DELETE", "/wallet/agents/{agent_id}/keys/{key_id}"), OneKey, Revoked, revoke_key, writes=True,
        destructive=True, family="agents", refusals=_SEEN,
    ),
    Operation(
        "agents_me", "Who am I", "Your agent identity, policy state and mandates.",
        "owner_or_agent", ("GET", "/wallet/agents/me"), Nothing, Me, me, on_mcp=True, family="agents",
    ),
    Operation(
        "agent_policy", "Read the policy", "The limits the owner set for the agent, and the last 10 changes.",
        "owner_or_agent", ("GET", "/wallet/agents/{agent_id}/policy"), OneAgent, PolicyOut, read_policy, on_mcp=True,
        family="agents", refusals=_SEEN,
    ),
    Operation(
        "owner_agent_policy_put", "Write the policy", "Replace the whole policy; only its owner can.",
        "owner", ("PUT", "/wallet/agents/{agent_id}/policy"), PolicyIn, PolicyOut, write_policy, writes=True, idempotent=True,
        guards_secrets=True, family="agents", refusals=("not_found", "invalid_number"),
    ),
    Operation(
        "agent_balances", "Read balances", "Idle, reserved, in transit and delivered per chain and asset.",
        "owner_or_agent", ("GET", "/wallet/agents/{agent_id}/balances"), OneAgent, BalancesOut, balances, on_mcp=True,
        family="agents", refusals=_SEEN,
    ),
    Operation(
        "agent_deposit_address", "Read or set the deposit address", "Your wallet on file for a chain; without address it is read.",
        "owner_or_agent", ("POST", "/wallet/agents/{agent_id}/deposit-address"), DepositIn, DepositOut, deposit_address,
        writes=True, idempotent=True, on_mcp=True, guards_secrets=True, family="agents",
        refusals=("not_found", "conflict", "invalid_address"),
    ),
    Operation(
        "agent_offers", "Read offers", "Mandates waiting for you to accept, and open-board ones.",
        "owner_or_agent", ("GET", "/wallet/agents/{agent_id}/offers"), OffersIn, Page, offers, on_mcp=True, family="agents",
        refusals=_SEEN,
    ),
)  # fmt: skip
