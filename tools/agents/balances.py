"""An agent's balances and its wallet on file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import Field

from domain.agents.identity_proof import typed_data
from domain.agents.transfers import STATES
from domain.chain_facts import SignerCheck
from domain.money import ZERO, Usdc
from domain.refusals import Refused, refusal
from storage.repositories.deposit_addresses import DepositAddress
from storage.repositories.identities import Agent
from storage.unit_of_work import UnitOfWork
from tools.agents.registry import OwnAgent, own_agent
from tools.context.access import not_found, wallet_of
from tools.keeper.hall_rollup import refresh_row
from tools.model.fields import Address, ChainId
from tools.model.operation import (
    Caller,
    Deps,
    Operation,
    RequestContext,
    ResponseModel,
)


class Balances(ResponseModel):
    """An agent's balances of one asset on one chain; units of the asset with 6 decimals."""

    chain_id: int
    asset: str
    idle: Usdc
    reserved: Usdc
    in_transit: Usdc
    delivered: Usdc


class BalancesOut(ResponseModel):
    """Four states per chain and asset."""

    agent_id: str
    balances: list[Balances]


class DepositIn(OwnAgent):
    """Set an address, prove it, or read the one on file."""

    chain_id: ChainId
    address: Address | None = None
    signature: str | None = Field(
        default=None,
        pattern=r"^0x([0-9a-fA-F]{2})*$",
        max_length=8_192,
        description="the address's own signature over typed_data, which an answer without it "
        "carries: EOA, ERC-1271 or ERC-6492, 0x hex",
    )


class DepositOut(ResponseModel):
    """The agent's wallet on file; the service holds no custody."""

    agent_id: str
    chain_id: int
    address: str
    proven: bool = Field(
        description="true once the address has signed; only transfers that touch a proven address "
        "are ever confirmed"
    )
    typed_data: dict[str, object] | None = Field(
        description="EIP-712 typed data for the address to sign; null once it is proven, and on a "
        "chain that the service does not read"
    )
    nonce: str | None = Field(description="the nonce in typed_data; good for one proof")


@dataclass(frozen=True, slots=True)
class ProvenAddress:
    """The address (EIP-55) and nonce that a signature proved, and the kind of the signature."""

    address: str
    nonce: int
    proof: SignerCheck


def balances(uow: UnitOfWork, ctx: RequestContext[OwnAgent, None]) -> BalancesOut:
    """Four states per chain and asset; what was never moved is 0."""
    agent = own_agent(uow, ctx.caller, ctx.request.agent_id)
    rows: dict[tuple[int, str], dict[str, Usdc]] = {}
    for chain_id, asset, state, amount in uow.transfers.balances(agent.agent_id):
        rows.setdefault((chain_id, asset), dict.fromkeys(STATES, ZERO))[state] = Usdc(amount)
    entries = [Balances(chain_id=c, asset=a, **of) for (c, a), of in sorted(rows.items())]
    return BalancesOut(agent_id=agent.agent_id, balances=entries)


def _on_file(uow: UnitOfWork, agent: Agent, chain_id: int) -> DepositAddress | None:
    """The address for a chain: the one that was set, else the one the agent was registered with."""
    stored = uow.addresses.on_file(agent.agent_id, chain_id)
    if stored is None and agent.address is not None:
        return DepositAddress(agent.address.lower(), None)
    return stored


async def check_address(deps: Deps, caller: Caller, request: DepositIn) -> ProvenAddress | None:
    """Check the signature before the transaction.

    Errors: `invalid_signature`, `not_configured`, `chain_unavailable`.
    """
    if request.signature is None:
        return None

    def read(uow: UnitOfWork) -> tuple[str, DepositAddress | None]:
        agent = own_agent(uow, caller, request.agent_id)
        return agent.agent_id, _on_file(uow, agent, request.chain_id)

    agent_id, stored = await deps.store.read(read)
    raw_address = request.address or (stored.address if stored else None)
    if raw_address is None:
        raise not_found("deposit address")
    address, chain = deps.chains.address(raw_address), deps.chains.get(request.chain_id)
    if stored is None or stored.nonce is None or stored.address != address.lower():
        raise _unproven(address, "no proof of it was asked for; send it without a signature first")
    digest = chain.digest(typed_data(agent_id, request.chain_id, address, stored.nonce))
    proof = await chain.check_signature(digest, request.signature, address)
    if proof is None:
        raise _unproven(address, "it is not this address's over the typed data")
    return ProvenAddress(address, stored.nonce, proof)


def _unproven(address: str, reason: str) -> Refused:
    return Refused(refusal("invalid_signature", signer=address, why=reason))


DepositContext = RequestContext[DepositIn, ProvenAddress | None]


def deposit_address(uow: UnitOfWork, ctx: DepositContext) -> DepositOut:
    """Read, set or prove the agent's wallet on file for a chain."""
    agent = own_agent(uow, ctx.caller, ctx.request.agent_id, lock=True)
    chain_id, address = ctx.request.chain_id, ctx.request.address
    stored = _on_file(uow, agent, chain_id)
    if ctx.facts is not None:
        return _proven(uow, ctx, agent, stored, ctx.facts)
    if address is None and stored is None:
        raise not_found("deposit address")
    address = wallet_of(ctx, address or (stored.address if stored else ""))
    if stored is not None and stored.address != address.lower():
        if uow.mandates.live_vault_naming(agent.agent_id, chain_id):
            why = "A live vault names the address on file; stop it first."
            raise Refused(refusal("conflict", why=why))
        stored = None
    return _on_its_way(uow, ctx, agent, address, stored)


def _proven(
    uow: UnitOfWork,
    ctx: DepositContext,
    agent: Agent,
    stored: DepositAddress | None,
    proven: ProvenAddress,
) -> DepositOut:
    """Keep a proof; its nonce is spent."""
    place = agent.agent_id, ctx.request.chain_id, proven.address.lower()
    if stored != DepositAddress(place[2], proven.nonce):
        raise _unproven(proven.address, "the address or its nonce changed while it was checked")
    uow.addresses.put(*place, ctx.now, nonce=None)
    uow.addresses.prove(
        *place,
        ctx.now,
        nonce=str(proven.nonce),
        signature=(ctx.request.signature or "").lower(),
        signer_type=proven.proof.signer_type,
        block=proven.proof.block,
    )
    refresh_row(uow, agent.agent_id, ctx)
    return _answer(*place, proven=True)


def _on_its_way(
    uow: UnitOfWork,
    ctx: DepositContext,
    agent: Agent,
    address: str,
    stored: DepositAddress | None,
) -> DepositOut:
    """The address on file, and what it has to sign while nothing proves it; a new one is stored."""
    place = agent.agent_id, ctx.request.chain_id, address
    proven, nonce = uow.addresses.is_proven(*place), stored.nonce if stored else None
    if not proven and nonce is None and ctx.request.chain_id in ctx.chains.ids():
        nonce = ctx.ids.nonce256()
    if stored is None or nonce != stored.nonce:
        uow.addresses.put(*place, ctx.now, nonce=nonce)
        refresh_row(uow, agent.agent_id, ctx)
    return _answer(*place, proven=proven, nonce=nonce)


def _answer(
    agent_id: str, chain_id: int, address: str, *, proven: bool, nonce: int | None = None
) -> DepositOut:
    return DepositOut(
        agent_id=agent_id,
        chain_id=chain_id,
        address=address.lower(),
        proven=proven,
        typed_data=None if nonce is None else typed_data(agent_id, chain_id, address, nonce),
        nonce=None if nonce is None else str(nonce),
    )


OPERATIONS: Final = (
    Operation(
        name="agent_balances",
        title="Read balances",
        summary="Idle, reserved, in transit and delivered per chain and asset.",
        auth="owner_or_agent",
        route=("GET", "/wallet/agents/{agent_id}/balances"),
        request_model=OwnAgent,
        response_model=BalancesOut,
        handler=balances,
        on_mcp=True,
        family="agents",
        refusals=("not_found",),
    ),
    Operation(
        name="agent_deposit_address",
        title="Read, set or prove the deposit address",
        summary="Your wallet on file for a chain; without address it is read. Sign the typed_data "
        "of the answer with that wallet and send it again with signature: transfers are confirmed "
        "for proven addresses only.",
        auth="owner_or_agent",
        route=("POST", "/wallet/agents/{agent_id}/deposit-address"),
        request_model=DepositIn,
        response_model=DepositOut,
        handler=deposit_address,
        gather=check_address,
        writes=True,
        idempotent=True,
        on_mcp=True,
        family="agents",
        refusals=(
            "not_found",
            "conflict",
            "invalid_address",
            "invalid_signature",
            "not_configured",
            "chain_unavailable",
        ),
    ),
)
