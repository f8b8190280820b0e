"""What each action must look like, read as the venue reads it: into fields, then written in order.

The venue parses a body into its own types and hashes those, not the text that was posted: keys in
another order, a price with trailing zeros or a checksummed address are taken, and hash as their
canonical form. A signature made over the other form therefore recovers a stranger's address.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from venue.devvenue.decimals import canonical, parse
from venue.devvenue.refusals import Malformed

Reader = Callable[[Any], Any]
Fields = list[tuple[str, Reader, bool]]
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")
_CLOID: Final = re.compile(r"0x[0-9a-fA-F]{32}")
MAX_U64: Final = 2**64 - 1


def integer(value: Any) -> int:
    """An unsigned 64-bit number."""
    if type(value) is not int or not 0 <= value <= MAX_U64:
        raise Malformed
    return value


def signed_integer(value: Any) -> int:
    """A signed 64-bit number."""
    if type(value) is not int or abs(value) > 2**63 - 1:
        raise Malformed
    return value


def boolean(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise Malformed
    return value


def text(value: Any) -> str:
    """Any text."""
    if not isinstance(value, str):
        raise Malformed
    return value


def decimal(value: Any) -> str:
    """A decimal string; its canonical form."""
    number = parse(value)
    if number is None:
        raise Malformed
    return canonical(number)


def address(value: Any) -> str:
    """Twenty bytes in hex; lower case."""
    if not isinstance(value, str) or not _ADDRESS.fullmatch(value):
        raise Malformed
    return value.lower()


def cloid(value: Any) -> str:
    """Sixteen bytes in hex; lower case."""
    if not isinstance(value, str) or not _CLOID.fullmatch(value):
        raise Malformed
    return value.lower()


def one_of(*allowed: str) -> Reader:
    """One of some words."""

    def read(value: Any) -> str:
        if value not in allowed:
            raise Malformed
        return str(value)

    return read


def many(reader: Reader) -> Reader:
    """A list of one kind."""

    def read(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise Malformed
        return [reader(item) for item in value]

    return read


def record(fields: Fields) -> Reader:
    """An object: known keys in this order, null as absent, unknown keys dropped, as serde does."""

    def read(value: Any) -> dict[str, object]:
        if not isinstance(value, dict):
            raise Malformed
        made: dict[str, object] = {}
        for key, reader, required in fields:
            given = value.get(key)
            if given is not None:
                made[key] = reader(given)
            elif required:
                raise Malformed
        return made

    return read


def either(*readers: Reader) -> Reader:
    """The first that fits."""

    def read(value: Any) -> Any:
        for reader in readers:
            try:
                return reader(value)
            except Malformed:
                continue
        raise Malformed

    return read


def _only_true(value: Any) -> bool:
    if value is not True:
        raise Malformed
    return True


def _kind(value: Any) -> dict[str, object]:
    if not isinstance(value, dict) or len(value) != 1:
        raise Malformed
    return dict(_LIMIT(value) if "limit" in value else _TRIGGER(value))


_TIF: Final = one_of("Alo", "Ioc", "Gtc", "FrontendMarket")
_LIMIT: Final = record([("limit", record([("tif", _TIF, True)]), True)])
_TRIGGER_FIELDS: Final[Fields] = [
    ("isMarket", boolean, True),
    ("triggerPx", decimal, True),
    ("tpsl", one_of("tp", "sl"), True),
]
_TRIGGER: Final = record([("trigger", record(_TRIGGER_FIELDS), True)])
_ORDER: Final = record(
    [
        ("a", integer, True),
        ("b", boolean, True),
        ("p", decimal, True),
        ("s", decimal, True),
        ("r", boolean, True),
        ("t", _kind, True),
        ("c", cloid, False),
    ]
)
_BUILDER: Final = record([("b", address, True), ("f", integer, True)])
_GROUPING: Final = either(
    one_of("na", "normalTpsl", "positionTpsl"), record([("p", integer, True)])
)
_OID: Final = either(integer, cloid)
_SEND: Final[Fields] = [
    ("destination", address, True),
    ("sourceDex", text, True),
    ("destinationDex", text, True),
    ("token", text, True),
    ("amount", decimal, True),
    ("fromSubAccount", text, True),
    ("nonce", integer, True),
]

L1: Final[dict[str, Fields]] = {
    "order": [
        ("orders", many(_ORDER), True),
        ("grouping", _GROUPING, True),
        ("builder", _BUILDER, False),
    ],
    "cancel": [
        ("cancels", many(record([("a", integer, True), ("o", integer, True)])), True),
        ("f", _only_true, False),
    ],
    "cancelByCloid": [
        ("cancels", many(record([("asset", integer, True), ("cloid", cloid, True)])), True),
        ("f", _only_true, False),
    ],
    "modify": [("oid", _OID, True), ("order", _ORDER, True), ("a", _only_true, False)],
    "batchModify": [
        ("modifies", many(record([("oid", _OID, True), ("order", _ORDER, True)])), True),
        ("a", _only_true, False),
    ],
    "updateLeverage": [
        ("asset", integer, True),
        ("isCross", boolean, True),
        ("leverage", integer, True),
    ],
    "updateIsolatedMargin": [
        ("asset", integer, True),
        ("isBuy", boolean, True),
        ("ntli", signed_integer, True),
    ],
    "scheduleCancel": [("time", integer, False)],
    "noop": [],
    "setReferrer": [("code", text, True)],
    "agentSetAbstraction": [("abstraction", one_of("i", "u", "p"), True)],
    "agentSendAsset": _SEND,
}

# Of each user-signed action: the name of its EIP-712 type, and the fields with their types.
Signed = tuple[str, list[tuple[str, str]], Fields]
_CHAIN: Final = ("hyperliquidChain", "string")


def _blank_or_address(value: Any) -> str:
    return "" if value == "" else address(value)


USER_SIGNED: Final[dict[str, Signed]] = {
    "approveAgent": (
        "ApproveAgent",
        [_CHAIN, ("agentAddress", "address"), ("agentName", "string"), ("nonce", "uint64")],
        [("agentAddress", address, True), ("agentName", text, False), ("nonce", integer, True)],
    ),
    "approveBuilderFee": (
        "ApproveBuilderFee",
        [_CHAIN, ("maxFeeRate", "string"), ("builder", "address"), ("nonce", "uint64")],
        [("maxFeeRate", text, True), ("builder", address, True), ("nonce", integer, True)],
    ),
    "userSetAbstraction": (
        "UserSetAbstraction",
        [_CHAIN, ("user", "address"), ("abstraction", "string"), ("nonce", "uint64")],
        [("user", address, True), ("abstraction", text, True), ("nonce", integer, True)],
    ),
    "usdClassTransfer": (
        "UsdClassTransfer",
        [_CHAIN, ("amount", "string"), ("toPerp", "bool"), ("nonce", "uint64")],
        [("amount", text, True), ("toPerp", boolean, True), ("nonce", integer, True)],
    ),
    "sendAsset": (
        "SendAsset",
        [
            _CHAIN,
            ("destination", "string"),
            ("sourceDex", "string"),
            ("destinationDex", "string"),
            ("token", "string"),
            ("amount", "string"),
            ("fromSubAccount", "string"),
            ("nonce", "uint64"),
        ],
        [
            ("destination", address, True),
            ("sourceDex", text, True),
            ("destinationDex", text, True),
            ("token", text, True),
            ("amount", text, True),
            ("fromSubAccount", _blank_or_address, True),
            ("nonce", integer, True),
        ],
    ),
    "usdSend": (
        "UsdSend",
        [_CHAIN, ("destination", "string"), ("amount", "string"), ("time", "uint64")],
        [("destination", address, True), ("amount", text, True), ("time", integer, True)],
    ),
    "withdraw3": (
        "Withdraw",
        [_CHAIN, ("destination", "string"), ("amount", "string"), ("time", "uint64")],
        [("destination", address, True), ("amount", text, True), ("time", integer, True)],
    ),
}
_CHAIN_ID: Final = re.compile(r"0x[0-9a-fA-F]{1,16}")


def l1_action(body: dict[str, object]) -> dict[str, object]:
    """An L1 action in its canonical form. Errors: `Malformed`."""
    kind = str(body["type"])
    return {"type": kind} | dict(record(L1[kind])(body))


def user_signed_action(body: dict[str, object]) -> dict[str, object]:
    """A user-signed action with the fields of its message. Errors: `Malformed`."""
    kind = str(body["type"])
    chain_id = text(body.get("signatureChainId"))
    if not _CHAIN_ID.fullmatch(chain_id):
        raise Malformed
    read = dict(record(USER_SIGNED[kind][2])(body))
    if kind == "approveAgent":
        read.setdefault("agentName", "")
    network = one_of("Mainnet", "Testnet")(body.get("hyperliquidChain"))
    return {"type": kind, "signatureChainId": chain_id, "hyperliquidChain": network} | read
