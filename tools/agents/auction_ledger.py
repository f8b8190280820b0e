"""Auction ledger: amounts that an auction reserves, releases and delivers for an agent
(spec 3.4).
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from domain.agents.transfers import Delta, units
from domain.money import ZERO, Usdc
from domain.refusals import Refused, refusal
from storage.unit_of_work import UnitOfWork
from tools.agents.registry import AgentIn
from tools.context.access import not_found
from tools.model.operation import HandlerResult, Operation, RequestContext, ResponseModel

ASSET: Final = "USDT"
REF_KINDS: Final = {
    "placed": "auction_bid",
    "closed": "auction_bid_close",
    "delivered": "auction_bid_delivered",
}


class BidEvent(AgentIn):
    """One event of a bid; `seq` counts the bid's events of one kind."""

    bid_id: str = Field(pattern=r"^[A-Za-z0-9._-]{1,64}$", examples=["bid-7"])
    event: Literal["placed", "closed", "delivered"]
    amount: Usdc = Field(description="notional placed, amount released, or amount delivered")
    seq: int = Field(ge=0, le=2**53, examples=[1])


class BidEventOut(ResponseModel):
    """The event as it is booked; `known` says that it was booked before."""

    agent_id: str
    bid_id: str
    event: str
    seq: int
    chain_id: int
    asset: str
    amount: Usdc
    reserved: Usdc
    delivered: Usdc
    known: bool


def book(uow: UnitOfWork, ctx: RequestContext[BidEvent, None]) -> HandlerResult[BidEventOut]:
    """Book a bid's event once."""
    request = ctx.request
    if request.amount <= ZERO:
        why = "a bid's event moves more than nothing"
        raise Refused(refusal("invalid_number", value=str(request.amount), why=why))
    agent = uow.identities.agent(request.agent_id, lock=True)
    if agent is None:
        raise not_found("agent")
    delta = delta_of(request, ctx.config.auction_chain_id)
    rows = uow.transfers.events_of(agent.agent_id, delta.ref_kind, delta.ref_id)
    before = next((r.delta.delta for r in rows if r.delta.ref_id == delta.ref_id), None)
    if before is None:
        if request.event == "closed":
            _holds(uow, request, agent.agent_id)
        uow.transfers.move(agent.agent_id, (delta,), ctx.now)
    elif before != delta.delta:
        why = f"This event of bid {request.bid_id} is booked with {units(abs(before))}."
        raise Refused(refusal("conflict", why=why))

    def balance(state: str) -> Usdc:
        return Usdc(uow.transfers.balance(agent.agent_id, delta.chain_id, ASSET, state))

    answer = BidEventOut(
        agent_id=agent.agent_id,
        bid_id=request.bid_id,
        event=request.event,
        seq=request.seq,
        chain_id=delta.chain_id,
        asset=ASSET,
        amount=request.amount,
        reserved=balance("reserved"),
        delivered=balance("delivered"),
        known=before is not None,
    )
    return HandlerResult(answer, 201 if before is None else 200)


def delta_of(request: BidEvent, chain_id: int) -> Delta:
    """The balance event of spec 3.4."""
    state = "delivered" if request.event == "delivered" else "reserved"
    amount = -request.amount.micros if request.event == "closed" else request.amount.micros
    return Delta(
        chain_id=chain_id,
        asset=ASSET,
        state=state,
        delta=amount,
        ref_kind=REF_KINDS[request.event],
        ref_id=f"{request.bid_id}:{request.seq}",
    )


def _holds(uow: UnitOfWork, request: BidEvent, agent_id: str) -> None:
    """Refuse a release above what the bid still holds."""
    rows = [
        r
        for kind in (REF_KINDS["placed"], REF_KINDS["closed"])
        for r in uow.transfers.events_of(agent_id, kind, f"{request.bid_id}:")
    ]
    reserved = sum(r.delta.delta for r in rows)
    if request.amount.micros > reserved:
        left, release = units(reserved), request.amount
        why = f"Bid {request.bid_id} holds {left} in reserve, the release is {release}."
        raise Refused(refusal("conflict", why=why, remaining={"reserved": left}))


OPERATIONS: Final = (
    Operation(
        name="keeper_auction_event",
        title="Book a bid's event",
        summary="Reserve, release or deliver for a bid of an agent; the same event books once.",
        auth="keeper",
        route=("POST", "/wallet/agents/{agent_id}/auction-events"),
        request_model=BidEvent,
        response_model=BidEventOut,
        handler=book,
        writes=True,
        idempotent=True,
        family="keeper",
        statuses={200: "Booked before", 201: "Booked"},
        refusals=("not_found", "conflict", "invalid_number", "secret_not_accepted"),
    ),
)
