"""The Hall by its operations: rows, windows, rank, sorting, what is shown of one agent, and what is not."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chain.contracts import abi_codec
from domain.ledger.events.event import LedgerKind, NewEvent, Reporter
from domain.mandates.mandate import Mandate, Status
from domain.money import Usdc
from server.keeper.scheduler import KeeperScheduler
from server.settings import Settings
from server.wiring import Runtime
from storage.errors import Unavailable
from storage.repositories.hall import SORTS
from storage.unit_of_work import UnitOfWork
from tests.world import CHAIN_ID, START, World, drafted, error_of, working
from tools.keeper.hall_rollup import ROWS_AT_ONCE, refresh, refresh_stale, roll_up
from tools.model.operation import Caller
from venue.venues import Networks

pytestmark = pytest.mark.anyio


DELEGATOR = "u_delegator"


async def seeded(
    world: World, agent: Caller, owner: Caller, public_id: str = "m_seedseed22", **changes: Any
) -> str:
    """A working mandate whose chain rows the test writes itself."""
    m = Mandate(
        public_id, DELEGATOR, owner.address or "", Usdc.parse("1000"), 30, 2000, world.clock.now(),
        agent_id=agent.user_id, status=Status.WORKING, accepted_at=world.clock.now(),
    )  # fmt: skip
    await world.store.write(lambda uow: uow.mandates.add(replace(m, **changes)))
    return public_id


async def told(
    world: World,
    public_id: str,
    kind: str,
    amount: str | None = None,
    by: str = "chain",
    **payload: Any,
) -> None:
    world.clock.forward(seconds=1)
    now = world.clock.now()
    new = NewEvent(
        kind=LedgerKind(kind),
        reported_by=Reporter(by),
        occurred_at=now,
        amount_usdc=None if amount is None else Usdc.parse(amount),
        payload=payload,
    )
    await world.store.write(
        lambda uow: uow.ledger.append(public_id, new, event_id=world.deps.ids.short("ev_"), now=now)
    )


async def trade(world: World, public_id: str, spent: str = "0", received: str = "0") -> None:
    await told(world, public_id, "move", spent, executed={"spent": spent, "received": received})


async def mark(world: World, public_id: str, cash: str, positions: str) -> None:
    await told(
        world,
        public_id,
        "note",
        by="keeper",
        marked={"cash": cash, "positions": positions, "floor": "0"},
    )


def ticks(world: World) -> KeeperScheduler:
    settings = Settings(chains={CHAIN_ID: {"rpc_url": world.evm.url}})  # type: ignore[dict-item]
    return KeeperScheduler(Runtime(settings, world.deps, world.chains, Networks({})))


async def an_agent(world: World) -> tuple[Caller, Caller]:
    owner, _ = await world.owner()
    return owner, (await world.agent(owner))[0]


async def listed(world: World, **given: Any) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = await world.ok("hall_list", limit=2, cursor=cursor, **given)
        seen += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return seen


async def a_record(world: World, agent: Caller, owner: Caller, *, days: int = 20) -> str:
    """A mandate of some weeks: 100 in, twelve trades, +10% in the first days, then -5% on the last day."""
    of = await seeded(world, agent, owner)
    await told(world, of, "deposit", "100")
    for n in range(12):
        await trade(world, of, "1" if n % 2 else "99", "0")
        await trade(world, of, "0", "1" if n % 2 else "99")
    await trade(world, of, "100")
    await mark(world, of, "0", "110")
    world.clock.forward(days=days)
    await mark(world, of, "0", "104.5")
    return of


async def test_every_agent_is_listed_as_soon_as_it_is_registered(both: World) -> None:
    owner, agent = await an_agent(both)
    shy, _ = await both.agent(owner, accepts=False)
    assert {r["agent_id"] for r in await listed(both)} == {agent.user_id, shy.user_id}
    (row,) = await listed(both, accepting=True)
    assert (row["agent_id"], row["accepts_mandates"]) == (agent.user_id, True)
    assert row["address_ready"] is True
    assert (row["ranked"], row["days_live"], row["trades_total"]) == (False, 0, 0)
    assert row["mandates_total"] == 0
    assert [r["code"] for r in row["rank_requirements"]] == [
        "days_live",
        "trades_measured",
        "funded_mandates",
        "foreign_capital_usdc",
    ]
    assert "0 of 14 days live" in row["unranked_reason"]
    assert row["windows"]["30d"] == {
        "net_usdc": None,
        "twr_bps": None,
        "max_drawdown_bps": None,
        "trades": 0,
    }
    assert (row["operator_stake_usdc"], row["operator_stake_reason"] != "") == (None, True)
    await both.ok("owner_agent_policy_put", owner, agent_id=agent.user_id, accepts_mandates=False)
    assert await listed(both, accepting=True) == []


async def test_a_ranked_agent_shows_its_windows(both: World) -> None:
    owner, agent = await an_agent(both)
    await a_record(both, agent, owner)
    assert await refresh_stale(both.deps) == 1
    (row,) = await listed(both)
    assert (row["ranked"], row["unranked_reason"], row["rank_requirements"]) == (True, None, [])
    assert (row["days_live"], row["trades_total"]) == (21, 25)
    week, month = row["windows"]["7d"], row["windows"]["30d"]
    assert week == {"net_usdc": "-5.500000", "twr_bps": -500, "max_drawdown_bps": 500, "trades": 0}
    assert month == {"net_usdc": "4.500000", "twr_bps": 450, "max_drawdown_bps": 500, "trades": 25}
    assert row["windows"]["since"] == month
    assert row["delegators"] == {
        "total": 1,
        "working": 1,
        "net_7d_usdc": "-5.500000",
        "net_30d_usdc": "4.500000",
        "self": {"mandates": 0, "working": 0, "net_7d_usdc": None, "net_30d_usdc": None},
    }
    strip = await both.ok("hall_proof")
    assert (strip["agents"], strip["mandates_working"]) == (1, 1)
    assert strip["usdc_working"] == "104.500000"
    assert strip["actions_recorded"] == 25  # executed calls: not the deposit, nor the marks


async def test_reports_of_the_agent_stand_apart(world: World) -> None:
    owner, agent = await an_agent(world)
    of = await a_record(world, agent, owner)
    await refresh(world.deps, agent.user_id or "")
    (before,) = await listed(world)
    for kind, amount in (("buy", "900"), ("resolve", "5000"), ("fee", "3")):
        reply = await world.do(
            "mandate_report_event", agent, public_id=of, kind=kind, amount_usdc=amount
        )
        assert reply.status in (201, 202), reply.body
    await refresh(world.deps, agent.user_id or "")
    (after,) = await listed(world)
    told_by_agent = after.pop("self_reported")
    assert told_by_agent["trades_total"] == 2
    assert told_by_agent["net_30d_usdc"] == "4997.000000"
    assert told_by_agent["net_since_usdc"] == "4997.000000"
    assert told_by_agent["fees_usdc"] == "3.000000"
    assert before.pop("self_reported")["trades_total"] == 0
    for row in (before, after):
        del row["as_of"], row["violations"]
    assert after == before


async def test_one_agent_is_read_up_to_its_newest_row(both: World) -> None:
    owner, agent = await an_agent(both)
    of = await a_record(both, agent, owner)
    shown = await both.ok("hall_agent", agent_id=agent.user_id)
    assert shown["windows"]["30d"]["twr_bps"] == 450
    (m,) = shown["mandates"]
    assert (m["public_id"], m["status"], m["worth_usdc"]) == (of, "working", "104.500000")
    assert m["twr_bps"] == 450
    assert "purpose" not in m
    worth, net = (s["points"] for s in shown["chart"]["series"])
    assert (len(worth), worth[0][1], worth[-1][1]) == (21, "110.000000", "104.500000")
    assert net[-1][1] == "4.500000"
    assert shown["paper"] == {"books_opened": 0, "books": [], "est": True}
    assert shown["policy_changes"][0]["changes"]["accepts_mandates"] == {"from": False, "to": True}
    await refresh(both.deps, agent.user_id or "")
    again = await both.ok("hall_agent", agent_id=agent.user_id)
    assert again == shown
    assert await error_of(both.do("hall_agent", agent_id="u_nobody")) == "not_found"


async def test_no_open_answer_of_the_hall_outgrows_64_kib(world: World) -> None:
    owner, agent = await an_agent(world)
    for n in range(10):
        given = {f: [f"{n}{'é' * 8_000}"] for f in ("assets", "venues", "networks", "hold_ratio")}
        await world.ok(
            "owner_agent_policy_put", owner, agent_id=agent.user_id, accepts_mandates=True, **given
        )
    of = await a_record(world, agent, owner)
    for _ in range(80):
        await seeded(world, agent, owner, world.deps.ids.short("m_"))
    world.clock.forward(days=500)
    await mark(world, of, "1000000000000", "0")
    for n in range(60):  # longer in UTF-8 than in letters
        await world.ok("owner_agent_register", owner, name="字" * n + "語" * (60 - n))
    await refresh_stale(world.deps)
    one = await world.ok("hall_agent", agent_id=agent.user_id)
    assert len(json.dumps(one, ensure_ascii=False).encode()) < 65_536
    assert (one["mandates_total"], len(one["mandates"]) < 81) == (81, True)
    assert len(one["policy_changes"]) == 10
    page = await world.ok("hall_list", limit=200)
    assert len(json.dumps(page, ensure_ascii=False).encode()) < 65_536
    assert page["next_cursor"] is not None
    seen, cursor = [], None
    while True:
        page = await world.ok("hall_list", limit=200, cursor=cursor)
        seen += [r["agent_id"] for r in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert len(seen) == len(set(seen)) == 61


async def test_a_mandate_that_the_agent_never_accepted_counts_nowhere(both: World) -> None:
    owner, agent = await an_agent(both)
    of = await seeded(both, agent, owner, accepted_at=None)
    await told(both, of, "deposit", "100")
    for _ in range(3):
        await trade(both, of, "10", "9")
    await refresh_stale(both.deps)
    (row,) = await listed(both)
    assert (row["mandates_total"], row["trades_total"]) == (0, 0)
    assert row["windows"]["since"]["net_usdc"] is None
    strip = await both.ok("hall_proof")
    assert (strip["agents"], strip["mandates_working"]) == (0, 0)


async def test_ones_own_money_is_measured_apart_and_never_ranks(both: World) -> None:
    owner, agent = await an_agent(both)
    of = await a_record(both, agent, owner)

    def give(uow: Any) -> None:
        m = uow.mandates.get(of, lock=True)
        uow.mandates.save(replace(m, owner_id=owner.user_id))

    await both.store.write(give)
    await refresh_stale(both.deps)
    (row,) = await listed(both)
    assert (row["ranked"], row["trades_total"], row["mandates_total"]) == (False, 0, 1)
    assert row["windows"]["since"]["net_usdc"] is None
    assert row["windows_self"]["30d"]["twr_bps"] == 450
    assert row["delegators"]["total"] == 0
    assert row["delegators"]["self"] == {
        "mandates": 1,
        "working": 1,
        "net_7d_usdc": "-5.500000",
        "net_30d_usdc": "4.500000",
    }
    (m,) = (await both.ok("hall_agent", agent_id=agent.user_id))["mandates"]
    assert m["self_delegated"] is True


async def test_a_rank_needs_other_owners_capital_over_the_ranked_days(world: World) -> None:
    owner, agent = await an_agent(world)
    of = await a_record(world, agent, owner)
    await told(world, of, "deposit", "400")
    config = replace(world.deps.config, ranked_capital_usdc=200)
    world.deps = replace(world.deps, config=config)
    await refresh(world.deps, agent.user_id or "")
    (row,) = await listed(world)
    needs = {r["code"]: (r["have"], r["need"]) for r in row["rank_requirements"]}
    # 13 days of 110 and one of 504.5, on average
    assert (row["ranked"], needs["foreign_capital_usdc"]) == (False, (138, 200))


async def test_a_call_that_moves_nothing_is_no_trade(world: World) -> None:
    owner, agent = await an_agent(world)
    of = await seeded(world, agent, owner)
    await told(world, of, "deposit", "100")
    for spent, received in (("0", "0"), ("5", "0"), ("0", "0"), ("0", "5")):
        await trade(world, of, spent, received)
    await refresh_stale(world.deps)
    (row,) = await listed(world)
    assert row["trades_total"] == 2
    assert (await world.ok("hall_proof"))["actions_recorded"] == 4


async def test_a_loss_is_not_hidden_by_idle_capital(both: World) -> None:
    owner, agent = await an_agent(both)
    of = await seeded(both, agent, owner)
    await seeded(both, agent, owner, "m_idleidle22")
    await told(both, "m_idleidle22", "deposit", "1000")
    await told(both, of, "deposit", "1000")
    await trade(both, of, "10")
    await mark(both, of, "990", "4")
    await refresh_stale(both.deps)
    (row,) = await listed(both)
    assert row["windows"]["7d"] == {
        "net_usdc": "-6.000000", "twr_bps": -6000, "max_drawdown_bps": 6000, "trades": 1
    }  # fmt: skip


async def test_agents_are_sorted_by_one_fact(world: World) -> None:
    owner, agent = await an_agent(world)
    idle, _ = await world.agent(owner)
    await a_record(world, agent, owner)
    await refresh_stale(world.deps)
    for sort in ("days_live", "trades_total", "net_30d", "twr_30d", "drawdown_30d", "working"):
        assert [r["agent_id"] for r in await listed(world, sort=sort)] == [
            agent.user_id,
            idle.user_id,
        ], sort
    assert await error_of(world.do("hall_list", sort="luck")) == "invalid_request"
    page = await world.ok("hall_list", limit=1)
    assert (
        await error_of(world.do("hall_list", sort="working", cursor=page["next_cursor"]))
        == "invalid_request"
    )


async def test_stops_and_violations_are_counted(world: World) -> None:
    owner, agent = await an_agent(world)
    for n, reason in enumerate(("floor", "agent", "owner")):
        of = await seeded(world, agent, owner, f"m_seedseed2{n + 2}", status=Status.STOPPED)
        await told(world, of, "stop", reason=reason)
    await told(
        world,
        of,
        "buy",
        "5",
        by="agent",
        violation={"codes": ["over_per_tx_cap", "mandate_stopped"]},
    )
    shown = await world.ok("hall_agent", agent_id=agent.user_id)
    assert (shown["floor_stops"], shown["self_stops"], shown["violations"]) == (1, 1, 2)
    assert shown["mandates_total"] == 3
    assert shown["windows"]["since"]["net_usdc"] is None


async def test_a_long_ledger_is_rolled_up_in_parts_and_twice_at_once(both: World) -> None:
    owner, agent = await an_agent(both)
    of = await seeded(both, agent, owner)
    await told(both, of, "deposit", "100")
    now = both.clock.now()

    def fill(uow: UnitOfWork) -> None:
        for _ in range(ROWS_AT_ONCE):
            new = NewEvent(
                kind=LedgerKind.BUY,
                reported_by=Reporter.AGENT,
                occurred_at=now,
                amount_usdc=Usdc.parse("1"),
            )
            uow.ledger.append(of, new, event_id=both.deps.ids.short("ev_"), now=now)

    await both.store.write(fill)
    assert await both.store.write(lambda uow: roll_up(uow, of))
    assert not await both.store.write(lambda uow: roll_up(uow, of))
    assert not await both.store.write(lambda uow: roll_up(uow, of))
    (day,) = await both.store.read(lambda uow: uow.hall.days(of, "", "9"))
    assert day.parts.beside.claimed_trades == ROWS_AT_ONCE


async def test_an_agent_whose_rows_cannot_be_read_holds_nobody_else_up(world: World) -> None:
    names = ("m_damaged222", "m_wholewhole")
    for name in names:
        owner, agent = await an_agent(world)
        await seeded(world, agent, owner, name)
        await told(world, name, "deposit", "100")
        world.clock.forward(days=1)

    def damage(uow: UnitOfWork) -> None:
        uow.sql.run("DROP TRIGGER ledger_events_no_update")
        uow.sql.run("UPDATE ledger_events SET created_at = 'x' WHERE public_id = :of", of=names[0])

    await world.store.write(damage)
    with pytest.raises(Unavailable, match="a row of a ledger cannot be read"):
        await refresh_stale(world.deps)
    rolled = await world.store.read(lambda uow: [len(uow.hall.days(n, "", "9")) for n in names])
    assert rolled == [0, 1]


async def test_an_agent_is_refreshed_once_and_again_on_the_next_day(world: World) -> None:
    owner, agent = await an_agent(world)
    await a_record(world, agent, owner)
    world.clock.forward(minutes=2)
    assert [await refresh_stale(world.deps) for _ in range(2)] == [1, 0]
    world.clock.forward(days=1)
    assert [await refresh_stale(world.deps) for _ in range(2)] == [1, 0]
    (row,) = await listed(world)
    assert row["days_live"] == 22


async def test_days_that_are_further_back_than_the_newest_state_are_derived_again(
    both: World,
) -> None:
    """Fifty days are read at once, and one call of the first of them last of all."""
    owner, agent = await an_agent(both)
    of, begun = await seeded(both, agent, owner), both.clock.now()

    def read_late(uow: UnitOfWork) -> None:
        for n in (*range(1, 50), 0):
            what = {"executed": {"spent": "1", "received": "0"}} if n != 1 else {}
            new = NewEvent(
                kind=LedgerKind.MOVE if what else LedgerKind.DEPOSIT,
                reported_by=Reporter.CHAIN,
                occurred_at=begun + timedelta(days=n),
                amount_usdc=Usdc.parse("100" if not what else "1"),
                tx_hash=f"0x{n:064x}",
                log_index=0,
                block_number=10 + n,
                payload=what,
            )
            now = begun + timedelta(days=50)
            uow.ledger.append(of, new, event_id=both.deps.ids.short("ev_"), now=now)

    await both.store.write(read_late)
    both.clock.forward(days=50)
    await refresh(both.deps, agent.user_id or "")
    days = await both.store.read(lambda uow: uow.hall.days(of, "", "9"))
    parts = [d.parts.measured for d in days]
    assert [p.spent for p in parts if p] == [10**6, 0] + [10**6] * 48
    assert parts[0] is not None
    assert (parts[0].day, parts[0].calls) == (begun.date().isoformat(), 1)


async def test_a_mandate_taken_over_is_rolled_up_for_its_new_agent(world: World) -> None:
    owner, agent = await an_agent(world)
    heir, _ = await world.agent(owner)
    of = await seeded(world, agent, owner)
    await told(world, of, "deposit", "100")
    await refresh(world.deps, agent.user_id or "")
    await world.store.write(
        lambda uow: uow.mandates.save(replace(_got(uow, of), agent_id=heir.user_id))
    )
    for one in (agent, heir):
        await refresh(world.deps, one.user_id or "")
    assert (await world.ok("hall_agent", agent_id=agent.user_id))["windows"]["since"][
        "net_usdc"
    ] is None
    assert (await world.ok("hall_agent", agent_id=heir.user_id))["windows"]["since"][
        "net_usdc"
    ] == "0.000000"


def _got(uow: UnitOfWork, public_id: str) -> Mandate:
    m = uow.mandates.get(public_id)
    assert m is not None
    return m


async def test_a_draft_is_nobodys_record(world: World) -> None:
    m = await drafted(world)
    shown = await world.ok("hall_agent", agent_id=m.agent.user_id)
    assert (shown["mandates"], shown["mandates_total"], shown["delegators"]["total"]) == ([], 0, 0)


async def test_a_whole_life_on_chain_adds_up_in_the_hall(world: World) -> None:
    world.deps = replace(world.deps, defaults=replace(world.deps.defaults, stop_line_dry_run=False))
    m = await working(world, payout_rule={"kind": "share_of_verified_gain", "bps": 1000})
    keeper = ticks(world)
    told_ = await m.execute("60")
    await m.recorded(m.agent_wallet, told_.body)
    await keeper.round()
    await world.mint(world.evm.market, "30")  # shares of the market are worth more
    await keeper.round()
    shown = await world.ok("hall_agent", agent_id=m.agent.user_id)
    assert shown["windows_self"]["since"]["net_usdc"] == "29.999999"
    assert shown["mandates"][0]["worth_usdc"] == "529.999999"
    since = shown["windows_self"]["since"]
    assert (since["twr_bps"], since["trades"]) == (5000, 1)
    assert (await world.ok("hall_proof"))["usdc_working"] == "529.999999"
    stop = await m.as_owner("owner_stop")
    await m.recorded(m.owner_wallet, stop.body["stop_call"])
    chain = world.chains.get(CHAIN_ID)
    raw = await chain.eth_call(
        world.evm.market,
        abi_codec.calldata("TestMarket", "balanceOf", (m.vault,)),
        await chain.latest(),
    )
    data = abi_codec.calldata(
        "TestMarket", "redeem", (int.from_bytes(raw, "big"), m.vault, m.vault)
    )
    unwind = await m.as_owner("mandate_unwind_call", target=world.evm.market, data=data)
    await m.recorded(m.owner_wallet, unwind.body["call"])
    settled = await world.do("keeper_settle", Caller("keeper"), public_id=m.id)
    assert settled.status == 200, settled.body
    fee = Usdc.parse(settled.body["fee_paid"])
    out = await m.as_owner("owner_withdraw_call")
    await m.recorded(m.owner_wallet, out.body["call"])
    await keeper.round()
    (row,) = [r for r in await listed(world) if r["agent_id"] == m.agent.user_id]
    gain = Usdc.parse("29.999999")
    assert fee == gain.share_down(1000)
    assert row["windows_self"]["since"]["net_usdc"] == str(gain - fee)
    assert (
        row["windows_self"]["since"]["twr_bps"],
        row["windows_self"]["since"]["max_drawdown_bps"],
    ) == (
        4915,  # 30 on the 60 that were put to work, less 3 of all the money there
        0,
    )
    mine = row["delegators"]["self"]
    assert (row["delegators"]["total"], mine["mandates"], mine["working"]) == (0, 1, 0)
    assert row["self_stops"] == 0


async def test_ranked_agents_are_listed_first_on_every_page(both: World) -> None:
    owner, proven = await an_agent(both)
    await a_record(both, proven, owner, days=20)
    fresh = []
    for _ in range(3):  # longer in work, and not ranked
        agent, _ = await both.agent(owner)
        of = await seeded(both, agent, owner, both.deps.ids.short("m_"), created_at=START)
        await told(both, of, "deposit", "5")
        fresh.append(agent.user_id)
    both.clock.forward(days=30)
    await refresh_stale(both.deps)
    for sort in SORTS:
        rows = await listed(both, sort=sort)
        assert [r["ranked"] for r in rows] == [True, False, False, False], sort
        assert rows[0]["agent_id"] == proven.user_id
        assert sorted(r["agent_id"] for r in rows[1:]) == sorted(fresh)
