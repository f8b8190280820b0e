"""How many statements a call costs on PostgreSQL, counted from the server's own log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from aiohttp import ClientSession

from storage.unit_of_work import UnitOfWork
from tests.storage.statements import Log, logging
from tests.surfaces.conftest import Service, running
from tests.world import Evm

pytestmark = [pytest.mark.anyio, pytest.mark.pg, pytest.mark.slow]

LISTED = 50


@pytest.fixture
async def told(pg_url: str, evm: Evm) -> AsyncIterator[tuple[Service, Log]]:
    log = await logging(pg_url)
    async with running(pg_url, evm, rate_reads=0, rate_writes=0) as service:
        yield service, log


async def _count(service: Service, log: Log, http: ClientSession, path: str) -> list[str]:
    log.statements()
    headers = {"X-Service-User-Key": service.key}
    async with http.get(f"{service.base}/wallet/mandates{path}", headers=headers) as answer:
        assert answer.status == 200, await answer.text()
        await answer.json()
    return log.statements()


async def test_a_read_is_two_statements_and_a_list_three(told: tuple[Service, Log]) -> None:
    service, log = told

    def fifty(uow: UnitOfWork) -> None:
        m = uow.mandates.get(service.mandate.id)
        assert m is not None
        for n in range(LISTED):
            uow.mandates.add(replace(m, public_id=f"m_{n}", vault_address=f"0x{n:040x}"))

    await service.world.store.write(fifty)
    async with ClientSession() as http:
        await _count(service, log, http, "")  # a driver asks a new connection about its types once
        for _ in range(2):  # what a process knows makes a statement smaller, and none of them more
            read = await _count(service, log, http, f"/{service.mandate.id}")
            assert len(read) == 2, read
        limits = await _count(service, log, http, f"/{service.mandate.id}/limits")
        assert len(limits) == 2, limits
        listed = await _count(service, log, http, f"?limit={LISTED}")
        assert len(listed) == 3, listed
