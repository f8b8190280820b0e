"""Playing the scenarios, and the matrix."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import anyio

from devtools.conform.scenarios import SCENARIOS
from devtools.conform.stage import staged
from devtools.demo.story import StepFailed


async def conform(
    command: Sequence[str],
    *,
    only: Sequence[str],
    limit_s: int,
    as_json: bool,
    report: Callable[[str], None],
) -> bool:
    """Play the scenarios one after the other; True only if the agent passed every one of them."""
    findings: dict[str, list[str]] = {}
    async with staged(command, limit_s) as stage:
        for scenario in SCENARIOS:
            if only and scenario.name not in only:
                continue
            try:
                with anyio.fail_after(8 * limit_s):
                    findings[scenario.name] = await scenario.play(stage)
            except TimeoutError:
                findings[scenario.name] = ["it did not come to an end"]
            except StepFailed as failed:
                findings[scenario.name] = [str(failed)]
            if not as_json:
                wrong = findings[scenario.name]
                report(
                    f"{'FAIL' if wrong else 'pass'}  {scenario.name:<18} {scenario.what}"
                    + "".join(f"\n      - {w}" for w in wrong)
                )
    if as_json:
        raw: object = {
            name: {"passed": not wrong, "wrong": wrong} for name, wrong in findings.items()
        }
        report(json.dumps(raw, indent=1))
    passed = sum(not wrong for wrong in findings.values())
    if not as_json:
        report(f"{passed} of {len(findings)} scenarios passed")
    return passed == len(findings)
