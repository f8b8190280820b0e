"""The demo's wallet in the browser: it signs for the embedded chains of its process, for pages of
its own site, and for nothing and nobody else.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import ClientSession, web

from devtools.demo.wallet import Answers, DemoWallet
from devtools.devnet import Devnet, devnet
from domain.refusals import Refused
from http_shim.http_server import listen
from server.application import DEMO_ROUTE

pytestmark = pytest.mark.anyio
CHAIN_ID = 31337
HERE = {"Sec-Fetch-Site": "same-origin"}


@dataclass
class Demo:
    net: Devnet
    wallet: DemoWallet


@pytest.fixture
async def demo() -> AsyncIterator[Demo]:
    async with devnet("127.0.0.1", 0, CHAIN_ID) as net:
        key = "0x" + net.chain.keys[2].hex()
        wallet = DemoWallet(key, {CHAIN_ID: net}, "http://demo.test")
        yield Demo(net, wallet)
        await wallet.close()


def typed(chain_id: int) -> str:
    fields = [{"name": "chainId", "type": "uint256"}]
    told = {"types": {"EIP712Domain": fields, "A": [{"name": "n", "type": "uint256"}]}, "primaryType": "A",
            "domain": {"chainId": chain_id}, "message": {"n": 1}}  # fmt: skip
    return json.dumps(told)


def text(*chains: int) -> str:
    return "0x" + "\n".join(["Hello", *(f"Chain ID: {c}" for c in chains)]).encode().hex()


def sending(chain_id: int, to: str, **more: str) -> dict[str, str]:
    return {"to": to, "data": "0x", "chainId": hex(chain_id)} | more


async def test_it_signs_and_sends_on_its_own_chain(demo: Demo) -> None:
    wallet, usdc = demo.wallet, demo.net.deployed.usdc
    assert await wallet.answer(CHAIN_ID, "eth_requestAccounts", []) == [wallet.address]
    assert await wallet.answer(CHAIN_ID, "eth_chainId", []) == hex(CHAIN_ID)
    signed = await wallet.answer(
        CHAIN_ID, "eth_signTypedData_v4", [wallet.address, typed(CHAIN_ID)]
    )
    assert len(str(signed)) == 132
    assert len(str(await wallet.answer(CHAIN_ID, "personal_sign", [text(CHAIN_ID)]))) == 132
    data = "0x095ea7b3" + "00" * 12 + usdc[2:] + "00" * 31 + "01"
    tx = await wallet.answer(CHAIN_ID, "eth_sendTransaction", [sending(CHAIN_ID, usdc, data=data)])
    assert await wallet.answer(CHAIN_ID, "eth_getTransactionReceipt", [tx]) == {"status": "0x1"}
    unseen = await wallet.answer(CHAIN_ID, "eth_getTransactionReceipt", ["0x" + "12" * 32])
    assert unseen is None


@pytest.mark.parametrize("chain_id", [1, 8453, 84532, 31338])
async def test_it_refuses_every_other_chain(demo: Demo, chain_id: int) -> None:
    wallet, usdc = demo.wallet, demo.net.deployed.usdc
    for at, method, params in (
        (chain_id, "eth_chainId", []),
        (CHAIN_ID, "wallet_switchEthereumChain", [{"chainId": hex(chain_id)}]),
        (CHAIN_ID, "eth_signTypedData_v4", [wallet.address, typed(chain_id)]),
        (CHAIN_ID, "personal_sign", [text(chain_id)]),
        (CHAIN_ID, "eth_sendTransaction", [sending(chain_id, usdc)]),
    ):
        with pytest.raises(Answers) as told:
            await wallet.answer(at, method, params)
        assert told.value.code == 4902, method


async def test_it_signs_no_text_of_doubtful_chain_and_sends_no_ether(demo: Demo) -> None:
    wallet = demo.wallet
    for method, params in (
        ("personal_sign", [text()]),
        ("personal_sign", [text(CHAIN_ID, 1)]),
        ("eth_sendTransaction", [sending(CHAIN_ID, wallet.address, value="0x1")]),
        ("eth_sign", [wallet.address, "0x00"]),
        ("eth_sendTransaction", [{}]),
        ("eth_signTypedData_v4", ["x", "{"]),
    ):
        with pytest.raises(Answers):
            await wallet.answer(CHAIN_ID, method, params)


async def test_it_is_not_made_for_a_chain_that_is_not_embedded(demo: Demo) -> None:
    with pytest.raises(Refused):
        DemoWallet("0x" + "11" * 32, {8453: demo.net}, "http://demo.test")


async def test_only_pages_of_its_own_site_are_answered(demo: Demo) -> None:
    app = web.Application()
    app.router.add_post(DEMO_ROUTE, demo.wallet.handle)
    runner = await listen(app, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{runner.addresses[0][1]}{DEMO_ROUTE}"
    asked: dict[str, Any] = {"chain": CHAIN_ID, "method": "eth_chainId", "params": []}
    try:
        async with ClientSession() as http:
            for headers, status in (
                (HERE, 200),
                ({"Origin": "http://demo.test"}, 200),
                ({"Sec-Fetch-Site": "cross-site"}, 403),
                ({"Sec-Fetch-Site": "same-site"}, 403),
                ({"Origin": "null"}, 403),
                ({}, 403),
                # A name of somebody else's that was made to lead here (DNS rebinding).
                (HERE | {"Host": "evil.example"}, 403),
                (HERE | {"Host": f"evil.example:{runner.addresses[0][1]}"}, 403),
                (HERE | {"Host": "127.0.0.1.evil.example"}, 403),
                (HERE | {"Host": "localhost:1"}, 200),
                (HERE | {"Host": "[::1]:1"}, 200),
                (HERE | {"Host": "demo.test"}, 200),
            ):
                async with http.post(url, json=asked, headers=headers) as answer:
                    assert answer.status == status, headers
            for body in (b"", b"[]", b'{"chain": "x"}', b"\xff"):
                async with http.post(url, data=body, headers=HERE) as answer:
                    assert answer.status == 400
    finally:
        await runner.cleanup()
