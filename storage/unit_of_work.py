"""One transaction, and the repositories on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from storage.counting import Counting
from storage.lazily import lazily
from storage.rows.addresses import Addresses
from storage.rows.approvals import Approvals, Reservations
from storage.rows.books import StateCache
from storage.rows.chainlog import ChainLog
from storage.rows.hall import Hall
from storage.rows.identities import Identities
from storage.rows.ledger import Ledger
from storage.rows.limits import OrderCounters, OwnLimits
from storage.rows.mandates import Mandates
from storage.rows.orders import Orders
from storage.rows.paper import PaperBooks
from storage.rows.policies import Policies
from storage.rows.readings import Readings
from storage.rows.signer_nonces import SignerNonces
from storage.rows.stored import StoredDays
from storage.rows.sums import Sums
from storage.rows.trading import BuilderFees, LimitLog, TradeAllowlist, VenueWeights
from storage.rows.transfers import Transfers
from storage.rows.venue import VenueAccounts
from storage.rows.venue_keeping import VenueKeeping
from storage.rows.webhooks import Webhooks
from storage.rows.work import Idempotency, SwitchRows, Work
from storage.sql import Sql
from storage.together import Together


class UnitOfWork:
    """What a handler works on; the store that made it commits, nobody else."""

    def __init__(self, sql: Sql, cache: StateCache):
        self.sql, self._cache = sql, cache

    @contextmanager
    def together(self) -> Iterator[UnitOfWork]:
        """The same transaction, for very many rows of few mandates: they are written together, and
        what was read under a mandate's lock is not asked for again.
        """
        sql = Together(self.sql)
        yield UnitOfWork(sql, self._cache)
        sql.written()
        # What this one knew of heads and versions has moved.
        for made in ("ledger", "mandates"):
            self.__dict__.pop(made, None)

    def counting(self) -> tuple[UnitOfWork, Counting]:
        """The same transaction, and what counts the bytes that are stored by it from now on."""
        sql = Counting(self.sql)
        return UnitOfWork(sql, self._cache), sql

    @lazily
    def mandates(self) -> Mandates:
        """Mandates."""
        return Mandates(self.sql, holds=isinstance(self.sql, Together))

    @lazily
    def ledger(self) -> Ledger:
        """Ledger rows and their fold."""
        return Ledger(self.sql, self._cache)

    @lazily
    def identities(self) -> Identities:
        """People, agents, keys, sessions."""
        return Identities(self.sql)

    @lazily
    def approvals(self) -> Approvals:
        """Approval items."""
        return Approvals(self.sql)

    @lazily
    def reservations(self) -> Reservations:
        """Soft reservations."""
        return Reservations(self.sql)

    @lazily
    def idempotency(self) -> Idempotency:
        """Idempotency records."""
        return Idempotency(self.sql)

    @lazily
    def switches(self) -> SwitchRows:
        """Switches."""
        return SwitchRows(self.sql)

    @lazily
    def policies(self) -> Policies:
        """Agent policies."""
        return Policies(self.sql)

    @lazily
    def addresses(self) -> Addresses:
        """Deposit addresses and their proofs."""
        return Addresses(self.sql)

    @lazily
    def transfers(self) -> Transfers:
        """Transfer reports, balances."""
        return Transfers(self.sql)

    @lazily
    def chainlog(self) -> ChainLog:
        """The chain reader's tables."""
        return ChainLog(self.sql)

    @lazily
    def sums(self) -> Sums:
        """Where the vaults' totals were those of their rows."""
        return Sums(self.sql)

    @lazily
    def readings(self) -> Readings:
        """How far vaults were read again."""
        return Readings(self.sql)

    @lazily
    def hall(self) -> Hall:
        """The Hall's roll-ups."""
        return Hall(self.sql)

    @lazily
    def work(self) -> Work:
        """Claims of keeper work."""
        return Work(self.sql)

    @lazily
    def venue(self) -> VenueAccounts:
        """Links, keys and intents of own accounts at the venue."""
        return VenueAccounts(self.sql)

    @lazily
    def builder_fees(self) -> BuilderFees:
        """Approvals of the builder fee."""
        return BuilderFees(self.sql)

    @lazily
    def venue_weights(self) -> VenueWeights:
        """The venue's request budget."""
        return VenueWeights(self.sql)

    @lazily
    def allowlist(self) -> TradeAllowlist:
        """Who may trade live."""
        return TradeAllowlist(self.sql)

    @lazily
    def orders(self) -> Orders:
        """Orders and their fills."""
        return Orders(self.sql)

    @lazily
    def signer_nonces(self) -> SignerNonces:
        """Nonces of what wallets sign for the venue."""
        return SignerNonces(self.sql)

    @lazily
    def order_counters(self) -> OrderCounters:
        """What is ordered a day."""
        return OrderCounters(self.sql)

    @lazily
    def own_limits(self) -> OwnLimits:
        """People's own limits of orders."""
        return OwnLimits(self.sql)

    @lazily
    def limit_log(self) -> LimitLog:
        """Changes of who may trade live, and of how much."""
        return LimitLog(self.sql)

    @lazily
    def paper(self) -> PaperBooks:
        """Paper books."""
        return PaperBooks(self.sql, self._cache.accounts)

    @lazily
    def webhooks(self) -> Webhooks:
        """Webhooks of owners, and what is told to them."""
        return Webhooks(self.sql)

    @lazily
    def stored(self) -> StoredDays:
        """How much owners had stored."""
        return StoredDays(self.sql)

    @lazily
    def venue_keeping(self) -> VenueKeeping:
        """How the keeper stands with mandates at the venue."""
        return VenueKeeping(self.sql)
