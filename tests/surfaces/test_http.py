"""What HTTP callers meet: bodies, methods, ids, the door, the documents."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import anyio
import pytest
import yaml
from eth_utils import keccak
from openapi_spec_validator import validate

from domain.mandates.notice_choices import NOTICE_KINDS
from domain.refusals import REFUSALS
from http_shim.openapi import as_text
from tests.surfaces.conftest import Service
from tests.surfaces.small import JSON, Served
from tools.model.serialization import wire

pytestmark = pytest.mark.anyio
BLOCK = {"error", "reason", "retry_safe", "who_fixes", "next", "detail"}


def deep(levels: int) -> str:
    return '{"note": "x", "a": ' + "[" * levels + "]" * levels + "}"


BODIES = [
    (b"{", 400, "invalid_request"),
    (b"[]", 400, "invalid_request"),
    (b'"x"', 400, "invalid_request"),
    (b'{"note": "a", "note": "b"}', 400, "invalid_request"),
    (b'{"note": NaN}', 400, "invalid_request"),
    (b'{"note": Infinity}', 400, "invalid_request"),
    (b'{"note": "\xff"}', 400, "invalid_request"),
    (deep(40).encode(), 400, "invalid_request"),
    (b'{"note": "' + b"x" * 300_000 + b'"}', 413, "body_too_large"),
    (b'{"note": 5}', 400, "invalid_request"),
    (b'{"note": "x", "save": "yes"}', 400, "invalid_request"),
]


@pytest.mark.parametrize(("body", "status", "code"), BODIES, ids=range(len(BODIES)))
async def test_a_malformed_body_is_a_refusal_block(
    service: Service, body: bytes, status: int, code: str
) -> None:
    told = await service.post("/wallet/mandates/draft", data=body, headers=JSON)
    assert told.told == (status, code)
    assert set(told.body) >= BLOCK


async def test_unknown_routes_and_methods_carry_the_block_too(service: Service) -> None:
    assert (await service.get("/wallet/nowhere")).told == (404, "not_found")
    wrong = await service.ask("DELETE", "/wallet/mandates")
    assert wrong.told == (405, "method_not_allowed")
    assert set(wrong.headers["Allow"].split(",")) >= {"GET", "POST"}


async def test_every_answer_has_a_request_id(service: Service) -> None:
    for mine, expected in (("my-id.1", r"my-id\.1"), ("no spaces!", r"r_\w+")):
        told = await service.get("/wallet/markets", headers={"X-Request-Id": mine})
        assert re.fullmatch(expected, told.headers["X-Request-Id"])


async def test_the_door_answers_402_and_the_texts_come_from_the_registry(service: Service) -> None:
    door = await service.get("/wallet/door")
    assert (door.status, door.headers["X-Wallet-Door"]) == (402, "mandate")
    met = {k["error"] for k in door.body["refusals"]}
    assert {"over_daily_cap", "unauthenticated", "not_found", "door_off", "outcome_unknown"} <= met
    assert not met & {"draft_unclear", "mandate_signed", "withdraw_locked", "already_linked"}
    assert met < set(REFUSALS)
    assert {"mandate_schema", "start", "rate_limits", "client_config"} <= set(door.body)
    text = (await service.get("/wallet/skill.md")).text
    assert text.startswith("---\nname: delegated-spending-wallet\n")
    about = yaml.safe_load(text.split("---\n")[1])
    assert about == {"name": "delegated-spending-wallet", "description": door.body["about"]}
    assert len(text) <= 6_000
    assert f"{service.world.deps.config.base_url}/wallet/refusals.md" in text
    assert len(set(re.findall(r"^- `(\w+)`:", text, re.MULTILINE)) & set(REFUSALS)) == 8
    page = (await service.get("/wallet/refusals.md")).text
    assert all(f"## `{code}`" in page for code in REFUSALS)
    listed = (await service.get("/wallet/mcp-tools")).body["tools"]
    assert all(t["inputSchema"]["type"] == "object" for t in listed)
    assert {n for t in listed for n in t["toolsets"]} == {
        "core",
        "pay",
        "trading",
        "public",
        "propose",
    }
    names = [t["name"] for t in listed]
    assert all(f"`{n}`" in text for n in names)
    assert len(names) <= 32
    for path in ("", "openapi.json", "docs", "llms.txt", "wallet/refusals.md"):
        assert (await service.get(f"/{path}?surprise=1")).told == (400, "invalid_request"), path
    for path in ("door", "skill.md", "mcp-tools"):
        assert (await service.get(f"/wallet/{path}?surprise=1")).told == (400, "invalid_request")
    refused = await service.get("/wallet/mcp-tools?names=agents_me,nothing")
    assert (refused.status, refused.body["detail"]["fields"][0]["loc"]) == (400, "names")
    world = service.world
    await world.store.write(lambda uow: uow.switches.set("door", "off", world.clock.now(), "test"))
    for path in ("/wallet/door", "/wallet/skill.md", "/wallet/mcp-tools"):
        assert (await service.get(path)).told == (404, "door_off")


async def test_the_openapi_document_is_valid_and_names_every_route(service: Service) -> None:
    told = (await service.get("/openapi.json")).body
    validate(told)
    assert len(as_text(told)) <= 510_000
    assert json.loads(as_text(told)) == told
    assert set(told["webhooks"]) == set(NOTICE_KINDS)
    assert "/wallet/mandates/{public_id}/execute-call" in told["paths"]
    assert "$ref" not in json.dumps(told["paths"]["/wallet/mandates"]["post"]["requestBody"])


async def test_health_readiness_and_metrics(service: Service) -> None:
    for path in ("/healthz", "/readyz"):
        told = await service.get(path)
        assert (told.status, told.body["ok"]) == (200, True)
    figures = Served()
    figures.base = service.watched
    counted = 'wallet_requests_total{method="GET",route="/readyz",status="200"} 1'
    assert counted in (await figures.get("/metrics")).text


@pytest.mark.parametrize("path", ["/mcp", "/sse", "/messages/"])
async def test_a_foreign_host_is_turned_away_from_mcp(service: Service, path: str) -> None:
    for foreign in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
        told = await service.post(path, headers=foreign, json={})
        assert told.status in (400, 403, 405, *([421] if "Host" in foreign else []))


async def test_sign_in_is_single_use_and_sessions_end(service: Service) -> None:
    wallet, session = service.mandate.owner_wallet, "/wallet/auth/session"
    body = {"address": wallet.address, "chain_id": 31337}
    message = (await service.post("/wallet/auth/challenge", json=body)).body["message"]
    signed = {"message": message, "signature": wallet.sign_text(message)}
    made = await service.post(session, json=signed)
    assert made.status == 201
    assert (await service.post(session, json=signed)).body["error"] == "invalid_signature"
    headers = {"Authorization": f"Bearer {made.body['token']}"}
    mine = (await service.get(session, headers=headers)).body
    assert mine["user"]["address"] == wallet.address
    assert (await service.ask("DELETE", session, headers=headers)).status == 200
    assert (await service.get(session, headers=headers)).status == 401


async def shell(service: Service, block: str, **names: str) -> list[dict[str, Any]]:
    """Run a block of the skill as it stands; the JSON of each of its calls."""
    m = service.mandate
    env = {"PATH": os.environ["PATH"], "KEY": service.key, "MANDATE": m.id, "VAULT": m.vault, "MARKET": m.world.evm.market, "BASE": service.base} | names  # fmt: skip
    script = block.replace(service.world.deps.config.base_url, service.base)
    done = await anyio.run_process(
        ["bash", "-c", "set -e\n" + script.replace("curl -s", "echo; curl -sS")],
        env=env,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.decode().split("\n") if line]


async def test_the_step_that_the_skill_shows_can_be_taken_as_it_stands(service: Service) -> None:
    m = service.mandate
    text = (await service.get("/wallet/skill.md")).text
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    who, deposit, report, check, withdraw, lost, tools = blocks
    offers, read, accepted = await shell(service, who)
    assert accepted["mandate"]["vault_address"] == m.vault
    assert "items" in offers
    assert set(read) == {"clauses", "limits"}
    (call,) = await shell(service, deposit)
    ok, tx = await m.world.mined(m.agent_wallet, call)
    assert ok
    (told,) = await shell(service, report, TX=tx)
    assert (told["event"]["kind"], told["violation"], told["confirmed"]) == ("buy", False, False)
    (seen,) = await shell(service, check)
    assert seen["pending_claims"]["count"] == 1
    (asked,) = await shell(service, lost)
    assert asked["outcome"] == "landed"
    (back,) = await shell(service, withdraw)
    assert (await m.world.mined(m.agent_wallet, back))[0]
    (some,) = await shell(service, tools)
    assert [t["name"] for t in some["tools"]] == ["agent_balances", "mandate_steps"]


async def test_a_market_says_how_its_calls_are_encoded(service: Service) -> None:
    from domain.mandates.markets import ERC4626, Market

    market = Market("m", "M", "live", "contract", 1, "erc4626", "0x" + "11" * 20).as_shown()
    calls = wire(market)["target"]["calls"]
    assert [c["selector"] for c in calls] == [selector for selector, *_ in ERC4626]
    for told in calls:
        plain = re.sub(r" \w+", "", told["signature"])
        assert told["selector"] == "0x" + keccak(text=plain).hex()[:8]
