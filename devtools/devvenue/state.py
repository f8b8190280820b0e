"""The venue's state: its listing, its accounts, its clock and its counters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from eth_utils.crypto import keccak

from devtools.devvenue.accounts import Account, Nonces
from devtools.devvenue.decimals import ZERO
from devtools.devvenue.markets import Dex, Listing, Market, listing
from devtools.devvenue.records import Order

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
SEEDED_HOURS: Final = 48
FIRST_OID: Final = 77_738_308
FIRST_TID: Final = 118_906_512_037_719
IP_BUDGET: Final = 1_200


@dataclass(slots=True, kw_only=True)
class Rules:
    """Rules that a test may change; the defaults are what the venue page says."""

    ip_budget: int | None = IP_BUDGET
    request_buffer: int = 10_000
    strict_reduce_only: bool = False
    refuse_reused_agents: bool = True
    post_only_phase: bool = False
    extra_agents: int = 3
    removal_ms: int = 5_000
    taker: Decimal = Decimal("0.00045")
    maker: Decimal = Decimal("0.00015")


@dataclass(slots=True)
class State:
    """The venue's whole state. `now` answers milliseconds since the epoch."""

    now: Callable[[], int]
    mainnet: bool = False
    rules: Rules = field(default_factory=Rules)
    accounts: dict[str, Account] = field(default_factory=dict)
    agent_of: dict[str, str] = field(default_factory=dict)
    removed: dict[str, tuple[str, int]] = field(default_factory=dict)
    agents_ever: set[str] = field(default_factory=set)
    nonces: dict[str, Nonces] = field(default_factory=dict)
    funded_until: int = 0
    listed: Listing = field(init=False)
    markets: dict[str, Market] = field(init=False)
    by_asset: dict[int, Market] = field(init=False)
    dexes: dict[str, Dex] = field(init=False)
    _oid: int = FIRST_OID
    _tid: int = FIRST_TID

    def __post_init__(self) -> None:
        self.listed = listing(self.mainnet)
        self.markets = {m.coin: m for m in self.listed.markets}
        self.by_asset = {m.asset: m for m in self.listed.markets}
        self.dexes = {d.name: d for d in self.listed.dexes}
        self.funded_until = self.now() // HOUR_MS * HOUR_MS
        for market in self.listed.markets:
            for hours in range(SEEDED_HOURS, 0, -1):
                note_funding(market, self.funded_until - (hours - 1) * HOUR_MS)

    def of_dex(self, dex: str) -> Iterator[Market]:
        """The markets of a dex, in the order of its universe."""
        return (m for m in self.listed.markets if m.dex == dex)

    def collateral(self, dex: str) -> int:
        """The token a dex counts in."""
        return self.dexes[dex].collateral

    def account(self, address: str) -> Account | None:
        """The account of an address, if it has one."""
        return self.accounts.get(address.lower())

    def open_account(self, address: str) -> Account:
        """The account of an address, made where there is none."""
        key = address.lower()
        return self.accounts.setdefault(key, Account(address=key))

    def next_oid(self) -> int:
        """An order id, never used before."""
        self._oid += 1
        return self._oid

    def next_tid(self) -> int:
        """A trade id, never used before."""
        self._tid += 1
        return self._tid

    def hash_of(self, number: int) -> str:
        """A transaction hash: made up, but the same on every run."""
        return "0x" + keccak(text=f"devvenue {self.mainnet} {number}").hex()

    def open_interest(self, market: Market) -> Decimal:
        """The market's scripted open interest, and the accounts' long positions."""
        positions = (a.position(market.coin) for a in self.accounts.values())
        return market.open_interest + sum((size for size in positions if size > 0), ZERO)

    def end(self, order: Order, status: str) -> None:
        """Close an order with a status, and take it out of the book and of the open ones."""
        account = self.accounts[order.user]
        order.status, order.status_at, order.status_sz = status, self.now(), order.sz
        account.orders.pop(order.oid, None)
        side = self.markets[order.coin].book.side(order.is_buy)
        for entry in side.queues.get(order.px, ()):
            if entry.oid == order.oid:
                side.remove(entry)
                break


def note_funding(market: Market, at: int) -> None:
    """Append one hour to a market's funding history."""
    market.funding_rows.append(
        {"coin": market.coin, "fundingRate": market.funding, "premium": market.premium, "time": at}
    )
