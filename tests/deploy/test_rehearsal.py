"""The rehearsal from an empty machine: its commands name what there is, and its last two do what the page says."""

from __future__ import annotations

import re
import ssl
import subprocess
import sys

import pytest
from aiohttp import ClientSession

from tests.house.sources import ROOT
from tests.server.test_process import served as served
from tests.waiting import STUCK_S

PAGE = (ROOT / "docs" / "operating" / "rehearsal.md").read_text()
(SHELL,) = re.findall(r"(?ms)^```sh\n(.*?)^```", PAGE)


def test_it_is_fifteen_commands_about_files_that_there_are() -> None:
    assert len(SHELL.splitlines()) <= 15
    named = set(re.findall(r"deploy/[\w./-]*\w", PAGE))
    assert named
    assert [n for n in named if not (ROOT / n).exists()] == []


@pytest.mark.slow
@pytest.mark.anyio
async def test_an_owner_signs_in_and_the_agent_proposes_a_mandate(
    served: tuple[subprocess.Popen[str], str],
) -> None:
    base = served[1]
    script, certificates = ROOT / "deploy" / "first_agent.py", ssl.get_default_verify_paths().cafile
    said = subprocess.run(
        [sys.executable, script, base, certificates or ""],
        capture_output=True, text=True, timeout=STUCK_S, check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    key = said.stdout.strip()
    (body,) = re.findall(r"-d '(\{.*\})'", SHELL)
    headers = {"X-Service-User-Key": key, "Content-Type": "application/json"}
    async with (
        ClientSession() as http,
        http.post(base + "/wallet/mandates/propose", data=body, headers=headers) as r,
    ):
        assert (r.status, (await r.json())["mandate"]["status"]) == (201, "draft"), await r.text()
