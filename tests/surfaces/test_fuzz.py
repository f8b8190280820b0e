"""Schemathesis over the whole OpenAPI document, as everybody who may call: no 500, no undocumented
status, no other shape. The agent and the owner are looked at in `make test`, everybody and every
boundary of a value in `make plays`; `make fuzz` asks more of each.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import anyio
import pytest

from domain.next_steps import Role
from tests.surfaces.conftest import HEADERS, Service, credentials
from tools.catalogue import OPERATIONS

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
# Who is refused everywhere else is sent there by `make fuzz`, and nobody is sent everywhere by both.
THEIRS = {
    "agent": {"agent", "owner_or_agent", "open"}, "owner": {"owner", "owner_or_agent"}, "keeper": {"keeper"}, "admin": {"admin"},
}  # fmt: skip
# What these may call is little: the open operations are asked for everything by an agent, who may call them too.
FEW = ("nobody", "keeper", "admin")
WHOLE = "FUZZ_EXAMPLES" in os.environ
SHORT, LONG = "examples,fuzzing", "examples,coverage,fuzzing"
# Most of a run goes to the boundaries of each value, one by one. An owner's own operations meet bad
# input one by one in tests/tools/call/test_bad_input.py.
RUNS = [
    ("agent", SHORT),
    *(
        pytest.param(who, SHORT if who in FEW else LONG, marks=pytest.mark.play)
        for who in get_args(Role)
    ),
]
HANGS_S = 1_800  # of a request's own time-out Schemathesis tells; this is for the command itself


@pytest.mark.parametrize(("who", "phases"), RUNS)
async def test_no_request_of_anybody_finds_a_500_or_an_undocumented_answer(
    service: Service, tmp_path: Path, who: Role, phases: str
) -> None:
    await credentials(service, datetime.now(UTC))
    headers = [part for n, v in HEADERS[who].items() for part in ("-H", f"{n}: {v}")]
    command = [
        Path(sys.executable).parent / "schemathesis", "run", service.base + "/openapi.json", "--checks", CHECKS, "--seed", "1",
        "-n", os.environ.get("FUZZ_EXAMPLES", "2"), "--phases", LONG if WHOLE else phases, "--suppress-health-check", "all", "--warnings", "off", "--no-color", *headers,
    ]  # fmt: skip
    if not WHOLE and who in THEIRS:
        named = [op.name for op in OPERATIONS if op.auth in THEIRS[who] and op.route is not None]
        command += [part for name in named for part in ("--include-operation-id", name)]
    with anyio.fail_after(HANGS_S):
        done = await anyio.run_process([str(c) for c in command], check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout.decode()[-6_000:] + done.stderr.decode()[-2_000:]
