"""What is shown of a call: decoded, and as it was checked."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from domain.money import Usdc
from tools.call.operation import Gives


class ExplainedCall(Gives):
    """The calldata, decoded where the function is known."""

    selector: str | None
    function: str | None = None
    args: list[Any] | None = Field(
        default=None, description="the call's own arguments, integers as decimal text"
    )


class DecodedCall(Gives):
    """What is called; `market` and `label` are the mandate's entry."""

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


class CheckDetail(Gives):
    """The numbers of one check; those that it has."""

    status: str | None = None
    ends_at: str | None = None
    target: str | None = None
    selector: str | None = None
    allowed: Usdc | None = None
    used: Usdc | None = None
    attempted: Usdc | None = None
    bound_by: str | None = None
    worth: Usdc | None = None
    floor: Usdc | None = None


class CheckTold(Gives):
    """One check: its clause, its code, whether it holds, and the numbers."""

    clause: int
    code: str
    ok: bool
    detail: CheckDetail
