"""Schemathesis over the whole OpenAPI document, as everybody who may call: no 500, no undocumented
status, no other shape. `make fuzz` asks more of each.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from tests.surfaces.conftest import Service
from tools.catalogue import OPERATIONS
from tools.context.credentials import hashed

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
# Who is refused everywhere else is sent there by `make fuzz`, and nobody is sent everywhere by both.
THEIRS = {
    "agent": {"agent", "owner_or_agent", "open"}, "owner": {"owner", "owner_or_agent"}, "keeper": {"keeper"}, "admin": {"admin"},
}  # fmt: skip
# What these may call is little: the open operations are asked for everything by an agent, who may call them too.
FEW = ("nobody", "keeper", "admin")
WHOLE = "FUZZ_EXAMPLES" in os.environ
PHASES = ("examples,coverage,fuzzing", "examples,fuzzing")
HANGS_S = 1_800  # of a request's own time-out Schemathesis tells; this is for the command itself
TOKEN, KEEPER, ADMIN = "ws_" + "s" * 43, "kk_" + "s" * 43, "dk_" + "s" * 43


@pytest.mark.parametrize("who", ["nobody", "agent", "owner", "keeper", "admin"])
async def test_no_request_of_anybody_finds_a_500_or_an_undocumented_answer(
    service: Service, tmp_path: Path, who: str
) -> None:
    at, m = datetime.now(UTC), service.mandate
    until = max(at, service.world.clock.now()) + timedelta(days=1)

    def people(uow) -> None:  # type: ignore[no-untyped-def]
        uow.identities.add_session(hashed(TOKEN), m.owner.user_id, at, until, until)
        uow.identities.add_house_key("k_k", "keeper", hashed(KEEPER), at)
        uow.identities.add_house_key("k_d", "admin", hashed(ADMIN), at)

    await service.world.store.write(people)
    headers = {
        "nobody": [], "agent": ["-H", f"X-Service-User-Key: {service.key}"], "owner": ["-H", f"Authorization: Bearer {TOKEN}"],
        "keeper": ["-H", f"Authorization: Bearer {KEEPER}"], "admin": ["-H", f"Authorization: Bearer {ADMIN}"],
    }[who]  # fmt: skip
    command = [
        Path(sys.executable).parent / "schemathesis", "run", service.base + "/openapi.json", "--checks", CHECKS, "--seed", "1",
        "-n", os.environ.get("FUZZ_EXAMPLES", "2"), "--phases", PHASES[not WHOLE and who in FEW], "--suppress-health-check", "all", "--warnings", "off", "--no-color", *headers,
    ]  # fmt: skip
    if not WHOLE and who in THEIRS:
        named = [op.name for op in OPERATIONS if op.auth in THEIRS[who] and op.route is not None]
        command += [part for name in named for part in ("--include-operation-id", name)]
    with anyio.fail_after(HANGS_S):
        done = await anyio.run_process([str(c) for c in command], check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout.decode()[-6_000:] + done.stderr.decode()[-2_000:]
