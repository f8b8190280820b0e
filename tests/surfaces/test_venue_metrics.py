"""What the venue says that is not known here is counted in /metrics, under labels of our own."""

from __future__ import annotations

import re
from itertools import product

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer

from devtools.devvenue import VenueFault
from domain.trading.outcome import PARTS
from domain.trading.venue_values import NETWORKS
from http_shim.application import about_itself, build
from http_shim.service_routes import DEPS, GAUGES
from tests.tools.trading.conftest import a_desk, order_key
from tools.catalogue import OPERATIONS
from venue import reads

pytestmark = pytest.mark.anyio
KINDS = {r.kind for r in vars(reads).values() if isinstance(r, reads.InfoQuery)} | set(
    reads.RELAYED
)
CONTRADICTED = 'wallet_venue_contradictions_total{{network="{}",part="{}"}} '
LINE = re.compile(
    r'wallet_venue_unknown_total\{network="(\w+)",kind="(\w+)",what="(\w+)"\} ([0-9]+)'
)


async def test_unknown_fields_and_words_are_counted_by_kind_and_never_by_name(
    sqlite_url: str,
) -> None:
    hostile = 'x"} 1\nwallet_requests_total{a="b'
    async with a_desk(sqlite_url) as desk:
        p = await desk.linked()
        desk.main.faults.add(VenueFault(effect="unknown_field", kind="meta", times=1))
        desk.test.faults.add(
            VenueFault(effect="malformed", kind="userAbstraction", value=hostile, times=1)
        )
        refused = {"status": "err", "response": "Nobody has heard this"}
        desk.test.faults.add(VenueFault(effect="malformed", route="/exchange", value=refused))
        app = build(desk.deps, OPERATIONS)
        service, watched = TestServer(app), TestServer(about_itself(app[DEPS], app[GAUGES]))
        await service.start_server()
        await watched.start_server()
        async with ClientSession() as http:
            async with http.get(watched.make_url("/metrics")) as r:
                text = await r.text()
                assert "wallet_venue_unknown" not in text
                assert 'wallet_venue_answers_refused_total{network="mainnet"' not in text
                for network, part in product(NETWORKS, PARTS):  # from 0 on
                    assert CONTRADICTED.format(network, part) in text
            async with http.get(service.make_url("/wallet/info/meta")) as r:
                assert r.status == 200
            await desk.ok("own_status", p.caller)
            desk.test.faults.add(
                VenueFault(effect="malformed", kind="extraAgents", value=5, times=1)
            )
            desk.clock.forward(minutes=10)
            await desk.ok("own_status", p.caller)
            await desk.refused("own_enable_relay", p.caller, **desk.approval(p, order_key(1)))
            async with http.get(watched.make_url("/metrics")) as r:
                text = await r.text()
        await service.close()
        await watched.close()
    assert "# TYPE wallet_venue_unknown_total counter" in text
    found = {m[:3]: int(m[3]) for m in LINE.findall(text)}
    assert found["mainnet", "meta", "field"] > 0
    assert found["testnet", "userAbstraction", "status"] == 1
    assert found["testnet", "exchange", "words"] == 1
    assert {kind for _, kind, _ in found} <= KINDS | {"exchange"}
    assert len(found) == text.count("wallet_venue_unknown_total{")
    assert '{network="mainnet",kind="meta"} 0\n' in text, "a kind that is answered counts from 0"
    assert 'wallet_venue_answers_refused_total{network="testnet",kind="extraAgents"} 1\n' in text
    assert "# TYPE wallet_venue_answers_refused_total counter" in text
    assert "unheardOf" not in text
    assert 'a="b' not in text
