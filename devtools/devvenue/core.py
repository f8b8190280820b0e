"""The venue as an object: two questions that clients ask, and what a script may do to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Literal

from devtools.devvenue import events, exchange, info, settle
from devtools.devvenue.accounts import Account
from devtools.devvenue.agents import prune_agents
from devtools.devvenue.book import Level
from devtools.devvenue.faults import Faults
from devtools.devvenue.markets import Market
from devtools.devvenue.state import Rules, State

Number = Decimal | str | int


class DevVenue:
    """One network of the venue, in memory.

    Units: `now` answers milliseconds since the epoch, and is the only clock. Prices and sizes are
    decimal strings or Decimals. The same calls at the same times always lead to the same answers.
    """

    def __init__(
        self, now: Callable[[], int], *, mainnet: bool = False, rules: Rules | None = None
    ):
        self.state = State(now, mainnet, rules or Rules())
        self.faults = Faults()
        for market in self.state.markets.values():
            if market.open:
                events.move(self.state, market, market.mark)

    @property
    def rules(self) -> Rules:
        """The rules, which may also be changed while it runs."""
        return self.state.rules

    def info(self, body: object) -> object:
        """Answer `POST /info`. Errors: `Malformed`."""
        events.catch_up(self.state)
        return info.answer(self.state, body)

    def exchange(self, body: object) -> dict[str, object]:
        """Answer `POST /exchange`. Errors: `Malformed`."""
        events.catch_up(self.state)
        return exchange.handle(self.state, body)

    def market(self, coin: str) -> Market:
        """A market to look at or to set a switch of. Errors: KeyError."""
        return self.state.markets[coin]

    def account(self, user: str) -> Account:
        """An account to look at. Errors: KeyError."""
        return self.state.accounts[user.lower()]

    def deposit(self, user: str, amount: Number, dex: str = "") -> Account:
        """Give an address money on a dex or on `spot`, and an account with it."""
        return settle.deposit(self.state, user, Decimal(amount), dex)

    def abstraction(
        self, user: str, mode: Literal["disabled", "unifiedAccount", "portfolioMargin"]
    ) -> None:
        """Set an account's mode; what it has becomes its spot balance or comes back from it."""
        settle.set_mode(self.state, self.account(user), mode)

    def move(self, coin: str, mid: Number, size: Number | None = None) -> None:
        """Twenty levels a side around a price; mark and oracle go with it."""
        each = None if size is None else Decimal(size)
        events.move(self.state, self.market(coin), Decimal(mid), each)

    def book(
        self,
        coin: str,
        bids: Iterable[tuple[Number, Number]],
        asks: Iterable[tuple[Number, Number]],
    ) -> None:
        """Exactly these levels, also crossed ones or none."""
        events.set_book(self.state, self.market(coin), _levels(bids), _levels(asks))

    def prices(self, coin: str, mark: Number | None = None, oracle: Number | None = None) -> None:
        """Move the mark and the oracle alone."""
        prices = [None if px is None else Decimal(px) for px in (mark, oracle)]
        events.set_prices(self.state, self.market(coin), *prices)

    def funding(self, coin: str, rate: Number) -> None:
        """The rate that the next full hour is settled with."""
        self.market(coin).funding = Decimal(rate)

    def stale_book(self, coin: str, time: int | None) -> None:
        """Freeze the `time` of a book in the past; None lets it go on."""
        self.market(coin).book_time = time

    def halt(self, coin: str, *, delist: bool = False) -> None:
        """Stop a market, for good where it is delisted."""
        events.halt(self.state, self.market(coin), delist=delist)

    def resume(self, coin: str) -> None:
        """Trade a halted market again, around its mark."""
        market = self.market(coin)
        market.halted = False
        events.move(self.state, market, market.mark)

    def prune(self, user: str) -> None:
        """Let the venue look for expired agents of an account."""
        prune_agents(self.state, self.account(user))

    def catch_up(self) -> None:
        """Do what time has brought; each request does it too."""
        events.catch_up(self.state)


def _levels(rows: Iterable[tuple[Number, Number]]) -> list[Level]:
    return [(Decimal(px), Decimal(sz)) for px, sz in rows]
