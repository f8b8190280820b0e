"""Lay out what an MCPB bundle holds: the manifest, the packages and what installs them."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def stage(target: Path) -> None:
    """Write the bundle's files into a folder that is made anew."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    manifest = json.loads((ROOT / "mcpb" / "manifest.json").read_text())
    manifest["version"] = PROJECT["project"]["version"]
    (target / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    for name in ("pyproject.toml", "LICENSE", "README.md"):
        shutil.copy(ROOT / name, target / name)
    ignored = shutil.ignore_patterns(
        "__pycache__", "*.pyc", "*.sqlite*", "node_modules", ".installing"
    )
    for package in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        shutil.copytree(ROOT / package, target / package, ignore=ignored)


if __name__ == "__main__":
    stage(Path(sys.argv[1]))
