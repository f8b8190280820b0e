"""Gas sponsorship: off by default, only for calls on our own vaults, and closed whatever the paymaster does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from eth_abi import encode

from chain import paymaster
from chain.chains import EvmChains
from chain.contracts import abi_codec
from domain.money import Usdc
from tests.world import CHAIN_ID, Mandated, World, error_of, working

pytestmark = pytest.mark.anyio
ENTRY_POINT = "0x0000000071727De22E5E9d8BAf0edAc6f37da032"
PAID = {
    "paymaster": "0x" + "ab" * 20,
    "paymasterData": "0x1234",
    "paymasterVerificationGasLimit": "0x5208",
    "isFinal": True,
}


@asynccontextmanager
async def provider(
    answer: Callable[[dict[str, Any]], Any],
) -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    """A paymaster service; what it was asked."""
    asked: list[dict[str, Any]] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        told = await request.json()
        asked.append(told)
        said = answer(told)
        if isinstance(said, web.StreamResponse):
            return said
        if isinstance(said, float):
            await anyio.sleep(said)
            return web.Response(status=500)
        return web.json_response({"jsonrpc": "2.0", "id": told["id"], **said})

    app = web.Application()
    app.router.add_post("/", handle)
    server = TestServer(app)
    await server.start_server()
    try:
        yield str(server.make_url("/")), asked
    finally:
        await server.close()


def batch(*calls: tuple[str, int, str]) -> str:
    inner = [(to, value, bytes.fromhex(data[2:])) for to, value, data in calls]
    return "0x34fcd5be" + encode(["(address,uint256,bytes)[]"], [inner]).hex()


def single(to: str, data: str, value: int = 0) -> str:
    return (
        "0xb61d27f6"
        + encode(["address", "uint256", "bytes"], [to, value, bytes.fromhex(data[2:])]).hex()
    )


@asynccontextmanager
async def paid_by(world: World, url: str | None) -> AsyncIterator[None]:
    """The world with a paymaster at that address."""
    chains, deps = EvmChains([world.evm.facts(paymaster_url=url)]), world.deps
    world.deps = replace(deps, chains=chains)
    try:
        yield
    finally:
        world.deps = deps
        await chains.close()


async def sponsored(world: World, url: str | None, call_data: str, **more: Any) -> Any:
    """Ask with a paymaster at that address, switched on."""
    op = {"sender": "0x" + "cd" * 20, "nonce": "0x0", "callData": call_data}
    told = {
        "chain_id": CHAIN_ID,
        "jsonrpc": "2.0",
        "id": 7,
        "method": "pm_getPaymasterData",
        "params": [op, ENTRY_POINT, hex(CHAIN_ID), {}],
    }
    async with paid_by(world, url):
        return await world.do("gas_sponsor", **(told | more))


@pytest.fixture
async def m(world: World) -> Mandated:
    made = await working(world)
    await world.store.write(
        lambda uow: uow.switches.set("gas_sponsorship", "on", world.clock.now(), "test")
    )
    await world.store.write(
        lambda uow: uow.chainlog.add_vault(CHAIN_ID, made.vault.lower(), "0x" + "00" * 32, 1)
    )
    return made


def funding(m: Mandated) -> str:
    """USDC allowance and deposit in one batch."""
    evm = m.world.evm
    approve = abi_codec.calldata("TestUSDC", "approve", (m.vault, Usdc.parse("5")))
    deposit = abi_codec.calldata("MandateVault", "deposit", (Usdc.parse("5"),))
    return batch((evm.usdc, 0, approve), (m.vault, 0, deposit))


async def test_a_call_on_an_own_vault_is_sponsored(m: Mandated) -> None:
    async with provider(lambda _: {"result": PAID | {"unknown": 1}}) as (url, asked):
        told = await sponsored(m.world, url, funding(m))
    assert (told.status, told.body) == (200, {"jsonrpc": "2.0", "id": 7, "result": PAID})
    assert [a["method"] for a in asked] == ["pm_getPaymasterData"]
    assert asked[0]["params"][1:] == [ENTRY_POINT, hex(CHAIN_ID), {}]


async def test_nothing_else_is_paid_for(m: Mandated) -> None:
    evm, stop = m.world.evm, abi_codec.calldata("MandateVault", "stop", ())
    transfer = abi_codec.calldata("TestUSDC", "transfer", ("0x" + "11" * 20, Usdc.parse("5")))
    foreign = abi_codec.calldata("TestUSDC", "approve", ("0x" + "11" * 20, Usdc.parse("5")))
    async with provider(lambda _: {"result": PAID}) as (url, asked):
        for call_data in (
            single(evm.market, stop), single(evm.usdc, transfer), single(evm.usdc, foreign), single(m.vault, stop, value=1),
            batch((m.vault, 0, stop), (evm.market, 0, stop)), batch(*[(m.vault, 0, stop)] * 9), batch(), "0x", "0xdeadbeef",
            "0x34fcd5be" + "ff" * 64, "0xb61d27f6",
        ):  # fmt: skip
            told = await sponsored(m.world, url, call_data)
            assert told.body["error"] == "target_not_allowed"
        assert (
            await error_of(
                sponsored(m.world, url, funding(m), params=[{}, ENTRY_POINT, hex(CHAIN_ID)])
            )
            == "invalid_request"
        )
        wrong = [{"callData": funding(m)}, ENTRY_POINT, "0x1"]
        assert (
            await error_of(sponsored(m.world, url, funding(m), params=wrong)) == "invalid_request"
        )
    assert asked == []
    async with provider(lambda _: {"result": PAID}) as (url, _):
        assert (await sponsored(m.world, url, single(m.vault, stop))).status == 200


async def test_it_is_off_by_default_and_without_an_endpoint(m: Mandated) -> None:
    async with provider(lambda _: {"result": PAID}) as (url, asked):
        assert await error_of(sponsored(m.world, None, funding(m))) == "not_configured"
        await m.world.store.write(
            lambda uow: uow.switches.set("gas_sponsorship", "off", m.world.clock.now(), "test")
        )
        assert await error_of(sponsored(m.world, url, funding(m))) == "not_configured"
    assert asked == []
    assert (await m.as_owner("owner_fund")).body["capabilities"] is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": -32000, "message": "policy"}},
        {"result": None},
        {"result": {}},
        {"result": {"paymaster": "0x12", "paymasterData": "0x"}},
        {"result": {"paymaster": "0x" + "ab" * 20}},
        {"result": {"paymasterAndData": 7}},
        {"result": {"paymasterAndData": "0xabc"}},
        {"result": PAID | {"paymasterPostOpGasLimit": "lots"}},
        {"result": ["0x"]},
        1.0,
    ],
)
async def test_a_paymaster_that_refuses_lies_or_stalls_pays_for_nothing(
    m: Mandated, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    monkeypatch.setattr(paymaster.Paymaster.__init__, "__defaults__", (0.5,))
    async with provider(lambda _: answer) as (url, _):
        told = await sponsored(m.world, url, funding(m))
    assert told.body["error"] == "chain_unavailable"


async def test_the_owners_wallet_is_told_where_to_ask(m: Mandated) -> None:
    async with paid_by(m.world, "http://127.0.0.1:1/"):
        told = (await m.as_owner("owner_fund")).body
    assert told["capabilities"] == {
        "paymasterService": {"url": f"{m.world.deps.config.base_url}/wallet/paymaster/{CHAIN_ID}"}
    }
