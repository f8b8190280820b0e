"""Telemetry: log context and metrics of each call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar, Token
from types import MappingProxyType
from typing import Final, Protocol

from domain.spans import current_span

# The service's own ids alone: what else a caller puts in their place is not repeated.
_MANDATE: Final = re.compile(r"m_[a-z2-7]{10}")
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_ABOUT: Final[ContextVar[Mapping[str, str]]] = ContextVar("about", default=_NOTHING)


class Telemetry(Protocol):
    """Port for counters of the process's work. Units: microseconds."""

    def called(self, operation: str, surface: str, code: str | None, micros: int) -> None:
        """An operation was answered; `code` is that of its refusal."""
        ...

    def worked(self, subject: str, micros: int, *, well: bool) -> None:
        """A round of periodic work is over."""
        ...


class NullTelemetry:
    """Telemetry that discards everything."""

    def called(self, operation: str, surface: str, code: str | None, micros: int) -> None:
        """Discard the call."""

    def worked(self, subject: str, micros: int, *, well: bool) -> None:
        """Discard the work."""


def current_log_context() -> Mapping[str, str]:
    """The log fields of the present task: request, operation, mandate, and the trace of a call that
    is traced.
    """
    about, span = _ABOUT.get(), current_span()
    return about if span is None else {**about, "trace_id": span.trace_id}


class log_context:  # noqa: N801  # it reads as the statement that it is
    """Say it, for what runs inside."""

    __slots__ = ("_names", "_token")
    _token: Token[Mapping[str, str]]

    def __init__(self, **names: str):
        self._names = names

    def __enter__(self) -> None:
        self._token = _ABOUT.set({**_ABOUT.get(), **self._names})

    def __exit__(self, *_: object) -> None:
        _ABOUT.reset(self._token)


def mandate_of(arguments: Mapping[str, object]) -> Mapping[str, str]:
    """The mandate that a call names, where it is the form of one."""
    name = arguments.get("public_id")
    known = isinstance(name, str) and _MANDATE.fullmatch(name)
    return {"mandate": str(name)} if known else _NOTHING
