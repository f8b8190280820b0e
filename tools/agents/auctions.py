"""The auction ledger: what the house's auction reserves, releases and delivers for an agent (spec
3.4).
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from domain.agents.transfers import Delta, units
from domain.money import ZERO, Usdc
from domain.refusals import Refused, refusal
from storage.unit_of_work import UnitOfWork
from tools.agents.registry import OneAgent
from tools.call.access import not_found
from tools.call.operation import Ask, Gives, Operation, Reply

ASSET: Final = "USDT"


REF_KINDS: Final = {
    "placed": "auction_bid",
    "closed": "auction_bid_close",
    "delivered": "auction_bid_delivered",
}


class BidEvent(OneAgent):
    """One event of a bid; `seq` counts the bid's events of one kind."""

    bid_id: str = Field(pattern=r"^[A-Za-z0-9._-]{1,64}$", examples=["bid-7"])
    event: Literal["placed", "closed", "delivered"]
    amount: Usdc = Field(description="notional placed, amount released, or amount delivered")
    seq: int = Field(ge=0, le=2**53, examples=[1])


class BidEventOut(Gives):
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


def book(uow: UnitOfWork, ask: Ask[BidEvent, None]) -> Reply:
    """Book a bid's event once."""
    asked = ask.asked
    if asked.amount <= ZERO:
        raise Refused(
            refusal(
                "invalid_number",
                value=str(asked.amount),
                why="a bid's event moves more than nothing",
            )
        )
    agent = uow.identities.agent(asked.agent_id, lock=True)
    if agent is None:
        raise not_found("agent")
    delta = delta_of(asked, ask.config.auction_chain_id)
    before = _booked(uow, delta, agent.agent_id)
    if before is None:
        if asked.event == "closed":
            _holds(uow, asked, agent.agent_id)
        uow.transfers.move(agent.agent_id, (delta,), ask.now)
    elif before != delta.delta:
        why = f"This event of bid {asked.bid_id} is booked with {units(abs(before))}."
        raise Refused(refusal("conflict", why=why))
    return Reply(
        200 if before is not None else 201,
        _told(uow, asked, delta, agent.agent_id) | {"known": before is not None},
    )


def delta_of(asked: BidEvent, chain_id: int) -> Delta:
    """The balance event of spec 3.4."""
    state = "delivered" if asked.event == "delivered" else "reserved"
    amount = -asked.amount.micros if asked.event == "closed" else asked.amount.micros
    return Delta(
        chain_id=chain_id,
        asset=ASSET,
        state=state,
        delta=amount,
        ref_kind=REF_KINDS[asked.event],
        ref_id=f"{asked.bid_id}:{asked.seq}",
    )


def _booked(uow: UnitOfWork, delta: Delta, agent_id: str) -> int | None:
    rows = uow.transfers.events_of(agent_id, delta.ref_kind, delta.ref_id)
    return next((r.delta.delta for r in rows if r.delta.ref_id == delta.ref_id), None)


def _holds(uow: UnitOfWork, asked: BidEvent, agent_id: str) -> None:
    """Refuse a release above what the bid still holds."""
    rows = [
        r
        for kind in (REF_KINDS["placed"], REF_KINDS["closed"])
        for r in uow.transfers.events_of(agent_id, kind, f"{asked.bid_id}:")
    ]
    held = sum(r.delta.delta for r in rows)
    if asked.amount.micros > held:
        why = f"Bid {asked.bid_id} holds {units(held)} in reserve, the release is {asked.amount}."
        raise Refused(refusal("conflict", why=why, remaining={"reserved": units(held)}))


def _told(uow: UnitOfWork, asked: BidEvent, delta: Delta, agent_id: str) -> dict[str, object]:
    def balance(state: str) -> Usdc:
        return Usdc(uow.transfers.balance(agent_id, delta.chain_id, ASSET, state))

    return {
        "agent_id": agent_id,
        "bid_id": asked.bid_id,
        "event": asked.event,
        "seq": asked.seq,
        "chain_id": delta.chain_id,
        "asset": ASSET,
        "amount": asked.amount,
        "reserved": balance("reserved"),
        "delivered": balance("delivered"),
    }


OPERATIONS: Final = (
    Operation(
        name="keeper_auction_event",
        title="Book a bid's event",
        summary="Reserve, release or deliver for a bid of an agent; the same event books once.",
        auth="keeper",
        route=("POST", "/wallet/agents/{agent_id}/auction-events"),
        takes=BidEvent,
        gives=BidEventOut,
        handler=book,
        writes=True,
        idempotent=True,
        family="keeper",
        statuses={200: "Booked before", 201: "Booked"},
        refusals=("not_found", "conflict", "invalid_number", "secret_not_accepted"),
    ),
)
