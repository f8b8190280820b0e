"""The vendored files are what their sources and lock make, byte for byte; our own modules say the same as
they are sent."""

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


@pytest.mark.node
@pytest.mark.slow
@pytest.mark.skipif(bool(npm.missing()), reason=npm.missing())
def test_a_module_says_the_same_as_it_is_sent() -> None:
    esbuild = npm.install(FOLDER) / ".bin" / "esbuild"

    def smallest(body: bytes) -> bytes:
        made = subprocess.run(
            [str(esbuild), "--minify", "--format=esm", "--target=es2022"],
            input=body, capture_output=True, check=True, timeout=120,
        )  # fmt: skip
        return made.stdout

    for path in sorted((FOLDER.parent / "static" / "js").glob("*.js")):
        sent = assets.FILES[f"js/{path.name}"]
        assert len(sent) < path.stat().st_size, path.name
        assert smallest(sent) == smallest(path.read_bytes()), path.name
