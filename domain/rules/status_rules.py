"""Rules about the state of the mandate: accepted, not stopped, not paused, not ended."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from domain.mandates.mandate import Status
from domain.rules.rule import JudgedRow, Numbers, RuleCheck
from domain.rules.snapshot import MandateSnapshot, moment
from domain.times import timestamp, written_time

CLOSED: Final = frozenset({Status.STOPPED, Status.SETTLED, Status.CANCELLED})
CLOCKS_APART: Final = timedelta(seconds=15)  # a block may be stamped before the hour it was made


def accepted(snapshot: MandateSnapshot, _: object) -> RuleCheck:
    """The agent has accepted."""
    return RuleCheck(snapshot.mandate.accepted_at is not None)


def not_stopped(snapshot: MandateSnapshot, _: object) -> RuleCheck:
    """Neither the record nor the vault has a stop."""
    status, chain = snapshot.mandate.status, snapshot.chain
    is_closed_on_chain = chain is not None and (chain.stopped or chain.settled)
    return RuleCheck(status not in CLOSED and not is_closed_on_chain, {"status": status.value})


def not_paused(snapshot: MandateSnapshot, _: object) -> RuleCheck:
    """Neither the record nor the vault has a pause."""
    chain = snapshot.chain
    is_paused_on_chain = chain is not None and chain.exists and chain.paused
    return RuleCheck(not (snapshot.mandate.paused or is_paused_on_chain))


def not_ended(snapshot: MandateSnapshot, _: object) -> RuleCheck:
    """The end has not come."""
    ends, has_ended = snapshot.mandate.ends_at, snapshot.mandate.ended(moment(snapshot))
    return RuleCheck(not has_ended, {"ends_at": written_time(ends) if ends else None})


def before_acceptance(judged: JudgedRow) -> Numbers | None:
    """A report before the acceptance, or an execution by the time of its block."""
    accepted = judged.snapshot.mandate.accepted_at
    if accepted is None or (judged.called and judged.at < accepted - CLOCKS_APART):
        return Numbers()
    return None


def reported_after_stop(judged: JudgedRow) -> Numbers | None:
    """A report on a closed mandate."""
    return _of_kind(judged) if judged.snapshot.mandate.status in CLOSED else None


def executed_after_stop(judged: JudgedRow) -> Numbers | None:
    """An execution after a stop that only the record has."""
    stopped = judged.snapshot.state.record_stop
    return _of_kind(judged) if stopped is not None and judged.at > stopped else None


def reported_while_paused(judged: JudgedRow) -> Numbers | None:
    """A report on a mandate that is paused, and not closed."""
    mandate = judged.snapshot.mandate
    return _of_kind(judged) if mandate.paused and mandate.status not in CLOSED else None


def _of_kind(judged: JudgedRow) -> Numbers:
    return Numbers(attempted=judged.event.kind.value)


def after_end(judged: JudgedRow) -> Numbers | None:
    """A report of an action after the end."""
    ends = judged.snapshot.mandate.ends_at
    if ends is None or judged.at < ends:
        return None
    return Numbers(timestamp(ends), None, timestamp(judged.at))
