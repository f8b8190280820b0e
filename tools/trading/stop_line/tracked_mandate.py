"""Tracked mandate: one mandate on one network, by its rows and by the venue."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from domain.mandates.mandate import Mandate, Status
from domain.ports import Venue
from domain.refusals import Refused
from domain.rules.snapshot import MandateSnapshot
from domain.rules.stop_line import vault_worth
from domain.rules.valuation import floor_now
from domain.rules.venue_exposure import at_venue
from domain.settings import Switches
from domain.trading import stop_line as rules
from domain.trading.indices import dex_of
from domain.trading.orders import Order
from domain.trading.pricing import NoPrice, Quote, quote_of
from domain.trading.venue_account import AgentKey, Link, usable
from domain.trading.venue_values import VENUE, DexAccount, Network, Perp
from storage.unit_of_work import UnitOfWork
from tools.model.operation import Deps
from tools.model.switches import switches
from tools.trading.fields import venue_of
from tools.trading.orders.market_state import outage_reason

FLOOR: Final = "floor"  # the vault's own word for a stop at its line
# An account that the venue dates further away than this is no fresh answer.
FRESH: Final = timedelta(seconds=60)
MARKET_S: Final = 60
# Weight of what is asked, by the venue's own table.
ACCOUNT, BOOK, OPEN, MARKETS, STATUS, POST, SIGNER, FILLS = 2, 2, 20, 20, 2, 1, 2, 21


@dataclass(slots=True)
class DistanceMeter:
    """Weight that a round spent at the venue; what was cached counts as if it was asked."""

    spent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedMandate:
    """A mandate that asked to be closed at its line, and what is on record of it."""

    mandate: Mandate
    link: Link
    key: AgentKey | None
    keeping: rules.StopLineState | None
    orders: tuple[Order, ...]
    snapshot: MandateSnapshot
    now: datetime
    switches: Switches = field(default_factory=Switches)

    @property
    def id(self) -> tuple[str, Network]:
        """The identifier of the tracked mandate."""
        return self.mandate.public_id, self.link.network

    @property
    def ready(self) -> bool:
        """True where the keeper has a key that signs for it."""
        return usable(self.key, None, self.now)

    @property
    def episode(self) -> int:
        """The number of this attempt to close."""
        return 1 if self.keeping is None else self.keeping.episode

    @property
    def coins(self) -> frozenset[str]:
        """The products that its terms name; where they name every one, those of its orders too."""
        targets = self.mandate.allowed_targets
        entries = [t.symbols for t in targets if t.kind == "venue" and t.venue == VENUE]
        named = frozenset(symbol for symbols in entries for symbol in symbols)
        return named if all(entries) else named | {o.product for o in self.orders}

    @property
    def floored(self) -> bool:
        """True where the vault itself stopped at its line."""
        stopped = self.snapshot.measured.stopped
        return stopped is not None and stopped.reason == FLOOR


def load(uow: UnitOfWork, deps: Deps, public_id: str, network: Network) -> TrackedMandate | None:
    """The recorded state; None for a mandate that the keeper has nothing to do with (00.9)."""
    mandate = uow.mandates.get(public_id)
    if mandate is None or mandate.on_floor != "close" or mandate.signed is None:
        return None
    if mandate.status not in (Status.WORKING, Status.STOPPED) or not at_venue(mandate):
        return None
    link = uow.venue.link_of(mandate.owner_id, network)
    if link is None:
        return None
    now, on = deps.clock.now(), switches(uow, deps.defaults)
    return TrackedMandate(
        mandate=mandate,
        link=link,
        key=uow.venue.key_in_use(link.link_id, "keeper"),
        keeping=uow.venue_keeping.get(public_id, network),
        orders=tuple(uow.orders.live_of_mandate(public_id, network)),
        snapshot=MandateSnapshot(mandate, uow.ledger.state(public_id), now, deps.config, on),
        now=now,
        switches=on,
    )


def signer_terms(mandate: Mandate) -> dict[str, object]:
    """The terms as the signer wants to see them: as signed, with the entries behind their hash."""
    if mandate.signed is None:
        raise TypeError("terms that nobody signed are not shown to the signer")
    return {
        "message": dict(mandate.signed.message),
        "chain_id": mandate.signed.chain_id,
        "verifying_contract": mandate.signed.verifying_contract,
        "signature": mandate.signed.signature,
        "targets": [t.as_json() for t in mandate.allowed_targets],
    }


class VenueSnapshot:
    """The venue as one round sees it; every account is read anew, and its weight counted."""

    def __init__(self, deps: Deps, network: Network, meter: DistanceMeter):
        self._deps, self.meter = deps, meter
        self._listed: set[str] = set()
        self.venue: Venue = venue_of(deps, network)

    async def accounts(self, wallet: str, dexes: set[str]) -> list[DexAccount] | None:
        """An account on each dex, read now; None where one is not fresh."""
        accounts = []
        for dex in sorted(dexes):
            self.meter.spent += ACCOUNT
            cached = await self.venue.account(
                wallet, dex, priority="keeper", max_age_s=0, fresh=True
            )
            if cached.stale or abs(cached.value.at - self._deps.clock.now()) > FRESH:
                return None
            accounts.append(cached.value)
        return accounts

    async def perp(self, coin: str) -> Perp | None:
        """A product with its figures."""
        self.meter.spent += MARKETS if dex_of(coin) not in self._listed else 0
        self._listed.add(dex_of(coin))
        perps = await self.venue.perps(dex_of(coin), priority="keeper", max_age_s=MARKET_S)
        return next((p for p in perps.value if p.coin == coin), None)

    async def quote(self, coin: str) -> Quote | NoPrice:
        """The touch of a product now."""
        self.meter.spent += BOOK
        cached = await self.venue.book(coin, priority="keeper", max_age_s=1)
        return quote_of(cached.value, self._deps.clock.now())

    # -- what a decision rests on

    async def reading(self, w: TrackedMandate) -> rules.WorthReading | None:
        """The worth of a mandate, vault and venue together; None where a part is not known."""
        vault = vault_worth(w.snapshot)
        if vault is None or any(rules.delays_reading(o, w.now) for o in w.orders):
            return None
        own = {
            c: at for c, at in rules.own_positions(w.orders).items() if at != rules.OwnPosition()
        }
        if not own:
            return None
        accounts = await self.accounts(w.link.wallet, {dex_of(coin) for coin in own})
        if accounts is None:
            return None
        result = rules.result_micros(own, await self._marks(own, accounts))
        if result is None:
            return None
        at, floor = min(a.at for a in accounts), floor_now(w.snapshot).micros
        return rules.WorthReading(at=at, worth=vault + result, floor=floor)

    async def _marks(
        self, own: dict[str, rules.OwnPosition], accounts: list[DexAccount]
    ) -> dict[str, Decimal]:
        """The worth of one unit of each position: by the account, else by the mark price."""
        marks = {
            p.coin: p.value / abs(p.size)
            for account in accounts
            for p in account.positions
            if p.size and p.value is not None
        }
        for coin, position in own.items():
            if position.size and coin not in marks:
                # It was taken off past us, at a price that we did not see.
                perp = await self.perp(coin)
                if perp is not None and perp.mark_px is not None:
                    marks[coin] = perp.mark_px
        return marks

    async def positions_of(self, w: TrackedMandate) -> dict[str, Decimal] | None:
        """The account's positions in the mandate's products; None where one is not fresh."""
        scope = self._deps.config.trading.keeper_scope
        coins = w.coins if scope == "all" else w.coins & {o.product for o in w.orders}
        accounts = await self.accounts(w.link.wallet, {dex_of(coin) for coin in coins})
        if accounts is None:
            return None
        return {p.coin: p.size for a in accounts for p in a.positions if p.coin in w.coins}

    async def view(
        self,
        w: TrackedMandate,
        episode: int,
        open_: Collection[str] | None,
        positions: Mapping[str, Decimal] | None,
    ) -> rules.StopLineView:
        """The inputs of the next move, with the market of each position that is to be closed. A
        market that does not answer delays its own product alone.
        """
        scope, own = self._deps.config.trading.keeper_scope, rules.own_positions(w.orders)
        markets: dict[str, Perp] = {}
        quotes: dict[str, Quote | NoPrice] = {}
        for coin, size in sorted((positions or {}).items()):
            if not rules.closable(size, own.get(coin, rules.OwnPosition()).size, scope):
                continue
            try:
                perp = await self.perp(coin)
                if perp is not None:
                    markets[coin], quotes[coin] = perp, await self.quote(coin)
            except Refused as refused:
                quotes[coin] = NoPrice(outage_reason(refused))
        return rules.StopLineView(
            now=w.now,
            episode=episode,
            scope=scope,
            coins=w.coins,
            orders=w.orders,
            open=open_,
            positions=positions,
            markets=markets,
            quotes=quotes,
        )

    async def open(self, w: TrackedMandate) -> frozenset[str] | None:
        """The cloids that stand open where an order may, None where the venue does not say."""
        dexes = {dex_of(o.product) for o in w.orders if rules.may_stand(o, w.now)}
        cloids: set[str] = set()
        try:
            for dex in sorted(dexes):
                self.meter.spent += OPEN
                orders = await self.venue.open_orders(w.link.wallet, dex, priority="keeper")
                cloids |= {o.cloid for o in orders if o.cloid is not None}
        except Refused:
            return None
        return frozenset(cloids)
