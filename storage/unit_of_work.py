"""One transaction, and the repositories on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, get_type_hints

from storage.prefetch.write_counter import WriteCounter
from storage.repositories.approvals import ApprovalRepository, ReservationRepository
from storage.repositories.bills import BillRepository
from storage.repositories.buffered_writes import BufferedWrites
from storage.repositories.builder_fees import BuilderFeeRepository
from storage.repositories.chain_index import ChainIndexRepository
from storage.repositories.deposit_addresses import DepositAddressRepository
from storage.repositories.grants import GrantRepository
from storage.repositories.hall import HallRepository
from storage.repositories.idempotency import IdempotencyRepository
from storage.repositories.identities import Identities
from storage.repositories.leases import LeaseRepository
from storage.repositories.ledger import LedgerRepository
from storage.repositories.mandates import MandateRepository
from storage.repositories.mcp_places import McpPlaceRepository
from storage.repositories.notice_settings import NoticeSettingsRepository
from storage.repositories.order_limits import (
    OrderCounterRepository,
    OwnLimitRepository,
    SignerNonceRepository,
    VenueWeightRepository,
)
from storage.repositories.orders import OrderRepository
from storage.repositories.paper_books import PaperBookRepository
from storage.repositories.policies import PolicyRepository
from storage.repositories.rate_meters import RateMeterRepository
from storage.repositories.resync_progress import ResyncRepository
from storage.repositories.sent_calls import HostedKeyRepository, SentCallRepository
from storage.repositories.state_cache import StateCache
from storage.repositories.stop_line_state import StopLineStateRepository
from storage.repositories.stored_bytes import StoredBytesRepository
from storage.repositories.switches import SwitchRepository
from storage.repositories.trade_permissions import LimitLogRepository, TradeAllowlistRepository
from storage.repositories.transfers import TransferRepository
from storage.repositories.vault_totals import VaultTotalsRepository
from storage.repositories.venue_accounts import VenueAccountRepository
from storage.repositories.webhooks import WebhookRepository
from storage.sql import Sql


class UnitOfWork:
    """The repositories of one transaction, each made when it is first used; only the store that
    made the unit commits.
    """

    mandates: MandateRepository
    ledger: LedgerRepository
    identities: Identities
    grants: GrantRepository
    approvals: ApprovalRepository
    reservations: ReservationRepository
    sent_calls: SentCallRepository
    bills: BillRepository
    hosted_keys: HostedKeyRepository
    idempotency: IdempotencyRepository
    switches: SwitchRepository
    policies: PolicyRepository
    addresses: DepositAddressRepository
    transfers: TransferRepository
    chainlog: ChainIndexRepository
    sums: VaultTotalsRepository
    readings: ResyncRepository
    hall: HallRepository
    work: LeaseRepository
    venue: VenueAccountRepository
    builder_fees: BuilderFeeRepository
    venue_weights: VenueWeightRepository
    allowlist: TradeAllowlistRepository
    orders: OrderRepository
    signer_nonces: SignerNonceRepository
    order_counters: OrderCounterRepository
    own_limits: OwnLimitRepository
    limit_log: LimitLogRepository
    paper: PaperBookRepository
    webhooks: WebhookRepository
    notice_settings: NoticeSettingsRepository
    stored: StoredBytesRepository
    mcp: McpPlaceRepository
    rate_meters: RateMeterRepository
    venue_keeping: StopLineStateRepository

    def __init__(self, sql: Sql, cache: StateCache):
        self.sql, self._cache = sql, cache

    def __getattr__(self, name: str) -> object:
        make = _REPOSITORIES.get(name)
        if make is None:
            raise AttributeError(name)
        created = self.__dict__[name] = make(self.sql, self._cache)
        return created

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


def _on_rows(repository: Callable[[Sql], object]) -> Callable[[Sql, StateCache], object]:
    return lambda sql, cache: repository(sql)


_REPOSITORIES: Final[Mapping[str, Callable[[Sql, StateCache], object]]] = {
    **{name: _on_rows(repository) for name, repository in get_type_hints(UnitOfWork).items()},
    "ledger": LedgerRepository,
    "mandates": lambda sql, _: MandateRepository(sql, holds=isinstance(sql, BufferedWrites)),
    "paper": lambda sql, cache: PaperBookRepository(sql, cache.accounts),
}
