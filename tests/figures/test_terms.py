"""What is agreed and told, by HTTP alone: an acceptance, a number, a fee, a database without a schema."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.figures.desk import Agent, Desk
from tests.waiting import PATIENTLY

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
NO_AMOUNTS = (
    "12345678901.1234567",
    "1000000000000.000001",
    "0.10000000000000000001",
    "1e13",
    "5E-7",
)


def fee(bps: int) -> dict[str, Any]:
    return {"kind": "share_of_verified_gain", "bps": bps}


async def test_an_acceptance_ends_with_its_terms(desk: Desk, agent: Agent) -> None:
    terms = {"budget_usdc": "200", "daily_cap_usdc": "200", "payout_rule": fee(3_000)}
    m = await desk.draft(agent, **terms)
    chain_id = (await m.read())["mandate"]["chain_id"]
    body = terms | {"per_tx_cap_usdc": "100", "agent_id": agent.id, "chain_id": chain_id}
    body |= {"markets": ["test-market"]}
    await desk.ok("PUT", m.path, body, by=m.owner)
    await desk.ok("POST", f"{m.path}/accept", by=agent)
    told = await desk.ok("PUT", m.path, body | {"purpose": "Other words."}, by=m.owner)
    assert told["mandate"]["accepted_at"] is not None
    body |= {"budget_usdc": "90000", "payout_rule": fee(0)}
    told = await desk.ok("PUT", m.path, body, by=m.owner)
    assert told["mandate"]["accepted_at"] is None
    await m.sign()
    await m.put_in("500")
    status, refused = await m.may_buy("10")
    assert (status, refused["error"]) == (409, "mandate_not_accepted")
    await desk.ok("POST", f"{m.path}/accept", by=agent)
    assert (await m.may_buy("10"))[0] == 200


@pytest.mark.parametrize(
    ("written", "error"),
    [
        *[(wrong, "invalid_request") for wrong in ("null", "true", "[]", "{}")],
        *[(number, "invalid_number") for number in NO_AMOUNTS],
    ],
)
async def test_an_amount_is_judged_as_it_is_written(desk: Desk, written: str, error: str) -> None:
    owner, raw = await desk.owner(), f'{{"budget_usdc": {written}}}'
    status, told = await desk.asked("POST", "/mandates", raw=raw, by=owner)
    assert (status, told["error"]) == (400, error)


async def test_a_number_keeps_every_digit_that_was_written(desk: Desk) -> None:
    owner = await desk.owner()
    told = await desk.ok("POST", "/mandates", raw='{"budget_usdc": 999999999999.999999}', by=owner)
    assert told["mandate"]["budget_usdc"] == "999999999999.999999"


async def test_a_fee_that_no_vault_takes_is_refused_where_it_is_said(
    desk: Desk, agent: Agent
) -> None:
    m = await desk.draft(agent)
    for bps, wanted in ((3_000, 200), (3_001, 400), (5_000, 400)):
        body = {"budget_usdc": "500", "payout_rule": fee(bps)}
        for method, path in (("POST", "/mandates"), ("PUT", m.path)):
            status, told = await desk.asked(method, path, body, by=m.owner)
            assert (status == 400) == (wanted == 400), told
            if wanted == 400:
                assert told["error"] == "invalid_request"


async def test_a_database_without_a_schema_is_not_verified_in_one_sentence(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'w.sqlite'}"
    env = PATIENTLY | {"PATH": os.defpath, "WALLET_DATABASE_URL": url}
    command = [sys.executable, "-m", "server", "db", "verify"]
    done = await anyio.run_process(command, env=env, check=False, cwd=ROOT)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode != 0
    assert "Traceback" not in said
    assert 0 < len(said) < 500, said
