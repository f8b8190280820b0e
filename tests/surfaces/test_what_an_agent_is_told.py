"""An agent's own story over HTTP: what it is told of a call is what the chain did with that very call."""

from __future__ import annotations

from typing import Any

import pytest

from tests.surfaces.conftest import Door, Service, opened

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


class Story:
    """One agent at the door, with its mandate."""

    def __init__(self, service: Service, door: Door):
        self.m, self.world, self.door = service.mandate, service.world, door

    async def ask(self, name: str, **arguments: Any) -> tuple[int, dict[str, Any]]:
        return await self.door.call(name, public_id=self.m.id, **arguments)

    async def told(self, name: str, **arguments: Any) -> dict[str, Any]:
        status, body = await self.ask(name, **arguments)
        assert status in (200, 201), body
        return body

    async def calldata(self, amount: str, approve: str) -> tuple[int, dict[str, Any]]:
        data = self.world.deposit_data(self.m.vault, amount)
        given = {"target": self.world.evm.market, "data": data, "approve_amount": approve}
        return await self.ask("mandate_execute_call", **given)

    async def outcome(self, **of: Any) -> str:
        return str((await self.told("mandate_reconcile", **of))["outcome"])

    async def reserved(self) -> str:
        limits = (await self.told("mandate_limits"))["limits"]
        return str(limits["used"]["per_day"]["reserved"])

    async def by_owner(self, name: str) -> None:
        call = (await self.m.as_owner(name)).body["call"]
        assert (await self.world.mined(self.m.owner_wallet, call))[0]


async def test_an_agent_is_told_the_truth_of_every_call(service: Service) -> None:
    async with opened("http", service) as door:
        s = Story(service, door)
        # A call that reverts, of which nobody tells the service.
        _, first = await s.calldata("20", "20")
        await s.by_owner("owner_pause_call")
        told = await s.told("mandate_get", parts="mandate,chain_state")
        assert told["mandate"]["paused"] is told["chain_state"]["paused"] is True
        ok, failed = await s.world.mined(s.m.agent_wallet, first, gas=900_000)
        assert not ok
        await s.by_owner("owner_resume_call")
        assert await s.outcome(action_hash=first["action_hash"]) == "reverted"
        assert await s.outcome(tx_hash=failed) == "reverted"
        assert await s.reserved() == "0.000000"
        # One that is alike and lands, and one that is handed out and never sent.
        _, alike = await s.calldata("19", "20")
        ok, tx = await s.world.mined(s.m.agent_wallet, alike, gas=900_000)
        assert ok
        _, unsent = await s.calldata("18", "20")
        assert await s.outcome(action_hash=first["action_hash"]) == "reverted"
        assert await s.outcome(action_hash=unsent["action_hash"]) == "pending"
        landed = await s.told("mandate_reconcile", action_hash=alike["action_hash"])
        assert (landed["outcome"], landed["tx_hash"]) == ("landed", tx)
        # What would revert is refused, and holds nothing.
        held = await s.reserved()
        status, refused = await s.calldata("30", "20")
        assert (status, refused["error"]) == (409, "would_revert")
        assert refused["detail"]["pulls_usdc"] == "30.000000"
        assert await s.reserved() == held
        # The revert is reported by the vault's own name for it.
        given = {"reason": "server_guard", "check": "NotAgent", "tx_hash": failed}
        report = await s.told("mandate_report_refusal", **given)
        assert (report["proven"], report["vault_error"]) == (True, "NotAgent")


async def test_the_time_to_wait_is_when_the_first_reservation_ends(service: Service) -> None:
    async with opened("http", service) as door:
        s = Story(service, door)
        _, first = await s.calldata("100", "100")
        s.world.clock.forward(minutes=6)
        assert [(await s.calldata(n, n))[0] for n in ("99", "51")] == [200, 200]
        status, refused = await s.calldata("10", "10")
        assert (status, refused["error"]) == (409, "over_daily_cap")
        assert refused["retry_at"] == first["reserved_until"] == "2026-11-20T12:10:00.000Z"
        assert refused["remaining"]["value"] == "0.000000"
        assert refused["next"][0]["text"] == "Wait until retry_at, then ask again"
        s.world.clock.forward(minutes=4)
        assert (await s.calldata("10", "10"))[0] == 200
