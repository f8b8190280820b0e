"""Traces by OpenTelemetry: the spans of calls, handed to a collector beside the work.

The library is an extra, and loaded where `WALLET_TRACES` is on. What it is set by are its own
variables (`OTEL_…`), which it reads itself.
"""

from __future__ import annotations

import threading
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from domain.spans import Attributes, SpanKind
from server.settings import Settings
from tools.model.switches import is_on

if TYPE_CHECKING:
    from opentelemetry import trace

# Of a process that ends, which has two seconds in all: a collector that is away is left without.
LAST_S: Final = 0.5


class OtelSpan:
    """A span of OpenTelemetry."""

    __slots__ = ("_span", "_tracer")

    def __init__(self, tracer: OtelTracer, span: trace.Span):
        self._tracer, self._span = tracer, span

    @property
    def trace_id(self) -> str:
        """The trace that it belongs to."""
        return format(self._span.get_span_context().trace_id, "032x")

    def child(self, name: str, kind: SpanKind, attributes: Attributes) -> OtelSpan:
        """Begin a part of it."""
        return OtelSpan(self._tracer, self._tracer.child(self._span, name, kind, attributes))

    def rename(self, name: str) -> None:
        """Name it anew."""
        self._span.update_name(name)

    def add(self, attributes: Attributes) -> None:
        """Tell more of it."""
        self._span.set_attributes(attributes)

    def end(self, error: str | None = None) -> None:
        """End it; it is queued, and sent by a thread of its own."""
        if error is not None:
            self._tracer.mark_failed(self._span, error)
        self._span.end()


class OtelTracer:
    """A `domain.spans.Tracer` whose spans go to the collector of `OTEL_EXPORTER_OTLP_ENDPOINT`, or
    to an endpoint.

    What ends is put into a queue of `OTEL_BSP_MAX_QUEUE_SIZE` spans; where that is full it is lost,
    and nothing waits. It is no global provider: what libraries trace of themselves stays out, as
    nobody here has looked what they tell.
    """

    def __init__(self, endpoint: str | None = None) -> None:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        released = version("mandate-wallet")
        ours = {"service.name": "wallet", "service.version": released}
        # What the operator names in OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES stands above.
        about = Resource.create({**ours, **OTELResourceDetector().detect().attributes})
        self._provider = TracerProvider(resource=about, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
        self._tracer = self._provider.get_tracer("wallet", released)
        self._trace, self._carried = trace, TraceContextTextMapPropagator()
        self._kinds = {
            "server": trace.SpanKind.SERVER,
            "client": trace.SpanKind.CLIENT,
            "internal": trace.SpanKind.INTERNAL,
        }

    def begin(
        self, name: str, kind: SpanKind, attributes: Attributes, *, parent: str = "", link: str = ""
    ) -> OtelSpan | None:
        """Begin a trace; None where it is not sampled (`OTEL_TRACES_SAMPLER`)."""
        cause = self._trace.get_current_span(self._carried.extract({"traceparent": link}))
        seen = cause.get_span_context()
        span = self._tracer.start_span(
            name,
            context=self._carried.extract({"traceparent": parent}),
            kind=self._kinds[kind],
            attributes=attributes,
            links=[self._trace.Link(seen)] if seen.is_valid else (),
        )
        return OtelSpan(self, span) if span.is_recording() else None

    def child(
        self, parent: trace.Span, name: str, kind: SpanKind, attributes: Attributes
    ) -> trace.Span:
        """Begin a part of a span."""
        context = self._trace.set_span_in_context(parent)
        return self._tracer.start_span(
            name, context=context, kind=self._kinds[kind], attributes=attributes
        )

    def mark_failed(self, span: trace.Span, error: str) -> None:
        """Tell that a span ends with an error of a kind."""
        span.set_attribute("error.type", error)
        span.set_status(self._trace.StatusCode.ERROR)

    async def close(self) -> None:
        """Send what is queued, for half a second at the most."""
        sending = threading.Thread(target=self._provider.shutdown, name="last-spans", daemon=True)
        sending.start()
        await to_thread.run_sync(sending.join, LAST_S)


def tracer_of(settings: Settings) -> OtelTracer | None:
    """The tracer of a process, where it is switched on."""
    return OtelTracer() if is_on(settings.traces) else None
