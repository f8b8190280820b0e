"""What goes into the tables comes out again, in order, page by page; what may happen once happens once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from domain.agents.policy import Policy
from domain.agents.transfers import StoredTransfer
from domain.mandates.actions import Action
from domain.mandates.approvals import Approval, Reservation
from domain.mandates.mandate import Mandate, SignedTerms, Status, TermsFrame
from domain.mandates.targets import Target
from domain.money import Usdc
from domain.refusals import Refused
from storage.cursors import cursor_of, keys_of
from storage.repositories.approvals import item_after
from storage.repositories.chain_index import Staged
from storage.repositories.deposit_addresses import DepositAddress
from storage.repositories.identities import agent_after
from storage.repositories.mandates import cursor_after_mandate
from storage.sql import tokens
from storage.store import Store
from storage.unit_of_work import UnitOfWork
from tests.storage import material as m

pytestmark = pytest.mark.anyio
FULL = m.mandate(
    agent_id="u_agent",
    agent_name="Ada “the agent”",
    agent_address="0x" + "Bb" * 20,
    purpose="ünïcode",
    target_bps=300,
    allowed_targets=(
        Target("vault"),
        Target("x402", hosts=("a.example",)),
        Target(
            "contract",
            address="0x" + "Cc" * 20,
            selector="0x6e553f65",
            self_args=(1,),
            probe="0x01e1d114",
            market="ausd",
        ),
        Target("venue", venue="perps", symbols=("BTC",), label="Perps"),
    ),
    per_tx_cap_usdc=Usdc(1),
    daily_cap_usdc=Usdc(2),
    approval_above_usdc=Usdc(0),
    on_floor="close",
    vault_address="0x" + "Dd" * 20,
    status=Status.WORKING,
    signed_at=m.later(1),
    accepted_at=m.later(2),
    stopped_at=m.later(3),
    settled_at=m.later(4),
    cancelled_at=m.later(5),
    paused_at=m.later(6),
    ends_at=m.later(7),
    refreshed_at=m.later(8),
    proposed_by_agent_id="u_agent",
    frame=TermsFrame(1, 2, 2**256 - 1),
    signed=SignedTerms(
        "2", {"nonce": str(2**256 - 1)}, 84532, "0x" + "Ee" * 20, "0x12", "erc1271", 9
    ),
    legacy_caps={"per_tx": "5"},
)


@pytest.mark.parametrize("mandate", [FULL, m.mandate()])
async def test_a_mandate_comes_back_whole(store: Store, mandate: Mandate) -> None:
    await store.write(lambda uow: uow.mandates.add(mandate))
    assert await store.read(lambda uow: uow.mandates.get("m_1")) == mandate


async def test_a_mandate_may_be_saved_in_the_transaction_that_made_it(store: Store) -> None:
    def work(uow: UnitOfWork) -> None:
        uow.mandates.add(m.mandate())
        uow.mandates.save(replace(FULL, refreshed_at=None))

    await store.write(work)
    assert await store.read(lambda uow: uow.mandates.get("m_1")) == replace(FULL, refreshed_at=None)


async def test_owners_pages_are_complete_and_newest_first(store: Store) -> None:
    made = [m.mandate(f"m_{n:02d}", created_at=m.later(n // 3)) for n in range(11)]
    await store.write(lambda uow: [uow.mandates.add(x) for x in made])  # type: ignore[func-returns-value]  # in a row
    seen: list[Mandate] = []
    cursor = None
    while page := await store.read(
        lambda uow, c=cursor: uow.mandates.of_owner("u_owner", after=c, limit=3)
    ):  # type: ignore[misc]  # the default binds the loop's value
        seen += page
        cursor = cursor_after_mandate(page[-1])
    assert seen == sorted(made, key=lambda x: (x.created_at, x.public_id), reverse=True)
    assert await store.read(lambda uow: uow.mandates.of_owner("u_other", after=None, limit=3)) == []


async def test_offers_are_what_the_agent_may_accept(store: Store) -> None:
    given = [
        m.mandate("m_named", agent_id="u_agent"),
        m.mandate("m_open", open_board=True, status=Status.SIGNED),
        m.mandate("m_taken", open_board=True, agent_id="u_other"),
        m.mandate("m_accepted", agent_id="u_agent", accepted_at=m.NOW),
        m.mandate("m_gone", agent_id="u_agent", status=Status.CANCELLED),
        m.mandate("m_private"),
    ]
    await store.write(lambda uow: [uow.mandates.add(x) for x in given])  # type: ignore[func-returns-value]  # in a row
    found = await store.read(lambda uow: uow.mandates.offers("u_agent", after=None, limit=50))
    assert {x.public_id for x in found} == {"m_named", "m_open"}


async def test_a_vault_belongs_to_one_mandate(store: Store) -> None:
    vault = "0x" + "Dd" * 20
    await store.write(lambda uow: [uow.mandates.add(m.mandate(f"m_{n}")) for n in (1, 2)])  # type: ignore[func-returns-value]  # in a row

    def attach(uow: UnitOfWork, public_id: str) -> None:
        found = uow.mandates.get(public_id, lock=True)
        assert found is not None
        uow.mandates.save(replace(found, vault_address=vault))

    await store.write(lambda uow: attach(uow, "m_1"))
    with pytest.raises(Refused) as refused:
        await store.write(lambda uow: attach(uow, "m_2"))
    assert refused.value.code == "conflict"
    found = await store.read(
        lambda uow: uow.mandates.by_vault(84532, vault.upper().replace("X", "x"))
    )
    assert found is not None
    assert found.public_id == "m_1"
    assert await store.read(lambda uow: uow.mandates.by_vault(8453, vault)) is None


async def test_pollers_that_claim_at_once_share_the_vaults(store: Store) -> None:
    def add(uow: UnitOfWork) -> None:
        for n in range(40):
            uow.mandates.add(m.mandate(f"m_{n:02d}", vault_address=f"0x{n:040x}"))

    def claim(uow: UnitOfWork) -> list[str]:
        since = m.NOW - timedelta(seconds=15)
        found = [x.public_id for x in uow.mandates.due_for_refresh(84532, 10, m.NOW, since)]
        uow.mandates.refreshed(found, m.NOW)
        return found

    await store.write(add)
    some = await asyncio.gather(*(store.write(claim) for _ in range(8)))
    claimed = [public_id for found in some for public_id in found]
    assert len(claimed) == len(set(claimed))
    rest = await store.write(claim)
    while more := await store.write(claim):
        rest += more
    assert sorted(claimed + rest) == [f"m_{n:02d}" for n in range(40)]


async def test_the_poller_takes_the_never_read_first_then_the_oldest(store: Store) -> None:
    def work(uow: UnitOfWork) -> None:
        for n, at in enumerate((m.later(5), None, m.later(3), None)):
            uow.mandates.add(m.mandate(f"m_{n}", vault_address=f"0x{n:040x}", refreshed_at=at))
        uow.mandates.add(m.mandate("m_bare"))

    await store.write(work)
    due = await store.read(lambda uow: uow.mandates.due_for_refresh(84532, 10, m.NOW))
    assert [x.public_id for x in due] == ["m_1", "m_3", "m_2", "m_0"]
    await store.write(lambda uow: uow.mandates.refreshed(["m_1", "m_3"], m.later(9)))
    due = await store.read(lambda uow: uow.mandates.due_for_refresh(84532, 3, m.NOW))
    assert [(x.public_id, x.refreshed_at) for x in due] == [
        ("m_2", m.later(3)),
        ("m_0", m.later(5)),
        ("m_1", m.later(9)),
    ]


async def test_a_challenge_is_taken_once(store: Store) -> None:
    await store.write(
        lambda uow: uow.identities.add_challenge("n1", "text", "0xa", 1, m.later(300), m.NOW)
    )
    takers = await asyncio.gather(
        *(store.write(lambda uow: uow.identities.take_challenge("n1", m.NOW)) for _ in range(16))
    )
    assert [t.message for t in takers if t] == ["text"]
    await store.write(
        lambda uow: uow.identities.add_challenge("n2", "text", "0xa", 1, m.later(300), m.NOW)
    )
    looked = [
        await store.read(lambda uow: uow.identities.challenge("n2", m.later(299))) for _ in range(2)
    ]
    assert [c.message for c in looked if c] == ["text", "text"]
    assert await store.read(lambda uow: uow.identities.challenge("n2", m.later(300))) is None
    assert await store.write(lambda uow: uow.identities.take_challenge("n2", m.later(300))) is None


async def test_a_person_is_made_once_an_address(store: Store) -> None:
    signs_in = [m.OWNER, m.OWNER.lower(), m.OWNER.upper().replace("X", "x")] * 5
    users = await asyncio.gather(
        *(
            store.write(lambda uow, a=a, n=n: uow.identities.person(a, new_id=f"u_{n}", now=m.NOW))
            for n, a in enumerate(signs_in)
        )
    )
    assert len(set(users)) == 1
    assert await store.read(lambda uow: uow.identities.user(users[0].user_id)) == users[0]


async def test_a_session_lives_until_its_end_and_slides(store: Store) -> None:
    def opened(uow: UnitOfWork) -> None:
        uow.identities.person(m.OWNER, new_id="u_1", now=m.NOW)
        uow.identities.add_session("hash", "u_1", m.NOW, m.later(10), m.later(100))

    async def live(at: float) -> bool:
        return await store.read(lambda uow: uow.identities.session("hash", m.later(at))) is not None

    await store.write(opened)
    assert [await live(at) for at in (0, 9, 10)] == [True, True, False]
    await store.write(lambda uow: uow.identities.slide("hash", m.later(20)))
    assert await live(19)
    assert await store.write(lambda uow: uow.identities.end_session("hash"))
    assert not await live(0)


async def test_an_agent_has_two_live_keys_at_most(store: Store) -> None:
    await store.write(lambda uow: uow.identities.add_agent(m.agent()))

    async def add(n: int) -> str:
        try:
            await store.write(
                lambda uow: uow.identities.add_key(f"k_{n}", "u_agent", f"hash{n}", m.NOW)
            )
        except Refused as refused:
            return refused.code
        return "added"

    answers = await asyncio.gather(*(add(n) for n in range(12)))
    assert sorted(set(answers)) == ["added", "conflict"]
    assert answers.count("added") == 2
    one = answers.index("added")
    assert await store.read(lambda uow: uow.identities.agent_by_key(f"hash{one}")) == m.agent()
    assert await store.write(lambda uow: uow.identities.revoke_key("u_agent", f"k_{one}", m.NOW))
    assert not await store.write(
        lambda uow: uow.identities.revoke_key("u_agent", f"k_{one}", m.NOW)
    )
    assert await store.read(lambda uow: uow.identities.agent_by_key(f"hash{one}")) is None
    assert await add(99) == "added"


async def test_agents_pages_and_house_keys(store: Store) -> None:
    def work(uow: UnitOfWork) -> None:
        for n in range(5):
            uow.identities.add_agent(m.agent(f"u_{n}", created_at=m.later(n)))
        uow.identities.add_house_key("h_1", "keeper", "hash", m.NOW)

    await store.write(work)
    first = await store.read(lambda uow: uow.identities.agents_of("u_owner", after=None, limit=3))
    rest = await store.read(
        lambda uow: uow.identities.agents_of("u_owner", after=agent_after(first[-1]), limit=3)
    )
    assert [a.agent_id for a in first + rest] == ["u_4", "u_3", "u_2", "u_1", "u_0"]
    assert await store.read(lambda uow: uow.identities.house_role("hash")) == "keeper"
    assert await store.write(lambda uow: uow.identities.revoke_house_key("h_1", m.NOW))
    assert await store.read(lambda uow: uow.identities.house_role("hash")) is None


def _item(n: int, **changes: Any) -> Approval:
    given: dict[str, Any] = {"status": "pending", "action_hash": "act", "why": None}
    given |= {
        "requested_at": m.later(n),
        "expires_at": m.later(n + 100),
        "target": {"market": "ausd"},
        "data": "0x12",
    }
    return Approval(f"ap_{n}", "m_1", approve_amount_usdc=Usdc(5), **given | changes)


async def test_approvals_show_what_they_are_at_the_moment(store: Store) -> None:
    items = [
        _item(0),
        _item(1, status="declined", decided_at=m.later(2), note="no"),
        _item(2, status="approved"),
        _item(50),
    ]
    await store.write(lambda uow: [uow.approvals.add(i) for i in items])  # type: ignore[func-returns-value]  # in a row

    async def page(status: str | None, at: float, **given: Any) -> list[str]:
        now, asked = m.later(at), {"after": None, "limit": 50} | given
        found = await store.read(
            lambda uow: uow.approvals.page("m_1", status=status, now=now, **asked)
        )
        assert all(status in (None, i.status_at(now)) for i in found)
        return [i.approval_id for i in found]

    assert await page(None, 60) == ["ap_50", "ap_2", "ap_1", "ap_0"]
    assert await page("pending", 60) == ["ap_50", "ap_0"]
    assert await page("pending", 100) == ["ap_50"]
    assert await page("expired", 102) == ["ap_2", "ap_0"]
    assert await page("approved", 101) == ["ap_2"]
    assert await page("declined", 999) == ["ap_1"]
    assert await page(None, 60, after=item_after(items[2]), limit=1) == ["ap_1"]
    assert await store.read(lambda uow: uow.approvals.get("m_1", "ap_1")) == items[1]
    assert await store.read(lambda uow: uow.approvals.get("m_2", "ap_1")) is None
    assert len(await store.read(lambda uow: uow.approvals.of_action("m_1", "act"))) == 4


def _handed(name: str, amount: int, created: float, **more: Any) -> Reservation:
    action = Action(
        action_hash="0x" + name * 64,
        target="0x" + "11" * 20,
        selector="0x6e553f65",
        data_hash="0x" + name * 64,
        amount=Usdc(amount),
    )
    given: dict[str, Any] = {"sender": "0x" + "22" * 20, "expires_at": m.later(created + 10)}
    return Reservation(public_id="m_1", action=action, made_at=m.later(created), **given | more)


async def test_reservations_count_until_they_end(store: Store) -> None:
    one, two = _handed("a", 5, 0), _handed("b", 7, 5, approval_id="ap_1", block=7)

    async def live(at: float) -> set[Reservation]:
        return set(await store.read(lambda uow: uow.reservations.live("m_1", m.later(at))))

    await store.write(lambda uow: (uow.reservations.put(one), uow.reservations.put(two)))
    assert [await live(at) for at in (0, 9, 10, 15)] == [{one, two}, {one, two}, {two}, set()]
    again = _handed("a", 5, 6, approval_id="ap_2", block=9)
    await store.write(lambda uow: uow.reservations.put(again))
    await store.write(
        lambda uow: uow.reservations.end("m_1", two.action.action_hash, "reverted", "0x01")
    )
    assert await live(7) == {again}


async def test_what_was_handed_out_is_kept_with_what_became_of_it(store: Store) -> None:
    one, two = _handed("a", 5, 0), _handed("b", 5, 0)
    await store.write(lambda uow: (uow.reservations.put(one), uow.reservations.put(two)))
    key, data = one.action.action_hash, one.action.data_hash
    await store.write(lambda uow: uow.reservations.end("m_1", key, "landed", "0x01"))

    def kept(uow: UnitOfWork) -> Any:
        at = one.action.target.upper().replace("0X", "0x")
        return [
            uow.reservations.of_action("m_1", key),
            uow.reservations.of_call("m_1", at, data, Usdc(5)),
            uow.reservations.of_call("m_1", at, data, Usdc(6)),
            uow.reservations.of_action("m_2", key),
        ]

    ended = replace(one, outcome="landed", tx_hash="0x01")
    assert await store.read(kept) == [ended, ended, None, None]
    # Handed out anew, it is open again.
    await store.write(lambda uow: uow.reservations.put(one))
    assert await store.read(kept) == [one, one, None, None]


async def test_32_claims_of_one_key_have_one_winner(store: Store) -> None:
    async def once(n: int) -> dict[str, Any]:
        def work(uow: UnitOfWork) -> dict[str, Any]:
            claim = uow.idempotency.acquire("s", "k", "digest", m.NOW)
            if claim.new:
                uow.ledger.append("m_1", m.buy(), event_id=f"ev_{n}", now=m.NOW)
                uow.idempotency.complete("s", "k", 202, {"z": n, "a": [1]})
                return {"z": n, "a": [1]}
            assert claim.status == 202
            assert claim.response is not None
            return dict(claim.response)

        return await store.write(work)

    answers = await asyncio.gather(*(once(n) for n in range(32)))
    assert all(a == answers[0] for a in answers)
    assert list(answers[0]) == ["z", "a"]
    assert await store.read(lambda uow: uow.ledger.head("m_1")[0]) == 1


async def test_a_claim_that_failed_may_be_made_again(store: Store) -> None:
    def refused(uow: UnitOfWork) -> None:
        uow.idempotency.acquire("s", "k", "digest", m.NOW)
        raise LookupError

    with pytest.raises(LookupError):
        await store.write(refused)
    assert (await store.write(lambda uow: uow.idempotency.acquire("s", "k", "digest", m.NOW))).new
    await store.write(lambda uow: uow.idempotency.release("s", "k"))
    assert await store.read(lambda uow: uow.idempotency.find("s", "k")) is None


async def test_a_claim_and_its_answer_are_read_as_they_were_told(store: Store) -> None:
    """Beyond 64 bits and half of a pair too: what is kept is what was answered."""
    told = {"n": 2**70, "text": "é\u2028", "half": "\ud800", "float": 1e16}

    def work(uow: UnitOfWork) -> None:
        assert uow.idempotency.acquire("s", "k", "digest", m.NOW).new
        assert not uow.idempotency.acquire("s", "k", "digest", m.NOW).new
        uow.idempotency.complete("s", "k", 201, told)

    await store.write(work)
    found = await store.read(lambda uow: uow.idempotency.find("s", "k"))
    assert found is not None
    assert (found.request_hash, found.status, found.response) == ("digest", 201, told)


async def test_switches_and_work_claims(store: Store) -> None:
    for value in ("on", "off"):
        await store.write(lambda uow, v=value: uow.switches.set("door", v, m.NOW, "ops"))  # type: ignore[misc]  # the default binds the loop's value
    assert await store.read(lambda uow: uow.switches.all()) == {"door": "off"}
    got = await asyncio.gather(
        *(
            store.write(
                lambda uow, h=h: uow.work.acquire("settle", "m_1", f"keeper{h}", m.NOW, m.later(60))
            )
            for h in range(8)
        )
    )
    assert got.count(True) == 1
    winner = f"keeper{got.index(True)}"
    assert not await store.write(
        lambda uow: uow.work.acquire("settle", "m_1", "late", m.later(59), m.later(99))
    )
    assert await store.write(
        lambda uow: uow.work.acquire("settle", "m_1", "late", m.later(60), m.later(99))
    )
    await store.write(lambda uow: uow.work.release("settle", "m_1", winner))
    assert not await store.write(
        lambda uow: uow.work.acquire("settle", "m_1", "x", m.later(61), m.later(99))
    )


async def test_the_figures_by_which_work_was_sent_last_are_known_in_every_process(
    store: Store,
) -> None:
    for kind, figures in (("record", "1 2"), ("stop line", "3"), ("record", "2 3")):
        await store.write(partial(_noted, kind, figures))
    told = await store.read(
        lambda uow: [
            uow.work.figures(*of)
            for of in (("record", "m_1"), ("stop line", "m_1"), ("record", "m_2"))
        ]
    )
    assert told == ["2 3", "3", None]
    # What is noted is no claim of the work itself.
    assert await store.write(
        lambda uow: uow.work.acquire("record", "m_1", "k1", m.NOW, m.later(60))
    )


def _noted(kind: str, figures: str, uow: UnitOfWork) -> None:
    uow.work.note_figures(kind, "m_1", figures)


async def test_work_that_a_clock_which_ran_ahead_claimed_is_free(store: Store) -> None:
    def claim(who: str, at: datetime) -> Callable[[UnitOfWork], bool]:
        return lambda uow: uow.work.acquire("settle", "m_1", who, at, at + timedelta(seconds=60))

    assert await store.write(claim("ahead", m.later(days=400)))
    assert await store.write(claim("right", m.NOW))
    assert not await store.write(claim("other", m.NOW))


async def test_policies_and_their_log(store: Store) -> None:
    policy = Policy(
        assets=["USDC"], per_tx_cap_usdc=Usdc(5), hold_ratio="0.5", accepts_mandates=True
    )
    await store.write(
        lambda uow: (
            uow.identities.add_agent(m.agent()),
            uow.policies.put("u_agent", policy, m.NOW),
        )
    )
    assert await store.read(lambda uow: uow.policies.get("u_agent")) == replace(
        policy, updated_at=m.NOW
    )
    assert await store.read(lambda uow: uow.policies.get("u_other")) is None
    entries = [{"n": {"from": n, "to": n + 1}} for n in range(12)]
    await asyncio.gather(
        *(store.write(lambda uow, e=e: uow.policies.log("u_agent", e, m.NOW)) for e in entries)
    )
    told = await store.read(lambda uow: uow.policies.changes("u_agent", 100))
    assert sorted(c["n"]["from"] for _, c in told) == list(range(12))
    assert len(await store.read(lambda uow: uow.policies.changes("u_agent"))) == 10


def _report(n: int, **changes: Any) -> StoredTransfer:
    given: dict[str, Any] = {
        "amount": 10**15,
        "direction": "in",
        "reported_by": "agent",
        "status": "reported",
    }
    return StoredTransfer(
        8453, m.tx(n), "u_agent", "USDC", reported_at=m.later(n), **given | changes
    )


async def test_a_transfer_is_reported_once(store: Store) -> None:
    answers = await asyncio.gather(
        *(store.write(lambda uow: uow.transfers.add(_report(1))) for _ in range(8))
    )
    assert answers.count(True) == 1
    await store.write(lambda uow: [uow.transfers.add(_report(n)) for n in (2, 3)])
    await store.write(lambda uow: uow.identities.add_agent(m.agent()))
    due = await store.read(lambda uow: uow.transfers.due(8453, "reported", None, m.later(9), 2))
    assert [r.tx_hash for r in due] == [m.tx(1), m.tx(2)]
    done = replace(_report(1), status="confirmed", amount_actual=7, confirmed_at=m.later(9))
    await store.write(lambda uow: uow.transfers.save(done))
    assert (
        await store.read(lambda uow: uow.transfers.get(8453, m.tx(1).upper().replace("X", "x")))
        == done
    )


async def test_64_outbound_reports_never_overdraw(store: Store) -> None:
    def seed(uow: UnitOfWork) -> None:
        uow.identities.add_agent(m.agent())
        uow.transfers.move("u_agent", [m.delta(10, "in", chain_id=8453)], m.NOW)

    def out(uow: UnitOfWork, n: int) -> bool:
        uow.identities.agent("u_agent", lock=True)
        if uow.transfers.balance("u_agent", 8453, "USDC", "idle") < 3:
            return False
        deltas = [
            m.delta(d, f"t{n}", chain_id=8453, state=state)
            for state, d in (("idle", -3), ("in_transit", 3))
        ]
        uow.transfers.move("u_agent", deltas, m.NOW)
        return True

    await store.write(seed)
    went = await asyncio.gather(*(store.write(lambda uow, n=n: out(uow, n)) for n in range(64)))
    assert went.count(True) == 3
    sums = [(8453, "USDC", "idle", 1), (8453, "USDC", "in_transit", 9)]
    assert await store.read(lambda uow: uow.transfers.balances("u_agent")) == sums
    assert await store.read(lambda uow: m.summed(uow, "u_agent")) == sums


async def test_a_cause_is_booked_once(store: Store) -> None:
    delta = m.delta(5, "bid_1:closed", asset="USDT", state="reserved", ref_kind="auction_bid_close")
    await store.write(lambda uow: uow.transfers.move("u_agent", [delta], m.NOW))
    with pytest.raises(Exception, match=r"(?i)unique"):
        await store.write(lambda uow: uow.transfers.move("u_agent", [delta], m.NOW))
    assert (
        await store.read(lambda uow: uow.transfers.balance("u_agent", 1, "USDT", "reserved")) == 5
    )
    for prefix, count in (("bid_1:", 1), ("bid%", 0), ("bidx1", 0)):
        found = await store.read(
            lambda uow, p=prefix: uow.transfers.events_of("u_agent", "auction_bid_close", p)
        )  # type: ignore[misc]  # the default binds the loop's value
        assert len(found) == count


async def test_balance_events_page_through_equal_times(store: Store) -> None:
    deltas = [
        m.delta(n, f"b{n}", asset="USDT", state="reserved", ref_kind="auction_bid")
        for n in range(7)
    ]
    await store.write(lambda uow: uow.transfers.move("u_agent", deltas, m.NOW))
    micros = (m.NOW - m.NOW.replace(year=1970, month=1, day=1, hour=0)) // timedelta(microseconds=1)
    first = await store.read(
        lambda uow: uow.transfers.events("u_agent", before=micros + 1, limit=4)
    )
    rest = await store.read(
        lambda uow: uow.transfers.events("u_agent", before=micros, before_n=first[-1].n, limit=4)
    )
    assert [e.delta for e in first + rest] == deltas[::-1]
    assert {e.created_at for e in first} == {m.NOW}


async def test_an_amount_is_exact_or_refused(store: Store) -> None:
    wide = store.url.startswith("postgresql")
    for amount in (2**63 - 1, 1 - 2**63, 10**38 - 1):
        delta = m.delta(amount, "x", asset=f"T{amount}")
        if amount < 2**63 or wide:
            await store.write(lambda uow, d=delta: uow.transfers.move("u_agent", [d], m.NOW))  # type: ignore[misc]  # the default binds the loop's value
            kept = await store.read(
                lambda uow, d=delta: uow.transfers.balance("u_agent", 1, d.asset, "idle")
            )  # type: ignore[misc]  # as above
            assert kept == amount
        else:
            with pytest.raises(Refused) as refused:
                await store.write(lambda uow, d=delta: uow.transfers.move("u_agent", [d], m.NOW))  # type: ignore[misc]  # as above
            assert refused.value.code == "invalid_number"


async def test_a_sum_never_turns_into_a_float(store: Store) -> None:
    biggest = 10**38 - 1 if store.url.startswith("postgresql") else 2**63 - 1

    def book(uow: UnitOfWork, amount: int, ref: str) -> None:
        uow.transfers.move("u_agent", [m.delta(amount, ref, asset="T")], m.NOW)

    await store.write(lambda uow: book(uow, biggest, "a"))
    with pytest.raises(Refused):
        await store.write(lambda uow: book(uow, 1, "b"))
    assert await store.read(lambda uow: uow.transfers.balances("u_agent")) == [
        (1, "T", "idle", biggest)
    ]


async def test_deposit_addresses_are_kept_a_chain(store: Store) -> None:
    def work(uow: UnitOfWork) -> None:
        uow.addresses.put("u_agent", 1, "0xAB", m.NOW, nonce=2**255)
        uow.addresses.put("u_agent", 2, "0xEF", m.NOW, nonce=None)

    await store.write(work)
    assert await store.read(lambda uow: uow.addresses.on_file("u_agent", 1)) == DepositAddress(
        "0xab", 2**255
    )
    await store.write(lambda uow: uow.addresses.put("u_agent", 1, "0xCD", m.NOW, nonce=None))
    assert await store.read(lambda uow: uow.addresses.address("u_agent", 1)) == "0xcd"
    assert await store.read(lambda uow: uow.addresses.has_any("u_agent"))
    assert not await store.read(lambda uow: uow.addresses.has_any("u_other"))
    assert await store.read(lambda uow: uow.addresses.proven(1)) == {}


async def test_an_address_is_the_agents_that_it_signed_for_last(store: Store) -> None:
    others = [f"0x{n:040x}" for n in range(900)]

    def work(uow: UnitOfWork) -> None:
        uow.addresses.prove("u_one", 1, "0xAB", m.NOW, nonce="1")
        uow.addresses.prove("u_one", 1, others[899], m.NOW, nonce="2")
        uow.addresses.prove("u_two", 1, "0xaB", m.NOW, nonce="3")

    await store.write(work)
    assert await store.read(lambda uow: uow.addresses.proven(1)) == {
        "0xab": "u_two",
        others[899]: "u_one",
    }
    assert await store.read(lambda uow: uow.addresses.holders(1, ["0xAB", *others])) == {
        "0xab": "u_two",
        others[899]: "u_one",
    }
    assert await store.read(lambda uow: uow.addresses.holders(2, ["0xAB"])) == {}
    assert await store.read(lambda uow: uow.addresses.is_proven("u_two", 1, "0xAB"))
    assert not await store.read(lambda uow: uow.addresses.is_proven("u_one", 1, "0xAB"))


async def test_rows_that_are_inserted_together_are_those_inserted_one_by_one(store: Store) -> None:
    """In their order, with texts that look like something else; one that is there already stays."""
    texts = ["ünï“code”", "a'b\"c\\d\n\t\x7f", "{}", "[1]", "null", ":name $1 %s", ""]
    rows = [
        {"public_id": f"m_{n}", "seq": 2**62 + n, "created_at": -n, "state": text}
        for n, text in enumerate(texts)
    ]
    insert = (
        "INSERT INTO ledger_checkpoints (public_id, seq, created_at, state) "
        "VALUES (:public_id, :seq, :created_at, :state) ON CONFLICT (public_id, seq) DO NOTHING"
    )

    def work(uow: UnitOfWork) -> None:
        uow.sql.run(insert, **rows[0])
        uow.sql.run_all(insert, [{**rows[0], "state": "another"}, *rows[1:]])
        uow.sql.run_all(insert, [])

    await store.write(work)
    found = await store.read(
        lambda uow: uow.sql.rows(
            "SELECT public_id, seq, created_at, state FROM ledger_checkpoints ORDER BY public_id"
        )
    )
    assert [dict(row) for row in found] == rows


async def test_numbers_that_json_does_not_hold_are_inserted_together_too(store: Store) -> None:
    insert = (
        "INSERT INTO balances (agent_id, chain_id, asset, state, amount) "
        "VALUES (:agent_id, :chain_id, :asset, :state, :amount)"
    )
    most = 10**37 + 1 if store.url.startswith("postgres") else 2**63 - 1

    def work(uow: UnitOfWork) -> None:
        uow.sql.run_all(insert, [
            {"agent_id": f"u_{n}", "chain_id": 1, "asset": "usdc", "state": "idle", "amount": tokens(uow.sql, most - n)}
            for n in range(2)
        ])  # fmt: skip

    await store.write(work)
    found = await store.read(
        lambda uow: uow.sql.rows("SELECT amount FROM balances ORDER BY agent_id")
    )
    assert [int(row["amount"]) for row in found] == [most, most - 1]


async def test_the_readers_tables_forget_what_a_reorganisation_took(store: Store) -> None:
    def staged(block: int, index: int = 0) -> Staged:
        return Staged(block, f"h{block}", m.tx(block), index, "0xAA", {"n": block})

    def work(uow: UnitOfWork) -> None:
        log = uow.chainlog
        for block in (12, 10, 11):
            log.stage(1, [staged(block)])
            log.stage(1, [staged(block)])
            log.add_vault(1, f"0x{block}", "digest", block)
        log.remember_blocks(1, [(b, f"h{b}") for b in (9, 10, 11, 12)], keep_above=9)
        log.set_cursor(1, 12, "h12", 20, 10, m.NOW)
        log.forget_above(1, 11)
        log.set_cursor(1, 11, "h11", 21, 5, m.later(1))
        uow.mandates.add(m.mandate(chain_id=1, vault_address="0xaA"))

    await store.write(work)
    assert await store.read(lambda uow: uow.chainlog.blocks(1)) == [(11, "h11"), (10, "h10")]
    assert sorted(await store.read(lambda uow: uow.chainlog.vaults(1))) == ["0x10", "0x11", "0x12"]
    cursor = await store.read(lambda uow: uow.chainlog.cursor(1))
    assert cursor is not None
    assert (cursor.block, cursor.hash, cursor.head, cursor.deep, cursor.read_at) == (
        11,
        "h11",
        21,
        5,
        m.later(1),
    )
    assert [
        s.block_number for s in await store.read(lambda uow: uow.chainlog.staged_of("m_1"))
    ] == [10, 11]
    taken = await store.write(lambda uow: uow.chainlog.take_staged(1, 10))
    assert taken == [replace(staged(10), address="0xaa")]
    assert await store.write(lambda uow: uow.chainlog.take_staged(1, 10)) == []


@pytest.mark.parametrize(
    "text",
    ["", "x", "e30", "bnVsbA", "WzEsMl0", "WzEsIm0iXQ==", "WzEsIm0iXQ\n", "WzEsICJtIl0", cursor_of(True, "m"),
     cursor_of(1.0, "m"), cursor_of(1, "m", 2), cursor_of(2**63, "m"), cursor_of(1, "a\x00"), cursor_of(1, "\ud800"),
     "W" * 600, "é"],
)  # fmt: skip
async def test_a_cursor_of_somebody_elses_making_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        keys_of(text, (int, str))
    assert refused.value.code == "invalid_request"
    assert refused.value.refusal.detail["fields"][0]["loc"] == "cursor"


async def test_a_cursor_gives_its_keys_back() -> None:
    assert keys_of(cursor_of(-5, "m_é"), (int, str)) == [-5, "m_é"]
