"""Who may see a mandate, and whose wallet an address can be."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from domain.mandates.mandate import Mandate, Status
from domain.refusals import Refused, refusal
from storage.brought.needs import Needs
from storage.unit_of_work import UnitOfWork
from tools.call.fields import OneMandate
from tools.call.operation import Ask, Caller, Deps


def not_found(what: str = "mandate") -> Refused:
    """The same answer for "not yours" and "not there" (contract 1)."""
    return Refused(refusal("not_found", what=what))


def sees(caller: Caller, m: Mandate) -> bool:
    """True for its owner and its agent; an offer on the open board is seen by every agent."""
    if caller.role == "owner":
        return m.owner_id == caller.user_id
    if caller.role != "agent":
        return caller.role == "keeper"
    on_board = (
        m.open_board
        and m.agent_id is None
        and m.status in (Status.DRAFT, Status.SIGNED, Status.WORKING)
    )
    return m.agent_id == caller.user_id or on_board


def seen_mandate(uow: UnitOfWork, caller: Caller, public_id: str, *, lock: bool = False) -> Mandate:
    """The mandate, if the caller may see it.

    Errors: `not_found`.
    """
    m = uow.mandates.get(public_id, lock=lock)
    if m is None or not sees(caller, m):
        raise not_found()
    return m


def own_agent_mandate(
    uow: UnitOfWork, caller: Caller, public_id: str, *, lock: bool = False
) -> Mandate:
    """The mandate of the calling agent.

    Errors: `not_found`; `mandate_not_accepted` for an offer of the open board, which is seen but
    nobody's yet.
    """
    m = seen_mandate(uow, caller, public_id, lock=lock)
    if m.agent_id != caller.user_id:
        raise Refused(refusal("mandate_not_accepted")) if m.agent_id is None else not_found()
    return m


def wallet_of(ask: Ask[Any, Any], text: str) -> str:
    """An address that can sign: not the zero address, and none of the contracts that the service
    works with.

    Errors: `invalid_address`.
    """
    address = ask.chains.address(text)
    chains = [ask.chains.get(i) for i in ask.chains.ids()]
    taken = {a.lower() for c in chains for a in (c.usdc, c.factory) if a}
    if int(address, 16) == 0 or address.lower() in taken:
        raise Refused(refusal("invalid_address", value=address, why="nobody can sign with it"))
    return address


async def peek(deps: Deps, caller: Caller, public_id: str) -> Mandate:
    """Read the mandate outside the operation's transaction, to know what to ask the chain."""
    return await deps.store.read(lambda uow: seen_mandate(uow, caller, public_id), single=True)


def of_one(asked: OneMandate, now: datetime) -> Needs:
    """What an operation on one mandate looks at."""
    return Needs(now=now, mandates=(asked.public_id,))
