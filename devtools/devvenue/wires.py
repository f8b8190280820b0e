"""Every action that the venue takes, in its canonical form: the order of the keys is hashed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    TypedDict,
    TypeGuard,
    final,
    get_args,
    get_type_hints,
)

from devtools.devvenue.refusals import Malformed
from devtools.devvenue.shapes import (
    Address,
    Cloid,
    Figure,
    FormReader,
    address,
    blank_or_address,
    only_true,
    reader_of,
    signed_integer,
    text,
)

Tif = Literal["Alo", "Ioc", "Gtc", "FrontendMarket"]
_OnlyTrue = Annotated[bool, only_true]


class _TifOnly(TypedDict):
    tif: Tif


@final
class Limit(TypedDict):
    """A limit order's type."""

    limit: _TifOnly


class _TriggerFields(TypedDict):
    isMarket: bool
    triggerPx: Figure
    tpsl: Literal["tp", "sl"]


@final
class Trigger(TypedDict):
    """The type of an order that waits."""

    trigger: _TriggerFields


_limit, _trigger = reader_of(Limit), reader_of(Trigger)


def _kind(value: object) -> Limit | Trigger:
    if not isinstance(value, dict) or len(value) != 1:
        raise Malformed
    return _limit(value) if "limit" in value else _trigger(value)


class Order(TypedDict):
    """One order of a batch."""

    a: int
    b: bool
    p: Figure
    s: Figure
    r: bool
    t: Annotated[Limit | Trigger, _kind]
    c: NotRequired[Cloid]


class _Builder(TypedDict):
    b: Address
    f: int


class _Priority(TypedDict):
    p: int


Grouping = Literal["na", "normalTpsl", "positionTpsl"] | _Priority


class PlaceOrders(TypedDict):
    """`order`."""

    type: Literal["order"]
    orders: list[Order]
    grouping: Grouping
    builder: NotRequired[_Builder]


class _ByOid(TypedDict):
    a: int
    o: int


class Cancel(TypedDict):
    """`cancel`."""

    type: Literal["cancel"]
    cancels: list[_ByOid]
    f: NotRequired[_OnlyTrue]


class _ByCloid(TypedDict):
    asset: int
    cloid: Cloid


class CancelByCloid(TypedDict):
    """`cancelByCloid`."""

    type: Literal["cancelByCloid"]
    cancels: list[_ByCloid]
    f: NotRequired[_OnlyTrue]


class _Modified(TypedDict):
    oid: int | Cloid
    order: Order


class Modify(TypedDict):
    """`modify`."""

    type: Literal["modify"]
    oid: int | Cloid
    order: Order
    a: NotRequired[_OnlyTrue]


class BatchModify(TypedDict):
    """`batchModify`."""

    type: Literal["batchModify"]
    modifies: list[_Modified]
    a: NotRequired[_OnlyTrue]


class UpdateLeverage(TypedDict):
    """`updateLeverage`."""

    type: Literal["updateLeverage"]
    asset: int
    isCross: bool
    leverage: int


class UpdateIsolatedMargin(TypedDict):
    """`updateIsolatedMargin`. Units: `ntli` in micros."""

    type: Literal["updateIsolatedMargin"]
    asset: int
    isBuy: bool
    ntli: Annotated[int, signed_integer]


class ScheduleCancel(TypedDict):
    """`scheduleCancel`. Units: ms."""

    type: Literal["scheduleCancel"]
    time: NotRequired[int]


class Noop(TypedDict):
    """`noop`."""

    type: Literal["noop"]


class SetReferrer(TypedDict):
    """`setReferrer`."""

    type: Literal["setReferrer"]
    code: str


class AgentSetAbstraction(TypedDict):
    """`agentSetAbstraction`."""

    type: Literal["agentSetAbstraction"]
    abstraction: Literal["i", "u", "p"]


class AgentSendAsset(TypedDict):
    """`agentSendAsset`."""

    type: Literal["agentSendAsset"]
    destination: Address
    sourceDex: str
    destinationDex: str
    token: str
    amount: Figure
    fromSubAccount: str
    nonce: int


# What a person signs as typed data: the class is called as its EIP-712 type, whose fields are those
# beside `type` and `signatureChainId`. An address is signed as a text unless it says otherwise.
_CHAIN_ID: Final = re.compile(r"0x[0-9a-fA-F]{1,16}")


def _chain_id(value: object) -> str:
    digits = text(value)
    if not _CHAIN_ID.fullmatch(digits):
        raise Malformed
    return digits


_Bytes20 = Annotated[str, address, "address"]


class _Signed(TypedDict):
    signatureChainId: Annotated[str, _chain_id]
    hyperliquidChain: Literal["Mainnet", "Testnet"]


class ApproveAgent(_Signed):
    """`approveAgent`."""

    type: Literal["approveAgent"]
    agentAddress: _Bytes20
    agentName: str
    nonce: int


class ApproveBuilderFee(_Signed):
    """`approveBuilderFee`."""

    type: Literal["approveBuilderFee"]
    maxFeeRate: str
    builder: _Bytes20
    nonce: int


class UserSetAbstraction(_Signed):
    """`userSetAbstraction`."""

    type: Literal["userSetAbstraction"]
    user: _Bytes20
    abstraction: str
    nonce: int


class UsdClassTransfer(_Signed):
    """`usdClassTransfer`."""

    type: Literal["usdClassTransfer"]
    amount: str
    toPerp: bool
    nonce: int


class SendAsset(_Signed):
    """`sendAsset`."""

    type: Literal["sendAsset"]
    destination: Address
    sourceDex: str
    destinationDex: str
    token: str
    amount: str
    fromSubAccount: Annotated[str, blank_or_address]
    nonce: int


class _Payment(_Signed):
    destination: Address
    amount: str
    time: int


class UsdSend(_Payment):
    """`usdSend`."""

    type: Literal["usdSend"]


class Withdraw(_Payment):
    """`withdraw3`."""

    type: Literal["withdraw3"]


L1Action = (
    PlaceOrders | Cancel | CancelByCloid | Modify | BatchModify | UpdateLeverage | ScheduleCancel
    | UpdateIsolatedMargin | Noop | SetReferrer | AgentSetAbstraction | AgentSendAsset
)  # fmt: skip
UserSigned = (
    ApproveAgent | ApproveBuilderFee | UserSetAbstraction | UsdClassTransfer | SendAsset | UsdSend
    | Withdraw
)  # fmt: skip
Action = L1Action | UserSigned


def name_of(form: type) -> str:
    """The name of an action on the wire."""
    (name,) = get_args(get_type_hints(form)["type"])
    return str(name)


USER_SIGNED: Final[Mapping[str, type]] = {name_of(form): form for form in get_args(UserSigned)}
_READERS: Final[Mapping[object, FormReader[Any]]] = {
    name_of(form): reader_of(form) for form in get_args(Action)
}


def read_action(body: object) -> Action:
    """An action in its canonical form. Errors: `Malformed`."""
    kind = body.get("type") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(kind, str) or kind not in _READERS:
        raise Malformed
    # An agent without a name takes the unnamed place, and that is signed as no text.
    unnamed = {"agentName": ""} if body.get("agentName") is None else {}
    action: Action = _READERS[kind](body | unnamed)
    return action


def user_signed(action: Action) -> TypeGuard[UserSigned]:
    """Whether it is signed as typed data by the account itself."""
    return action["type"] in USER_SIGNED
