"""The vendored files are what their sources and lock make, byte for byte."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from app import assets
from tests import npm

FOLDER = Path(__file__).parents[2] / "app" / "vendor"


@pytest.mark.node
@pytest.mark.slow
@pytest.mark.skipif(bool(npm.missing()), reason=npm.missing())
@pytest.mark.parametrize("name", ["eth", "order"])
def test_a_vendored_file_is_built_byte_for_byte_from_its_lock(name: str) -> None:
    esbuild = npm.install(FOLDER) / ".bin" / "esbuild"
    built = subprocess.run(
        [str(esbuild), f"{name}.mjs", "--bundle", "--minify", "--format=esm", "--target=es2022"],
        cwd=FOLDER, capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    assert built.stdout == assets.FILES[f"vendor/{name}.js"]
