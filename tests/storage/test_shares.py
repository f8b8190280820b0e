"""No owner, whatever it has waiting and under how many keys, keeps others from their turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from domain.agents.transfers import FAILED, REPORTED, StoredTransfer
from domain.money import Usdc
from storage.repositories.webhooks import Webhook
from storage.store import Store
from storage.unit_of_work import UnitOfWork
from tests.storage import material as m

pytestmark = pytest.mark.anyio
BUSY, OTHERS = "u_busy", ("u_one", "u_two", "u_three")
AGENTS, WAITING, MOST = 5, 40, 8
Seeds = Callable[[UnitOfWork, str, int], None]
"""Make the n-th thing of an owner wait; what is older has the smaller n."""
Turns = Callable[[UnitOfWork], Sequence[str]]
"""Whose things have their turn, of at most `MOST`."""


def _agent(owner: str, n: int) -> str:
    return f"{owner}_agent{n % AGENTS}"


def _transfer(status: str) -> Seeds:
    def seed(uow: UnitOfWork, owner: str, n: int) -> None:
        who = _agent(owner, n)
        if uow.identities.agent(who) is None:
            uow.identities.add_agent(m.agent(who, owner_id=owner))
        tx_hash = f"{owner} {n}"
        assert uow.transfers.add(
            StoredTransfer(1, tx_hash, who, "USDC", 1, "in", "agent", status, m.later(n))
        )

    return seed


def _due(status: str) -> Turns:
    def turns(uow: UnitOfWork) -> Sequence[str]:
        due = uow.transfers.due(1, status, None, m.later(9_999), MOST)
        return [one.tx_hash.partition(" ")[0] for one in due]

    return turns


def _order(uow: UnitOfWork, owner: str, n: int) -> None:
    made = m.order(
        f"{owner}_{n}", owner_id=owner, agent_id=_agent(owner, n), counted=Usdc(0),
        expires_at=m.later(n), next_check_at=m.later(n),
    )  # fmt: skip
    uow.orders.add(made)


def _webhook(uow: UnitOfWork, owner: str, n: int) -> None:
    hook = Webhook(
        webhook_id=f"w_{owner}_{n}", owner_id=owner, url="https://x.example", events=(),
        generation=1, created_at=m.NOW,
    )  # fmt: skip
    uow.webhooks.add(hook)
    named = {"delivery_id": f"d_{owner}_{n}", "key": "k", "kind": "x", "body": "{}"}
    assert uow.webhooks.queue(hook, **named, now=m.later(n))


def _book(uow: UnitOfWork, owner: str, n: int) -> None:
    uow.sql.run(
        "INSERT INTO paper_books (book, owner_id, name, start_micros, model, created_at) "
        "VALUES (:book, :owner, :book, 1, '{}', 1)",
        book=f"b {owner} {n}",
        owner=owner,
    )
    uow.sql.run(
        "INSERT INTO paper_watch (book, seen_at, due_at) VALUES (:book, 1, :due)",
        book=f"b {owner} {n}",
        due=n,
    )


LATE = m.later(9_999)
QUEUES: dict[str, tuple[Seeds, Turns]] = {
    "transfers that wait": (_transfer(REPORTED), _due(REPORTED)),
    "transfers that may be told of late": (_transfer(FAILED), _due(FAILED)),
    "orders to ask about": (
        _order,
        lambda uow: [o.owner_id for o in uow.orders.to_ask(LATE, "live", MOST)],
    ),
    "orders that nobody sent": (
        _order,
        lambda uow: [o.owner_id for o in uow.orders.past(LATE, MOST)],
    ),
    "webhooks": (
        _webhook,
        lambda uow: [
            h.owner_id
            for _, h, _ in uow.webhooks.claim(LATE, m.later(10_000), {("webhook", False): MOST})
        ],
    ),
    "paper books": (
        _book,
        lambda uow: [book.split(" ")[1] for book, _ in uow.paper.due(LATE, MOST)],
    ),
}


@pytest.mark.parametrize("queue", QUEUES)
async def test_an_owner_that_fills_a_queue_keeps_nobody_waiting(store: Store, queue: str) -> None:
    seed, turns = QUEUES[queue]

    def fill(uow: UnitOfWork) -> None:
        for n in range(WAITING):
            seed(uow, BUSY, n)
        for n, owner in enumerate(OTHERS):  # who come last
            seed(uow, owner, WAITING + n)

    await store.write(fill)
    taken = Counter(await store.write(turns))
    assert taken == {BUSY: MOST - len(OTHERS), **dict.fromkeys(OTHERS, 1)}


async def test_what_was_just_asked_about_comes_behind_what_was_not(store: Store) -> None:
    seed = _transfer(REPORTED)
    await store.write(lambda uow: [seed(uow, BUSY, n) for n in range(4)])

    def round_(uow: UnitOfWork) -> list[str]:
        due = uow.transfers.due(1, REPORTED, None, m.later(50), 3)
        uow.transfers.mark_polled([(one, m.later(50)) for one in due])
        return [one.tx_hash for one in due]

    first, second = [await store.write(round_) for _ in range(2)]
    assert second[0] not in first
    await store.write(
        lambda uow: uow.transfers.mark_polled([(_one(uow, n), m.later(51)) for n in range(4)])
    )
    assert await store.write(round_) == []


def _one(uow: UnitOfWork, n: int) -> StoredTransfer:
    found = uow.transfers.get(1, f"{BUSY} {n}")
    assert found is not None
    return found


async def test_who_waits_for_what_is_counted_by_agent(store: Store) -> None:
    seed = _transfer(REPORTED)
    await store.write(lambda uow: [seed(uow, BUSY, n) for n in range(7)])
    told = await store.read(lambda uow: uow.transfers.waiting_of(BUSY))
    assert {who: n for who, (n, _) in told.items()} == {
        _agent(BUSY, n): 2 if n < 2 else 1 for n in range(AGENTS)
    }
    assert told[_agent(BUSY, 1)][1] == m.later(1)
    assert await store.read(lambda uow: uow.transfers.waiting_of("u_one")) == {}
