"""Mandates that hold something at the local venue, a signer that closes for them, and a keeper to watch."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from chain.contracts import eip712
from domain.ledger.events.event import LedgerKind, NewEvent, Reporter
from domain.mandates.mandate import Mandate, SignedTerms, Status
from domain.mandates.targets import Target
from domain.mandates.terms import typed_data
from domain.money import Usdc
from domain.trading.orders import Envelope, Order, OrderFill
from domain.trading.stop_line import StopLineState
from domain.trading.venue_account import milliseconds
from server.signer.client import SignerClient
from server.signer.daemon import Signer, listening
from server.venues import venues
from tests.tools.trading.conftest import PATIENCE_S, Clock, Desk, Person
from tests.trading_examples import an_order
from tools.trading.stop_line.keeper import RoundResult, StopLineKeeper
from venue import actions, signing
from venue.keystore import Keystore

TICK = timedelta(seconds=30)
ZERO_ = Decimal(0)


@dataclass
class Requests:
    """What the local venue was asked and told, in its order."""

    info: list[dict[str, Any]] = field(default_factory=list)
    exchange: list[dict[str, Any]] = field(default_factory=list)

    def sent(self, kind: str) -> list[dict[str, Any]]:
        return [a for a in self.exchange if a["type"] == kind]

    def closes(self) -> list[dict[str, Any]]:
        return [o for a in self.sent("order") for o in a["orders"]]


@dataclass
class Lines:
    """A desk with a signer and a keeper."""

    desk: Desk
    signer: SignerClient
    log: Requests
    keeper: StopLineKeeper
    keys: Path
    n: int = 0

    def another(self, holder: str) -> StopLineKeeper:
        """A process that has just started."""
        return StopLineKeeper(self.desk.deps, holder)

    async def tick(self, keeper: StopLineKeeper | None = None) -> RoundResult:
        self.desk.clock.at += TICK
        self.desk.test.move("ETH", self.desk.test.market("ETH").mark)  # time moves there too
        return await (keeper or self.keeper).round()

    async def ticks(self, times: int) -> None:
        for _ in range(times):
            await self.tick()

    async def state(self, mandate: Mandate) -> str | None:
        """The stop line's stored state of a mandate."""
        kept = await self.keeping(mandate)
        return None if kept is None else kept.state

    async def found(self, order: Order) -> Order:
        found = await self.desk.store.read(lambda uow: uow.orders.get(order.order_id))
        assert found is not None
        return found

    def switched(self, **values: bool) -> None:
        self.desk.switched(**values)
        self.keeper = StopLineKeeper(self.desk.deps, "one")

    async def person(self, **more: Any) -> Person:
        """Somebody who linked a wallet and approved the signer's key for it."""
        p = await self.desk.linked(**more)
        await self.keyed(p)
        return p

    async def keyed(self, p: Person, **changes: Any) -> None:
        agent = await self.signer.keeper_address("testnet", p.wallet.address)
        await self.desk.enabled(p, agent, kind="keeper", **changes)
        await self.desk.ok("own_enable_verify", p.caller)

    async def mandate(self, p: Person, *coins: str, **changes: Any) -> Mandate:
        """A working mandate over 500 USDC with its floor at 450, signed by its owner's wallet."""
        self.n += 1
        m = mandate_of(p, self.desk.deps.ids.short("m_"), coins or ("BTC",), **changes)
        now = self.desk.clock.now()
        paid = NewEvent(
            kind=LedgerKind.DEPOSIT, reported_by=Reporter.CHAIN, occurred_at=now, amount_usdc=m.budget_usdc, tx_hash=f"0x{self.n:064x}",
            chain_id=m.chain_id, log_index=0, block_number=5, payload={},
        )  # fmt: skip

        def work(uow: Any) -> None:
            uow.mandates.add(m)
            uow.ledger.append(m.public_id, paid, event_id=self.desk.deps.ids.short("ev_"), now=now)

        await self.desk.store.write(work)
        return m

    def trade(
        self,
        p: Person,
        coin: str,
        size: str,
        *,
        tif: actions.Tif = "Ioc",
        px: str | None = None,
        cloid: str | None = None,
    ) -> Any:
        """An order of the wallet itself at the venue; a negative size sells."""
        self.n += 1
        market, is_buy = self.desk.test.market(coin), not size.startswith("-")
        now = milliseconds(self.desk.clock.now()) + 50_000 + self.n
        made = actions.place([
            actions.order(
                asset=market.asset, is_buy=is_buy, price=Decimal(px) if px else far(market.mark, is_buy), size=abs(Decimal(size)),
                reduce_only=False, tif=tif, cloid=cloid or f"0x{self.n:032x}",
            )
        ])  # fmt: skip
        key = signing.key_from(bytes(p.wallet.key))
        signature = signing.sign(key, signing.l1_digest("testnet", signing.action_hash(made, now)))
        told = self.desk.test.exchange(
            {"action": dict(made), "nonce": now, "signature": signature.as_json()}
        )
        return told["response"]["data"]["statuses"][0]

    async def bought(
        self, p: Person, mandate: Mandate, coin: str = "BTC", size: str = "0.01"
    ) -> Order:
        """A position that an order of the mandate opened; a negative size is a short one."""
        told = self.trade(p, coin, size)["filled"]
        assert Decimal(told["totalSz"]) == abs(Decimal(size))
        px, filled = Decimal(told["avgPx"]), abs(Decimal(size))
        order = self.order(
            p,
            mandate,
            coin,
            size,
            f"0x{self.n:032x}",
            filled_size=filled,
            avg_px=px,
            fills_whole=True,
        )
        await self.filled(order, px, filled)
        return order

    async def filled(self, order: Order, px: Decimal, size: Decimal) -> None:
        """Put an order on record, with one fill."""
        fill = OrderFill(
            px=px, size=size, fee=ZERO_, builder_fee=ZERO_, closed_pnl=ZERO_, at=self.desk.clock.now(), tid=self.n
        )  # fmt: skip

        def work(uow: Any) -> None:
            uow.orders.add(order)
            uow.orders.add_fills(order.order_id, [fill])

        await self.desk.store.write(work)

    async def resting(
        self, p: Person, mandate: Mandate | None, coin: str, size: str, px: str
    ) -> Order:
        """An order that stands in the book; of nobody's mandate it is the owner's own affair."""
        told = self.trade(p, coin, size, tif="Gtc", px=px)
        assert "resting" in told, told
        envelope = Envelope(nonce=1, expires_after=milliseconds(self.desk.clock.now()) + 60_000)
        cloid = f"0x{self.n:032x}"
        order = self.order(
            p, mandate, coin, size, cloid, px=px, status="resting", envelope=envelope
        )
        await self.desk.store.write(lambda uow: uow.orders.add(order))
        return order

    def order(
        self, p: Person, mandate: Mandate | None, coin: str, size: str, cloid: str, **changes: Any
    ) -> Order:
        market = self.desk.test.market(coin)
        plain: dict[str, Any] = {
            "order_id": self.desk.deps.ids.short("o_"), "owner_id": str(p.caller.user_id), "wallet": p.wallet.address, "product": coin,
            "notional": Usdc(10**7), "mandate_id": mandate.public_id if mandate else None, "asset_id": market.asset,
            "limit_px": changes.pop("px", market.mark),
        }  # fmt: skip
        return an_order(size, cloid, self.desk.clock.now(), **plain | changes)

    def held(self, p: Person, coin: str = "BTC") -> Decimal:
        return Decimal(self.desk.test.account(p.wallet.address).position(coin))

    async def keeping(self, mandate: Mandate) -> StopLineState | None:
        return await self.desk.store.read(
            lambda uow: uow.venue_keeping.get(mandate.public_id, "testnet")
        )

    async def stored(self, mandate: Mandate) -> Mandate:
        found = await self.desk.store.read(lambda uow: uow.mandates.get(mandate.public_id))
        assert found is not None
        return found

    async def closes(self, mandate: Mandate) -> list[Order]:
        orders = await self.desk.store.read(
            lambda uow: uow.orders.live_of_mandate(mandate.public_id, "testnet")
        )
        return [o for o in orders if o.source == "keeper"]

    async def told(self, mandate: Mandate) -> list[tuple[str, str]]:
        """The keeper's rows in the ledger."""
        events = await self.desk.store.read(lambda uow: uow.ledger.newest(mandate.public_id))
        return [
            (e.kind.value, str(e.payload.get("text") or e.payload.get("reason")))
            for e in reversed(events)
            if e.reported_by is Reporter.KEEPER
        ]

    @contextmanager
    def only_shrinks(self, p: Person, *coins: str) -> Iterator[None]:
        """Watch the account at every trade: it comes nearer to nothing, and never changes its side."""
        was = {coin: self.held(p, coin) for coin in coins}
        exchange = self.desk.test.exchange

        def seen(body: Any) -> Any:
            answer = exchange(body)
            for coin in coins:
                now = self.held(p, coin)
                assert abs(now) <= abs(was[coin]), f"{coin} grew from {was[coin]} to {now}"
                assert now * was[coin] >= 0, f"{coin} was flipped from {was[coin]} to {now}"
                was[coin] = now
            return answer

        self.desk.test.exchange = seen  # type: ignore[method-assign]
        try:
            yield
        finally:
            self.desk.test.exchange = exchange  # type: ignore[method-assign]


def far(px: Decimal, is_buy: bool) -> Decimal:
    """A price that takes what is there."""
    moved = px * (Decimal("1.1") if is_buy else Decimal("0.9"))
    return Decimal(f"{moved:.4g}")


def mandate_of(
    p: Person, public_id: str, coins: tuple[str, ...], *, by: Any = None, **changes: Any
) -> Mandate:
    at_venue = Target(kind="venue", venue="hyperliquid", symbols=coins)
    targets = changes.get("allowed_targets") or (Target("vault"), Target("x402"), at_venue)
    on_floor = changes.get("on_floor", "close")
    message = {
        "publicId": public_id, "owner": p.wallet.address, "agent": "0x" + "ab" * 20, "budgetUsdc": "500000000", "perTxCap": "1", "dailyCap": "1",
        "stopFloor": "450000000", "stopFloorBps": "1000", "horizonDays": "30", "endsAt": "2000000000", "agentFeeBps": "0", "approvalAbove": "0",
        "onFloor": "1" if on_floor == "close" else "0", "allowedTargetsHash": "0x" + "00" * 32, "guardTargetsHash": eip712.guard_hash(targets),
        "issuedAt": "1", "nonce": "7",
    }  # fmt: skip
    contract = "0x" + "00" * 19 + "01"
    whole = typed_data(message, "2", 84532, contract)
    made = (by or p.wallet).sign_typed_data(full_message=whole)
    signature = "0x" + made.signature.hex().removeprefix("0x")
    signed = SignedTerms("2", message, 84532, contract, signature, "eoa", None)
    plain: dict[str, Any] = {
        "public_id": public_id, "owner_id": str(p.caller.user_id), "owner_address": p.wallet.address, "budget_usdc": Usdc.parse("500"),
        "horizon_days": 30, "stop_floor_bps": 1000, "created_at": Clock().at, "signed_at": Clock().at, "accepted_at": Clock().at,
        "allowed_targets": targets, "on_floor": "close", "status": Status.WORKING, "vault_address": "0x" + public_id.encode().hex()[:40].ljust(40, "0"),
        "signed": signed, "agent_id": "u_bbbbbbbbbb", "agent_address": "0x" + "ab" * 20, "daily_cap_usdc": Usdc.parse("500"), "per_tx_cap_usdc": Usdc.parse("500"),
    }  # fmt: skip
    return Mandate(**plain | changes)


@asynccontextmanager
async def lines_of(desk: Desk, folder: Path) -> AsyncIterator[Lines]:
    """A signer with its own user's socket beside a desk, with the dry run off."""
    seal = folder / "seal"
    seal.write_text("s" * 40)
    seal.chmod(0o600)
    # Its own client, its own caches and its own budget, as in its own process.
    from server.settings import Settings
    from venue.budget import InMemory

    urls = {f"venue_{n}_url": desk.networks.get(n).client.url for n in ("mainnet", "testnet")}  # type: ignore[arg-type]
    networks = venues(Settings(**urls, venue_timeout_s=PATIENCE_S), desk.clock, InMemory())
    keys = Keystore(folder / "keys", seal, desk.deps.ids.nonce256)
    signer = Signer(keys=keys, clock=desk.clock, venue=networks.get)
    log = Requests()
    noted(desk, log)
    async with listening(signer, folder / "s.sock", os.getuid()):
        line = SignerClient(folder / "s.sock")
        desk.deps = replace(desk.deps, signer=line)
        desk.switched(stop_line_dry_run=False)
        yield Lines(desk, line, log, StopLineKeeper(desk.deps, "one"), folder / "keys")
    await networks.close()


def noted(ingest_context: Desk, log: Requests) -> None:
    """Keep what the testnet is asked and told."""
    info, exchange = ingest_context.test.info, ingest_context.test.exchange

    def asked(body: Any) -> Any:
        log.info.append(dict(body))
        return info(body)

    def told(body: Any) -> Any:
        log.exchange.append(body["action"])
        return exchange(body)

    ingest_context.test.info = asked  # type: ignore[method-assign]
    ingest_context.test.exchange = told  # type: ignore[method-assign]
