"""The shape of the code: small modules, small functions, no circles, nothing that nobody calls."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES: tuple[str, ...] = tuple(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
MODULE_LINES, FUNCTION_LINES = 400, 60

# What is longer, and why it stays so.
LONGER: Mapping[str, str] = {
    "storage/migrations/versions/r0001_first_schema.py": "the schema, a table after the other",
    "storage/migrations/versions/r0001_first_schema.py::tables": "the schema",
}

# What is longer and should not be; nothing is added here.
TO_SPLIT = {
    "chain/evm.py",
    "domain/ledger/fold.py",
    "domain/ledger/positions.py",
    "domain/mandates/purpose/statements.py",
    "domain/refusals.py",
    "tools/keeper/intake.py::row_of",
    "tools/mandates/calls.py",
    "tools/mandates/drafts.py",
}

# What no line of shipped code names, and why it is there.
FOR_OTHERS: Mapping[str, str] = {
    "storage.verify.verify_export": "proves an export offline: for whoever was handed one",
}


def _sources() -> list[Path]:
    return [p for f in PACKAGES for p in sorted((ROOT / f).rglob("*.py"))]


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _module(path: Path) -> str:
    return _name(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def test_every_package_of_ours_is_listed() -> None:
    """Folders with Python in them are shipped packages, or are known to be something else."""
    folders = {p.parent.name for p in ROOT.glob("*/*.py")}
    assert folders - set(PACKAGES) == {"tests", "bench", "mcpb", "clients"}
    for path in _sources():
        assert (path.parent / "__init__.py").is_file(), path


def _longer() -> Iterator[tuple[str, int]]:
    for path in _sources():
        lines = len(path.read_text().splitlines())
        if lines > MODULE_LINES:
            yield _name(path), lines
        for node in ast.walk(_tree(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_LINES:
                    yield f"{_name(path)}::{node.name}", lines


def test_modules_and_functions_are_small() -> None:
    longer = dict(_longer())
    assert {n: lines for n, lines in longer.items() if n not in LONGER.keys() | TO_SPLIT} == {}
    assert set(LONGER) <= set(longer), "an exception that nothing needs any more"


def _imports(path: Path, known: set[str]) -> set[str]:
    """The modules of ours that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{a.name}" for a in node.names} & known
            found |= inner or {node.module}
    return found & known


def test_no_modules_import_each_other_in_a_circle() -> None:
    modules = {_module(p): p for p in _sources()}
    arrows = {name: _imports(path, set(modules)) - {name} for name, path in modules.items()}
    while leaves := {name for name, to in arrows.items() if not to & arrows.keys()}:
        arrows = {name: to for name, to in arrows.items() if name not in leaves}
    assert arrows.keys() == set()


def _definitions(path: Path) -> Iterator[str]:
    """Names that a module defines at its top and that somebody has to name to use them."""
    for node in _tree(path).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if not node.decorator_list:  # a decorator may have registered it
                yield node.name
        elif isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (t.id for t in node.targets if isinstance(t, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _words(path: Path) -> set[str]:
    """Names that a module uses, and the words of its short strings (entry points, annotations)."""
    used: set[str] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            used |= set(re.findall(r"\w+", node.value)) if len(node.value) < 200 else set()
    return used


def test_nothing_is_defined_that_nobody_calls() -> None:
    shipped = [p for p in _sources() if "versions" not in p.parts]
    used = {word for path in shipped for word in _words(path)} | {"__all__"}
    unused = {
        f"{_module(path)}.{name}"
        for path in shipped
        for name in _definitions(path)
        if name not in used
    }
    assert unused - set(FOR_OTHERS) == set()
    assert set(FOR_OTHERS) <= unused, "an exception that nothing needs any more"


@pytest.mark.parametrize("family", ["mandates", "acting", "agents", "public", "trading"])
def test_no_family_imports_another(family: str) -> None:
    others = {"mandates", "acting", "agents", "public", "trading", "signin"} - {family}
    known = {_module(p) for p in _sources()}
    for path in sorted((ROOT / "tools" / family).rglob("*.py")):
        seen = {m.split(".")[1] for m in _imports(path, known) if m.startswith("tools.")}
        assert not seen & others, path
