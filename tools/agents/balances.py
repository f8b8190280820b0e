"""An agent's balances and its wallet on file."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from domain.agents.transfers import STATES
from domain.money import ZERO, Usdc
from domain.refusals import Refused, refusal
from storage.unit_of_work import UnitOfWork
from tools.agents.registry import OneAgent, own_agent, wallet_of
from tools.call.access import not_found
from tools.call.fields import Address
from tools.call.operation import Ask, Gives, Operation, Reply
from tools.keeper.rollup import refresh_row


class Balances(Gives):
    """What an agent has of one asset on one chain; units of the asset with 6 decimals."""

    chain_id: int
    asset: str
    idle: Usdc
    reserved: Usdc
    in_transit: Usdc
    delivered: Usdc


class BalancesOut(Gives):
    """Four states per chain and asset."""

    agent_id: str
    balances: list[Balances]


class DepositIn(OneAgent):
    """Set an address, or read the one on file."""

    chain_id: int = Field(ge=1, le=2**53)
    address: Address | None = None


class DepositOut(Gives):
    """The agent's wallet on file; the service holds no custody."""

    agent_id: str
    chain_id: int
    address: str


def balances(uow: UnitOfWork, ask: Ask[OneAgent, None]) -> Reply:
    """Four states per chain and asset; what was never moved is 0."""
    agent = own_agent(uow, ask.caller, ask.asked.agent_id)
    rows: dict[tuple[int, str], dict[str, Usdc]] = {}
    for chain_id, asset, state, amount in uow.transfers.balances(agent.agent_id):
        rows.setdefault((chain_id, asset), dict.fromkeys(STATES, ZERO))[state] = Usdc(amount)
    told = [{"chain_id": c, "asset": a, **states} for (c, a), states in sorted(rows.items())]
    return Reply(200, {"agent_id": agent.agent_id, "balances": told})


def deposit_address(uow: UnitOfWork, ask: Ask[DepositIn, None]) -> Reply:
    """Read or set the agent's wallet on file for a chain."""
    agent = own_agent(uow, ask.caller, ask.asked.agent_id)
    chain_id, given = ask.asked.chain_id, ask.asked.address
    on_file = (
        uow.transfers.deposit_address(agent.agent_id, chain_id)
        or (agent.address or "").lower()
        or None
    )
    if given is None:
        if on_file is None:
            raise not_found("deposit address")
        return Reply(200, {"agent_id": agent.agent_id, "chain_id": chain_id, "address": on_file})
    address = wallet_of(ask, given).lower()
    if (
        on_file is not None
        and on_file != address
        and uow.mandates.live_vault_naming(agent.agent_id, chain_id)
    ):
        raise Refused(
            refusal("conflict", why="A live vault names the address on file; stop it first.")
        )
    uow.transfers.set_deposit_address(agent.agent_id, chain_id, address, ask.now)
    refresh_row(uow, agent.agent_id, ask)
    return Reply(200, {"agent_id": agent.agent_id, "chain_id": chain_id, "address": address})


OPERATIONS: Final = (
    Operation(
        name="agent_balances",
        title="Read balances",
        summary="Idle, reserved, in transit and delivered per chain and asset.",
        auth="owner_or_agent",
        route=("GET", "/wallet/agents/{agent_id}/balances"),
        takes=OneAgent,
        gives=BalancesOut,
        handler=balances,
        on_mcp=True,
        family="agents",
        refusals=("not_found",),
    ),
    Operation(
        name="agent_deposit_address",
        title="Read or set the deposit address",
        summary="Your wallet on file for a chain; without address it is read.",
        auth="owner_or_agent",
        route=("POST", "/wallet/agents/{agent_id}/deposit-address"),
        takes=DepositIn,
        gives=DepositOut,
        handler=deposit_address,
        writes=True,
        idempotent=True,
        on_mcp=True,
        guards_secrets=True,
        family="agents",
        refusals=("not_found", "conflict", "invalid_address"),
    ),
)
