"""Every operation as everybody who might call it, over both doors: who may not is refused, and who
may finds nothing of anybody else's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import pytest
from aiohttp import ClientSession

from http_shim.identity import KEY_HEADER
from tests.examples import least
from tests.surfaces.conftest import KEY, Service
from tests.world import drafted
from tools.catalogue import OPERATIONS
from tools.context.credentials import hashed
from tools.model.json_schema import takes_schema
from tools.model.operation import Operation

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
OWN, OTHER, KEEPER, ADMIN = ("ws_" + "o" * 43, "ws_" + "t" * 43, "kk_" + "s" * 43, "dk_" + "s" * 43)
OTHERS_KEY: Final = "ak_" + "t" * 43
# What each sends, and as what it is known over HTTP; MCP takes keys of agents alone.
CALLERS: Final[Mapping[str, tuple[Mapping[str, str], str | None]]] = {
    "nobody": ({}, "nobody"),
    "a wrong key": ({"X-Service-User-Key": "ak_wrong"}, None),
    "a wrong session": ({"Authorization": "Bearer ws_wrong"}, None),
    "two at once": ({"X-Service-User-Key": KEY, "Authorization": f"Bearer {OWN}"}, None),
    "a session as a key": ({"X-Service-User-Key": OWN}, None),
    "the owner": ({"Authorization": f"Bearer {OWN}"}, "owner"),
    "the agent": ({"X-Service-User-Key": KEY}, "agent"),
    "another owner": ({"Authorization": f"Bearer {OTHER}"}, "owner"),
    "another's agent": ({"X-Service-User-Key": OTHERS_KEY}, "agent"),
    "the keeper": ({"Authorization": f"Bearer {KEEPER}"}, "keeper"),
    "the operator": ({"Authorization": f"Bearer {ADMIN}"}, "admin"),
}
MAY: Final = {
    "open": {"nobody", "owner", "agent", "keeper", "admin"}, "owner": {"owner"}, "agent": {"agent"},
    "owner_or_agent": {"owner", "agent"}, "keeper": {"keeper"}, "admin": {"admin"},
}  # fmt: skip
# What says whose it is in its path; the public board and a person's own shop window are for all.
THEIRS: Final = ("public_id", "agent_id")
FOR_ALL: Final = {"hall_agent", "agent_policy", "mandate_accept", "mandate_propose"}
ROUTES: Final = [op for op in OPERATIONS if op.route is not None]


async def people(service: Service) -> str:
    """Everybody's credentials; the agent of the other owner."""
    world, m = service.world, service.mandate
    other = await drafted(world)
    now = world.clock.now()
    until = now + timedelta(days=1)

    def add(uow: Any) -> None:
        uow.identities.add_session(hashed(OWN), m.owner.user_id, now, until, until)
        uow.identities.add_session(hashed(OTHER), other.owner.user_id, now, until, until)
        uow.identities.add_key("k_other", other.agent.user_id, hashed(OTHERS_KEY), now)
        uow.identities.add_house_key("k_k", "keeper", hashed(KEEPER), now)
        uow.identities.add_house_key("k_d", "admin", hashed(ADMIN), now)

    await world.store.write(add)
    return other.agent.user_id or ""


def arguments(op: Operation, service: Service) -> dict[str, Any]:
    """What an operation needs, about the one mandate and its agent."""
    named = {"public_id": service.mandate.id, "agent_id": service.mandate.agent.user_id}
    own = {n: v for n, v in named.items() if n in takes_schema(op)["properties"]}
    return least(op) | own


async def over_http(
    http: ClientSession, service: Service, op: Operation, headers: Mapping[str, str]
) -> tuple[int, str]:
    assert op.route is not None
    method, path = op.route
    given = arguments(op, service)
    for name in [n for n in given if "{" + n + "}" in path]:
        path = path.replace("{" + name + "}", str(given.pop(name)))
    sent: dict[str, Any] = (
        {"params": {n: str(v) for n, v in given.items()}} if op.from_query else {"json": given}
    )
    async with http.request(method, service.base + path, headers=headers, **sent) as r:
        told = await r.json() if "json" in r.content_type else {}
        return r.status, str(told.get("error", "")) if isinstance(told, dict) else ""


async def over_mcp(
    http: ClientSession, service: Service, op: Operation, headers: Mapping[str, str]
) -> str:
    """The refusal of a call, "" where there is none."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "matrix", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": op.name, "arguments": arguments(op, service), "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    told = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": op.name,
    }
    async with http.post(service.base + "/mcp", data=body, headers=told | headers) as r:
        text = await r.text()
    for line in text.splitlines():
        text = line.removeprefix("data: ") if line.startswith("data: ") else text
    answer = json.loads(text)
    result = answer.get("result", {}).get("structuredContent", answer)
    block = result.get("refusal", result) if isinstance(result, dict) else {}
    return str(block.get("error", "")) if isinstance(block, dict) else str(block)


def verdict(op: Operation, caller: str, role: str | None, error: str) -> str:
    """What is wrong with an answer, "" where nothing is."""
    if op.sessions_only and KEY_HEADER in CALLERS[caller][0] and error == "forbidden":
        return ""  # no key is an owner there, whatever it is
    if role is None or (role == "nobody" and op.auth != "open"):
        return "" if error == "unauthenticated" else f"wants unauthenticated: {error!r}"
    if role not in MAY[op.auth]:
        return "" if error == "forbidden" else f"wants forbidden: {error!r}"
    if error in ("unauthenticated", "internal"):
        return f"is let through, and told {error!r}"
    about = takes_schema(op)["properties"]
    foreign = caller.startswith("another") and any(name in about for name in THEIRS)
    if foreign and op.auth != "open" and op.name not in FOR_ALL and not error:
        return "acts on what is somebody else's"
    return ""


def last(op: Operation) -> tuple[bool, bool]:
    """What ends a session, a key or a mandate comes after all that asks for one."""
    return op.name == "auth_session_end", op.destructive


async def test_nobody_does_over_http_what_is_not_theirs(service: Service) -> None:
    await people(service)
    wrong: dict[tuple[str, str], str] = {}
    asked = 0
    async with ClientSession() as http:
        for op in sorted(ROUTES, key=last):
            # Who may is asked last: until then everything is there.
            for caller, (headers, role) in sorted(
                CALLERS.items(), key=lambda c: c[0].startswith("the ")
            ):
                _, error = await over_http(http, service, op, headers)
                asked += 1
                if said := verdict(op, caller, role, error):
                    wrong[op.name, caller] = said
    assert wrong == {}
    assert asked == len(ROUTES) * len(CALLERS)


async def test_nobody_does_over_mcp_what_is_not_theirs(service: Service) -> None:
    await people(service)
    wrong: dict[tuple[str, str], str] = {}
    async with ClientSession() as http:
        for op in sorted((o for o in OPERATIONS if o.on_mcp), key=last):
            for caller, (headers, role) in CALLERS.items():
                known = role if role in ("agent", "nobody") else None
                error = await over_mcp(http, service, op, headers)
                if said := verdict(op, caller, known, error):
                    wrong[op.name, caller] = said
    assert wrong == {}
