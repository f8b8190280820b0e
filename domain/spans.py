"""Spans: the pieces of work that one call is made of, for whoever traces it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, ContextVar, Token
from types import TracebackType
from typing import Final, Literal, Protocol, TypeAlias

SpanKind: TypeAlias = Literal["server", "client", "internal"]
Attributes: TypeAlias = Mapping[str, str | int]
"""What a span tells, by the names of OpenTelemetry's semantic conventions: no secret, no address,
no amount, no value of a statement.
"""


class Span(Protocol):
    """A piece of work that began and did not end yet."""

    @property
    def trace_id(self) -> str:
        """The trace that it belongs to: 32 digits of hex."""
        ...

    def child(self, name: str, kind: SpanKind, attributes: Attributes) -> Span:
        """Begin a part of it."""
        ...

    def rename(self, name: str) -> None:
        """Name it anew."""
        ...

    def add(self, attributes: Attributes) -> None:
        """Tell more of it."""
        ...

    def end(self, error: str | None = None) -> None:
        """End it; `error` is what kind of error it ended with."""
        ...


class Tracer(Protocol):
    """Begins traces."""

    def begin(
        self, name: str, kind: SpanKind, attributes: Attributes, *, parent: str = "", link: str = ""
    ) -> Span | None:
        """Begin a trace, None where this one is not to be kept. `parent` and `link` have the form
        of W3C's `traceparent`: of whom the work is a part, and of whom it only is caused.
        """
        ...


_CURRENT: Final[ContextVar[Span | None]] = ContextVar("span", default=None)


def current_span() -> Span | None:
    """The span that the present task works for; None where nothing is traced."""
    return _CURRENT.get()


def span_in(context: Context) -> Span | None:
    """The span that a context was copied under."""
    return context.get(_CURRENT)


def spans_in(contexts: Iterable[Context]) -> tuple[Span, ...]:
    """The spans of some contexts, each once: what is done for several calls together is a part of
    every one of them.
    """
    spans = (context.get(_CURRENT) for context in contexts)
    return tuple({id(span): span for span in spans if span is not None}.values())


def enter(span: Span | None) -> Token[Span | None]:
    """Make it the current one of the present task, until `leave`."""
    return _CURRENT.set(span)


def leave(token: Token[Span | None]) -> None:
    """Undo an `enter` of the same task."""
    _CURRENT.reset(token)


class part:  # noqa: N801  # it reads as the statement that it is
    """A part of the current span for what runs inside, and the current one there; where nothing is
    traced it does nothing and gives None. An exception that leaves it is its error, by its name.
    """

    __slots__ = ("_attributes", "_kind", "_name", "_span", "_token")
    _token: Token[Span | None]

    def __init__(self, name: str, kind: SpanKind, attributes: Attributes):
        self._name, self._kind, self._attributes = name, kind, attributes
        self._span: Span | None = None

    def __enter__(self) -> Span | None:
        current = _CURRENT.get()
        if current is not None:
            self._span = current.child(self._name, self._kind, self._attributes)
            self._token = _CURRENT.set(self._span)
        return self._span

    def __exit__(
        self, kind: type[BaseException] | None, _: object, __: TracebackType | None
    ) -> None:
        if self._span is not None:
            _CURRENT.reset(self._token)
            self._span.end(None if kind is None else kind.__name__)


class part_of_each:  # noqa: N801
    """A part of several spans at once, for what is done for all of them together."""

    __slots__ = ("_parts",)

    def __init__(
        self, spans: Iterable[Span], name: str, kind: SpanKind, attributes: Attributes
    ) -> None:
        self._parts = [span.child(name, kind, attributes) for span in spans]

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, _: object, __: TracebackType | None
    ) -> None:
        for span in self._parts:
            span.end(None if kind is None else kind.__name__)


@contextmanager
def trace(tracer: Tracer | None, name: str) -> Iterator[None]:
    """A trace of its own for what runs inside, where there is a tracer."""
    span = None if tracer is None else tracer.begin(name, "internal", {})
    if span is None:
        yield
        return
    token, error = enter(span), None
    try:
        yield
    except BaseException as raised:
        error = type(raised).__name__
        raise
    finally:
        leave(token)
        span.end(error)
