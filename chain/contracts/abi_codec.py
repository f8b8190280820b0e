"""ABI codec: calldata, logs and reverts of our contracts by their committed ABIs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final, TypeAlias

from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError, EncodingError
from eth_utils import keccak, to_checksum_address

from domain.chain_facts import DecodedCalldata, Revert, TransferLog
from domain.money import Usdc
from domain.refusals import REFUSALS, invalid
from domain.text import escape_unfit

# A value of any ABI type, as eth_abi has it or as it is shown; an artifact's JSON.
AbiValue: TypeAlias = Any
ERC20_TRANSFER_TOPIC: Final = "0x" + keccak(text="Transfer(address,address,uint256)").hex()
AUTHORIZATION_USED_TOPIC: Final = "0x" + keccak(text="AuthorizationUsed(address,bytes32)").hex()
HUB_EVENTS: Final = ("PurseFunded", "PurseDrained", "PurseVoided")
"""The logs of a hub of purses that are rows of the ledger."""
FLOOR_REASON: Final = 3
_AN_ADDRESS: Final = re.compile("0x[0-9a-f]{40}")
CACHE_SIZE: Final = 4_096
MAX_TEXT: Final = 1_024  # characters; a hostile target chooses how much data it reverts with

# What an error of our contracts means to a caller, where no refusal has its name (spec 2.5).
_MEANS: Final[Mapping[str, str]] = {
    "OverCash": "over_budget",
    "Locked": "withdraw_locked",
    "NotAgent": "mandate_paused",
    "MandateSettled": "mandate_stopped",
    "MandateActive": "wrong_status",
    "NotOwner": "forbidden",
    "NotAuthorized": "forbidden",
    "BadSignature": "invalid_signature",
}


@dataclass(frozen=True, slots=True)
class Item:
    """One function, event or error of an ABI; `selector` is the whole topic0 for an event."""

    name: str
    selector: bytes
    types: tuple[str, ...]
    names: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    indexed: tuple[bool, ...] = ()


def _type(entry: Mapping[str, AbiValue]) -> str:
    kind = str(entry["type"])
    if not kind.startswith("tuple"):
        return kind
    return "(" + ",".join(_type(c) for c in entry["components"]) + ")" + kind.removeprefix("tuple")


@cache
def artifact(contract: str) -> Mapping[str, AbiValue]:
    """The committed artifact: `{abi, bytecode, deployedBytecode, contract, source}`."""
    loaded: Mapping[str, AbiValue] = json.loads(
        files("chain.abi").joinpath(f"{contract}.json").read_text()
    )
    return loaded


@cache
def items(contract: str, kind: str) -> Mapping[str, Item]:
    """Functions, events or errors of a contract by name."""
    entries = {}
    for entry in artifact(contract)["abi"]:
        if entry["type"] != kind:
            continue
        types = tuple(_type(i) for i in entry["inputs"])
        signature_hash = keccak(text=f"{entry['name']}({','.join(types)})")
        entries[entry["name"]] = Item(
            entry["name"],
            signature_hash if kind == "event" else signature_hash[:4],
            types,
            tuple(i["name"] for i in entry["inputs"]),
            tuple(_type(o) for o in entry.get("outputs", ())),
            tuple(bool(i.get("indexed")) for i in entry["inputs"]),
        )
    return entries


def calldata(contract: str, function: str, args: Sequence[AbiValue]) -> str:
    """Encode a call; amounts as `Usdc` or int, addresses and bytes as 0x text or bytes. Errors:
    `invalid_request` where an argument does not fit its type.
    """
    item = items(contract, "function")[function]
    try:
        fitted = [_fitted(t, a) for t, a in zip(item.types, args, strict=True)]
        return "0x" + (item.selector + encode(item.types, fitted)).hex()
    except (EncodingError, ValueError, TypeError) as error:
        raise invalid(function, f"an argument does not fit: {type(error).__name__}") from None


def function_call(function: str, args: Sequence[AbiValue]) -> str:
    """Calldata of a function by its signature, such as `deposit(uint256,address)`, whose types are
    no tuples; amounts as `Usdc` or int, addresses as 0x text.
    """
    types = [t for t in function.partition("(")[2].removesuffix(")").split(",") if t]
    fitted = [_fitted(t, a) for t, a in zip(types, args, strict=True)]
    return "0x" + (keccak(text=function)[:4] + encode(types, fitted)).hex()


def _fitted(kind: str, value: AbiValue) -> AbiValue:
    if isinstance(value, Usdc):
        return value.micros
    if kind.startswith("bytes") and isinstance(value, str):
        return bytes.fromhex(value.removeprefix("0x"))
    return value


def outputs(contract: str, function: str, answer: bytes) -> tuple[AbiValue, ...]:
    """Decode the return data of a view function. Errors: DecodingError where the bytes do not fit
    the types.
    """
    return _decoded(items(contract, "function")[function].outputs, answer)


@cache
def struct_fields(contract: str, function: str) -> tuple[str, ...]:
    """Names of the fields of the struct that a view function returns last."""
    entry = next(e for e in artifact(contract)["abi"] if e.get("name") == function)
    return tuple(field["name"] for field in entry["outputs"][-1]["components"])


def _decoded(types: Sequence[str], data: bytes) -> tuple[AbiValue, ...]:
    """Decode; invalid UTF-8 raises DecodingError like every other mismatch. Solidity lets any bytes
    stand in a string: a stranger's log could otherwise stop the reader.
    """
    try:
        return decode(types, data)
    except (UnicodeDecodeError, OverflowError) as error:
        raise DecodingError(str(error)) from None


@lru_cache(CACHE_SIZE)
def checksummed(address: str) -> str:
    """The address with its checksum (EIP-55); cached, because logs repeat few addresses."""
    return str(to_checksum_address(address))


def _to_display(kind: str, value: AbiValue) -> AbiValue:
    if kind == "address":
        return checksummed(value)
    if isinstance(value, bytes):
        return "0x" + value.hex()
    return list(value) if isinstance(value, tuple) else value


@cache
def _events(contract: str) -> Mapping[bytes, Item]:
    return {e.selector: e for e in items(contract, "event").values()}


def event_topics(contract: str) -> tuple[str, ...]:
    """topic0 of every event of a contract, 0x hex."""
    return tuple("0x" + t.hex() for t in _events(contract))


def hub_topics() -> tuple[str, ...]:
    """topic0 of the `HUB_EVENTS`, 0x hex."""
    return tuple("0x" + items("PurseHub", "event")[n].selector.hex() for n in HUB_EVENTS)


def authorization_used(topics: Sequence[bytes]) -> tuple[str, str] | None:
    """(payer, nonce) of the log by which USDC tells that a signed transfer was made (EIP-3009);
    None for any other.
    """
    if len(topics) != 3 or "0x" + bytes(topics[0]).hex() != AUTHORIZATION_USED_TOPIC:
        return None
    return checksummed("0x" + bytes(topics[1])[-20:].hex()), "0x" + bytes(topics[2]).hex()


def decode_log(
    contract: str, topics: Sequence[bytes], data: bytes
) -> tuple[str, dict[str, AbiValue]] | None:
    """Name and arguments of a log; None where it is no event of the contract or is malformed."""
    item = _events(contract).get(bytes(topics[0])) if topics else None
    if item is None or len(topics) - 1 != sum(item.indexed):
        return None
    unindexed = [t for t, indexed in zip(item.types, item.indexed, strict=True) if not indexed]
    try:
        data_values = iter(_decoded(unindexed, data))
        topic_values = iter(topics[1:])
        values = [
            _decoded_topic(t, bytes(next(topic_values))[:32])
            if indexed
            else _to_display(t, next(data_values))
            for t, indexed in zip(item.types, item.indexed, strict=True)
        ]
    except DecodingError:
        return None
    return item.name, dict(zip(item.names, values, strict=True))


@lru_cache(CACHE_SIZE)
def _decoded_topic(kind: str, topic: bytes) -> AbiValue:
    """The value of an indexed argument; cached, because the logs of one vault repeat few values."""
    return _to_display(kind, _decoded([kind], topic)[0])


@cache
def _errors() -> Mapping[bytes, Item]:
    errors = (
        *items("MandateVault", "error").values(),
        *items("MandateVaultFactory", "error").values(),
    )
    return {e.selector: e for e in errors}


def refusal_of(error: str) -> str | None:
    """The code of the refusal that an error of our contracts is; None where it is none."""
    code = _MEANS.get(error) or re.sub("(?<!^)(?=[A-Z])", "_", error).lower()
    return code if code in REFUSALS else None


def decode_revert(data: bytes) -> Revert:
    """Decode a revert's return data; an unknown error is returned with its bytes. Never raises."""
    if data[:4] == bytes.fromhex("08c379a0"):
        return Revert("Error", {"message": _text(data)}, None)
    if data[:4] == bytes.fromhex("4e487b71") and len(data) == 36:
        return Revert("Panic", {"code": int.from_bytes(data[4:], "big")}, None)
    item = _errors().get(data[:4])
    if item is None:
        return Revert("Unknown", {"data": "0x" + data[:68].hex()}, None)
    try:
        values = _decoded(item.types, data[4:])
    except DecodingError:
        return Revert("Unknown", {"data": "0x" + data[:68].hex()}, None)
    args = {
        n: _truncate(_to_display(t, v))
        for n, t, v in zip(item.names, item.types, values, strict=True)
    }
    code = refusal_of(item.name)
    if item.name == "MandateStopped" and args.get("reason") == FLOOR_REASON:
        code = "below_stop_line"
    return Revert(item.name, args, code)


def _truncate(value: AbiValue) -> AbiValue:
    return value[:MAX_TEXT] if isinstance(value, str) else value


def _text(data: bytes) -> str:
    try:
        reason = bytes(_decoded(["bytes"], data[4:])[0]).decode(errors="replace")[:200]
        return escape_unfit(reason)[:200]  # whoever wrote the contract chose it
    except DecodingError:
        return ""


def transfer_log(
    address: str, topics: Sequence[bytes], data: bytes, log_index: int
) -> TransferLog | None:
    """Decode an ERC-20 Transfer log; None for any other: ERC-721's has a fourth topic."""
    if len(topics) != 3 or "0x" + bytes(topics[0]).hex() != ERC20_TRANSFER_TOPIC or len(data) != 32:
        return None
    sender, recipient = (to_checksum_address(bytes(t)[-20:]) for t in topics[1:])
    return TransferLog(
        to_checksum_address(address), sender, recipient, int.from_bytes(data, "big"), log_index
    )


_KNOWN_SIGNATURES: Final = (
    "deposit(uint256,address)",
    "mint(uint256,address)",
    "withdraw(uint256,address,address)",
    "redeem(uint256,address,address)",
    "transfer(address,uint256)",
    "approve(address,uint256)",
)


@cache
def _functions_by_selector() -> Mapping[bytes, tuple[str, tuple[str, ...]]]:
    signatures = {}
    for signature in _KNOWN_SIGNATURES:
        name, _, types = signature.partition("(")
        signatures[keccak(text=signature)[:4]] = (name, tuple(types.rstrip(")").split(",")))
    for item in items("MandateVault", "function").values():
        signatures[item.selector] = (item.name, item.types)
    for contract, name in (("MandateVaultFactory", "create"), ("Purse", "void")):
        item = items(contract, "function")[name]
        signatures[item.selector] = (item.name, item.types)
    return signatures


def call_arguments(function: str, data: str) -> tuple[AbiValue, ...] | None:
    """The arguments of calldata of a function `name(type,…)`, exactly as it encodes them; None for
    other calldata. Never raises.
    """
    types = function[function.index("(") + 1 : -1].split(",")
    try:
        raw = bytes.fromhex(data.removeprefix("0x"))
        if raw[:4] != keccak(text=function)[:4]:
            return None
        arguments: tuple[AbiValue, ...] = decode(types, raw[4:])
        return arguments if encode(types, arguments) == raw[4:] else None
    except (ValueError, DecodingError):
        return None


def execution(data: str) -> tuple[str, str, Usdc] | None:
    """(target, data, approve amount) from calldata of the vault's execute or executeApproved; None
    for other calldata. Never raises.
    """
    try:
        raw = bytes.fromhex(data.removeprefix("0x"))
    except ValueError:
        return None
    functions = items("MandateVault", "function")
    for item in (functions["execute"], functions["executeApproved"]):
        if raw[:4] != item.selector:
            continue
        try:
            target, inner, amount, *_ = _decoded(item.types, raw[4:])
        except DecodingError:
            return None
        return to_checksum_address(target), "0x" + inner.hex(), Usdc(amount)
    return None


def decode_calldata(data: str) -> DecodedCalldata:
    """Decode calldata of known functions; an unknown one keeps its selector. Never raises."""
    try:
        raw = bytes.fromhex(data.removeprefix("0x"))
    except ValueError:
        return DecodedCalldata(selector=None)
    if len(raw) < 4:
        return DecodedCalldata(selector=None)
    selector, function = "0x" + raw[:4].hex(), _functions_by_selector().get(raw[:4])
    if function is None:
        return DecodedCalldata(selector=selector)
    try:
        values = _decoded(function[1], raw[4:])
    except DecodingError:
        return DecodedCalldata(selector=selector)
    args = tuple(_plain(_to_display(t, v)) for t, v in zip(function[1], values, strict=True))
    return DecodedCalldata(selector=selector, function=function[0], args=args)


def _plain(value: AbiValue) -> AbiValue:
    """Convert a decoded value to JSON: integers become decimal text."""
    match value:
        case bool():
            return value
        case int():
            return str(value)
        case bytes():
            return "0x" + value.hex()
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case str() if _AN_ADDRESS.fullmatch(value):
            return to_checksum_address(value)
        case _:
            return value
