"""A little life in a new database, by the version whose tree is the working folder: `python life.py URL`."""

from __future__ import annotations

import asyncio
import sys

from storage.schema import migrate
from storage.unit_of_work import UnitOfWork
from tests.server.test_sigterm import NOW, fill
from tests.world import Evm, a_world, running_evm, working
from tools.context.credentials import hashed

REPORTS = 300  # beyond 256 a ledger has a checkpoint
KEY = "ak_" + "j" * 43


async def lived(url: str, evm: Evm) -> None:
    """Eight agents at work, and one more whose mandate has a vault and a checkpoint."""
    async with a_world(url, evm) as world:
        await world.store.write(fill)
        m = await working(world)
        agent = m.agent.user_id

        def keyed(uow: UnitOfWork) -> None:
            uow.identities.add_key("k_lived", agent, hashed(KEY), NOW)

        await world.store.write(keyed)
        for n in range(REPORTS):
            told = {"kind": "note", "payload": {"text": f"lived {n}"}}
            reply = await m.as_agent("mandate_report_event", **told)
            assert reply.status == 201, reply.body


if __name__ == "__main__":
    migrate.upgrade(sys.argv[1])
    with running_evm() as chain:
        asyncio.run(lived(sys.argv[1], chain))
