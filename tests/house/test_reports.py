"""What a worker leaves out of its reports is what says nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal

import pytest

from tests import reports


def report(when: Literal["setup", "call", "teardown"], outcome: Any, said: str = "") -> Any:
    sections = [("Captured stdout", said)] if said else []
    return pytest.TestReport("a", ("a", 1, "a"), {}, outcome, None, when, sections)


PASSED = [report("setup", "passed"), report("call", "passed"), report("teardown", "passed")]


@pytest.mark.parametrize(
    ("three", "told"),
    [
        (PASSED, ["call"]),
        ([report("setup", "failed"), PASSED[2]], ["setup"]),
        ([report("setup", "skipped"), PASSED[2]], ["setup"]),
        ([PASSED[0], report("call", "failed"), report("teardown", "failed")], ["call", "teardown"]),
        ([PASSED[0], PASSED[1], report("teardown", "passed", "said")], ["call", "teardown"]),
    ],
)
def test_only_a_set_up_or_an_end_that_passed_in_silence_is_left_out(
    monkeypatch: pytest.MonkeyPatch, three: list[Any], told: list[str]
) -> None:
    heard = list[Any]()
    hook = SimpleNamespace(pytest_runtest_logreport=lambda report: heard.append(report))
    item: Any = SimpleNamespace(ihook=hook)
    monkeypatch.setattr(reports, "runtestprotocol", lambda *_, **__: three)
    assert reports._Briefly().pytest_runtest_protocol(item, None)
    assert [r.when for r in heard] == told
