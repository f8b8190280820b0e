"""Rate limits: by credential, by address, in bounded memory, and with a time at which to come back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.refusals import Refused
from domain.settings import Config
from server.settings import Settings
from storage.repositories.identities import Agent
from storage.unit_of_work import UnitOfWork
from tests.surfaces.conftest import running
from tests.surfaces.small import ALICE, BOB, by_key, connected, small
from tests.world import BY_NAME, START, Evm, World, a_world, drafted
from tools.context.credentials import hashed
from tools.dispatch.run import run
from tools.model.operation import ANONYMOUS, OperationResult
from tools.model.rate_limiter import KEYS_MAX, RateLimiter, client_network, networks

WHO = "/wallet/who"


def refused_at(
    rates: RateLimiter, limit: int, *, after_s: float = 0, cost: int = 1
) -> timedelta | None:
    now = START + timedelta(seconds=after_s)
    try:
        rates.acquire("calls", "me", limit, now, cost=cost)
    except Refused as refused:
        return (refused.refusal.retry_at or now) - now
    return None


def test_as_many_pass_at_once_as_the_limit_says_and_then_one_at_a_time() -> None:
    rates = RateLimiter()
    assert [refused_at(rates, 60) for _ in range(60)] == [None] * 60
    assert refused_at(rates, 60) == timedelta(seconds=1)
    assert refused_at(rates, 60, after_s=1) is None
    assert refused_at(rates, 60, after_s=1) == timedelta(seconds=1)


@given(
    st.lists(st.tuples(st.integers(0, 5_000), st.integers(1, 9)), max_size=300), st.integers(1, 50)
)
def test_no_minute_holds_more_than_twice_the_limit(
    calls: list[tuple[int, int]], limit: int
) -> None:
    rates, at, passed = RateLimiter(), 0, list[tuple[int, int]]()
    for pause_ms, cost in calls:
        at += pause_ms
        if refused_at(rates, limit, after_s=at / 1_000, cost=cost) is None:
            passed.append((at, cost))
    for start, _ in passed:
        inside = [min(c, limit) for t, c in passed if start <= t < start + 60_000]
        assert sum(inside) <= 2 * limit


@given(st.integers(1, 100), st.integers(1, 200))
def test_the_time_told_is_the_time_at_which_it_passes(limit: int, cost: int) -> None:
    rates = RateLimiter()
    while (wait := refused_at(rates, limit, cost=cost)) is None:
        pass
    assert refused_at(rates, limit, after_s=wait.total_seconds() - 0.001, cost=cost) is not None
    assert refused_at(rates, limit, after_s=wait.total_seconds(), cost=cost) is None


def test_a_million_strangers_take_bounded_memory() -> None:
    rates = RateLimiter()
    for n in range(KEYS_MAX + 1_000):
        rates.acquire("calls", str(n), 300, START)
    assert len(rates) == KEYS_MAX


def test_a_limit_of_0_is_none() -> None:
    rates = RateLimiter()
    assert [refused_at(rates, 0) for _ in range(1_000)] == [None] * 1_000
    assert len(rates) == 0


PROXIES = networks("10.0.0.0/8, 192.0.2.7")


@pytest.mark.parametrize(
    ("peer", "forwarded", "whose"),
    [
        ("203.0.113.9", None, "203.0.113.9"),
        ("203.0.113.9", "1.1.1.1", "203.0.113.9"),
        ("10.0.0.1", "1.1.1.1", "1.1.1.1"),
        ("10.0.0.1", "6.6.6.6, 1.1.1.1", "1.1.1.1"),
        ("10.0.0.1", "6.6.6.6, 1.1.1.1, 192.0.2.7, 10.3.0.1", "1.1.1.1"),
        ("10.0.0.1", "10.0.0.2", "10.0.0.2"),
        ("10.0.0.1", None, "10.0.0.1"),
        ("10.0.0.1", "unknown", "10.0.0.1"),
        ("::ffff:203.0.113.9", None, "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", None, "2001:db8:1:2::/64"),
        (None, "1.1.1.1", None),
    ],
)
def test_an_address_is_the_peers_or_the_last_hop_that_nobody_vouches_for(
    peer: str | None, forwarded: str | None, whose: str | None
) -> None:
    assert client_network(peer, forwarded, PROXIES) == whose


def test_the_settings_are_the_contracts_and_a_wrong_network_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Settings().config()
    assert (told.rate_reads, told.rate_writes, told.rate_anonymous) == (3_000, 600, 300)
    assert (told.rate_challenges, told.drafts_per_hour, told.agents_per_owner) == (10, 60, 50)
    monkeypatch.setenv("WALLET_TRUSTED_PROXIES", "10.0.0.0/40")
    with pytest.raises(ValueError, match="trusted_proxies"):
        Settings()


@pytest.mark.anyio
async def test_strangers_share_the_limit_of_their_address_and_keys_have_their_own(
    sqlite_url: str,
) -> None:
    async with small(sqlite_url, rate_anonymous=10, rate_reads=6) as s:
        assert await s.statuses(11, WHO) == [200] * 10 + [429]
        last = await s.get(WHO)
        assert (last.told, last.headers["Retry-After"]) == ((429, "rate_limited"), "6")
        assert last.body["retry_at"] == "2026-11-20T12:00:06.000Z"
        for key in (ALICE, BOB):
            assert await s.statuses(8, WHO, key) == [200] * 6 + [429] * 2
        s.deps.clock.forward(seconds=6)  # type: ignore[attr-defined]
        assert await s.statuses(1, WHO) == await s.statuses(1, "/healthz") == [200]


@pytest.mark.anyio
async def test_all_agents_of_an_owner_share_a_limit_that_is_not_its_sessions(
    sqlite_url: str,
) -> None:
    carla, sessions = "ak_" + "c" * 43, ["ws_" + n * 43 for n in "123"]

    def more(uow: UnitOfWork) -> None:
        uow.identities.add_agent(Agent("u_carla", "u_owner", "u_carla", None, START))
        uow.identities.add_key("k_carla", "u_carla", hashed(carla), START)
        later = START + timedelta(days=1)
        for token in sessions:
            uow.identities.add_session(hashed(token), "u_owner", START, later, later)

    async with small(sqlite_url, rate_reads=6) as s:
        await s.store.write(more)
        agents = [by_key(key) for key in (ALICE, BOB, carla)]
        owners = [{"Authorization": f"Bearer {token}"} for token in sessions]
        for credentials in (agents, owners):
            told = [await s.get(WHO, headers=of) for of in credentials for _ in range(6)]
            assert [r.status for r in told] == [200] * 12 + [429] * 6
            assert "together" in told[-1].body["reason"]


@pytest.mark.anyio
async def test_wrong_keys_unknown_paths_and_refusals_cost_more(sqlite_url: str) -> None:
    async with small(sqlite_url, rate_anonymous=10, rate_writes=10) as s:
        assert [(await s.get(WHO, f"ak_{n}")).status for n in range(3)] == [401, 401, 429]
        assert await s.statuses(1, "/nowhere") == [429]
        refusals = [await s.post("/wallet/notes/n", ALICE, json={"x": 1}) for _ in range(6)]
        assert [r.status for r in refusals] == [400] * 5 + [429]


@pytest.mark.anyio
@pytest.mark.parametrize("way", ["sse-2025", "streamable-2026"])
async def test_tools_count_as_routes_do(sqlite_url: str, way: str) -> None:
    async with (
        small(sqlite_url, rate_reads=10) as s,
        connected(way, s.base, by_key(ALICE)) as client,
    ):
        told = [await client.call_tool("who_am_i", {}) for _ in range(11)]
        passed = [t.is_error for t in told].index(True)
        # What a client says before its first call counts as well.
        assert 3 <= passed <= 10
        assert all(t.is_error for t in told[passed:])
        assert (told[-1].structured_content or {})["refusal"]["error"] == "rate_limited"


@pytest.mark.anyio
async def test_behind_a_proxy_each_client_has_its_own_limit(sqlite_url: str) -> None:
    async with small(sqlite_url, rate_anonymous=2, trusted_proxies="127.0.0.0/8") as s:
        for address in ("1.1.1.1", "1.1.1.2"):
            hops = [{"X-Forwarded-For": f"9.9.9.{n}, {address}"} for n in range(3)]
            statuses = [(await s.get(WHO, headers=forged)).status for forged in hops]
            assert statuses == [200, 200, 429]


@pytest.mark.anyio
async def test_drafts_agents_and_challenges_have_limits_of_their_own(
    database_url: str, evm: Evm
) -> None:
    config = Config(default_chain_id=31337, drafts_per_hour=3, agents_per_owner=2)
    async with a_world(database_url, evm, config=config) as world:
        m = await drafted(world)
        await _drafts(world, m.owner, m.agent)
        assert (await world.do("owner_agent_register", m.owner, name="b")).status == 201
        told = await world.do("owner_agent_register", m.owner, name="c")
        assert (told.status, told.body["error"]) == (429, "rate_limited")
        lifts_nothing(told)
        assert told.body["next"][0]["route"] == "GET /wallet/agents"


def lifts_nothing(told: OperationResult) -> None:
    """Time does not mend it, and no time is told."""
    assert told.body["retry_safe"] is False
    assert "retry_at" not in told.body
    assert "Retry-After" not in told.headers
    assert not [s for s in told.body["next"] if s["text"].startswith("Wait")]


async def _drafts(world: World, owner: object, agent: object) -> None:
    made = []
    for who, name in ((owner, "owner_mandate_create"), (agent, "mandate_propose"), (owner, "owner_mandate_create")):  # fmt: skip
        made.append((await world.do(name, who, budget_usdc="5")).status)  # type: ignore[arg-type]
        world.clock.forward(minutes=1)
    assert made == [201, 201, 429]
    told = await world.do("owner_mandate_create", owner, budget_usdc="5")  # type: ignore[arg-type]
    assert told.headers["Retry-After"] == str(57 * 60)
    world.clock.forward(minutes=57)
    assert (await world.do("owner_mandate_create", owner, budget_usdc="5")).status == 201  # type: ignore[arg-type]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "passed"),
    [("hall_list", 2), ("hall_agent", 2), ("mandate_draft", 2), ("markets_list", 10), ("deposit_assets", 10)],
)  # fmt: skip
async def test_what_reads_much_weighs_five_calls(
    sqlite_url: str, evm: Evm, name: str, passed: int
) -> None:
    config = Config(default_chain_id=31337, rate_anonymous=10)
    given = {"note": "5 USDC"} if name == "mandate_draft" else {}
    async with a_world(sqlite_url, evm, config=config) as world:
        m = await drafted(world)
        if name == "hall_agent":
            given = {"agent_id": m.agent.user_id or ""}
        told = [
            (await run(BY_NAME[name], world.deps, ANONYMOUS, given, address="192.0.2.9")).status
            for _ in range(passed + 1)
        ]
        assert told == [200] * passed + [429]


@pytest.mark.anyio
async def test_an_agents_proposals_leave_half_of_the_hour_to_its_owner(
    database_url: str, evm: Evm
) -> None:
    config = Config(default_chain_id=31337, drafts_per_hour=8)
    async with a_world(database_url, evm, config=config) as world:
        m = await drafted(world)
        made = []
        for _ in range(6):
            made.append(await world.do("mandate_propose", m.agent, budget_usdc="5"))
            world.clock.forward(minutes=1)
        assert [r.status for r in made] == [201] * 4 + [429] * 2
        assert made[4].body["error"] == "rate_limited"
        assert made[4].headers["Retry-After"] == str(56 * 60)
        drafts = [
            await world.do("owner_mandate_create", m.owner, budget_usdc="5") for _ in range(4)
        ]
        assert [r.status for r in drafts] == [201] * 3 + [429]
        world.clock.forward(minutes=55)
        assert (await world.do("mandate_propose", m.agent, budget_usdc="5")).status == 201


@pytest.mark.anyio
async def test_ten_challenges_a_minute_and_wallet_and_ten_times_that_an_address(
    sqlite_url: str, evm: Evm
) -> None:
    async with running(sqlite_url, evm, rate_challenges=10) as service:

        async def asked(n: int) -> int:
            body = {"address": f"0x{n:040x}", "chain_id": 31337}
            return (await service.post("/wallet/auth/challenge", json=body)).status

        assert [await asked(1) for _ in range(11)] == [200] * 10 + [429]
        # Whoever else comes from the address signs in all the same.
        assert [await asked(n) for n in range(2, 92)] == [200] * 90
        assert await asked(92) == 429
