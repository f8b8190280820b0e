"""What is declared is what is imported: the service's dependencies by the service, an extra's by what needs it."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from server.cli import development
from tests.house.sources import PACKAGES, PROJECT, ROOT, nodes, paths

# Packages that only an installation with an extra can run.
EXTRA_OF: Mapping[str, str] = {"devtools": development.EXTRA}
SERVICE = tuple(p for p in PACKAGES if p not in EXTRA_OF)

# Dependencies that no line of ours imports, and who does.
IMPORTED_BY_OTHERS: Mapping[str, str] = {
    "coincurve": "eth-keys, as the part of it that signs fast",
    "tzdata": "zoneinfo, where the machine has no zones of its own",
}

# Extras of one part of the service, which says itself what is missing.
OPTIONAL: Mapping[str, str] = {
    "keyring": "the agent's key on its own machine",
    "otel": "traces to a collector",
}

# Modules of a namespace that several distributions share, and whose they are.
SHARED: Mapping[str, str] = {
    "opentelemetry": "opentelemetry-api",
    "opentelemetry.trace.propagation.tracecontext": "opentelemetry-api",
    "opentelemetry.sdk.resources": "opentelemetry-sdk",
    "opentelemetry.sdk.trace": "opentelemetry-sdk",
    "opentelemetry.sdk.trace.export": "opentelemetry-sdk",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter": "opentelemetry-exporter-otlp-proto-http",
}

PRE_RELEASE = re.compile(r"\d(a|b|rc|\.dev)\d")


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _names(requirements: Iterable[str]) -> set[str]:
    return {_plain(re.split(r"[\[<>=!~; ]", text)[0]) for text in requirements}


def _modules(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def _imported(packages: Iterable[str]) -> set[str]:
    """The distributions that packages of ours import, wherever in a module."""
    modules = {module for path in paths(*packages) for module in _modules(path)}
    roots = {module.partition(".")[0] for module in modules - SHARED.keys()}
    offered = packages_distributions()
    theirs = roots - set(PACKAGES) - sys.stdlib_module_names
    shared = {SHARED[module] for module in modules & SHARED.keys()}
    return shared | {_plain(name) for root in theirs for name in offered[root]}


DECLARED = _names(PROJECT["project"]["dependencies"])
EXTRAS = {n: _names(of) for n, of in PROJECT["project"]["optional-dependencies"].items()}


@pytest.mark.slow
def test_the_service_declares_what_it_imports_and_nothing_else() -> None:
    optional = {name for extra in OPTIONAL for name in EXTRAS[extra]}
    assert _imported(SERVICE) - optional == DECLARED - set(IMPORTED_BY_OTHERS)
    assert optional <= _imported(SERVICE)
    assert set(IMPORTED_BY_OTHERS) <= DECLARED, "an exception that nothing needs any more"


@pytest.mark.slow
@pytest.mark.parametrize("extra", sorted(set(EXTRAS) - set(OPTIONAL)))
def test_an_extra_has_what_its_packages_import_beyond_the_service(extra: str) -> None:
    packages = [package for package, name in EXTRA_OF.items() if name == extra]
    assert _imported(packages) - DECLARED == EXTRAS[extra]


def test_every_extra_is_some_packages() -> None:
    assert set(EXTRAS) == set(EXTRA_OF.values()) | set(OPTIONAL)


# By whose absence the extra is found to be missing; libraries of the service may bring the rest.
TOLD_MISSING = {_plain(n) for n in packages_distributions()[development.LIBRARY]}


def test_what_tells_a_missing_extra_is_of_it() -> None:
    assert TOLD_MISSING
    assert EXTRAS[development.EXTRA] >= TOLD_MISSING


def test_the_service_runs_on_final_releases() -> None:
    pinned = re.findall(r"(?m)^[\w.-]+==[^ ;\\]+", (ROOT / "locks" / "run.txt").read_text())
    stated = [text for text in PROJECT["project"]["dependencies"] if PRE_RELEASE.search(text)]
    assert stated == []
    assert not _names(pinned) & TOLD_MISSING
    assert {
        _plain(p.partition("==")[0]) for p in pinned if PRE_RELEASE.search(p)
    } & DECLARED == set()
