"""The Containerfile as instructions, and its steps run without a container tool: each stage is a folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.house.sources import ROOT

FILE = ROOT / "Containerfile"
# Folders of the image; in a step each stands below the folder of its stage.
PLACES = re.compile(r"(?<![\w./])(?=/(?:src|opt|var/lib|run)\b)")


@dataclass(frozen=True)
class Step:
    """One instruction with its arguments."""

    name: str
    text: str


def steps(text: str | None = None) -> list[Step]:
    """Every instruction, in its order; a line that ends in a backslash goes on in the next."""
    lines = [n for n in (text or FILE.read_text()).splitlines() if not n.lstrip().startswith("#")]
    whole = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [Step(name, " ".join(rest.split())) for name, _, rest in (n.partition(" ") for n in whole) if name]  # fmt: skip


def defaults() -> dict[str, str]:
    """What the ARGs before the first FROM are unless a build says otherwise."""
    return dict(s.text.split("=", 1) for s in steps() if s.name == "ARG" and "=" in s.text)


def filled(text: str) -> str:
    """A text with the ARGs' defaults in it."""
    return re.sub(r"\$\{(\w+)\}", lambda m: defaults()[m[1]], text)


def context() -> list[str]:
    """The tracked files that a build is given: `.dockerignore` leaves the others out."""
    rules = [n for n in (ROOT / ".dockerignore").read_text().split("\n") if n and n[0] != "#"]
    kept = [rule[1:] for rule in rules if rule.startswith("!")]
    left = [rule for rule in rules if rule[0] not in "!*"]
    assert rules[0] == "*"
    assert set(rules) == {"*", *(f"!{n}" for n in kept), *left, "**/__pycache__"}
    done = subprocess.run(["git", "ls-files", "-z", *kept], cwd=ROOT, check=True, capture_output=True, text=True)  # fmt: skip
    names = done.stdout.split("\0")[:-1]
    return [n for n in names if not n.startswith(tuple(f"{folder}/" for folder in left))]


@cache
def python() -> Path | None:
    """An interpreter in the place of the image's, that other users can run too."""
    for path in map(Path, ("/usr/local/bin/python3", "/usr/bin/python3")):
        test = "import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))"
        if path.exists() and subprocess.run([path, "-c", test], check=False, capture_output=True).returncode == 0:  # fmt: skip
            return path
    return None


@dataclass
class Stage:
    """A stage of the build: its root, where it works, and what its environment holds."""

    root: Path
    workdir: str = "/"
    env: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)

    def inside(self, path: str) -> Path:
        """Where a path of the image is on this machine."""
        return self.root / os.path.normpath(os.path.join(self.workdir, path)).lstrip("/")

    def placed(self, text: str) -> str:
        """A command with the image's folders where they are here."""
        return PLACES.sub(str(self.root), text)

    def environment(self, reach: dict[str, str]) -> dict[str, str]:
        """The image's, with the base's interpreter as `python`, and how packages are reached."""
        path = self.placed(self.env.get("PATH", "/usr/local/bin:/usr/bin:/bin"))
        env = {n: self.placed(v) for n, v in self.env.items()} | reach
        return env | {"PATH": f"{path.partition(':')[0]}:{self.root.parent / 'base'}:{path}"}


def _copy(stage: Stage, stages: dict[str, Stage], text: str) -> None:
    words = shlex.split(text)
    source = re.fullmatch(r"--from=(\w+)", words[0])
    *names, target = words[1:] if source else words
    for name in names:
        if source:
            tree = stages[source[1]].inside(name)
            # The scripts of an environment name its interpreter by where it was made.
            shutil.copytree(tree, stage.inside(target), symlinks=True)
            for script in (stage.inside(target) / "bin").iterdir():
                if script.is_file() and not script.is_symlink():
                    text = script.read_text()
                    script.write_text(text.replace(str(tree), str(stage.inside(target))))
            continue
        for file in context() if name == "." else [name]:
            to = stage.inside(f"{target}/{file if name == '.' else Path(file).name}")
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, to)


def build(folder: Path, reach: dict[str, str]) -> Stage:
    """Every step, in a folder; the last stage. Errors: AssertionError where a step fails."""
    (folder / "base").mkdir()
    (folder / "base" / "python").symlink_to(python() or "python3")
    stages: dict[str, Stage] = {}
    stage = Stage(folder / "none")
    for step in steps():
        if step.name == "FROM":
            name = step.text.partition(" AS ")[2] or "final"
            stage = stages[name] = Stage(folder / name)
            stage.root.mkdir()
        elif step.name == "WORKDIR":
            stage.workdir = step.text
            stage.inside(".").mkdir(parents=True, exist_ok=True)
        elif step.name == "COPY":
            _copy(stage, stages, step.text)
        elif step.name == "ENV":
            stage.env |= dict(word.split("=", 1) for word in shlex.split(step.text))
        elif step.name == "RUN":
            done = subprocess.run(
                ["/bin/sh", "-ec", stage.placed(step.text)], cwd=stage.inside("."), env=stage.environment(reach),
                capture_output=True, text=True, timeout=600, check=False,
            )  # fmt: skip
            assert done.returncode == 0, f"{step}\n{done.stderr[-3_000:]}"
        else:
            stage.metadata[step.name] = step.text
    return stage


def argv(text: str) -> list[str]:
    """The words of an exec form. Errors: ValueError for a shell form."""
    words: list[str] = json.loads(text)
    return words


def last_uid() -> str:
    """The user and group of the image."""
    return [s.text for s in steps() if s.name == "USER"][-1]
