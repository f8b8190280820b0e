"""Approvals of the builder fee, as a wallet reported them and as the venue confirmed them."""

from __future__ import annotations

from typing import Final

from domain.trading.builder_fee import BuilderFeeRecord
from domain.trading.venue_values import Network
from storage.codec import Table
from storage.sql import Repository, first

_FEES: Final = Table(
    "venue_builder_fees",
    BuilderFeeRecord,
    names={"builder": None},
    more=("wallet_lower", "builder_lower"),
)
_PUT: Final = (
    f"{_FEES.insert} ON CONFLICT (network, wallet_lower, builder_lower) DO UPDATE SET "
    "user_id = excluded.user_id, max_fee_rate = excluded.max_fee_rate, approved_tenths_bps = "
    "COALESCE(excluded.approved_tenths_bps, venue_builder_fees.approved_tenths_bps), "
    "ever_approved = CASE WHEN excluded.ever_approved = 1 THEN 1 "
    "ELSE venue_builder_fees.ever_approved END, "
    "checked_at = COALESCE(excluded.checked_at, venue_builder_fees.checked_at)"
)
_FEE_OF: Final = (
    "SELECT * FROM venue_builder_fees WHERE network = :network AND wallet_lower = :wallet "
    "AND builder_lower = :builder"
)
_COUNTS: Final = (
    "SELECT COUNT(*) AS recorded, "
    "COALESCE(SUM(CASE WHEN approved_tenths_bps >= :enough THEN 1 ELSE 0 END), 0) AS verified, "
    "COALESCE(SUM(CASE WHEN ever_approved = 1 AND approved_tenths_bps = 0 THEN 1 "
    "ELSE 0 END), 0) AS revoked "
    "FROM venue_builder_fees WHERE network = :network AND builder_lower = :builder"
)


class BuilderFeeRepository(Repository):
    """Approvals of the builder fee, as told and as the venue confirmed them."""

    def put(self, record: BuilderFeeRecord) -> None:
        """Record an approval, or what the venue said of it now."""
        lower = {"wallet_lower": record.wallet.lower(), "builder_lower": record.builder.lower()}
        self._sql.run(_PUT, **_FEES.row(record, **lower))

    def get(self, network: Network, wallet: str, builder: str) -> BuilderFeeRecord | None:
        """Return the approval of a wallet; None where none is stored."""
        lower = {"wallet": wallet.lower(), "builder": builder.lower()}
        row = first(self._sql, _FEE_OF, network=network, **lower)
        return None if row is None else _FEES.record(row, builder=builder)

    def counts(
        self, network: Network, builder: str, enough_tenths_bps: int
    ) -> tuple[int, int, int]:
        """Recorded; verified by the venue last; approved once and not any more."""
        values = {"network": network, "builder": builder.lower(), "enough": enough_tenths_bps}
        (row,) = self._sql.rows(_COUNTS, **values)
        return int(row["recorded"]), int(row["verified"]), int(row["revoked"])
