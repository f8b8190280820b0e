"""A mandate's page beside the mandate's read: both over HTTP, of one working mandate on a real chain."""

from __future__ import annotations

import asyncio
import tempfile
import time
from functools import partial
from pathlib import Path

from aiohttp import ClientSession

from app import session_guard
from bench.paired import paired
from bench.stage import settled
from storage.schema import migrate
from tests.app.lives import at_work
from tests.app.site import a_site
from tests.world import a_world, running_evm

ROUNDS = 60


async def measure() -> dict[str, tuple[float, str]]:
    """In turns, each with its own read of the vault; and a page that is asked again, which has none.

    The time is of the CPU: service, client and chain are one process, and who else the machine serves
    is no part of what a page costs.
    """
    chain = running_evm()
    with tempfile.TemporaryDirectory() as folder:
        evm = await asyncio.to_thread(chain.__enter__)
        url = f"sqlite:///{Path(folder) / 'bench.sqlite'}"
        await asyncio.to_thread(migrate.upgrade, url)
        try:
            async with a_world(url, evm) as world, a_site(world) as site, ClientSession() as http:
                m = await at_work(world)
                token = (await site.signed_in(m.owner_wallet)).cookies[session_guard.LOCAL_COOKIE]
                page = (
                    f"{site.base}/app/mandates/{m.id}",
                    {"Cookie": f"{session_guard.LOCAL_COOKIE}={token}"},
                )
                read = (
                    f"{site.base}/wallet/mandates/{m.id}",
                    {"Authorization": f"Bearer {token}"},
                )
                again = page[0], page[1] | {"If-None-Match": '"another"'}

                async def asked(address: str, headers: dict[str, str]) -> float:
                    started = time.process_time()
                    async with http.get(address, headers=headers) as answer:
                        assert answer.status == 200, answer.status
                        await answer.read()
                    return time.process_time() - started

                request = {"page": page, "read": read, "again": again}
                turns = {name: partial(asked, *of) for name, of in request.items()}
                # The chain that runs in here is no garbage of pages.
                with settled():
                    costs = await paired(turns, rounds=ROUNDS, unread=3)
        finally:
            await asyncio.to_thread(chain.__exit__, None, None, None)
    page_ms, again_ms = (costs.middle(name) * 1_000 for name in ("page", "again"))
    return {
        "mandate_page_over_mandate_read": (
            costs.ratio("page", "read"),
            "ratio of CPU time, at most 1.5",
        ),
        "mandate_page_ms": (page_ms, "ms of CPU, with its read of the vault"),
        "mandate_page_again_ms": (again_ms, "ms of CPU, within 2 s of a read of the vault"),
    }
