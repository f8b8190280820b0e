"""Actions that the venue takes, in canonical form: the order of the keys is hashed.

The venue parses a body into its own types and hashes those, not the text that was posted: keys in
another order, a price with trailing zeros or a checksummed address are taken, and hash as their
canonical form. A signature made over the other form therefore recovers a stranger's address. Keys
that are null count as absent and unknown keys are dropped, as serde does.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)
from pydantic.alias_generators import to_camel

from devtools.devvenue.decimals import canonical, parse
from devtools.devvenue.refusals import Malformed


def _canonical(text: str) -> str:
    number = parse(text)
    if number is None:
        raise ValueError("not a plain decimal")
    return canonical(number)


Unsigned = Annotated[int, Field(ge=0, le=2**64 - 1)]
Figure = Annotated[str, AfterValidator(_canonical)]
Address = Annotated[str, StringConstraints(pattern=r"^0x[0-9a-fA-F]{40}$", to_lower=True)]
Cloid = Annotated[str, StringConstraints(pattern=r"^0x[0-9a-fA-F]{32}$", to_lower=True)]
# An agent without a name takes the unnamed place, and that is signed as no text.
_Name = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]


class _Form(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, alias_generator=to_camel)


class _Tif(_Form):
    tif: Literal["Alo", "Ioc", "Gtc", "FrontendMarket"]


class _Limit(_Form):
    limit: _Tif


class OrderWire(_Form):
    """One order of a batch."""

    a: Unsigned
    b: bool
    p: Figure
    s: Figure
    r: bool
    t: _Limit
    c: Cloid | None = None


class _Builder(_Form):
    b: Address
    f: Unsigned


class PlaceOrders(_Form):
    """`order`."""

    type: Literal["order"]
    orders: list[OrderWire]
    grouping: Literal["na"]
    builder: _Builder | None = None


class _ByOid(_Form):
    a: Unsigned
    o: Unsigned


class Cancel(_Form):
    """`cancel`."""

    type: Literal["cancel"]
    cancels: list[_ByOid]


class _ByCloid(_Form):
    asset: Unsigned
    cloid: Cloid


class CancelByCloid(_Form):
    """`cancelByCloid`."""

    type: Literal["cancelByCloid"]
    cancels: list[_ByCloid]


class UpdateLeverage(_Form):
    """`updateLeverage`."""

    type: Literal["updateLeverage"]
    asset: Unsigned
    is_cross: bool
    leverage: Unsigned


class Noop(_Form):
    """`noop`."""

    type: Literal["noop"]


class _Signed(_Form):
    """An action that a person signs as typed data."""

    signature_chain_id: Annotated[str, StringConstraints(pattern=r"^0x[0-9a-fA-F]{1,16}$")]
    hyperliquid_chain: Literal["Mainnet", "Testnet"]


class ApproveAgent(_Signed):
    """`approveAgent`."""

    type: Literal["approveAgent"]
    agent_address: Address
    agent_name: _Name = ""
    nonce: Unsigned


class ApproveBuilderFee(_Signed):
    """`approveBuilderFee`."""

    type: Literal["approveBuilderFee"]
    max_fee_rate: str
    builder: Address
    nonce: Unsigned


UserSigned = ApproveAgent | ApproveBuilderFee
Action = PlaceOrders | Cancel | CancelByCloid | UpdateLeverage | Noop | UserSigned


class Signature(_Form):
    """r and s in hex of up to 64 digits, and the parity."""

    r: Annotated[str, StringConstraints(pattern=r"^0x[0-9a-fA-F]{1,64}$")]
    s: Annotated[str, StringConstraints(pattern=r"^0x[0-9a-fA-F]{1,64}$")]
    v: Literal[27, 28]


class Envelope(_Form):
    """A body of `POST /exchange`."""

    action: Annotated[Action, Field(discriminator="type")]
    nonce: Unsigned
    signature: Signature
    vault_address: Address | None = None
    expires_after: Unsigned | None = None


_CLOID: Final[TypeAdapter[str]] = TypeAdapter(Cloid)


def read_envelope(body: object) -> Envelope:
    """A body in its canonical form. Errors: `Malformed`."""
    try:
        envelope = Envelope.model_validate(body)
    except ValidationError as error:
        raise Malformed from error
    if isinstance(envelope.action, UserSigned) and envelope.expires_after is not None:
        raise Malformed
    return envelope


def read_cloid(value: object) -> str:
    """Sixteen bytes in hex, lower case. Errors: `Malformed`."""
    try:
        return _CLOID.validate_python(value)
    except ValidationError as error:
        raise Malformed from error
