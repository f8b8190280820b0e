"""THE catalogue: every operation of the service, once."""

from __future__ import annotations

from typing import Final

from tools import agents, approvals, calls, drafts, mandates, markets, reconcile, reports, settlement, signin, signing, statements
from tools.operation import Operation

OPERATIONS: Final[tuple[Operation, ...]] = (
    *signin.OPERATIONS,
    *agents.OPERATIONS,
    *markets.OPERATIONS,
    *drafts.OPERATIONS,
    *mandates.OPERATIONS,
    *signing.OPERATIONS,
    *calls.OPERATIONS,
    *reports.OPERATIONS,
    *approvals.OPERATIONS,
    *reconcile.OPERATIONS,
    *statements.OPERATIONS,
    *settlement.OPERATIONS,
)
