"""Response models that many operations share."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from domain.chain_facts import DecodedCalldata, Simulation
from domain.times import Timestamp
from tools.model.operation import ResponseModel


class RevertTold(ResponseModel):
    """The reason for which a call would revert: the Solidity error with its arguments, and the
    refusal code it stands for.
    """

    name: str = Field(description="the contract's own name for the error")
    args: dict[str, object] = Field(description="the contract's own words: the error's arguments")
    code: str | None


class Simulated(ResponseModel):
    """The result of an eth_call of the transaction at the newest block; `gas` in gas units."""

    ok: bool
    revert: RevertTold | None
    gas: int | None


def simulated(simulation: Simulation | None) -> Simulated | None:
    """A simulation as it is shown; None where the chain could not be asked."""
    if simulation is None:
        return None
    raw = simulation.revert
    revert = None
    if raw is not None:
        revert = RevertTold(name=raw.name, args=dict(raw.args), code=raw.code)
    return Simulated(ok=simulation.ok, revert=revert, gas=simulation.gas)


class ExplainedCall(ResponseModel):
    """The calldata, decoded where the function is known."""

    selector: str | None
    function: str | None = None
    args: list[object] | None = Field(
        default=None, description="the call's own arguments, integers as decimal text"
    )

    @classmethod
    def of(cls, decoded: DecodedCalldata) -> ExplainedCall:
        """Build the model; unknown parts are left out."""
        selector, function = decoded.selector, decoded.function
        if function is None:
            return cls(selector=selector)
        return cls(selector=selector, function=function, args=list(decoded.args or ()))


class CutBytes(ResponseModel):
    """The sizes in bytes of values that are not shown for their size."""

    was: int | None = Field(default=None, alias="from")
    to: int | None = None


class CutHashes(ResponseModel):
    """The SHA-256 of values that the log does not keep for their size."""

    was: str | None = Field(default=None, alias="from")
    to: str | None = None


OF_JSON: Final = "the owner's own words where the field holds JSON"


class FieldChange(ResponseModel):
    """A field's value before and after; amounts as 6-decimal text, JSON settings as given. A value
    that is too large is null, and `cut` gives its size; of one above 1 KiB the log keeps only that
    and its hash.
    """

    was: object = Field(alias="from", description=OF_JSON)
    to: object = Field(description=OF_JSON)
    cut: CutBytes | None = None
    sha256: CutHashes | None = Field(
        default=None, description="of the value as compact JSON in UTF-8"
    )


class PolicyChange(ResponseModel):
    """One save that changed something."""

    changed_at: Timestamp
    changes: dict[str, FieldChange]


class TypedField(ResponseModel):
    """A field of an EIP-712 type."""

    name: str = Field(description="the service's own name for it")
    type: str
