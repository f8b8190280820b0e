"""How many statements a call costs on PostgreSQL, counted from the server's own log."""

from __future__ import annotations

import asyncio
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


async def test_a_read_is_one_statement_and_a_list_three(told: tuple[Service, Log]) -> None:
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
            assert len(read) == 1, read
        limits = await _count(service, log, http, f"/{service.mandate.id}/limits")
        assert len(limits) == 1, limits
        listed = await _count(service, log, http, f"?limit={LISTED}")
        assert len(listed) == 3, listed


async def test_a_report_is_two_statements_and_many_share_them(told: tuple[Service, Log]) -> None:
    service, log = told
    url = f"{service.base}/wallet/mandates/{service.mandate.id}/events"

    async def report(http: ClientSession, key: str) -> None:
        headers = {"X-Service-User-Key": service.key, "Idempotency-Key": key}
        body = {"kind": "buy", "amount_usdc": "0.1", "tx_hash": "0x" + key.rjust(64, "0")}
        async with http.post(url, json=body, headers=headers) as answer:
            assert answer.status == 201, await answer.text()

    async with ClientSession() as http:
        await report(http, "1")
        for key in ("2", "3"):
            log.statements()
            await report(http, key)
            found = log.statements()
            assert len(found) == 2, found
        await asyncio.gather(*(report(http, f"4{n}") for n in range(32)))
        assert len(log.statements()) < 32


async def test_calldata_is_four_statements(told: tuple[Service, Log]) -> None:
    service, log = told
    for n in range(3):
        log.statements()
        reply = await service.mandate.execute(f"1.{n:06d}")
        assert reply.status == 200, reply.body
        found = log.statements()
    assert len(found) == 3, found  # and the one by which a door knows its caller
