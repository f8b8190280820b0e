"""A key is looked up by the statement that its call needs anyway: no call is answered on a guess."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from storage.unit_of_work import UnitOfWork
from tests.surfaces.conftest import Service, running
from tests.surfaces.small import modern
from tests.world import Evm
from tools.context.credentials import hashed

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

NOTE = {"kind": "note", "payload": {"text": "seen"}}


@dataclass(frozen=True, kw_only=True)
class Asking:
    """An agent that asks over HTTP."""

    service: Service

    async def report(self, key: str, body: dict[str, Any] = NOTE) -> tuple[int, str | None]:
        return await self._asked("POST", "/events", json=body, headers={"Idempotency-Key": key})

    async def read(self) -> tuple[int, str | None]:
        return await self._asked("GET", "")

    async def calldata(self) -> tuple[int, str | None]:
        query = "?target=0x" + "11" * 20 + "&data=0x&amount_usdc=1"
        return await self._asked("GET", f"/execute-call{query}")

    async def _asked(self, method: str, path: str, **more: Any) -> tuple[int, str | None]:
        url = f"/wallet/mandates/{self.service.mandate.id}{path}"
        return (await self.service.ask(method, url, self.service.key, **more)).told

    async def tool(self, name: str, /, sets: str = "", **arguments: Any) -> str | None:
        """Call a tool in one request of the newer era; the code of its refusal."""
        call = modern("tools/call", name=name, arguments=arguments)
        told = await self.service.ask("POST", f"/mcp{sets}", self.service.key, **call)
        result = told.body["result"]
        return str(result["structuredContent"]["refusal"]["error"]) if result["isError"] else None

    async def write(self, work: Callable[[UnitOfWork], Any]) -> Any:
        return await self.service.world.store.write(work)

    async def rows(self) -> int:
        of = self.service.mandate.id
        return await self.service.world.store.read(lambda uow: uow.ledger.head(of)[0])

    @property
    def agent(self) -> str:
        return self.service.mandate.agent.user_id or ""

    async def revoke(self) -> None:
        now = self.service.world.clock.now()
        await self.write(lambda uow: uow.identities.revoke_key(self.agent, "k_test", now))


@pytest.fixture
async def asking(database_url: str, evm: Evm) -> AsyncIterator[Asking]:
    async with running(database_url, evm) as service:
        one = Asking(service=service)
        assert await one.report("first") == (201, None)  # from now on the process knows the key
        yield one


async def test_a_revoked_key_reports_nothing_more(asking: Asking) -> None:
    assert await asking.report("k1") == (201, None)
    await asking.revoke()
    before = await asking.rows()
    for key in ("k2", "k1", "k3"):  # a repeat of what it once reported is not answered either
        assert await asking.report(key) == (401, "unauthenticated")
    assert await asking.rows() == before


@pytest.mark.parametrize("way", ["read", "calldata"])
async def test_a_revoked_key_reads_nothing_more(asking: Asking, way: str) -> None:
    assert (await getattr(asking, way)())[0] != 401
    await asking.revoke()
    assert await getattr(asking, way)() == (401, "unauthenticated")


async def test_what_is_refused_before_a_look_is_refused_to_who_calls(asking: Asking) -> None:
    wrong = {"kind": "nothing"}
    assert await asking.report("k1", wrong) == (400, "invalid_request")
    await asking.revoke()
    assert await asking.report("k2", wrong) == (401, "unauthenticated")


async def test_a_key_that_moved_to_another_agent_speaks_for_that_one(asking: Asking) -> None:
    now, key = asking.service.world.clock.now(), hashed(asking.service.key)
    other = asking.service.world.deps.ids.short("u_")

    def move(uow: UnitOfWork) -> None:
        known = uow.identities.agent(asking.agent)
        assert known is not None
        uow.sql.run(
            "INSERT INTO agents (agent_id, owner_id, name, created_at) "
            "VALUES (:id, :owner, 'Another', :at)",
            id=other,
            owner=known.owner_id,
            at=int(now.timestamp() * 1e6),
        )
        uow.sql.run("UPDATE agent_keys SET agent_id = :id WHERE key_hash = :key", id=other, key=key)

    await asking.write(move)
    before = await asking.rows()
    assert await asking.report("k1") == (404, "not_found")  # the mandate is not that one's
    assert await asking.rows() == before


async def test_reports_beside_a_revocation_are_stored_or_refused(asking: Asking) -> None:
    before = await asking.rows()
    reports = [asyncio.create_task(asking.report(f"k{n}")) for n in range(24)]
    await reports[0]
    await asking.revoke()
    told = await asyncio.gather(*reports)
    assert {status for status, _ in told} <= {201, 401}
    assert await asking.rows() - before == sum(status == 201 for status, _ in told)
    assert await asking.report("last") == (401, "unauthenticated")


@pytest.mark.parametrize("sets", ["", "/x/core"])
async def test_a_revoked_key_calls_no_tool(asking: Asking, sets: str) -> None:
    """A read and a write that look the key up with the rest, and one that looks up nothing."""
    public_id = asking.service.mandate.id
    calls: list[tuple[str, dict[str, Any]]] = [
        ("mandate_get", {"public_id": public_id}),
        ("mandate_report_event", {"public_id": public_id, **NOTE, "idempotency_key": "t1"}),
        ("agents_me", {}),
        ("markets_list", {}),
    ]
    assert [await asking.tool(name, sets, **arguments) for name, arguments in calls] == [None] * 4
    await asking.revoke()
    before = await asking.rows()
    for name, arguments in calls:
        assert await asking.tool(name, sets, **arguments) == "unauthenticated", name
    assert await asking.rows() == before


@pytest.mark.parametrize("method", ["tools/list", "resources/read"])
async def test_a_message_that_only_says_it_calls_a_tool_is_not_taken(
    asking: Asking, method: str
) -> None:
    """Else whoever has a revoked key could read what is looked up by no call."""
    params = {"uri": f"wallet://mandates/{asking.service.mandate.id}"}
    raw = modern(method, **(params if method == "resources/read" else {}))
    raw["headers"]["Mcp-Method"] = "tools/call"
    told = await asking.service.ask("POST", "/mcp", asking.service.key, **raw)
    assert told.status == 400
    assert "result" not in told.body
