"""Ledger rows in their published form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final, TypeVar, cast, get_args, get_type_hints

from domain.ledger.events.event import Event
from domain.ledger.events.payload_schema import Nested, Object, Value, parts_of
from domain.ledger.events.payloads import EventPayload, Observed, Violation
from domain.ledger.events.payloads import Payload as Body
from domain.money import Usdc
from domain.reads.row_models import (
    AttemptedPlace,
    BreachDetail,
    Broken,
    LedgerRow,
    ObservedVault,
    Payload,
    ProbedPosition,
    Restated,
)
from domain.wire_fields import copy_fields

NO_PAYLOAD: Final = Payload()

S = TypeVar("S")


def ledger_row(event: Event) -> LedgerRow:
    """A row as it is shown."""
    return copy_fields(
        LedgerRow,
        event,
        kind=event.kind.value,
        payload=payload(event.content),
        reported_by=event.reported_by.value,
    )


def payload(payload: EventPayload) -> Payload:
    """A row's payload for display, under the names of its stored form."""
    beside: dict[str, object] = {}
    if payload.violation is not None:
        beside["violation"] = broken(payload.violation)
    if payload.restates is not None:
        beside["restates"] = copy_fields(Restated, payload.restates)
    if payload.log_index is not None:
        beside["log_index"] = payload.log_index
    if payload.observed is not None:
        beside["observed"] = observed(payload.observed)
    return payload_body(payload.body, **beside)


def observed(o: Observed) -> ObservedVault:
    """The vault right after a row, for display."""
    return ObservedVault(
        block=o.block,
        cash=o.cash,
        positions=tuple(
            ProbedPosition(key=p.key, value=p.value, answered=p.value is not None)
            for p in o.positions
        ),
        whole=o.is_complete,
    )


def payload_body(body: Body, **beside: object) -> Payload:
    """One payload body for display, by the table of its stored form (`payload_schema`)."""
    return shape_from(Payload, parts_of(body), **beside)


def shape_from(shape: type[S], values: Iterable[Value], **more: object) -> S:
    """A shape, with those of the values that it names."""
    names = _names(cast(object, shape))
    for name, value in values:
        if name in names:
            attr, of = names[name]
            more[attr] = value if of is None else _shaped(of, value)
    return shape(**more)


def _shaped(of: Any, value: object) -> object:
    if isinstance(value, Object):
        return shape_from(of, value.values)
    if isinstance(value, Nested):
        return NO_PAYLOAD if value.body is None else payload_body(value.body)
    return value


@cache
def _names(shape: Any) -> Mapping[str, tuple[str, type | None]]:
    """(attribute, shape of the object in it) by the key that it has on the wire."""
    hints = get_type_hints(shape)
    return {
        str(f.metadata.get("alias", f.name)): (f.name, _inside(hints[f.name]))
        for f in fields(shape)
    }


def _inside(hint: object) -> type | None:
    shapes = [of for of in (hint, *get_args(hint)) if is_dataclass(of) and of is not Usdc]
    return cast(type, shapes[0]) if shapes else None


def broken(violation: Violation) -> Broken:
    """The rules that a row broke."""
    return Broken(
        codes=violation.codes,
        detail={code: breach_detail(numbers) for code, numbers in violation.detail.items()},
    )


def breach_detail(raw: object) -> BreachDetail:
    """The stored numbers of one broken rule; an unusable one reads as None."""
    values: Mapping[str, object] = raw if isinstance(raw, Mapping) else {}
    clause, attempted = values.get("clause"), values.get("attempted")
    return BreachDetail(
        clause=clause if isinstance(clause, int) else None,
        attempted=AttemptedPlace(**_texts(attempted, "market", "address", "selector", "resource"))
        if isinstance(attempted, Mapping)
        else _texts(values, "attempted")["attempted"],
        **_texts(values, "allowed", "used", "bound_by"),
    )


def _texts(raw: Mapping[str, object], *names: str) -> dict[str, str | None]:
    return {n: v if isinstance(v := raw.get(n), str) else None for n in names}
