"""A mutation run over the contracts: small changes of the sources, each of which some test must notice.

`python -m tests.contracts.mutants` compiles every change with the pinned compiler, runs the contract tests against it on the
embedded EVM (gas figures and searches left out), prints the score and names the survivors. Those of `contracts/survivors.txt`
are known to change nothing that can be seen; another survivor fails the run.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import pytest

from tests import npm
from tests.contracts import harness

CONTRACTS: Final = harness.ROOT / "contracts"
SOURCES: Final = (
    "MandateVault.sol",
    "MandateVaultFactory.sol",
    "CallList.sol",
    "MandateTypes.sol",
    "VaultLens.sol",
)
TESTS: Final = ("vault", "pressed_probe", "approvals", "factory", "threats", "safe")
KNOWN: Final = CONTRACTS / "survivors.txt"
TIME_LIMIT_S: Final = 1_800

# A pattern, and what it becomes; binary operators stand between spaces in these sources.
SWAPS: Final = (
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" && ", " || "), (r" \|\| ", " && "), (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "),
    (r" \+= ", " -= "), (r" -= ", " += "), (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"Math\.max\(", "Math.min("),
    (r"Math\.min\(", "Math.max("), (r"(?<=[(& ])!(?=[a-zA-Z_])", ""),
)  # fmt: skip
NUMBER: Final = re.compile(r"(?<![\w.])(\d[\d_]*)(?![\w.])")
STATEMENT: Final = re.compile(
    r"^\s+(?:if \(.*\) (?:revert|return)\b.*;|(?:emit |_|USDC\.)?[\w.\[\]()]*(?: [-+|]?= |\().*;|return .*;|.* delete .*;)$"
)
DECLARATION: Final = re.compile(
    r"^\s*(?:uint|bool|bytes|address|IERC20|mapping|event|error|import|pragma|using|enum|struct|function|library|contract|\(|else)"
)


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change: `old` of a line becomes `new`."""

    file: str
    line: int
    text: str
    changed: str

    @property
    def name(self) -> str:
        """What stays the same when other lines move."""
        return f"{self.file}: {self.text.strip()} => {self.changed.strip() or '(nothing)'}"


def code_lines(source: str) -> Iterator[tuple[int, str]]:
    """The lines of functions, without comments, declarations of the outside and assembly."""
    depth, inside = 0, False
    for number, line in enumerate(source.splitlines()):
        code = line.split("//")[0].rstrip()
        if "assembly" in code:
            inside = True
        if (
            not inside
            and (depth >= 2 or "constant" in code)
            and code.strip()
            and not code.strip().startswith(("///", "error", "event", "import"))
        ):
            yield number, code
        depth += code.count("{") - code.count("}")
        if inside and code.strip() == "}":
            inside = False


def mutants_of(file: str) -> list[Mutant]:
    """Every change of one source."""
    source = (CONTRACTS / "src" / file).read_text()
    found: dict[tuple[int, str], Mutant] = {}

    def add(number: int, text: str, changed: str) -> None:
        if changed != text:
            found.setdefault(
                (number, changed), Mutant(file=file, line=number + 1, text=text, changed=changed)
            )

    for number, text in code_lines(source):
        for pattern, new in SWAPS:
            for hit in re.finditer(pattern, text):
                add(number, text, text[: hit.start()] + new + text[hit.end() :])
        if "0x" not in text:
            for hit in NUMBER.finditer(text):
                add(
                    number,
                    text,
                    text[: hit.start()] + str(int(hit[1].replace("_", "")) + 1) + text[hit.end() :],
                )
        if STATEMENT.match(text) and not DECLARATION.match(text):
            add(number, text, re.match(r"\s*", text)[0])  # type: ignore[index]
    return list(found.values())


class Compiler:
    """The wasm compiler, kept running."""

    def __init__(self) -> None:
        node = shutil.which("node")
        assert node is not None
        npm.install(CONTRACTS)
        self._process = subprocess.Popen(
            [node, "compile.mjs"],
            cwd=CONTRACTS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def compiled(self, mutant: Mutant) -> dict[str, str]:
        """Bytecode by contract; empty where the change does not compile."""
        lines = (CONTRACTS / "src" / mutant.file).read_text().splitlines()
        lines[mutant.line - 1] = mutant.changed
        process: Any = self._process
        stdin: IO[str] = process.stdin
        stdin.write(json.dumps({"file": mutant.file, "content": "\n".join(lines) + "\n"}) + "\n")
        stdin.flush()
        told: dict[str, str] = json.loads(process.stdout.readline())["contracts"]
        return told

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


class Order:
    """The tests that killed most come first, and the first that fails is told."""

    def __init__(self, kills: Counter[str]) -> None:
        self.kills = kills
        self.killer = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: -self.kills[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.killer:
            self.killer = report.nodeid


def judged(folder: str, kills: Counter[str], answer: Any) -> None:
    """In a process of its own: run the tests against the artifacts of `folder`."""
    with Path(os.devnull).open("w") as quiet:
        os.dup2(quiet.fileno(), 1)
        os.dup2(quiet.fileno(), 2)
    harness.FOLDERS = (Path(folder), *harness.FOLDERS)  # type: ignore[misc]
    for cached in (harness.artifact, harness.entries, harness.errors):
        cached.cache_clear()
    order = Order(kills)
    here = Path(__file__).parent
    files = [str(here / f"test_{name}.py") for name in TESTS]
    code = pytest.main(
        ["-x", "-q", "-n", "0", "-m", "not slow", "-p", "no:randomly", *files], plugins=[order]
    )
    answer.send((int(code), order.killer))


def killer_of(bytecode: dict[str, str], kills: Counter[str]) -> str:
    """The test that notices the change; empty where none does."""
    with tempfile.TemporaryDirectory() as folder:
        for name, code in bytecode.items():
            told = dict(harness.artifact(name)) | {"bytecode": "0x" + code}
            (Path(folder) / f"{name}.json").write_text(json.dumps(told))
        ours, theirs = multiprocessing.get_context("fork").Pipe()
        process = multiprocessing.get_context("fork").Process(
            target=judged, args=(folder, kills, theirs)
        )
        process.start()
        told = ours.recv() if ours.poll(TIME_LIMIT_S) else (1, "the time limit")
        process.kill()
        process.join()
    code, killer = told
    return killer or ("" if code == 0 else f"exit code {code}")


def original(file: str) -> Mutant:
    """No change at all: what the tests must pass."""
    first = (CONTRACTS / "src" / file).read_text().splitlines()[0]
    return Mutant(file=file, line=1, text=first, changed=first)


def main() -> int:
    """Print every survivor as it is found, then the score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="take every n-th change only")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="tell what notices each change")
    parser.add_argument(
        "--trust", action="store_true", help="do not run the unchanged contracts first"
    )
    parser.add_argument("--only", help="changes whose name holds this")
    asked = parser.parse_args()
    every = [m for file in SOURCES for m in mutants_of(file)]
    chosen = [m for m in every if not asked.only or asked.only in m.name][
        asked.start :: asked.every
    ]
    known = (
        {line.split(" # ")[0] for line in KNOWN.read_text().splitlines() if " # " in line}
        if KNOWN.exists()
        else set()
    )
    compiler, kills = Compiler(), Counter[str]()
    assert asked.trust or not killer_of(compiler.compiled(original(SOURCES[0])), kills), (
        "the tests fail without any change"
    )
    killed, survivors, void = 0, [], 0
    for n, mutant in enumerate(chosen):
        bytecode = compiler.compiled(mutant)
        if not bytecode:
            void += 1
            continue
        if killer := killer_of(bytecode, kills):
            kills[killer] += 1
            killed += 1
            if asked.verbose:
                print(
                    f"{n + 1}/{len(chosen)} noticed by {killer.split('::')[-1]}: {mutant.name}",
                    flush=True,
                )
            continue
        survivors.append(mutant)
        print(
            f"{n + 1}/{len(chosen)} {'known' if mutant.name in known else 'SURVIVES'} line {mutant.line} {mutant.name}",
            flush=True,
        )
    compiler.close()
    new = [m for m in survivors if m.name not in known]
    seen = killed + len(survivors)
    print(
        f"{killed} of {seen} changes are noticed ({killed / seen:.1%}); {void} do not compile; survivors: {len(survivors)}, not known: {len(new)}"
    )
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
