"""Counters of this process in Prometheus' text form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """Requests by method, route and status; time spent in them."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._micros: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request; seconds as measured. A caller's own method names do not become
        labels.
        """
        self._requests[(method if method in METHODS else "other", route, status)] += 1
        self._micros[route] += int(seconds * 1_000_000)
        self._seen[route] += 1

    def render(self, gauges: Mapping[str, int]) -> str:
        """The text a scraper reads."""
        lines = ["# TYPE wallet_requests_total counter"]
        for (method, route, status), n in sorted(self._requests.items()):
            lines.append(
                f'wallet_requests_total{{method="{method}",route="{route}",status="{status}"}} {n}'
            )
        lines.append("# TYPE wallet_request_seconds summary")
        for route, micros in sorted(self._micros.items()):
            lines.append(
                f'wallet_request_seconds_sum{{route="{route}"}} '
                f"{micros // 1_000_000}.{micros % 1_000_000:06d}"
            )
            lines.append(f'wallet_request_seconds_count{{route="{route}"}} {self._seen[route]}')
        for family in sorted({name.split("{")[0] for name in gauges}):
            lines.append(f"# TYPE {family} {'counter' if family.endswith('_total') else 'gauge'}")
            lines += [
                f"{name} {value}"
                for name, value in sorted(gauges.items())
                if name.split("{")[0] == family
            ]
        return "\n".join(lines) + "\n"
