"""What /metrics counts of calls, whatever door they came through."""

from __future__ import annotations

import re

import pytest

from http_shim.metrics import Metrics
from server.instrumentation import watched_store
from storage.errors import DatabaseTimeouts, Unavailable
from tests.surfaces.conftest import Service, opened
from tests.surfaces.small import Served

pytestmark = pytest.mark.anyio


def figures(text: str) -> dict[str, float]:
    """Every sample of a scrape."""
    found = re.findall(r"^(wallet_[^ ]+) ([0-9.e+-]+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found}


async def test_operations_are_timed_and_refusals_counted_by_code(service: Service) -> None:
    async with opened("http", service) as door:
        for _ in range(2):
            assert (await door.call("mandate_get", public_id=service.mandate.id))[0] == 200
        assert (await door.call("mandate_get", public_id="m_bbbbbbbbbb"))[0] == 404
    assert (await service.get("/wallet/agents/me", "ak_nobody")).status == 401
    assert (await service.get("/wallet/nowhere")).status == 404
    own = Served()
    own.base = service.watched
    told = figures((await own.get("/metrics")).text)
    called = 'wallet_operation_seconds_count{operation="mandate_get",outcome="%s",surface="http"}'
    assert (told[called % "ok"], told[called % "refused"]) == (2, 1)
    assert told['wallet_refusals_total{code="not_found",operation="mandate_get"}'] == 1
    assert told['wallet_refusals_total{code="not_found",operation=""}'] == 1
    assert told['wallet_refusals_total{code="unauthenticated",operation="agents_me"}'] == 1


async def test_work_with_the_database_is_timed_and_batches_are_measured(sqlite_url: str) -> None:
    metrics = Metrics()
    store = await watched_store(sqlite_url, DatabaseTimeouts(), metrics)

    def broken(_: object) -> None:
        raise Unavailable("its disk is full")

    await store.write(lambda uow: uow.switches.all())
    await store.read(lambda uow: uow.switches.all())
    with pytest.raises(Unavailable):
        await store.write(broken)
    await store.close()
    told = figures(metrics.render({}))
    assert told['wallet_store_seconds_count{kind="write"}'] == 2
    assert told['wallet_store_seconds_count{kind="read"}'] == 1
    assert told['wallet_store_unavailable_total{kind="write"}'] == 1
    assert told['wallet_store_queue{kind="write"}'] == 0
    assert told["wallet_store_batch_count"] >= 1
