"""A serving process that is killed within `mandate_act`, alone or with the signer: the act asked again by its key is
sent once, with one outcome. Real processes on PostgreSQL: five are started in the short form, so it is for make
plays; a signer that is killed, and a call repeated by its key, are tested by themselves.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from aiohttp import ClientError, ClientSession, web

from http_shim.http_server import address_of, bound
from server.signer.client import SignerClient
from tests.hosted import hosted
from tests.ports import free_port
from tests.server.test_process import WALLET
from tests.server.test_signer_killed import Node, Process
from tests.tools.acting.test_act import sent_by
from tests.waiting import STUCK_S, Heard
from tests.world import Evm, Mandated, World, a_world, own_evm

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.pg]
evm = own_evm


class Line:
    """The signer's socket as the service finds it; `holds` keeps back what was signed, for good."""

    def __init__(self, socket: Path, signer: Path):
        self.socket, self.signer, self.holds, self.signed = socket, signer, False, asyncio.Event()
        self.carried = set[asyncio.Task[Any]]()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.carried.add(task)
        try:
            answers, asks = await asyncio.open_unix_connection(str(self.signer), limit=2**20)
            try:
                asks.write(await reader.readline())
                answer = await answers.readline()
            finally:
                asks.transport.abort()
            if self.holds and b'"raw"' in answer:
                self.signed.set()
                await reader.read()  # until the service is gone
            else:
                writer.write(answer)
        except (OSError, asyncio.CancelledError):
            pass  # one of the two is gone, or the test is over
        finally:
            writer.close()


class Service:
    """`wallet serve` on the world's database, with a node and a signer that may be slow."""

    def __init__(self, world: World, signer: Process, line: Line, node_url: str):
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        whole = {n: v for n, v in signer.env.items() if not n.startswith("WALLET_SIGNER_")}
        self.env = whole | {n: node_url for n in whole if n.endswith("__RPC_URL")} | {
            "WALLET_DATABASE_URL": world.store.url, "WALLET_DOOR": "on", "WALLET_LOG_LEVEL": "WARNING", "WALLET_BASE_URL": self.base,
            "WALLET_STATE_KEYS": "k" * 32, "WALLET_SIGNER_SOCKET": str(line.socket), "WALLET_RATE_ANONYMOUS": "0",
        }  # fmt: skip
        self.folder = signer.folder

    def start(self) -> None:
        self.process = subprocess.Popen(
            [*WALLET, "serve", "--port", str(self.port)], env=self.env, cwd=self.folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.heard = Heard(self.process)
        self.heard.until("serving on")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(STUCK_S)
        self.heard.whole()


@dataclass
class Stage:
    """An agent that acts over HTTP, and every part that can be killed or held."""

    m: Mandated
    key: str
    service: Service
    signer: Process
    line: Line
    node: Node
    signers_node: Node

    async def act(self, http: ClientSession, key: str) -> Any:
        data = self.m.world.deposit_data(self.m.vault, "10")
        action = {"kind": "call", "target": self.m.world.evm.market, "data": data, "approve_amount": "10"}  # fmt: skip
        body = {"action": action, "why": "as planned", "idempotency_key": key}
        url = f"{self.service.base}/wallet/mandates/{self.m.id}/act"
        async with http.post(url, json=body, headers={"X-Service-User-Key": self.key}) as reply:
            return await reply.json()

    async def killed(
        self, http: ClientSession, key: str, when: asyncio.Event, *, both: bool
    ) -> None:
        """The service dies once `when` has come, before it could answer."""

        async def ask() -> None:
            with pytest.raises(ClientError):
                told.append(await self.act(http, key))

        told: list[Any] = []
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            with anyio.fail_after(STUCK_S):
                await when.wait()
            if both:
                self.signer.kill()
            await asyncio.to_thread(self.service.kill)
        assert told == []
        if both:
            await self.signer.start()
        await asyncio.to_thread(self.service.start)


@asynccontextmanager
async def noded(node: Node) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/{tail:.*}", node.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    sock = bound("127.0.0.1", 0)
    await web.SockSite(runner, sock).start()
    try:
        yield address_of(sock)
    finally:
        await runner.cleanup()


@pytest.fixture
async def stage(pg_url: str, evm: Evm, tmp_path: Path) -> AsyncIterator[Stage]:
    async with a_world(pg_url, evm) as world:
        world.remembers = False
        world.clock.at = datetime.now(UTC)  # the processes have no other clock than the machine's
        node, signers_node = Node(world), Node(world)
        async with noded(node) as url, noded(signers_node) as signers_url:
            signer = Process(world, tmp_path, signers_url)
            await signer.start()
            line = Line(tmp_path / "line.sock", signer.socket)
            server = await asyncio.start_unix_server(line.carry, str(line.socket), limit=2**20)
            world.deps = replace(world.deps, agent_signer=SignerClient(signer.socket))
            m = await hosted(world)
            made = await world.ok("owner_agent_key_add", m.owner, agent_id=m.agent.user_id)
            service = Service(world, signer, line, url)
            await asyncio.to_thread(service.start)
            try:
                yield Stage(m, made["key"], service, signer, line, node, signers_node)
            finally:
                service.kill()
                signer.kill()
                server.close()
                for task in line.carried:
                    task.cancel()
                await asyncio.gather(*line.carried)


# (whose answer is held back, at what, whether the signer dies too)
MOMENTS: tuple[tuple[str, str, bool], ...] = (
    ("line", "signed", True),  # signed, not stored
    ("node", "sent", False),  # sent, nobody knows it
    ("node", "eth_sendRawTransaction", False),  # stored, not sent
    ("node", "eth_sendRawTransaction", True),
    ("signers_node", "eth_gasPrice", False),  # checked, not signed
    ("signers_node", "eth_gasPrice", True),
    ("line", "signed", False),
    ("node", "eth_getTransactionReceipt", False),  # sent, not recorded
)


@pytest.mark.parametrize(
    "moments",
    [
        pytest.param(MOMENTS[:2], marks=pytest.mark.play),
        pytest.param(MOMENTS[2:], marks=pytest.mark.campaign),
    ],
    ids=len,
)
async def test_an_act_whose_process_was_killed_is_sent_once_and_has_one_outcome(
    stage: Stage, moments: tuple[tuple[str, str, bool], ...]
) -> None:
    m, mined = stage.m, 0
    async with ClientSession() as http:
        for number, (part, at, both) in enumerate(moments):
            key, when = f"in-{number}", asyncio.Event()
            if part == "line":
                stage.line.holds, stage.line.signed = True, when
            else:
                node: Node = getattr(stage, part)
                node.asked, node.after = when, at == "sent"
                node.at = "eth_sendRawTransaction" if node.after else at
            await stage.killed(http, key, when, both=both)
            stage.line.holds, stage.node.at, stage.signers_node.at = False, "", ""
            if at == "eth_sendRawTransaction":
                # Another act comes first: what holds its nonce is sent before it.
                other = await stage.act(http, f"other-{number}")
                assert other["outcome"] == "landed", (at, other)
                mined += 1
            told = await asyncio.gather(*(stage.act(http, key) for _ in range(3)))
            assert {t.get("outcome") for t in told} == {"landed"}, (at, told)
            assert len({t["tx_hash"] for t in told}) == 1, (at, told)
            mined += 1
            assert await sent_by(m) == mined, (at, told)
            assert await stage.act(http, key) == told[0]
    rows = [e for e in (await m.read())["events"] if e["kind"] == "buy"]
    by_agent = [e["tx_hash"] for e in rows if e["reported_by"] == "agent"]
    assert len(by_agent) == len(set(by_agent)) == mined
