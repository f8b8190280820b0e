"""The agent page: an owner lets the service hold a key, reads what is at stake, and ends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.site import Site, a_site
from tests.hosted import hosted, signing
from tests.world import World

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_a_service_that_holds_no_keys_does_not_offer_it(site: Site) -> None:
    owner, _, browser = await site.somebody()
    agent, _ = await site.world.agent(owner)
    assert "No key is held" not in (await browser.get(f"/app/agents/{agent.user_id}")).said


async def test_an_owner_makes_reads_and_ends_a_held_key(world: World, tmp_path: Path) -> None:
    async with signing(world, tmp_path):
        m = await hosted(world)
        async with a_site(world) as site:
            browser, path = await site.signed_in(m.owner_wallet), f"/app/agents/{m.agent.user_id}"
            page = await browser.get(path)
            assert "at most 108.00 USDC before you pause" in page.said, page.said
            assert (await browser.submit(path, f"{path}/held-key/end")).status == 303
            assert "Let this service hold a key" in (await browser.get(path)).said
            # Its vault stands, and knows the address of the ended key alone.
            assert "stop it first" in (await browser.submit(path, f"{path}/held-key")).said
            fresh, _ = await world.agent(m.owner)
            other = f"/app/agents/{fresh.user_id}"
            assert (await browser.submit(other, f"{other}/held-key")).status == 303
            assert "Revoke held key" in (await browser.get(other)).said
