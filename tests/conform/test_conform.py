"""`wallet conform` passes the reference agent, and fails one with a bad habit in the scenario that is meant for it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from devtools.conform.scenarios import SCENARIOS
from server.cli.main import main

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
GOOD = [sys.executable, str(ROOT / "docs" / "examples" / "agent.py"), "{market}", "{amount}"]
ACTS = [sys.executable, str(ROOT / "docs" / "examples" / "act_agent.py"), "{market}", "{amount}"]
CARELESS = [sys.executable, str(Path(__file__).parent / "careless.py")]


def conform(
    command: list[str], *only: str, limit: int = 600
) -> tuple[int, dict[str, dict[str, object]]]:
    options = [o for name in only for o in ("--only", name)]
    arguments = ["conform", "--json", "--limit", str(limit), *options, "--", *command]
    done = CliRunner().invoke(main, arguments)
    assert done.stdout.startswith("{"), done.output[-2_000:]
    return done.exit_code, json.loads(done.stdout)


# The others start a dozen agents more; `make conform` plays all.
SHORT = ("plain", "lost_answer", "midnight", "paused_in_flight", "approval_expires")


@pytest.mark.parametrize(
    ("agent", "only"),
    [
        pytest.param(GOOD, SHORT[:1], id="by_steps-one"),
        pytest.param(GOOD, SHORT, id="by_steps-short", marks=pytest.mark.play),
        # Half a minute, and what the service does for its act is in tests/tools/acting.
        pytest.param(ACTS, SHORT, id="by_act-short", marks=pytest.mark.play),
        pytest.param(GOOD, (), id="by_steps-all", marks=pytest.mark.campaign),
        pytest.param(ACTS, (), id="by_act-all", marks=pytest.mark.campaign),
    ],
)
def test_the_reference_agents_pass_every_scenario(agent: list[str], only: tuple[str, ...]) -> None:
    code, told = conform(agent, *only)
    assert {name: t["wrong"] for name, t in told.items() if not t["passed"]} == {}
    assert (code, list(told)) == (0, list(only) or [s.name for s in SCENARIOS])


# What a habit shows as, in the order in which the scenarios are played.
SHORTLY = [
    ("says_nothing", "plain", "0 reports of one action", 1),
    ("acts_again", "lost_answer", "not 20 once", 1),
    ("believes_it_worked", "paused_in_flight", "reported as done", 1),
    ("ignores_refusals", "at_the_floor", "below the stop line", 2),
]


@pytest.mark.play  # a dozen agents more; what a stage counts is what the reference agent passes by
def test_a_bad_habit_fails_where_it_shows(tmp_path: Path) -> None:
    """One stage for all of them: the agent falls into the next habit with every scenario."""
    habits = ",".join(habit for habit, _, _, starts in SHORTLY for _ in range(starts))
    code, told = conform(
        [*CARELESS, habits, str(tmp_path / "starts")], *(scenario for _, scenario, _, _ in SHORTLY)
    )
    assert code == 1
    for habit, scenario, wrong, _ in SHORTLY:
        assert wrong in "; ".join(map(str, told[scenario]["wrong"])), habit  # type: ignore[call-overload]  # a list of texts


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("habit", "scenario", "wrong"),
    [
        ("new_key_each_time", "lost_answer", "2 reports of one action"),
        ("no_key", "duplicate_key", "2 reports of one action"),
        ("says_nothing", "ten_at_once", "0 reports"),
        ("ignores_refusals", "midnight", "reverted"),
        ("forgets_refusals", "paused_in_flight", "not reported with its transaction"),
        ("ignores_refusals", "approval_expires", "before the owner decided"),
    ],
)
def test_a_rarer_bad_habit_fails_where_it_shows(
    habit: str, scenario: str, wrong: str, tmp_path: Path
) -> None:
    code, told = conform([*CARELESS, habit, str(tmp_path / "starts")], scenario)
    assert code == 1
    assert wrong in "; ".join(map(str, told[scenario]["wrong"]))  # type: ignore[call-overload]  # a list of texts


def test_a_command_that_is_none_or_hangs_fails_and_ends() -> None:
    code, told = conform(["sleep", "600"], "plain", limit=5)
    assert (code, told["plain"]["passed"]) == (1, False)


def test_an_unknown_scenario_is_an_error() -> None:
    done = CliRunner().invoke(main, ["conform", "--only", "nothing", "--", "true"])
    assert done.exit_code == 2
    assert "at_the_floor" in done.output
