"""Approvals of the builder fee, as a wallet reported them and as the venue confirmed them."""

from __future__ import annotations

from domain.trading.builder_fee import BuilderFeeRecord
from domain.trading.venue_values import Network
from storage.sql import Sql, columns, first, maybe_micros, maybe_moment, micros, moment


class BuilderFeeRepository:
    """Approvals of the builder fee, as told and as the venue confirmed them."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def put(self, record: BuilderFeeRecord) -> None:
        """Record an approval, or what the venue said of it now."""
        self._sql.run(
            "INSERT INTO venue_builder_fees "
            + columns(
                (
                    "network",
                    "wallet_lower",
                    "builder_lower",
                    "user_id",
                    "wallet",
                    "max_fee_rate",
                    "recorded_at",
                    "approved_tenths_bps",
                    "ever_approved",
                    "checked_at",
                )
            )
            + " ON CONFLICT (network, wallet_lower, builder_lower) "
            "DO UPDATE SET user_id = excluded.user_id, "
            "max_fee_rate = excluded.max_fee_rate, "
            "approved_tenths_bps = COALESCE(excluded.approved_tenths_bps, "
            "venue_builder_fees.approved_tenths_bps), "
            "ever_approved = CASE WHEN excluded.ever_approved = 1 THEN 1 "
            "ELSE venue_builder_fees.ever_approved END, "
            "checked_at = COALESCE(excluded.checked_at, venue_builder_fees.checked_at)",
            network=record.network,
            wallet_lower=record.wallet.lower(),
            builder_lower=record.builder.lower(),
            user_id=record.user_id,
            wallet=record.wallet,
            max_fee_rate=record.max_fee_rate,
            recorded_at=micros(record.recorded_at),
            approved_tenths_bps=record.approved_tenths_bps,
            ever_approved=int(record.ever_approved),
            checked_at=maybe_micros(record.checked_at),
        )

    def get(self, network: Network, wallet: str, builder: str) -> BuilderFeeRecord | None:
        """Return the approval of a wallet; None where none is stored."""
        row = first(
            self._sql,
            "SELECT * FROM venue_builder_fees WHERE network = :network "
            "AND wallet_lower = :wallet AND builder_lower = :builder",
            network=network,
            wallet=wallet.lower(),
            builder=builder.lower(),
        )
        if row is None:
            return None
        return BuilderFeeRecord(
            user_id=row["user_id"],
            network=row["network"],
            wallet=row["wallet"],
            builder=builder,
            max_fee_rate=row["max_fee_rate"],
            recorded_at=moment(row["recorded_at"]),
            approved_tenths_bps=row["approved_tenths_bps"],
            ever_approved=bool(row["ever_approved"]),
            checked_at=maybe_moment(row["checked_at"]),
        )

    def counts(
        self, network: Network, builder: str, enough_tenths_bps: int
    ) -> tuple[int, int, int]:
        """Recorded; verified by the venue last; approved once and not any more."""
        row = first(
            self._sql,
            "SELECT COUNT(*) AS recorded, "
            "COALESCE(SUM(CASE WHEN approved_tenths_bps >= :enough THEN 1 "
            "ELSE 0 END), 0) AS verified, "
            "COALESCE(SUM(CASE WHEN ever_approved = 1 AND approved_tenths_bps = 0 THEN 1 "
            "ELSE 0 END), 0) AS revoked "
            "FROM venue_builder_fees WHERE network = :network AND builder_lower = :builder",
            enough=enough_tenths_bps,
            network=network,
            builder=builder.lower(),
        )
        return (
            (int(row["recorded"]), int(row["verified"]), int(row["revoked"])) if row else (0, 0, 0)
        )
