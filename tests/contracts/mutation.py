"""A mutation run over the contracts: each change of `mutants.py` must be noticed by a contract test.

`python -m tests.contracts.mutation` compiles every change with the pinned compiler, first without
the optimizer, and runs the contract tests on revm, in a fork of a session that collected them once:
those first that are quick and noticed changes of the same function, until one fails. What no test
notices is compiled again as it would be shipped. Where that gives the bytes of the sources, the
change is equivalent; else the tests run again, and on the embedded EVM those that revm cannot run.
It survives where every one passes. Gas figures and searches are left out: they would notice a
change by its size, or by chance.

What was found is kept in `build/mutants.jsonl`, and holds as long as the sources and the tests that
found it are the same: a run that was interrupted goes on. Those of `contracts/survivors.txt` are
known to change nothing that can be seen; another survivor fails the run.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import cache
from hashlib import sha256
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any, Final

import pytest

from chain.contracts import signatures
from tests import npm
from tests.contracts import harness
from tests.contracts.mutants import CONTRACTS, KNOWN, SOURCES, Mutant, mutants_of

TESTS: Final = (
    "edges",
    "vault",
    "records",
    "observations",
    "pressed_probe",
    "approvals",
    "factory",
    "threats",
    "safe",
    "purse",
)
HERE: Final = Path(__file__).parent
KEPT: Final = harness.ROOT / "build" / "mutants.jsonl"
TIME_LIMIT_S: Final = 600
FORK: Final = multiprocessing.get_context("fork")
NOTICED, SURVIVES, EQUIVALENT, VOID = "noticed", "survives", "equivalent", "does not compile"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What came of one change: `by` is the test that noticed it, `tests` the digest of the tests on
    which the verdict rests, `seconds` what it took.
    """

    name: str
    place: str
    outcome: str
    by: str
    tests: str
    seconds: float


class Compiler:
    """The wasm compiler, kept running."""

    def __init__(self) -> None:
        node = shutil.which("node")
        assert node is not None
        self._process: Any = subprocess.Popen(
            [node, "compile.mjs"],
            cwd=CONTRACTS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def compiled(self, mutant: Mutant | None, *, fast: bool) -> dict[str, str]:
        """Bytecode by contract, of the sources as they are, or of those that a change is part of;
        empty where it does not compile.
        """
        stdin: IO[str] = self._process.stdin
        asked = {"file": mutant.file, "content": mutant.source()} if mutant else {}
        stdin.write(json.dumps(asked | {"fast": fast}) + "\n")
        stdin.flush()
        told: dict[str, str] = json.loads(self._process.stdout.readline())["contracts"]
        return told

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


# -- a worker ------------------------------------------------------------------------------------


class Seen:
    """What the tests of a fork told."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self.took: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.took[report.nodeid] = self.took.get(report.nodeid, 0) + report.duration
        if report.failed:
            self.failed.append(report.nodeid)


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a run of tests came to: the test that failed first, all that failed, seconds of each."""

    failed: tuple[str, ...] = ()
    took: Mapping[str, float] = field(default_factory=dict)

    @property
    def by(self) -> str:
        return self.failed[0] if self.failed else ""


class Worker:
    """A pytest session that runs its tests once a change instead of once.

    It tells first what the unchanged sources came to, then answers (change, order of the tests) by
    (outcome, test that noticed it); None ends it.
    """

    def __init__(self, request: Connection):
        self._asked, self._seen = request, Seen()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        session.config.pluginmanager.register(self._seen)
        self._compiler, self._items = Compiler(), session.items
        self._same = {fast: self._compiler.compiled(None, fast=fast) for fast in (True, False)}
        told = self._run(self._items, self._same[True], revm=True, whole=True)
        self._theirs = [i for i in self._items if i.nodeid in told.failed]
        self._ours = [i for i in self._items if i.nodeid not in told.failed]
        failed = self._run(self._theirs, self._same[False], revm=False).by
        failed = failed or self._run(self._ours, self._same[False], revm=True).by
        self._asked.send((failed, told.took))
        while (task := self._asked.recv()) is not None:
            self._asked.send(self._judged(*task))
        self._compiler.close()
        return True

    def _judged(self, mutant: Mutant, order: Mapping[str, float]) -> tuple[str, str]:
        changed = self._compiler.compiled(mutant, fast=True)
        if not changed:
            return VOID, ""
        bytecode = self._same[True] | changed
        ours = sorted(self._ours, key=lambda item: -order.get(item.nodeid, 0))
        if bytecode != self._same[True] and (by := self._run(ours, bytecode, revm=True).by):
            return NOTICED, by
        bytecode = self._same[False] | self._compiler.compiled(mutant, fast=False)
        if bytecode == self._same[False]:
            return EQUIVALENT, ""
        by = self._run(ours, bytecode, revm=True).by
        by = by or self._run(self._theirs, bytecode, revm=False).by
        return (NOTICED, by) if by else (SURVIVES, "")

    def _run(
        self,
        items: Sequence[pytest.Item],
        bytecode: Mapping[str, str],
        *,
        revm: bool,
        whole: bool = False,
    ) -> Told:
        """The tests against other contracts, in a fork; up to the first that fails, or all."""
        ours, theirs = multiprocessing.Pipe()
        with tempfile.TemporaryDirectory() as folder:
            for name, code in bytecode.items():
                changed = dict(harness.artifact(name)) | {"bytecode": "0x" + code}
                (Path(folder) / f"{name}.json").write_text(json.dumps(changed))
            child = FORK.Process(target=self._forked, args=(items, folder, revm, whole, theirs))
            child.start()
            theirs.close()
            try:
                told = ours.recv() if ours.poll(TIME_LIMIT_S) else Told(failed=("the time limit",))
            except EOFError:
                told = Told(failed=("a crash",))
            child.kill()
            child.join()
        assert isinstance(told, Told)
        return told

    def _forked(
        self,
        items: Sequence[pytest.Item],
        folder: str,
        revm: bool,
        whole: bool,
        answer: Connection,
    ) -> None:
        harness.FOLDERS = (Path(folder), *harness.FOLDERS)  # type: ignore[misc]
        for cached in (harness.artifact, harness.entries, harness.errors):
            cached.cache_clear()
        signatures.artifact = harness.artifact
        if revm:
            from tests.contracts.revm import RevmEvm  # only here, where pyrevm is installed

            harness.Evm = RevmEvm  # type: ignore[misc]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._seen.failed and not whole:
                break
        answer.send(Told(failed=tuple(self._seen.failed), took=self._seen.took))


def work(request: Connection) -> None:
    """Be a worker, until nothing is left to do; silent, what goes wrong aside."""
    with Path(os.devnull).open("w") as quiet:
        os.dup2(quiet.fileno(), 1)
    files = [str(HERE / f"test_{name}.py") for name in TESTS]
    loaded = (
        "ignore::pytest.PytestAssertRewriteWarning"  # this process is a fork: plugins are there
    )
    told = ["-q", "-n", "0", "-m", "not slow", "-W", loaded, *files]
    code = pytest.main(told, plugins=[Worker(request)])
    os._exit(int(code))


# -- the run -------------------------------------------------------------------------------------


def digest(*texts: str) -> str:
    """A short name of texts."""
    return sha256("\0".join(texts).encode()).hexdigest()[:16]


@cache
def sources_digest() -> str:
    """Of all that decides about the bytecode."""
    told = [*sorted((CONTRACTS / "src").glob("*.sol")), CONTRACTS / "settings.mjs"]
    return digest(*(p.read_text() for p in [*told, CONTRACTS / "package-lock.json"]))


def tests_digest(by: str) -> str:
    """Of the tests on which a verdict rests: the file of the one that noticed, or all of them."""
    if "::" not in by:
        return all_tests_digest()
    return _text_digest((by.split("::")[0].rpartition("/")[2],))


def all_tests_digest() -> str:
    """Of all tests that judge."""
    return _text_digest(tuple(f"test_{name}.py" for name in TESTS))


@cache
def _text_digest(names: tuple[str, ...]) -> str:
    return digest(*((HERE / name).read_text() for name in ("harness.py", "conftest.py", *names)))


def known() -> frozenset[str]:
    """The names of the survivors that change nothing that can be seen."""
    return frozenset(line.split(" # ")[0] for line in KNOWN.read_text().splitlines())


@dataclass(kw_only=True)
class Run:
    """All verdicts so far, and what they teach about the tests: `took` is in seconds."""

    known: frozenset[str]
    asked: int
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    took: Mapping[str, float] = field(default_factory=dict)

    def order(self, mutant: Mutant) -> dict[str, float]:
        """What a second of each test is worth: what it noticed, above all in this function."""
        here, ever = Counter[str](), Counter[str]()
        for v in self.verdicts.values():
            if v.outcome == NOTICED:
                ever[v.by] += 1
                here[v.by] += v.place == mutant.place
        names = {*self.took, *ever}
        return {t: (0.1 + ever[t] / 10 + 5 * here[t]) / (0.1 + self.took.get(t, 1)) for t in names}

    def add(self, verdict: Verdict, *, verbose: bool) -> None:
        """Keep and print it."""
        self.verdicts[verdict.name] = verdict
        with KEPT.open("a") as file:
            file.write(json.dumps(asdict(verdict) | {"sources": sources_digest()}) + "\n")
        survives = verdict.outcome == SURVIVES
        if verbose or survives:
            said = "known to survive" if verdict.name in self.known else verdict.outcome
            by = f" by {verdict.by.split('::')[-1]}" * bool(verdict.by)
            done = f"{len(self.verdicts)}/{self.asked}"
            print(f"{done} {said}{by}, {verdict.seconds:.0f} s: {verdict.name}", flush=True)

    def score(self) -> int:
        """Print it, and the survivors; 1 where one of them is not known."""
        count = Counter(v.outcome for v in self.verdicts.values())
        alive = [v.name for v in self.verdicts.values() if v.outcome == SURVIVES]
        new = [name for name in alive if name not in self.known]
        seen = count[NOTICED] + len(alive)
        print(
            f"{count[NOTICED]} of {seen} changes are noticed ({count[NOTICED] / max(1, seen):.1%}); "
            f"{count[EQUIVALENT]} give the same bytes, {count[VOID]} do not compile; "
            f"survivors: {len(alive)}, not known: {len(new)}"
        )
        for name in alive:
            print(f"{'SURVIVES' if name in new else 'known'}: {name}")
        return 1 if new else 0


def restored(run: Run, chosen: Sequence[Mutant]) -> None:
    """Take up what an earlier run found and what still holds."""
    names, sources = {m.name for m in chosen}, sources_digest()
    for line in KEPT.read_text().splitlines() if KEPT.exists() else ():
        told = json.loads(line)
        if told.pop("sources") == sources and told["name"] in names:
            v = Verdict(**told)
            if v.outcome in (EQUIVALENT, VOID) or v.tests == tests_digest(v.by):
                run.verdicts[v.name] = v
            else:
                run.verdicts.pop(v.name, None)


class Judges:
    """Workers, each driven by a thread that hands it one change after another."""

    def __init__(self, run: Run, todo: Sequence[Mutant], *, workers: int, verbose: bool):
        self._run, self._todo, self._verbose = run, list(reversed(todo)), verbose
        self._lock = threading.Lock()
        self._workers = [self._started() for _ in range(min(workers, len(todo)))]

    @staticmethod
    def _started() -> Connection:
        ours, theirs = multiprocessing.Pipe()
        FORK.Process(target=work, args=(theirs,)).start()
        theirs.close()
        return ours

    def go(self) -> None:
        """Until every change has its verdict. Errors: AssertionError where the tests fail without
        any.
        """
        with ThreadPoolExecutor(max(1, len(self._workers))) as pool:
            list(pool.map(self._drive, self._workers))

    def _drive(self, worker: Connection) -> None:
        failed, took = worker.recv()
        assert not failed, f"without any change {failed} fails"
        self._run.took = took
        while True:
            with self._lock:
                if not self._todo:
                    break
                mutant = self._todo.pop()
                order = self._run.order(mutant)
            began = time.monotonic()
            worker.send((mutant, order))
            outcome, by = worker.recv()
            verdict = Verdict(
                name=mutant.name, place=mutant.place, outcome=outcome, by=by,
                tests=tests_digest(by), seconds=round(time.monotonic() - began, 1),
            )  # fmt: skip
            with self._lock:
                self._run.add(verdict, verbose=self._verbose)
        worker.send(None)


def main() -> int:
    """Print every survivor as it is found, then the score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", help="changes whose name holds this")
    parser.add_argument("--every", type=int, default=1, help="take every n-th change only")
    parser.add_argument("--fresh", action="store_true", help="forget what an earlier run found")
    parser.add_argument("--verbose", action="store_true", help="tell what notices each change")
    asked = parser.parse_args()
    npm.install(CONTRACTS)
    KEPT.parent.mkdir(exist_ok=True)
    if asked.fresh:
        KEPT.unlink(missing_ok=True)
    every = [m for file in SOURCES for m in mutants_of(file)]
    chosen = [m for m in every if not asked.only or asked.only in m.name][:: asked.every]
    run = Run(known=known(), asked=len(chosen))
    restored(run, chosen)
    todo = [m for m in chosen if m.name not in run.verdicts]
    if len(todo) < len(chosen):
        print(f"{len(chosen) - len(todo)} of {len(chosen)} verdicts of an earlier run still hold")
    Judges(run, todo, workers=asked.workers, verbose=asked.verbose).go()
    return run.score()


if __name__ == "__main__":
    sys.exit(main())
