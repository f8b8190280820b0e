"""Action checks: the vault's own rules, checked before gas is spent, and the service's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from domain.mandates.mandate import ClauseKey
from domain.money import ZERO, Usdc
from domain.refusals import Refusal, Refused
from domain.rules.caps import available_cash, daily_cap, day_used, per_tx_cap
from domain.rules.retry_times import earliest_possible
from domain.rules.rule import ActionRequest, Before, MandateRule
from domain.rules.rule_table import BARS, CHECKED, REFUSING
from domain.rules.snapshot import MandateSnapshot
from domain.times import Timestamp, timestamp

# What a check refuses an action with.
ACTION_CODES: Final = tuple(rule.refusal for rule in REFUSING)
_LEAST: Final = ActionRequest("", "", Usdc(1))  # what bars it bars every action that spends


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check: its clause, its code, whether it holds, and the numbers; `ok` is None where the
    vault was not read and only it can answer.
    """

    clause: ClauseKey
    code: str
    ok: bool | None
    detail: Mapping[str, object]
    refusal: Refusal | None = None


def action_checks(snapshot: MandateSnapshot, request: ActionRequest) -> list[CheckResult]:
    """Every check in a fixed order; the first that fails with a refusal is the refusal.

    The last, approval, refuses nothing: an action that does not pass it waits for the owner.
    Source: contract 6; equality passes (contract 5).
    """
    return [_result(snapshot, request, rule, before) for rule, before in CHECKED]


def _result(
    snapshot: MandateSnapshot, request: ActionRequest, rule: MandateRule, before: Before
) -> CheckResult:
    check, refused = before.check(snapshot, request), None
    if not (check.ok or before.waits):
        detail = {**check.detail, "clause": int(rule.clause)}
        if before.names_remaining:
            check = replace(check, remaining=remaining(snapshot).as_json())
        refused = check.refuse(rule.refusal, snapshot, detail)
    ok = None if check.ok and before.needs_vault and snapshot.unread else check.ok
    return CheckResult(rule.clause, rule.refusal, ok, check.detail, refused)


def refuse_barred(snapshot: MandateSnapshot) -> None:
    """Refuse what no action of the mandate is let do now. Errors: the first bar that holds."""
    for rule, before in BARS:
        check = before.check(snapshot, _LEAST)
        if not check.ok:
            detail = {**check.detail, "clause": int(rule.clause)}
            raise Refused(check.refuse(rule.refusal, snapshot, detail))


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """The clause that binds."""

    clause: int
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemainingNow:
    """The largest single action possible now, the clause that binds, and when time alone lifts it
    (null where time lifts nothing). `blocked_by` is the refusal that any action meets, such as
    `mandate_not_accepted` or `mandate_paused`; null where an amount is what binds.
    """

    value: Usdc
    binding: Binding
    blocked_by: str | None
    retry_at: Timestamp | None

    def as_json(self) -> dict[str, object]:
        """Shape `{value, binding, blocked_by, retry_at}`."""
        return {
            "value": str(self.value),
            "binding": {"clause": self.binding.clause, "key": self.binding.key},
            "blocked_by": self.blocked_by,
            "retry_at": None if self.retry_at is None else timestamp(self.retry_at),
        }


def remaining(snapshot: MandateSnapshot) -> RemainingNow:
    """min(per action, day left, cash left), or nothing where no action is possible (contract 5)."""
    amount, clause, blocked_by, retry_at = _remaining(snapshot)
    binding = Binding(clause=int(clause), key=clause.key)
    return RemainingNow(value=amount, binding=binding, blocked_by=blocked_by, retry_at=retry_at)


def _remaining(snapshot: MandateSnapshot) -> tuple[Usdc, ClauseKey, str | None, datetime | None]:
    for rule, before in BARS:
        if not before.check(snapshot, _LEAST).ok:
            return ZERO, rule.clause, rule.refusal, None
    amount, clause = _largest_amount(snapshot)
    if clause is ClauseKey.PER_ACTION:
        return amount, clause, None, None
    more = earliest_possible(snapshot, lambda c: _largest_amount(c)[0] > amount)
    return amount, clause, None, more


def _largest_amount(snapshot: MandateSnapshot) -> tuple[Usdc, ClauseKey]:
    """The largest amount that caps, day and cash take together, and the clause that binds it."""
    options = [
        (per_tx_cap(snapshot)[0], ClauseKey.PER_ACTION),
        (max(ZERO, daily_cap(snapshot) - day_used(snapshot)), ClauseKey.PER_DAY),
    ]
    free, _ = available_cash(snapshot)
    if free is not None:
        options.append((free, ClauseKey.BUDGET))
    return min(options)


def retry_after_decline(snapshot: MandateSnapshot, decided: datetime) -> datetime:
    """The time from which an action that the owner declined may be requested again."""
    return decided + timedelta(seconds=snapshot.config.declined_quiet_s)
