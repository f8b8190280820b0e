"""Mandates that were settled under an older schema are compared with their vaults once, and then left alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eth_utils import keccak

from chain.logs.log_reader import LogReader
from server.keeper.chain_sync import ChainSync
from storage.integrity.ledger_check import verify
from storage.schema import migrate
from tests.chain.nodes import distorted
from tests.server.test_paying import listed
from tests.server.test_sums import kept_by, sums
from tests.world import CHAIN_ID, Evm, Mandated, World, a_world, running_evm, working

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
WITHDRAWN = "0x" + keccak(text="Withdrawn(bytes32,address,uint256)").hex()


@pytest.fixture(scope="module")
def evm() -> Iterator[Evm]:
    with running_evm() as running:
        yield running


def before_0025(url: str) -> None:
    """The rows in a file of revision 0024, where nothing lists a settled mandate whose fee is
    paid; it takes the place of the newer file.
    """
    path = url.removeprefix("sqlite:///")
    migrate.upgrade(f"{url}.old", "0024")
    connection = sqlite3.connect(f"{path}.old")
    connection.execute("ATTACH ? AS newer", (path,))
    named = "SELECT name FROM {}sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    tables = {name for (name,) in connection.execute(named.format(""))} - {"alembic_version"}
    for table in tables & {name for (name,) in connection.execute(named.format("newer."))}:
        if table in ("work_claims", "hall_agents", "ledger_checkpoints"):
            continue
        columns = [
            {row[1] for row in connection.execute(f"PRAGMA {of}table_info({table})")}
            for of in ("", "newer.")
        ]
        both = ", ".join(sorted(columns[0] & columns[1]))
        connection.execute(f"DELETE FROM {table}")  # names of the schema's own
        connection.execute(f"INSERT INTO {table} ({both}) SELECT {both} FROM newer.{table}")
    connection.commit()
    connection.close()
    for left_over in ("", "-wal", "-shm"):
        Path(f"{path}{left_over}").unlink(missing_ok=True)
    Path(f"{path}.old").rename(path)


async def left(world: World, m: Mandated, *, hides: bool) -> None:
    """The owner takes everything out; the node may tell of all of it but what was paid out."""

    def distort(request: dict[str, Any], raw: Any) -> Any:
        if not hides or request["method"] != "eth_getLogs" or "result" not in raw:
            return raw
        return raw | {"result": [g for g in raw["result"] if g["topics"][0] != WITHDRAWN]}

    async with distorted(world.evm.chain, distort) as url, kept_by(world, url) as ticks:
        reader = LogReader(ticks.parts.chains.get(CHAIN_ID))
        await ChainSync(ticks.deps, reader).on()
        call = (await m.as_owner("owner_withdraw_call")).body["call"]
        assert (await world.mined(m.owner_wallet, call))[0]
        await ChainSync(ticks.deps, reader).on()


@pytest.mark.parametrize("hides", [True, False])
async def test_a_mandate_settled_before_the_upgrade_is_compared_once(
    sqlite_url: str, evm: Evm, hides: bool
) -> None:
    async with a_world(sqlite_url, evm) as world:
        m = await working(world)
        await left(world, m, hides=hides)
        assert (await m.read())["mandate"]["status"] == "settled"
        assert (await sums(m))[0] == ("500.000000" if hides else "0.000000")
        before_0025(sqlite_url)
        migrate.upgrade(sqlite_url)
        assert await listed(world) == 1
        async with kept_by(world, evm.url) as ticks:
            for _ in range(3):
                await ticks.round()
                world.clock.forward(hours=1)
        assert await sums(m) == ("0.000000", "0.000000", False)
        assert await listed(world) == 0
        assert (await verify(world.store)).ok
