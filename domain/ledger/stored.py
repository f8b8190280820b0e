"""Reading a stored payload, once; `domain.ledger.written` is the other way."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Final, TypeVar

from domain.ledger.kinds import Kind
from domain.ledger.payloads import (
    OUTCOMES,
    AgentPaid,
    ApprovalTold,
    ClaimEnded,
    Control,
    Deposited,
    Executed,
    Json,
    Marked,
    Noted,
    PaidFee,
    Part,
    Payload,
    Place,
    RefusedAttempt,
    Reported,
    Restates,
    Reverses,
    Settled,
    Signed,
    Stopped,
    Told,
    Unusable,
    Unwound,
    VenueFilled,
    Violation,
    Withdrawn,
)
from domain.money import ZERO, Usdc
from domain.refusals import Refused
from domain.times import moment_of


def read(kind: Kind, stored: object) -> Told:
    """Read a stored payload; never raises, whatever is stored.

    A value that is unusable reads as nothing (money: 0) and is named in `unusable`.
    """
    bad: list[str] = []
    s = _Stored(stored, "", bad)
    beside = s.sub("violation")
    restates, named = s.values.get("restates"), None
    if isinstance(restates, str):
        named = Restates(event_id=restates)
    elif restates is not None:
        again = s.sub("restates")
        named = Restates(
            event_id=again.text("event_id") or "",
            log_index=again.number("log_index"),
            moved=again.flag("moved"),
        )
    told = Told(
        what=_what(kind, s),
        violation=_violation(beside) if beside.there else None,
        restates=named,
        log_index=s.number("log_index"),
    )
    if not bad:
        return told
    return Told(
        what=told.what,
        violation=told.violation,
        restates=told.restates,
        log_index=told.log_index,
        unusable=tuple(Unusable(path) for path in bad),
    )


# What the venue writes: plain, with its own decimals; a fee may be negative.
_FIGURE: Final = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?")

S = TypeVar("S", Reported, PaidFee, Noted)


class _Stored:
    """One stored object while it is read; what is unusable is noted once, by its path."""

    def __init__(self, stored: object, path: str, bad: list[str]):
        self.path, self._bad = path, bad
        self.there = isinstance(stored, Mapping)
        self.values: Mapping[str, object] = stored if isinstance(stored, Mapping) else {}
        if stored is not None and not self.there:
            bad.append(path)

    def _unusable(self, name: str) -> None:
        self._bad.append(f"{self.path}.{name}" if self.path else name)

    def sub(self, name: str) -> _Stored:
        return _Stored(self.values.get(name), f"{self.path}.{name}".lstrip("."), self._bad)

    def text(self, name: str) -> str | None:
        value = self.values.get(name)
        if value is None or isinstance(value, str):
            return value
        self._unusable(name)
        return None

    def number(self, name: str) -> int | None:
        value = self.values.get(name)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        self._unusable(name)
        return None

    def flag(self, name: str) -> bool:
        value = self.values.get(name)
        if value is not None and not isinstance(value, bool):
            self._unusable(name)
        return value is True

    def money(self, name: str) -> Usdc | None:
        value = self.values.get(name)
        if value is None:
            return None
        try:
            amount = Usdc.parse(value)
        except Refused:
            amount = None
        if amount is None or amount < ZERO:
            self._unusable(name)
            return ZERO
        return amount

    def sum(self, name: str) -> Usdc:
        amount = self.money(name)
        return ZERO if amount is None else amount

    def figure(self, name: str) -> Decimal:
        value = self.values.get(name)
        if isinstance(value, str) and _FIGURE.fullmatch(value):
            return Decimal(value)
        self._unusable(name)
        return Decimal(0)

    def at(self, name: str) -> datetime | None:
        value = self.text(name)
        at = moment_of(value)
        if value is not None and at is None:
            self._unusable(name)
        return at

    def json(self, name: str) -> Json | None:
        s = self.sub(name)
        return s.values if s.there else None


def _what(kind: Kind, s: _Stored) -> Payload:
    """The block that is there says what is told, else the row's kind."""
    for name, reader in _BLOCKS.items():
        if s.values.get(name) is not None:
            return reader(s, s.sub(name))
    if kind in _BY_KIND:
        return _BY_KIND[kind](s)
    return _said(Noted, s) if kind is Kind.NOTE else _said(Reported, s)


def _violation(s: _Stored) -> Violation:
    codes = s.values.get("codes")
    found = codes if isinstance(codes, (list, tuple)) else ()
    return Violation(
        codes=tuple(c for c in found if isinstance(c, str)), detail=s.json("detail") or {}
    )


def _place(s: _Stored, address: str = "address") -> Place:
    return Place(
        market=s.text("market"),
        address=s.text(address),
        selector=s.text("selector"),
        label=s.text("label"),
    )


def _executed(s: _Stored, told: _Stored) -> Executed:
    return Executed(
        place=_place(told, "target"),
        spent=told.sum("spent"),
        received=told.sum("received"),
        approved=told.sum("approved"),
        agent=told.text("agent"),
        data_hash=told.text("data_hash"),
    )


def _unwound(s: _Stored, told: _Stored) -> Unwound:
    return Unwound(
        place=_place(told, "target"),
        received=told.sum("received"),
        by=told.text("by"),
        data_hash=told.text("data_hash"),
    )


def _settled(s: _Stored, told: _Stored) -> Settled:
    return Settled(
        spent=told.sum("spent"),
        returned=told.sum("returned"),
        gain=told.sum("gain"),
        agent_fee=told.sum("agent_fee"),
    )


def _marked(s: _Stored, told: _Stored) -> Marked:
    return Marked(
        cash=told.sum("cash"),
        positions=told.sum("positions"),
        floor=told.sum("floor"),
        block=told.number("block"),
    )


def _control(s: _Stored, told: _Stored) -> Payload:
    what = told.text("what")
    if what not in ("paused", "resumed"):
        return _said(Noted, s)
    return Control(what="paused" if what == "paused" else "resumed", agent=told.text("agent"))


def _reverses(s: _Stored, told: _Stored) -> Reverses:
    try:
        kind = Kind(told.text("kind") or "")
    except ValueError:
        kind = Kind.NOTE
    inner = told.sub("payload")
    amount = told.values.get("amount_usdc")
    return Reverses(
        event_id=told.text("event_id") or "",
        kind=kind,
        occurred_at=told.at("occurred_at"),
        seq=told.number("seq"),
        # Only a result may be negative, and what reverses one asks for its payload.
        amount=None if amount is None else told.sum("amount_usdc") if kind in _SUMS else ZERO,
        tx_hash=told.text("tx_hash"),
        # A row that reverses is itself never reversed, so that nothing nests any deeper.
        what=None if "reverses" in inner.values else _what(kind, inner),
        text=s.text("text"),
    )


def _claim(s: _Stored, told: _Stored) -> Payload:
    outcome = next((o for o in OUTCOMES if o == told.values.get("outcome")), None)
    if outcome is None:
        return _said(Noted, s)
    return ClaimEnded(event_id=told.text("event_id") or "", outcome=outcome)


def _venue(s: _Stored, told: _Stored) -> VenueFilled:
    return VenueFilled(
        venue=told.text("venue") or "",
        network=told.text("network") or "",
        order_id=told.text("order_id") or "",
        product=told.text("product") or "",
        is_buy=told.text("side") == "buy",
        px=told.figure("px"),
        size=told.figure("size"),
        fee=told.figure("fee"),
        builder_fee=told.figure("builder_fee"),
        first=told.flag("first"),
        reduce_only=told.flag("reduce_only"),
        tid=told.number("tid"),
        oid=told.number("oid"),
        at=told.at("at"),
    )


def _approval(s: _Stored, told: _Stored) -> ApprovalTold:
    return ApprovalTold(
        approval_id=told.text("approval_id"),
        status=told.text("status") or "recorded",
        reason=told.text("reason"),
        place=_place(s.sub("target")),
        text=s.text("text"),
    )


def _refusal(s: _Stored, told: _Stored) -> RefusedAttempt:
    return RefusedAttempt(
        reason=told.text("reason") or "",
        source=told.text("source"),
        reason_source=told.text("reason_source") or "agent",
        check=told.text("check"),
        attempted=told.json("attempted"),
        proof=told.json("proof"),
    )


def _stopped(s: _Stored) -> Stopped:
    return Stopped(reason=s.text("reason"), by=s.text("by"), record_only=s.flag("record_only"))


def _said(made: type[S], s: _Stored) -> S:
    part, direction = s.sub("position"), s.values.get("direction")
    return made(
        place=_place(s.sub("target")),
        part=Part(
            id=part.text("id"),
            market=part.text("market"),
            side=part.text("side"),
            label=part.text("label"),
        )
        if part.there
        else None,
        mark=s.money("mark"),
        direction=direction if direction in ("in", "out") else None,
        why=s.text("why"),
        text=s.text("text"),
        next_at=s.text("next_at"),
        fee_kind=s.text("fee_kind"),
        resource=s.text("resource"),
        preview=s.values.get("preview"),
        notional=s.flag("notional"),
    )


_SUMS: Final = frozenset({Kind.DEPOSIT, Kind.WITHDRAW, Kind.PAYOUT, Kind.MOVE})
_BLOCKS: Final[Mapping[str, Callable[[_Stored, _Stored], Payload]]] = {
    "reverses": _reverses,
    "claim": _claim,
    "refusal": _refusal,
    "approval": _approval,
    "executed": _executed,
    "unwound": _unwound,
    "settled": _settled,
    "marked": _marked,
    "control": _control,
    "venue": _venue,
}
_BY_KIND: Final[Mapping[Kind, Callable[[_Stored], Payload]]] = {
    Kind.DEPOSIT: lambda s: Deposited(sender=s.text("from")),
    Kind.WITHDRAW: lambda s: Withdrawn(),
    Kind.PAYOUT: lambda s: AgentPaid(agent=s.text("agent")),
    Kind.STOP: _stopped,
    Kind.SIGNED: lambda s: Signed(digest=s.text("digest"), signer_type=s.text("signer_type")),
    Kind.FEE: lambda s: _said(PaidFee, s),
}
