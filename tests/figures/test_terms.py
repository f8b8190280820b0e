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


async def test_an_acceptance_ends_with_its_terms(desk: Desk, agent: Agent) -> None:
    m = await desk.draft(
        agent,
        budget_usdc="200",
        daily_cap_usdc="200",
        payout_rule={"kind": "share_of_verified_gain", "bps": 3000},
    )
    kept = (await m.read())["mandate"]
    body = {
        "budget_usdc": "200", "per_tx_cap_usdc": "100", "daily_cap_usdc": "200", "agent_id": agent.id,
        "chain_id": kept["chain_id"], "markets": ["test-market"],
        "payout_rule": {"kind": "share_of_verified_gain", "bps": 3000},
    }  # fmt: skip
    await desk.ok("PUT", m.path, body, by=m.owner)
    await desk.ok("POST", f"{m.path}/accept", by=agent)
    told = await desk.ok("PUT", m.path, body | {"purpose": "Other words."}, by=m.owner)
    assert told["mandate"]["accepted_at"] is not None
    body |= {
        "budget_usdc": "90000",
        "payout_rule": {"kind": "share_of_verified_gain", "bps": 0},
    }
    told = await desk.ok("PUT", m.path, body, by=m.owner)
    assert told["mandate"]["accepted_at"] is None
    await m.sign()
    await m.put_in("500")
    status, refused = await m.may_buy("10")
    assert (status, refused["error"]) == (409, "mandate_not_accepted")
    await desk.ok("POST", f"{m.path}/accept", by=agent)
    assert (await m.may_buy("10"))[0] == 200


@pytest.mark.parametrize("wrong", [None, True, [], {}])
async def test_money_of_a_wrong_type_is_an_invalid_request(desk: Desk, wrong: Any) -> None:
    owner = await desk.owner()
    body = {"budget_usdc": wrong}
    status, told = await desk.asked("POST", "/mandates", body, by=owner)
    assert (status, told["error"]) == (400, "invalid_request")


@pytest.mark.parametrize(
    "number",
    ["12345678901.1234567", "1000000000000.000001", "0.10000000000000000001", "1e13", "5E-7"],
)
async def test_a_number_is_judged_as_it_is_written(desk: Desk, number: str) -> None:
    owner = await desk.owner()
    raw = f'{{"budget_usdc": {number}}}'
    status, told = await desk.asked("POST", "/mandates", raw=raw, by=owner)
    assert (status, told["error"]) == (400, "invalid_number")


async def test_a_number_keeps_every_digit_that_was_written(desk: Desk) -> None:
    owner = await desk.owner()
    told = await desk.ok("POST", "/mandates", raw='{"budget_usdc": 999999999999.999999}', by=owner)
    assert told["mandate"]["budget_usdc"] == "999999999999.999999"


async def test_a_fee_that_no_vault_takes_is_refused_where_it_is_said(
    desk: Desk, agent: Agent
) -> None:
    m = await desk.draft(agent)
    for bps, wanted in ((3_000, 200), (3_001, 400), (5_000, 400)):
        body = {
            "budget_usdc": "500",
            "payout_rule": {"kind": "share_of_verified_gain", "bps": bps},
        }
        for method, path in (("POST", "/mandates"), ("PUT", m.path)):
            status, told = await desk.asked(method, path, body, by=m.owner)
            assert (status == 400) == (wanted == 400), told
            if wanted == 400:
                assert told["error"] == "invalid_request"


async def test_a_database_without_a_schema_is_not_verified_in_one_sentence(tmp_path: Path) -> None:
    env = PATIENTLY | {
        "PATH": os.defpath,
        "WALLET_DATABASE_URL": f"sqlite:///{tmp_path / 'w.sqlite'}",
    }
    done = await anyio.run_process(
        [sys.executable, "-m", "server", "db", "verify"], env=env, check=False, cwd=ROOT
    )
    said = (done.stdout + done.stderr).decode()
    assert done.returncode != 0
    assert "Traceback" not in said
    assert 0 < len(said) < 500, said
