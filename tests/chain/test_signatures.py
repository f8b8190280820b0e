"""Who signed: EOA in its forms, contract wallets deployed and not yet deployed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eth_abi import encode
from eth_account import Account
from eth_utils import keccak, to_checksum_address

from chain.chains import EvmChains
from chain.contracts.signatures import on_chain_form, recover
from tests.world import CHAIN_ID, Evm

pytestmark = pytest.mark.anyio
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
DIGEST = keccak(text="terms")
ACCOUNT = Account.from_key("0x" + "42" * 32)
ARTIFACTS = Path(__file__).parents[1] / "contracts" / "artifacts"


def signed() -> bytes:
    return bytes(Account.unsafe_sign_hash(DIGEST, ACCOUNT.key).signature)


def test_an_eoa_signature_is_good_in_its_three_forms() -> None:
    plain = signed()
    v = plain[64] - 27
    compact = plain[:32] + (int.from_bytes(plain[32:64], "big") | v << 255).to_bytes(32, "big")
    for form in (plain, plain[:64] + bytes([v]), compact):
        assert recover(DIGEST, form) == ACCOUNT.address
        assert on_chain_form("0x" + form.hex()) == "0x" + plain.hex()


def test_the_high_s_twin_and_malformed_forms_prove_nothing() -> None:
    plain = signed()
    s = N - int.from_bytes(plain[32:64], "big")
    twin = plain[:32] + s.to_bytes(32, "big") + bytes([plain[64] ^ 7])
    for form in (twin, plain[:63], plain + b"\0", plain[:64] + b"\x1d", bytes(65), b""):
        assert recover(DIGEST, form) is None


def artifact(name: str) -> dict[str, str]:
    loaded: dict[str, str] = json.loads((ARTIFACTS / f"{name}.json").read_text())
    return loaded


async def deployed(evm: Evm, chains: EvmChains, name: str, data: bytes = b"") -> str:
    rpc = chains.get(CHAIN_ID).node()
    sender = (await rpc.ask("eth_accounts"))[5]
    tx = await rpc.ask(
        "eth_sendTransaction", {"from": sender, "data": artifact(name)["bytecode"] + data.hex()}
    )
    return str((await rpc.ask("eth_getTransactionReceipt", tx))["contractAddress"])


async def test_a_contract_wallet_is_asked_and_the_block_is_kept(
    evm: Evm, chains: EvmChains
) -> None:
    wallet = await deployed(evm, chains, "TestWallet", encode(["address"], [ACCOUNT.address]))
    chain = chains.get(CHAIN_ID)
    proof = await chain.check_signature("0x" + DIGEST.hex(), "0x" + signed().hex(), wallet)
    assert proof is not None
    assert (proof.signer_type, proof.block) == ("erc1271", evm.chain.head.number)
    other = "0x" + keccak(text="other").hex()
    assert await chain.check_signature(other, "0x" + signed().hex(), wallet) is None


async def test_a_wallet_that_is_not_deployed_yet_signs_by_erc6492(
    evm: Evm, chains: EvmChains
) -> None:
    factory = await deployed(evm, chains, "TestWalletFactory")
    salt = bytes(32)
    code = keccak(
        bytes.fromhex(artifact("TestWallet")["bytecode"][2:])
        + encode(["address"], [ACCOUNT.address])
    )
    wallet = to_checksum_address(keccak(b"\xff" + bytes.fromhex(factory[2:]) + salt + code)[12:])
    create = keccak(text="create(address,bytes32)")[:4] + encode(
        ["address", "bytes32"], [ACCOUNT.address, salt]
    )
    wrapped = encode(["address", "bytes", "bytes"], [factory, create, signed()]) + bytes.fromhex(
        "6492" * 16
    )
    proof = await chains.get(CHAIN_ID).check_signature(
        "0x" + DIGEST.hex(), "0x" + wrapped.hex(), wallet
    )
    assert proof is not None
    assert proof.signer_type == "erc6492"
    assert await chains.get(CHAIN_ID).node().ask("eth_getCode", wallet, "latest") == "0x"
