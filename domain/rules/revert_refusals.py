"""Refusals of a simulated call: the amount that it pulls, and the reason of its revert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Final

from domain.chain_facts import Revert
from domain.money import ZERO, Usdc
from domain.next_steps import OWNER, NextStep
from domain.refusals import REFUSALS, Refusal, refusal
from domain.rules.action_checks import CheckResult
from domain.rules.mark_policy import RecordedValue

# The vault's error for an action that the owner has to approve first: no reason to refuse it.
ASKS_THE_OWNER: Final = "ApprovalNeeded"

# deposit(uint256 assets, address receiver) of ERC-4626: the target pulls `assets` from the vault.
_DEPOSIT: Final = "0x6e553f65"
_WORD: Final = 64

# Fields of the vault's refusal sentence that a check which passed here has no value for.
_DEFAULT_FIELDS: Final = {"bound_by": "", "why": "is no call that the vault allows"}


def pulled(data: str) -> Usdc | None:
    """USDC that calldata of a known form pulls; None for any other form."""
    arguments = data[len(_DEPOSIT) :]
    if data[: len(_DEPOSIT)].lower() != _DEPOSIT or len(arguments) < 2 * _WORD:
        return None
    return Usdc(int(arguments[:_WORD], 16))


RECORD: Final = NextStep(
    "Record the value of the positions as it is now: sign and send the vault's record()",
    None,
    "GET /wallet/mandates/{public_id}/record-call",
    OWNER,
)


def reverts(
    revert: Revert | None,
    checks: Sequence[CheckResult] = (),
    *,
    pulls: Usdc | None = None,
    approved: Usdc = ZERO,
    next_steps: tuple[NextStep, ...] = (),
    stale: RecordedValue | None = None,
) -> Refusal:
    """The refusal of a call that the chain says would revert (contract 6); `next_steps` are those
    of `would_revert` where its own are not. `stale` is the record where that is what refuses: the
    same call may pass once the owner or the keeper has recorded the value now.

    Shapes: `detail.revert` {name, args}; `detail.pulls_usdc` where the calldata pulls more than is
    approved; `detail.recorded_value_stale` the record and the value now. The code is that of the
    vault's error where a refusal says it whole, else `would_revert`.
    """
    short = pulls is not None and pulls > approved
    body = None if revert is None else {"name": revert.name, "args": dict(revert.args)}
    raw: dict[str, object] = {"revert": body}
    if short:
        raw["pulls_usdc"] = str(pulls)
    if stale is not None:
        return _until_recorded(revert, checks, raw, stale)
    code = revert.code if revert is not None else None
    fields = _sentence_fields(code, checks)
    if code is not None and fields is not None and not short:
        return refusal(code, fields, detail=raw)
    reason = revert.name if revert is not None else "without a reason"
    if short:
        reason = f"it pulls {pulls} USDC, approve_amount is {approved}"
    return refusal("would_revert", why=reason, detail=raw, next=next_steps)


def _until_recorded(
    revert: Revert | None,
    checks: Sequence[CheckResult],
    detail: Mapping[str, object],
    stale: RecordedValue,
) -> Refusal:
    """The refusal of an exit that is fair by the value now and not by the record."""
    code = revert.code if revert is not None else None
    fields = _sentence_fields(code, checks)
    if code is None or fields is None:
        code = "would_revert"
        recorded, now = stale.recorded, stale.now
        fields = {"why": f"{recorded} USDC stands recorded for the positions, now it is {now}"}
    return refusal(
        code,
        fields,
        detail={**detail, "recorded_value_stale": stale.as_json()},
        next=(RECORD,),
        retry_safe=True,
        who_fixes="owner",
    )


def _sentence_fields(
    code: str | None, checks: Sequence[CheckResult]
) -> Mapping[str, object] | None:
    """The fields of a code's sentence, from its check; None where one is missing."""
    if code is None:
        return None
    values = next((dict(c.detail) for c in checks if c.code == code), {})
    values = {name: value for name, value in values.items() if value is not None} | _DEFAULT_FIELDS
    placeholders = {name for _, name, _, _ in Formatter().parse(REFUSALS[code].sentence) if name}
    return values if placeholders <= values.keys() else None
