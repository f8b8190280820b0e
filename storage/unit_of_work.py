"""One transaction, and the repositories on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from storage.lazy_property import lazy_property
from storage.prefetch.write_counter import WriteCounter
from storage.repositories.approvals import ApprovalRepository, ReservationRepository
from storage.repositories.buffered_writes import BufferedWrites
from storage.repositories.builder_fees import BuilderFeeRepository
from storage.repositories.chain_index import ChainIndexRepository
from storage.repositories.deposit_addresses import DepositAddressRepository
from storage.repositories.hall import HallRepository
from storage.repositories.idempotency import IdempotencyRepository
from storage.repositories.identities import Identities
from storage.repositories.leases import LeaseRepository
from storage.repositories.ledger import LedgerRepository
from storage.repositories.mandates import MandateRepository
from storage.repositories.order_limits import OrderCounterRepository, OwnLimitRepository
from storage.repositories.orders import OrderRepository
from storage.repositories.paper_books import PaperBookRepository
from storage.repositories.policies import PolicyRepository
from storage.repositories.resync_progress import ResyncRepository
from storage.repositories.signer_nonces import SignerNonceRepository
from storage.repositories.state_cache import StateCache
from storage.repositories.stop_line_state import StopLineStateRepository
from storage.repositories.stored_bytes import StoredBytesRepository
from storage.repositories.switches import SwitchRepository
from storage.repositories.trade_permissions import LimitLogRepository, TradeAllowlistRepository
from storage.repositories.transfers import TransferRepository
from storage.repositories.vault_totals import VaultTotalsRepository
from storage.repositories.venue_accounts import VenueAccountRepository
from storage.repositories.webhooks import WebhookRepository
from storage.repositories.weight_budget import VenueWeightRepository
from storage.sql import Sql


class UnitOfWork:
    """The repositories of one transaction; only the store that made it commits."""

    def __init__(self, sql: Sql, cache: StateCache):
        self.sql, self._cache = sql, cache

    @contextmanager
    def together(self) -> Iterator[UnitOfWork]:
        """This transaction, for very many rows of few mandates: they are written together, and
        what was read under a mandate's lock is not read again.
        """
        sql = BufferedWrites(self.sql)
        yield UnitOfWork(sql, self._cache)
        sql.flush()
        # What this one knew of heads and versions has moved.
        for created in ("ledger", "mandates"):
            self.__dict__.pop(created, None)

    def counting(self) -> tuple[UnitOfWork, WriteCounter]:
        """This transaction, with a counter of the bytes that are stored by it from now on."""
        sql = WriteCounter(self.sql)
        return UnitOfWork(sql, self._cache), sql

    @lazy_property
    def mandates(self) -> MandateRepository:
        """Mandates."""
        return MandateRepository(self.sql, holds=isinstance(self.sql, BufferedWrites))

    @lazy_property
    def ledger(self) -> LedgerRepository:
        """Ledger rows and their fold."""
        return LedgerRepository(self.sql, self._cache)

    @lazy_property
    def identities(self) -> Identities:
        """People, agents, keys, sessions."""
        return Identities(self.sql)

    @lazy_property
    def approvals(self) -> ApprovalRepository:
        """Approval items."""
        return ApprovalRepository(self.sql)

    @lazy_property
    def reservations(self) -> ReservationRepository:
        """Soft reservations."""
        return ReservationRepository(self.sql)

    @lazy_property
    def idempotency(self) -> IdempotencyRepository:
        """Idempotency records."""
        return IdempotencyRepository(self.sql)

    @lazy_property
    def switches(self) -> SwitchRepository:
        """Switches."""
        return SwitchRepository(self.sql)

    @lazy_property
    def policies(self) -> PolicyRepository:
        """Agent policies."""
        return PolicyRepository(self.sql)

    @lazy_property
    def addresses(self) -> DepositAddressRepository:
        """Deposit addresses and their proofs."""
        return DepositAddressRepository(self.sql)

    @lazy_property
    def transfers(self) -> TransferRepository:
        """Transfer reports, balances."""
        return TransferRepository(self.sql)

    @lazy_property
    def chainlog(self) -> ChainIndexRepository:
        """The chain reader's tables."""
        return ChainIndexRepository(self.sql)

    @lazy_property
    def sums(self) -> VaultTotalsRepository:
        """Comparison of the vaults' totals with those of their rows."""
        return VaultTotalsRepository(self.sql)

    @lazy_property
    def readings(self) -> ResyncRepository:
        """Progress of vaults that are read again."""
        return ResyncRepository(self.sql)

    @lazy_property
    def hall(self) -> HallRepository:
        """The Hall's roll-ups."""
        return HallRepository(self.sql)

    @lazy_property
    def work(self) -> LeaseRepository:
        """Claims of keeper work."""
        return LeaseRepository(self.sql)

    @lazy_property
    def venue(self) -> VenueAccountRepository:
        """Links, keys and intents of own accounts at the venue."""
        return VenueAccountRepository(self.sql)

    @lazy_property
    def builder_fees(self) -> BuilderFeeRepository:
        """Approvals of the builder fee."""
        return BuilderFeeRepository(self.sql)

    @lazy_property
    def venue_weights(self) -> VenueWeightRepository:
        """The venue's request budget."""
        return VenueWeightRepository(self.sql)

    @lazy_property
    def allowlist(self) -> TradeAllowlistRepository:
        """Permissions to trade live."""
        return TradeAllowlistRepository(self.sql)

    @lazy_property
    def orders(self) -> OrderRepository:
        """Orders and their fills."""
        return OrderRepository(self.sql)

    @lazy_property
    def signer_nonces(self) -> SignerNonceRepository:
        """Nonces of what wallets sign for the venue."""
        return SignerNonceRepository(self.sql)

    @lazy_property
    def order_counters(self) -> OrderCounterRepository:
        """Daily counters of orders."""
        return OrderCounterRepository(self.sql)

    @lazy_property
    def own_limits(self) -> OwnLimitRepository:
        """People's own limits of orders."""
        return OwnLimitRepository(self.sql)

    @lazy_property
    def limit_log(self) -> LimitLogRepository:
        """Changes of who may trade live, and of how much."""
        return LimitLogRepository(self.sql)

    @lazy_property
    def paper(self) -> PaperBookRepository:
        """Paper books."""
        return PaperBookRepository(self.sql, self._cache.accounts)

    @lazy_property
    def webhooks(self) -> WebhookRepository:
        """Webhooks of owners, and what is told to them."""
        return WebhookRepository(self.sql)

    @lazy_property
    def stored(self) -> StoredBytesRepository:
        """Bytes stored by owners."""
        return StoredBytesRepository(self.sql)

    @lazy_property
    def venue_keeping(self) -> StopLineStateRepository:
        """The keeper's state of mandates at the venue."""
        return StopLineStateRepository(self.sql)
