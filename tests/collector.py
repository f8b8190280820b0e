"""A collector of OTLP over HTTP on a port of this machine: it decodes what comes, and can be silent."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.waiting import STUCK_S


@dataclass(frozen=True)
class Seen:
    """One span as it arrived; ids in hex, "" for none."""

    name: str
    kind: str
    trace: str
    id: str
    parent: str
    links: list[str]
    failed: bool
    attributes: dict[str, str | int]


@dataclass
class Collector:
    """What arrived so far. While it does not `answer`, each sender waits."""

    port: int = 0
    spans: list[Seen] = field(default_factory=list)
    service: dict[str, str | int] = field(default_factory=dict)
    raw: list[bytes] = field(default_factory=list)
    answer: threading.Event = field(default_factory=threading.Event)
    _more: threading.Condition = field(default_factory=threading.Condition)

    @property
    def settings(self) -> dict[str, str]:
        """The environment of a process that sends here, at once and in small pieces."""
        return {
            "WALLET_TRACES": "on",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.port}",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        }

    def take(self, body: bytes) -> None:
        told = ExportTraceServiceRequest.FromString(body)
        with self._more:
            self.raw.append(body)
            for resource in told.resource_spans:
                self.service |= {a.key: _value(a.value) for a in resource.resource.attributes}
                for scope in resource.scope_spans:
                    self.spans += [_seen(span) for span in scope.spans]
            self._more.notify_all()

    def until(self, name: str) -> Seen:
        """The first span of a name, once it is there."""
        with self._more:
            arrived = self._more.wait_for(
                lambda: [s for s in self.spans if s.name == name], STUCK_S
            )
        assert arrived, [s.name for s in self.spans]
        return arrived[0]

    def children(self, parent: Seen) -> list[Seen]:
        return [s for s in self.spans if s.parent == parent.id]


def _value(value: object) -> str | int:
    kind = value.WhichOneof("value")  # type: ignore[attr-defined]
    found: str | int = getattr(value, kind)
    return found


def _seen(span: Span) -> Seen:
    return Seen(
        span.name, Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(), span.trace_id.hex(),
        span.span_id.hex(), span.parent_span_id.hex(), [link.trace_id.hex() for link in span.links],
        span.status.code == 2, {a.key: _value(a.value) for a in span.attributes},
    )  # fmt: skip


@contextmanager
def collecting() -> Iterator[Collector]:
    """Listen until the end."""
    collector = Collector()
    collector.answer.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            collector.answer.wait(STUCK_S)
            collector.take(body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    collector.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        collector.answer.set()
        server.shutdown()
        thread.join(STUCK_S)
        server.server_close()
