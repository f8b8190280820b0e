"""The project's own files, each parsed once for all tests of the house."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES: tuple[str, ...] = tuple(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def paths(*folders: str) -> list[Path]:
    """The Python files of some folders, of all shipped packages by default."""
    return [p for f in folders or PACKAGES for p in sorted((ROOT / f).rglob("*.py"))]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree(path)))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def calls_of(*functions: str) -> Iterator[tuple[Path, ast.Call]]:
    """Every call of a function by its bare name."""
    for path in paths():
        if any(name in path.read_text() for name in functions):
            for node in nodes(path):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") in functions:
                    yield path, node


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())
