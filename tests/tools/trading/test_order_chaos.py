"""People's orders beside a venue that lies, stalls and forgets, in a process that dies at any step: nothing is sent twice, nothing that is reserved is lost, and the record ends as the venue's own books."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from devtools.devvenue import VenueFault
from devtools.devvenue.accounts import Account
from domain.trading.orders import DONE, Order
from domain.trading.outcome import filled_size
from domain.trading.precision import notional
from tests.tools.trading.conftest import Desk, a_desk
from tests.tools.trading.mortal import Fate, Killed, process
from tests.tools.trading.orders import Trader, trader
from tools.model.operation import OperationResult
from tools.trading.orders.status_sync import sync_due_orders

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
SEED = int(os.environ.get("KEEPER_SEED", "1"))
RUNS = int(os.environ.get("KEEPER_RUNS", "300"))
ACTS = 7
STATUSES = ("response", "data", "statuses")
STATUS, ROW = ("order", "status"), ("order", "order")
POSITION = ("assetPositions", 0, "position")
# Answers in the venue's own forms that are not true: too much, less than before, the other side, a price that the limit
# does not allow, an order that is forgotten, a position that no fill explains, an account without its coin.
LIES: tuple[tuple[str, tuple[str | int, ...], Any], ...] = (
    ("order", STATUSES, [{"filled": {"totalSz": "10", "avgPx": "64000", "oid": 5}}]),
    ("order", STATUSES, [{"filled": {"totalSz": "0.00001", "avgPx": "64000", "oid": 5}}]),
    ("order", STATUSES, [{"filled": {"totalSz": "0.0001", "avgPx": "1", "oid": 5}}]),
    ("order", STATUSES, [{"resting": {"oid": 5}}]),
    ("order", STATUSES, [{"error": "Insufficient margin to place order. asset=0"}]),
    ("order", (), {"status": "err", "response": "Something else went wrong"}),
    ("cancelByCloid", STATUSES, ["success"]),
    ("cancelByCloid", STATUSES, [{"error": "Order was never placed, already canceled, or filled. asset=0"}]),
    ("orderStatus", (), {"status": "unknownOid"}),
    ("orderStatus", STATUS, "filled"),
    ("orderStatus", STATUS, "iocCancelRejected"),
    ("orderStatus", STATUS, "aWordOfNobody"),
    ("orderStatus", (*ROW, "sz"), "5"),
    ("orderStatus", (*ROW, "side"), "A"),
    ("orderStatus", (*ROW, "coin"), "ETH"),
    ("openOrders", (), []),
    ("userFillsByTime", (), []),
    ("userFillsByTime", (0, "sz"), "1000"),
    ("userFillsByTime", (0, "px"), "0.5"),
    ("userFillsByTime", (0, "fee"), "-9999"),
    ("userFillsByTime", (0, "side"), "A"),
    ("clearinghouseState", ("assetPositions",), []),
    ("clearinghouseState", (*POSITION, "szi"), "7"),
    ("clearinghouseState", (*POSITION, "szi"), "-0.01"),
    ("metaAndAssetCtxs", (1, 0, "markPx"), "99999999999999"),
    ("l2Book", ("levels", 0, 0, "px"), "-5"),
)  # fmt: skip
KINDS = tuple(sorted({kind for kind, _, _ in LIES}))
SILENT = ("status", "lost", "hang", "executed_hang", "executed_status", "truncated", "not_json", "frozen")  # fmt: skip


@dataclass
class Play:
    """One person, a venue, and what her browser does."""

    t: Trader
    rng: random.Random
    fate: Fate
    sent: Counter[str] = field(default_factory=Counter)
    by_browser: set[str] = field(default_factory=set)
    lied: set[str] = field(default_factory=set)

    @property
    def desk(self) -> Desk:
        return self.t.desk

    async def through(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Something that the service does, and may die of; None where it did."""
        whole = self.desk.deps
        self.desk.deps = process(whole, self.fate)
        try:
            return await work()
        except Killed:
            self.fate = Fate()
            return None
        finally:
            self.desk.deps = whole

    async def do(self, name: str, **request: Any) -> dict[str, Any] | None:
        """A call of hers; None where it was refused or never answered."""
        reply: OperationResult | None = await self.through(
            lambda: self.desk.do(name, self.t.caller, **request)
        )
        return None if reply is None or reply.refused else dict(reply.body)

    async def passes(self, seconds: float) -> None:
        """Time, with the tick that settles orders in it."""
        self.desk.clock.forward(seconds=seconds)
        self.desk.test.move("ETH", self.desk.test.market("ETH").mark)
        await self.through(lambda: sync_due_orders(self.desk.deps))

    # -- what she does

    async def prepared(self, **request: Any) -> dict[str, Any] | None:
        plain = {"product": "BTC", "side": "buy", "type": "market", "notional_usdc": "12"}
        return await self.do("order_prepare", **(plain | {"mode_seen": "live"} | request))

    async def sends(self, created: dict[str, Any] | None) -> None:
        if created is None:
            return
        body = {"confirm_id": created["confirm_id"], "signature": self.t.sign(created["to_sign"])}
        await self.do("order_execute", order_id=created["order"]["order_id"], **body)

    def posts(self, created: dict[str, Any] | None) -> None:
        """The browser sends the bytes by itself."""
        if created is None:
            return
        self.by_browser.add(created["order"]["cloid"])
        self.t.posts(created)

    async def buys(self) -> None:
        await self.sends(await self.prepared(slippage_bps=50))

    async def buys_what_is_there(self) -> None:
        """The book has less than is asked for."""
        made = await self.prepared(slippage_bps=50)
        mark = self.desk.test.market("BTC").mark
        self.desk.test.book("BTC", [(f"{mark - 10:f}", "9")], [(f"{mark:f}", "0.00005")])
        await self.sends(made)
        self.desk.test.move("BTC", f"{mark:f}")

    async def rests(self) -> None:
        asked = {"type": "limit", "tif": "gtc", "limit_px": "61000", "notional_usdc": None}
        await self.sends(await self.prepared(**asked, size="0.0002"))

    async def rests_in_part(self) -> None:
        """The book has a part of what is asked for, and the rest of it stands there."""
        mark = self.desk.test.market("BTC").mark
        asked = {"type": "limit", "tif": "gtc", "limit_px": f"{mark:f}", "notional_usdc": None}
        made = await self.prepared(**asked, size="0.0002")
        self.desk.test.book("BTC", [(f"{mark - 10:f}", "9")], [(f"{mark:f}", "0.00005")])
        await self.sends(made)
        self.desk.test.book("BTC", [(f"{mark - 10:f}", "9")], [(f"{mark + 10:f}", "9")])

    async def prices_anew(self) -> None:
        first = await self.prepared()
        await self.passes(self.rng.choice((1, 20, 90)))
        if first is None:
            return
        second = await self.do("order_open", order_id=first["order"]["order_id"])
        if self.rng.random() < 0.6:
            self.posts(first)
        if self.rng.random() < 0.3:
            self.posts(second)
        await self.sends(second)

    async def takes_back(self) -> None:
        made = await self.prepared()
        if made is None:
            return
        await self.do("order_cancel", order_id=made["order"]["order_id"])
        if self.rng.random() < 0.5:
            self.posts(made)

    async def lets_it_run_out(self) -> None:
        made = await self.prepared()
        if self.rng.random() < 0.5:
            self.posts(made)

    async def records(self) -> None:
        made = await self.prepared()
        if made is not None and self.rng.random() < 0.7:
            self.posts(made)
        if made is not None:
            claim = {"venue_response": {"filled": "all of it"}, "oid": 77}
            told = {"order_id": made["order"]["order_id"], "confirm_id": made["confirm_id"]}
            await self.do("order_record", **told, **claim)

    async def cancels(self) -> None:
        """Whatever rests on record."""
        for order in await orders_of(self.t):
            if order.status != "resting":
                continue
            asked = await self.do("order_cancel", order_id=order.order_id)
            if asked is not None and asked["to_sign"] is not None:
                body = {"confirm_id": asked["confirm_id"]}
                body["signature"] = self.t.sign(asked["to_sign"])  # type: ignore[assignment]
                await self.do("order_cancel", order_id=order.order_id, **body)

    async def is_met(self) -> None:
        """The market falls through what rests, and comes back."""
        self.desk.test.move("BTC", "60000")
        await self.passes(31)
        self.desk.test.move("BTC", "64000")

    async def closes(self) -> None:
        asked = await self.do("trade_close", product="BTC", mode_seen="live")
        if asked is not None:
            body = {"confirm_id": asked["confirm_id"], "signature": self.t.sign(asked["to_sign"])}
            await self.do("trade_close", product="BTC", mode_seen="live", **body)

    def faults(self) -> list[object]:
        """What goes wrong at the venue from now on; what it is, to be played again. One question is
        answered falsely at most four times in a row: five looks see the truth.
        """
        faults = self.desk.test.faults
        told: list[object] = []
        for kind, path, value in self.rng.sample(LIES, self.rng.randint(0, 3)):
            times = self.rng.randint(1, 4)
            if kind in self.lied:
                continue
            self.lied.add(kind)
            faults.add(
                VenueFault(effect="malformed", kind=kind, path=path, value=value, times=times)
            )
            told.append((kind, path, value, times))
        for _ in range(self.rng.randint(0, 2)):
            kind, effect = self.rng.choice(KINDS), self.rng.choice(SILENT)
            times = self.rng.randint(1, 3)
            if kind in self.lied:
                continue
            self.lied.add(kind)
            faults.add(VenueFault(effect=effect, kind=kind, times=times))  # type: ignore[arg-type]
            told.append((kind, effect, times))
        return told


async def orders_of(t: Trader) -> list[Order]:
    """Her live orders."""
    who = str(t.caller.user_id)
    found = await t.desk.store.read(lambda uow: uow.orders.live_of(who, None, 200))
    return [order for _, order in found]


def counted_posts(ingest_context: Desk, sent: Counter[str], by_browser: set[str]) -> None:
    """Count what the service itself sends, by the id of the order."""
    exchange = ingest_context.test.exchange

    def told(body: Any) -> Any:
        if body["action"]["type"] == "order":
            (order,) = body["action"]["orders"]
            sent[order["c"]] += 1
        return exchange(body)

    ingest_context.test.exchange = told  # type: ignore[method-assign]


def traded(account: Account) -> dict[str, Decimal]:
    """What each order traded by the venue's own books, by the id that it was sent with."""
    names = {row.oid: row.cloid or "" for row in account.history}
    found = {name: Decimal(0) for name in names.values()}
    for fill in account.fills:
        found[names[fill.order.oid]] += fill.sz
    return found


async def sound(play: Play) -> None:
    """What holds once the venue tells the truth again, and all bytes have ended."""
    t, desk = play.t, play.desk
    desk.test.faults.clear()
    for seconds in (1, 5, 31, *[61] * 16):
        desk.clock.forward(seconds=seconds)
        desk.test.move("ETH", desk.test.market("ETH").mark)
        await sync_due_orders(desk.deps)
    account = desk.test.account(t.person.wallet.address)
    on_record = {o.action.cloid for o in await orders_of(t) if o.status == "resting"}
    assert on_record == {o.cloid for o in account.orders.values()}, "what stands there rests here"
    # What traded of an order that stands is told with its end: its status has the size of before.
    play.fate = Fate()
    await play.cancels()
    for _ in range(3):
        desk.clock.forward(seconds=61)
        await sync_due_orders(desk.deps)
    true, standing = traded(account), {o.cloid for o in account.orders.values()}
    twice = [c for c, n in play.sent.items() if n - (c in play.by_browser) > 1]
    assert not twice, f"sent more than once: {twice}"
    orders = await orders_of(t)
    pricings = {o.order_id: [o.action, *o.former] for o in orders}
    known = {action.cloid for actions in pricings.values() for action in actions}
    assert set(true) <= known, "everything that was sent is on record"
    for order in orders:
        acted = [a for a in pricings[order.order_id] if true.get(a.cloid)]
        assert len(acted) <= 1, f"{order.order_id} traded twice"
        of = true.get(order.action.cloid, Decimal(0))
        assert not acted or acted[0] == order.action, f"{order.order_id} is of another pricing"
        assert (order.filled_size or 0) == of == filled_size(order.fills), describe(order, of)
        assert (order.status == "resting") is (order.action.cloid in standing), describe(order, of)
        assert order.status in DONE | {"resting"} or order.status == "recorded", describe(order, of)
        assert order.status != "recorded" or not of, describe(order, of)
        if order.counted_day is not None and order.status in DONE:
            at_limit = notional(of, order.action.limit_px)
            assert order.counted == min(order.notional, at_limit), describe(order, of)
    held = sum((filled_size(o.fills) * (1 if o.action.is_buy else -1) for o in orders), Decimal(0))
    assert held == Decimal(t.size()), "the position is what the fills come to"
    await counters_agree(desk, orders)


def describe(order: Order, traded: Decimal) -> str:
    short = replace(order, fills=())
    return f"{traded} traded at the venue; on record {short}"


async def counters_agree(ingest_context: Desk, orders: list[Order]) -> None:
    """The day is what its orders come to."""
    counted = [o for o in orders if o.counted_day is not None]
    used = sum(o.counted.micros for o in counted if o.status in DONE)
    reserved = sum(o.counted.micros for o in counted if o.status not in DONE)
    for row in await ingest_context.rows("order_counters"):
        assert (int(row["used_micros"]), int(row["reserved_micros"])) == (used, reserved), row


async def played(t: Trader, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - a seed that can be played again
    fate = Fate(rng.randint(1, 250), rng.random() < 0.5) if rng.random() < 0.7 else Fate()
    play = Play(t, rng, fate)
    counted_posts(t.desk, play.sent, play.by_browser)
    acts = (
        play.buys, play.buys_what_is_there, play.rests, play.rests_in_part, play.prices_anew, play.takes_back, play.lets_it_run_out,
        play.records, play.cancels, play.is_met, play.closes,
    )  # fmt: skip
    told: list[object] = []
    try:
        for _ in range(ACTS):
            act = rng.choice(acts)
            told.append((act.__name__, play.faults() if rng.random() < 0.6 else []))
            await act()
            await play.passes(rng.choice((2, 15, 31, 61, 130)))
        await sound(play)
    except AssertionError as error:
        raise AssertionError(f"KEEPER_SEED={seed} KEEPER_RUNS=1: {fate} {told}") from error


@asynccontextmanager
async def fresh(template: Path) -> AsyncIterator[Trader]:
    """A person who trades on a database of her own."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "wallet.sqlite"
        shutil.copyfile(template, path)
        async with a_desk(f"sqlite:///{path}", result_s=2) as desk:
            yield await trader(desk)


async def many(template: Path, seeds: range) -> None:
    for seed in seeds:
        async with fresh(template) as t:
            await played(t, seed)


async def killed_at(template: Path, at: int, *, after: bool) -> int:
    """One order of each kind by a process that dies at a step; how many steps there were."""
    async with fresh(template) as t:
        fate = Fate(at, after)
        play = Play(t, random.Random(7), fate)  # noqa: S311 - a seed that can be played again
        counted_posts(t.desk, play.sent, play.by_browser)
        for act in (play.buys, play.rests, play.prices_anew, play.cancels, play.closes):
            await act()
            await play.passes(31)
        try:
            await sound(play)
        except AssertionError as error:
            raise AssertionError(f"killed {'after' if after else 'before'} {at}") from error
        return fate.met


async def sweep(template: Path, every: int) -> None:
    steps = await killed_at(template, 0, after=False)
    assert steps > 60
    for at in range(1 + SEED % every, steps + 1, every):
        for after in (False, True):
            await killed_at(template, at, after=after)


async def test_whatever_the_venue_says_and_whenever_the_process_dies_the_record_ends_as_its_books(
    sqlite_template: Path,
) -> None:
    await many(sqlite_template, range(SEED, SEED + 6))


async def test_killed_at_a_step_of_an_order_the_next_process_ends_it(sqlite_template: Path) -> None:
    await sweep(sqlite_template, every=41)


@pytest.mark.campaign
async def test_orders_beside_a_lying_venue_for_long(sqlite_template: Path) -> None:
    await many(sqlite_template, range(SEED, SEED + RUNS))


@pytest.mark.campaign
async def test_an_order_killed_at_every_step(sqlite_template: Path) -> None:
    await sweep(sqlite_template, every=1)
