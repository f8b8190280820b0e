"""One transaction, and the repositories on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from storage.lazy_property import lazy_property
from storage.prefetch.write_counter import Counting
from storage.repositories.approvals import Approvals, Reservations
from storage.repositories.buffered_writes import BufferedWrites
from storage.repositories.chain_index import ChainIndex
from storage.repositories.deposit_addresses import Addresses
from storage.repositories.hall import Hall
from storage.repositories.identities import Identities
from storage.repositories.leases import Idempotency, Leases, SwitchRepository
from storage.repositories.ledger import Ledger
from storage.repositories.mandates import Mandates
from storage.repositories.order_limits import OrderCounters, OwnLimits
from storage.repositories.orders import Orders
from storage.repositories.paper_books import PaperBooks
from storage.repositories.policies import Policies
from storage.repositories.resync_progress import ResyncRepository
from storage.repositories.signer_nonces import SignerNonces
from storage.repositories.state_cache import StateCache
from storage.repositories.stop_line_state import VenueKeeping
from storage.repositories.stored_bytes import StoredDays
from storage.repositories.trade_permissions import (
    BuilderFees,
    LimitLog,
    TradeAllowlist,
    VenueWeights,
)
from storage.repositories.transfers import Transfers
from storage.repositories.vault_totals import VaultTotalsRepository
from storage.repositories.venue_accounts import VenueAccounts
from storage.repositories.webhooks import Webhooks
from storage.sql import Sql


class UnitOfWork:
    """What a handler works on; the store that made it commits, nobody else."""

    def __init__(self, sql: Sql, cache: StateCache):
        self.sql, self._cache = sql, cache

    @contextmanager
    def together(self) -> Iterator[UnitOfWork]:
        """The same transaction, for very many rows of few mandates: they are written together, and
        what was read under a mandate's lock is not asked for again.
        """
        sql = BufferedWrites(self.sql)
        yield UnitOfWork(sql, self._cache)
        sql.flush()
        # What this one knew of heads and versions has moved.
        for created in ("ledger", "mandates"):
            self.__dict__.pop(created, None)

    def counting(self) -> tuple[UnitOfWork, Counting]:
        """The same transaction, and what counts the bytes that are stored by it from now on."""
        sql = Counting(self.sql)
        return UnitOfWork(sql, self._cache), sql

    @lazy_property
    def mandates(self) -> Mandates:
        """Mandates."""
        return Mandates(self.sql, holds=isinstance(self.sql, BufferedWrites))

    @lazy_property
    def ledger(self) -> Ledger:
        """Ledger rows and their fold."""
        return Ledger(self.sql, self._cache)

    @lazy_property
    def identities(self) -> Identities:
        """People, agents, keys, sessions."""
        return Identities(self.sql)

    @lazy_property
    def approvals(self) -> Approvals:
        """Approval items."""
        return Approvals(self.sql)

    @lazy_property
    def reservations(self) -> Reservations:
        """Soft reservations."""
        return Reservations(self.sql)

    @lazy_property
    def idempotency(self) -> Idempotency:
        """Idempotency records."""
        return Idempotency(self.sql)

    @lazy_property
    def switches(self) -> SwitchRepository:
        """Switches."""
        return SwitchRepository(self.sql)

    @lazy_property
    def policies(self) -> Policies:
        """Agent policies."""
        return Policies(self.sql)

    @lazy_property
    def addresses(self) -> Addresses:
        """Deposit addresses and their proofs."""
        return Addresses(self.sql)

    @lazy_property
    def transfers(self) -> Transfers:
        """Transfer reports, balances."""
        return Transfers(self.sql)

    @lazy_property
    def chainlog(self) -> ChainIndex:
        """The chain reader's tables."""
        return ChainIndex(self.sql)

    @lazy_property
    def sums(self) -> VaultTotalsRepository:
        """Where the vaults' totals were those of their rows."""
        return VaultTotalsRepository(self.sql)

    @lazy_property
    def readings(self) -> ResyncRepository:
        """How far vaults were read again."""
        return ResyncRepository(self.sql)

    @lazy_property
    def hall(self) -> Hall:
        """The Hall's roll-ups."""
        return Hall(self.sql)

    @lazy_property
    def work(self) -> Leases:
        """Claims of keeper work."""
        return Leases(self.sql)

    @lazy_property
    def venue(self) -> VenueAccounts:
        """Links, keys and intents of own accounts at the venue."""
        return VenueAccounts(self.sql)

    @lazy_property
    def builder_fees(self) -> BuilderFees:
        """Approvals of the builder fee."""
        return BuilderFees(self.sql)

    @lazy_property
    def venue_weights(self) -> VenueWeights:
        """The venue's request budget."""
        return VenueWeights(self.sql)

    @lazy_property
    def allowlist(self) -> TradeAllowlist:
        """Who may trade live."""
        return TradeAllowlist(self.sql)

    @lazy_property
    def orders(self) -> Orders:
        """Orders and their fills."""
        return Orders(self.sql)

    @lazy_property
    def signer_nonces(self) -> SignerNonces:
        """Nonces of what wallets sign for the venue."""
        return SignerNonces(self.sql)

    @lazy_property
    def order_counters(self) -> OrderCounters:
        """What is ordered a day."""
        return OrderCounters(self.sql)

    @lazy_property
    def own_limits(self) -> OwnLimits:
        """People's own limits of orders."""
        return OwnLimits(self.sql)

    @lazy_property
    def limit_log(self) -> LimitLog:
        """Changes of who may trade live, and of how much."""
        return LimitLog(self.sql)

    @lazy_property
    def paper(self) -> PaperBooks:
        """Paper books."""
        return PaperBooks(self.sql, self._cache.accounts)

    @lazy_property
    def webhooks(self) -> Webhooks:
        """Webhooks of owners, and what is told to them."""
        return Webhooks(self.sql)

    @lazy_property
    def stored(self) -> StoredDays:
        """How much owners had stored."""
        return StoredDays(self.sql)

    @lazy_property
    def venue_keeping(self) -> VenueKeeping:
        """How the keeper stands with mandates at the venue."""
        return VenueKeeping(self.sql)
