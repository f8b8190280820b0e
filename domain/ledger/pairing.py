"""Which rows can be two tellings of one action."""

from __future__ import annotations

from typing import Any

from domain.ledger.events import Kind, Reporter
from domain.ledger.fold import ACTION_KINDS


def can_pair(kind: Kind, reporter: Reporter, payload: Any) -> bool:
    """True for a row that can be one half of a pair: an agent's action, or an executed call by the
    chain.
    """
    if reporter is Reporter.CHAIN:
        return kind is Kind.MOVE and ("executed" in payload or "unwound" in payload)
    return reporter is Reporter.AGENT and kind in ACTION_KINDS
