"""A seller answers 402 in the official forms, and both clients pay it out of a mandate, once."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import anyio
import pytest
from aiohttp import web

from domain.money import Usdc
from tests.clients.test_generated import NODE, built, compiled, imported
from tests.surfaces.conftest import Service, running
from tests.tools.paying import PAYEE, balance, paying, required, settled
from tests.waiting import STUCK_S
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
    ill: str | None = None
    followed: int = 0
    seen: list[str] = field(default_factory=list)
    served: dict[str, str] = field(default_factory=dict)
    url: str = ""

    async def report(self, request: web.Request) -> web.StreamResponse:
        header = request.headers.get("PAYMENT-SIGNATURE")
        if header is None:
            asked = required(self.service.world, self.price)
            asked["resource"]["url"] = self.named or f"{self.url}/report"
            raw = base64.b64encode(json.dumps(asked).encode()).decode()
            if self.ill in ILLNESSES:
                return await ILLNESSES[self.ill](request)
            return web.json_response({}, status=402, headers={"PAYMENT-REQUIRED": raw})
        self.seen.append(header)
        payment: Any = json.loads(base64.b64decode(header))
        nonce = payment["payload"]["authorization"]["nonce"]
        if nonce not in self.served and not await settled(self.service.world, payment):
            return web.json_response({"error": "not settled"}, status=402)
        self.served[nonce] = header
        if self.ill == "redirects":
            raise web.HTTPTemporaryRedirect(f"http://localhost:{request.url.port}/stolen")
        if self.ill == "endless once paid":
            return await _endless(request, 200)
        if self.loses:
            self.loses -= 1
            assert request.transport is not None
            request.transport.abort()
        return web.Response(text="the report")

    async def stolen(self, request: web.Request) -> web.Response:
        self.followed += "PAYMENT-SIGNATURE" in request.headers
        return web.Response(text="stolen")

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
        app.router.add_get("/stolen", seller.stolen)
        app.router.add_post("/sign", seller.sign)
        # A seller who is silent when the test is over is not waited for.
        runner = web.AppRunner(app, shutdown_timeout=0.05)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        seller.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield seller, key["key"]
        finally:
            await runner.cleanup()


async def _free(_: web.Request) -> web.Response:
    return web.Response(text="free")


async def _endless(request: web.Request, status: int = 402) -> web.StreamResponse:
    answer = web.StreamResponse(status=status)
    await answer.prepare(request)
    with suppress(ConnectionError):
        for _ in range(4_096):
            await answer.write(b" " * 65_536)
    return answer


async def _silent(_: web.Request) -> web.StreamResponse:
    await anyio.sleep(STUCK_S)
    return web.Response(text="late")


async def _long_header(_: web.Request) -> web.StreamResponse:
    return web.Response(status=402, headers={"PAYMENT-REQUIRED": "A" * 100_000})


ILLNESSES: dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]] = {
    "endless": _endless,
    "silent": _silent,
    "long header": _long_header,
}


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


async def test_the_python_helper_is_held_up_and_filled_by_no_seller(
    sold: tuple[Seller, str],
) -> None:
    seller, key = sold
    client = imported("wallet_client", await anyio.to_thread.run_sync(built, "python"))
    seller.ill = "endless"
    with pytest.raises(client.NotPaid, match="too long"):
        await _python(seller, key)
    seller.ill = "long header"
    with pytest.raises(aiohttp.ClientError):
        await _python(seller, key)
    seller.ill = "silent"
    with anyio.fail_after(STUCK_S / 2), pytest.raises(TimeoutError):
        await _python(seller, key, timeout_s=0.2)
    assert seller.seen == []
    seller.ill = "endless once paid"
    with pytest.raises(client.AnswerTooLong):
        await _python(seller, key, max_bytes=1_000_000, idempotency_key="f-1")
    seller.ill = None
    told = await _python(seller, key, idempotency_key="f-1")
    assert (told.status, told.body) == (200, b"the report")
    assert balance(seller.service.world, PAYEE) == Usdc.parse("0.25")


async def test_the_python_helper_takes_no_payment_to_where_a_seller_sends_it(
    sold: tuple[Seller, str],
) -> None:
    seller, key = sold
    seller.ill = "redirects"
    told = await _python(seller, key)
    assert (told.status, seller.followed) == (307, 0)


HOSTS = [
    ("https://data.example/x", "https://data.example:443/y", True),
    ("https://data.example:443/x", "https://DATA.example/y", True),
    ("http://data.example/x", "http://data.example:80/y", True),
    ("https://data.example/x", "https://data.example:8443/y", False),
    ("https://data.example:8443/x", "https://data.example/y", False),
    ("https://data.example/x", "https://data.example.evil.example/y", False),
    ("https://data.example/x", "https://data.example@evil.example/y", False),
    ("https://bücher.example/x", "https://xn--bcher-kva.example/y", True),
    ("https://data.example/x", "no host", False),
    ("https://data.example/x", "", False),
]


@pytest.mark.parametrize(("url", "named", "same"), HOSTS)
async def test_the_python_helper_pays_at_the_host_that_was_asked(
    url: str, named: str, same: bool
) -> None:
    client = imported("wallet_client.paying", await anyio.to_thread.run_sync(built, "python"))
    answer = client.Fetched(402, {}, json.dumps({"resource": {"url": named}}).encode(), None)
    with nullcontext() if same else pytest.raises(client.NotPaid):
        client._required(answer, url)


class TestTypeScript:
    pytestmark = NODE

    async def test_the_typescript_helper_pays_once_and_keeps_the_bound(
        self, sold: tuple[Seller, str]
    ) -> None:
        seller, key = sold
        folder = await anyio.to_thread.run_sync(compiled)

        async def paid(most: str, timeout_ms: int = 60_000) -> Any:
            told = [seller.service.base, key, seller.mandate.id, f"{seller.url}/report", most]
            command = ["node", "build/story/paid.js", *told, f"{seller.url}/sign", str(timeout_ms)]
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
        seller.named, seller.ill = None, "endless"
        assert "too long" in (await paid("1"))["notPaid"]
        seller.ill = "long header"
        assert (await paid("1"))["failed"] == "TypeError"
        seller.ill = "silent"
        assert (await paid("1", 200))["failed"] == "TimeoutError"
        seller.ill = "redirects"
        assert ((await paid("1"))["status"], seller.followed) == (307, 0)

    async def test_the_typescript_helper_pays_at_the_host_that_was_asked(self) -> None:
        folder = await anyio.to_thread.run_sync(compiled)
        pairs = [[url, named] for url, named, _ in HOSTS]
        command = ["node", "build/story/hosts.js", json.dumps(pairs)]
        told = json.loads((await anyio.run_process(command, cwd=folder)).stdout)
        assert told == [same for _, _, same in HOSTS]
