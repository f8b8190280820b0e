"""The unwind window: the agent's right to unwind after the close, as the vault decides it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from domain.ledger.events.chain_events import STOP_REASONS
from domain.mandates.mandate import Status
from domain.refusals import Refusal, refusal
from domain.rules.snapshot import MandateSnapshot, moment

UNWIND_WINDOW: Final = timedelta(days=3)  # the vault's UNWIND_WINDOW


def closed(snapshot: MandateSnapshot) -> bool:
    """True where positions may be unwound: by the vault's state, else by the record."""
    mandate, vault = snapshot.mandate, snapshot.chain
    if vault is not None and vault.exists:
        return vault.stopped or vault.settled or mandate.ended(vault.block.at)
    return mandate.status in (Status.STOPPED, Status.SETTLED) or mandate.ended(snapshot.now)


def closed_at(snapshot: MandateSnapshot) -> datetime:
    """The time of the close: that of the stop's row, else the start of an open lock, else the end
    of the mandate; a stop without a row yet is as old as the newest block.
    """
    mandate, stop, vault = snapshot.mandate, snapshot.measured.stopped, snapshot.chain
    if stop is not None:
        return stop.at if mandate.ends_at is None else min(stop.at, mandate.ends_at)
    if vault is not None and vault.exists and vault.stopped:
        return vault.block.at if vault.lock_until is None else vault.lock_until - UNWIND_WINDOW
    return mandate.stopped_at or mandate.ends_at or moment(snapshot)


def agent_barred(snapshot: MandateSnapshot) -> Refusal | None:
    """The refusal that bars the agent from unwinding a closed vault; None where it may.

    After any close but a floor stop whose term says keep, the agent may unwind fairly for three
    days, unless it was revoked before the close: else its fee could be waited out.
    Source: chain.md, "Constants"; `MandateVault._mayUnwind`.
    """
    mandate, vault = snapshot.mandate, snapshot.chain
    if mandate.status is Status.SETTLED or (vault is not None and vault.settled):
        return refusal("mandate_stopped", detail={"why": "it is settled"})
    if _stopped_by(snapshot) == "floor" and mandate.on_floor == "keep":
        return refusal("mandate_stopped", detail={"why": "positions are kept for the owner"})
    # The agent that a stop itself takes away is no pause; one before it is.
    paused = mandate.paused or bool(snapshot.measured.paused)
    if paused or (vault is not None and vault.paused):
        return refusal("mandate_paused")
    if moment(snapshot) >= closed_at(snapshot) + UNWIND_WINDOW:
        action = "unwinding by its agent more than 3 days after the close"
        return refusal("wrong_status", status=mandate.status.value, action=action)
    return None


def _stopped_by(snapshot: MandateSnapshot) -> str | None:
    vault, stop = snapshot.chain, snapshot.measured.stopped
    if vault is not None and vault.exists and vault.stop_reason:
        return STOP_REASONS.get(vault.stop_reason)
    return stop.reason if stop is not None else None
