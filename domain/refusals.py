"""The one catalogue of refusals, and the one exception that carries them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from string import Formatter
from types import MappingProxyType
from typing import Final

from domain.next_steps import NextStep, Role, steps_for
from domain.refusal_kinds import actions, mandates, orders, requests, trading
from domain.refusal_kinds.kind import RefusalKind, WhoFixes
from domain.text import format_usdc
from domain.times import format_minute, timestamp


def _registry(*kinds: RefusalKind) -> Mapping[str, RefusalKind]:
    by_code = {k.code: k for k in kinds}
    if len(by_code) != len(kinds):
        raise ValueError("a refusal code is declared twice")
    return MappingProxyType(by_code)


REFUSALS: Final = _registry(
    *requests.KINDS, *mandates.KINDS, *actions.KINDS, *trading.KINDS, *orders.KINDS
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal as it leaves the service.

    Source: spec 7 and contract 1 (refusal block). `remaining` and `retry_at` appear where they
    mean something.
    """

    kind: RefusalKind
    reason: str
    remaining: Mapping[str, object] | None = None
    retry_at: datetime | None = None
    detail: Mapping[str, object] = field(default_factory=dict)
    next: tuple[NextStep, ...] = ()
    retry_safe: bool | None = None
    who_fixes: WhoFixes | None = None

    @property
    def fields(self) -> Sequence[Mapping[str, str]]:
        """The wrong fields of `invalid_request`, as `{loc, msg}`; empty for any other refusal."""
        raw = self.detail.get("fields")
        return raw if isinstance(raw, list) else ()

    @property
    def repeats(self) -> bool:
        """True where the same call may pass later without any change."""
        return self.kind.retry_safe if self.retry_safe is None else self.retry_safe

    def as_json(self, role: Role | None = None) -> dict[str, object]:
        """Shape: the refusal block of contract 1, with the steps that `role` can take, or all."""
        nothing_left = (self.remaining or {}).get("value") == "0.000000"
        # This refusal overrides its kind: waiting leads nowhere.
        vain = self.retry_safe is False and self.retry_at is None
        steps = [
            s
            for s in (*self.next, *self.kind.next)
            if not (s.needs_rest and nothing_left) and not (s.waits and vain)
        ]
        if role is not None:
            steps = steps_for(role, steps, timed=self.retry_at is not None)
        is_by_agent = role == "agent" and self.kind.caller_fixes
        block: dict[str, object] = {
            "error": self.kind.code,
            "reason": self.reason,
            "retry_safe": self.repeats,
            "who_fixes": "agent" if is_by_agent else self.who_fixes or self.kind.who_fixes,
            "next": [n.as_json() for n in steps],
        }
        if self.remaining is not None:
            block["remaining"] = dict(self.remaining)
        if self.retry_at is not None:
            block["retry_at"] = timestamp(self.retry_at)
        return block | {"detail": dict(self.detail)}


# Bounds of the wrong fields that a refusal lists.
FIELDS_MAX: Final = 20
LOC_MAX: Final = 120
MSG_MAX: Final = 300


class Refused(Exception):
    """Raised anywhere to refuse the call; becomes the refusal block in one place."""

    def __init__(self, refusal: Refusal):
        super().__init__(refusal.kind.code)
        self.refusal = refusal

    @property
    def code(self) -> str:
        """The registry code."""
        return self.refusal.kind.code


class _Known(Formatter):
    """Formats a sentence; a missing value is a bug of the service and fails in the tests."""

    def get_value(
        self, key: int | str, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> object:
        if key not in kwargs:
            raise KeyError(f"the sentence needs {key}")
        return kwargs[str(key)]

    def format_field(self, value: object, format_spec: str) -> str:
        """A `time` and an amount (`usdc`), in their wire form or not, have one form in every
        sentence; a time may be unknown.
        """
        if format_spec == "usdc":
            return format_usdc(str(value))
        if format_spec == "time":
            if value is None:
                return "a time that is not known yet"
            at = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
            return format_minute(at)
        return str(super().format_field(value, format_spec))


_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


class SigningRefused(Exception):
    """The signer refuses; the sentence says why, and `retry_s` after how many seconds the same may
    be signed, where that is known.
    """

    def __init__(self, reason: str, *, retry_s: int | None = None):
        super().__init__(reason)
        self.retry_s = retry_s


def refusal(
    code: str,
    values: Mapping[str, object] = _NOTHING,
    /,
    *,
    remaining: Mapping[str, object] | None = None,
    retry_at: datetime | None = None,
    detail: Mapping[str, object] | None = None,
    next: tuple[NextStep, ...] = (),
    retry_safe: bool | None = None,
    who_fixes: WhoFixes | None = None,
    **fields: object,
) -> Refusal:
    """Make the refusal `code`; `values` and `fields` fill its sentence. `retry_safe` and
    `who_fixes` are given where this refusal differs from its kind.

    Errors: KeyError for a code that is not in the registry, or a sentence left with a hole.
    """
    kind = REFUSALS[code]
    reason = _Known().format(kind.sentence, **values, **fields)
    return Refusal(kind, reason, remaining, retry_at, detail or {}, next, retry_safe, who_fixes)


def invalid(loc: str, msg: str, *more_fields: tuple[str, str]) -> Refused:
    """The refusal `invalid_request` for a field, and for `others` (contract 1).

    Shape: the first 20 under `fields`, the number of the rest under `more` where there are any;
    caller-chosen names are cut in length.
    """
    wrong = ((loc, msg), *more_fields[: FIELDS_MAX - 1])
    fields = [{"loc": _cut(at, LOC_MAX), "msg": _cut(text, MSG_MAX)} for at, text in wrong]
    more = 1 + len(more_fields) - len(fields)
    detail = {"fields": fields} | ({"more": more} if more else {})
    return Refused(refusal("invalid_request", detail=detail))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
