"""THE catalogue: every operation of the service, once."""

from __future__ import annotations

from typing import Final

from tools import (
    activity,
    agents,
    approvals,
    auctions,
    calls,
    deposits,
    drafts,
    execute,
    hall,
    mandates,
    markets,
    reconcile,
    reports,
    settlement,
    signin,
    signing,
    sponsorship,
    statements,
    transfers,
)
from tools.operation import Operation

OPERATIONS: Final[tuple[Operation, ...]] = (
    *signin.OPERATIONS,
    *agents.OPERATIONS,
    *activity.OPERATIONS,
    *transfers.OPERATIONS,
    *hall.OPERATIONS,
    *markets.OPERATIONS,
    *deposits.OPERATIONS,
    *drafts.OPERATIONS,
    *mandates.OPERATIONS,
    *signing.OPERATIONS,
    *execute.OPERATIONS,
    *calls.OPERATIONS,
    *reports.OPERATIONS,
    *approvals.OPERATIONS,
    *reconcile.OPERATIONS,
    *statements.OPERATIONS,
    *settlement.OPERATIONS,
    *auctions.OPERATIONS,
    *sponsorship.OPERATIONS,
)
