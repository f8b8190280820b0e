"""The official Python client and facilitator of x402, over payments of a purse: what is paid, and what never is."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from subprocess import PIPE
from typing import Any

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from chain.contracts import abi_codec
from domain.mandates.purses import BillTerms
from domain.mandates.terms import typed_data
from domain.money import Usdc
from tests.anvil.chains import running_anvil
from tests.clients.test_generated import NODE
from tests.fetched import python_of
from tests.purses import USDC
from tests.tools.paying import PAYEE, funded, hub_of, paying, required
from tests.waiting import STUCK_S
from tests.world import CHAIN_ID, Evm, Mandated, a_world, running_evm
from tools.model.serialization import wire

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.evm]
REAL = [pytest.param("embedded"), pytest.param("anvil", marks=[pytest.mark.anvil, *NODE])]


@pytest.fixture(scope="module", params=REAL)
def chain(request: pytest.FixtureRequest) -> Iterator[Evm]:
    with running_evm() if request.param == "embedded" else running_anvil() as running:
        yield running


@dataclass
class Official:
    """The official packages in their process, and the purse that they are to pay out of."""

    m: Mandated
    purse: str
    factory: str
    digest: str
    process: anyio.abc.Process
    lines: BufferedByteReceiveStream

    async def ask(self, **question: Any) -> dict[str, Any]:
        await self.say(json.dumps(question))
        return await self.heard()

    async def say(self, line: str) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.send(line.encode() + b"\n")

    async def heard(self) -> dict[str, Any]:
        with anyio.fail_after(STUCK_S):
            return dict(json.loads(await self.lines.receive_until(b"\n", 1 << 20)))

    async def pay(
        self, name: str, amount: str = "0.25", *, by: Any = None, approved_by: Any = None,
        pay_to: str = PAYEE, epoch: int | None = 0, **window: int,
    ) -> None:  # fmt: skip
        """A payment by a name, signed by the agent unless somebody else is to; without an epoch the
        client's own nonce and time.
        """
        asked = required(self.m.world, amount, payTo=pay_to)
        more = {} if epoch is None else {"nonce": f"0x{epoch:08x}{secrets.token_hex(28)}"}
        told = await self.ask(do="pay", name=name, required=asked, **more, **window)
        await self.say(self._signature(told["sign"], by or self.m.agent_wallet, approved_by)[2:])
        assert await self.heard() == {"made": name}

    def _signature(self, message: dict[str, Any], by: Any, approved_by: Any) -> str:
        chain = self.m.world.chains.get(CHAIN_ID)
        bill = BillTerms(
            pay_to=message["to"], amount=Usdc(int(message["value"])),
            valid_after=int(message["validAfter"]), valid_before=int(message["validBefore"]),
            nonce="0x" + message["nonce"].removeprefix("0x"),
        )  # fmt: skip
        document = chain.bill_typed_data(self.purse, USDC, bill)
        grant: dict[str, Any] = {}
        if approved_by is not None:
            until = int(self.m.world.clock.now().timestamp()) + 600
            action = chain.bill_action(self.purse, bill)
            asked = chain.approve_action(self.factory, self.digest, action, until)
            grant = {"until": until, "approval": approved_by.sign_typed(asked)}
        return chain.bill_signature(bill, by.sign_typed(document), **grant)

    async def earned(self) -> str:
        chain = self.m.world.chains.get(CHAIN_ID)
        return str((await chain.usdc_balances([PAYEE]))[PAYEE])

    async def verified(self, name: str) -> bool:
        return bool((await self.ask(do="verify", name=name))["ok"])

    async def settled(self, name: str) -> bool:
        return bool((await self.ask(do="settle", name=name))["ok"])


@asynccontextmanager
async def official(url: str, evm: Evm) -> AsyncIterator[Official]:
    async with a_world(url, evm, purses=True, approvals_on_chain=True) as world:
        # The packages have a clock of their own.
        world.clock.forward(seconds=(datetime.now(UTC) - world.clock.now()).total_seconds())
        m = await paying(
            world, fund=None, per_tx_cap_usdc="50", daily_cap_usdc="100", approval_above_usdc="10"
        )
        for _ in range(4):
            await funded(m, "10")
        (known,) = await world.store.read(lambda uow: uow.chainlog.purses_of(m.id))
        kept = await world.store.read(lambda uow: uow.mandates.get(m.id))
        assert kept is not None
        assert kept.signed is not None
        s = kept.signed
        document = typed_data(s.message, s.version, s.chain_id, s.verifying_contract)
        digest = world.chains.get(CHAIN_ID).digest(document)
        python = await anyio.to_thread.run_sync(python_of, "x402")
        story = [python, str(Path(__file__).with_name("story_x402_rows.py")), evm.url, evm.key(6)]
        purse = abi_codec.checksummed(known.address)
        async with await anyio.open_process(
            [*story, purse], env={"PATH": os.defpath}, stdin=PIPE, stderr=None
        ) as process:
            assert process.stdout is not None
            lines = BufferedByteReceiveStream(process.stdout)
            yield Official(m, purse, kept.signed.verifying_contract, digest, process, lines)
            process.terminate()


async def test_the_official_client_and_facilitator_pay_what_a_purse_agrees_to_and_nothing_else(
    sqlite_url: str, chain: Evm
) -> None:
    async with official(sqlite_url, chain) as x402:
        m, world, owner = x402.m, x402.m.world, x402.m.owner_wallet
        await x402.pay("first")
        assert await x402.verified("first")
        assert await x402.settled("first")
        assert await x402.earned() == "0.250000"
        assert not await x402.verified("first"), "a nonce is taken once"
        refused: dict[str, dict[str, Any]] = {
            "as the client makes it": {"epoch": None},
            "another key": {"by": world.wallets[0]},
            "the owner's key": {"by": owner},
            "over the cap": {"amount": "51", "approved_by": owner},
            "two hours": {"after": 7_200},
            "to the vault": {"pay_to": m.vault},
            "above the approval amount": {"amount": "15"},
            "approved by the agent": {"amount": "15", "approved_by": m.agent_wallet},
            "of a later epoch": {"epoch": 1},
        }
        for name, payment in refused.items():
            await x402.pay(name, **payment)
            assert not await x402.verified(name), name
        await x402.pay("approved", "15", approved_by=owner)
        assert await x402.verified("approved")
        assert await x402.settled("approved")
        assert not await x402.verified("approved"), "an approval is of one bill"
        assert await x402.earned() == "15.250000"

        await x402.pay("old")
        assert await x402.verified("old")
        void = {
            "chain_id": CHAIN_ID, "to": x402.purse, "value": "0",
            "data": abi_codec.calldata("Purse", "void", ()),
        }  # fmt: skip
        assert (await world.mined(owner, void))[0]
        assert not await x402.verified("old")
        await x402.pay("waiting", epoch=1, after=600)
        assert await x402.verified("waiting")
        for operation, valid in (("pause", False), ("resume", True), ("stop", False)):
            call = (await m.as_owner(f"owner_{operation}_call")).body["call"]
            await m.recorded(owner, call)
            assert await x402.verified("waiting") is valid, operation
        assert await x402.earned() == "15.250000"


async def test_the_official_client_cannot_pay_after_a_drain(sqlite_url: str, chain: Evm) -> None:
    async with official(sqlite_url, chain) as x402:
        m, node = x402.m, x402.m.world.chains.get(CHAIN_ID)
        await x402.pay("late", after=600)
        call = node.vault_call(
            m.vault, "execute", await hub_of(m), node.purse_call("drain"), Usdc(0)
        )
        await m.recorded(m.agent_wallet, dict(wire(call)))
        assert not await x402.verified("late")
        await funded(m, "1")
        assert await x402.verified("late")
