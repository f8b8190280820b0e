"""Response models of a call: decoded calldata and the checks on it."""

from __future__ import annotations

from pydantic import Field

from domain.mandates.mandate import Mandate
from domain.money import Usdc
from domain.ports import Chain
from domain.rules.mark_policy import RecordedValue
from domain.rules.revert_refusals import pulled
from domain.rules.rule import ActionRequest
from tools.model.operation import ResponseModel
from tools.model.shared_models import ExplainedCall


class DecodedCall(ResponseModel):
    """The decoded call; `market` and `label` are the mandate's entry."""

    target: str
    selector: str
    market: str | None
    label: str | None = Field(
        description="the service's own label; null for a call that it does not know"
    )
    call: ExplainedCall
    pulls_usdc: Usdc | None = Field(
        description="what the call pulls from the vault, where decoding shows it"
    )


def decoded_call(chain: Chain, mandate: Mandate, request: ActionRequest, data: str) -> DecodedCall:
    """An action in words: where it goes by the mandate's own entry, and what its calldata says."""
    entry = mandate.contract_target(request.target, request.selector)
    return DecodedCall(
        target=request.target,
        selector=request.selector,
        market=entry.market if entry else None,
        label=entry.label if entry else None,
        call=ExplainedCall.of(chain.explain_call(data)),
        pulls_usdc=pulled(data),
    )


class CheckDetail(ResponseModel):
    """The numbers of one check; those that it has."""

    status: str | None = None
    ends_at: str | None = None
    target: str | None = None
    selector: str | None = None
    argument: int | None = Field(
        default=None,
        description="the argument word, counted from 0, that has to be the vault's own address",
    )
    allowed: Usdc | None = None
    used: Usdc | None = None
    attempted: Usdc | None = None
    bound_by: str | None = None
    worth: Usdc | None = None
    floor: Usdc | None = None
    recorded_value_stale: RecordedValue | None = Field(
        default=None,
        description="of an exit: set while the record stands above the value now by more than a "
        "fair exit may lose",
    )


class CheckTold(ResponseModel):
    """One check: its clause, its code, whether it holds, and the numbers."""

    clause: int
    code: str
    ok: bool | None = Field(
        description="null where it could not be checked, because the vault could not be read now"
    )
    detail: CheckDetail
