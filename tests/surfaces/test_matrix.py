"""Every operation as everybody who might call it, over both doors: who may not is refused, and who
may finds nothing of anybody else's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import pytest

from http_shim.identity import KEY_HEADER
from tests.examples import least
from tests.surfaces.conftest import HEADERS, TOKEN, Service, credentials
from tests.surfaces.small import by_key, modern
from tests.world import drafted
from tools.catalogue import OPERATIONS
from tools.context.credentials import hashed
from tools.model.json_schema import takes_schema
from tools.model.operation import Operation

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
OTHER, OTHERS_KEY = "ws_" + "t" * 43, "ak_" + "t" * 43
# What each sends, and as what it is known over HTTP; MCP takes keys of agents alone.
CALLERS: Final[Mapping[str, tuple[Mapping[str, str], str | None]]] = {
    "nobody": ({}, "nobody"),
    "a wrong key": (by_key("ak_wrong"), None),
    "a wrong session": ({"Authorization": "Bearer ws_wrong"}, None),
    "two at once": (HEADERS["agent"] | HEADERS["owner"], None),
    "a session as a key": (by_key(TOKEN), None),
    "the owner": (HEADERS["owner"], "owner"),
    "the agent": (HEADERS["agent"], "agent"),
    "another owner": ({"Authorization": f"Bearer {OTHER}"}, "owner"),
    "another's agent": (by_key(OTHERS_KEY), "agent"),
    "the keeper": (HEADERS["keeper"], "keeper"),
    "the operator": (HEADERS["admin"], "admin"),
}
MAY: Final = {
    "open": {"nobody", "owner", "agent", "keeper", "admin"}, "owner": {"owner"}, "agent": {"agent"},
    "owner_or_agent": {"owner", "agent"}, "keeper": {"keeper"}, "admin": {"admin"},
}  # fmt: skip
# What says whose it is in its path; the public board and a person's own shop window are for all.
THEIRS: Final = ("public_id", "agent_id")
FOR_ALL: Final = {"hall_agent", "agent_policy", "mandate_accept", "mandate_propose"}
ROUTES: Final = [op for op in OPERATIONS if op.route is not None]


async def people(service: Service) -> None:
    """Everybody's credentials, with those of another owner and its agent."""
    await credentials(service)
    other, now = await drafted(service.world), service.world.clock.now()
    until = now + timedelta(days=1)

    def add(uow: Any) -> None:
        uow.identities.add_session(hashed(OTHER), other.owner.user_id, now, until, until)
        uow.identities.add_key("k_other", other.agent.user_id, hashed(OTHERS_KEY), now)

    await service.world.store.write(add)


def arguments(op: Operation, service: Service) -> dict[str, Any]:
    """What an operation needs, about the one mandate and its agent."""
    named = {"public_id": service.mandate.id, "agent_id": service.mandate.agent.user_id}
    own = {n: v for n, v in named.items() if n in takes_schema(op)["properties"]}
    return least(op) | own


async def over_http(service: Service, op: Operation, headers: Mapping[str, str]) -> str:
    """The refusal of a call, "" where there is none."""
    assert op.route is not None
    method, path = op.route
    given = arguments(op, service)
    for name in [n for n in given if "{" + n + "}" in path]:
        path = path.replace("{" + name + "}", str(given.pop(name)))
    sent: dict[str, Any] = {"json": given}
    if op.from_query:
        sent = {"params": {n: str(v) for n, v in given.items()}}
    reply = await service.ask(method, path, headers=headers, **sent)
    told = reply.body if "json" in reply.headers.get("Content-Type", "") else {}
    return str(told.get("error", "")) if isinstance(told, dict) else ""


async def over_mcp(service: Service, op: Operation, headers: Mapping[str, str]) -> str:
    """The refusal of a call, "" where there is none."""
    call = modern("tools/call", name=op.name, arguments=arguments(op, service))
    call["headers"] |= headers
    text = (await service.post("/mcp", **call)).text
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
    # Who may is asked last: until then everything is there.
    callers = sorted(CALLERS.items(), key=lambda c: c[0].startswith("the "))
    for op in sorted(ROUTES, key=last):
        for caller, (headers, role) in callers:
            if said := verdict(op, caller, role, await over_http(service, op, headers)):
                wrong[op.name, caller] = said
    assert wrong == {}


async def test_nobody_does_over_mcp_what_is_not_theirs(service: Service) -> None:
    await people(service)
    wrong: dict[tuple[str, str], str] = {}
    for op in sorted((o for o in OPERATIONS if o.on_mcp), key=last):
        for caller, (headers, role) in CALLERS.items():
            known = role if role in ("agent", "nobody") else None
            if said := verdict(op, caller, known, await over_mcp(service, op, headers)):
                wrong[op.name, caller] = said
    assert wrong == {}
