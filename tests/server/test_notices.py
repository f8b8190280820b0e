"""Webhooks: signed, sent by one of many processes, tried again, and never to an address of ours."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest
from aiohttp import web
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from chain.adapter import ChainConfig
from chain.chains import EvmChains
from chain.contracts.sign_in import SiweSignIn
from domain.ledger.events.event import LedgerKind, NewEvent, Reporter
from domain.mandates.mandate import Mandate, Status
from domain.money import Usdc
from domain.reads.notices import Notice, RowNotice
from domain.settings import Config
from http_shim.http_server import bound
from server.keeper.notification_worker import DEAD_AFTER, LEASE_S, NotificationWorker
from server.outbound import OutboundClient
from server.system import SystemIds
from storage.errors import Unavailable
from storage.feed.ledger_feed import LedgerFeed, UnknownCursor
from storage.repositories.webhooks import LANES
from storage.store import Store
from tests.waiting import STUCK_S, LoopClock
from tests.world import BY_NAME, CHAIN_ID, Clock
from tools.context.notice_outbox import enqueue_notice
from tools.dispatch.run import run
from tools.model.operation import Caller, Deps
from tools.model.webhook_signing import WebhookSigning

pytestmark = pytest.mark.anyio
KEY = b"k" * 32
PATIENCE_S = 60  # of who sends, with a receiver that works
OWNER = Caller("owner", "u_owner", "u_owner", "0x" + "22" * 20)
PAUSED = Notice(
    kind="mandate.paused", key="k1", data=RowNotice(public_id="m_1", event_id="e_1", tx_hash=None)
)


@dataclass
class Receiver:
    """A stranger's server: answers as told, and keeps what came."""

    url: str
    answer: Callable[[web.Request], Any]
    got: list[tuple[dict[str, str], str]] = field(default_factory=list)


@asynccontextmanager
async def receiving(answer: Callable[[web.Request], Any]) -> AsyncIterator[Receiver]:
    """Serve one."""
    sock = bound("127.0.0.1", 0)
    found = Receiver(f"http://127.0.0.1:{sock.getsockname()[1]}/hook", answer)

    async def handle(request: web.Request) -> web.StreamResponse:
        found.got.append((dict(request.headers), await request.text()))
        told = found.answer(request)
        return await told if asyncio.iscoroutine(told) else web.Response(status=told)

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.SockSite(runner, sock).start()
    try:
        yield found
    finally:
        await runner.cleanup()


def deps_of(store: Store, clock: Clock, **config: Any) -> Deps:
    settings = Config(webhook_allow_private=True, **config)
    chains = EvmChains([ChainConfig(CHAIN_ID)])
    signing = WebhookSigning(KEY)
    return Deps(store, chains, clock, SystemIds(), settings, SiweSignIn(), webhooks=signing)


async def hooked(deps: Deps, url: str, **more: Any) -> dict[str, Any]:
    """A webhook of the owner, with its secret."""
    owner = OWNER.address or ""
    await deps.store.write(
        lambda uow: uow.identities.person(owner, new_id="u_owner", now=deps.clock.now())
    )
    told = await run(BY_NAME["owner_webhook_create"], deps, OWNER, {"url": url, **more})
    assert told.status == 201, told.body
    return dict(told.body)


async def notify(deps: Deps, notice: Notice = PAUSED) -> int:
    return await deps.store.write(
        lambda uow: enqueue_notice(uow, "u_owner", notice, deps.clock.now())
    )


async def deliveries(deps: Deps, webhook: dict[str, Any]) -> list[dict[str, Any]]:
    asked = {"webhook_id": webhook["webhook"]["webhook_id"]}
    told = await run(BY_NAME["owner_webhook_deliveries"], deps, OWNER, asked)
    return list(told.body["items"])  # type: ignore[call-overload]


async def sent(deps: Deps, *, outbound: OutboundClient | None = None, processes: int = 1) -> int:
    """One round of each process, until all that it took is answered."""
    out = outbound or OutboundClient(private=True, total_s=PATIENCE_S)
    taken = 0
    tail = LedgerFeed(deps.store.url)
    async with out:
        every = [NotificationWorker(deps, tail, out, f"p_{n}") for n in range(processes)]
        async with anyio.create_task_group() as group:
            for notices in every:
                taken += await notices.round(group)
    return taken


async def test_a_notice_comes_signed_once_whoever_sends_it(store: Store) -> None:
    deps = deps_of(store, Clock(datetime.now(UTC)))
    async with receiving(lambda _: 204) as receiver:
        hook = await hooked(deps, receiver.url)
        assert [await notify(deps), await notify(deps)] == [1, 0]
        assert await sent(deps, processes=3) == 1
        ((headers, body),) = receiver.got
        told = Verifier(hook["secret"]).verify(body, {k.lower(): v for k, v in headers.items()})
        assert (told["type"], told["data"]) == ("mandate.paused", asdict(PAUSED.data))
        other = Verifier(deps.webhooks.secret("wh_other", 1) if deps.webhooks else "")
        with pytest.raises(WebhookVerificationError):
            other.verify(body, {k.lower(): v for k, v in headers.items()})
    (delivery,) = await deliveries(deps, hook)
    assert (delivery["status"], delivery["answered"], delivery["body"]) == ("delivered", 204, body)


async def test_after_a_rotation_both_secrets_sign_for_a_day(store: Store) -> None:
    clock = Clock(datetime.now(UTC))
    deps = deps_of(store, clock)
    async with receiving(lambda _: 200) as receiver:
        hook = await hooked(deps, receiver.url)
        asked = {"webhook_id": hook["webhook"]["webhook_id"]}
        fresh = (await run(BY_NAME["owner_webhook_rotate"], deps, OWNER, asked)).body
        assert fresh["secret"] != hook["secret"]
        await notify(deps)
        await sent(deps)
        headers, body = receiver.got[0]
        for secret in (hook["secret"], str(fresh["secret"])):
            Verifier(secret).verify(body, {k.lower(): v for k, v in headers.items()})
        clock.forward(hours=25)
        await notify(deps, replace(PAUSED, key="k2"))
        await sent(deps)
        assert len(receiver.got[1][0]["webhook-signature"].split()) == 1
        stored = await store.read(lambda uow: str(uow.sql.rows("SELECT * FROM webhooks")))
        assert hook["secret"] not in stored


async def test_what_fails_is_tried_again_under_its_id_and_dead_after_three_days(
    store: Store,
) -> None:
    clock = Clock()
    deps = deps_of(store, clock)
    async with receiving(lambda _: 500) as receiver:
        hook = await hooked(deps, receiver.url)
        await notify(deps)
        assert await sent(deps) == 1
        assert await sent(deps) == 0  # not before its time
        (waits,) = await deliveries(deps, hook)
        assert (waits["status"], waits["answered"], waits["attempts"]) == ("waiting", 500, 1)
        clock.forward(seconds=7)
        receiver.answer = lambda _: 200
        assert await sent(deps) == 1
        assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
        receiver.answer = lambda _: 302
        await notify(deps, replace(PAUSED, key="k2"))
        begun = clock.at
        while clock.at < begun + DEAD_AFTER + timedelta(hours=13):
            await sent(deps)
            clock.forward(hours=6)
        dead, alive = await deliveries(deps, hook)
        assert (dead["status"], alive["status"], dead["answered"]) == ("dead", "delivered", 302)
        assert dead["attempts"] > 8
        hooks = (await run(BY_NAME["owner_webhooks"], deps, OWNER, {})).body["items"]
        assert hooks[0]["failing"] is True  # type: ignore[index]


async def test_a_claim_of_a_process_that_ended_runs_out_and_another_sends(store: Store) -> None:
    clock = Clock()
    deps = deps_of(store, clock)
    async with receiving(lambda _: 200) as receiver:
        await hooked(deps, receiver.url)
        await notify(deps)
        until = clock.now() + timedelta(seconds=60)
        taken = await store.write(
            lambda uow: uow.webhooks.claim(clock.now(), until, dict.fromkeys(LANES, 5))
        )
        assert len(taken) == 1
        assert await sent(deps) == 0
        clock.forward(seconds=61)
        assert await sent(deps) == 1
        assert len(receiver.got) == 1


async def test_a_receiver_that_hangs_holds_nobody_and_what_it_says_is_not_read(
    store: Store,
) -> None:
    deps, never, clock = deps_of(store, Clock()), asyncio.Event(), LoopClock()
    hooks: list[dict[str, Any]] = []

    async def hangs(_: web.Request) -> web.Response:
        with anyio.fail_after(STUCK_S):  # the others have their notice while this one is held
            while {(await deliveries(deps, h))[0]["status"] for h in hooks[1:]} != {"delivered"}:
                await anyio.sleep(0.01)
        clock.forward(PATIENCE_S + 1)
        await never.wait()
        return web.Response()

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65_536)

    async with receiving(hangs) as slow, receiving(endless) as loud, receiving(lambda _: 200) as ok:
        hooks += [await hooked(deps, r.url) for r in (slow, loud, ok)]
        await notify(deps)
        async with OutboundClient(private=True, total_s=PATIENCE_S) as out:
            assert await sent(deps, outbound=out) == 3
        never.set()
        told = [(await deliveries(deps, h))[0] for h in hooks]
        delivered = ("delivered", None)
        seen = [(d["status"], d["fault"]) for d in told]
        assert seen == [("waiting", "timeout"), delivered, delivered]


async def test_the_address_that_was_checked_is_the_one_that_is_called() -> None:
    asked: list[str] = []

    def rebinds(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["93.184.216.34"] if len(asked) > 1 else ["127.0.0.1"]

    async with receiving(lambda _: 200) as receiver:
        named = receiver.url.replace("127.0.0.1", "receiver.example")
        async with OutboundClient(private=True, lookup=rebinds, total_s=PATIENCE_S) as out:
            assert (await out.post(named, {}, "{}")).status == 200
        assert asked == ["receiver.example"]
        local = (
            "127.0.0.1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "fe80::1%1",
            "fec0::2",
            "3fff::1",
            "192.0.0.8",
            "192.88.99.1",
        )
        for answers in (["93.184.216.34", "10.0.0.8"], *([address] for address in local)):
            known: Any = {"lookup": lambda *_, a=answers: a, "total_s": PATIENCE_S}
            async with OutboundClient(private=False, **known) as out:
                assert (await out.post(named, {}, "{}")).fault == "address_not_allowed"
        async with OutboundClient(private=False, total_s=PATIENCE_S) as out:
            for own in (receiver.url, "https://[::1]/", "https://169.254.169.254/latest"):
                assert (await out.post(own, {}, "{}")).fault == "address_not_allowed"
            # Other spellings of 127.0.0.1 are names to the connector, and are looked up.
            for spelt in ("http://2130706433/", "http://0x7f.1/", "http://127.1/"):
                fault = (await out.post(spelt, {}, "{}")).fault
                assert fault in ("address_not_allowed", "no_such_host", "no_http")
        assert len(receiver.got) == 1


async def test_names_that_nobody_answers_for_keep_no_other_work_waiting() -> None:
    answered, asked = threading.Event(), threading.Semaphore(0)
    threads = min(32, (os.cpu_count() or 1) + 4)  # of the loop's own

    def never(host: str, port: int) -> list[str]:
        asked.release()
        answered.wait(STUCK_S)
        raise OSError("no answer")

    faults: list[str | None] = []

    async def call(out: OutboundClient, n: int) -> None:
        faults.append((await out.post(f"https://n{n}.example.com/", {}, "{}")).fault)

    async with (
        OutboundClient(private=False, lookup=never, total_s=PATIENCE_S) as out,
        anyio.create_task_group() as group,
    ):
        for n in range(threads):
            group.start_soon(call, out, n)
        with anyio.fail_after(STUCK_S):
            for _ in range(threads):
                while not asked.acquire(blocking=False):
                    await anyio.sleep(0.01)
        try:
            with anyio.fail_after(STUCK_S):
                assert await asyncio.to_thread(len, "work") == 4
        finally:
            answered.set()
    assert faults == ["no_such_host"] * threads


def _row(
    kind: LedgerKind, by: Reporter, at: datetime, amount: str | None = None, **payload: Any
) -> NewEvent:
    money = None if amount is None else Usdc.parse(amount)
    return NewEvent(
        kind=kind, reported_by=by, occurred_at=at, amount_usdc=money, chain_id=CHAIN_ID, payload=payload
    )  # fmt: skip


async def append(deps: Deps, *rows: NewEvent) -> None:
    now = deps.clock.now()
    for row in rows:
        await deps.store.write(
            lambda uow, row=row: uow.ledger.append(  # type: ignore[misc]
                "m_aaaaaaaaaa", row, event_id=deps.ids.short("ev_"), now=now
            )
        )


async def test_ledger_rows_become_notices_once_over_a_change_of_process(store: Store) -> None:
    clock = Clock()
    deps = deps_of(store, clock)
    hook = await hooked(deps, "http://127.0.0.1:9/never")
    m = Mandate(
        public_id="m_aaaaaaaaaa",
        owner_id="u_owner",
        owner_address="0x" + "22" * 20,
        budget_usdc=Usdc.parse("500"),
        per_tx_cap_usdc=Usdc.parse("100"),
        daily_cap_usdc=Usdc.parse("100"),
        horizon_days=30,
        stop_floor_bps=2000,
        created_at=clock.at,
        status=Status.WORKING,
    )
    await store.write(lambda uow: uow.mandates.add(m))
    await store.write(lambda uow: uow.webhooks.save_cursor(""))
    executed = {"target": "0x" + "11" * 20, "selector": "0x6e553f65", "received": "0"}
    chain, at = Reporter.CHAIN, clock.at
    first = (
        _row(LedgerKind.DEPOSIT, chain, at, "500"),
        _row(LedgerKind.NOTE, Reporter.AGENT, at, why="nothing to tell"),
        _row(LedgerKind.MOVE, chain, at, "60", executed=executed | {"spent": "60"}),
        _row(LedgerKind.NOTE, chain, at, control={"what": "paused"}),
    )
    await append(deps, *first)
    await followed(deps, "p_1", until=4, webhook=hook)
    later = (
        _row(LedgerKind.MOVE, chain, at, "30", executed=executed | {"spent": "30"}),
        _row(LedgerKind.STOP, chain, at, reason="floor"),
        _row(LedgerKind.DEPOSIT, chain, at, "500", restates={"event_id": "ev_before", "moved": True}),
        _row(LedgerKind.RESOLVE, chain, at, "0", settled={"spent": "90", "returned": "80", "gain": "0", "agent_fee": "0"}),
    )  # fmt: skip
    await append(deps, *later)
    async with OutboundClient(private=True) as out:
        second = NotificationWorker(deps, LedgerFeed(store.url), out, "p_2")
        assert not await second.lead()  # the first has not given up
    clock.forward(seconds=LEASE_S + 1)
    await followed(deps, "p_2", until=7, webhook=hook)
    await store.write(lambda uow: uow.webhooks.save_cursor(""))
    clock.forward(seconds=LEASE_S + 1)
    await followed(deps, "p_1", until=7, webhook=hook)
    told = [(d["event"], json.loads(d["body"])["data"]) for d in await deliveries(deps, hook)]
    of_mandate = ["mandate.paused", "mandate.settled", "mandate.stop_line"]
    assert sorted(kind for kind, _ in told) == [*["cap.reached"] * 3, "deposit.seen", *of_mandate]
    reached = [(d["cap"], d["percent"]) for kind, d in told if kind == "cap.reached"]
    assert sorted(reached) == [("budget", 100), ("day", 50), ("day", 80)]


async def followed(deps: Deps, holder: str, *, until: int, webhook: dict[str, Any]) -> None:
    """Let one process read until so many notices are queued and its place is noted."""
    tail = LedgerFeed(deps.store.url)
    async with OutboundClient(private=True) as out, anyio.create_task_group() as group:
        notices = NotificationWorker(deps, tail, out, holder)
        assert await notices.lead()
        group.start_soon(tail.run, 5)
        group.start_soon(notices.follow)
        newest = await tail.newest()
        with anyio.fail_after(STUCK_S):
            while await deps.store.read(lambda uow: uow.webhooks.read_upto()) != newest:
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    assert len(await deliveries(deps, webhook)) == until


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/", "ftp://example.com/", "https://u:p@example.com/", "https://@example.com/",
        "https://example.com:22/", "https://example.com:0/", "https://example.com:99999/", "https://127.0.0.1/",
        "https://127.1/", "https://0177.0.0.1/", "https://1.0x7f000001/", "https://127.0.0x1./", "https://8.8.2056/", "https://a.example.10/", "https://1.0x/",
        "https://[::1]/", "https://[::ffff:10.0.0.1]/", "https://169.254.169.254/", "https://100.64.0.1/",
        "https://[64:ff9b::a00:1]/", "https://[64:ff9b:1::1]/", "https://[fec0::2]/", "https://[3fff::1]/", "https://localhost/", "https://x.localhost/", "https://db.internal/",
        "https://wallet.example/hook", "https://WALLET.example./hook", "https://example.com/#f", "https://example.com\\@x/",
        "https:///x", "https://ex\u0430mple.com/", "https://example.com/a b", "https://example.com/\u00e9", "x" * 501,
    ],
)  # fmt: skip
async def test_a_webhook_goes_to_the_public_internet_and_nowhere_else(
    store: Store, url: str
) -> None:
    deps = deps_of(store, Clock())
    config = replace(deps.config, webhook_allow_private=False, base_url="https://wallet.example")
    deps = replace(deps, config=config)
    told = await run(BY_NAME["owner_webhook_create"], deps, OWNER, {"url": url})
    assert (told.status, told.body["error"]) == (400, "invalid_request")


async def test_an_owner_has_a_few_webhooks_of_their_own_and_none_without_a_key(
    store: Store,
) -> None:
    deps = deps_of(store, Clock(), webhooks_per_owner=2)
    hook = await hooked(deps, "https://example.com/a", events=["mandate.settled"])
    await hooked(deps, "https://example.com/b")
    create, third_url = BY_NAME["owner_webhook_create"], {"url": "https://example.com/c"}
    third = await run(create, deps, OWNER, third_url)
    assert third.body["error"] == "rate_limited"
    assert (third.body["retry_safe"], "retry_at" in third.body) == (False, False)
    assert "Retry-After" not in third.headers
    routes = ["GET /wallet/webhooks", "DELETE /wallet/webhooks/{webhook_id}"]
    assert [s["route"] for s in third.body["next"]] == routes
    assert await notify(deps) == 1  # the other asked for nothing but the settlement
    asked = {"webhook_id": hook["webhook"]["webhook_id"]}
    stranger = replace(OWNER, user_id="u_other")
    for name in ("owner_webhook_remove", "owner_webhook_rotate", "owner_webhook_deliveries"):
        assert (await run(BY_NAME[name], deps, stranger, asked)).status == 404
    assert (await run(BY_NAME["owner_webhook_remove"], deps, OWNER, asked)).status == 200
    refused = await run(create, replace(deps, webhooks=None), OWNER, third_url)
    assert refused.body["error"] == "not_configured"


class RestoredTail(LedgerFeed):
    """The tail of a record that was restored to before what was read, on a database that is gone
    once.
    """

    asked = 0

    async def follow(self, cursor: str) -> AsyncIterator[Any]:
        raise UnknownCursor(cursor)
        yield

    async def newest(self) -> str:
        self.asked += 1
        if self.asked == 1:
            raise Unavailable("it cannot be reached")
        return ""


async def test_a_database_that_is_gone_while_reading_begins_anew_ends_no_process(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.keeper.notification_worker.LOOK_S", 0.01)
    deps, tail = deps_of(store, Clock()), RestoredTail(store.url)
    await store.write(lambda uow: uow.webhooks.save_cursor("9.gone"))
    async with OutboundClient(private=True) as outbound:
        running = asyncio.create_task(NotificationWorker(deps, tail, outbound, "p_1").run())
        with anyio.fail_after(STUCK_S):
            while await store.read(lambda uow: uow.webhooks.read_upto()) != "":
                assert not running.done()
                await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert tail.asked >= 2
