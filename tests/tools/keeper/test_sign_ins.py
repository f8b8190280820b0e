"""Wallets are free: what their sign-ins leave is bounded, and who funded a vault never notices."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from domain.mandates.mandate import Status
from storage.unit_of_work import UnitOfWork
from tests.tools.test_signin import signed_in, who
from tests.world import Mandated, World, signed
from tools.keeper.sign_ins import end_old

pytestmark = pytest.mark.anyio
AT_ONCE = 200
LITTLE_BYTES = 12_000_000


async def sign_in(world: World, first: int, number: int) -> None:
    """As many wallets sign in, each with a text that waits beside."""
    now, config = world.clock.now(), world.deps.config
    until = now + timedelta(seconds=config.session_s)
    text = "x" * 450

    def add(uow: UnitOfWork) -> None:
        for n in range(first, first + number):
            address = f"0x{n:040x}"
            user = uow.identities.person(address, new_id=f"u_s{n}", now=now)
            uow.identities.add_session(f"h{n}", user.user_id, now, until, until)
            soon = now + timedelta(minutes=5)
            uow.identities.add_challenge(f"n{n}", text, address, 84532, soon, now)

    await world.store.write(add)


async def count(world: World, table: str) -> int:
    rows = await world.store.read(lambda uow: uow.sql.rows(f"SELECT count(*) AS n FROM {table}"))
    return int(rows[0]["n"])


async def stored_bytes(world: World) -> int:
    """How long the file of the database is; 0 on a server."""
    if not world.store.url.startswith("sqlite"):
        return 0
    asked = "SELECT page_count * page_size AS n FROM pragma_page_count(), pragma_page_size()"
    rows = await world.store.read(lambda uow: uow.sql.rows(asked))
    return int(rows[0]["n"])


async def fund(m: Mandated) -> None:
    def funded(uow: Any) -> None:
        found = uow.mandates.get(m.id, lock=True)
        uow.mandates.save(replace(found, status=Status.WORKING))

    await m.world.store.write(funded)


async def of_owner(world: World, m: Mandated, token: str) -> None:
    """Give an owner a session that ends before all of the strangers'."""
    now = world.clock.now()
    user, soon = m.owner.user_id or "", now + timedelta(hours=11)
    await world.store.write(lambda uow: uow.identities.add_session(token, user, now, soon, soon))


async def has_session(world: World, token: str) -> bool:
    now = world.clock.now()
    return await world.store.read(lambda uow: uow.identities.session(token, now)) is not None


async def played(world: World, wallets: int) -> int:
    """Wallets sign in beside an owner with a vault and one with a draft; how much longer the
    database is made by it.
    """
    m, drafter = await signed(world), await signed(world)
    await fund(m)
    await of_owner(world, m, "funded")
    await of_owner(world, drafter, "drafter")
    people, before = await count(world, "users"), await stored_bytes(world)
    for first in range(0, wallets, AT_ONCE):
        await sign_in(world, first, AT_ONCE)
    longer = await stored_bytes(world) - before
    await end_old(world.deps, sessions=wallets // 10, challenges=wallets // 20)
    assert await count(world, "challenges") <= wallets // 20
    assert await count(world, "sessions") <= wallets // 10 + 1
    assert await count(world, "users") <= people + wallets // 10
    # Who funded a vault stays signed in; another signs in again, and finds all that was there.
    assert await has_session(world, "funded")
    assert not await has_session(world, "drafter")
    assert await world.ok("mandate_get", m.owner, public_id=m.id)
    assert await world.ok("mandate_get", drafter.owner, public_id=drafter.id)
    world.clock.forward(hours=13)
    await end_old(world.deps)
    assert await count(world, "users") == people
    assert await count(world, "sessions") == await count(world, "challenges") == 0
    return longer


async def test_ten_thousand_wallets_leave_little_and_a_funded_owner_stays(world: World) -> None:
    assert await played(world, 10_000) < LITTLE_BYTES


async def test_what_wallets_leave_goes_again(both: World) -> None:
    await played(both, 400)


async def test_who_signs_out_with_nothing_is_forgotten_and_comes_back(both: World) -> None:
    wallet, people = both.wallet(), await count(both, "users")
    for _ in range(2):
        caller = await who(both, (await signed_in(both, wallet))["token"])
        assert caller is not None
        assert await count(both, "users") == people + 1
        await both.ok("auth_session_end", caller)
        assert await count(both, "users") == people


async def test_who_has_something_or_another_session_is_known_after_signing_out(
    both: World,
) -> None:
    wallet = both.wallet()
    first, second = [(await signed_in(both, wallet))["token"] for _ in range(2)]
    caller = await who(both, first)
    assert caller is not None
    await both.ok("auth_session_end", caller)
    again = await who(both, second)
    assert again is not None
    await both.ok("owner_agent_register", again, name="Scout")
    await both.ok("auth_session_end", again)
    back = await who(both, (await signed_in(both, wallet))["token"])
    assert back is not None
    assert back.user_id == caller.user_id
