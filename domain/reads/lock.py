"""What withdrawAll would do now, and the vault's own state."""

from __future__ import annotations

from typing import Any

from domain.rules.case import Book
from domain.times import timestamp

_REASONS = {0: None, 1: "open_positions"}


def lock(book: Book) -> dict[str, Any]:
    """Shape `{withdrawable, reason, until, message}`; mirrors the vault's lockStatus (spec
    2.10).
    """
    chain = book.chain
    if book.mandate.vault_address is None:
        return {
            "withdrawable": False,
            "reason": "no_vault",
            "until": None,
            "message": "There is no vault yet.",
        }
    if chain is None or not chain.exists:
        message = "The vault was not read just now; nothing can be said about its lock."
        return {"withdrawable": None, "reason": "unknown", "until": None, "message": message}
    until = timestamp(chain.lock_until) if chain.lock_until and not chain.withdrawable else None
    if chain.withdrawable:
        message = "withdrawAll pays everything but the agent's earned fee to the owner, now."
    else:
        message = f"Open positions hold the withdrawal back until {until} at the latest; unwinding them lifts it sooner."
    return {
        "withdrawable": chain.withdrawable,
        "reason": None if chain.withdrawable else _REASONS.get(chain.lock_reason, "locked"),
        "until": until,
        "message": message,
    }


def chain_state(book: Book) -> dict[str, Any]:
    """Shape `{stopped, settled, agent, agent_known}` and how fresh it is."""
    chain = book.chain if book.chain is not None and book.chain.exists else None
    refreshed = book.mandate.refreshed_at
    return {
        "stopped": chain.stopped if chain else None,
        "settled": chain.settled if chain else None,
        "agent": chain.agent if chain else None,
        "agent_known": chain is not None,
        "paused": chain.paused if chain else None,
        "as_of_block": chain.block.number if chain else None,
        "as_of": timestamp(chain.block.at) if chain else None,
        "refreshed_at": timestamp(refreshed) if refreshed else None,
        "provisional": [dict(p) for p in book.provisional],
    }
