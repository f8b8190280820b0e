"""A held call as a task: polled and listened to by the official client, made once, and never changed once it is answered."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import mcp.types as t
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client, MCPError
from mcp.client import subscriptions
from mcp.client.extension import ClientExtension, NotificationBinding, ResultClaim
from pydantic import BaseModel, Field

from server.mcp_api.held_calls import TASKS
from tests import npm
from tests.hosted import hosted, signing
from tests.surfaces.small import by_key, connected
from tests.surfaces.test_act_play import served
from tests.waiting import STUCK_S
from tests.world import CHAIN_ID, Evm, Mandated, World, a_world

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ENTER = {"kind": "enter", "market": "test-market", "amount_usdc": "55"}


class Task(t.Result):
    """A task, as a call is answered with it."""

    result_type: Literal["task"] = "task"
    task_id: str = Field(alias="taskId")
    status: str


class TaskRequest(t.Request[dict[str, Any], str]):
    """A request about a task."""


class Anything(t.Result, extra="allow"):
    """Whatever a result holds."""


class Told(BaseModel, extra="allow"):
    """What a notice holds."""


class FollowsTasks(ClientExtension):
    """The tasks extension of a client: it polls, and keeps what it is told."""

    identifier = TASKS

    def __init__(self, waits: Callable[[], Awaitable[None]] | None = None):
        self._waits, self.polls, self.notices = waits, 0, list[dict[str, Any]]()

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """A call may be answered with a task."""
        return [ResultClaim(result_type="task", model=Task, resolve=self._resolved)]

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        """Notices of tasks."""
        return [
            NotificationBinding(method="notifications/tasks", params_type=Told, handler=self._heard)
        ]

    async def _heard(self, params: Told) -> None:
        self.notices.append(params.model_extra or {})

    async def _resolved(self, task: Task, ctx: Any) -> t.CallToolResult:
        while True:
            told = await read(ctx.session, task.task_id)
            if told["status"] == "completed":
                return t.CallToolResult.model_validate(told["result"])
            self.polls += 1
            if self._waits is not None:
                await self._waits()
            await anyio.sleep(0.1)


async def read(session: Any, task_id: str) -> dict[str, Any]:
    request = TaskRequest(method="tasks/get", params={"taskId": task_id})
    told = await session.send_request(request, Anything)
    return dict(told.model_extra)


class Play:
    """A mandate whose key the service holds, and the agent's client."""

    def __init__(self, m: Mandated, base: str, key: str):
        self.m, self.base, self.key = m, base, key

    @asynccontextmanager
    async def client(self, follows: FollowsTasks, key: str | None = None) -> AsyncIterator[Client]:
        headers = by_key(key or self.key)
        async with connected("streamable-2026", self.base, headers, extensions=[follows]) as client:
            yield client

    def call(self, name: str, action: Mapping[str, Any] = ENTER) -> dict[str, Any]:
        return {"public_id": self.m.id, "action": dict(action), "idempotency_key": name}

    async def task(self, client: Client, name: str, action: Mapping[str, Any] = ENTER) -> Any:
        return await client.session.call_tool(
            "mandate_act", self.call(name, action), allow_claimed=True
        )

    async def decide(self, item: str, decision: str = "approve") -> None:
        told = await self.m.as_owner("owner_approval_decide", approval_id=item, decision=decision)
        assert told.status == 200, told.body

    async def waiting(self) -> str:
        (item,) = (await self.m.as_agent("mandate_approvals", status="pending")).body["items"]
        return str(item["approval_id"])

    async def sent(self) -> int:
        world = self.m.world
        key = await world.ok("owner_agent_hosted_key", self.m.owner, agent_id=self.m.agent.user_id)
        return (await world.chains.get(CHAIN_ID).sending_facts(key["address"])).nonce

    async def owner_call(self, name: str) -> None:
        asked: Any = (await self.m.as_owner(name)).body
        await self.m.world.mined(self.m.owner_wallet, asked["call"])


@asynccontextmanager
async def playing(world: World, folder: Path) -> AsyncIterator[Play]:
    async with signing(world, folder):
        m = await hosted(world, approval_above_usdc="50")
        key = await world.ok("owner_agent_key_add", m.owner, agent_id=m.agent.user_id)
        async with served(world) as base:
            with anyio.fail_after(STUCK_S):
                yield Play(m, base, key["key"])


@pytest.fixture
async def play(sqlite_url: str, evm: Evm, tmp_path: Path) -> AsyncIterator[Play]:
    async with a_world(sqlite_url, evm) as world, playing(world, tmp_path) as playing_:
        yield playing_


async def test_an_act_that_was_held_is_done_for_the_client_that_polls(
    database_url: str, evm: Evm, tmp_path: Path
) -> None:
    async with a_world(database_url, evm) as world, playing(world, tmp_path) as play:

        async def waits() -> None:
            if follows.polls == 2:
                await play.decide(await play.waiting())

        follows = FollowsTasks(waits)
        async with play.client(follows) as client:
            told = await client.call_tool("mandate_act", play.call("in-1"))
            body: Any = told.structured_content
            assert (body["outcome"], body["event"]["kind"]) == ("landed", "buy"), body
            assert follows.polls >= 2
            assert await play.sent() == 1
            again: Any = await client.call_tool("mandate_act", play.call("in-1"))
            assert again.structured_content["tx_hash"] == body["tx_hash"]
            assert await play.sent() == 1


async def test_a_listener_is_told_of_its_tasks_and_no_others(play: Play) -> None:
    follows, deaf = FollowsTasks(), FollowsTasks()
    other = await play.m.world.agent(play.m.owner)
    foreign = await play.m.world.ok("owner_agent_key_add", play.m.owner, agent_id=other[0].user_id)
    async with play.client(follows) as client, play.client(deaf, foreign["key"]) as stranger:
        task = await play.task(client, "in-1")
        assert task.status == "working"
        heard, unheard = list[Any](), list[Any]()
        async with anyio.create_task_group() as group:
            group.start_soon(listened, client, [task.task_id, "ap_aaaaaaaaaa"], heard)
            group.start_soon(listened, stranger, [task.task_id], unheard)
            while not (heard and unheard):
                await anyio.sleep(0.05)
            assert heard[0].get("taskIds") == [task.task_id]
            assert "taskIds" not in unheard[0]
            await play.decide(task.task_id)
            while not follows.notices or follows.notices[-1]["status"] != "completed":
                await anyio.sleep(0.05)
            group.cancel_scope.cancel()
        told = follows.notices[-1]
        assert told["result"]["structuredContent"]["outcome"] == "landed"
        answered = await read(client.session, task.task_id)
        assert {k: v for k, v in told.items() if k != "_meta"} == {
            k: v for k, v in answered.items() if k != "resultType"
        }
        assert await play.sent() == 1
        assert not deaf.notices


async def listened(client: Client, task_ids: list[str], heard: list[Any]) -> None:
    """Listen to tasks by the client's own driver, whose filter has room for what extensions add."""
    stamp = client.session._stamp

    def with_tasks(data: dict[str, Any], options: Any) -> None:
        data["params"]["notifications"]["taskIds"] = task_ids
        stamp(data, options)

    patch = pytest.MonkeyPatch()
    patch.setattr(client.session, "_stamp", with_tasks)
    async with subscriptions.listen(client.session) as stream:
        patch.undo()
        heard.append(stream.honored.model_extra)
        await anyio.sleep_forever()


async def test_readers_of_a_task_at_once_send_once(play: Play) -> None:
    async with play.client(FollowsTasks()) as client:
        task = await play.task(client, "in-1")
        await play.decide(task.task_id)
        states = list[Any]()

        async def reads() -> None:
            states.append(await read(client.session, task.task_id))

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(reads)
        final = await read(client.session, task.task_id)
        assert {s["status"] for s in states} <= {"working", "completed"}
        assert all(s["result"] == final["result"] for s in states if s["status"] == "completed")
        assert await play.sent() == 1


async def test_an_item_is_one_task(play: Play) -> None:
    async with play.client(FollowsTasks()) as client:
        task = await play.task(client, "in-1")
        assert (await play.task(client, "in-1")).task_id == task.task_id
        other = await play.task(client, "in-2")
        assert isinstance(other, t.CallToolResult)
        assert other.structured_content is not None
        assert other.structured_content["approval"]["approval_id"] == task.task_id


async def test_a_task_that_was_answered_never_changes(play: Play) -> None:
    async with play.client(FollowsTasks()) as client:
        task = await play.task(client, "in-1")
        await play.decide(task.task_id)
        await play.owner_call("owner_pause_call")
        told = await read(client.session, task.task_id)
        assert told["result"]["isError"]
        assert told["result"]["structuredContent"]["refusal"]["error"] == "mandate_paused"
        await play.owner_call("owner_resume_call")
        assert (await read(client.session, task.task_id))["result"] == told["result"]
        assert await play.sent() == 0
        landed: Any = await client.call_tool("mandate_act", play.call("in-1"))
        assert landed.structured_content["outcome"] == "landed"
        assert (await read(client.session, task.task_id))["result"] == told["result"]


@pytest.mark.parametrize("hours", [0, 25])
async def test_a_task_that_is_over_sends_nothing(play: Play, hours: int) -> None:
    """Its approval was declined, or nobody answered, or another act used it up."""
    async with play.client(FollowsTasks()) as client:
        task = await play.task(client, "in-1")
        if hours:
            play.m.world.clock.forward(hours=hours)
        else:
            await play.decide(task.task_id, "decline")
        told = await read(client.session, task.task_id)
        code = told["result"]["structuredContent"]["refusal"]["error"]
        assert code == ("approval_expired" if hours else "owner_declined")
        assert "execute" not in str(told["result"]["structuredContent"]["refusal"]["next"])
        assert await play.sent() == 0


async def test_a_plain_held_call_is_no_task(play: Play) -> None:
    async with (
        connected("streamable-2026", play.base, by_key(play.key)) as plain,
        play.client(FollowsTasks()) as client,
    ):
        held: Any = (await plain.call_tool("mandate_act", play.call("in-1"))).structured_content
        with pytest.raises(MCPError, match="Unknown task"):
            await read(client.session, held["approval"]["approval_id"])


@pytest.mark.skipif(bool(npm.missing()), reason=npm.missing())
async def test_the_official_typescript_client_follows_a_task_to_its_end(play: Play) -> None:
    npm.install()
    asked = {
        "url": play.base,
        "key": play.key,
        "tool": "mandate_act",
        "arguments": play.call("in-1"),
    }
    command = npm.node("../tasks.mjs")
    async with await anyio.open_process(command, cwd=npm.FOLDER, stderr=None) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        await process.stdin.send(json.dumps(asked).encode())
        await process.stdin.aclose()
        lines = BufferedByteReceiveStream(process.stdout)
        first = json.loads(await lines.receive_until(b"\n", 100_000))
        assert first["kind"] == "task"
        assert await play.sent() == 0
        await play.decide(first["taskId"])
        told = json.loads(await lines.receive_until(b"\n", 100_000))
    assert told["status"] == "completed"
    assert told["states"][-1] == "completed"
    assert told["result"]["structuredContent"]["outcome"] == "landed"
    assert await play.sent() == 1
