"""Transfer reports of agents."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, Literal

from pydantic import Field

from domain.agents.transfers import (
    FAILED,
    REF_REPORT,
    REPORTED,
    StoredTransfer,
    TransferReport,
    report_transfer,
)
from domain.money import ZERO, Usdc
from domain.refusals import Refused, refusal
from storage.repositories.identities import Agent
from storage.unit_of_work import UnitOfWork
from tools.context.access import not_found
from tools.keeper.transfer_confirmation import store_report
from tools.model.fields import ChainId, TxHash
from tools.model.operation import Caller, Operation, RequestContext, RequestModel

# Reports that may wait for the chain at once.
WAITING_AN_AGENT: Final = 100
WAITING_AN_OWNER: Final = 400


class TransferIn(RequestModel):
    """One transfer of yours (contract 7)."""

    chain_id: ChainId
    asset: str = Field(
        pattern=r"^[A-Za-z][A-Za-z0-9.]{1,15}$", description="symbol", examples=["USDC"]
    )
    amount: Usdc = Field(description="amount as a decimal string, at most 6 decimals")
    tx_hash: TxHash
    direction: Literal["in", "out"] = Field(description="seen from your own address")


def report(uow: UnitOfWork, ctx: RequestContext[TransferIn, None]) -> TransferReport:
    """Store a report and move the balances, in one transaction."""
    request = ctx.request
    if request.amount <= ZERO:
        raise Refused(
            refusal(
                "invalid_number",
                value=str(request.amount),
                why="a transfer is above 0",
            )
        )
    # The lock keeps two outbound reports from seeing the same idle balance.
    agent = uow.identities.agent(ctx.caller.user_id or "", lock=True)
    if agent is None:
        raise not_found("agent")
    new = StoredTransfer(
        request.chain_id,
        request.tx_hash.lower(),
        agent.agent_id,
        request.asset.upper(),
        request.amount.micros,
        request.direction,
        "agent",
        REPORTED,
        ctx.now,
    )
    if _stands(uow, new):
        raise _duplicate(new)
    _not_too_many(uow, ctx, agent)
    policy = uow.policies.get(agent.agent_id)
    idle = uow.transfers.balance(agent.agent_id, new.chain_id, new.asset, "idle")
    step = report_transfer(new, idle=idle, allow_overdraft=bool(policy and policy.allow_overdraft))
    if not store_report(uow, step.report):
        raise _duplicate(new)
    uow.transfers.move(agent.agent_id, step.deltas, ctx.now)
    return step.report.as_report()


def _not_too_many(uow: UnitOfWork, ctx: RequestContext[TransferIn, None], agent: Agent) -> None:
    """Refuse a report beyond those that may wait for the chain at once.

    Errors: `rate_limited` until the first of them fails, at the latest.
    """
    pending = uow.transfers.waiting_of(agent.owner_id)
    mine = {agent.agent_id: pending[agent.agent_id]} if agent.agent_id in pending else {}
    for counted, limit, whose in (
        (mine, WAITING_AN_AGENT, "you"),
        (pending, WAITING_AN_OWNER, "the agents of your owner"),
    ):
        if sum(n for n, _ in counted.values()) >= limit:
            oldest = min(at for _, at in counted.values())
            fails = timedelta(seconds=ctx.config.transfer_fails_after_s)
            why = f"{limit} transfers reported by {whose} wait for the chain, which is the most."
            raise Refused(refusal("rate_limited", why=why, retry_at=oldest + fails))


def _stands(uow: UnitOfWork, new: StoredTransfer) -> bool:
    """True where the transaction is reported already, or in the agent's balances; a failed claim
    of another agent does not stand in the way.
    """
    known = uow.transfers.get(new.chain_id, new.tx_hash)
    if known is None:
        return False
    if uow.transfers.booked(new.agent_id, new.chain_id, new.tx_hash):
        return True
    before = uow.transfers.events_of(new.agent_id, REF_REPORT, new.tx_hash)
    return (
        known.status != FAILED
        or known.agent_id == new.agent_id
        or any(e.delta.chain_id == new.chain_id for e in before)
    )


def _duplicate(new: StoredTransfer) -> Refused:
    return Refused(refusal("duplicate_transfer", tx_hash=new.tx_hash, chain_id=new.chain_id))


def scope(caller: Caller, request: object) -> str:
    """`<agent user id>:transfer_report` (spec 2.17)."""
    return f"{caller.user_id}:transfer_report"


OPERATIONS: Final = (
    Operation(
        name="transfer_report",
        title="Report a transfer",
        summary="Report a transfer of your wallet; it is in_transit until the chain confirms it.",
        auth="agent",
        route=("POST", "/wallet/transfers/report"),
        request_model=TransferIn,
        response_model=TransferReport,
        handler=report,
        writes=True,
        on_mcp=True,
        family="transfers",
        idempotency=scope,
        statuses={201: "The report"},
        refusals=(
            "duplicate_transfer",
            "insufficient_idle",
            "invalid_number",
            "secret_not_accepted",
            "idempotency_key_reused",
            "idempotency_in_flight",
        ),
    ),
)
