"""Operator actions with an admin key, over HTTP and on the command line alike: switches,
house keys, counts. None of it moves money, and none of it lets an agent do more than its owner
signed.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Final, Literal

from pydantic import Field

from domain.ports import Ids
from domain.refusals import Refused, refusal
from domain.settings import SWITCHES, Switches
from domain.times import Timestamp, timestamp
from domain.trading.limit_log import TRADING_SWITCHES, LimitChange
from storage.unit_of_work import UnitOfWork
from tools.context.access import not_found
from tools.context.credentials import hashed
from tools.model.fields import KeyId, Nothing, Page
from tools.model.operation import Operation, RequestContext, RequestModel, ResponseModel

Role = Literal["keeper", "admin"]
PREFIXES: Final[dict[str, str]] = {"keeper": "kk_", "admin": "dk_"}
# What would leave an owner with less than the signed terms promise: an approval amount that nobody
# asks at, paid reads past their credit, a stop line that nobody acts on.
WEAKER: Final = {"approval_gate": "off", "paid_read_enforcement": "off", "stop_line_dry_run": "on"}


class SwitchIn(RequestModel):
    """A switch and its new value."""

    name: str = Field(
        max_length=40, description="one of the listed switches", examples=["approval_gate"]
    )
    value: Literal["on", "off"]


class SwitchOut(ResponseModel):
    """A switch; `source` says whether it was set, or is the setting's default."""

    name: str = Field(description="the service's own name for it")
    value: str
    source: Literal["database", "settings"]


class SwitchesOut(ResponseModel):
    """Every switch."""

    items: list[SwitchOut]
    next_cursor: str | None


class KeyIn(RequestModel):
    """The subject of the key to mint."""

    role: Role


class HouseKeyOut(ResponseModel):
    """A house key; it is shown once."""

    key_id: str
    role: Role
    key: str


class HouseKeyIn(RequestModel):
    """A house key."""

    key_id: KeyId


class HouseKeyTold(ResponseModel):
    """A house key without its secret."""

    key_id: str
    role: str
    created_at: Timestamp
    revoked: bool


class HouseKeyPage(Page[HouseKeyTold]):
    """House keys."""


class HouseKeyRevoked(ResponseModel):
    """The key no longer works."""

    key_id: str
    revoked_at: str


class Counts(ResponseModel):
    """Counts of the stored records."""

    agents: int
    mandates: int
    mandates_working: int
    actions_recorded: int
    as_of: str


def switches_now(uow: UnitOfWork, defaults: Switches) -> list[SwitchOut]:
    """Every switch, its value, and where that comes from."""
    rows = uow.switches.all()
    return [
        SwitchOut(
            name=name,
            value=rows.get(name, "on" if getattr(defaults, name) else "off"),
            source="database" if name in rows else "settings",
        )
        for name in SWITCHES
    ]


def set_switch(
    uow: UnitOfWork, defaults: Switches, name: str, value: str, *, now: datetime, by: str
) -> None:
    """Set a switch for every process; a change of one that lets real orders through leaves a row
    in the limit log (trading 00.1)."""
    was = next(s.value for s in switches_now(uow, defaults) if s.name == name)
    uow.switches.set(name, value, now, by)
    if name in TRADING_SWITCHES and was != value:
        uow.limit_log.add(
            LimitChange(
                what="switch",
                subject=name,
                changes={"value": {"from": was, "to": value}},
                changed_at=now,
                changed_by=by,
            )
        )


def mint_key(uow: UnitOfWork, ids: Ids, role: Role, now: datetime) -> HouseKeyOut:
    """A new house key; only its hash is kept."""
    key_id, key = ids.short("h_"), ids.token(PREFIXES[role])
    uow.identities.add_house_key(key_id, role, hashed(key), now)
    return HouseKeyOut(key_id=key_id, role=role, key=key)


def house_keys(uow: UnitOfWork) -> list[HouseKeyTold]:
    """Every house key without its secret."""
    return [
        HouseKeyTold(
            key_id=k.key_id,
            role=k.holder,
            created_at=k.created_at,
            revoked=k.revoked_at is not None,
        )
        for k in uow.identities.house_keys()
    ]


def count_records(uow: UnitOfWork, now: datetime) -> Counts:
    """Count the stored records, by bounded queries."""
    working, mandates = uow.mandates.counts()
    hall = uow.hall.totals()
    return Counts(
        agents=hall.agents,
        mandates=mandates,
        mandates_working=working,
        actions_recorded=hall.calls,
        as_of=timestamp(now),
    )


def _switches(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> SwitchesOut:
    return SwitchesOut(items=switches_now(uow, ctx.defaults), next_cursor=None)


def _set(uow: UnitOfWork, ctx: RequestContext[SwitchIn, None]) -> SwitchOut:
    name, value = ctx.request.name, ctx.request.value
    if name not in SWITCHES:
        raise not_found("switch")
    if WEAKER.get(name) == value:
        why = f"{name} is switched {value} on the service's own machine alone: owners count on it"
        raise Refused(refusal("forbidden", why=why))
    set_switch(uow, ctx.defaults, name, value, now=ctx.now, by="admin")
    return SwitchOut(name=name, value=value, source="database")


def _mint(uow: UnitOfWork, ctx: RequestContext[KeyIn, None]) -> HouseKeyOut:
    return mint_key(uow, ctx.ids, ctx.request.role, ctx.now)


def _keys(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> HouseKeyPage:
    return HouseKeyPage(items=house_keys(uow), next_cursor=None)


def _revoke(uow: UnitOfWork, ctx: RequestContext[HouseKeyIn, None]) -> HouseKeyRevoked:
    if not uow.identities.revoke_house_key(ctx.request.key_id, ctx.now):
        raise not_found("live key")
    return HouseKeyRevoked(key_id=ctx.request.key_id, revoked_at=timestamp(ctx.now))


def _counts(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> Counts:
    return count_records(uow, ctx.now)


_operator_operation: Final = partial(Operation, auth="admin", family="operator")


OPERATIONS: Final = (
    _operator_operation(
        name="admin_switches",
        title="List the switches",
        summary="Every availability switch, its value, and where that comes from.",
        route=("GET", "/wallet/admin/switches"),
        request_model=Nothing,
        response_model=SwitchesOut,
        handler=_switches,
    ),
    _operator_operation(
        name="admin_switch_set",
        title="Set a switch",
        summary="Set a switch for every process, from the next request on. The approval gate can "
        "only be switched on here.",
        route=("PUT", "/wallet/admin/switches/{name}"),
        request_model=SwitchIn,
        response_model=SwitchOut,
        handler=_set,
        writes=True,
        idempotent=True,
        refusals=("not_found",),
    ),
    _operator_operation(
        name="admin_keys",
        title="List the house keys",
        summary="Keeper and admin keys, never their secrets.",
        route=("GET", "/wallet/admin/keys"),
        request_model=Nothing,
        response_model=HouseKeyPage,
        handler=_keys,
    ),
    _operator_operation(
        name="admin_key_create",
        title="Mint a house key",
        summary="A new keeper or admin key; it is shown once.",
        route=("POST", "/wallet/admin/keys"),
        request_model=KeyIn,
        response_model=HouseKeyOut,
        handler=_mint,
        writes=True,
        statuses={201: "The key; it is shown once"},
    ),
    _operator_operation(
        name="admin_key_revoke",
        title="Revoke a house key",
        summary="It stops working at once.",
        route=("DELETE", "/wallet/admin/keys/{key_id}"),
        request_model=HouseKeyIn,
        response_model=HouseKeyRevoked,
        handler=_revoke,
        writes=True,
        destructive=True,
        refusals=("not_found",),
    ),
    _operator_operation(
        name="admin_counts",
        title="Count",
        summary="How many agents, mandates and recorded actions there are.",
        route=("GET", "/wallet/admin/counts"),
        request_model=Nothing,
        response_model=Counts,
        handler=_counts,
        weight=5,
    ),
)
