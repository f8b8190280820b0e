"""Metrics: counters and timings of this process, in Prometheus' text form."""

from __future__ import annotations

from collections.abc import Mapping
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
        ProcessCollector(registry=own)
        Info("wallet_build", "This version.", registry=own).info(
            {"version": version("mandate-wallet")}
        )
        self._requests = Counter(
            "wallet_requests", "Answered requests.", ("method", "route", "status"), registry=own
        )
        self._request_seconds = Summary(
            "wallet_request_seconds", "Time spent in requests.", ("route",), registry=own
        )
        self._operations = Histogram(
            "wallet_operation_seconds",
            "Time from a call of an operation to its reply.",
            ("operation", "surface", "outcome"),
            buckets=_SECONDS,
            registry=own,
        )
        # Looking a label set up costs more than counting.
        self._counted: dict[tuple[str, str, int], tuple[Counter, Summary]] = {}
        self._called: dict[tuple[str, str, str], Histogram] = {}
        self._refusals = Counter(
            "wallet_refusals", "Refusals, by code.", ("code", "operation"), registry=own
        )
        self.malformed = Counter(
            "wallet_malformed", "Requests that are no well-formed HTTP.", registry=own
        )
        self._beside_calls(own)

    def _beside_calls(self, own: CollectorRegistry) -> None:
        """Periodic work, the loop, the database."""
        self._work = Histogram(
            "wallet_work_seconds",
            "Time of a round of periodic work: readers, keepers, roll-ups.",
            ("work", "outcome"),
            buckets=_SECONDS,
            registry=own,
        )
        self._well_at = Gauge(
            "wallet_work_succeeded_timestamp_seconds",
            "When a round of the work last went well.",
            ("work",),
            registry=own,
        )
        self.loop_lag = Histogram(
            "wallet_loop_lag_seconds",
            "How much later than due the event loop woke up.",
            buckets=_LAGS,
            registry=own,
        )
        self.store_seconds = Histogram(
            "wallet_store_seconds",
            "Time from handing work to the database to its answer, waiting included.",
            ("kind",),
            buckets=_SECONDS,
            registry=own,
        )
        self.store_queue = Gauge(
            "wallet_store_queue",
            "Work that waits for the database or runs.",
            ("kind",),
            registry=own,
        )
        self.store_unavailable = Counter(
            "wallet_store_unavailable",
            "Work that the database did not answer.",
            ("kind",),
            registry=own,
        )
        self.batch = Histogram(
            "wallet_store_batch",
            "Writes that were committed together.",
            buckets=_BATCHES,
            registry=own,
        )

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request; seconds as measured."""
        known = method if method in METHODS else "other"
        counted = self._counted.get((known, route, status))
        if counted is None:
            counted = self._counted[known, route, status] = (
                self._requests.labels(known, route, status),
                self._request_seconds.labels(route),
            )
        counted[0].inc()
        counted[1].observe(seconds)

    def refused(self, code: str, operation: str) -> None:
        """Count a refusal that no operation gave; `operation` is "" where none was found."""
        self._refusals.labels(code, operation).inc()

    def called(self, operation: str, surface: str, code: str | None, micros: int) -> None:
        """Count an operation's reply, and its refusal."""
        outcome = "ok" if code is None else "failed" if code == "internal" else "refused"
        labels = (operation, surface, outcome)
        counted = self._called.get(labels)
        if counted is None:
            counted = self._called[labels] = self._operations.labels(*labels)
        counted.observe(micros / 1_000_000)
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
