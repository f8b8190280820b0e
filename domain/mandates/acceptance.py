"""An agent's acceptance: the terms that it covers, and the changes that end it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import datetime
from typing import Final

from domain.mandates.mandate import Mandate
from domain.money import text

# All terms that an owner may write into a draft but its purpose (contract 3). An agent's wallet is
# not a term, labels and markets of a target are the service's.
_NUMBERS: Final = (
    "horizon_days", "stop_floor_bps", "target_bps", "payout_kind", "payout_bps", "on_floor",
    "chain_id", "agent_id",
)  # fmt: skip
_AMOUNTS: Final = ("budget_usdc", "per_tx_cap_usdc", "daily_cap_usdc", "approval_above_usdc")
_OF_THE_SERVICE: Final = frozenset({"label", "market"})


def accepted_terms(mandate: Mandate) -> str:
    """SHA-256 in hex over all terms but the purpose."""
    terms = {n: getattr(mandate, n) for n in _NUMBERS} | {
        n: text(getattr(mandate, n)) for n in _AMOUNTS
    }
    terms["allowed_targets"] = [
        {n: v for n, v in target.as_json().items() if n not in _OF_THE_SERVICE}
        for target in mandate.allowed_targets
    ]
    canonical = json.dumps(terms, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def record_acceptance(mandate: Mandate, at: datetime) -> Mandate:
    """The mandate with its terms as they are accepted."""
    return replace(mandate, accepted_at=at, accepted_digest=accepted_terms(mandate))


def revise(before: Mandate, after: Mandate) -> Mandate:
    """The mandate with other terms; an acceptance goes on only for those that were accepted."""
    if before.accepted_at is None:
        return after
    # Acceptances from before the digest are of the terms that stand.
    of = before.accepted_digest or accepted_terms(before)
    same = accepted_terms(after) == of
    return replace(
        after,
        accepted_at=before.accepted_at if same else None,
        accepted_digest=of if same else None,
    )
