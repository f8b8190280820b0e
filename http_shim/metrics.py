"""Metrics: counters and timings of this process, in Prometheus' text form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    Summary,
    disable_created_metrics,
)
from prometheus_client.exposition import generate_latest
from prometheus_client.process_collector import ProcessCollector

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# Seconds: from a read out of memory to the longest that anything waits for a database or a chain.
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_LAGS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
_BATCHES: Final = (1, 2, 4, 8, 16, 32, 64)

disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """The process's own figures, each under a label set of ours: no caller's word becomes one.

    It is the `tools.model.telemetry.Telemetry` of a process that serves or keeps.
    """

    def __init__(self) -> None:
        self.registry = own = CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, labels, registry=own)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(name, text, labels, registry=own)

        def histogram(
            name: str, text: str, *labels: str, buckets: Sequence[float] = _SECONDS
        ) -> Histogram:
            return Histogram(name, text, labels, buckets=buckets, registry=own)

        ProcessCollector(registry=own)
        build = {"version": version("mandate-wallet")}
        Info("wallet_build", "This version.", registry=own).info(build)
        requests = counter("wallet_requests", "Answered requests.", "method", "route", "status")
        text = "Time spent in requests."
        seconds = Summary("wallet_request_seconds", text, ("route",), registry=own)
        text, labels = "Time from a call of an operation to its reply.", ("operation", "surface")
        operations = histogram("wallet_operation_seconds", text, *labels, "outcome")
        # Looking a label set up costs more than counting.
        self._request = cache(lambda *of: (requests.labels(*of), seconds.labels(of[1])))
        self._call = cache(operations.labels)
        self._refusals = counter("wallet_refusals", "Refusals, by code.", "code", "operation")
        text = "Requests that are no well-formed HTTP."
        self.malformed = counter("wallet_malformed", text)
        # Beside the calls: periodic work, the loop, the database.
        text = "Time of a round of periodic work: readers, keepers, roll-ups."
        self._work = histogram("wallet_work_seconds", text, "work", "outcome")
        text = "When a round of the work last went well."
        self._well_at = gauge("wallet_work_succeeded_timestamp_seconds", text, "work")
        text = "How much later than due the event loop woke up."
        self.loop_lag = histogram("wallet_loop_lag_seconds", text, buckets=_LAGS)
        text = "Time from handing work to the database to its answer, waiting included."
        self.store_seconds = histogram("wallet_store_seconds", text, "kind")
        text = "Work that waits for the database or runs."
        self.store_queue = gauge("wallet_store_queue", text, "kind")
        text = "Work that the database did not answer."
        self.store_unavailable = counter("wallet_store_unavailable", text, "kind")
        text = "Writes that were committed together."
        self.batch = histogram("wallet_store_batch", text, buckets=_BATCHES)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request; seconds as measured."""
        known = method if method in METHODS else "other"
        number, time = self._request(known, route, str(status))
        number.inc()
        time.observe(seconds)

    def refused(self, code: str, operation: str) -> None:
        """Count a refusal that no operation gave; `operation` is "" where none was found."""
        self._refusals.labels(code, operation).inc()

    def called(self, operation: str, surface: str, code: str | None, micros: int) -> None:
        """Count an operation's reply, and its refusal."""
        outcome = "ok" if code is None else "failed" if code == "internal" else "refused"
        self._call(operation, surface, outcome).observe(micros / 1_000_000)
        if code is not None:
            self._refusals.labels(code, operation).inc()

    def worked(self, subject: str, micros: int, *, well: bool) -> None:
        """Count a round of periodic work."""
        self._work.labels(subject, "ok" if well else "failed").observe(micros / 1_000_000)
        if well:
            self._well_at.labels(subject).set_to_current_time()

    def render(self, gauges: Mapping[str, int]) -> str:
        """The text a scraper reads: what was counted, and figures that were asked for it."""
        lines = [generate_latest(self.registry).decode().rstrip("\n")]
        for family in sorted({name.split("{")[0] for name in gauges}):
            lines.append(f"# TYPE {family} {'counter' if family.endswith('_total') else 'gauge'}")
            lines += [
                f"{name} {value}"
                for name, value in sorted(gauges.items())
                if name.split("{")[0] == family
            ]
        return "\n".join(lines) + "\n"
