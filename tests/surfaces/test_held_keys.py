"""Keys that the signer holds for apps: made at a consent, ended with the last grant."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from domain.refusals import Refused, refusal
from http_shim import application
from server.signer.client import SignerClient
from tests.app.site import Browser
from tests.hosted import signing
from tests.surfaces.apps import DOCUMENT, Connecting, connecting, parameters
from tests.world import CHAIN_ID, Evm, a_world
from tools.keeper.held_keys import end_keys_that_are_over

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


class Held:
    """An owner who lets apps have an agent whose key is held, and the signer's folder."""

    def __init__(self, c: Connecting, browser: Browser, folder: Path):
        self.c, self.browser, self.folder, self.agent = c, browser, folder, ""

    async def connected(self, *, hold: bool = True) -> dict[str, Any]:
        """An app with its grant: the first time for a new agent, then for the same one."""
        self.c.world.clock.forward(seconds=1)
        link = await self.c.link(scope="wallet:act")
        typed = {"agent": self.agent or "new", "name": "Keyed", "decision": "allow"}
        page = await self.browser.submit(link, link, **typed | ({"hold": "1"} if hold else {}))
        assert page.status == 200, page.said
        code = parameters(page.one("a").attributes["href"])["code"]
        if not self.agent:
            items = (await self.c.world.ok("owner_agents", self.c.mandate.owner))["items"]
            self.agent = next(a["agent_id"] for a in items if a["name"] == "Keyed")
        tokens: dict[str, Any] = (await self.c.redeemed(code)).body
        return tokens

    async def key(self) -> dict[str, Any]:
        key = await self.c.world.ok(
            "owner_agent_hosted_key", self.c.mandate.owner, agent_id=self.agent
        )
        return dict(key)

    async def grants(self) -> list[dict[str, Any]]:
        told = await self.c.world.ok(
            "owner_agent_grants", self.c.mandate.owner, agent_id=self.agent
        )
        return list(told["items"])

    def files(self) -> list[str]:
        return sorted(f.name.partition("-")[2] for f in (self.folder / "keys").iterdir())

    async def is_signing(self) -> bool:
        return (await self.key())["ended_at"] is None


@pytest.fixture
async def held(
    database_url: str, evm: Evm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Held]:
    monkeypatch.setattr(application, "STRANGER_PAUSE_S", 0)
    async with (
        a_world(database_url, evm) as world,
        signing(world, tmp_path),
        connecting(world) as c,
    ):
        yield Held(c, await c.browser(), tmp_path)


async def by_route(held: Held, tokens: dict[str, Any]) -> None:
    (grant,) = [g for g in await held.grants() if g["ended_at"] is None]
    named = {"agent_id": held.agent, "grant_id": grant["grant_id"]}
    await held.c.world.ok("owner_agent_grant_end", held.c.mandate.owner, **named)


async def by_page(held: Held, tokens: dict[str, Any]) -> None:
    (grant,) = [g for g in await held.grants() if g["ended_at"] is None]
    page = f"/app/agents/{held.agent}"
    shown = await held.browser.get(page)
    assert "with the key held here" in shown.said
    assert "It ends when the last app" in shown.said
    to = f"{page}/apps/{grant['grant_id']}/disconnect"
    assert (await held.browser.submit(page, to)).status == 303


async def by_app(held: Held, tokens: dict[str, Any]) -> None:
    revoked = {"token": tokens["refresh_token"], "client_id": DOCUMENT}
    assert (await held.c.form("/oauth/revoke", **revoked)).status == 200


async def by_reuse(held: Held, tokens: dict[str, Any]) -> None:
    assert (await held.c.refreshed(tokens["refresh_token"])).status == 200
    assert (await held.c.refreshed(tokens["refresh_token"])).status == 400


async def by_time(held: Held, tokens: dict[str, Any]) -> None:
    held.c.world.clock.forward(days=31)
    assert not await held.is_signing()
    await end_keys_that_are_over(held.c.world.deps)


@pytest.mark.parametrize("way", [by_route, by_page, by_app, by_reuse, by_time])
async def test_the_end_of_a_grant_ends_its_key_in_the_signer(
    held: Held, way: Callable[[Held, dict[str, Any]], Awaitable[None]]
) -> None:
    tokens, world = await held.connected(), held.c.world
    key = await held.key()
    assert (key["ends_with_apps"], key["ended_at"]) == (True, None)
    assert held.files() == [f"{held.agent}-1.json"]
    on_file = await world.store.read(lambda uow: uow.addresses.address(held.agent, CHAIN_ID))
    assert on_file == key["address"].lower()
    await way(held, tokens)
    assert not await held.is_signing()
    assert held.files() == [f"{held.agent}-1.ended"]
    # Nothing that is signed from now on names the address of a key that signs nothing.
    on_file = await world.store.read(lambda uow: uow.addresses.address(held.agent, CHAIN_ID))
    assert on_file is None


async def test_a_key_lasts_as_long_as_one_of_the_apps_that_it_is_held_for(held: Held) -> None:
    await held.connected()
    first = (await held.key())["address"]
    await held.connected(hold=False)
    await held.connected()
    assert (await held.key())["address"] == first
    assert [g["holds_key"] for g in await held.grants()] == [True, False, True]
    newest, plain, oldest = await held.grants()
    world, owner = held.c.world, held.c.mandate.owner
    named = {"agent_id": held.agent}
    await world.ok("owner_agent_grant_end", owner, **named, grant_id=oldest["grant_id"])
    assert await held.is_signing()
    await world.ok("owner_agent_grant_end", owner, **named, grant_id=newest["grant_id"])
    assert not await held.is_signing()
    assert plain["ended_at"] is None
    # The next consent makes another key, with another address.
    await held.connected()
    assert (await held.key())["address"] != first
    assert held.files() == [f"{held.agent}-1.ended", f"{held.agent}-2.json"]


async def test_a_consent_whose_code_nobody_redeems_leaves_no_key(held: Held) -> None:
    link = await held.c.link(scope="wallet:act")
    typed = {"agent": "new", "name": "Keyed", "decision": "allow", "hold": "1"}
    assert (await held.browser.submit(link, link, **typed)).status == 200
    (name,) = held.files()
    held.agent = name.partition("-")[0]
    assert await held.is_signing()
    held.c.world.clock.forward(seconds=61)
    assert not await held.is_signing()
    await end_keys_that_are_over(held.c.world.deps)
    assert held.files() == [f"{held.agent}-1.ended"]


async def test_a_key_of_the_agents_own_outlives_apps(held: Held) -> None:
    world, owner = held.c.world, held.c.mandate.owner
    made = await world.ok("owner_agent_register", owner, name="Keyed")
    held.agent = made["agent_id"]
    key = await world.ok("owner_agent_hosted_key_make", owner, agent_id=held.agent)
    await held.connected()
    (grant,) = await held.grants()
    assert (grant["holds_key"], key["ends_with_apps"]) == (False, False)
    named = {"agent_id": held.agent, "grant_id": grant["grant_id"]}
    await world.ok("owner_agent_grant_end", owner, **named)
    assert (await held.key())["address"] == key["address"]
    assert await held.is_signing()
    shown = await held.browser.get(f"/app/agents/{held.agent}")
    assert "It ends when the last app" not in shown.said


async def test_a_signer_that_is_away_refuses_a_consent_whole_and_delays_no_end(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(self: SignerClient, key: str) -> Any:
        raise Refused(refusal("not_configured", what="the signer"))

    tokens = await held.connected()
    with monkeypatch.context() as gone:
        gone.setattr(SignerClient, "agent_key_end", away)
        gone.setattr(SignerClient, "agent_address", away)
        await by_app(held, tokens)
        assert not await held.is_signing()
        link = await held.c.link(scope="wallet:act")
        typed = {"agent": "new", "name": "Other", "decision": "allow", "hold": "1"}
        assert (await held.browser.submit(link, link, **typed)).status == 409
    items = (await held.c.world.ok("owner_agents", held.c.mandate.owner))["items"]
    assert "Other" not in [a["name"] for a in items]
    assert held.files() == [f"{held.agent}-1.json"]
    await end_keys_that_are_over(held.c.world.deps)
    assert held.files() == [f"{held.agent}-1.ended"]


async def test_an_app_that_does_not_act_is_given_no_key(held: Held) -> None:
    link = await held.c.link(scope="wallet:read")
    typed = {"agent": "new", "name": "Keyed", "decision": "allow", "hold": "1"}
    assert (await held.browser.submit(link, link, **typed)).status == 400
    assert held.files() == []
