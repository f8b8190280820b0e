"""`wallet mcp --url --agent-key-file` where answers are lost: processes that are killed, on one machine and on two,
nodes that lose what they were given, and another program with the same key. An act is sent once for its key.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from aiohttp import ClientSession, web
from eth_account import Account
from mcp import Client, StdioServerParameters

from domain.chain_facts import Call, SignedTransaction
from http_shim.http_server import address_of, bound
from tests.surfaces.conftest import running
from tests.surfaces.test_host import Spoken
from tests.waiting import PATIENTLY, STUCK_S
from tests.world import CHAIN_ID, Evm, Mandated, config_of, working
from tools.actions import act

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ENTER = {"kind": "enter", "market": "test-market", "amount_usdc": "10"}
ROOT = Path(__file__).parents[2]


@dataclass
class Wire:
    """What lies between the machines and the service: it holds a request back on its way, or its answer."""

    to: str
    at: str = ""
    after: bool = False
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    late: asyncio.Task[Any] | None = None

    def hold(self, at: str, *, after: bool) -> None:
        self.at, self.after = at, after
        self.reached, self.released = asyncio.Event(), asyncio.Event()

    async def pass_on(self, request: web.Request) -> web.Response:
        raw = await request.read()
        held = bool(self.at) and request.path.endswith(self.at)
        if held:
            self.at = ""
            self.late = asyncio.ensure_future(self._late(request, raw))
            return await asyncio.shield(self.late)
        return await self._passed(request, raw)

    async def _late(self, request: web.Request, raw: bytes) -> web.Response:
        """One that arrives, or is answered, when everybody has given up on it."""
        answer = await self._passed(request, raw) if self.after else None
        self.reached.set()
        await self.released.wait()
        return answer or await self._passed(request, raw)

    async def _passed(self, request: web.Request, raw: bytes) -> web.Response:
        own = ("host", "content-length", "connection", "accept-encoding")
        headers = {n: v for n, v in request.headers.items() if n.lower() not in own}
        async with (
            ClientSession() as http,
            http.request(
                request.method, self.to + request.path_qs, data=raw, headers=headers
            ) as reply,
        ):
            dropped = (*own, "transfer-encoding", "date", "server")
            kept = {n: v for n, v in reply.headers.items() if n.lower() not in dropped}
            return web.Response(status=reply.status, body=await reply.read(), headers=kept)


@dataclass
class Stage:
    """A funded mandate, and machines that have its agent's key in a file."""

    m: Mandated
    wire: Wire
    base: str
    key: str
    secret: str
    folder: Path

    def machine(self, name: str) -> Path:
        """The folder of a machine with the key's file."""
        folder = self.folder / name
        if not folder.exists():
            folder.mkdir()
            (folder / "agent.key").write_text(self.secret)
            (folder / "agent.key").chmod(0o600)
        return folder

    def command(self, name: str) -> tuple[list[str], dict[str, str]]:
        file = str(self.machine(name) / "agent.key")
        args = ["-m", "server", "mcp", "--url", self.base, "--agent-key-file", file]
        env = PATIENTLY | {"PATH": os.defpath, "PYTHONPATH": str(ROOT)}
        return args, env | {"WALLET_SERVICE_USER_KEY": self.key}

    @asynccontextmanager
    async def client(self, name: str) -> AsyncIterator[Client]:
        args, env = self.command(name)
        where = StdioServerParameters(
            command=sys.executable, args=args, env=env, cwd=self.machine(name)
        )
        with anyio.fail_after(STUCK_S):
            async with Client(where) as client:
                yield client

    @asynccontextmanager
    async def process(self, name: str) -> AsyncIterator[Spoken]:
        """The command by the line, to be killed."""
        args, env = self.command(name)
        process = await anyio.open_process(
            [sys.executable, *args], env=env, cwd=self.machine(name), stderr=None
        )
        try:
            with anyio.fail_after(STUCK_S):
                yield Spoken(process)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            await process.aclose()

    def asked(self, key: str, **action: Any) -> dict[str, Any]:
        return {"public_id": self.m.id, "action": action or ENTER, "idempotency_key": key}

    async def killed_at(self, at: str, key: str, *, after: bool) -> None:
        """An act whose machine dies while the request is held."""
        self.wire.hold(at, after=after)
        async with self.process("laptop") as laptop:
            await laptop.say(line(self.asked(key)))
            await self.wire.reached.wait()

    async def sent(self) -> int:
        chain = self.m.world.chains.get(CHAIN_ID)
        return (await chain.sending_facts(self.m.agent_wallet.address)).nonce

    async def reported(self) -> list[str]:
        rows = (await self.m.read())["events"]
        agents = [e for e in rows if (e["kind"], e["reported_by"]) == ("buy", "agent")]
        return [e["tx_hash"] for e in agents]


def line(arguments: Any, number: int = 1) -> dict[str, Any]:
    params = {"name": "mandate_act", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


async def told(client: Client, arguments: dict[str, Any]) -> Any:
    answer: Any = (await client.call_tool("mandate_act", arguments)).structured_content
    return answer.get("refusal", answer)


@pytest.fixture
async def stage(sqlite_url: str, evm: Evm, tmp_path: Path) -> AsyncIterator[Stage]:
    async with running(sqlite_url, evm, markets=config_of(evm).markets) as service:
        m = await working(service.world, approval_above_usdc="50")
        key = await service.world.ok("owner_agent_key_add", m.owner, agent_id=m.agent.user_id)
        own = m.agent_wallet.address
        (secret,) = (k for k in evm.chain.keys if Account.from_key(bytes(k)).address == own)
        wire = Wire(service.base)
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", wire.pass_on)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        sock = bound("127.0.0.1", 0)
        await web.SockSite(runner, sock).start()
        try:
            yield Stage(m, wire, address_of(sock), key["key"], "0x" + bytes(secret).hex(), tmp_path)
        finally:
            wire.released.set()
            await runner.cleanup()


async def test_an_act_whose_machine_was_killed_is_sent_once_from_there_and_from_another(
    stage: Stage,
) -> None:
    """Killed before it signed, between signing and sending, and before it heard: what was under way arrives last."""
    moments = [("/prepare", False), ("/prepare", True), ("/send", False), ("/send", True)]
    mined = 0
    for number, (at, after) in enumerate(moments):
        key = f"in-{number}"
        await stage.killed_at(at, key, after=after)
        shutil.rmtree(stage.machine("laptop"))
        async with stage.client("laptop") as one, stage.client("desk") as two:
            both = await asyncio.gather(*(told(c, stage.asked(key)) for c in (one, two)))
            assert [b.get("outcome") for b in both] == ["landed"] * 2, (at, after, both)
            mined += 1
            stage.wire.released.set()
            assert stage.wire.late is not None
            await stage.wire.late
            again = await told(one, stage.asked(key))
        assert len({b["tx_hash"] for b in (*both, again)}) == 1, (at, after, both)
        assert await stage.sent() == mined, (at, after)
    reported = await stage.reported()
    assert len(reported) == len(set(reported)) == mined


async def test_two_processes_with_one_key_act_at_once(stage: Stage) -> None:
    """On one machine and on two, the same act and others: each is sent once, and none stops a process."""
    acts = [stage.asked("same") for _ in range(4)] + [stage.asked(f"own-{n}") for n in range(4)]
    async with (
        stage.client("laptop") as one,
        stage.client("laptop") as two,
        stage.client("desk") as three,
    ):
        clients = (one, two, three)

        async def until_landed(client: Client, arguments: dict[str, Any]) -> Any:
            for _ in range(12):
                answer = await told(client, arguments)
                if "outcome" in answer and answer["outcome"] != "pending":
                    return answer
                assert answer.get("retry_safe", True), answer
            raise AssertionError(answer)

        answers = await asyncio.gather(
            *(until_landed(clients[n % 3], a) for n, a in enumerate(acts))
        )
        assert {a["outcome"] for a in answers} == {"landed"}, answers
        assert len({a["tx_hash"] for a in answers}) == 5
        assert await stage.sent() == 5
        assert len(await stage.reported()) == 5


async def test_what_a_node_lost_is_brought_by_another_machine(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain, given = stage.m.world.chains.get(CHAIN_ID), list[SignedTransaction]()

    async def lost(signed: SignedTransaction) -> None:
        given.append(signed)

    monkeypatch.setattr(act, "WAIT_MS", 300)
    with monkeypatch.context() as deaf:
        deaf.setattr(chain, "broadcast", lost)
        async with stage.client("laptop") as laptop:
            assert (await told(laptop, stage.asked("in-1")))["outcome"] == "pending"
    stage.m.world.clock.forward(seconds=31)
    async with stage.client("desk") as desk:
        answer = await told(desk, stage.asked("in-1"))
        assert (answer["outcome"], answer["tx_hash"]) == ("landed", given[0].tx_hash), answer
        assert await told(desk, stage.asked("in-1")) == answer
    assert await stage.sent() == 1


async def test_what_may_cost_too_much_to_raise_is_followed_as_it_was_sent(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its fee is at the machine's own bound: no refusal that sounds as though nothing had been sent."""
    chain, given = stage.m.world.chains.get(CHAIN_ID), list[SignedTransaction]()

    async def lost(signed: SignedTransaction) -> None:
        given.append(signed)

    monkeypatch.setattr(act, "WAIT_MS", 300)
    with monkeypatch.context() as deaf:
        deaf.setattr(chain, "broadcast", lost)
        async with stage.client("laptop") as laptop:
            assert (await told(laptop, stage.asked("in-1")))["outcome"] == "pending"
        stage.m.world.clock.forward(seconds=31)
        first = given[0].transaction
        bound_wei = str(first.gas * first.max_fee)
        deaf.setattr(
            Stage,
            "command",
            lambda self, name, real=Stage.command: (
                real(self, name)[0],
                real(self, name)[1] | {"WALLET_AGENT_GAS_MOST_WEI": bound_wei},
            ),
        )
        async with stage.client("desk") as desk:
            answer = await told(desk, stage.asked("in-1"))
            assert (answer.get("outcome"), answer.get("tx_hash")) == ("pending", given[0].tx_hash), answer  # fmt: skip
    assert given[-1].raw == given[0].raw
    async with stage.client("desk") as desk:
        assert (await told(desk, stage.asked("in-1")))["outcome"] == "landed"
    assert await stage.sent() == 1


async def test_another_program_with_the_key_takes_the_nonce_of_an_act(stage: Stage) -> None:
    """Between what is to be signed and the sending: nothing of the act is lost or done twice."""
    stage.wire.hold("/send", after=False)
    async with stage.client("laptop") as laptop, anyio.create_task_group() as group:
        answers: list[Any] = []

        async def ask() -> None:
            answers.append(await told(laptop, stage.asked("in-1")))

        group.start_soon(ask)
        await stage.wire.reached.wait()
        own = stage.m.agent_wallet
        await own.send(Call(CHAIN_ID, own.address, "0x"))
        stage.wire.released.set()
    assert answers[0].get("outcome") == "landed", answers
    assert await stage.sent() == 2
    assert len(await stage.reported()) == 1


async def test_what_the_machine_keeps_of_an_act_can_harm_none(stage: Stage) -> None:
    """A full disk, a file that something else has written, and calls that no service would take."""
    folder = stage.machine("laptop")
    async with stage.process("laptop") as laptop:
        deep = stage.asked("in-1") | {"action": "[" * 100_000}
        refused = await laptop.ask(line(deep))
        assert refused["result"]["structuredContent"]["refusal"]["error"] == "invalid_request"
        (kept,) = (p for p in folder.iterdir() if p.is_dir())
        kept.chmod(0o500)
        if os.getuid():
            refused = await laptop.ask(line(stage.asked("in-1"), 3))
            assert refused["result"]["structuredContent"]["refusal"]["error"] == "signer_refused"
        kept.rename(folder / "away")
        refused = await laptop.ask(line(stage.asked("in-1"), 4))
        assert refused["result"]["structuredContent"]["refusal"]["error"] == "signer_refused"
        (folder / "away").rename(kept)
        kept.chmod(0o700)
        landed = await laptop.ask(line(stage.asked("in-1"), 5))
        assert landed["result"]["structuredContent"]["outcome"] == "landed", landed
        for file in kept.iterdir():
            file.write_text("{")
        again = await laptop.ask(line(stage.asked("in-1"), 6))
        assert again["result"]["structuredContent"]["outcome"] == "landed", again
    assert not any(b"0x02" in p.read_bytes() for p in kept.iterdir())
    assert json.dumps(await stage.sent()) == "1"
