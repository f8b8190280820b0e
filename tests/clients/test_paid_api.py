"""The example of a paid service: the official middleware and the official facilitator, paid out of a mandate."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from aiohttp import ClientSession

from devtools.local_wallet import LocalWallet
from domain.chain_facts import Call
from tests.anvil.chains import running_anvil
from tests.clients.selling import selling
from tests.clients.test_generated import NODE, built, imported
from tests.fetched import python_of
from tests.surfaces.conftest import Service, running
from tests.tools.paying import PAYEE, paying
from tests.waiting import STUCK_S
from tests.world import CHAIN_ID, Evm, Mandated, running_evm

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.evm]
# The official facilitator is at Anvil in tests/anvil and test_official_python, too.
ANVIL = [pytest.mark.anvil, pytest.mark.play, *NODE]
REAL = [pytest.param("embedded"), pytest.param("anvil", marks=ANVIL)]


@pytest.fixture(scope="module", params=REAL)
def chain(request: pytest.FixtureRequest) -> Iterator[Evm]:
    """A chain whose time goes on to today's: the facilitator has a clock of its own."""
    with running_evm() if request.param == "embedded" else running_anvil() as running:
        yield running


@dataclass
class Bought:
    """A service, a mandate with a purse, and a shop."""

    service: Service
    m: Mandated
    key: str
    shop: str

    async def earned(self) -> str:
        chain = self.service.world.chains.get(CHAIN_ID)
        return str((await chain.usdc_balances([PAYEE]))[PAYEE])

    async def sign(self, document: Any) -> str:
        return self.m.agent_wallet.sign_typed(document)

    async def fetch(self, path: str, most: str, **more: Any) -> Any:
        client = imported("wallet_client", await anyio.to_thread.run_sync(built, "python"))
        named = {"public_id": self.m.id, "max_amount": most, "why": "the forecast"}
        named |= {"sign": self.sign}
        async with client.WalletClient(self.service.base, agent_key=self.key) as wallet:
            return await client.fetch_with_mandate(wallet, self.shop + path, **named | more)

    async def payment(self, path: str, most: str) -> str:
        """A payment that was never sent: the value of its header."""
        async with ClientSession() as http, http.get(self.shop + path) as asked:
            assert asked.status == 402
            required = json.loads(base64.b64decode(asked.headers["PAYMENT-REQUIRED"]))
        wanted = {"payment_required": required, "max_amount": most, "why": "the forecast"}
        made = await self.m.as_agent("mandate_pay", **wanted)
        assert made.status == 200, made.body
        signature = await self.sign(made.body["typed_data"])
        signed = await self.m.as_agent("mandate_pay", **wanted, signature=signature)
        return str(signed.body["header"])

    async def sent(self, path: str, header: str) -> tuple[int, dict[str, Any]]:
        """The seller's answer to a payment, and what it says of it."""
        named = {"PAYMENT-SIGNATURE": header}
        async with ClientSession() as http, http.get(self.shop + path, headers=named) as told:
            said = told.headers.get("PAYMENT-RESPONSE") or told.headers["PAYMENT-REQUIRED"]
            return told.status, json.loads(base64.b64decode(said))


@dataclass
class Shop:
    """The seller and its facilitator, which counts its own transactions while the chain goes back between two tests."""

    address: str
    sent: int = 0

    async def catch_up(self, gas: LocalWallet) -> None:
        """Send as many again, of nothing to itself."""
        for _ in range(self.sent):
            await gas.send(Call(CHAIN_ID, gas.address, "0x", "0"), gas=21_000)


@pytest.fixture(scope="module")
def shop(chain: Evm) -> Iterator[Shop]:
    with selling(chain, PAYEE, chain.key(6)) as address:
        yield Shop(address)


@pytest.fixture
async def bought(sqlite_url: str, chain: Evm, shop: Shop) -> AsyncIterator[Bought]:
    async with running(sqlite_url, chain, purses=True) as service:
        world, gas = service.world, LocalWallet(chain.key(6), chain.url)
        world.wallets.append(gas)
        await shop.catch_up(gas)
        world.clock.forward(seconds=(datetime.now(UTC) - world.clock.now()).total_seconds())
        m = await paying(world, per_tx_cap_usdc="50", approval_above_usdc="10")
        key = await world.ok("owner_agent_key_add", m.owner, agent_id=m.agent.user_id)
        yield Bought(service, m, key["key"], shop.address)
        shop.sent = await gas._web3.eth.get_transaction_count(gas._account.address)


async def test_within_the_limits_the_official_middleware_is_paid_and_settles(
    bought: Bought,
) -> None:
    told = await bought.fetch("/report", "0.25")
    assert (told.status, json.loads(told.body)) == (200, {"report": "rain until noon"})
    settled = json.loads(base64.b64decode(told.headers["PAYMENT-RESPONSE"]))
    assert settled["success"]
    assert settled["payer"].lower() == told.payment.purse.address.lower()
    assert await bought.earned() == "0.250000"


async def test_above_the_approval_amount_it_is_paid_once_the_owner_approves(
    bought: Bought,
) -> None:
    client = imported("wallet_client", await anyio.to_thread.run_sync(built, "python"))
    with pytest.raises(client.NotPaid, match="the owner has to approve") as held:
        await bought.fetch("/archive", "15", idempotency_key="archive")
    assert held.value.approval_url
    assert await bought.earned() == "0.000000"
    named = {"approval_id": held.value.approval_url.rpartition("/")[2], "decision": "approve"}
    decided = await bought.m.as_owner("owner_approval_decide", **named)
    assert decided.status == 200, decided.body
    told = [await bought.fetch("/archive", "15", idempotency_key="archive") for _ in range(2)]
    assert [t.status for t in told] == [200, 200]
    assert told[0].payment.header == told[1].payment.header
    assert await bought.earned() == "15.000000"


async def test_above_the_cap_nothing_is_signed(bought: Bought) -> None:
    client = imported("wallet_client", await anyio.to_thread.run_sync(built, "python"))
    with pytest.raises(client.Refused) as refused:
        await bought.fetch("/library", "60")
    assert refused.value.refusal.error == "over_per_payment"
    assert await bought.earned() == "0.000000"


async def test_a_payment_that_was_signed_before_a_pause_is_refused_by_the_chain(
    bought: Bought,
) -> None:
    header = await bought.payment("/report", "0.25")
    call = (await bought.m.as_owner("owner_pause_call")).body["call"]
    await bought.m.recorded(bought.m.owner_wallet, call)
    status, told = await bought.sent("/report", header)
    assert status == 402
    assert "signature" in told["error"]
    assert await bought.earned() == "0.000000"


async def test_after_a_lost_answer_the_same_payment_buys_the_answer_that_was_lost(
    bought: Bought,
) -> None:
    header = await bought.payment("/report", "0.25")
    host, _, port = bought.shop.removeprefix("http://").partition(":")
    lines = ["GET /report HTTP/1.1", f"Host: {host}:{port}", f"PAYMENT-SIGNATURE: {header}"]
    async with await anyio.connect_tcp(host, int(port)) as stream:
        await stream.send("\r\n".join([*lines, "", ""]).encode())
        with anyio.fail_after(STUCK_S):
            while await bought.earned() != "0.250000":
                await anyio.sleep(0.05)
    answers = [await bought.sent("/report", header) for _ in range(2)]
    assert answers[0] == answers[1]
    status, told = answers[0]
    assert (status, told["success"]) == (200, True)
    assert await bought.earned() == "0.250000"
    other, refused = await bought.sent("/archive", header)
    assert (other, "error" in refused) == (402, True)


@pytest.mark.play  # test_official_python.py pays with its packages too
async def test_the_official_python_client_pays_with_what_the_mandate_signs(bought: Bought) -> None:
    owed = [bought.service.base, bought.key, bought.m.id, bought.m.agent_wallet._account.key.hex()]
    python = await anyio.to_thread.run_sync(python_of, "x402")
    story = [python, str(Path(__file__).with_name("story_x402.py"))]
    done = await anyio.run_process([*story, *owed, f"{bought.shop}/report"], check=False)
    assert done.returncode == 0, done.stderr.decode()[-2_000:]
    told = json.loads(done.stdout)
    assert (told["status"], told["body"]) == (200, {"report": "rain until noon"})
    assert told["told"]["success"]
    assert await bought.earned() == "0.250000"
