"""A seller answers 402 in the official forms, and both clients pay it out of a mandate, once."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from aiohttp import web

from domain.money import Usdc
from tests.clients.test_generated import NODE, built, imported
from tests.surfaces.conftest import Service, running
from tests.tools.paying import PAYEE, balance, paying, required, settled
from tests.world import Evm, Mandated

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@dataclass
class Seller:
    """A paid endpoint that settles on the chain before it answers, and once loses its answer."""

    service: Service
    mandate: Mandated
    price: str = "0.25"
    named: str | None = None
    loses: int = 0
    seen: list[str] = field(default_factory=list)
    served: dict[str, str] = field(default_factory=dict)
    url: str = ""

    async def report(self, request: web.Request) -> web.StreamResponse:
        header = request.headers.get("PAYMENT-SIGNATURE")
        if header is None:
            asked = required(self.service.world, self.price)
            asked["resource"]["url"] = self.named or f"{self.url}/report"
            raw = base64.b64encode(json.dumps(asked).encode()).decode()
            return web.json_response({}, status=402, headers={"PAYMENT-REQUIRED": raw})
        self.seen.append(header)
        payment: Any = json.loads(base64.b64decode(header))
        nonce = payment["payload"]["authorization"]["nonce"]
        if nonce not in self.served and not await settled(self.service.world, payment):
            return web.json_response({"error": "not settled"}, status=402)
        self.served[nonce] = header
        if self.loses:
            self.loses -= 1
            assert request.transport is not None
            request.transport.abort()
        return web.Response(text="the report")

    async def sign(self, request: web.Request) -> web.Response:
        return web.Response(text=self.mandate.agent_wallet.sign_typed(await request.json()))


@asynccontextmanager
async def selling(url: str, evm: Evm) -> AsyncIterator[tuple[Seller, str]]:
    async with running(url, evm, purses=True) as service:
        m = await paying(service.world)
        key = await service.world.ok("owner_agent_key_add", m.owner, agent_id=m.agent.user_id)
        seller, app = Seller(service, m), web.Application()
        app.router.add_get("/report", seller.report)
        app.router.add_get("/free", _free)
        app.router.add_post("/sign", seller.sign)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        seller.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield seller, key["key"]
        finally:
            await runner.cleanup()


async def _free(_: web.Request) -> web.Response:
    return web.Response(text="free")


@pytest.fixture
async def sold(sqlite_url: str, evm: Evm) -> AsyncIterator[tuple[Seller, str]]:
    async with selling(sqlite_url, evm) as opened:
        yield opened


async def _python(
    seller: Seller, key: str, *, path: str = "/report", most: str = "1", **more: Any
) -> Any:
    client = imported("wallet_client", await anyio.to_thread.run_sync(built, "python"))

    async def sign(document: Any) -> str:
        return seller.mandate.agent_wallet.sign_typed(document)

    named = {"public_id": seller.mandate.id, "max_amount": most, "why": "the report", "sign": sign}
    async with client.WalletClient(seller.service.base, agent_key=key) as wallet:
        return await client.fetch_with_mandate(wallet, seller.url + path, **named | more)


async def test_the_python_helper_pays_once_also_where_the_answer_is_lost(
    sold: tuple[Seller, str],
) -> None:
    seller, key = sold
    seller.loses = 2
    told = await _python(seller, key)
    assert (told.status, told.body) == (200, b"the report")
    assert len(seller.seen) == 3
    assert len(set(seller.seen)) == 1
    assert balance(seller.service.world, PAYEE) == Usdc.parse("0.25")
    free = await _python(seller, key, path="/free")
    assert (free.status, free.payment) == (200, None)


async def test_the_python_helper_pays_nothing_above_the_bound_or_for_another_host(
    sold: tuple[Seller, str],
) -> None:
    seller, key = sold
    client = imported("wallet_client", await anyio.to_thread.run_sync(built, "python"))
    with pytest.raises(client.Refused) as refused:
        await _python(seller, key, most="0.249999")
    assert refused.value.refusal.error == "over_per_payment"
    with pytest.raises(client.NotPaid, match="no `sign`"):
        await _python(seller, key, sign=None)
    seller.named = "https://data.example/report"
    with pytest.raises(client.NotPaid, match="another host"):
        await _python(seller, key)
    assert seller.seen == []


async def test_the_python_helper_takes_a_402_that_nests_without_end_for_none() -> None:
    client = imported("wallet_client.paying", await anyio.to_thread.run_sync(built, "python"))
    answer = client.Fetched(402, {}, b"[" * 100_000, None)
    with pytest.raises(client.NotPaid, match="none of x402"):
        client._required(answer, "https://data.example/")


class TestTypeScript:
    pytestmark = NODE

    async def test_the_typescript_helper_pays_once_and_keeps_the_bound(
        self, sold: tuple[Seller, str]
    ) -> None:
        seller, key = sold
        folder = await anyio.to_thread.run_sync(built, "typescript")
        await anyio.run_process(["node", "node_modules/typescript/bin/tsc", "-p", "."], cwd=folder)

        async def paid(most: str) -> Any:
            told = [seller.service.base, key, seller.mandate.id, f"{seller.url}/report", most]
            command = ["node", "build/story/paid.js", *told, f"{seller.url}/sign"]
            return json.loads((await anyio.run_process(command, cwd=folder)).stdout)

        seller.loses = 1
        told = await paid("1")
        assert (told["status"], told["body"]) == (200, "the report")
        assert len(seller.seen) == 2
        assert len(set(seller.seen)) == 1
        assert (await paid("0.2"))["code"] == "over_per_payment"
        seller.named = "https://data.example/report"
        assert "another host" in (await paid("1"))["notPaid"]
        assert balance(seller.service.world, PAYEE) == Usdc.parse("0.25")
