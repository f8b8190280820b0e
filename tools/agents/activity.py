"""An agent's activity: ledger rows, balance changes and paid reads in one feed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from domain.ledger.events import Event
from domain.ledger.payloads import PaidFee
from domain.money import Usdc
from domain.reads.rows import ledger_row
from domain.reads.shapes import LedgerRow
from domain.times import Timestamp
from storage.paging import cursor_of, keys_of
from storage.rows.transfers import BalanceEvent
from storage.sql import micros
from storage.unit_of_work import UnitOfWork
from tools.agents.registry import OneAgent, own_agent
from tools.call.fields import Cursor, Limit, Page
from tools.call.operation import Ask, Gives, Operation, Reply

BALANCES: Final = "b"


EVER: Final = 2**62


LEDGERS: Final = 100


Key = tuple[int, str, int]


"""Where an item stands: its time in micros, its source, its number there. Newest first is falling
order.
"""


class ActivityIn(OneAgent):
    """A page of activity."""

    limit: Limit = 50
    cursor: Cursor = None


class PaidReference(Gives):
    """What was read, as far as the report says."""

    resource: str | None
    fee_kind: str | None
    tx_hash: str | None


class EventActivity(Gives):
    """A ledger row of a mandate; a paid read carries its reference."""

    type: Literal["event", "paid_read"]
    at: Timestamp
    public_id: str
    event: LedgerRow
    reference: PaidReference | None = None


class BalanceActivity(Gives):
    """A balance change and its cause; `delta` in units of the asset."""

    type: Literal["balance"]
    at: Timestamp
    chain_id: int
    asset: str
    state: str
    delta: Usdc
    ref_kind: str
    ref_id: str


class ActivityPage(Page[EventActivity | BalanceActivity]):
    """A page of activity."""


def activity(uow: UnitOfWork, ask: Ask[ActivityIn, None]) -> Reply:
    """Newest first; a page continues where the last one ended, whatever was added since.

    The person who registered the agent sees the rows of mandates of its own only; the agent sees
    all it works under.
    """
    asked, caller = ask.asked, ask.caller
    agent = own_agent(uow, caller, asked.agent_id)
    at: Key = (EVER, "", 0)
    if asked.cursor is not None:
        stamp, source, number = keys_of(asked.cursor, (int, str, int))
        at = (stamp, source, number)
    most = asked.limit + 1
    before, before_n = _below(at, BALANCES)
    changed = uow.transfers.events(agent.agent_id, before=before, before_n=before_n, limit=most)
    found: list[tuple[Key, dict[str, object]]] = [
        ((micros(b.created_at), BALANCES, b.n), of_balance(b)) for b in changed
    ]
    owner = caller.user_id if caller.role == "owner" else None
    for public_id, newest in _busy(uow, agent.agent_id, owner):
        if len(found) >= most and newest < found[most - 1][0][0]:
            break  # this ledger and those behind it are older than the whole page
        rows = uow.ledger.before(public_id, *_below(at, f"e:{public_id}"), most)
        found += [
            ((micros(e.created_at), f"e:{public_id}", e.seq), of_event(public_id, e)) for e in rows
        ]
        found = sorted(found, key=lambda item: item[0], reverse=True)[:most]
    page = found[: asked.limit]
    more = cursor_of(*page[-1][0]) if len(found) > asked.limit else None
    return Reply(200, {"items": [item for _, item in page], "next_cursor": more})


def _busy(uow: UnitOfWork, agent_id: str, owner: str | None) -> Iterator[tuple[str, int]]:
    """The ledgers under which an agent works, that with the newest row first; read as needed."""
    behind = (EVER, "")
    while True:
        found = uow.mandates.busy_of_agent(agent_id, owner, behind=behind, limit=LEDGERS)
        yield from found
        if len(found) < LEDGERS:
            return
        behind = (found[-1][1], found[-1][0])


def _below(at: Key, source: str) -> tuple[int, int]:
    """The bound (time, number), exclusive, that a place in the merged order puts on one source."""
    stamp, of, number = at
    if source == of:
        return stamp, number
    return stamp, EVER if source < of else -1


def of_event(public_id: str, event: Event) -> dict[str, object]:
    """A ledger row; a paid read carries its reference."""
    fee = event.told.what
    told: dict[str, object] = {
        "at": event.created_at,
        "public_id": public_id,
        "event": ledger_row(event),
    }
    if isinstance(fee, PaidFee) and fee.paid_read:
        return {"type": "paid_read", **told, "reference": reference(event, fee)}
    return {"type": "event", **told}


def reference(event: Event, fee: PaidFee) -> dict[str, object]:
    """What was read, as far as the report says."""
    return {
        "resource": fee.resource,
        "fee_kind": fee.fee_kind,
        "tx_hash": event.tx_hash,
    }


def of_balance(b: BalanceEvent) -> dict[str, object]:
    """A balance change and its cause."""
    d = b.delta
    change = {"chain_id": d.chain_id, "asset": d.asset, "state": d.state, "delta": Usdc(d.delta)}
    return {
        "type": "balance",
        "at": b.created_at,
        **change,
        "ref_kind": d.ref_kind,
        "ref_id": d.ref_id,
    }


OPERATIONS: Final = (
    Operation(
        name="agent_activity",
        title="Read the activity",
        summary="Events, balance changes and paid reads in one feed, newest first.",
        auth="owner_or_agent",
        route=("GET", "/wallet/agents/{agent_id}/activity"),
        takes=ActivityIn,
        gives=ActivityPage,
        handler=activity,
        on_mcp=True,
        family="agents",
        refusals=("not_found",),
    ),
)
