"""An agent's activity: ledger rows, balance changes, paid reads and apps in one feed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from heapq import heappop, heappush
from typing import Final, Literal

import anyio.lowlevel
from pydantic import Field

from domain.agents.grants import Ending, Grant, Scope
from domain.ledger.events.event import Event
from domain.ledger.events.payloads import PaidFee
from domain.money import Usdc
from domain.reads.row_models import LedgerRow
from domain.times import Timestamp, timestamp
from storage.cursors import cursor_of, keys_of
from storage.repositories.mandates import ActiveMandate
from storage.repositories.transfers import BalanceEvent
from storage.sql import micros
from storage.unit_of_work import UnitOfWork
from tools.agents.registry import OwnAgent, own_agent
from tools.context.render_cache import KEPT
from tools.model.cooperative import map_cooperatively, read_cooperatively
from tools.model.fields import Cursor, Limit, Page
from tools.model.operation import (
    Caller,
    Deps,
    Operation,
    RenderedResult,
    ResponseModel,
)
from tools.model.serialization import to_json
from tools.model.truncation import LONG_PAGE_BYTES, bounded_page

BALANCES: Final = "b"


EVER: Final = 2**62


APPS: Final = "a"
APP_WORDS: Final = "own words of the app; nobody has checked them"


LEDGER: Final = "e:"


# Ledgers that are named in one turn, and items of one source that are read in one.
LEDGERS: Final = 500
A_READ: Final = 20


Key = tuple[int, str, int]


"""Where an item stands: its time in micros, its source, its number there. Newest first is falling
order.
"""


@dataclass(frozen=True, slots=True)
class AppEvent:
    """Something that happened to an app's access."""

    at: datetime
    happened: Literal["connected", "used", "ended"]
    grant: Grant


Item = tuple[Key, Event | BalanceEvent | AppEvent]


class ActivityIn(OwnAgent):
    """A page of activity."""

    limit: Limit = 50
    cursor: Cursor = None


class PaidReference(ResponseModel):
    """The document that was paid for, as far as the report names it."""

    resource: str | None = Field(description="as the agent told it")
    fee_kind: str | None = Field(description="as the agent told it")
    tx_hash: str | None


class EventActivity(ResponseModel):
    """A ledger row of a mandate; a paid read carries its reference."""

    type: Literal["event", "paid_read"]
    at: Timestamp
    public_id: str
    event: LedgerRow
    reference: PaidReference | None = None


class BalanceActivity(ResponseModel):
    """A balance change and its cause; `delta` in units of the asset."""

    type: Literal["balance"]
    at: Timestamp
    chain_id: int
    asset: str
    state: str
    delta: Usdc
    ref_kind: str
    ref_id: str


class AppActivity(ResponseModel):
    """An app's access to the agent: that it began, when it was last used, that it ended."""

    type: Literal["app"]
    at: Timestamp
    happened: Literal["connected", "used", "ended"]
    grant_id: str
    client_host: str | None
    client_name: str = Field(description=APP_WORDS)
    redirect_host: str
    scopes: list[Scope]
    ended_by: Ending | None


class ActivityPage(Page[EventActivity | BalanceActivity | AppActivity]):
    """A page of activity."""


async def list_activity(
    deps: Deps, caller: Caller, request: ActivityIn
) -> RenderedResult[ActivityPage]:
    """Newest first; a page continues where the last one ended, whatever was added since.

    The person who registered the agent sees the rows of mandates of its own only; the agent sees
    all it works under. Ledgers are merged by their newest row that the page may still hold, each
    read a few rows at a time: a turn holds the loop no longer for ten thousand of them.
    """
    agent = await deps.store.read(lambda uow: own_agent(uow, caller, request.agent_id).agent_id)
    at: Key = (EVER, "", 0)
    if request.cursor is not None:
        stamp, source, number = keys_of(request.cursor, (int, str, int))
        at = (stamp, source, number)
    merged = MergedFeed(deps, agent, at)
    merged.may_hold(EVER, BALANCES)
    merged.may_hold(EVER, APPS)
    owner = caller.user_id if caller.role == "owner" else None
    after = (-1, "")
    while some := await deps.store.read(partial(_busy, agent, owner, after)):
        for ledger in some:
            merged.may_hold(ledger.newest, LEDGER + ledger.public_id)
        after = (some[-1].made, some[-1].public_id)
        await anyio.lowlevel.checkpoint()
    page = await read_cooperatively(lambda _, limit: merged.some(limit), request.limit + 1)
    created = await map_cooperatively(page[: request.limit], _item_body)
    return bounded_page(page, created, lambda row: cursor_of(*row[0]), LONG_PAGE_BYTES)


def _busy(
    agent_id: str, owner: str | None, after: tuple[int, str], uow: UnitOfWork
) -> list[ActiveMandate]:
    return uow.mandates.busy_of_agent(agent_id, owner, after=after, limit=LEDGERS)


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """A source in the heap, by the place of its newest item; `read` has the newest last."""

    at: Key
    name: str
    read: list[Item]

    def __lt__(self, other: _Source) -> bool:
        return self.at > other.at


class MergedFeed:
    """Sources of items, each newest first, as one; a source is read when its turn comes."""

    def __init__(self, deps: Deps, agent_id: str, at: Key):
        self._deps, self._agent, self._at = deps, agent_id, at
        self._next: list[_Source] = []

    def may_hold(self, newest: int, source: str) -> None:
        """Name a source, and a time that none of its items is behind."""
        stamp = min(newest, self._at[0])
        heappush(self._next, _Source((stamp, source, EVER), source, []))

    async def some(self, limit: int) -> list[Item]:
        """The next items, `limit` at the most; fewer at the end."""
        items: list[Item] = []
        while self._next and len(items) < limit:
            first = heappop(self._next)
            read, below = first.read, self._at
            if read:
                items.append(read.pop())
                below = items[-1][0]
            if not read:
                read = await self._rows(first.name, below)
                await anyio.lowlevel.checkpoint()
            if read:
                heappush(self._next, _Source(read[-1][0], first.name, read))
        return items

    async def _rows(self, source: str, at: Key) -> list[Item]:
        """The next few items of a source below a place, the newest last."""
        stamp, number = _below(at, source)
        if source == BALANCES:
            changed = await self._deps.store.read(
                lambda uow: uow.transfers.events(
                    self._agent, before=stamp, before_n=number, limit=A_READ
                )
            )
            return [((micros(b.created_at), source, b.n), b) for b in reversed(changed)]
        if source == APPS:
            return await self._deps.store.read(partial(_of_apps, self._agent, (stamp, number)))
        of = source.removeprefix(LEDGER)
        rows = await self._deps.store.read(lambda uow: uow.ledger.before(of, stamp, number, A_READ))
        return [((micros(e.created_at), source, e.seq), e) for e in reversed(rows)]


def _of_apps(agent_id: str, below: tuple[int, int], uow: UnitOfWork) -> list[Item]:
    """Events of the agent's grants below a place, the newest last. A grant has three of
    them, and an agent so many grants: none is a row.
    """
    events = [
        AppEvent(at, happened, grant)
        for grant in uow.grants.of_agent(agent_id)
        for at, happened in _happened(grant)
    ]
    items: list[Item] = [((micros(e.at), APPS, _number(e)), e) for e in events]
    return sorted((i for i in items if (i[0][0], i[0][2]) < below), key=lambda i: i[0])[-A_READ:]


def _happened(grant: Grant) -> Iterator[tuple[datetime, Literal["connected", "used", "ended"]]]:
    if grant.redeemed_at is None:
        return
    yield grant.redeemed_at, "connected"
    if grant.used_at is not None and grant.used_at > grant.redeemed_at:
        yield grant.used_at, "used"
    if grant.ended_at is not None:
        yield grant.ended_at, "ended"


def _number(event: AppEvent) -> int:
    """A number that tells what happens at one time apart, the same whenever it is read."""
    name = f"{event.grant.grant_id} {event.happened}"
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=6).digest())


def _app_body(event: AppEvent) -> AppActivity:
    grant = event.grant
    return AppActivity(
        type="app",
        at=event.at,
        happened=event.happened,
        grant_id=grant.grant_id,
        client_host=grant.client_host,
        client_name=grant.client_name,
        redirect_host=grant.redirect_host,
        scopes=list(grant.scopes),
        ended_by=grant.ended_by if event.happened == "ended" else None,
    )


def _item_body(item: Item) -> object:
    (_, source, _), kind = item
    if isinstance(kind, AppEvent):
        return to_json(_app_body(kind), AppActivity)
    if isinstance(kind, BalanceEvent):
        return to_json(BalanceActivity.model_validate(balance_body(kind)), BalanceActivity)
    return event_body(source.removeprefix(LEDGER), kind)


def _below(at: Key, source: str) -> tuple[int, int]:
    """The bound (time, number), exclusive, that a place in the merged order puts on one source."""
    stamp, of, number = at
    if source == of:
        return stamp, number
    return stamp, EVER if source < of else -1


def event_body(public_id: str, event: Event) -> dict[str, object]:
    """A ledger row as it is kept; a paid read carries its reference."""
    fee = event.content.body
    body: dict[str, object] = {
        "at": timestamp(event.created_at),
        "public_id": public_id,
        "event": KEPT.row(event),
    }
    if isinstance(fee, PaidFee) and fee.paid_read:
        return {"type": "paid_read", **body, "reference": reference(event, fee)}
    return {"type": "event", **body}


def reference(event: Event, fee: PaidFee) -> dict[str, object]:
    """The document that was paid for, as far as the report names it."""
    return {
        "resource": fee.resource,
        "fee_kind": fee.fee_kind,
        "tx_hash": event.tx_hash,
    }


def balance_body(b: BalanceEvent) -> dict[str, object]:
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
        summary="Events, balance changes, paid reads and connected apps, newest first.",
        auth="owner_or_agent",
        route=("GET", "/wallet/agents/{agent_id}/activity"),
        request_model=ActivityIn,
        response_model=ActivityPage,
        pass_through=list_activity,
        on_mcp=True,
        family="agents",
        refusals=("not_found",),
    ),
)
