"""Purses: addresses, calldata, bills and their signatures, all computed without a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from eth_abi import encode
from eth_typing import HexStr
from eth_utils import keccak, to_checksum_address

from chain.contracts import abi_codec, signatures
from domain.mandates.purses import BillTerms, PurseTerms, TokenDomain
from domain.mandates.terms import members
from domain.money import Usdc

ZERO_WORD: Final = bytes(32)
_CONFIG: Final = "(address,address" + ",uint256" * 5 + ",bytes32,bytes32)"
_POLICY: Final = "(uint128,uint128,uint128,bytes32)"
_MESSAGE: Final = members(
    "address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce"
)
_DOMAIN: Final = members("string name,string version,uint256 chainId,address verifyingContract")
_BILL: Final = ("address", "uint256", "uint256", "uint256", "bytes32")
_PRIMARY: Final = "TransferWithAuthorization"
_TRANSFER: Final = keccak(text=f"{_PRIMARY}({','.join(f'{t} {n}' for n, t in _MESSAGE)})")
_DOMAIN_TYPE: Final = keccak(text=f"EIP712Domain({','.join(f'{t} {n}' for n, t in _DOMAIN)})")
# OpenZeppelin's clone with immutable arguments: the creation code around the implementation.
_CLONE: Final = bytes.fromhex("3d81600a3d39f3363d3d373d3d3d363d73")
_CLONE_END: Final = bytes.fromhex("5af43d82803e903d91602b57fd5bf3")
_CLONE_CODE: Final = 0x2D


# -- who may be paid


def _leaf(payee: str) -> bytes:
    return keccak(keccak(encode(["address"], [payee])))


def _pair(one: bytes, other: bytes) -> bytes:
    return keccak(min(one, other) + max(one, other))


def _tree(payees: Sequence[str]) -> list[bytes]:
    """The nodes of the payees' Merkle tree, root first, as OpenZeppelin's StandardMerkleTree lays
    them out: leaves in the order of their hashes, at the end and backwards.
    """
    leaves = sorted(_leaf(p) for p in payees)
    tree = [ZERO_WORD] * (len(leaves) - 1) + leaves[::-1]
    for n in reversed(range(len(leaves) - 1)):
        tree[n] = _pair(tree[2 * n + 1], tree[2 * n + 2])
    return tree


def payees_root(payees: Sequence[str]) -> bytes:
    """Root of the payees' Merkle tree; zero where anybody may be paid."""
    return _tree(payees)[0] if payees else ZERO_WORD


def payee_proof(payees: Sequence[str], payee: str) -> list[bytes]:
    """Proof that a payee is among them. Errors: ValueError where it is not."""
    tree, path = _tree(payees), list[bytes]()
    node = tree.index(_leaf(payee), len(payees) - 1)
    while node:
        path.append(tree[node + 1 if node % 2 else node - 1])
        node = (node - 1) // 2
    return path


# -- addresses


def policy(purse: PurseTerms) -> tuple[int, int, int, bytes]:
    """The Policy that a hub's address commits to; zero where it is as the mandate says."""
    limits = (purse.per_payment_usdc, purse.per_day_usdc, purse.float_usdc)
    per_payment, per_day, float_ = (0 if v is None else v.micros for v in limits)
    return per_payment, per_day, float_, payees_root(purse.payees)


def hub_address(deployer: str, factory: str, purse: PurseTerms) -> str:
    """The address at which the deployer makes the hub of a policy (CREATE2), EIP-55."""
    from web3.utils.address import get_create2_address

    arguments = encode(["address", _POLICY], [factory, policy(purse)])
    code = abi_codec.artifact("PurseHub")["bytecode"] + arguments.hex()
    return str(get_create2_address(to_checksum_address(deployer), HexStr(_SALT), HexStr(code)))


_SALT: Final = "0x" + ZERO_WORD.hex()


def purse_address(
    message: Mapping[str, str],
    vault: str,
    digest: str,
    purse: PurseTerms,
    *,
    keeps_approvals: bool,
) -> str:
    """The address of a vault's purse, a clone with immutable arguments (CREATE2), EIP-55.

    Shapes: `message` of signed terms of version 2, `digest` theirs. The hub's constructor made the
    implementation first (CREATE with nonce 1, EIP-161).
    """
    from web3.types import Nonce
    from web3.utils.address import get_create2_address, get_create_address

    per_tx, day = (Usdc(int(message[n])) for n in ("perTxCap", "dailyCap"))
    config = (
        vault,
        message["owner"],
        purse.per_payment(per_tx).micros,
        purse.per_day(day).micros,
        purse.float_limit(day).micros,
        int(message["endsAt"]),
        int(message["approvalAbove"]) if keeps_approvals else 0,
        payees_root(purse.payees),
        bytes.fromhex(digest.removeprefix("0x")),
    )
    args, deployer = encode([_CONFIG], [config]), to_checksum_address(purse.hub)
    implementation = bytes.fromhex(get_create_address(deployer, Nonce(1))[2:])
    length = (len(args) + _CLONE_CODE).to_bytes(2, "big")
    code = b"\x61" + length + _CLONE + implementation + _CLONE_END + args
    return str(get_create2_address(deployer, HexStr(digest), HexStr("0x" + code.hex())))


# -- bills


def bill_nonce(epoch: int, resource: str, pay_to: str, salt: str) -> str:
    """The nonce that binds a bill to what is bought, 0x hex: 4 bytes of the purse's epoch, and the
    first 28 of keccak256(abi.encode(resource url, payee, salt)).
    """
    values = [resource, pay_to, bytes.fromhex(salt.removeprefix("0x"))]
    bound = keccak(encode(["string", "address", "bytes32"], values))
    return "0x" + (epoch.to_bytes(4, "big") + bound[:28]).hex()


def _words(bill: BillTerms) -> list[object]:
    nonce = bytes.fromhex(bill.nonce.removeprefix("0x"))
    return [bill.pay_to, bill.amount.micros, bill.valid_after, bill.valid_before, nonce]


def bill_words(bill: BillTerms) -> str:
    """The five words of a bill, 0x hex, with which a purse's signature begins."""
    return "0x" + encode(_BILL, _words(bill)).hex()


def struct_hash(purse: str, bill: BillTerms) -> bytes:
    """EIP-712 hash of the transfer that the bill is."""
    return keccak(encode(["bytes32", "address", *_BILL], [_TRANSFER, purse, *_words(bill)]))


def bill_action(purse: str, bill: BillTerms) -> str:
    """keccak256(abi.encode(purse, payee, struct hash, value)), 0x hex: what the owner approves."""
    values = [purse, bill.pay_to, struct_hash(purse, bill), bill.amount.micros]
    return "0x" + keccak(encode(["address", "address", "bytes32", "uint256"], values)).hex()


def token_separator(chain_id: int, usdc: str, token: TokenDomain) -> str:
    """The EIP-712 domain separator of USDC under this name and version, 0x hex."""
    values = [_DOMAIN_TYPE, keccak(text=token.name), keccak(text=token.version), chain_id, usdc]
    types = ["bytes32", "bytes32", "bytes32", "uint256", "address"]
    return "0x" + keccak(encode(types, values)).hex()


def bill_typed_data(
    chain_id: int, usdc: str, token: TokenDomain, purse: str, bill: BillTerms
) -> dict[str, object]:
    """The typed data TransferWithAuthorization (EIP-3009) that the agent signs; integers as
    decimal strings.
    """
    return {
        "types": {
            "EIP712Domain": [{"name": n, "type": t} for n, t in _DOMAIN],
            _PRIMARY: [{"name": n, "type": t} for n, t in _MESSAGE],
        },
        "primaryType": _PRIMARY,
        "domain": {
            "name": token.name,
            "version": token.version,
            "chainId": chain_id,
            "verifyingContract": usdc,
        },
        "message": {
            "from": purse,
            "to": bill.pay_to,
            "value": str(bill.amount.micros),
            "validAfter": str(bill.valid_after),
            "validBefore": str(bill.valid_before),
            "nonce": bill.nonce,
        },
    }


def bill_signature(
    bill: BillTerms,
    signature: str,
    *,
    payees: tuple[str, ...] = (),
    until: int | None = None,
    approval: str | None = None,
) -> str:
    """The bytes that the purse takes for a signature, 0x hex: the five words of the bill, the
    agent's 65 bytes, and where payees are named or the owner approved,
    abi.encode(bytes32[] proof, uint64 until, bytes ownersSignature).
    """
    agents = bytes.fromhex(signatures.on_chain_form(signature).removeprefix("0x"))
    raw = bytes.fromhex(bill_words(bill)[2:]) + agents
    if payees or approval is not None:
        proof = payee_proof(payees, bill.pay_to) if payees else []
        owners = bytes.fromhex((approval or "0x").removeprefix("0x"))
        raw += encode(["bytes32[]", "uint64", "bytes"], [proof, until or 0, owners])
    return "0x" + raw.hex()
