"""What the pages say of the code is so: every path is there, and the drawn rooms are the imported ones."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path, PurePosixPath

import grimp
import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINTER = PROJECT["tool"]["importlinter"]
TRACKED = set(
    subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    .stdout.split("\n")
)  # fmt: skip
KNOWN = TRACKED | {str(p) for name in TRACKED for p in PurePosixPath(name).parents}
PAGES = sorted(p for p in TRACKED if p.startswith("docs/") and p.endswith(".md"))
PAGES += ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
# What begins a path of the repository; other text with a slash is a route, a type, a repository.
MCP_METHODS = {"tools/call", "tools/list"}
TOPS = {name.split("/")[0] for name in TRACKED if "/" in name}


@pytest.mark.parametrize("page", PAGES)
def test_a_path_that_a_page_names_is_there(page: str) -> None:
    text, at = (ROOT / page).read_text(), os.path.dirname(page)
    quoted = [p.rstrip("/") for p in re.findall(r"`([\w.-]+(?:/[\w.-]+)*/?)`", text)]
    missing = [
        p for p in quoted if "/" in p and p.split("/")[0] in TOPS and p not in KNOWN | MCP_METHODS
    ]
    linked = re.findall(r"\]\((?![a-z]+:)([^)#\s]+)", text)
    missing += [p for p in linked if os.path.normpath(os.path.join(at, p)) not in KNOWN]
    assert missing == []


def arrows(package: str) -> set[tuple[str, str]]:
    """(who imports, what) between the modules and rooms that stand directly in a package."""
    graph, found = grimp.build_graph(package), set()
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            ways = [m.split(".")[1:2] for m in (module, other)]
            if all(ways) and ways[0] != ways[1]:
                found.add((ways[0][0], ways[1][0]))
    return {a for a in found if "migrations" not in a}


def floors(found: set[tuple[str, str]], box: str) -> int:
    return 1 + max((floors(found, b) for a, b in found if a == box), default=0)


@pytest.mark.parametrize("package", ["domain", "tools", "storage"])
def test_the_page_counts_the_imports_as_they_are(package: str) -> None:
    boxes = {
        p.stem
        for p in (ROOT / package).iterdir()
        if p.suffix == ".py" or (p / "__init__.py").is_file()
    } - {"__init__", "migrations"}
    found = arrows(package)
    most = max(floors(found, b) for b in boxes)
    said = re.search(rf"{package} (\d+) boxes[^;.]*?, (\d+) arrows, (\d+) floors", ARCHITECTURE)
    assert said is not None
    assert tuple(map(int, said.groups())) == (len(boxes), len(found), most)


@pytest.mark.parametrize("package", ["domain", "tools", "storage", "chain", "server", "devtools"])
def test_every_box_of_a_layers_contract_is_drawn(package: str) -> None:
    (contract,) = [c for c in LINTER["contracts"] if c.get("containers") == [package]]
    drawn = ARCHITECTURE.split(f"\n {package}\n")[1].split("\n\n")[0].split("```")[0]
    for layer in contract["layers"]:
        for box in layer.split(" | "):
            assert re.search(rf"\b{box}\b", drawn), box
