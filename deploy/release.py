"""Build a release into a folder: `python deploy/release.py FOLDER`.

Two builds of one commit are equal byte for byte. Beside the sdist and the wheel stand:
`requirements.txt`, the wheel and everything that it needs, each with its hashes, for pip;
`requirements-otel.txt`, what traces need beyond that, with hashes too;
`constraints.txt`, all these versions without hashes, for tools that take no hashes (pipx, uv tool);
`SHA256SUMS`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def commit_time() -> str:
    """Seconds of the Unix epoch that the files of a release carry."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    command = ["git", "log", "-1", "--format=%ct"]
    return given or subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()  # fmt: skip


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def built(source: Path, kind: str, folder: Path) -> Path:
    """A distribution of one kind, out of a source tree."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    env = os.environ | {"SOURCE_DATE_EPOCH": commit_time()}
    subprocess.run(command, cwd=source, env=env, check=True, stdout=subprocess.DEVNULL)
    (made,) = folder.glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return made


def release(folder: Path) -> None:
    """Build everything that is published, into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sdist = built(ROOT, "sdist", folder)
    # Out of the sdist: what is published as source is what the wheel is made of.
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(sdist) as archive:
        archive.extractall(scratch, filter="data")
        (source,) = Path(scratch).iterdir()
        built(source, "wheel", folder)
    (wheel,) = folder.glob("*.whl")
    lock = (ROOT / "locks" / "run.txt").read_text()
    ours = f"./{wheel.name} \\\n    --hash=sha256:{digest(wheel)}\n"
    (folder / "requirements.txt").write_text(ours + lock)
    traces = (ROOT / "locks" / "otel.txt").read_text()
    (folder / "requirements-otel.txt").write_text(traces)
    pins = dict.fromkeys(p.strip() for p in re.findall(r"(?m)^[\w.-]+==[^\\\n]+", lock + traces))
    (folder / "constraints.txt").write_text("".join(f"{pin}\n" for pin in pins))
    sums = [f"{digest(path)}  {path.name}\n" for path in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(sums))


if __name__ == "__main__":
    release(Path(sys.argv[1]).resolve())
