"""Mandates and approvals as resources: read and subscribed to by who may see them, in both eras."""

from __future__ import annotations

import gc
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp.server.subscriptions import ResourceUpdated

from server.mcp_api.listeners import ChangeListener, Listeners
from server.mcp_api.wallet_resources import READ
from tests.surfaces.conftest import Service, running
from tests.surfaces.small import by_key, connected, small
from tests.waiting import STUCK_S
from tests.world import BY_NAME, Evm, Mandated, working
from tools.context.credentials import hashed

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:resources/"),
]
OTHER = "ak_" + "o" * 43


@pytest.fixture
def no_garbage_search() -> Iterator[None]:
    """What ends here does so by itself, not once a search for garbage finds it."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
async def asking(database_url: str, evm: Evm) -> AsyncIterator[tuple[Service, Mandated]]:
    """A service, and beside its mandate one of another agent that has to ask."""
    async with running(database_url, evm) as service:
        m = await working(service.world, approval_above_usdc="10")
        await service.world.store.write(
            lambda uow: uow.identities.add_key(
                "k_other", m.agent.user_id or "", hashed(OTHER), service.world.clock.now()
            )
        )
        yield service, m


async def held(m: Mandated) -> str:
    told = await m.execute("20")
    assert told.status == 202, told.body
    return str(told.body["approval"]["approval_id"])


async def refused(client: Any, uri: str) -> dict[str, Any]:
    with pytest.raises(MCPError) as raised:
        await client.read_resource(uri)
    assert raised.value.error.code == -32602
    data: dict[str, Any] = raised.value.error.data
    return data


@pytest.mark.parametrize("way", ["streamable-2026", "streamable-2025", "sse-2025"])
async def test_a_mandate_and_an_approval_are_read_by_their_agent_alone(
    asking: tuple[Service, Mandated], way: str
) -> None:
    service, m = asking
    approval = f"wallet://approvals/{await held(m)}"
    mandate = f"wallet://mandates/{m.id}"
    async with connected(way, service.base, by_key(OTHER)) as client:
        templates = (await client.list_resource_templates()).resource_templates
        assert [x.uri_template for x in templates] == [
            "wallet://mandates/{public_id}",
            "wallet://approvals/{approval_id}",
        ]
        (content,) = (await client.read_resource(mandate)).contents
        assert content.mime_type == "application/json"
        tool = await client.call_tool("mandate_get", {"public_id": m.id})
        assert json.loads(content.text)["mandate"] == tool.structured_content["mandate"]
        (content,) = (await client.read_resource(approval)).contents
        assert json.loads(content.text)["approval"]["status"] == "pending"
        for none in ("wallet://mandates/m_aaaaaaaaaa", "wallet://approvals/ap_aaaaaaaaaa"):
            told = await refused(client, none)
            assert told["refusal"]["error"] == "not_found"
        assert "refusal" not in await refused(client, "wallet://mandates/other")
    # The same words for who may not see it, as for what is not there.
    async with connected(way, service.base, by_key(service.key)) as client:
        for uri in (mandate, approval):
            told = await refused(client, uri)
            assert (told["uri"], told["refusal"]["error"]) == (uri, "not_found")
    async with connected(way, service.base) as client:
        assert (await refused(client, mandate))["refusal"]["error"] == "unauthenticated"


async def test_a_stream_of_2026_hears_of_what_its_caller_may_see(
    asking: tuple[Service, Mandated],
) -> None:
    service, m = asking
    approval_id = await held(m)
    approval, mandate = f"wallet://approvals/{approval_id}", f"wallet://mandates/{m.id}"
    foreign = f"wallet://mandates/{service.mandate.id}"
    async with connected("streamable-2026", service.base, by_key(OTHER)) as client:
        uris = [mandate, approval, foreign, "wallet://mandates/m_aaaaaaaaaa"]
        async with client.listen(resource_subscriptions=uris) as stream:
            assert stream.honored.resource_subscriptions == [mandate, approval]
            note = {"kind": "note", "payload": {"text": "hello"}}
            assert (await service.mandate.as_agent("mandate_report_event", **note)).status == 201
            assert (await m.as_agent("mandate_report_event", **note)).status == 201
            with anyio.fail_after(STUCK_S):
                assert await anext(stream) == ResourceUpdated(mandate)
            told = await m.as_owner(
                "owner_approval_decide", approval_id=approval_id, decision="decline"
            )
            assert told.status == 200, told.body
            with anyio.fail_after(STUCK_S):
                heard = {await anext(stream), await anext(stream)}
            assert heard == {ResourceUpdated(mandate), ResourceUpdated(approval)}


@pytest.mark.pg
async def test_a_listener_of_another_process_hears_it_too(pg_url: str, evm: Evm) -> None:
    more = (BY_NAME[READ],)
    async with running(pg_url, evm) as service, small(pg_url, again=True, more=more) as other:
        mandate, note = f"wallet://mandates/{service.mandate.id}", {"text": "hello"}
        async with (
            connected("streamable-2026", other.base, by_key(service.key)) as client,
            client.listen(resource_subscriptions=[mandate]) as stream,
        ):
            m = service.mandate
            told = await m.as_agent("mandate_report_event", kind="note", payload=note)
            assert told.status == 201
            with anyio.fail_after(STUCK_S):
                assert await anext(stream) == ResourceUpdated(mandate)


@pytest.mark.parametrize("way", ["streamable-2025", "sse-2025"])
async def test_a_session_of_2025_hears_until_it_unsubscribes_or_ends(
    asking: tuple[Service, Mandated], no_garbage_search: None, way: str
) -> None:
    service, m = asking
    mandate = f"wallet://mandates/{m.id}"
    heard: list[str] = []

    async def handler(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            heard.append(str(message.params.uri))

    async def note() -> None:
        told = {"kind": "note", "payload": {"text": "hello"}}
        assert (await m.as_agent("mandate_report_event", **told)).status == 201

    async with connected(way, service.base, by_key(OTHER), message_handler=handler) as client:
        assert client.server_capabilities.resources.subscribe
        with pytest.raises(MCPError):
            await client.subscribe_resource(f"wallet://mandates/{service.mandate.id}")
        await client.subscribe_resource(mandate)
        with anyio.fail_after(STUCK_S):
            while not heard:  # its own stream may only be opening
                await note()
                await anyio.sleep(0.2)
        assert set(heard) == {mandate}
        await client.unsubscribe_resource(mandate)
        assert not service.resources.watched()
        await client.subscribe_resource(mandate)
        assert service.resources.watched() == {mandate}
    with anyio.fail_after(STUCK_S):
        while service.resources.watched():
            await anyio.sleep(0.05)


async def test_who_lost_the_right_is_no_subscriber_any_more(
    asking: tuple[Service, Mandated],
) -> None:
    service, m = asking
    mandate = f"wallet://mandates/{m.id}"
    async with (
        connected("streamable-2026", service.base, by_key(OTHER)) as client,
        client.listen(resource_subscriptions=[mandate]) as stream,
    ):
        assert stream.honored.resource_subscriptions == [mandate]
        assert service.resources.watched() == {mandate}
        await service.world.store.write(
            lambda uow: uow.identities.revoke_key(
                m.agent.user_id or "", "k_other", service.world.clock.now()
            )
        )
        told = {"kind": "note", "payload": {"text": "hello"}}
        assert (await m.as_agent("mandate_report_event", **told)).status == 201
        with anyio.fail_after(STUCK_S):
            while service.resources.watched():
                await anyio.sleep(0.05)
        with anyio.move_on_after(0.3) as silence:
            await anext(stream)
        assert silence.cancelled_caught


async def test_a_slow_listener_holds_up_no_other(asking: tuple[Service, Mandated]) -> None:
    service, m = asking
    name, go_on, slow_heard = f"wallet://mandates/{m.id}", anyio.Event(), list[str]()
    send, heard = anyio.create_memory_object_stream[str](16)

    async def slow(of: str) -> None:
        slow_heard.append(of)
        await go_on.wait()

    async def sees(request: Any, of: str, anew: bool) -> bool:
        return True

    told = {"kind": "note", "payload": {"text": "hello"}}
    every = [ChangeListener(None, deliver, {name}) for deliver in (slow, send.send)]
    listeners = Listeners(service.world.deps, lambda: every, sees)
    await listeners.note([name])
    with anyio.fail_after(STUCK_S):
        async with anyio.create_task_group() as group, send, heard:
            group.start_soon(listeners.run)
            for _ in range(3):
                assert (await m.as_agent("mandate_report_event", **told)).status == 201
                assert await heard.receive() == name
            assert slow_heard == [name]
            go_on.set()
            while len(slow_heard) < 2:
                await anyio.sleep(0.05)
            group.cancel_scope.cancel()
    assert slow_heard == [name, name]  # what changed meanwhile is one notice
