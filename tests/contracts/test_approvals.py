"""Approvals kept by the vault: above the amount of the terms an action needs the owner's signature over that very action."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from eth_abi import encode
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils import keccak

from chain.contracts import eip712
from tests.contracts.harness import USD, Contract, Receipt, World, refused, selector
from tests.contracts.test_factory import SECP256K1_N

ABOVE = 100 * USD
HOUR = 3_600


@pytest.fixture(scope="module")
def asking_world() -> World:
    return World(approvals_on_chain=True)


@pytest.fixture
def asking(asking_world: World) -> Iterator[World]:
    """A world whose factory keeps approvals on chain, put back afterwards."""
    before, time = asking_world.evm.chain.snapshot(), asking_world.evm.time
    yield asking_world
    asking_world.evm.chain.revert(before)
    asking_world.evm.time, asking_world.mandates = time, 0


def action_hash(vault: Contract, target: str, data: bytes, amount: int) -> bytes:
    return keccak(
        encode(
            ["address", "address", "bytes32", "uint256"],
            [vault.address, target, keccak(data), amount],
        )
    )


def approve_typed(
    world: World, mandate: bytes, action: bytes, until: int, **domain: Any
) -> dict[str, Any]:
    """What the owner's wallet is asked to sign."""
    typed = world.typed_data(world.terms(), **domain)
    kinds = {"mandate": "bytes32", "actionHash": "bytes32", "until": "uint64"}
    return typed | {
        "primaryType": "ApproveAction",
        "message": {"mandate": mandate, "actionHash": action, "until": until},
        "types": {
            "EIP712Domain": typed["types"]["EIP712Domain"],
            "ApproveAction": [{"name": n, "type": k} for n, k in kinds.items()],
        },
    }


def approve(
    world: World,
    vault: Contract,
    data: bytes,
    amount: int,
    until: int,
    by: str | None = None,
    **domain: Any,
) -> bytes:
    """The owner's signature over one action of the hostile target."""
    mandate = bytes(vault.read("terms")[0][9])
    typed = approve_typed(
        world, mandate, action_hash(vault, world.hostile.address, data, amount), until, **domain
    )
    signable = encode_typed_data(full_message=typed)
    return bytes(Account.sign_message(signable, world.evm.keys[by or world.owner]).signature)


def approved(
    world: World,
    vault: Contract,
    data: bytes,
    amount: int,
    until: int,
    signature: bytes,
    by: str | None = None,
) -> Receipt:
    return vault.send(
        by or world.agent, "executeApproved", world.hostile.address, data, amount, until, signature
    )


def test_above_the_amount_an_action_needs_an_approval_and_equality_passes(asking: World) -> None:
    vault = asking.vault(approvalAbove=ABOVE)
    asking.take(vault, ABOVE)
    with refused("ApprovalNeeded", ABOVE + 1, ABOVE):
        asking.act(vault, asking.hostile, "take", 1, approve=ABOVE + 1)


def test_terms_without_an_amount_ask_for_nothing(asking: World) -> None:
    asking.take(asking.vault(approvalAbove=0), 200 * USD)


def test_a_factory_without_approvals_on_chain_asks_for_nothing(world: World) -> None:
    assert world.factory.read("APPROVALS_ON_CHAIN") is False
    vault = world.vault(approvalAbove=ABOVE)
    assert vault.read("APPROVALS_ON_CHAIN") is False
    world.take(vault, 200 * USD)


def test_an_approved_action_passes_once_and_tells_its_calldata(asking: World) -> None:
    assert asking.factory.read("APPROVALS_ON_CHAIN") is True
    vault = asking.vault(approvalAbove=ABOVE, stopFloorBps=10_000)
    data, until = asking.hostile.data("take", 150 * USD), asking.evm.time + HOUR
    signature = approve(asking, vault, data, 150 * USD, until)
    told = approved(asking, vault, data, 150 * USD, until, signature).one("Executed")
    assert (told["spent"], told["dataHash"]) == (150 * USD, keccak(data))
    with refused("ApprovalUsed"):
        approved(asking, vault, data, 150 * USD, until, signature)
    later = until + 1
    again = approve(asking, vault, data, 150 * USD, later)
    assert (
        approved(asking, vault, data, 150 * USD, later, again).one("Executed")["spent"] == 150 * USD
    )


def test_solidity_eth_account_and_the_service_give_one_approval_digest(asking: World) -> None:
    vault = asking.vault()
    data, until = asking.hostile.data("take", 150 * USD), asking.evm.time + HOUR
    mandate, action = (
        bytes(vault.read("terms")[0][9]),
        action_hash(vault, asking.hostile.address, data, 150 * USD),
    )
    signable = encode_typed_data(full_message=approve_typed(asking, mandate, action, until))
    digest = keccak(b"\x19" + signable.version + signable.header + signable.body)
    assert asking.factory.read("approvalDigestOf", mandate, action, until) == digest
    told = eip712.action_hash(vault.address, asking.hostile.address, "0x" + data.hex(), 150 * USD)
    assert told == "0x" + action.hex()
    typed = eip712.approve_action(31337, asking.factory.address, "0x" + mandate.hex(), told, until)
    assert eip712.digest(typed) == "0x" + digest.hex()


def test_threat_approval_is_for_nothing_but_the_action_that_the_owner_saw(asking: World) -> None:
    w, vault = asking, asking.vault(approvalAbove=ABOVE)
    data, until = w.hostile.data("take", 150 * USD), w.evm.time + HOUR
    signature = approve(w, vault, data, 150 * USD, until)
    other = w.vault(approvalAbove=ABOVE)
    for where, what, amount, moment in (
        (vault, w.hostile.data("take", 151 * USD), 150 * USD, until),
        (vault, data, 151 * USD, until),
        (vault, data, 150 * USD, until + 1),
        (other, data, 150 * USD, until),
    ):
        with refused("BadSignature"):
            approved(w, where, what, amount, moment, signature)
    with refused("BadSignature"):
        vault.send(w.agent, "executeApproved", w.slip.address, data, 150 * USD, until, signature)


def test_threat_approval_of_somebody_else_another_chain_factory_or_form_is_refused(
    asking: World,
) -> None:
    w, vault = asking, asking.vault(approvalAbove=ABOVE)
    data, until = w.hostile.data("take", 150 * USD), w.evm.time + HOUR

    def sign(**more: Any) -> bytes:
        return approve(w, vault, data, 150 * USD, until, **more)

    good = sign()
    s = SECP256K1_N - int.from_bytes(good[32:64], "big")
    twin = good[:32] + s.to_bytes(32, "big") + bytes([55 - good[64]])
    foreign = [
        sign(by=w.agent),
        sign(by=w.stranger),
        sign(chainId=8453),
        sign(verifyingContract=w.usdc.address),
        sign(version="1"),
    ]
    for bad in (*foreign, twin, good[:64], b"", good + b"\0", w.sign(w.terms())):
        with refused("BadSignature"):
            approved(w, vault, data, 150 * USD, until, bad)
    approved(w, vault, data, 150 * USD, until, good)


def test_an_approval_ends_at_its_moment_and_equality_passes(asking: World) -> None:
    w, vault = asking, asking.vault(approvalAbove=ABOVE)
    data, until = w.hostile.data("take", 150 * USD), w.evm.time + HOUR
    signature = approve(w, vault, data, 150 * USD, until)
    w.evm.time = until + 1
    with refused("ApprovalExpired", until):
        approved(w, vault, data, 150 * USD, until, signature)
    w.evm.time = until
    approved(w, vault, data, 150 * USD, until, signature)


def test_an_approval_lifts_no_other_rule(asking: World) -> None:
    w, vault = asking, asking.vault(approvalAbove=ABOVE)
    until = w.evm.time + HOUR

    def go(amount: int, by: str | None = None) -> Receipt:
        data = w.hostile.data("take", amount)
        return approved(w, vault, data, amount, until, approve(w, vault, data, amount, until), by)

    with refused("OverPerTxCap", 201 * USD, 200 * USD):
        go(201 * USD)
    for who in (w.owner, w.keeper, w.stranger):
        with refused("NotAgent", who):
            go(150 * USD, by=who)
    go(150 * USD)
    with refused("MandateStopped", 3):
        go(51 * USD)
    vault.send(w.owner, "revokeAgent")
    with refused("NotAgent", w.agent):
        go(50 * USD)
    vault.send(w.owner, "stop")
    with refused("MandateStopped", 1):
        go(50 * USD)


def test_a_refused_action_uses_no_approval_up(asking: World) -> None:
    w, vault = asking, asking.vault(approvalAbove=ABOVE)
    data, until = w.hostile.data("forge"), w.evm.time + HOUR
    signature = approve(w, vault, data, 150 * USD, until)
    mandate = bytes(vault.read("terms")[0][9])
    digest = w.factory.read(
        "approvalDigestOf", mandate, action_hash(vault, w.hostile.address, data, 150 * USD), until
    )
    with refused("TargetReverted"):
        approved(w, vault, data, 150 * USD, until, signature)
    assert vault.read("approvalUsed", digest) is False


def test_an_owner_that_is_a_contract_approves_by_erc_1271(asking: World) -> None:
    w = asking
    wallet = w.evm.deploy("TestWallet", w.owner)
    calls = [(w.hostile.address, selector("take(uint256)"), 0)]
    t = w.terms(calls, [], owner=wallet.address, approvalAbove=ABOVE)
    made = w.factory.send(w.stranger, "create", *w.create_data(t, calls, [], w.sign(t))).one(
        "MandateCreated"
    )
    vault = w.evm.at("MandateVault", made["vault"])
    w.usdc.send(w.owner, "transfer", vault.address, 1_000 * USD)
    wallet.send(w.owner, "run", vault.address, vault.data("sync"))
    data, until = w.hostile.data("take", 150 * USD), w.evm.time + HOUR
    with refused("BadSignature"):
        approved(
            w, vault, data, 150 * USD, until, approve(w, vault, data, 150 * USD, until, by=w.agent)
        )
    approved(w, vault, data, 150 * USD, until, approve(w, vault, data, 150 * USD, until))
